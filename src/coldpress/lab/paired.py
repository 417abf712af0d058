"""Compare two arms recording by recording: paired differences with intervals, how many pairs are cheaper, and drops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coldpress.lab.stats import (
    LEVEL,
    RESAMPLES,
    Interval,
    check_finite,
    mean_intervals,
    median_intervals,
    share_interval,
)
from coldpress.model.errors import FiguresError


@dataclass(frozen=True, slots=True)
class Paired:
    """What an arm saves beside the control, over pairs that have both numbers.

    Attributes:
        median: of the savings, control minus arm, in the unit of the numbers given (USD for bills); below 0 where the
            arm is dearer. `None` without a pair.
        mean: likewise.
        cheaper, dearer, equal: pairs in which the arm's number is below, above, and the same as the control's.
        dropped: pairs of which one number or both are unknown. They are in no other figure.
    """

    median: Interval | None
    mean: Interval | None
    cheaper: int
    dearer: int
    equal: int
    dropped: int

    @property
    def pairs(self) -> int:
        """How many pairs the figures rest on."""
        return self.cheaper + self.dearer + self.equal

    @property
    def cheaper_share(self) -> float | None:
        """Share of the pairs in which the arm is cheaper; `None` without a pair."""
        return self.cheaper / self.pairs if self.pairs else None


def paired(
    control: Sequence[float | None], arm: Sequence[float | None], *, seed: int, resamples: int = RESAMPLES
) -> Paired:
    """Compare an arm with the control, pair by pair.

    Args:
        control: one number for each recording, or `None` where it is unknown.
        arm: the same recordings in the same order.
        seed: of the resampling; the same pairs are drawn for median and mean.
        resamples: how many times the pairs are drawn.

    Raises:
        FiguresError: the two are not equally long, or a number is infinite or none.

    >>> found = paired([3.0, 2.0, None], [1.0, 2.0, 5.0], seed=166, resamples=100)
    >>> found.mean.value, found.cheaper, found.equal, found.dropped
    (1.0, 1, 1, 1)
    """
    if len(control) != len(arm):
        raise FiguresError(
            f"{len(control)} numbers of the control and {len(arm)} of the arm; give None where one lacks"
        )
    both = [(one, other) for one, other in zip(control, arm, strict=True) if one is not None and other is not None]
    check_finite(number for pair in both for number in pair)
    savings = [one - other for one, other in both]
    return Paired(
        median=median_intervals([savings], seed=seed, resamples=resamples)[0],
        mean=mean_intervals([savings], seed=seed, resamples=resamples)[0],
        cheaper=sum(other < one for one, other in both),
        dearer=sum(other > one for one, other in both),
        equal=sum(other == one for one, other in both),
        dropped=len(control) - len(both),
    )


def median(numbers: Sequence[float | None]) -> float | None:
    """Give the median of what is known; `None` where nothing is.

    >>> median([1.0, None, 3.0])
    2.0
    """
    known = [number for number in numbers if number is not None]
    check_finite(known)
    return float(np.median(known)) if known else None


def ratio_interval(
    parts: Sequence[float],
    wholes: Sequence[float],
    *,
    seed: int,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> Interval | None:
    """Give the sum of parts over the sum of wholes, with its interval; see `coldpress.lab.stats.share_interval`.

    Raises:
        FiguresError: the two are not equally long, or a number is infinite or none.
    """
    if len(parts) != len(wholes):
        raise FiguresError(f"{len(parts)} parts and {len(wholes)} wholes; a recording has one of each")
    return share_interval(list(zip(parts, wholes, strict=True)), seed=seed, resamples=resamples, level=level)
