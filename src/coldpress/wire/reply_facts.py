"""What a provider tells beside usage: why its cache was missed, and what it did to reasoning in the history.

Shapes: anthropic 2.14.0 (`BetaDiagnostics`, `BetaInputTransformation`), openai 3.57.0 (`PromptCacheDiagnostics`).
"""

from __future__ import annotations

import msgspec

from coldpress.model.records import Miss

_MOST_TRANSFORMATIONS = 50
_WORD_CHARS = 64
"""A word of a closed list fits; a text of somebody's does not get into the ledger whole."""


class _Reason(msgspec.Struct):
    type: str | None = None
    cache_missed_input_tokens: int | None = None


class _Diagnostics(msgspec.Struct):
    cache_miss_reason: _Reason | None = None


class _CacheDiagnostics(msgspec.Struct):
    type: str | None = None
    reason: str | None = None
    cache_missed_tokens: int | None = None


class _Transformation(msgspec.Struct):
    type: str = ""
    reason: str = ""


_ANTHROPIC = msgspec.json.Decoder(_Diagnostics)
_OPENAI = msgspec.json.Decoder(_CacheDiagnostics)
_TRANSFORMATIONS = msgspec.json.Decoder(list[_Transformation])


def anthropic_miss(raw: bytes | msgspec.Raw) -> Miss | None:
    """Read `diagnostics` of a Messages reply; `None` where it names no reason (yet).

    `previous_message_not_found` and `unavailable` are reasons too: there is no diagnosis, and no tokens.

    Raises:
        msgspec.MsgspecError: it has another shape.
    """
    reason = _ANTHROPIC.decode(raw).cache_miss_reason
    if reason is None or reason.type is None:
        return None
    return Miss(reason.type[:_WORD_CHARS], _tokens(reason.cache_missed_input_tokens))


def openai_miss(raw: bytes | msgspec.Raw) -> Miss | None:
    """Read `prompt_cache_diagnostics`; `None` for a hit. `comparison_response_not_found` and `unavailable` are reasons.

    Raises:
        msgspec.MsgspecError: it has another shape.
    """
    found = _OPENAI.decode(raw)
    word = found.reason if found.type == "cache_miss" else found.type
    if word is None or word == "cache_hit":
        return None
    return Miss(word[:_WORD_CHARS], _tokens(found.cache_missed_tokens))


def transformations(raw: bytes | msgspec.Raw) -> tuple[str, ...]:
    """Read `input_transformations`: one `kind:reason` each, in order, the first 50.

    Raises:
        msgspec.MsgspecError: it has another shape.
    """
    entries = _TRANSFORMATIONS.decode(raw)[:_MOST_TRANSFORMATIONS]
    return tuple(f"{entry.type[:_WORD_CHARS]}:{entry.reason[:_WORD_CHARS]}" for entry in entries)


def _tokens(count: int | None) -> int | None:
    return count if count is not None and count >= 0 else None
