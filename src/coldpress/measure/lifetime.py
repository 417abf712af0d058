"""Follow how long a provider keeps an unused prefix: what it documents, corrected by what replies report."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

EARLY_MISSES: Final = 2
"""Misses after pauses that no provider promises to outlive, until they are believed: one alone may be an accident."""


@dataclass(frozen=True, slots=True)
class Lifetime:
    """How long an unused prefix is believed to be held.

    A read after a pause proves that the prefix lives at least that long. A miss proves nothing about longer pauses
    than its own, since any prefix may be evicted early; but a miss after a pause that earlier reads had survived
    takes the belief back to what is documented. Where less is promised than is documented, two misses in between
    shorten it to the shorter of their pauses, until a prefix is read after such a pause.

    Attributes:
        documented_seconds: what the provider says, the upper end where it gives a range; `None` where it says nothing.
        longest_hit_seconds: the longest pause after which a prefix was still read.
        early_misses: how many prefixes were gone after a pause between what is promised and what is documented, since
            one was read after such a pause.
        shortest_miss_seconds: the shortest of their pauses; without a meaning before there is one.
    """

    documented_seconds: float | None
    longest_hit_seconds: float = 0.0
    early_misses: int = 0
    shortest_miss_seconds: float = 0.0

    @property
    def seconds(self) -> float | None:
        """The belief: a pause longer than this counts as cold; `None` where nothing is known."""
        if self.documented_seconds is None:
            return None
        shortened = self.early_misses >= EARLY_MISSES
        return max(self.shortest_miss_seconds if shortened else self.documented_seconds, self.longest_hit_seconds)

    def hit(self, idle_seconds: float) -> Lifetime:
        """Take note of a prefix that was read after a pause."""
        known = replace(self, longest_hit_seconds=max(self.longest_hit_seconds, idle_seconds))
        return replace(known, early_misses=0) if idle_seconds >= self.shortest_miss_seconds else known

    def missed(self, idle_seconds: float, *, promised_seconds: float | None = None) -> Lifetime:
        """Take note of a prefix that was gone after a pause.

        Args:
            idle_seconds: how long it had not been used.
            promised_seconds: the least lifetime that the provider promises; `None` where it promises what it documents.
        """
        documented = self.documented_seconds
        if documented is None:
            return self
        promised = documented if promised_seconds is None else promised_seconds
        if idle_seconds > documented:
            return replace(self, longest_hit_seconds=documented) if idle_seconds <= self.longest_hit_seconds else self
        if idle_seconds <= promised:
            return self
        shortest = min(self.shortest_miss_seconds, idle_seconds) if self.early_misses else idle_seconds
        longest = promised if idle_seconds <= self.longest_hit_seconds else self.longest_hit_seconds
        return Lifetime(documented, longest, self.early_misses + 1, shortest)
