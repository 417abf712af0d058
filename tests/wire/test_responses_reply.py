"""What a Responses reply says of itself is read the same, streamed or whole, however its bytes are cut."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from testing.wires import post, responses, user

from coldpress.model.native import Applied
from coldpress.testing import Script, StrictUpstream
from coldpress.testing.script import Say, Think, Turn
from coldpress.wire.overflow import failed_overflow
from coldpress.wire.sse import TapResult, UsageTap

PATH = "/v1/responses"
STREAM = "text/event-stream; charset=utf-8"


def read(body: bytes, *, kind: str = STREAM, size: int | None = None) -> TapResult:
    tap = UsageTap("openai_responses", kind)
    for start in range(0, len(body), size or max(1, len(body))):
        tap.feed(body[start : start + (size or len(body))])
    return tap.end()


def events(*said: dict[str, object]) -> bytes:
    return b"".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in said)


def opening(**more: object) -> dict[str, object]:
    reply = {"id": "resp_1", "object": "response", "model": "gpt-5.6-sol", "error": None, "usage": None, "output": []}
    return {"type": "response.created", "sequence_number": 0, "response": reply | more}


def ending(word: str = "completed", **more: object) -> dict[str, object]:
    usage = {
        "input_tokens": 1000,
        "input_tokens_details": {"cached_tokens": 700, "cache_write_tokens": 100},
        "output_tokens": 50,
        "output_tokens_details": {"reasoning_tokens": 20},
        "total_tokens": 1050,
    }
    reply = {"id": "resp_1", "model": "gpt-5.6-sol", "status": word, "error": None, "output": [], "usage": usage}
    return {"type": f"response.{word}", "sequence_number": 9, "response": reply | more}


TEXT = {"type": "response.output_text.delta", "sequence_number": 3, "delta": 'no "usage" here, nor an "error" \\'}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_the_bill_is_the_upstreams_own(stream: bool) -> None:
    script = Script([Turn((Think("hm"), Say("a long answer. " * 40)))])
    with StrictUpstream(script) as upstream:
        reply = post(upstream.url, PATH, responses(user("read this. " * 3000), stream=stream))
        billed = upstream.exchanges[-1].usage
    kind = STREAM if stream else "application/json"
    found = read(reply.body, kind=kind)
    assert found.usage == billed
    assert found.message_id is not None
    assert found.message_id.startswith("resp_")
    assert not found.error_event
    assert all(read(reply.body, kind=kind, size=size) == found for size in (1, 7, 64, 1000))


@given(st.lists(st.sampled_from([TEXT, {"type": "response.in_progress", "response": {"id": "resp_1"}}]), max_size=5))
def test_counts_come_from_the_last_event_whatever_stands_between(between: list[dict[str, object]]) -> None:
    found = read(events(opening(), *between, ending()), size=11)
    usage = found.usage
    assert (usage.fresh, usage.read, usage.write_short, usage.output, usage.reasoning) == (200, 700, 100, 50, 20)
    assert (found.model, found.message_id) == ("gpt-5.6-sol", "resp_1")


def test_a_long_last_event_is_read_to_its_end() -> None:
    long = [{"type": "message", "content": [{"type": "output_text", "text": "x" * (3 << 20)}]}]
    assert read(events(opening(), ending(output=long)), size=1 << 16).usage.read == 700


def test_an_answer_that_is_cut_has_a_bill_as_well() -> None:
    found = read(events(opening(), ending("incomplete", incomplete_details={"reason": "max_output_tokens"})))
    assert (found.usage.output, found.error_event) == (50, False)


def test_a_failure_inside_a_stream_is_an_error() -> None:
    failed = ending("failed", error={"code": "server_error", "message": "no"}, usage=None)
    found = read(events(opening(), failed))
    assert found.error_event
    assert found.usage.prompt is None
    assert failed_overflow(found.failure) is None


def test_a_prompt_that_was_too_long_is_told_inside_a_stream_too() -> None:
    error = {
        "code": "context_length_exceeded",
        "message": "Your input exceeds the context window of this model. Please adjust your input and try again.",
    }
    found = read(events(opening(), ending("failed", error=error, usage=None)), size=9)
    assert failed_overflow(found.failure) is not None
    assert failed_overflow(b"{") is None


def test_a_stream_that_breaks_off_has_no_known_bill() -> None:
    found = read(events(opening(), TEXT)[:-9])
    assert found.usage.prompt is None
    assert found.usage.output is None
    assert found.message_id == "resp_1"


@pytest.mark.parametrize("size", [1, 13, 4096])
def test_a_summary_that_the_server_wrote_is_told(size: int) -> None:
    items = [{"type": "compaction", "id": "cmp_1", "encrypted_content": "opaque"}, {"type": "message", "content": []}]
    assert read(events(opening(), ending(output=items)), size=size).applied == (Applied("compaction"),)


def test_text_about_a_compaction_is_none() -> None:
    items = [{"type": "message", "content": [{"type": "output_text", "text": '{"type":"compaction"}'}]}]
    assert read(events(opening(), ending(output=items))).applied == ()


def test_why_the_cache_was_missed_is_read_from_the_last_event() -> None:
    why = {"type": "cache_miss", "reason": "tools_changed", "cache_missed_tokens": 400}
    miss = read(events(opening(), ending(prompt_cache_diagnostics=why))).miss
    assert miss is not None
    assert (miss.reason, miss.tokens) == ("tools_changed", 400)
