"""The prices that a settings file may give a model, for providers and for the summariser alike."""

from __future__ import annotations

from dataclasses import dataclass, field

from coldpress.config.about import say


@dataclass(frozen=True, slots=True, kw_only=True)
class TierKeys:
    """Prices of the whole request where its prompt is longer than a limit. What a row does not say stays as it was."""

    above_tokens: int = field(
        metadata=say("The row holds for prompts of more than this.", unit="tokens", least=1, example="200_000")
    )
    input_usd_per_mtok: float | None = field(
        default=None,
        metadata=say(
            "Fresh input tokens.",
            unit="USD per million tokens",
            least=0,
            example="6.0",
            unset="as for shorter prompts",
        ),
    )
    output_usd_per_mtok: float | None = field(
        default=None,
        metadata=say(
            "Output tokens.", unit="USD per million tokens", least=0, example="22.5", unset="as for shorter prompts"
        ),
    )
    cache_read_usd_per_mtok: float | None = field(
        default=None,
        metadata=say(
            "Input tokens read from the provider's cache.",
            unit="USD per million tokens",
            least=0,
            example="0.6",
            unset="as for shorter prompts",
        ),
    )
    cache_write_usd_per_mtok: float | None = field(
        default=None,
        metadata=say(
            "Input tokens written to the cache for the provider's short lifetime.",
            unit="USD per million tokens",
            least=0,
            example="7.5",
            unset="as for shorter prompts, or the input price where that has no price of its own",
        ),
    )
    cache_write_long_usd_per_mtok: float | None = field(
        default=None,
        metadata=say(
            "Input tokens written to the cache for the long lifetime.",
            unit="USD per million tokens",
            least=0,
            example="12.0",
            unset="as for shorter prompts",
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceKeys:
    """What one model costs at this provider. It goes before every built-in price."""

    input_usd_per_mtok: float = field(
        metadata=say("Fresh input tokens.", unit="USD per million tokens", least=0, example="3.0")
    )
    output_usd_per_mtok: float = field(
        metadata=say("Output tokens.", unit="USD per million tokens", least=0, example="15.0")
    )
    cache_read_usd_per_mtok: float = field(
        metadata=say(
            "Input tokens read from the provider's cache.", unit="USD per million tokens", least=0, example="0.3"
        )
    )
    cache_write_usd_per_mtok: float | None = field(
        default=None,
        metadata=say(
            "Input tokens written to the cache for the provider's short lifetime.",
            unit="USD per million tokens",
            least=0,
            example="3.75",
            unset="the input price; writing costs nothing extra",
        ),
    )
    cache_write_long_usd_per_mtok: float | None = field(
        default=None,
        metadata=say(
            "Input tokens written to the cache for the long lifetime (1 hour at Anthropic, 12 hours at OpenAI).",
            unit="USD per million tokens",
            least=0,
            example="6.0",
            unset="unknown; a reply that reports such tokens is not priced",
        ),
    )
    as_of: str | None = field(
        default=None,
        metadata=say(
            "Day these prices were read from the provider, as YYYY-MM-DD; it stands beside every amount.",
            example='"2026-11-30"',
            unset="undated",
        ),
    )
    tiers: tuple[TierKeys, ...] = field(
        default=(),
        metadata=say("Price cliffs, each longer prompt behind the shorter ones."),
    )
