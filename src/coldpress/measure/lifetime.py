"""Follow how long a provider keeps an unused prefix: what it documents, corrected by what replies report."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Lifetime:
    """How long an unused prefix is believed to be held.

    A read after a pause proves that the prefix lives at least that long. A miss proves nothing about longer pauses
    than its own, since any prefix may be evicted early; but a miss after a pause that earlier reads had survived
    takes the belief back to what is documented.

    Attributes:
        documented_seconds: what the provider says, the upper end where it gives a range; `None` where it says nothing.
        longest_hit_seconds: the longest pause after which a prefix was still read.
    """

    documented_seconds: float | None
    longest_hit_seconds: float = 0.0

    @property
    def seconds(self) -> float | None:
        """The belief: a pause longer than this counts as cold; `None` where nothing is known."""
        if self.documented_seconds is None:
            return None
        return max(self.documented_seconds, self.longest_hit_seconds)

    def hit(self, idle_seconds: float) -> Lifetime:
        """Take note of a prefix that was read after a pause."""
        return replace(self, longest_hit_seconds=max(self.longest_hit_seconds, idle_seconds))

    def missed(self, idle_seconds: float) -> Lifetime:
        """Take note of a prefix that was gone after a pause."""
        documented = self.documented_seconds
        if documented is None or idle_seconds <= documented or idle_seconds > self.longest_hit_seconds:
            return self
        return replace(self, longest_hit_seconds=documented)
