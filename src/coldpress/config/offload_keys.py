"""What may stand in `[offload]`: which cheaper model summarises single results, and within which limits."""

from __future__ import annotations

from dataclasses import dataclass, field

from coldpress.config.about import say

_KIB = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class OffloadKeys:
    """The cheaper model that rules with the mode `model` ask for a summary of a result."""

    enabled: bool = field(
        default=False,
        metadata=say("Whether texts of results may go to that model. Nothing is asked where this is false."),
    )
    provider: str | None = field(
        default=None,
        metadata=say(
            "Who serves it, by the provider's name here or a built-in one; its address, format and prices are used.",
            example='"deepseek"',
            unset="none; needed where `enabled` is true",
        ),
    )
    model: str | None = field(
        default=None,
        metadata=say("The model to ask.", example='"deepseek-v4-flash"', unset="none; needed where `enabled` is true"),
    )
    api_key_env: str | None = field(
        default=None,
        repr=False,  # somebody may have put the key itself there
        metadata=say(
            "Name of the environment variable that holds the API key. The key itself never stands in this file, and a "
            "client's own key is never used for this.",
            example='"EXAMPLE_API_KEY"',
            unset="the provider's `api_key_env`; without that one too, only a server on this machine is asked",
        ),
    )
    path: str | None = field(
        default=None,
        metadata=say(
            "What follows the provider's address. It also tells the format where the provider speaks both.",
            example='"/v1/chat/completions"',
            unset="by the provider's format: `/v1/messages` or `/v1/chat/completions`, without a second version",
        ),
    )
    thinking: bool | None = field(
        default=None,
        metadata=say(
            'Whether the model may think before it answers. `false` sends `"thinking": {"type": "disabled"}`, `true` '
            "leaves it to the model: give `max_tokens` room for it then.",
            example="false",
            unset="false at DeepSeek, whose models think unless they are told not to; else left to the model",
        ),
    )
    timeout_seconds: float = field(
        default=20.0,
        metadata=say(
            "Longest wait for a turn under `concurrency` and `rpm`, and again for the answer, all attempts together.",
            unit="seconds",
            least=0.001,
        ),
    )
    max_tokens: int = field(
        default=512,
        metadata=say(
            "Longest summary that is asked for; one that is cut off is not used.", unit="tokens", least=64, most=32_768
        ),
    )
    max_input_bytes: int = field(
        default=64 * _KIB,
        metadata=say("A longer result is not summarised.", unit="bytes of UTF-8", least=1),
    )
    concurrency: int = field(
        default=4, metadata=say("Summaries asked for at one time.", unit="requests", least=1, most=1_000)
    )
    rpm: int = field(
        default=60,
        metadata=say(
            "Requests in any 60 seconds, second attempts included.",
            unit="requests per minute",
            least=1,
            most=100_000,
        ),
    )
    retries: int = field(
        default=1,
        metadata=say(
            "How often a summary is asked for again after 429, 5xx or a broken connection.",
            unit="requests",
            least=0,
            most=9,
        ),
    )
    rest_seconds: float = field(
        default=300.0,
        metadata=say(
            "After three failures in a row the model is not asked for so long; then one summary is tried.",
            unit="seconds",
            least=0,
        ),
    )
