"""Usage is read off replies cut anywhere; what did not come stays unknown."""

from __future__ import annotations

import json
from typing import Any

import pytest
from wire.replies import SSE, events, tap

from coldpress.model.usage import Usage
from coldpress.wire.sse import TapResult, UsageTap

ANTHROPIC = (
    {
        "type": "message_start",
        "message": {
            "id": "msg_1",
            "model": "claude-x",
            "usage": {
                "input_tokens": 3,
                "cache_read_input_tokens": 100,
                "cache_creation_input_tokens": 20,
                "cache_creation": {"ephemeral_5m_input_tokens": 5, "ephemeral_1h_input_tokens": 15},
                "output_tokens": 1,
            },
        },
    },
    {"type": "ping"},
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "text_delta", "text": 'the word "usage" in prose \n\n data: {"usage": 1}'},
    },
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 42}},
    {"type": "message_stop"},
)
CHAT = (
    {"id": "chatcmpl-1", "model": "gpt-x", "choices": [{"index": 0, "delta": {"content": "hi"}}], "usage": None},
    {
        "id": "chatcmpl-1",
        "model": "gpt-x",
        "choices": [],
        "usage": {
            "prompt_tokens": 120,
            "completion_tokens": 7,
            "prompt_tokens_details": {"cached_tokens": 100, "cache_write_tokens": 15},
            "completion_tokens_details": {"reasoning_tokens": 3},
        },
    },
    "[DONE]",
)
ANTHROPIC_USAGE = Usage(3, 100, 5, 15, 42, None)
CHAT_USAGE = Usage(5, 100, 15, None, 7, 3)


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
@pytest.mark.parametrize(
    ("format_name", "payloads", "expected"),
    [
        pytest.param(
            "anthropic",
            ANTHROPIC,
            TapResult(ANTHROPIC_USAGE, "claude-x", context_tokens=123, message_id="msg_1", stop="end_turn"),
            id="anthropic",
        ),
        pytest.param(
            "openai_chat", CHAT, TapResult(CHAT_USAGE, "gpt-x", context_tokens=120, message_id="chatcmpl-1"), id="chat"
        ),
    ],
)
def test_a_stream_split_at_every_byte(
    format_name: str, payloads: tuple[Any, ...], expected: TapResult, newline: str
) -> None:
    stream = events(*payloads, newline=newline)
    for cut in range(len(stream) + 1):
        assert tap(format_name, SSE, stream[:cut], stream[cut:]) == expected, cut
    assert tap(format_name, SSE, *(bytes([b]) for b in stream)) == expected


@pytest.mark.parametrize("name", ["anthropic", "openai_chat"])
@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b'{"content": []}', id="no usage at all"),
        pytest.param(b'{"usage": null}', id="usage is null"),
        pytest.param(b'{"usage": [1]}', id="usage of another shape"),
        pytest.param(b'{"choices": [{"usage": null}]}', id="no usage inside a choice"),
        pytest.param(b'{"choices": "none", "message": "busy"}', id="everything of another shape"),
    ],
)
def test_a_plain_reply_without_usage_is_unknown(name: str, body: bytes) -> None:
    assert tap(name, "application/json", body[:7], body[7:]) == TapResult()


def test_an_event_whose_data_has_several_lines_is_read_whole() -> None:
    lines = json.dumps(CHAT[1], indent=1).split("\n")
    stream = "".join(f"data: {line}\n" for line in lines).encode() + b"\n"
    for cut in range(len(stream) + 1):
        assert tap("openai_chat", SSE, stream[:cut], stream[cut:]).usage == CHAT_USAGE, cut


def test_a_stream_that_breaks_off_keeps_what_it_said_and_no_more() -> None:
    stream = events(*ANTHROPIC[:3])
    assert tap("anthropic", SSE, stream).usage == Usage(3, 100, 5, 15, 1, None)
    assert not tap("openai_chat", SSE, events(CHAT[0])).usage.known


@pytest.mark.parametrize(
    "payload",
    [
        pytest.param({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, id="anthropic"),
        pytest.param({"error": {"message": "boom", "code": 500}}, id="chat"),
    ],
)
def test_an_error_event_after_200_is_noticed(payload: dict[str, Any]) -> None:
    assert tap("anthropic", SSE, events(payload)).error_event
    assert not tap("openai_chat", SSE, events({"error": None, "usage": None})).error_event


def test_an_event_of_many_megabytes_is_not_held_and_later_usage_is_read() -> None:
    reader = UsageTap("anthropic", SSE)
    reader.feed(events(ANTHROPIC[0]) + b'data: {"type":"content_block_delta","text":"')
    for _ in range(40):
        reader.feed(b"x" * 100_000)
        assert len(reader._held) <= (1 << 20) + 100_000
    reader.feed(b'"}\n\n' + events(*ANTHROPIC[3:]))
    assert reader.end().usage == ANTHROPIC_USAGE


def test_replies_that_are_no_json_are_unknown() -> None:
    assert tap("anthropic", "text/html", b"<html>502</html>") == TapResult()
    assert tap("anthropic", SSE, b'data: {"usage": [[[\n\n' + b"[" * 100_000) == TapResult()


def test_buckets_add_up_to_the_prompt() -> None:
    assert ANTHROPIC_USAGE.prompt == 123
    assert CHAT_USAGE.prompt == 120
    assert Usage().prompt is None
