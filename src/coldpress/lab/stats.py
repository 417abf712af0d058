"""Give an interval to a share taken over sessions, by resampling whole sessions."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

RESAMPLES = 10_000
LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """A share with its percentile interval and the number of sessions it was resampled over."""

    value: float
    low: float
    high: float
    sessions: int
    level: float = LEVEL


def share_interval(parts: Sequence[tuple[float, float]], *, seed: int, resamples: int = RESAMPLES) -> Interval | None:
    """Give the sum of parts over the sum of wholes, with a percentile bootstrap interval over the pairs.

    A session is drawn with both of its numbers, so a large session weighs what it holds. `None` where the
    wholes add up to nothing. Draws without any whole are drawn again.

    Args:
        parts: `(part, whole)` of each session.
        seed: of the resampling.
        resamples: how many times the sessions are drawn with replacement.

    >>> share_interval([(1, 10), (1, 10)], seed=166, resamples=20)
    Interval(value=0.1, low=0.1, high=0.1, sessions=2, level=0.95)
    """
    whole = sum(pair[1] for pair in parts)
    if not whole:
        return None
    drawn = random.Random(seed)
    found: list[float] = []
    while len(found) < resamples:
        sample = drawn.choices(parts, k=len(parts))
        if total := sum([pair[1] for pair in sample]):
            found.append(sum([pair[0] for pair in sample]) / total)
    found.sort()
    tail = (1 - LEVEL) / 2
    low, high = found[int(tail * resamples)], found[min(resamples - 1, int((1 - tail) * resamples))]
    return Interval(sum(pair[0] for pair in parts) / whole, low, high, len(parts))


def most_if_none(trials: int) -> float | None:
    """Give the largest chance that still leaves `trials` trials without a hit once in twenty times.

    Resampling cannot give an upper end where nothing was found; this one takes the trials as independent.

    >>> round(most_if_none(600), 4)
    0.005
    """
    return 1 - (1 - LEVEL) ** (1 / trials) if trials else None
