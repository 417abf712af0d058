"""What is wanted of the cheaper model, and the two ways in which that ends."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from coldpress.engine.offload_check import Refusal
from coldpress.model.identity import EditKey
from coldpress.model.usage import Usage

Reason = Literal[
    "no_key",
    "unpriced",
    "too_large",
    "too_small",
    "holds_secret",
    "busy",
    "late",
    "breaker_open",
    "timeout",
    "http_error",
    "refused_by_provider",
    "stopped_early",
    "bad_reply",
    "empty",
    "too_long",
    "error_like",
    "refused",
    "unfounded",
]
"""Why there is no summary: the first eight are billed nothing here (`late` is billed by a later `Bill`), the others up
to `bad_reply` are the endpoint's, the last five say that what was written is no extract."""

UNUSABLE: Final[frozenset[Refusal | Reason]] = frozenset(
    {"empty", "too_long", "error_like", "refused", "unfounded", "refused_by_provider", "stopped_early"}
)
"""Reasons that the same question would meet again: it is not put a second time."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A summary of one result.

    Attributes:
        key: of the result.
        identity: 32 bytes, see `coldpress.engine.offload_prompt.identity`.
        tool, arguments, text: the call and its whole result; `arguments` is JSON text.
        guidance: what the call was for; may be empty.
    """

    key: EditKey
    identity: bytes
    tool: str
    arguments: str = field(repr=False)
    text: str = field(repr=False)
    guidance: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Made:
    """A summary that may be used.

    Attributes:
        text: never empty; every name in it stands in the result. Its heading is not in it.
        usd: what it costs here, failed attempts included: 0 where it was found or another request pays for it, `None`
            where that is not known.
        cached: whether the text was found in memory or in the store. One that was written just now is not, also where
            another request had asked for it.
        dropped: statements that were taken out of it.
        usage: tokens that are billed here.
        asked: whether this answer was paid for here.
    """

    text: str = field(repr=False)
    usd: float | None
    cached: bool
    dropped: int = 0
    usage: Usage = field(default_factory=Usage)
    asked: bool = False


@dataclass(frozen=True, slots=True)
class Failed:
    """No summary.

    Attributes:
        reason: a fixed word.
        usd: what was paid all the same, `None` where that is not known.
        usage: tokens of an answer that could not be used.
        asked: whether a question was sent whose cost stands here.
    """

    reason: Reason
    usd: float | None = 0.0
    usage: Usage = field(default_factory=Usage)
    asked: bool = False


@dataclass(frozen=True, slots=True)
class Bill:
    """What a question cost whose answer came when nobody waited for it any more.

    Attributes:
        identity: of the summary.
        reason: why there is none; empty where one was made and kept.
        usd, usage: as in `Made`.
    """

    identity: bytes
    reason: Reason | Literal[""]
    usd: float | None
    usage: Usage
