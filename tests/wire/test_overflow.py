"""Refusals of prompts that are too long are recognised by provider and server, with their numbers, and nothing else is.

Every sentence was published by somebody who got it, in the issue tracker of the provider or of a client.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from coldpress.model.overflow import Overflow
from coldpress.wire.overflow import LONGEST_SENTENCE, MOST_BODY_BYTES, overflow_in

OPENAI = "This model's maximum context length is {} tokens. However, your messages resulted in {} tokens"
REQUESTED = (
    "This model's maximum context length is {} tokens. However, you requested {} tokens ({} in the messages, {} in the "
    "completion). Please reduce the length of the messages or completion."
)
GEMINI = "The input token count ({}) exceeds the maximum number of tokens allowed ({})."


def anthropic(message: str) -> Any:
    return {"type": "error", "error": {"type": "invalid_request_error", "message": message}, "request_id": "req_1"}


def openai(message: str, code: str | int | None = None, kind: str = "invalid_request_error") -> Any:
    return {"error": {"message": message, "type": kind, "param": "messages", "code": code}}


def flat(message: str) -> Any:
    return {"object": "error", "message": message, "type": "BadRequestError", "param": None, "code": 400}


TOLD = [
    pytest.param(anthropic("prompt is too long: 202095 tokens > 200000 maximum"), 202_095, 200_000, id="Anthropic"),
    pytest.param(anthropic("Prompt is too long"), None, None, id="Anthropic, without numbers"),
    pytest.param(
        anthropic(
            "input length and `max_tokens` exceed context limit: 170636 + 34048 > 200000, decrease input length or "
            "`max_tokens` and try again"
        ),
        170_636,
        165_952,
        id="Anthropic, with the answer's reserve",
    ),
    pytest.param(openai(OPENAI.format(128000, 204308), "context_length_exceeded"), 204_308, 128_000, id="OpenAI"),
    pytest.param(
        openai(OPENAI.format(128000, 202868) + " (202767 in the messages, 101 in the functions)."),
        202_868,
        128_000,
        id="OpenAI with functions",
    ),
    pytest.param(
        openai(
            "Your input exceeds the context window of this model. Please adjust your input and try again.",
            "context_length_exceeded",
        ),
        None,
        None,
        id="OpenAI, without numbers",
    ),
    pytest.param(
        openai(
            "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 310212 tokens. "
            "Please reduce the length of the messages.",
            "context_length_exceeded",
        ),
        310_212,
        272_000,
        id="Azure, configured limit",
    ),
    pytest.param(
        openai(
            "This model's maximum context length is 4097 tokens, however you requested 4231 tokens (3975 in your "
            "prompt; 256 for the completion). Please reduce your prompt; or completion length."
        ),
        3_975,
        3_841,
        id="OpenAI, completions",
    ),
    pytest.param(
        openai("Please reduce the length of the messages or completion.", "context_length_exceeded"),
        None,
        None,
        id="Groq",
    ),
    pytest.param(openai(REQUESTED.format(131072, 131134, 122942, 8192)), 122_942, 122_880, id="DeepSeek"),
    pytest.param(flat(REQUESTED.format(16384, 19591, 9591, 10000)), 9_591, 6_384, id="vLLM"),
    pytest.param(
        openai(
            "This model's maximum context length is 262144 tokens. However, you requested 0 output tokens and your "
            "prompt contains at least 262145 input tokens, for a total of at least 262145 tokens. Please reduce the "
            "length of the input prompt or the number of requested output tokens. (parameter=input_tokens, "
            "value=262145)",
            400,
            "BadRequestError",
        ),
        262_145,
        262_144,
        id="vLLM, newer",
    ),
    pytest.param(
        flat(
            "'max_tokens' or 'max_completion_tokens' is too large: 2000. This model's maximum context length is 4096 "
            "tokens and your request has 2104 input tokens (2000 > 4096 - 2104)."
        ),
        2_104,
        2_096,
        id="vLLM, the answer's reserve",
    ),
    pytest.param(
        flat(
            "The decoder prompt (length 21535) is longer than the maximum model length of 16384. Make sure that "
            "`max_model_len` is no smaller than the number of text tokens."
        ),
        21_535,
        16_384,
        id="vLLM, decoder prompt",
    ),
    pytest.param(
        flat("The prompt (total length 25938) is too long to fit into the model (context length 4096)."),
        25_938,
        4_096,
        id="vLLM, multimodal",
    ),
    pytest.param(
        flat("The input (61709 tokens) is longer than the model's context length (40960 tokens)."),
        61_709,
        40_960,
        id="SGLang",
    ),
    pytest.param(
        flat(
            "Requested token count exceeds the model's maximum context length of 40960 tokens. You requested a total "
            "of 42000 tokens: 38000 tokens from the input messages and 4000 tokens for the completion."
        ),
        38_000,
        36_960,
        id="SGLang, the answer's reserve",
    ),
    pytest.param(
        {
            "error": {
                "code": 400,
                "message": "the request exceeds the available context size. try increasing the context size or enable "
                "context shift",
                "type": "exceed_context_size_error",
                "n_prompt_tokens": 14429,
                "n_ctx": 8192,
            }
        },
        14_429,
        8_192,
        id="llama.cpp",
    ),
    pytest.param(
        openai("request (66202 tokens) exceeds the available context size (65536 tokens), try increasing it", 400),
        66_202,
        65_536,
        id="llama.cpp, numbers in the sentence",
    ),
    pytest.param(openai("Requested tokens (2285) exceed context window of 2048"), 2_285, 2_048, id="llama-cpp-python"),
    pytest.param(
        {"error": "Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)"}, 15_028, 7_424, id="LM Studio"
    ),
    pytest.param(
        {
            "error": "Trying to keep the first 111490 tokens when context the overflows. However, the model is loaded "
            "with context length of only 32768 tokens, which is not enough. Try to load the model with a larger "
            "context length, or provide a shorter input."
        },
        111_490,
        32_768,
        id="LM Studio, older",
    ),
    pytest.param({"error": "Context size has been exceeded."}, None, None, id="LM Studio with MLX"),
    pytest.param(
        openai("prompt too long; exceeded max context length by 1374 tokens", None, "api_error"),
        None,
        None,
        id="Ollama",
    ),
    pytest.param({"error": "the input length exceeds the context length"}, None, None, id="Ollama, embeddings"),
    pytest.param(
        {
            "error": {
                "message": "This endpoint's maximum context length is 256000 tokens. However, you requested about "
                "256493 tokens (194895 of text input, 10398 of tool input, 51200 in the output). Please reduce the "
                "length of either one, or use the context-compression plugin to compress your prompt automatically.",
                "code": 400,
                "metadata": {"provider_name": None},
            }
        },
        205_293,
        204_800,
        id="OpenRouter",
    ),
    pytest.param(
        {
            "error": {
                "message": "Provider returned error",
                "code": 400,
                "metadata": {
                    "raw": json.dumps(anthropic("prompt is too long: 213462 tokens > 200000 maximum")),
                    "provider_name": "Anthropic",
                },
            }
        },
        213_462,
        200_000,
        id="OpenRouter, what the provider said",
    ),
    pytest.param(
        [
            {
                "error": {
                    "code": 400,
                    "message": GEMINI.format(1200293, 1048576),
                    "status": "INVALID_ARGUMENT",
                }
            }
        ],
        1_200_293,
        1_048_576,
        id="Gemini's OpenAI face",
    ),
    pytest.param(
        {"error": {"code": 400, "message": GEMINI.format(1200293, 1048576), "status": "INVALID_ARGUMENT"}},
        1_200_293,
        1_048_576,
        id="Gemini",
    ),
    pytest.param(
        [{"error": {"code": 400, "message": GEMINI.format(1200293, 1048576), "status": "INVALID_ARGUMENT"}}],
        1_200_293,
        1_048_576,
        id="Gemini, a stream that is an array",
    ),
    pytest.param(
        {
            "error": {
                "message": json.dumps(openai(GEMINI.format(3475108, 1048576))),
                "code": 400,
            }
        },
        3_475_108,
        1_048_576,
        id="JSON in a message",
    ),
    pytest.param(
        {
            "code": "Client specified an invalid argument",
            "error": "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        },
        537_812,
        131_072,
        id="xAI",
    ),
    pytest.param(
        openai("Your request exceeded model token limit: 262144 (requested: 566084)"), 566_084, 262_144, id="Moonshot"
    ),
    pytest.param(openai("invalid params, context window exceeds limit (2013)"), None, None, id="MiniMax"),
    pytest.param(
        {
            "object": "error",
            "message": "Prompt contains 40123 tokens and 0 draft tokens, too large for model with 32768 maximum "
            "context length",
            "type": "invalid_request_prompt",
        },
        40_123,
        32_768,
        id="Mistral",
    ),
    pytest.param(
        openai("prompt token count of 141214 exceeds the limit of 128000", "model_max_prompt_tokens_exceeded"),
        141_214,
        128_000,
        id="GitHub Copilot",
    ),
    pytest.param(
        openai("Input length 131393 exceeds the maximum allowed input length of 131040 tokens."),
        131_393,
        131_040,
        id="Poolside",
    ),
    pytest.param(
        openai("Input length (265330) exceeds model's maximum context length (262144)."),
        265_330,
        262_144,
        id="numbers in brackets",
    ),
    pytest.param(openai("Range of input length should be [1, 30720]"), None, 30_720, id="Alibaba"),
    pytest.param({"message": "Input is too long for requested model."}, None, None, id="Bedrock"),
    pytest.param(
        {
            "error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4021 `inputs` "
            "tokens and 512 `max_new_tokens`",
            "error_type": "validation",
        },
        4_021,
        3_584,
        id="Text Generation Inference",
    ),
    pytest.param(
        openai("Prompt too long: 5,152 tokens exceeds max_seq_len 2048 (leave room for output tokens)"),
        5_152,
        2_048,
        id="Atlas",
    ),
    pytest.param(
        openai(
            "litellm.BadRequestError: AnthropicException - "
            + json.dumps(anthropic("prompt is too long: 213462 tokens > 200000 maximum"))
        ),
        213_462,
        200_000,
        id="LiteLLM",
    ),
]


@pytest.mark.parametrize("status", [400, 413, 422])
@pytest.mark.parametrize(("body", "prompt", "window"), TOLD)
def test_a_refusal_is_recognised_with_its_numbers(
    body: Any, prompt: int | None, window: int | None, status: int
) -> None:
    assert overflow_in(status, json.dumps(body).encode()) == Overflow(prompt, window)


ELSE = [
    pytest.param(
        413,
        openai(
            "Request too large for model `llama-3.3-70b-versatile` in organization `org_1` service tier `on_demand` on "
            "tokens per minute (TPM): Limit 12000, Requested 14137, please reduce your message size and try again.",
            "rate_limit_exceeded",
            "tokens",
        ),
        id="tokens per minute",
    ),
    pytest.param(
        400,
        openai("Prompt is too long for what is left of your quota. Try again later."),
        id="a quota",
    ),
    pytest.param(400, openai("Your prompt is too long", "rate_limit_exceeded"), id="a code that says rate limit"),
    pytest.param(
        400,
        anthropic(
            "max_tokens: 128000 > 64000, which is the maximum allowed number of output tokens for claude-sonnet-4-5"
        ),
        id="the answer's limit",
    ),
    pytest.param(
        400,
        openai(
            "max_tokens is too large: 100000. This model supports at most 16384 completion tokens.", "invalid_value"
        ),
        id="the answer's limit, OpenAI",
    ),
    pytest.param(
        400,
        openai(
            "This endpoint's maximum context length is 131072 tokens. However, you requested about 138956 tokens "
            "(7884 of text input, 131072 in the output). Please reduce the length of either one."
        ),
        id="the answer's reserve takes the whole window",
    ),
    pytest.param(
        400,
        openai(
            "Invalid 'messages[3].content': string too long. Expected a string with maximum length 1048576, but got a "
            "string with length 2097153 instead.",
            "string_above_max_length",
        ),
        id="characters",
    ),
    pytest.param(
        413,
        {"type": "error", "error": {"type": "request_too_large", "message": "Request exceeds the maximum size"}},
        id="bytes",
    ),
    pytest.param(413, "<html><head><title>413 Request Entity Too Large</title></head></html>", id="a proxy's bytes"),
    pytest.param(400, anthropic("messages.0.content: at least one block is required"), id="another mistake"),
    pytest.param(
        400,
        anthropic("messages.14.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1"),
        id="pairing",
    ),
    pytest.param(
        422,
        {
            "detail": [
                {"loc": ["body"], "msg": "field required", "input": "prompt is too long: 9000 tokens > 8000 maximum"}
            ]
        },
        id="the user's words in a validation error",
    ),
    pytest.param(
        400,
        openai(
            "Value error in messages: " + "x " * LONGEST_SENTENCE + "prompt is too long: 9000 tokens > 8000 maximum"
        ),
        id="the user's words in a long message",
    ),
    *(
        pytest.param(400, anthropic(message), id=f"the user's words, {name}")
        for name, message in (
            (
                "in quotes",
                "messages.3: Input should be a valid string, got 'prompt is too long: 9000 tokens > 6000 maximum'",
            ),
            ("in double quotes", 'Unknown value "prompt is too long: 9000 tokens > 6000 maximum" for this field'),
            ("in backticks", "No such tool: `prompt is too long: 9000 tokens > 6000 maximum`"),
            ("without quotes", "Invalid value for role: prompt is too long: 9000 tokens > 6000 maximum"),
            ("behind a field", "messages[4].content: prompt is too long: 9000 tokens > 6000 maximum"),
            ("far behind", "The request failed. " * 20 + "prompt is too long: 9000 tokens > 6000 maximum"),
        )
    ),
    pytest.param(
        400, anthropic("tool description too long: exceeds the context limit of 1024"), id="a tool's description"
    ),
    pytest.param(429, anthropic("prompt is too long: 202095 tokens > 200000 maximum"), id="another status"),
    pytest.param(
        500, openai("maximum context length is 4096 tokens", "context_length_exceeded"), id="a server's fault"
    ),
    pytest.param(200, openai("maximum context length is 4096 tokens", "context_length_exceeded"), id="a good reply"),
    pytest.param(None, openai("maximum context length is 4096 tokens"), id="no reply"),
    pytest.param(400, openai("The model's maximum context length is not known to this proxy."), id="no number"),
    pytest.param(400, "", id="nothing"),
]


@pytest.mark.parametrize(("status", "body"), ELSE)
def test_what_only_looks_alike_is_not(status: int | None, body: Any) -> None:
    raw = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    assert overflow_in(status, raw) is None


@pytest.mark.parametrize(
    "message",
    [
        pytest.param("prompt is too long: 9000 tokens > 200000 maximum", id="a prompt that would fit"),
        pytest.param("prompt is too long: 12 tokens > 8 maximum", id="a window for nobody"),
    ],
)
def test_numbers_that_cannot_be_right_are_not_taken(message: str) -> None:
    assert overflow_in(400, json.dumps(anthropic(message)).encode()) == Overflow()


def test_plain_text_and_what_an_sdk_makes_of_a_body_are_read_too() -> None:
    sentence = "request (66202 tokens) exceeds the available context size (65536 tokens), try increasing it"
    inner = openai(sentence, "context_length_exceeded")["error"]
    for body in (sentence.encode(), json.dumps(inner).encode(), f"Error code: 400 - {openai(sentence)}".encode()):
        assert overflow_in(400, body) == Overflow(66_202, 65_536)


def test_a_body_is_read_up_to_its_bound() -> None:
    late = b" " * MOST_BODY_BYTES + json.dumps(anthropic("prompt is too long: 9000 tokens > 8000 maximum")).encode()
    assert overflow_in(400, late) is None
    assert overflow_in(400, late[-200:]) == Overflow(9000, 8000)


KEYS = st.sampled_from(["error", "message", "detail", "code", "type", "raw", "n_ctx"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=40) | st.just("context_length_exceeded"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@example(400, b'{"n_ctx":""}')
@example(400, '{"n_ctx":"\u0664\u00b2"}'.encode())
@given(st.sampled_from([400, 413, 422]), st.binary(max_size=300) | VALUES.map(lambda value: json.dumps(value).encode()))
def test_no_body_breaks_the_reading(status: int, body: bytes) -> None:
    found = overflow_in(status, body)
    assert found is None or found.window_tokens is None or found.window_tokens >= 512
