"""Forecast how many requests a session still makes, from the lengths of earlier ones."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import Final

FEWEST_ENDED: Final = 20
"""Ended sessions that a forecast needs."""

FEWEST_AT_RISK: Final = 5
"""Sessions that must have come as far as the one at hand."""

_ROUNDING: Final = 1e-12


@dataclass(frozen=True, slots=True)
class SessionLength:
    """How many requests a session has made, 1 or more; `ended` is false where it may make more (right-censored)."""

    requests: int
    ended: bool


@dataclass(frozen=True, slots=True)
class Spread:
    """An interval that holds the true mean with probability `level`, as far as the sessions are alike."""

    low: float
    high: float
    level: float


@dataclass(frozen=True, slots=True)
class _Step:
    """How many sessions ended with just so many requests, of those that could have: `at_risk` made as many or more.

    Sessions that made just as many and have not ended are not among those at risk.
    """

    requests: int
    ended: int
    at_risk: int


@dataclass(frozen=True, slots=True)
class Survival:
    """The share of sessions that make a number of requests or more (Kaplan-Meier, discrete).

    A session with n requests that has not ended is known to make n or more. So it counts among those at risk of ending
    with 1 to n-1 requests, and says nothing on ending with n.

    The curve ends at the longest session seen: no request is expected beyond it (a restricted mean). Where that
    session had not ended, forecasts are therefore too low, never too high: a rewrite is refused rather than
    bought on requests that nobody has seen.

    Source: Kaplan and Meier 1958; the variance is Greenwood's, for a restricted mean (Klein and Moeschberger, Survival
    Analysis, 4.5).

    Attributes:
        steps: ascending by requests, only where sessions ended.
        lengths: requests of every session, descending.
        ended: how many sessions ended.
    """

    steps: tuple[_Step, ...]
    lengths: tuple[int, ...]
    ended: int

    @classmethod
    def of(cls, lengths: Iterable[SessionLength]) -> Survival:
        """Build the curve; sessions without a request are left out. Order plays no part.

        >>> curve = Survival.of([SessionLength(10, True)] * 30 + [SessionLength(40, True)] * 10)
        >>> curve.remaining(0), curve.remaining(10), curve.quantile(0, 0.5)
        (17.5, 30.0, 10)
        """
        known = [length for length in lengths if length.requests > 0]
        ended = Counter(length.requests for length in known if length.ended)
        open_ = Counter(length.requests for length in known if not length.ended)
        at_risk = 0
        steps = []
        for requests in sorted(ended.keys() | open_.keys(), reverse=True):
            at_risk += ended[requests]
            if ended[requests]:
                steps.append(_Step(requests, ended[requests], at_risk))
            at_risk += open_[requests]
        longest_first = sorted((length.requests for length in known), reverse=True)
        return cls(tuple(reversed(steps)), tuple(longest_first), sum(ended.values()))

    def at_risk(self, so_far: int) -> int:
        """Count the sessions that made more than `so_far` requests: the ones that a forecast rests on."""
        return bisect_left(self.lengths, -so_far, key=lambda requests: -requests)

    def remaining(self, so_far: int) -> float | None:
        """Expected further requests, the one at hand included, behind `so_far` earlier ones; at least 1.

        `None` where fewer than `FEWEST_ENDED` sessions ended, or fewer than `FEWEST_AT_RISK` came this far.
        """
        return sum(area for area, _ in self._areas(so_far)) if self._knows(so_far) else None

    def interval(self, so_far: int, *, level: float) -> Spread | None:
        """An interval for `remaining`, normal, from Greenwood's variance; `low` is at least 1.

        Args:
            so_far: requests made before the one at hand.
            level: probability, above 0 and below 1.

        Raises:
            ValueError: `level` is 1 or more.
        """
        if not self._knows(so_far):
            return None
        pieces = list(self._areas(so_far))
        ahead = mean = sum(area for area, _ in pieces)
        variance = 0.0
        for area, step in pieces:
            ahead -= area
            if step is not None and step.at_risk > step.ended:
                variance += ahead**2 * step.ended / (step.at_risk * (step.at_risk - step.ended))
        half = NormalDist().inv_cdf((1 + level) / 2) * sqrt(variance)
        return Spread(max(1.0, mean - half), mean + half, level)

    def quantile(self, so_far: int, share: float) -> int | None:
        """Fewest further requests, the one at hand included, within which this share of sessions has ended.

        `None` where nothing is known, as with `remaining`, or where fewer sessions were seen to end.

        Raises:
            ValueError: `share` is not between 0 and 1.
        """
        if not 0 < share < 1:
            raise ValueError(f"share is {share}; give one between 0 and 1")
        alive = 1.0
        for step in self._ahead(so_far) if self._knows(so_far) else ():
            alive *= 1 - step.ended / step.at_risk
            if 1 - alive >= share - _ROUNDING:
                return step.requests - so_far
        return None

    def _knows(self, so_far: int) -> bool:
        return self.ended >= FEWEST_ENDED and self.at_risk(so_far) >= FEWEST_AT_RISK

    def _ahead(self, so_far: int) -> tuple[_Step, ...]:
        return self.steps[bisect_right(self.steps, so_far, key=lambda step: step.requests) :]

    def _areas(self, so_far: int) -> Iterator[tuple[float, _Step | None]]:
        """Cut the expected rest at the steps ahead: requests up to each, weighed with the chance to get there."""
        alive, reached = 1.0, so_far
        for step in self._ahead(so_far):
            yield alive * (step.requests - reached), step
            alive *= 1 - step.ended / step.at_risk
            reached = step.requests
        yield alive * (self.lengths[0] - reached), None
