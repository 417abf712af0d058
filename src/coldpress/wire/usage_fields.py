"""The usage fields of every provider we know, as they spell them, gathered over one reply.

Sources: the providers' own type definitions (anthropic 2.14.0, openai 3.57.0) and pages on usage (OpenRouter, xAI,
Moonshot, Alibaba Model Studio), November 2026.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

_MOST = 1 << 53
"""A count beyond this is no count of tokens: JSON numbers are exact up to here."""


class CacheSplit(msgspec.Struct):
    """Written tokens by the lifetime that was asked for, Anthropic's words."""

    ephemeral_5m_input_tokens: int | None = None
    ephemeral_1h_input_tokens: int | None = None


class WriteSplit(msgspec.Struct):
    """Written tokens by the lifetime that was asked for, OpenAI's words."""

    ttl_30m_tokens: int | None = None
    ttl_12h_tokens: int | None = None


class PromptDetails(msgspec.Struct):
    """What is inside a prompt's count.

    Writes go by three names: OpenAI and OpenRouter, Alibaba, litellm.
    """

    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_creation_tokens: int | None = None
    cache_write_tokens_details: WriteSplit | None = None
    cache_creation: CacheSplit | None = None
    cache_creation_token_details: CacheSplit | None = None


class OutputDetails(msgspec.Struct):
    """What is inside an answer's count."""

    reasoning_tokens: int | None = None
    thinking_tokens: int | None = None


class CostDetails(msgspec.Struct):
    """OpenRouter's split of a cost, in US dollars."""

    upstream_inference_cost: float | None = None


class Step(msgspec.Struct):
    """One sampling step of a reply that took several (Anthropic's `usage.iterations[]`)."""

    type: str | None = None
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_creation: CacheSplit | None = None


class WireUsage(msgspec.Struct):
    """Every usage field we know; `None` where it was not sent."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_creation: CacheSplit | None = None
    output_tokens_details: OutputDetails | None = None
    iterations: list[Step] | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    prompt_tokens_details: PromptDetails | None = None
    input_tokens_details: PromptDetails | None = None
    completion_tokens_details: OutputDetails | None = None
    prompt_cache_hit_tokens: int | None = None
    prompt_cache_miss_tokens: int | None = None
    cached_tokens: int | None = None
    cost: float | None = None
    cost_details: CostDetails | None = None
    is_byok: bool | None = None
    cost_in_usd_ticks: int | None = None
    prompt_token_count: int | None = msgspec.field(default=None, name="promptTokenCount")
    cached_content_token_count: int | None = msgspec.field(default=None, name="cachedContentTokenCount")
    candidates_token_count: int | None = msgspec.field(default=None, name="candidatesTokenCount")
    thoughts_token_count: int | None = msgspec.field(default=None, name="thoughtsTokenCount")
    tool_use_prompt_token_count: int | None = msgspec.field(default=None, name="toolUsePromptTokenCount")
    total_token_count: int | None = msgspec.field(default=None, name="totalTokenCount")


_WHOLE = msgspec.json.Decoder(WireUsage)
_PARTS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_FIELD: dict[str, tuple[str, msgspec.json.Decoder[Any]]] = {
    known.encode_name: (known.name, msgspec.json.Decoder(known.type)) for known in msgspec.structs.fields(WireUsage)
}


def read_usage(raw: bytes | msgspec.Raw) -> WireUsage:
    """Decode one usage object; a field of a shape of its own is left out and takes no other with it.

    Raises:
        msgspec.MsgspecError: it is no JSON object.
    """
    try:
        return _WHOLE.decode(raw)
    except msgspec.ValidationError:
        pass
    found = WireUsage()
    for key, value in _PARTS.decode(raw).items():
        if key in _FIELD:
            name, decoder = _FIELD[key]
            try:
                setattr(found, name, decoder.decode(value))
            except msgspec.ValidationError:
                continue
    return found


_Fields = TypeVar("_Fields", bound=msgspec.Struct)


def merge(seen: _Fields, later: _Fields) -> None:
    """Take over into `seen` what `later` has: a later value overwrites, a missing one keeps the earlier.

    What cannot be a count, a negative number for one, is as good as missing.
    """
    for name in later.__struct_fields__:
        value = getattr(later, name)
        if value is None or (isinstance(value, int | float) and not 0 <= value < _MOST):
            continue
        if isinstance(value, msgspec.Struct):
            held = getattr(seen, name)
            fresh = type(value)() if held is None else held
            merge(fresh, value)
            value = fresh
        elif isinstance(value, list):
            value = [_cleaned(step) for step in value]
        setattr(seen, name, value)


def _cleaned(step: Step) -> Step:
    clean = Step()
    merge(clean, step)
    return clean
