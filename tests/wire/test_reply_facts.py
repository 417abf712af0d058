"""A reply tells why the cache was missed and what became of reasoning, streamed or not."""

from __future__ import annotations

from typing import Any

import pytest
from wire.replies import JSON, SSE, completion, events, message, message_stream, tap

from coldpress.model.records import Miss

USAGE = {"input_tokens": 9, "output_tokens": 2}
DROPPED = {"type": "thinking_dropped", "path": "messages.1.content.0", "reason": "prefix_binding_mismatch"}
ALLOWED = {"type": "thinking_mismatch_allowed", "path": "messages.3.content.0", "reason": "prefix_binding_mismatch"}
WORDS = ("thinking_dropped:prefix_binding_mismatch", "thinking_mismatch_allowed:prefix_binding_mismatch")


def reason(kind: str, tokens: int | None = None) -> dict[str, Any]:
    counted = {} if tokens is None else {"cache_missed_input_tokens": tokens}
    return {"cache_miss_reason": {"type": kind, **counted}}


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        pytest.param(reason("messages_changed", 4321), Miss("messages_changed", 4321), id="messages"),
        pytest.param(reason("model_changed", 7), Miss("model_changed", 7), id="model"),
        pytest.param(reason("system_changed", 0), Miss("system_changed", 0), id="system, nothing lost"),
        pytest.param(reason("tools_changed", 7), Miss("tools_changed", 7), id="tools"),
        pytest.param(
            reason("previous_message_not_found"), Miss("previous_message_not_found"), id="nothing to compare with"
        ),
        pytest.param(reason("unavailable"), Miss("unavailable"), id="no diagnosis"),
        pytest.param(reason("model_changed", -1), Miss("model_changed"), id="a negative count is unknown"),
        pytest.param({"cache_miss_reason": None}, None, id="not compared yet"),
        pytest.param(None, None, id="not missed"),
        pytest.param("model_changed", None, id="another shape"),
    ],
)
def test_cache_miss_of_anthropic(told: Any, expected: Miss | None) -> None:
    for content_type, data in (
        (JSON, message(USAGE, diagnostics=told)),
        (SSE, message_stream(USAGE, diagnostics=told)),
    ):
        found = tap("anthropic", content_type, data)
        assert found.miss == expected
        assert found.usage.fresh == 9


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        pytest.param(
            {
                "type": "cache_miss",
                "reason": "input_changed",
                "cache_missed_tokens": 800,
                "comparison_reusable_tokens": 1200,
            },
            Miss("input_changed", 800),
            id="missed",
        ),
        pytest.param({"type": "cache_hit"}, None, id="hit"),
        pytest.param(
            {"type": "comparison_response_not_found"},
            Miss("comparison_response_not_found"),
            id="nothing to compare with",
        ),
        pytest.param({"type": "unavailable"}, Miss("unavailable"), id="no diagnosis"),
        pytest.param(None, None, id="not asked"),
    ],
)
def test_cache_miss_of_openai(told: Any, expected: Miss | None) -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 2}
    whole = completion(usage, prompt_cache_diagnostics=told)
    stream = events({"id": "c", "choices": [], "usage": usage, "prompt_cache_diagnostics": told}, "[DONE]")
    assert tap("openai_chat", JSON, whole).miss == expected
    assert tap("openai_chat", SSE, stream).miss == expected


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        pytest.param([], (), id="nothing was done"),
        pytest.param([DROPPED, ALLOWED], WORDS, id="one word an entry, in order"),
        pytest.param([DROPPED] * 80, (WORDS[0],) * 50, id="no more than fifty"),
        pytest.param([{"type": "new"}], ("new:",), id="an entry that gives no reason"),
        pytest.param([{"type": "x" * 500, "reason": "y"}], ("x" * 64 + ":y",), id="a text is not kept whole"),
        pytest.param({"type": "new"}, (), id="another shape"),
        pytest.param(None, (), id="null"),
    ],
)
def test_transformations(told: Any, expected: tuple[str, ...]) -> None:
    more = {"input_transformations": told}
    for content_type, data in ((JSON, message(USAGE, **more)), (SSE, message_stream(USAGE, **more))):
        found = tap("anthropic", content_type, data)
        assert found.transformations == expected
        assert found.usage.fresh == 9


def test_what_the_last_event_says_replaces_what_the_first_said() -> None:
    """Another model took over in the middle, and the list is that model's."""
    opening = {"type": "message_start", "message": {"id": "m", "usage": USAGE, "input_transformations": [DROPPED]}}
    closing = {"type": "message_delta", "usage": {"output_tokens": 5}}
    assert tap("anthropic", SSE, events(opening, closing)).transformations == WORDS[:1]
    for later, expected in (([ALLOWED], WORDS[1:]), ([], ()), (None, WORDS[:1])):
        stream = events(opening, {**closing, "input_transformations": later})
        assert tap("anthropic", SSE, stream).transformations == expected


def test_a_stream_without_usage_tells_the_rest_all_the_same() -> None:
    opening = {
        "type": "message_start",
        "message": {"id": "msg_7", "model": "m", "input_transformations": [DROPPED], "diagnostics": reason("x", 3)},
    }
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hi"}}
    stream = b": a comment comes first\n\n" + events({"type": "ping"}, opening, delta)
    found = tap("anthropic", SSE, stream)
    assert (found.message_id, found.model, found.miss) == ("msg_7", "m", Miss("x", 3))
    assert found.transformations == WORDS[:1]
    assert not found.usage.known
