"""Expect in the sum what no clock foresees for one request: prefixes that are lost though they should be warm.

Every request that is warm by the rules is taken to lose its whole prefix with one small chance for all requests of a
provider. The chance is fitted on recordings, and is judged on sessions that it was not fitted on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coldpress.lab.cache_check import Compared, Session
from coldpress.lab.stats import Interval, share_interval


@dataclass(frozen=True, slots=True)
class Losses:
    """How many requests were warm by the rules, and how many of those lost their prefix."""

    warm: int
    lost: int

    @property
    def rate(self) -> float | None:
        """The share that was lost; `None` where nothing was warm."""
        return self.lost / self.warm if self.warm else None


@dataclass(frozen=True, slots=True)
class Bills:
    """One session's input bill in USD, over the requests that have a price."""

    reported_usd: float
    expected_usd: float


def losses(sessions: Sequence[Session]) -> Losses:
    """Count over the scored requests of all these sessions."""
    scored = [request for session in sessions for request in session.scored]
    return Losses(sum(request.warm for request in scored), sum(request.lost for request in scored))


def rate_interval(sessions: Sequence[Session], *, seed: int) -> Interval | None:
    """Give the rate of losses with its interval, sessions drawn whole: losses come in clusters."""
    counts = [losses([session]) for session in sessions]
    return share_interval([(count.lost, count.warm) for count in counts], seed=seed)


def expected_usd(request: Compared, rate: float) -> float | None:
    """Mix the simulated bill with the one of a lost prefix; `None` where there is no price.

    Args:
        request: a simulated request.
        rate: chance that a warm prefix is lost, between 0 and 1.
    """
    if request.simulated_usd is None or request.cold_usd is None or not request.warm:
        return request.simulated_usd
    return request.simulated_usd + rate * (request.cold_usd - request.simulated_usd)


def expected_bills(session: Session, rate: float) -> Bills:
    """Add up one session with this rate of losses; with a rate of 0 it is the bill by the rules alone."""
    found = [(request.reported_usd, expected_usd(request, rate)) for request in session.scored]
    priced = [(one, two) for one, two in found if one is not None and two is not None]
    return Bills(sum(one for one, _ in priced), sum(two for _, two in priced))


def held_out_bills(sessions: Sequence[Session], *, folds: int) -> tuple[Bills, ...]:
    """Expect every session's bill with the rate of the others.

    Session number i is in fold `i % folds`; its rate comes from the sessions of the same provider in all other folds,
    or from all other folds where no session there has that provider. As many folds as sessions leave out one at a time.

    Raises:
        ValueError: fewer than two folds, or more than sessions: a fold would have nothing to learn from.
    """
    if not 2 <= folds <= len(sessions):
        raise ValueError(f"folds is {folds}; use 2 to {len(sessions)}, the number of sessions")
    found = []
    for number, session in enumerate(sessions):
        others = [other for at, other in enumerate(sessions) if at % folds != number % folds]
        alike = [other for other in others if other.provider == session.provider]
        found.append(expected_bills(session, losses(alike or others).rate or 0.0))
    return tuple(found)


def bill_error_interval(bills: Sequence[Bills], *, seed: int) -> Interval | None:
    """Give the error of the whole bill as a share of the reported one, sign kept, with its interval over sessions."""
    return share_interval([(bill.expected_usd - bill.reported_usd, bill.reported_usd) for bill in bills], seed=seed)
