"""Whose doing it was that a provider read less of a prompt from its cache than it could have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

MissCause = Literal[
    "client",  # it changed what it had sent before: model, tools, system, settings, an earlier message
    "us",  # we sent bytes otherwise that had been sent before
    "time",  # the prefix had been idle for longer than the provider keeps one
    "provider",  # nothing changed and no time had passed: it was evicted, or another machine answered
    "unknown",  # what was sent before is not known
]
"""Who is to answer for a miss."""


@dataclass(frozen=True, slots=True)
class Attribution:
    """A miss, and who is to answer for it.

    Attributes:
        cause: who.
        why: a fixed word for what: `model`, `tools`, `system`, `settings`, `messages`, `key`, `marks` (they
            stand too far apart), `edit`, `summary`, `addition`, `expired`, `evicted`, `provider_edit`, `not_found`,
            `untold`.
        tokens: prompt tokens that were paid in full, or written, and would have been read; `None` where not known.
        usd: what that cost above their price as a read; `None` where not known.
        told: the provider itself said why; else it follows from what was sent, when, and what was read.
    """

    cause: MissCause
    why: str
    tokens: int | None = None
    usd: float | None = None
    told: bool = False
