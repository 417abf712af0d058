"""Every provider's usage, in the shape it sends, comes out in buckets that do not overlap."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wire.replies import (
    JSON,
    SSE,
    completion,
    completion_stream,
    cut,
    message,
    message_stream,
    tap,
)

from coldpress.model.usage import Usage
from coldpress.wire.usage import UsageFields
from coldpress.wire.usage_fields import read_usage

ANTHROPIC = [
    pytest.param(
        {"input_tokens": 9, "output_tokens": 2},
        Usage(9, None, None, None, 2, None),
        id="Anthropic, nothing told of a cache",
    ),
    pytest.param(
        {"input_tokens": 9, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "output_tokens": 2},
        Usage(9, 0, 0, None, 2, None),
        id="Anthropic, a miss is zero and not unknown",
    ),
    pytest.param(
        {"input_tokens": 9, "cache_read_input_tokens": None, "cache_creation_input_tokens": 4, "output_tokens": 2},
        Usage(9, None, 4, None, 2, None),
        id="Anthropic, writes without a split",
    ),
    pytest.param(
        {
            "input_tokens": 3,
            "cache_read_input_tokens": 100,
            "cache_creation_input_tokens": 20,
            "cache_creation": {"ephemeral_5m_input_tokens": 5, "ephemeral_1h_input_tokens": 15},
            "output_tokens": 42,
            "output_tokens_details": {"thinking_tokens": 30},
            "service_tier": "standard",
        },
        Usage(3, 100, 5, 15, 42, 30),
        id="Anthropic, both lifetimes and thinking",
    ),
    pytest.param(
        {"input_tokens": 30, "cache_read_input_tokens": 200, "cache_creation_input_tokens": 50, "output_tokens": 8},
        Usage(30, 200, 50, None, 8, None),
        id="Qwen, Anthropic shape",
    ),
]

# usage, expected buckets, the prompt as the provider itself counts it
CHAT = [
    pytest.param(
        {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11},
        Usage(9, None, None, None, 2, None),
        9,
        id="a server that tells nothing of a cache (vLLM, SGLang, Mistral)",
    ),
    pytest.param(
        {
            "prompt_tokens": 120,
            "completion_tokens": 7,
            "total_tokens": 127,
            "prompt_tokens_details": {"cached_tokens": 100, "cache_write_tokens": 15, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 3, "accepted_prediction_tokens": 0},
        },
        Usage(5, 100, 15, None, 7, 3),
        120,
        id="OpenAI",
    ),
    pytest.param(
        {
            "prompt_tokens": 120,
            "completion_tokens": 7,
            "prompt_tokens_details": {
                "cached_tokens": 60,
                "cache_write_tokens": 50,
                "cache_write_tokens_details": {"ttl_30m_tokens": 20, "ttl_12h_tokens": 30},
            },
        },
        Usage(10, 60, 20, 30, 7, None),
        120,
        id="OpenAI, writes by lifetime",
    ),
    pytest.param(
        {
            "input_tokens": 120,
            "output_tokens": 7,
            "total_tokens": 127,
            "input_tokens_details": {
                "cached_tokens": 60,
                "cache_write_tokens": 50,
                "cache_write_tokens_details": {"ttl_30m_tokens": 50, "ttl_12h_tokens": 0},
            },
            "output_tokens_details": {"reasoning_tokens": 3},
        },
        Usage(10, 60, 50, 0, 7, 3),
        120,
        id="OpenAI and Mistral, in the words of Responses",
    ),
    pytest.param(
        {
            "prompt_tokens": 9,
            "completion_tokens": 2,
            "prompt_cache_hit_tokens": 6,
            "prompt_cache_miss_tokens": 3,
            "prompt_tokens_details": {"cached_tokens": 6},
        },
        Usage(3, 6, None, None, 2, None),
        9,
        id="DeepSeek",
    ),
    pytest.param(
        {
            "prompt_tokens": 194,
            "completion_tokens": 2,
            "total_tokens": 196,
            "cost": 0.0125,
            "is_byok": False,
            "cost_details": {"upstream_inference_cost": None},
            "prompt_tokens_details": {"cached_tokens": 40, "cache_write_tokens": 100, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0},
        },
        Usage(54, 40, 100, None, 2, 0),
        194,
        id="OpenRouter",
    ),
    pytest.param(
        {
            "queue_time": 0.02,
            "prompt_tokens": 4641,
            "prompt_time": 0.01,
            "completion_tokens": 1817,
            "completion_time": 1.2,
            "total_tokens": 6458,
            "prompt_tokens_details": {"cached_tokens": 4608},
        },
        Usage(33, 4608, None, None, 1817, None),
        4641,
        id="Groq",
    ),
    pytest.param(
        {
            "prompt_tokens": 2640,
            "completion_tokens": 182,
            "total_tokens": 3494,
            "prompt_tokens_details": {"text_tokens": 2640, "cached_tokens": 473},
            "completion_tokens_details": {"reasoning_tokens": 672},
            "num_sources_used": 0,
        },
        Usage(2167, 473, None, None, 854, 672),
        2640,
        id="xAI, reasoning beside the completion",
    ),
    pytest.param(
        {"prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 400}},
        Usage(100, 400, None, None, 10, None),
        500,
        id="xAI, a model that leaves cached tokens out of the prompt",
    ),
    pytest.param(
        {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11, "cached_tokens": 4},
        Usage(5, 4, None, None, 2, None),
        9,
        id="Moonshot, cached tokens at the top",
    ),
    pytest.param(
        {
            "prompt_tokens": 951,
            "completion_tokens": 6000,
            "total_tokens": 6952,
            "prompt_tokens_details": {"cached_tokens": 60},
            "completion_tokens_details": {"reasoning_tokens": 6001},
        },
        Usage(891, 60, None, None, 6001, 6001),
        951,
        id="Kimi K3, reasoning larger than the completion it is in",
    ),
    pytest.param(
        {
            "prompt_tokens": 1200,
            "completion_tokens": 300,
            "total_tokens": 1500,
            "prompt_tokens_details": {"cached_tokens": 1100},
        },
        Usage(100, 1100, None, None, 300, None),
        1200,
        id="Z.ai",
    ),
    pytest.param(
        {
            "prompt_tokens": 1505,
            "completion_tokens": 20,
            "total_tokens": 1525,
            "prompt_tokens_details": {
                "cached_tokens": 0,
                "cache_creation_input_tokens": 1494,
                "cache_creation": {"ephemeral_5m_input_tokens": 1494},
                "cache_type": "ephemeral",
            },
        },
        Usage(11, 0, 1494, 0, 20, None),
        1505,
        id="Qwen, explicit cache, OpenAI shape",
    ),
    pytest.param(
        {"input_tokens": 1505, "output_tokens": 20, "total_tokens": 1525, "cached_tokens": 1494},
        Usage(11, 1494, None, None, 20, None),
        1505,
        id="Qwen, its own shape",
    ),
    pytest.param(
        {"prompt_tokens": 1469, "completion_tokens": 744, "total_tokens": 2496},
        Usage(1469, None, None, None, 1027, 283),
        1469,
        id="Gemini, thinking in the total alone",
    ),
    pytest.param(
        {
            "promptTokenCount": 100,
            "toolUsePromptTokenCount": 10,
            "cachedContentTokenCount": 60,
            "candidatesTokenCount": 5,
            "thoughtsTokenCount": 7,
            "totalTokenCount": 122,
        },
        Usage(50, 60, None, None, 12, 7),
        110,
        id="Gemini, its own words",
    ),
    pytest.param(
        {"prompt_tokens": 640, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 512}},
        Usage(128, 512, None, None, 5, None),
        640,
        id="vLLM and SGLang with the cache report on",
    ),
    pytest.param(
        {
            "prompt_tokens": 978,
            "completion_tokens": 42,
            "total_tokens": 1020,
            "prompt_tokens_details": {
                "cache_write_tokens": 300,
                "cached_tokens": 666,
                "cache_creation_tokens": 300,
                "cache_creation_token_details": {"ephemeral_5m_input_tokens": 300, "ephemeral_1h_input_tokens": 0},
            },
            "cache_creation_input_tokens": 300,
            "cache_read_input_tokens": 666,
            "iterations": None,
        },
        Usage(12, 666, 300, 0, 42, None),
        978,
        id="litellm, Anthropic behind it",
    ),
    pytest.param(
        {
            "prompt_tokens": 7039,
            "completion_tokens": 650,
            "total_tokens": 7689,
            "prompt_tokens_details": {"cached_tokens": 7019, "cache_creation_input_tokens": 7019},
        },
        Usage(0, 20, 7019, None, 650, None),
        7039,
        id="a gateway that counts what was written as read too",
    ),
    pytest.param(
        {"prompt_tokens": 9, "completion_tokens": 2, "cached_tokens": 0, "prompt_tokens_details": {"cached_tokens": 4}},
        Usage(5, 4, None, None, 2, None),
        9,
        id="a field that is filled with zero hides no other",
    ),
]


@pytest.mark.parametrize(("usage", "expected"), ANTHROPIC)
def test_messages(usage: dict[str, Any], expected: Usage) -> None:
    assert tap("anthropic", JSON, message(usage)).usage == expected
    assert tap("anthropic", SSE, message_stream(usage)).usage == expected


@pytest.mark.parametrize(("usage", "expected", "prompt"), CHAT)
def test_chat(usage: dict[str, Any], expected: Usage, prompt: int) -> None:
    assert tap("openai_chat", JSON, completion(usage)).usage == expected
    for stream in (
        completion_stream(usage),
        completion_stream(usage, null_before=True),
        completion_stream(usage, in_choice=True),
        completion_stream(usage, in_choice=True, null_before=True),
    ):
        assert tap("openai_chat", SSE, stream).usage == expected
    assert expected.prompt == prompt


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        pytest.param({"prompt_tokens": 9, "completion_tokens": -1}, Usage(9), id="a negative count"),
        pytest.param({"prompt_tokens": 9, "cost": {"total_cost": 1.0}}, Usage(9), id="a cost of another shape"),
        pytest.param({"prompt_tokens": 9, "prompt_tokens_details": []}, Usage(9), id="details that are a list"),
        pytest.param({"prompt_tokens": "nine", "completion_tokens": 2}, Usage(output=2), id="a count in words"),
        pytest.param({"prompt_tokens": 1 << 60}, Usage(), id="a count beyond all windows"),
    ],
)
def test_a_field_that_cannot_be_read_takes_no_other_with_it(usage: dict[str, Any], expected: Usage) -> None:
    assert tap("openai_chat", JSON, completion(usage)).usage == expected


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        pytest.param({"cost": 0.95}, 0.95, id="OpenRouter"),
        pytest.param({"cost": 0}, 0.0, id="a free model costs nothing, which is known"),
        pytest.param(
            {"cost": 0.05, "is_byok": True, "cost_details": {"upstream_inference_cost": 1.0}},
            1.05,
            id="OpenRouter with the user's own key: its fee and the provider's price",
        ),
        pytest.param({"cost": 0.05, "is_byok": True}, None, id="OpenRouter tells its fee alone"),
        pytest.param({"cost_in_usd_ticks": 37756000}, 0.0037756, id="xAI"),
        pytest.param({}, None, id="nobody says"),
    ],
)
def test_real_money_is_kept_where_it_is_told(usage: dict[str, Any], expected: float | None) -> None:
    whole = {"prompt_tokens": 9, "completion_tokens": 2, **usage}
    found = tap("openai_chat", SSE, completion_stream(whole))
    assert found.reported_usd == (None if expected is None else pytest.approx(expected))
    assert found.usage == Usage(9, output=2)


def test_totals_that_grow_over_a_stream_overwrite_and_keep_the_split_whole() -> None:
    fields = UsageFields("anthropic")
    fields.merge(
        read_usage(
            b'{"input_tokens":3,"cache_creation_input_tokens":20,"output_tokens":1,'
            b'"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":20}}'
        )
    )
    fields.merge(read_usage(b'{"input_tokens":9,"cache_creation_input_tokens":50,"output_tokens":30}'))
    assert fields.bill(None).usage == Usage(9, None, 0, 50, 30)


def test_an_empty_value_at_the_end_keeps_the_earlier_one() -> None:
    fields = UsageFields("anthropic")
    fields.merge(read_usage(b'{"input_tokens":3,"cache_read_input_tokens":7,"output_tokens":1}'))
    fields.merge(read_usage(b'{"input_tokens":null,"cache_read_input_tokens":null,"output_tokens":30}'))
    assert fields.bill(None).usage == Usage(3, 7, None, None, 30)


def test_a_part_that_comes_in_pieces_is_put_together() -> None:
    fields = UsageFields("openai_chat")
    fields.merge(read_usage(b'{"prompt_tokens":90,"prompt_tokens_details":{"cached_tokens":40}}'))
    fields.merge(read_usage(b'{"completion_tokens":2,"prompt_tokens_details":{"cache_write_tokens":30}}'))
    assert fields.bill(None).usage == Usage(20, 40, 30, None, 2)


counts = st.integers(0, 10**7)


@given(fresh=counts, read=counts, short=counts, long=counts, output=counts, reasoning=counts, told=st.booleans())
def test_buckets_of_the_subset_kind_come_back(
    *, fresh: int, read: int, short: int, long: int, output: int, reasoning: int, told: bool
) -> None:
    """What OpenAI would send for known buckets is read as those buckets, and they add up to its prompt."""
    reasoning = min(reasoning, output)
    prompt = fresh + read + short + long
    details = {
        "cached_tokens": read,
        "cache_write_tokens": short + long,
        "cache_write_tokens_details": {"ttl_30m_tokens": short, "ttl_12h_tokens": long},
    }
    usage = {
        "prompt_tokens": prompt,
        "completion_tokens": output,
        "prompt_tokens_details": details,
        "completion_tokens_details": {"reasoning_tokens": reasoning},
        **({"total_tokens": prompt + output} if told else {}),
    }
    found = tap("openai_chat", JSON, completion(usage)).usage
    assert found == Usage(fresh, read, short, long, output, reasoning)
    assert found.prompt == prompt


@given(fresh=counts, read=counts, short=counts, long=counts, output=counts)
def test_buckets_of_the_additive_kind_come_back(fresh: int, read: int, short: int, long: int, output: int) -> None:
    usage = {
        "input_tokens": fresh,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": short + long,
        "cache_creation": {"ephemeral_5m_input_tokens": short, "ephemeral_1h_input_tokens": long},
        "output_tokens": output,
    }
    assert tap("anthropic", SSE, message_stream(usage)).usage == Usage(fresh, read, short, long, output)


@settings(max_examples=60)
@given(row=st.integers(0, len(CHAT) + len(ANTHROPIC) - 1), places=st.lists(st.integers(0, 3000)), crlf=st.booleans())
def test_a_reply_cut_anywhere_says_the_same(row: int, places: list[int], crlf: bool) -> None:
    chat = row < len(CHAT)
    usage: Any = (CHAT[row] if chat else ANTHROPIC[row - len(CHAT)]).values[0]
    name = "openai_chat" if chat else "anthropic"
    stream = completion_stream(usage, null_before=True) if chat else message_stream(usage)
    stream = stream.replace(b"\n", b"\r\n") if crlf else stream
    whole = completion(usage) if chat else message(usage)
    for content_type, data in ((SSE, stream), (JSON, whole)):
        pieces = cut(data, [place for place in places if place < len(data)])
        assert tap(name, content_type, *pieces) == tap(name, content_type, data)


@given(kept=st.sets(st.sampled_from(["read", "write", "reasoning", "output"])))
def test_what_was_not_told_stays_unknown(kept: set[str]) -> None:
    usage: dict[str, Any] = {"prompt_tokens": 100}
    details = {"cached_tokens": 40} if "read" in kept else {}
    details |= {"cache_write_tokens": 30} if "write" in kept else {}
    usage |= {"prompt_tokens_details": details} if details else {}
    usage |= {"completion_tokens": 20} if "output" in kept else {}
    usage |= {"completion_tokens_details": {"reasoning_tokens": 5}} if "reasoning" in kept else {}
    found = tap("openai_chat", JSON, completion(usage)).usage
    told = {"read": found.read, "write": found.write_short, "output": found.output, "reasoning": found.reasoning}
    assert {name for name, count in told.items() if count is not None} == kept
    assert found.prompt == 100
