"""Play the worked example of docs/explanation/money.md: 48 made-up requests, a real driver, a simulated cache.

    python benchmarks/worked_example.py [--store FILE] [--source-age TURNS]

The conversation is made from a fixed seed, the provider's tokens are `estimate`s and its cache is
`coldpress.measure.cache`, so every figure comes out the same. Request n is called `req-n` in the store's ledger.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import random
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from coldpress.config import Settings, load
from coldpress.drive import Driver, Inbound
from coldpress.engine.policy import with_source_age
from coldpress.measure.cache import Piece, PrefixCache
from coldpress.measure.cache_rules import ANTHROPIC
from coldpress.measure.prices import Unpriced, cost_usd, prices_for
from coldpress.measure.tokens import estimate
from coldpress.model.records import Outcome
from coldpress.model.usage import Usage
from coldpress.stores.base import LedgerEntry, Store
from coldpress.stores.sqlite import SqliteStore

Json = dict[str, Any]
MODEL = "claude-opus-4-6"
REQUESTS = 48
FIRST_AT = datetime(2026, 11, 30, 9, tzinfo=UTC).timestamp()
PAUSE_BEFORE = 41
"""Request before which the user is away for 20 minutes; the others follow each other after 20 seconds."""

SEED = 7
SYSTEM_WORDS = 9_000
OUTPUT_TOKENS = 150
MARK = {"type": "ephemeral"}
TOOLS = [{"name": name, "input_schema": {"type": "object"}} for name in ("Read", "Grep", "Bash")]


def exchange(number: int, rng: random.Random) -> list[Json]:
    """Make one call and its result: a read, a search and a build by turns, each of 3 to 8 kB."""
    lines = rng.randint(60, 100)
    if number % 3 == 0:
        name, arguments = "Read", {"file_path": f"/src/part_{number}.mk"}
        rows = [
            f"{n}\tdep_{rng.randint(1, 9999)} = part_{rng.randint(1, 9999)}.o lib_{n}.a" for n in range(1, 2 * lines)
        ]
    elif number % 3 == 1:
        name, arguments = "Grep", {"pattern": f"target_{number}"}
        rows = [
            f"src/rules_{rng.randint(1, 99)}.mk:{n * 7}: target_{number}: dep_{rng.randint(1, 9999)}"
            for n in range(lines)
        ]
    else:
        name, arguments = "Bash", {"command": f"make target_{number}"}
        rows = [
            f"step {n:4} of target_{number}: built part_{rng.randint(1, 9999)} from src/{n % 17}" for n in range(lines)
        ]
    call = f"call_{number}"
    return [
        {"role": "assistant", "content": [{"type": "tool_use", "id": call, "name": name, "input": arguments}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": "\n".join(rows)}]},
    ]


def bodies() -> Iterator[bytes]:
    """Write the requests as a client would, with its marks on the system prompt and on the last message."""
    rng = random.Random(SEED)
    words = " ".join(f"rule{rng.randint(1, 500)}" for _ in range(SYSTEM_WORDS))
    system = [{"type": "text", "text": words, "cache_control": MARK}]
    said: list[Json] = [{"role": "user", "content": [{"type": "text", "text": "Port the build from make to ninja."}]}]
    for number in range(REQUESTS):
        sent = json.loads(json.dumps(said))
        sent[-1]["content"][-1]["cache_control"] = MARK
        body = {"model": MODEL, "max_tokens": 1000, "system": system, "tools": TOOLS, "messages": sent}
        yield json.dumps(body, separators=(",", ":")).encode()
        said += exchange(number, rng)


def pieces(body: bytes) -> Iterator[Piece]:
    """Cut a request into what the provider's cache tells apart."""
    read = json.loads(body)
    blocks = [*read["tools"], *read["system"], *(block for message in read["messages"] for block in message["content"])]
    for block in blocks:
        mark = block.pop("cache_control", None)
        text = json.dumps(block, sort_keys=True)
        shown = block.get("text") or block.get("content") or text
        yield Piece(hashlib.sha256(text.encode()).digest(), estimate(shown), "short" if mark else None)


def default_settings(source_age: int | None) -> Settings:
    """The built-in settings, whatever files lie about."""
    found = load(None, environ={"HOME": "/nonexistent"}, secrets="optional")
    return replace(found, policy=with_source_age(found.policy, source_age)) if source_age else found


def send(cache: PrefixCache, body: bytes, at: float) -> Usage:
    """Bill one request."""
    return replace(cache.send(list(pieces(body)), scope=MODEL.encode(), now=at), output=OUTPUT_TOKENS)


def times() -> Iterator[float]:
    """Say when each request is sent."""
    at = FIRST_AT
    for number in range(1, REQUESTS + 1):
        yield at
        at += 20 * 60 if number + 1 == PAUSE_BEFORE else 20


async def play(settings: Settings, store: Store) -> None:
    """Send every request through a driver, and its simulated reply back."""
    cache = PrefixCache(ANTHROPIC)
    with closing(Driver(settings, store)) as driver:
        for number, (body, at) in enumerate(zip(bodies(), times(), strict=True), start=1):
            inbound = Inbound(f"req-{number}", at, "anthropic", "anthropic", body, None, {"user-agent": "example/1"})
            prepared = await driver.prepare(inbound)
            driver.finish(Outcome(f"req-{number}", 200, "complete", 4.0, send(cache, prepared.body, at)))


def control_usd() -> float:
    """What the same requests cost without coldpress."""
    cache, total = PrefixCache(ANTHROPIC), 0.0
    for body, at in zip(bodies(), times(), strict=True):
        prices = prices_for(MODEL, provider="anthropic", at=datetime.fromtimestamp(at, UTC))
        cost = cost_usd(send(cache, body, at), prices)
        if isinstance(cost, Unpriced):
            raise SystemExit(f"{MODEL} has no price: {', '.join(cost.missing)}")
        total += cost
    return total


def row(entry: LedgerEntry) -> str:
    """Lay one request out on a line."""
    receipt, outcome = entry.receipt, entry.outcome
    if outcome is None or outcome.money is None or receipt.belief is None:
        raise SystemExit(f"{receipt.request_id} has no outcome")
    cut, money, usage = receipt.cut, outcome.money, outcome.usage
    told = f"{receipt.request_id:7} {receipt.belief.state} {receipt.belief.why:15}"
    told += f" read {usage.read:6,} of {usage.prompt:6,}, foretold {receipt.belief.read_tokens:6,}"
    told += f"  bill {money.bill_usd:.4f}  net {money.net_usd:+.4f}"
    if cut is None:
        return told
    net = "unknown" if cut.net_usd is None else f"{cut.net_usd:+.4f}"
    tokens = f"D {cut.removed_tokens:,}, R {cut.rewrite_tokens:,}"
    return f"{told}  {cut.reason}: {cut.applied} of {cut.candidates}, {tokens}, net {net}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", type=Path, help="store to write, for `coldpress ledger --store`; it must not exist")
    parser.add_argument("--source-age", type=int, help="turns after which reads may be masked")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path: Path = asked.store or Path(folder) / "example.sqlite3"
        if path.exists():
            raise SystemExit(f"{path} exists; name another file")
        with closing(SqliteStore(path)) as store:
            asyncio.run(play(default_settings(asked.source_age), store))
            store.flush()
            entries = [store.receipt(f"req-{number}") for number in range(1, REQUESTS + 1)]
            print("\n".join(row(entry) for entry in entries if entry is not None))
            bill = sum(e.outcome.money.bill_usd or 0.0 for e in entries if e and e.outcome and e.outcome.money)
            print(f"bill {bill:.4f} USD, without coldpress {control_usd():.4f} USD")


if __name__ == "__main__":
    main()
