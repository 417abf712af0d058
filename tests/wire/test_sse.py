"""Usage is read off replies cut anywhere; what did not come stays unknown."""

from __future__ import annotations

import json
from typing import Any

import pytest

from coldpress.model.usage import Usage
from coldpress.wire.sse import TapResult, UsageTap

SSE = "text/event-stream; charset=utf-8"


def events(*payloads: Any, named: bool = True, newline: str = "\n") -> bytes:
    out = ""
    for payload in payloads:
        name = f"event: {payload['type']}{newline}" if named and isinstance(payload, dict) and "type" in payload else ""
        data = payload if isinstance(payload, str) else json.dumps(payload)
        out += f"{name}data: {data}{newline}{newline}"
    return out.encode()


ANTHROPIC = (
    {
        "type": "message_start",
        "message": {
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
    {"model": "gpt-x", "choices": [{"index": 0, "delta": {"content": "hi"}}], "usage": None},
    {
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


def tap(format_name: str, content_type: str, *chunks: bytes) -> TapResult:
    reader = UsageTap(format_name, content_type)
    for chunk in chunks:
        reader.feed(chunk)
    return reader.end()


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
@pytest.mark.parametrize(
    ("format_name", "payloads", "usage", "model"),
    [
        pytest.param("anthropic", ANTHROPIC, ANTHROPIC_USAGE, "claude-x", id="anthropic"),
        pytest.param("openai_chat", CHAT, CHAT_USAGE, "gpt-x", id="chat"),
    ],
)
def test_a_stream_split_at_every_byte(
    format_name: str, payloads: tuple[Any, ...], usage: Usage, model: str, newline: str
) -> None:
    stream = events(*payloads, newline=newline)
    for cut in range(len(stream) + 1):
        assert tap(format_name, SSE, stream[:cut], stream[cut:]) == TapResult(usage, model, False), cut
    assert tap(format_name, SSE, *(bytes([b]) for b in stream)) == TapResult(usage, model, False)


@pytest.mark.parametrize(
    ("format_name", "body", "usage"),
    [
        pytest.param(
            "anthropic",
            {"usage": {"input_tokens": 9, "output_tokens": 2}},
            Usage(9, None, None, None, 2, None),
            id="anthropic without cache fields",
        ),
        pytest.param(
            "anthropic",
            {"usage": {"input_tokens": 9, "cache_creation_input_tokens": 4, "output_tokens": 2}},
            Usage(9, None, 4, None, 2, None),
            id="anthropic writes without a split",
        ),
        pytest.param(
            "openai_chat",
            {"usage": {"prompt_tokens": 9, "completion_tokens": 2}},
            Usage(9, None, None, None, 2, None),
            id="no details",
        ),
        pytest.param(
            "openai_chat",
            {
                "usage": {
                    "prompt_tokens": 9,
                    "prompt_cache_hit_tokens": 6,
                    "prompt_cache_miss_tokens": 3,
                    "completion_tokens": 2,
                }
            },
            Usage(3, 6, None, None, 2, None),
            id="deepseek",
        ),
        pytest.param(
            "openai_chat",
            {"usage": {"prompt_tokens": 9, "cached_tokens": 4, "completion_tokens": 2}},
            Usage(5, 4, None, None, 2, None),
            id="kimi, at the top",
        ),
        pytest.param(
            "openai_chat",
            {"usage": {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 0}, "completion_tokens": 2}},
            Usage(9, 0, None, None, 2, None),
            id="a miss is zero, not unknown",
        ),
        pytest.param(
            "openai_chat",
            {"choices": [{"usage": {"prompt_tokens": 9, "completion_tokens": 2}}]},
            Usage(9, None, None, None, 2, None),
            id="usage inside a choice",
        ),
        pytest.param("anthropic", {"content": []}, Usage(), id="no usage at all"),
        pytest.param("openai_chat", {"usage": None}, Usage(), id="usage is null"),
        pytest.param("openai_chat", {"usage": {"prompt_tokens": "nine"}}, Usage(), id="usage of another shape"),
    ],
)
def test_usage_of_a_plain_reply(format_name: str, body: dict[str, Any], usage: Usage) -> None:
    data = json.dumps(body).encode()
    assert tap(format_name, "application/json", data[:7], data[7:]).usage == usage


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
        assert len(reader._carry) <= (1 << 20) + 100_000
    reader.feed(b'"}\n\n' + events(*ANTHROPIC[3:]))
    assert reader.end().usage == ANTHROPIC_USAGE


def test_replies_that_are_no_json_are_unknown() -> None:
    assert tap("anthropic", "text/html", b"<html>502</html>") == TapResult(Usage(), None, False)
    assert tap("anthropic", SSE, b'data: {"usage": [[[\n\n' + b"[" * 100_000) == TapResult(Usage(), None, False)


def test_buckets_add_up_to_the_prompt() -> None:
    assert ANTHROPIC_USAGE.prompt == 123
    assert CHAT_USAGE.prompt == 120
    assert Usage().prompt is None
