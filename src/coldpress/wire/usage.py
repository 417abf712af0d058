"""Turn a provider's usage object into buckets that do not overlap.

Anthropic counts cached tokens beside `input_tokens`; the OpenAI family counts them inside `prompt_tokens`;
DeepSeek names hits and misses. Sources: the providers' own type definitions (anthropic 2.14.0, openai 3.57.0,
November 2026).
"""

from __future__ import annotations

import msgspec

from coldpress.model.usage import Usage


class _CacheCreation(msgspec.Struct):
    ephemeral_5m_input_tokens: int | None = None
    ephemeral_1h_input_tokens: int | None = None


class _PromptDetails(msgspec.Struct):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class _OutputDetails(msgspec.Struct):
    reasoning_tokens: int | None = None
    thinking_tokens: int | None = None


class WireUsage(msgspec.Struct):
    """Every usage field we know, as the provider spells it; `None` where it was not sent."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_creation: _CacheCreation | None = None
    output_tokens_details: _OutputDetails | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _PromptDetails | None = None
    completion_tokens_details: _OutputDetails | None = None
    prompt_cache_hit_tokens: int | None = None
    prompt_cache_miss_tokens: int | None = None
    cached_tokens: int | None = None


_DECODER = msgspec.json.Decoder(WireUsage)


def read_usage(raw: bytes | msgspec.Raw) -> WireUsage:
    """Decode one usage object.

    Raises:
        msgspec.MsgspecError: it is not an object of the known shape.
    """
    return _DECODER.decode(raw)


class UsageFields:
    """Usage fields gathered over one reply: a later value overwrites, a missing one keeps the earlier."""

    __slots__ = ("_anthropic", "_seen")

    def __init__(self, format_name: str) -> None:
        self._anthropic = format_name == "anthropic"
        self._seen = WireUsage()

    def merge(self, later: WireUsage) -> None:
        """Take over every field that `later` has."""
        for name in later.__struct_fields__:
            value = getattr(later, name)
            if value is not None:
                setattr(self._seen, name, value)

    def usage(self) -> Usage:
        """Give the disjoint buckets."""
        seen = self._seen
        if self._anthropic:
            return _additive(seen)
        return _subset(seen)


def _additive(seen: WireUsage) -> Usage:
    short, long = seen.cache_creation_input_tokens, None
    if seen.cache_creation is not None:
        split = seen.cache_creation
        if split.ephemeral_5m_input_tokens is not None or split.ephemeral_1h_input_tokens is not None:
            short, long = split.ephemeral_5m_input_tokens or 0, split.ephemeral_1h_input_tokens or 0
    details = seen.output_tokens_details
    reasoning = details.thinking_tokens if details else None
    return Usage(seen.input_tokens, seen.cache_read_input_tokens, short, long, seen.output_tokens, reasoning)


def _subset(seen: WireUsage) -> Usage:
    details = seen.prompt_tokens_details
    reads = (
        seen.cached_tokens,
        seen.prompt_cache_hit_tokens,
        details.cached_tokens if details else None,
    )
    known = [r for r in reads if r is not None]
    read = next((r for r in known if r > 0), known[0] if known else None)
    write = details.cache_write_tokens if details else None
    prompt = seen.prompt_tokens
    fresh = None if prompt is None else max(0, prompt - (read or 0) - (write or 0))
    output = seen.completion_tokens_details
    return Usage(fresh, read, write, None, seen.completion_tokens, output.reasoning_tokens if output else None)
