"""Count what the field for the reason of a call adds to the tools of real clients, and what that costs in a session.

    python benchmarks/intent_cost.py FILE [FILE...] [--requests N] [--reason-tokens N] [--json]

Each file holds a request as a client sends it: the body, or an object with `path` and `body`. Of each folder the first
request with tools counts. Tokens are estimated on the o200k scale. Nothing is sent anywhere.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

from coldpress.engine.tool_schemas import ReasonField, ToolShape, shaped
from coldpress.lab.tariffs import TARIFFS, Tariff
from coldpress.measure.tokens import estimate
from coldpress.model.conversation import Conversation
from coldpress.wire.prefix import Reader
from coldpress.wire.registry import recognise
from coldpress.wire.span import splice
from coldpress.wire.tool_schemas import schema_edits

PRICED = ("claude-opus-4-6", "deepseek-v4-pro")
"""Tariffs of the lab whose models get the field; the short lifetime of a cache where there are two."""

REQUESTS = 60
"""Of a session, unless told otherwise."""

REASON_TOKENS = 30
"""Of one call's reason with its key, unless told otherwise: a short sentence."""


@dataclass(frozen=True, slots=True)
class Added:
    """What the field adds to one client's tools.

    Attributes:
        client: the folder that its request was in.
        tools: how many it offers.
        with_field: how many of them get the field.
        native: how many have a field of that name themselves.
        tools_bytes: of the list as it came.
        bytes: added.
        tokens: added.
        prompt_tokens: of the whole request as it came, its JSON counted in.
        usd: what the added tokens cost in a session, by tariff: written once, then read from the cache with every other
            request.
    """

    client: str
    tools: int
    with_field: int
    native: int
    tools_bytes: int
    bytes: int
    tokens: int
    prompt_tokens: int
    usd: dict[str, float]


def first_requests(files: Sequence[Path]) -> Iterator[tuple[str, Conversation]]:
    """Give each folder's first request that offers tools and can be read, by the folder's name."""
    done: set[str] = set()
    for file in sorted(files):
        found = None if file.parent.name in done else _conversation(file)
        if found is not None and found.head.tools:
            done.add(file.parent.name)
            yield file.parent.name, found


def _conversation(file: Path) -> Conversation | None:
    """Read a request; `None` where it is no inference call in a format that coldpress reads."""
    given = json.loads(file.read_bytes())
    path, body = (given.get("path"), given.get("body")) if "body" in given else (None, given)
    if not isinstance(body, dict) or "tools" not in body or "messages" not in body:
        return None
    named = recognise("POST", path.partition("?")[0]) if path else None
    name = named or ("openai_chat" if "function" in body["tools"][0] else "anthropic")
    raw = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    return Reader[None](seed=1).read(raw, name, None).conversation


def added(client: str, conversation: Conversation, requests: int) -> Added:
    """Count what the field adds to a request, and price it over a session."""
    shapes: list[ToolShape] = []

    def change(name: str, schema: object) -> object | None:
        changed, shape = shaped(name, schema, reason=ReasonField(), translate=False)
        shapes.append(shape)
        return changed

    span = conversation.tools
    if span is None:
        raise SystemExit(f"{client}: the tools stand nowhere")
    tools = conversation.body[span.start : span.end]
    edits = schema_edits(conversation.body, span, conversation.format, change)
    sent = splice(tools, [edit.moved(-span.start) for edit in edits])
    tokens = estimate(sent.decode()) - estimate(tools.decode())
    return Added(
        client,
        len(json.loads(tools)),
        sum(shape.reason == "added" for shape in shapes),
        sum(shape.reason == "native" for shape in shapes),
        len(tools),
        len(sent) - len(tools),
        tokens,
        estimate(conversation.body.decode()),
        {name: head_usd(TARIFFS[name](), tokens, requests) for name in PRICED},
    )


def head_usd(tariff: Tariff, tokens: int, requests: int) -> float:
    """What tokens at the front of the prompt cost: written with the first request, read with all others."""
    read, write = tariff.read_and_write(0, asked_long=False)
    return tokens * (write + (requests - 1) * read) / 1e6


def reasons_usd(tariff: Tariff, tokens: int, requests: int) -> float:
    """What the reasons of a call in each reply cost: put out, written with the next request, read with all behind.

    Nobody asks for the call in the last reply any more.
    """
    read, write = tariff.read_and_write(0, asked_long=False)
    output = tariff.prices.at(0).output_usd_per_mtok
    sent = max(requests - 1, 0)
    return tokens * (requests * output + sent * write + sent * (sent - 1) / 2 * read) / 1e6


def line(found: Added) -> str:
    """Write one row."""
    share = found.tokens / found.prompt_tokens
    counts = f"{found.tools:>5} {found.with_field:>5} {found.native:>6} {found.tools_bytes:>8,} {found.bytes:>6,}"
    money = " ".join(f"{usd:>17.4f}" for usd in found.usd.values())
    return f"{found.client:<26} {counts} {found.tokens:>6,} {found.prompt_tokens:>7,} {share:>6.1%} {money}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, count, print."""
    reader = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    reader.add_argument("files", nargs="+", type=Path, metavar="FILE", help="a request of a client")
    reader.add_argument("--requests", type=int, default=REQUESTS, help=f"of a session, {REQUESTS} unless given")
    reader.add_argument("--json", action="store_true", help="print one JSON object")
    reader.add_argument(
        "--reason-tokens", type=int, default=REASON_TOKENS, help=f"of one call's reason, {REASON_TOKENS} unless given"
    )
    options = reader.parse_args(arguments)
    found = [added(client, read, options.requests) for client, read in first_requests(options.files)]
    if not found:
        sys.exit("no request with tools in a format that coldpress reads")
    reasons = {name: reasons_usd(TARIFFS[name](), options.reason_tokens, options.requests) for name in PRICED}
    about = {
        "requests": options.requests,
        "tokens": "estimated, o200k scale",
        "coldpress": version("coldpress"),
        "reasons": f"{options.reason_tokens} tokens a call, one call a reply; USD over the session: {reasons}",
    }
    if options.json:
        print(json.dumps({**about, "clients": [asdict(one) for one in found]}, indent=1))
        return
    print("\n".join(f"{key}: {value}" for key, value in about.items()))
    print(
        "USD: what the added tokens of the tools cost over the session, written once and read with every other request"
    )
    counts = (
        f"{'tools':>5} {'field':>5} {'native':>6} {'bytes':>8} {'added':>6} {'tokens':>6} {'prompt':>7} {'share':>6}"
    )
    print(f"{'':<26} {counts} {' '.join(f'{name:>17}' for name in PRICED)}")
    print("\n".join(map(line, found)))


if __name__ == "__main__":
    main()
