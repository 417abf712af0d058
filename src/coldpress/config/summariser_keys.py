"""What may stand in `[summariser]`: who summarises evicted messages, and what that may cost in money and time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from coldpress.config.about import say
from coldpress.config.price_keys import PriceKeys

SummariserKind = Literal["structural", "openai", "anthropic"]
SummaryPrefix = Literal["transcript", "conversation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SummariserKeys:
    """Who summarises the messages that leave a prompt. Where a model gives no usable answer, `structural` does it."""

    kind: SummariserKind = field(
        default="structural",
        metadata=say(
            "`structural` fills the summary from calls and results, without a model. `openai` asks a model at any "
            "endpoint for Chat Completions, `anthropic` one at an endpoint for Messages."
        ),
    )
    url: str | None = field(
        default=None,
        metadata=say(
            "Where the model is asked: an address without a version, one that ends in a version such as `/v4`, or the "
            "whole address of the call.",
            example='"https://llm.example.com"',
            unset="Anthropic's or OpenAI's own address, by `kind`",
        ),
    )
    model: str | None = field(
        default=None,
        metadata=say(
            "The model to ask. `openai` and `anthropic` need it.",
            example='"example-small"',
            unset="none; `structural` has no model",
        ),
    )
    api_key_env: str | None = field(
        default=None,
        repr=False,  # somebody may have put the key itself there
        metadata=say(
            "Name of the environment variable that holds the API key. The key itself never stands in this file.",
            example='"EXAMPLE_API_KEY"',
            unset="no key is sent",
        ),
    )
    prefix: SummaryPrefix = field(
        default="transcript",
        metadata=say(
            "What the question begins with. `transcript`: the evicted messages as text. `conversation`: the agent's "
            "own last request, byte for byte, so that a model at the same provider reads the agent's cache; the "
            "agent's model and its limit of output tokens hold then, not `model` and `max_output_tokens`."
        ),
    )
    timeout_seconds: float = field(
        default=60.0,
        metadata=say("Longest time for one summary, all attempts and waits together.", unit="seconds", least=0.001),
    )
    attempts: int = field(
        default=2,
        metadata=say(
            "How often one summary is asked for, where the answer is 429, 5xx or a broken connection.",
            unit="requests",
            least=1,
            most=10,
        ),
    )
    rest_seconds: float = field(
        default=300.0,
        metadata=say(
            "After three failures in a row no model is asked for so long; then one summary is tried.",
            unit="seconds",
            least=0,
        ),
    )
    max_output_tokens: int = field(
        default=4096,
        metadata=say("Longest summary that is asked for; one that is cut off is not used.", unit="tokens", least=256),
    )
    most_input_tokens: int = field(
        default=150_000,
        metadata=say(
            "Longest transcript, by our own count, that goes to the model: its window less the output, with room for "
            "an estimate that is too low. A `conversation` fits already, since its own model was sent it before.",
            unit="tokens",
            least=1,
        ),
    )
    max_usd_per_call: float = field(
        default=0.5,
        metadata=say(
            "A summary that could cost more, with nothing cached and all the output used, is not asked for.",
            unit="USD",
            least=0,
        ),
    )
    pricing: Mapping[str, PriceKeys] = field(
        default_factory=dict,
        metadata=say(
            "Prices by model name; they go before the built-in prices. A model without any is never asked.",
            example="example-small",
        ),
    )
