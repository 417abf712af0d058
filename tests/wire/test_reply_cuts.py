"""Whatever a reply of the four wires says of itself is read the same, wherever its bytes are cut into chunks."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from wire.replies import JSON, SSE

from coldpress.model.native import Applied
from coldpress.wire.registry import FORMATS, FormatName
from coldpress.wire.reply_calls import ReplyFilter
from coldpress.wire.sse import TapResult, UsageTap

Json = dict[str, Any]

WORDS: Final = (
    "é",
    "日本",
    "🙂",
    "\r\n\r\n",
    "\n\n",
    '"usage":',
    '"error"',
    'data: {"usage": 1}',
    "\\",
    "plain",
    "\u2028",
)
TEXTS = st.lists(st.sampled_from(WORDS), max_size=4).map("".join)
COUNT = st.integers(0, 5000)
TOOLS = st.lists(st.sampled_from(("Read", "Bash", "läs", "日")), max_size=3)
NEWLINES = st.sampled_from(("\n", "\r\n", "\r"))
PLACES = st.lists(st.integers(0, 10_000), max_size=12)


@dataclass(frozen=True)
class Said:
    """What one reply says, in the terms of no wire."""

    texts: list[str]
    tools: list[str]
    stop: str | None
    prompt: int
    cached: int
    output: int
    failure: bool
    compacted: bool


SAID = st.builds(
    Said,
    texts=st.lists(TEXTS, max_size=4),
    tools=TOOLS,
    stop=st.sampled_from(("end", "länge", None)),
    prompt=COUNT,
    cached=COUNT,
    output=COUNT,
    failure=st.booleans(),
    compacted=st.booleans(),
)
ERROR: Final[Json] = {"type": "error", "code": "server_error", "message": "é: no"}


def anthropic(said: Said) -> list[Json]:
    usage = {"input_tokens": said.prompt, "cache_read_input_tokens": said.cached, "output_tokens": 1}
    edits: list[Json] = [{"type": "clear_tool_uses_20250919", "cleared_tool_uses": 3}] if said.compacted else []
    dropped = [{"type": "thinking_dropped", "reason": "prefix_binding_mismatch"}]
    opening = {"id": "msg_é", "model": "claude-日", "usage": usage, "input_transformations": dropped, "content": []}
    found: list[Json] = [{"type": "message_start", "message": opening}, {"type": "ping"}]
    for text in said.texts:
        found.append({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}})
    for at, tool in enumerate(said.tools, 1):
        block = {"type": "tool_use", "id": f"t{at}", "name": tool, "input": {}}
        found.append({"type": "content_block_start", "index": at, "content_block": block})
        delta = {"type": "input_json_delta", "partial_json": '{"é":"🙂"}'}
        found.append({"type": "content_block_delta", "index": at, "delta": delta})
        found.append({"type": "content_block_stop", "index": at})
    ending = {"type": "message_delta", "delta": {"stop_reason": said.stop}, "usage": {"output_tokens": said.output}}
    found.append(ending | {"context_management": {"applied_edits": edits}})
    return [*found, {"type": "error", "error": ERROR}] if said.failure else [*found, {"type": "message_stop"}]


def whole_anthropic(said: Said) -> Json:
    usage = {"input_tokens": said.prompt, "cache_read_input_tokens": said.cached, "output_tokens": said.output}
    texts = [{"type": "text", "text": text} for text in said.texts]
    calls = [{"type": "tool_use", "id": f"t{at}", "name": tool, "input": {}} for at, tool in enumerate(said.tools)]
    return {"id": "msg_é", "model": "claude-日", "content": [*texts, *calls], "stop_reason": said.stop, "usage": usage}


def chat_usage(said: Said) -> Json:
    details = {"cached_tokens": said.cached}
    return {"prompt_tokens": said.prompt, "completion_tokens": said.output, "prompt_tokens_details": details}


def chat(said: Said) -> list[Json]:
    def chunk(delta: Json, stop: str | None = None) -> Json:
        choice = {"index": 0, "delta": delta, "finish_reason": stop}
        return {"id": "chatcmpl-é", "model": "gpt-日", "choices": [choice], "usage": None}

    found = [chunk({"content": text}) for text in said.texts]
    for at, tool in enumerate(said.tools):
        call = {"index": at, "id": f"c{at}", "type": "function", "function": {"name": tool, "arguments": '{"é":1}'}}
        found.append(chunk({"tool_calls": [call]}))
    ending = {"id": "chatcmpl-é", "model": "gpt-日", "choices": [], "usage": chat_usage(said)}
    return [*found, chunk({}, said.stop), ending, *([{"error": ERROR}] if said.failure else [])]


def whole_chat(said: Said) -> Json:
    calls = [{"id": f"c{at}", "function": {"name": tool, "arguments": "{}"}} for at, tool in enumerate(said.tools)]
    answer = {"content": "".join(said.texts), "tool_calls": calls}
    choice = {"index": 0, "message": answer, "finish_reason": said.stop}
    return {"id": "chatcmpl-é", "model": "gpt-日", "choices": [choice], "usage": chat_usage(said)}


def whole_responses(said: Said) -> Json:
    usage = {"input_tokens": said.prompt, "output_tokens": said.output}
    content = [{"type": "output_text", "text": text} for text in said.texts]
    output: list[Json] = [{"type": "compaction", "id": "cmp_1"}] if said.compacted else []
    output.append({"type": "message", "content": content})
    output += [{"type": "function_call", "id": f"f{at}", "name": tool} for at, tool in enumerate(said.tools)]
    return {
        "id": "resp_é",
        "object": "response",
        "model": "gpt-日",
        "status": "failed" if said.failure else "completed" if said.stop is None else "incomplete",
        "error": ERROR if said.failure else None,
        "incomplete_details": None if said.stop is None or said.failure else {"reason": said.stop},
        "prompt_cache_diagnostics": {
            "type": "cache_miss",
            "reason": "tools_changed",
            "cache_missed_tokens": said.cached,
        },
        "usage": usage | {"input_tokens_details": {"cached_tokens": said.cached}},
        "output": output,
    }


def responses(said: Said) -> list[Json]:
    whole = whole_responses(said)
    opening = whole | {"status": "in_progress", "usage": None, "output": [], "error": None, "incomplete_details": None}
    found: list[Json] = [{"type": "response.created", "response": opening}]
    found += [{"type": "response.output_text.delta", "delta": text} for text in said.texts]
    for at, item in enumerate(whole["output"]):
        found.append({"type": "response.output_item.added", "output_index": at, "item": item})
        found.append({"type": "response.output_item.done", "output_index": at, "item": item})
    return [*found, {"type": f"response.{whole['status']}", "response": whole}]


def gemini(said: Said) -> list[Json]:
    def chunk(part: Json, output: int, stop: str | None = None) -> Json:
        answer = {"content": {"parts": [part]}, "index": 0} | ({} if stop is None else {"finishReason": stop})
        counts = {"promptTokenCount": said.prompt, "cachedContentTokenCount": said.cached}
        counts["candidatesTokenCount"] = output
        return {"candidates": [answer], "usageMetadata": counts, "modelVersion": "gemini-日", "responseId": "r-é"}

    found = [chunk({"text": text}, at) for at, text in enumerate(said.texts)]
    found += [chunk({"functionCall": {"name": tool, "args": {"é": "🙂"}}}, 1) for tool in said.tools]
    found.append(chunk({"text": ""}, said.output, said.stop))
    if said.compacted:  # a block of the prompt, in the middle for once
        found.append({"promptFeedback": {"blockReason": "SAFETY"}, "modelVersion": "gemini-日"})
    return [*found, {"error": ERROR}] if said.failure else found


STREAMS: Final[dict[FormatName, Callable[[Said], list[Json]]]] = {
    "anthropic": anthropic,
    "openai_chat": chat,
    "openai_responses": responses,
    "gemini": gemini,
}
WHOLE: Final[dict[FormatName, Callable[[Said], Any]]] = {
    "anthropic": whole_anthropic,
    "openai_chat": whole_chat,
    "openai_responses": whole_responses,
    "gemini": gemini,  # without `alt=sse` its stream is an array
}


def streamed(said: list[Json], newline: str, *, ascii_only: bool) -> bytes:
    out = f": a comment{newline}{newline}"
    for one in said:
        name = f"event: {one['type']}{newline}" if "type" in one else ""
        out += f"{name}data: {json.dumps(one, ensure_ascii=ascii_only)}{newline}{newline}"
    return out.encode()


def cut(body: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(body) + 1) for place in places), len(body)]
    return [body[start:end] for start, end in pairwise(edges)]


def spoiling(body: bytes) -> list[int]:
    """The places inside characters, and between a carriage return and its line feed."""
    return [at for at in range(1, len(body)) if body[at] & 0xC0 == 0x80 or body[at - 1 : at + 1] == b"\r\n"]


def read(wire: FormatName, kind: str, chunks: list[bytes], limit: int | None = None) -> tuple[TapResult, list[str]]:
    """What the tap reads, and the calls that whoever filters them meets."""
    tap = UsageTap(wire, kind, names_calls=True, most_event_bytes=limit)
    met: list[str] = []

    def met_one(name: str, call_id: str) -> None:
        met.append(f"{name} {call_id}")

    calls = ReplyFilter(wire, kind, met_one)
    for chunk in chunks:
        tap.feed(chunk)
        calls.feed(chunk)
    calls.end()
    return tap.end(), met


EVERY: Final = Said(["é\r\n\r\n", "🙂"], ["Read", "日"], "länge", 900, 300, 77, failure=False, compacted=True)


@pytest.mark.parametrize("wire", FORMATS)
@given(SAID, st.tuples(NEWLINES, st.booleans()), PLACES, st.one_of(st.none(), st.integers(0, 10_000)))
@example(EVERY, ("\r\n", False), [], None)
def test_a_stream(
    wire: FormatName, said: Said, written: tuple[str, bool], places: list[int], broken_off: int | None
) -> None:
    body = streamed(STREAMS[wire](said), written[0], ascii_only=written[1])
    if broken_off is not None:
        body = body[: broken_off % (len(body) + 1)]
    found = read(wire, SSE, [body])
    assert read(wire, SSE, cut(body, places)) == found
    assert read(wire, SSE, cut(body, spoiling(body))) == found
    assert read(wire, SSE, [body[at : at + 1] for at in range(len(body))]) == found


@pytest.mark.parametrize("wire", FORMATS)
@given(SAID, PLACES, st.booleans(), st.one_of(st.none(), st.integers(0, 10_000)))
def test_a_whole_body(
    wire: FormatName, said: Said, places: list[int], ascii_only: bool, broken_off: int | None
) -> None:
    body = json.dumps(WHOLE[wire](said), ensure_ascii=ascii_only, indent=1).encode()
    if broken_off is not None:
        body = body[: broken_off % (len(body) + 1)]
    found = read(wire, JSON, [body])
    assert read(wire, JSON, cut(body, places)) == found
    assert read(wire, JSON, cut(body, spoiling(body))) == found


@pytest.mark.parametrize("wire", FORMATS)
@given(SAID, NEWLINES, PLACES, st.integers(20, 400))
def test_a_stream_with_events_that_are_too_long(
    wire: FormatName, said: Said, newline: str, places: list[int], limit: int
) -> None:
    """Which of them are left out must not hang on how they came."""
    body = streamed(STREAMS[wire](said), newline, ascii_only=False)
    found = read(wire, SSE, [body], limit)
    assert read(wire, SSE, cut(body, places), limit) == found
    assert read(wire, SSE, [body[at : at + 1] for at in range(len(body))], limit) == found


@pytest.mark.parametrize("wire", FORMATS)
@given(
    st.binary(max_size=300), st.lists(st.sampled_from((b"\n", b"\r", b"data:", b'{"usage":{}}')), max_size=8), PLACES
)
def test_bytes_that_are_no_reply(wire: FormatName, junk: bytes, lines: list[bytes], places: list[int]) -> None:
    body = junk + b"".join(lines)
    assert read(wire, JSON, cut(body, places))[0] == read(wire, JSON, [body])[0]
    read(wire, SSE, cut(body, places))


@pytest.mark.parametrize("wire", FORMATS)
def test_every_fact_is_there_to_be_read(wire: FormatName) -> None:
    """Facts that nobody reads would be the same however they are cut."""
    found, met = read(wire, SSE, [streamed(STREAMS[wire](EVERY), "\n", ascii_only=False)])
    assert found.message_id is not None and found.model is not None
    assert (found.usage.output, found.usage.read) == (77, 300)
    assert found.stop in ("länge", "incomplete:länge", "blockReason:SAFETY")
    assert list(found.calls) == EVERY.tools or [name.split()[0] for name in met] == EVERY.tools
    if wire == "anthropic":
        assert found.applied and found.transformations
    if wire == "openai_responses":
        assert found.applied == (Applied("compaction"),)
        assert found.miss is not None
    failed = Said([], [], None, 9, 3, 2, failure=True, compacted=False)
    told, _ = read(wire, SSE, [streamed(STREAMS[wire](failed), "\n", ascii_only=False)])
    assert told.error_event
    assert bool(told.failure) == (wire == "openai_responses")
