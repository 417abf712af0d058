"""Why a reply ended is read in the provider's word, on every wire, streamed and whole; `None` where it is unknown."""

from __future__ import annotations

import json
from typing import Any

import pytest
from wire.replies import JSON, SSE, completion, completion_stream, events, message, message_stream, tap

Json = dict[str, Any]

USAGE = {"input_tokens": 9, "output_tokens": 2}
COUNTS = {"promptTokenCount": 9, "candidatesTokenCount": 2, "totalTokenCount": 11}


def messages(word: object, *, counts: bool = True) -> Json:
    closing = {"type": "message_delta", "delta": {"stop_reason": word, "stop_sequence": None}}
    opening = {"id": "m", "model": "x", "stop_reason": None, "usage": USAGE}
    talk = {"type": "text_delta", "text": '"stop_reason":"end_turn"'}
    stream = events(
        {"type": "message_start", "message": opening},
        {"type": "content_block_delta", "index": 0, "delta": talk},
        closing | ({"usage": {"output_tokens": 2}} if counts else {}),
        {"type": "message_stop"},
    )
    return {SSE: stream, JSON: message(USAGE, stop_reason=word)}


def chat(word: object) -> Json:
    envelope: Json = {"id": "c", "model": "x"}
    talk = {"index": 0, "delta": {"content": '"finish_reason":"stop"'}, "finish_reason": None}
    choice = {"index": 0, "delta": {}, "finish_reason": word}
    stream = events({**envelope, "choices": [talk]}, {**envelope, "choices": [choice]}, "[DONE]")
    whole = completion({}, choices=[{"index": 0, "message": {"content": "hi"}, "finish_reason": word}])
    return {SSE: stream, JSON: whole}


def responses(status: object, **more: Any) -> Json:
    reply = {"id": "resp_1", "object": "response", "model": "x", "status": status, "output": [], **more}
    opening = {"type": "response.created", "response": {"id": "resp_1", "status": "in_progress", "output": []}}
    closing = {"type": f"response.{status}", "response": reply}
    item = {"type": "message", "status": "completed", "content": [{"type": "output_text", "text": '"status":"failed"'}]}
    done = {"type": "response.output_item.done", "output_index": 0, "item": item}
    return {SSE: events(opening, done, closing), JSON: json.dumps(reply).encode()}


def gemini(*chunks: Json, enclosed: bool = False) -> Json:
    said: list[Json] = [{"response": one} if enclosed else one for one in chunks]
    array = json.dumps(said, indent=2).encode()
    whole = array if len(said) > 1 else json.dumps(said[0]).encode()
    return {SSE: events(*said), JSON: whole, "application/json; array": array}


def candidate(word: object | None = None, text: str = '"finishReason": "STOP"', **more: Any) -> Json:
    found = {"content": {"role": "model", "parts": [{"text": text}]}, "index": 0}
    return {
        "candidates": [found | ({} if word is None else {"finishReason": word})],
        "usageMetadata": COUNTS,
        "modelVersion": "gemini-x",
        "responseId": "r1",
    } | more


def blocked(reason: object) -> Json:
    feedback = {"promptFeedback": {"blockReason": reason, "safetyRatings": []}}
    return {**feedback, "usageMetadata": {"promptTokenCount": 9}, "modelVersion": "gemini-x"}


@pytest.mark.parametrize(
    ("wire", "said", "expected"),
    [
        *(
            pytest.param("anthropic", messages(word), word, id=f"messages: {word}")
            for word in ("end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "compaction", "refusal")
        ),
        pytest.param("anthropic", messages("max_tokens", counts=False), "max_tokens", id="messages: without counts"),
        pytest.param("anthropic", messages(None), None, id="messages: null"),
        pytest.param("anthropic", messages(7), None, id="messages: another shape"),
        *(
            pytest.param("openai_chat", chat(word), word, id=f"chat: {word}")
            for word in ("stop", "length", "tool_calls", "content_filter", "function_call", "new_word")
        ),
        pytest.param("openai_chat", chat(None), None, id="chat: null"),
        pytest.param("openai_chat", chat({"a": 1}), None, id="chat: another shape"),
        pytest.param("openai_responses", responses("completed"), "completed", id="responses: completed"),
        pytest.param(
            "openai_responses",
            responses("incomplete", incomplete_details={"reason": "max_output_tokens"}),
            "incomplete:max_output_tokens",
            id="responses: cut",
        ),
        pytest.param(
            "openai_responses",
            responses("incomplete", incomplete_details={"reason": "content_filter"}, error=None),
            "incomplete:content_filter",
            id="responses: filtered",
        ),
        pytest.param("openai_responses", responses("incomplete"), "incomplete", id="responses: cut, and no reason"),
        pytest.param(
            "openai_responses",
            responses("completed", incomplete_details=None, error=None),
            "completed",
            id="responses: completed, all else null",
        ),
        pytest.param(
            "openai_responses",
            responses("failed", error={"code": "server_error", "message": "no"}),
            "failed:server_error",
            id="responses: failed",
        ),
        pytest.param("openai_responses", responses("cancelled"), "cancelled", id="responses: cancelled"),
        pytest.param("openai_responses", responses("in_progress"), None, id="responses: not over yet"),
        pytest.param("openai_responses", responses("queued"), None, id="responses: not begun"),
        pytest.param("openai_responses", responses(200), None, id="responses: another shape"),
        *(
            pytest.param("gemini", gemini(candidate(), candidate(word), enclosed=enclosed), word, id=f"gemini: {name}")
            for word in ("STOP", "MAX_TOKENS", "SAFETY", "MALFORMED_FUNCTION_CALL", "MISSING_THOUGHT_SIGNATURE")
            for enclosed, name in ((False, word), (True, f"{word} in an envelope"))
        ),
        pytest.param("gemini", gemini(blocked("PROHIBITED_CONTENT")), "blockReason:PROHIBITED_CONTENT", id="a block"),
        pytest.param("gemini", gemini(blocked("SAFETY"), enclosed=True), "blockReason:SAFETY", id="an enclosed block"),
        pytest.param("gemini", gemini(candidate(), blocked("OTHER")), "blockReason:OTHER", id="a block in the middle"),
        pytest.param(
            "gemini",
            gemini(candidate("STOP", promptFeedback={"safetyRatings": []})),
            "STOP",
            id="ratings, and no block",
        ),
        pytest.param("gemini", gemini(candidate("STOP"), candidate("STOP")), "STOP", id="gemini: on every chunk"),
        pytest.param(
            "gemini", gemini(candidate("STOP"), candidate("MAX_TOKENS")), "MAX_TOKENS", id="gemini: the last stands"
        ),
        pytest.param("gemini", gemini(candidate(), candidate()), None, id="gemini: none"),
        pytest.param("gemini", gemini(candidate(3)), None, id="gemini: another shape"),
        pytest.param("gemini", gemini(blocked(None)), None, id="gemini: no block"),
    ],
)
def test_why_it_ended(wire: str, said: dict[str, bytes], expected: str | None) -> None:
    for content_type, body in said.items():
        assert tap(wire, content_type, body).stop == expected, content_type


@pytest.mark.parametrize("in_choice", [False, True])
def test_a_stream_of_chat_has_its_word_in_front_of_its_counts(in_choice: bool) -> None:
    found = tap(
        "openai_chat", SSE, completion_stream({"prompt_tokens": 3, "completion_tokens": 1}, in_choice=in_choice)
    )
    assert (found.stop, found.usage.prompt) == ("stop", 3)


def test_of_several_choices_the_first_ones_word_stands_wherever_it_comes() -> None:
    first, second = ({"index": at, "delta": {}, "finish_reason": word} for at, word in enumerate(("length", "stop")))
    for order in ((first, second), (second, first)):
        assert tap("openai_chat", SSE, events(*({"id": "c", "choices": [one]} for one in order))).stop == "length"
        assert tap("openai_chat", JSON, json.dumps({"choices": order}).encode()).stop == "length"
    chunks = [{"candidates": [{"index": at, "finishReason": word}]} for at, word in ((1, "STOP"), (0, "SAFETY"))]
    for found in (chunks, chunks[::-1]):
        assert tap("gemini", SSE, events(*found)).stop == "SAFETY"


@pytest.mark.parametrize(
    ("wire", "stream", "end"),
    [
        pytest.param("anthropic", message_stream(USAGE), b"event: message_delta", id="messages"),
        pytest.param("openai_chat", chat("stop")[SSE], b'"delta": {}, "finish', id="chat"),
        pytest.param("openai_responses", responses("completed")[SSE], b"event: response.completed", id="responses"),
        pytest.param("gemini", gemini(candidate(), candidate("STOP"))[SSE], b'"finishReason": "STOP"}', id="gemini"),
    ],
)
def test_a_stream_that_is_cut_in_front_of_its_end_does_not_say_why(wire: str, stream: bytes, end: bytes) -> None:
    at = stream.index(end)
    assert tap(wire, SSE, stream).stop is not None
    assert tap(wire, SSE, stream[:at]).stop is None


def test_a_text_is_not_kept_whole() -> None:
    for wire, said in (
        ("anthropic", messages("x" * 500)),
        ("openai_chat", chat("x" * 500)),
        ("openai_responses", responses("completed" * 60)),
        ("openai_responses", responses("incomplete", incomplete_details={"reason": "x" * 500})),
        ("gemini", gemini(candidate("x" * 500))),
        ("gemini", gemini(blocked("x" * 500))),
    ):
        for content_type, body in said.items():
            stop = tap(wire, content_type, body).stop
            assert stop is None or 64 <= len(stop) <= 80


def test_a_reply_that_failed_is_an_error_though_it_names_none() -> None:
    for content_type, body in responses("failed", error=None).items():
        found = tap("openai_responses", content_type, body)
        assert (found.error_event, found.stop) == (True, "failed")
    for content_type, body in responses("incomplete", error=None).items():
        assert not tap("openai_responses", content_type, body).error_event
