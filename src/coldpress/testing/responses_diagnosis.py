"""Compare a Responses request with an earlier one, and say why it did or did not find its prefix in the cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal

from coldpress.measure.cache import Piece
from coldpress.testing.jsonview import as_text
from coldpress.testing.responses_meter import Settings, tokens_of
from coldpress.testing.responses_view import Item, kind_of

MissReason = Literal[
    "model_changed",
    "prompt_cache_key_changed",
    "tools_changed",
    "text_format_changed",
    "reasoning_effort_changed",
    "verbosity_changed",
    "context_compacted",
    "input_changed",
    "service_tier_changed",
]


@dataclass(frozen=True, slots=True)
class Prompted:
    """What is remembered of a request to compare later ones with.

    Attributes:
        settings: what stood outside the prompt.
        pieces: the prompt, as the cache knows it.
        compactions: the sealed compaction items in it.
    """

    settings: Settings
    pieces: tuple[Piece, ...]
    compactions: frozenset[str]


def prompted(settings: Settings, pieces: Sequence[Piece], items: Sequence[Item]) -> Prompted:
    """Keep what later comparisons need of a request."""
    sealed = (as_text(item.get("encrypted_content")) for item in items if kind_of(item) == "compaction")
    return Prompted(settings, tuple(pieces), frozenset(sealed))


def diagnose(earlier: Prompted | None, now: Prompted, *, read_tokens: int) -> dict[str, object]:
    """Write `prompt_cache_diagnostics`.

    Args:
        earlier: the request to compare with, `None` where it is not known.
        now: the request that was answered.
        read_tokens: what it did read from the cache.

    Returns:
        A hit needs the whole earlier prompt at the front of this one, and something read. Where it stands there and
        nothing was read (too short, or forgotten by then), no reason of the list fits: `unavailable`.
    """
    if earlier is None:
        return {"type": "comparison_response_not_found"}
    reason = _changed_settings(earlier.settings, now.settings) or _changed_prompt(earlier, now)
    if reason is None:
        return {"type": "cache_hit" if read_tokens else "unavailable"}
    settings_differ = earlier.settings != now.settings
    reusable = 0 if settings_differ else tokens_of(now.pieces[: _shared(earlier, now)])
    return {
        "type": "cache_miss",
        "reason": reason,
        "cache_missed_tokens": tokens_of(now.pieces) - reusable,
        "comparison_reusable_tokens": reusable,
    }


def _changed_settings(earlier: Settings, now: Settings) -> MissReason | None:
    changes: tuple[tuple[bool, MissReason], ...] = (
        (earlier.model != now.model, "model_changed"),
        (earlier.cache_key != now.cache_key, "prompt_cache_key_changed"),
        (earlier.service_tier != now.service_tier, "service_tier_changed"),
        (earlier.text_format != now.text_format, "text_format_changed"),
        (earlier.effort != now.effort, "reasoning_effort_changed"),
        (earlier.verbosity != now.verbosity, "verbosity_changed"),
    )
    return next((reason for changed, reason in changes if changed), None)


def _changed_prompt(earlier: Prompted, now: Prompted) -> MissReason | None:
    if _tools(earlier) != _tools(now):
        return "tools_changed"
    if _shared(earlier, now) == len(earlier.pieces):
        return None
    return "context_compacted" if now.compactions - earlier.compactions else "input_changed"


def _tools(prompt: Prompted) -> list[bytes]:
    return [piece.digest for piece in prompt.pieces if piece.part == "tools"]


def _shared(earlier: Prompted, now: Prompted) -> int:
    """How many pieces the two prompts begin with alike."""
    pairs = zip(earlier.pieces, now.pieces, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0].digest == pair[1].digest, pairs))
