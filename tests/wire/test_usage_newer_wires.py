"""Usage of Responses and Gemini: cached tokens inside the prompt or beside it, and streams that end too soon."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from wire.replies import JSON, SSE, events, tap

from coldpress.model.usage import Usage

Json = dict[str, Any]


def both(wire: str, usage: Json) -> list[Usage]:
    """What is read of a reply with this usage, streamed and whole."""
    if wire == "gemini":
        whole: Json = {"candidates": [], "usageMetadata": usage, "modelVersion": "g", "responseId": "r"}
        stream = events({"candidates": [], "responseId": "r"}, whole)
    else:
        whole = {"id": "resp_1", "model": "gpt-x", "status": "completed", "output": [], "usage": usage}
        opening = {"type": "response.created", "response": whole | {"status": "in_progress", "usage": None}}
        stream = events(opening, {"type": "response.completed", "response": whole})
    return [tap(wire, SSE, stream).usage, tap(wire, JSON, json.dumps(whole).encode()).usage]


def responses_usage(prompt: int, cached: int, output: int, total: int | None, reasoning: int | None = None) -> Json:
    return {
        "input_tokens": prompt,
        "input_tokens_details": {"cached_tokens": cached},
        "output_tokens": output,
        **({"total_tokens": total} if total is not None else {}),
        **({"output_tokens_details": {"reasoning_tokens": reasoning}} if reasoning is not None else {}),
    }


def gemini_usage(prompt: int, cached: int, output: int, total: int | None, thoughts: int | None = None) -> Json:
    return {
        "promptTokenCount": prompt,
        "cachedContentTokenCount": cached,
        "candidatesTokenCount": output,
        **({"totalTokenCount": total} if total is not None else {}),
        **({"thoughtsTokenCount": thoughts} if thoughts is not None else {}),
    }


@pytest.mark.parametrize(
    ("wire", "usage", "expected"),
    [
        pytest.param(
            "openai_responses",
            responses_usage(1000, 700, 50, 1050, 20),
            Usage(300, 700, None, None, 50, 20),
            id="Responses, inside the prompt",
        ),
        pytest.param(
            "openai_responses",
            responses_usage(1000, 700, 50, 1750, 20),
            Usage(1000, 700, None, None, 50, 20),
            id="Responses, beside the prompt, as the total says",
        ),
        pytest.param(
            "openai_responses",
            responses_usage(300, 700, 50, None),
            Usage(300, 700, None, None, 50, None),
            id="Responses, beside the prompt, as more was read than it has",
        ),
        pytest.param(
            "openai_responses",
            responses_usage(1000, 0, 50, 1070, 20),
            Usage(1000, 0, None, None, 70, 20),
            id="Responses, reasoning beside the output",
        ),
        pytest.param(
            "openai_responses",
            responses_usage(1000, 20, 50, 1070, 20),
            Usage(980, 20, None, None, 70, 20),
            id="Responses, as much was read as was reasoned: the total has the reasoning",
        ),
        pytest.param(
            "openai_responses",
            {"input_tokens": 9, "output_tokens": 2, "total_tokens": 11},
            Usage(9, None, None, None, 2, None),
            id="Responses, nothing told of a cache",
        ),
        pytest.param(
            "openai_responses",
            {"input_tokens": 9, "input_tokens_details": None, "output_tokens": 2, "output_tokens_details": None},
            Usage(9, None, None, None, 2, None),
            id="Responses, details are null",
        ),
        pytest.param(
            "gemini",
            gemini_usage(1000, 700, 30, 1050, 20),
            Usage(300, 700, None, None, 50, 20),
            id="Gemini, inside the prompt",
        ),
        pytest.param(
            "gemini",
            gemini_usage(1000, 700, 30, 1750, 20),
            Usage(1000, 700, None, None, 50, 20),
            id="Gemini, beside the prompt, as the total says",
        ),
        pytest.param(
            "gemini",
            gemini_usage(300, 700, 30, None),
            Usage(300, 700, None, None, 30, None),
            id="Gemini, beside the prompt, as more was read than it has",
        ),
    ],
)
def test_cached_tokens(wire: str, usage: Json, expected: Usage) -> None:
    assert both(wire, usage) == [expected, expected]


COUNTS = st.integers(0, 10**6)


@given(COUNTS, COUNTS, COUNTS, COUNTS, st.sampled_from(["inside", "beside"]))
def test_buckets_come_back_wherever_cached_tokens_are_counted(
    fresh: int, read: int, output: int, reasoning: int, where: str
) -> None:
    reasoning = min(reasoning, output)
    assume(where == "inside" or read != reasoning)  # the total alone could mean either
    prompt = fresh + (read if where == "inside" else 0)
    total = fresh + read + output
    expected = Usage(fresh, read, None, None, output, reasoning)
    assert both("openai_responses", responses_usage(prompt, read, output, total, reasoning)) == [expected] * 2
    assert both("gemini", gemini_usage(prompt, read, output - reasoning, total, reasoning)) == [expected] * 2


def chunk(counts: Json | None, stop: str | None = None) -> Json:
    answer = {"content": {"parts": [{"text": "é"}]}} | ({} if stop is None else {"finishReason": stop})
    return {"candidates": [answer], "responseId": "r"} | ({} if counts is None else {"usageMetadata": counts})


RESPONSES = events(
    {"type": "response.created", "response": {"id": "resp_1", "model": "x", "usage": None, "status": "in_progress"}},
    {"type": "response.output_item.added", "output_index": 0, "item": {"type": "message", "content": []}},
    {"type": "response.output_text.delta", "delta": "é"},
    {"type": "response.completed", "response": {"id": "resp_1", "usage": responses_usage(9, 4, 2, 11)}},
)
GEMINI = events(chunk(None), chunk(None), chunk(gemini_usage(9, 4, 2, 11), "STOP"))


@pytest.mark.parametrize(
    ("wire", "stream"), [pytest.param("openai_responses", RESPONSES, id="r"), pytest.param("gemini", GEMINI, id="g")]
)
def test_a_stream_that_is_cut_in_front_of_its_counts_has_unknown_usage_and_not_zero(wire: str, stream: bytes) -> None:
    assert tap(wire, SSE, stream).usage == Usage(5, 4, None, None, 2, None)
    for end in range(len(stream.rstrip())):
        assert tap(wire, SSE, stream[:end]).usage == Usage(), end


def test_an_array_that_is_cut_in_front_of_its_counts_has_unknown_usage_and_not_zero() -> None:
    body = json.dumps([chunk(None), chunk(gemini_usage(9, 4, 2, 11), "STOP")]).encode()
    for end in range(len(body) - 1):
        assert tap("gemini", JSON, body[:end]).usage == Usage(), end


def test_counts_so_far_stand_where_a_stream_of_gemini_is_cut_behind_them() -> None:
    """They tell what was billed at least; output that no chunk counted stays unknown."""
    before = {"promptTokenCount": 9, "cachedContentTokenCount": 4, "totalTokenCount": 9}
    found = tap("gemini", SSE, events(chunk(before), chunk(None)))
    assert (found.usage, found.stop) == (Usage(5, 4, None, None, None, None), None)
