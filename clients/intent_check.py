"""Compare a run with `intent` with what its scripted model wrote, and with the same run without the plugin."""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from catalogue import Client, Wire
from intent_task import ANSWER, FIELD, MARK, NO_TEXT, TRACE, Written, words
from intent_trial import Json, Run
from trial import answered

from coldpress.measure.tokens import estimate
from coldpress.model.conversation import Conversation, ToolCall
from coldpress.wire.prefix import Reader

_WRONG = re.compile(
    r"InputValidationError|validation (?:error|failed)|(?:unknown|unexpected|unrecognized|additional)"
    r"[ _](?:parameter|argument|propert|key|field)",
    re.IGNORECASE,
)
"""How clients say that a call does not fit their schema."""
_CACHE_MARK = re.compile(rb',\s*"cache_control":\s*\{[^}]*\}')
_ALONE = re.compile(rb'\[\{"type":\s*"text",\s*"text":\s*("(?:[^"\\]|\\.)*")(?:' + _CACHE_MARK.pattern + rb")?\}\]")
"""A single text as a block; some clients send it so where it bears a mark, and as a string once it does not."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a client sent back for a call."""

    text: str
    failed: bool


def problems(client: Client, run: Run, off: Run) -> list[str]:
    """List everything that is not as it has to be in a run that captures reasons, none where all is well."""
    failed = [f"{mode}: {told}" for mode, one in (("off", off), ("on", run)) for told in _ran(client, one)]
    if failed:
        return failed
    return [
        *_never_met(client, run),
        *_schemas(client.wire, run),
        *_history(client.wire, run),
        *_as_stable(client.wire, run, off),
        *_counted(run),
    ]


def infer_problems(client: Client, run: Run, without: Sequence[bytes]) -> Iterator[str]:
    """Inferring reasons changes no byte: what reached the upstream is what reaches it without plugins."""
    yield from (f"infer: {told}" for told in _ran(client, run))
    sent = [one.request.body for one in run.sent]
    if sent != list(without):
        yield f"infer: {identical(run, without)} of {len(sent)} bodies are as without plugins"
    if any(MARK.encode() in body for body in sent):
        yield "infer: a call says why it was made"
    if any(row["captured"] for row in run.stats["capture"].values()):
        yield "infer: /stats knows of captured reasons"


def identical(run: Run, without: Sequence[bytes]) -> int:
    """Count bodies that reached the upstream as they do without plugins."""
    return sum(one.request.body == other for one, other in zip(run.sent, without, strict=False))


def prefixes(wire: Wire, run: Run) -> list[bool]:
    """Say for each request but the first whether its messages begin with those of the one before, marks aside."""
    sent = [_messages(one.request.body, wire) for one in run.sent]
    return [later.startswith(one) for one, later in itertools.pairwise(sent)]


def cached_share(run: Run) -> float:
    """The share of all prompt tokens that the upstream read from its cache."""
    usages = [one.usage for one in run.sent if one.usage is not None]
    prompt = sum(usage.prompt or 0 for usage in usages)
    return sum(usage.read or 0 for usage in usages) / prompt if prompt else 0.0


def restored(wire: Wire, run: Run) -> tuple[int, int]:
    """Count calls in the histories that the upstream was shown as the model wrote them, and all of them."""
    pairs = [pair for one in run.sent for pair in _pairs(one.request.body, wire, run.written)]
    return sum(text == call.arguments for text, call in pairs if call.changed), sum(call.changed for _, call in pairs)


def executed(wire: Wire, run: Run) -> int:
    """Count the calls whose results hold what they have to, as the client sent them back."""
    return sum(found is not None and _is_right(found, call) for call, found in _results(wire, run))


def tool_tokens(wire: Wire, run: Run) -> int:
    """Tokens that what the plugins add costs a tool, on average, estimated."""
    body, sent = run.heard[-1].body, run.sent[-1].request.body
    added = estimate(_tools(sent, wire).decode()) - estimate(_tools(body, wire).decode())
    return round(added / len(_schemas_of(json.loads(body))))


def _ran(client: Client, run: Run) -> Iterator[str]:
    """The client did all of its work, and no request broke a rule."""
    if run.ended is not None:
        yield run.ended
        return
    if not run.sent or len(run.sent) != len(run.heard):
        yield f"{len(run.heard)} requests with tools left the client, {len(run.sent)} reached the upstream"
        return
    if not answered(client, run.folder, ANSWER):
        yield "the answer did not come out"
    for number, one in enumerate(run.sent):
        if one.refusal is not None or one.status != 200:
            yield f"request {number} was refused: {one.refusal}"
        if (one.request.json.get("stream") is True) is not client.streams:
            yield f"request {number} is {'not ' if client.streams else ''}streamed"
    trace = run.folder / "workspace" / TRACE
    left = trace.read_text(encoding="utf-8").split("\n") if trace.is_file() else []
    if Counter(left) != Counter([*(f"ran ü {word}" for word in words()), ""]):
        yield f"the commands left {left}"
    for call, result in _results(client.wire, run):
        if result is None or not _is_right(result, call):
            yield f"{call.tool} gave {result.text[:200] if result else 'nothing'!r}, not {call.shows!r}"
    last = _conversation(run.heard[-1].body, client.wire)
    if max(sum(isinstance(block, ToolCall) for block in message.blocks) for message in last.messages) < 2:
        yield "no calls were made in parallel"


def _is_right(result: Result, call: Written) -> bool:
    return call.shows in result.text and not result.failed and _WRONG.search(result.text) is None


def _never_met(client: Client, run: Run) -> Iterator[str]:
    """Neither the field nor what it held is in anything that the client sends, keeps or prints; maps are maps."""
    for number, heard in enumerate(run.all_heard):
        if MARK.encode() in heard.body or str(NO_TEXT).encode() in heard.body:
            yield f"request {number} of the client holds a reason"
    for number, heard in enumerate(run.heard):
        if any(FIELD in schema["properties"] for schema in _schemas_of(json.loads(heard.body)).values()):
            yield f"request {number} of the client has a tool with the field"
        for text, call in _pairs(heard.body, client.wire, run.written):
            given = json.loads(text)
            if FIELD in given:
                yield f"request {number} of the client has the field in a call of {call.tool}"
            if call.mapped is not None and call.mapped not in given.values():
                yield f"{call.tool} got {text} for a map"
    if not client.streams and MARK.encode() in run.given:
        yield "the client was given a reason"
    for file in sorted(run.folder.rglob("*")):
        if "gateway" not in file.name and "coldpress" not in file.name and file.is_file():
            raw = file.read_bytes()
            if MARK.encode() in raw or str(NO_TEXT).encode() in raw:
                yield f"{file.relative_to(run.folder)} holds a reason"


def _schemas(wire: Wire, run: Run) -> Iterator[str]:
    """Every function tool asks for the reason first, but for those that have a field of that name; always the same."""
    sets: dict[bytes, set[bytes]] = {}
    for number, (heard, one) in enumerate(zip(run.heard, run.sent, strict=True)):
        before, after = _schemas_of(json.loads(heard.body)), _schemas_of(one.request.json)
        for name, schema in after.items():
            asks = next(iter(schema["properties"]), None) == FIELD and schema["required"][0] == FIELD
            if not asks and FIELD not in before[name]["properties"]:
                yield f"request {number}: {name} does not ask for the reason"
        sets.setdefault(_tools(heard.body, wire), set()).add(_tools(one.request.body, wire))
    if any(len(found) != 1 for found in sets.values()):
        yield "the tools do not stay the same"


def _history(wire: Wire, run: Run) -> Iterator[str]:
    """The upstream is shown every earlier call as the model wrote it."""
    for number, one in enumerate(run.sent):
        for text, call in _pairs(one.request.body, wire, run.written):
            is_same = text == call.arguments if call.changed else json.loads(text) == json.loads(call.arguments)
            if not is_same:
                yield f"request {number}: {call.tool} is shown as {text}, not as {call.arguments}"
    if restored(wire, run)[1] == 0:
        yield "no call was shown again"


def _as_stable(wire: Wire, run: Run, off: Run) -> Iterator[str]:
    """The prefix breaks where it breaks without the plugin, and nowhere else."""
    on, without = prefixes(wire, run), prefixes(wire, off)
    if on != without:
        yield f"the prefix holds {on}, without the plugin {without}"
    if len(on) < 2:
        yield "too few requests to say anything about the prefix"


def _counted(run: Run) -> Iterator[str]:
    """`/stats` and the ledger know what became of each reason, tool by tool."""
    wanted = Counter((call.tool, call.why) for call in run.written)
    capture = run.stats["capture"]
    reasons = ("captured", "native", "absent", "not_text", "unreadable", "left")
    told = Counter({(tool, why): row[why] for tool, row in capture.items() for why in reasons if row[why]})
    if told != wanted:
        yield f"/stats tells {dict(told)}, not {dict(wanted)}"
    shown = Counter({tool: row["restored"] for tool, row in capture.items() if row["restored"]})
    if shown != Counter(call.tool for call in run.written if call.changed):
        yield f"/stats tells of restored calls {dict(shown)}"
    outcomes = [receipt["outcome"] for receipt in run.receipts if receipt["outcome"]]
    kept = Counter((one["tool"], one["why"]) for outcome in outcomes for one in outcome["captures"])
    if kept != wanted:
        yield f"the ledger tells {dict(kept)}, not {dict(wanted)}"


def _results(wire: Wire, run: Run) -> list[tuple[Written, Result | None]]:
    """Set what the client sent back on its last request beside each call; the call that ends a task has no result."""
    body = json.loads(run.heard[-1].body)
    found = _chat_results(body) if wire == "openai_chat" else _anthropic_results(body)
    calls = _calls(_conversation(run.heard[-1].body, wire))
    ids = [call.id for call in calls]
    ends = sum(not call.shows for call in run.written)
    return [
        (call, found.get(ids[at]) if at < len(ids) else None)
        for at, call in enumerate(run.written[: len(run.written) - ends])
    ]


def _anthropic_results(body: Json) -> dict[str, Result]:
    blocks = [
        block for message in body["messages"] if isinstance(message["content"], list) for block in message["content"]
    ]
    return {
        block["tool_use_id"]: Result(_plain(block.get("content")), block.get("is_error") is True)
        for block in blocks
        if block["type"] == "tool_result"
    }


def _chat_results(body: Json) -> dict[str, Result]:
    found = [message for message in body["messages"] if message["role"] == "tool"]
    return {message["tool_call_id"]: Result(_plain(message["content"]), False) for message in found}


def _plain(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content)
    return content if isinstance(content, str) else ""


def _pairs(body: bytes, wire: Wire, written: Sequence[Written]) -> list[tuple[str, Written]]:
    """Set the calls of a history, JSON text to the byte, beside what the model wrote."""
    found = _conversation(body, wire)
    texts = [found.arguments(call) for call in _calls(found)]
    return list(zip(texts, written[: len(texts)], strict=True))


def _calls(found: Conversation) -> list[ToolCall]:
    return [block for message in found.messages for block in message.blocks if isinstance(block, ToolCall)]


def _schemas_of(body: Mapping[str, Any]) -> dict[str, Json]:
    """The function tools of a request, by name; what the provider runs itself is none."""
    functions = [
        tool.get("function", tool) for tool in body["tools"] if tool.get("type", "custom") in ("custom", "function")
    ]
    schemas = {one["name"]: one.get("input_schema") or one.get("parameters") for one in functions}
    return {name: {"properties": {}, "required": [], **schema} for name, schema in schemas.items()}


def _tools(body: bytes, wire: Wire) -> bytes:
    """The tools of a request, to the byte, marks aside."""
    span = _conversation(body, wire).tools
    return b"" if span is None else _CACHE_MARK.sub(b"", body[span.start : span.end])


def _messages(body: bytes, wire: Wire) -> bytes:
    """The messages of a request, to the byte, marks aside."""
    messages = _conversation(body, wire).messages
    raw = _ALONE.sub(rb"\1", body[messages[0].span.start : messages[-1].span.end])
    return _CACHE_MARK.sub(b"", raw)


@lru_cache(maxsize=128)
def _conversation(body: bytes, wire: Wire) -> Conversation:
    return Reader[None](seed=1).read(body, wire, None).conversation
