"""The tools that a reply of Responses or Gemini calls are named in order, streamed and whole, cut short or not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from wire.replies import JSON, SSE, events, tap

from coldpress.wire.sse import UsageTap

Json = dict[str, Any]


def call(name: str, **more: Any) -> Json:
    return {"type": "function_call", "id": f"fc_{name}", "call_id": f"c_{name}", "name": name, "arguments": "{}"} | more


TALK = {"type": "message", "id": "msg_1", "content": [{"type": "output_text", "text": '{"type":"function_call"}'}]}
SEARCH = {"type": "web_search_call", "id": "ws_1", "status": "completed"}


def reply(*items: Json, status: str = "completed") -> Json:
    return {"id": "resp_1", "object": "response", "model": "x", "status": status, "output": list(items)}


def responses(
    *items: Json, kinds: tuple[str, ...] = ("added", "done"), at_end: tuple[Json, ...] | None = None
) -> bytes:
    """A stream of items, each with its arguments in fragments."""
    said: list[Json] = [{"type": "response.created", "response": reply(status="in_progress")}]
    for at, item in enumerate(items):
        for kind in kinds:
            said.append({"type": f"response.output_item.{kind}", "output_index": at, "item": item})
            said.append(
                {"type": "response.function_call_arguments.delta", "output_index": at, "delta": '{"name":"no"}'}
            )
    return events(*said, {"type": "response.completed", "response": reply(*(items if at_end is None else at_end))})


ITEMS = (
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
    call("Read"),
    TALK,
    call("Read", id="fc_2", call_id="c_2"),
    {"type": "custom_tool_call", "id": "ct_1", "call_id": "c3", "name": "apply_patch", "input": "*** Begin"},
    SEARCH,
    call("issue", namespace="mcp__git"),
    {"type": "local_shell_call", "id": "lsh_1", "call_id": "c5", "action": {"type": "exec", "command": ["ls"]}},
    {"type": "shell_call", "id": "sh_1", "call_id": "c6", "action": {"commands": ["ls"]}},
    {"type": "apply_patch_call", "id": "ap_1", "call_id": "c7", "operation": {}},
)
NAMES = ("Read", "Read", "apply_patch", "mcp__git__issue", "local_shell", "shell", "apply_patch")


def is_named(wire: str, content_type: str, body: bytes, expected: tuple[str, ...]) -> None:
    assert tap(wire, content_type, body).calls == expected
    for size in (1, 17, 1000):
        chunks = [body[at : at + size] for at in range(0, len(body), size)]
        assert tap(wire, content_type, *chunks).calls == expected, size


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        pytest.param(SSE, responses(*ITEMS), id="streamed"),
        pytest.param(SSE, responses(*ITEMS, kinds=("done",)), id="streamed, items only when they are whole"),
        pytest.param(SSE, responses(*ITEMS, kinds=("added",)), id="streamed, items only when they begin"),
        pytest.param(SSE, responses(*ITEMS, kinds=()), id="streamed, items only in the last event"),
        pytest.param(SSE, responses(*ITEMS, at_end=()), id="streamed, no items in the last event"),
        pytest.param(JSON, json.dumps(reply(*ITEMS), indent=1).encode(), id="whole"),
    ],
)
def test_calls_of_responses(content_type: str, body: bytes) -> None:
    is_named("openai_responses", content_type, body, NAMES)


def test_a_stream_of_responses_that_breaks_off_names_the_calls_that_have_begun() -> None:
    whole = responses(*ITEMS, kinds=("added",))
    at = whole.index(b"apply_patch_call")
    is_named("openai_responses", SSE, whole[: whole.rindex(b"event:", 0, at)], NAMES[:-1])


def gemini(*parts: Json, **more: Any) -> Json:
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, "index": 0}], "responseId": "r"} | more


def function(name: str | None, **more: Any) -> Json:
    return {"functionCall": ({} if name is None else {"name": name}) | more, "thoughtSignature": "c2ln"}


COUNTS = {"usageMetadata": {"promptTokenCount": 9, "totalTokenCount": 9}, "modelVersion": "g"}
CHUNKS = (
    gemini({"text": 'say "functionCall": {"name": "no"}'}, **COUNTS),
    gemini(function("read_file", args={"functionCall": {"name": "no"}}), function("ls", args={}, id="1"), **COUNTS),
    gemini(function("read_file", args={"path": "é"}), **COUNTS),
    gemini({"text": ""}, **COUNTS) | {"candidates": [{"finishReason": "STOP"}]},
)
CALLED = ("read_file", "ls", "read_file")


def enclosed(chunks: tuple[Json, ...]) -> list[Json]:
    return [{"response": chunk} for chunk in chunks]


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        pytest.param(SSE, events(*CHUNKS), id="streamed"),
        pytest.param(SSE, events(*enclosed(CHUNKS)), id="streamed in an envelope"),
        pytest.param(JSON, json.dumps(CHUNKS, indent=2).encode(), id="streamed as an array"),
        pytest.param(JSON, json.dumps(enclosed(CHUNKS)).encode(), id="streamed as an array of envelopes"),
        pytest.param(
            JSON, json.dumps(gemini({"text": "hm"}, *(function(name, args={}) for name in CALLED))).encode(), id="whole"
        ),
    ],
)
def test_calls_of_gemini(content_type: str, body: bytes) -> None:
    is_named("gemini", content_type, body, CALLED)


def test_a_call_whose_arguments_are_streamed_is_one() -> None:
    chunks = (
        function("Write", willContinue=True),
        function(None, partialArgs=[{"jsonPath": "$.a", "stringValue": "x"}], willContinue=True),
        function("Write", partialArgs=[{"jsonPath": "$.a", "stringValue": "y"}], willContinue=True),
        function(None),
        function("Write", args={}),
        function("Read", willContinue=True),
        function("ls", args={}),
    )
    is_named("gemini", SSE, events(*(gemini(one) for one in chunks)), ("Write", "Write", "Read", "ls"))


@pytest.mark.parametrize("cut", range(10, 400, 13))
def test_an_array_that_breaks_off_tells_what_its_whole_chunks_say(cut: int) -> None:
    """Where the client leaves, or the provider breaks off, the array has no end."""
    chunks = [json.dumps(chunk, ensure_ascii=False, indent=2).encode() for chunk in CHUNKS]
    body = b"[" + b",\r\n".join(chunks) + b"\n]"
    ends = [body.index(chunk) + len(chunk) for chunk in chunks]
    whole = sum(end <= cut * 3 for end in ends)
    found = tap("gemini", JSON, body[: cut * 3])
    expected = tap("gemini", SSE, events(*CHUNKS[:whole]))
    assert (found.calls, found.message_id, found.usage, found.stop) == (
        expected.calls,
        expected.message_id,
        expected.usage,
        expected.stop,
    )


@pytest.mark.parametrize(
    ("wire", "content_type", "body"),
    [
        pytest.param(
            "gemini", SSE, events(gemini(7, {"functionCall": 3}, {"functionCall": None}, function(""))), id="g"
        ),  # type: ignore[arg-type]
        pytest.param("gemini", SSE, events({"candidates": "none"}, {"candidates": [1, {"content": 2}]}), id="shapes"),
        pytest.param(
            "openai_responses", JSON, b'{"output":[1,{"type":7},{"type":"function_call","name":2}]}', id="items"
        ),
        pytest.param("openai_responses", JSON, b'{"output":null,"response":null}', id="nulls"),
    ],
)
def test_what_is_no_call_is_not_named(wire: str, content_type: str, body: bytes) -> None:
    assert tap(wire, content_type, body).calls == ()


def test_nobody_asks_and_none_is_named() -> None:
    reader = UsageTap("gemini", SSE)
    reader.feed(events(*CHUNKS))
    found = reader.end()
    assert (found.calls, found.stop) == ((), "STOP")
