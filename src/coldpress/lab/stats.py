"""Give intervals to shares, means and medians over recordings, by resampling whole recordings.

Every interval is a percentile bootstrap: the recordings are drawn with replacement, as many as there are, `RESAMPLES`
times; the middle 95 % of what comes out (or another `level`) is the interval, its ends interpolated as
`numpy.quantile` does. Draws of one seed and one number of recordings are always the same, so that figures over the same
recordings go together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from coldpress.model.errors import FiguresError

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

SEED: Final = 166
"""Of every published figure: the reference experiment's."""

RESAMPLES: Final = 10_000
LEVEL: Final = 0.95

CHUNK_CELLS: Final = 1 << 19
"""Drawn recordings that are held at once: with their values some 20 MB, whatever the number of recordings."""


_HALVINGS: Final = 50


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure with its percentile interval and the number of recordings it was resampled over.

    Of a single recording every draw is the same: `low` and `high` are then its own figure and say nothing
    (`is_single`).
    """

    value: float
    low: float
    high: float
    sessions: int
    level: float = LEVEL

    @property
    def is_single(self) -> bool:
        """Whether it rests on one recording, of which resampling can tell nothing."""
        return self.sessions < 2


def share_interval(
    parts: Sequence[tuple[float, float]], *, seed: int, resamples: int = RESAMPLES, level: float = LEVEL
) -> Interval | None:
    """Give the sum of parts over the sum of wholes, with its interval.

    A recording is drawn with both of its numbers, so a large recording weighs what it holds. `None` where the wholes
    add up to nothing. Draws without any whole say nothing about the share and do not count.

    Args:
        parts: `(part, whole)` of each recording.
        seed: of the resampling.
        resamples: how many times the recordings are drawn.
        level: share of the draws that lie in the interval, between 0 and 1; the draws are the same at every level.

    Raises:
        FiguresError: a number is infinite or none.

    >>> share_interval([(1, 10), (1, 10)], seed=166, resamples=20)
    Interval(value=0.1, low=0.1, high=0.1, sessions=2, level=0.95)
    """
    pair = ([part for part, _ in parts], [whole for _, whole in parts])
    return share_intervals([pair], seed=seed, resamples=resamples, level=level)[0]


def share_intervals(
    pairs: Sequence[tuple[Sequence[float], Sequence[float]]],
    *,
    seed: int,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> tuple[Interval | None, ...]:
    """Give several shares over the same recordings, each as `share_interval` does, from the same draws.

    Args:
        pairs: the parts and the wholes of each share, one number for each recording.
        seed: of the resampling.
        resamples: how many times the recordings are drawn.
        level: of the intervals.

    Raises:
        FiguresError: the numbers are not as many in every column, or one is infinite or none.
    """
    columns = table([column for pair in pairs for column in pair])
    count = len(columns)
    if not count:
        return (None,) * len(pairs)
    sums = _resampled_sums(columns, seed=seed, resamples=resamples)
    found: list[Interval | None] = []
    for number, (parts, wholes) in enumerate(pairs):
        whole, drawn = math.fsum(wholes), sums[:, 2 * number + 1]
        counted = drawn != 0.0
        if not whole or not counted.any():
            found.append(None)
            continue
        shares = sums[counted, 2 * number] / drawn[counted]
        found.append(_interval(math.fsum(parts) / whole, shares, count, level))
    return tuple(found)


def mean_intervals(columns: Sequence[Sequence[float]], *, seed: int, resamples: int) -> tuple[Interval | None, ...]:
    """Give the mean of each column, one number for each recording, with its interval; arguments as of others here."""
    values = table(columns)
    if not len(values):
        return (None,) * len(columns)
    means = _resampled_sums(values, seed=seed, resamples=resamples) / len(values)
    points = (math.fsum(column) / len(column) for column in columns)
    return tuple(_interval(point, means[:, number], len(values)) for number, point in enumerate(points))


def median_intervals(columns: Sequence[Sequence[float]], *, seed: int, resamples: int) -> tuple[Interval | None, ...]:
    """Give the median of each column, one number for each recording, with its interval."""
    values = table(columns)
    if not len(values):
        return (None,) * len(columns)
    medians = np.empty((resamples, len(columns)))
    done = 0
    for drawn in draws(len(values), seed=seed, resamples=resamples):
        for number in range(len(columns)):
            medians[done : done + len(drawn), number] = np.median(values[:, number][drawn], axis=1)
        done += len(drawn)
    points = np.median(values, axis=0)
    return tuple(_interval(float(point), medians[:, number], len(values)) for number, point in enumerate(points))


def most_if_none(trials: int, level: float = LEVEL) -> float | None:
    """Give the largest chance that still leaves `trials` trials without a hit once in twenty times.

    At another `level`, between 0 and 1, it is `1 - level` of the times.

    Resampling cannot give an upper end where nothing was found; this one takes the trials as independent.

    >>> round(most_if_none(600), 4)
    0.005
    """
    return 1 - (1 - level) ** (1 / trials) if trials else None


def share_at_most(found: int, trials: int, level: float = LEVEL) -> float | None:
    """Give the largest chance that still gives `found` hits or fewer in `trials` trials once in twenty times.

    Like `most_if_none`, which it is for no hit, it takes the trials as independent. Where hits are few, resampling
    recordings can come to less than this, even to less than no hit at all leaves possible.

    Source: the upper end of Clopper and Pearson (1934), one-sided, found by halving.

    >>> round(share_at_most(3, 40), 4)
    0.1826
    """
    if found >= trials or not found:
        return 1.0 if found and trials else most_if_none(trials, level)
    hits = np.arange(found + 1)
    steps = np.log(trials - hits[1:] + 1) - np.log(hits[1:])
    log_ways = np.concatenate(([0.0], np.cumsum(steps)))
    low, high = found / trials, 1.0
    for _ in range(_HALVINGS):
        chance = (low + high) / 2
        logs = log_ways + hits * math.log(chance) + (trials - hits) * math.log1p(-chance)
        if np.exp(logs).sum() > 1 - level:
            low = chance
        else:
            high = chance
    return low


def table(columns: Sequence[Sequence[float]]) -> Floats:
    """Put columns side by side: one row for each recording.

    Raises:
        FiguresError: they are not equally long, or a number is infinite or none.
    """
    lengths = sorted({len(column) for column in columns})
    if len(lengths) > 1:
        raise FiguresError(f"columns of {lengths[0]} and of {lengths[-1]} numbers; give one for each recording in all")
    check_finite(number for column in columns for number in column)
    return np.array(columns, dtype=np.float64).reshape(len(columns), lengths[0] if lengths else 0).T


def check_finite(numbers: Iterable[float]) -> None:
    """Refuse what no sum can hold.

    Raises:
        FiguresError: a number is infinite or none; says which.
    """
    for place, number in enumerate(numbers):
        if not math.isfinite(number):
            raise FiguresError(f"number {place} is {number}; leave out what is unknown, or give None where that may be")


def draws(count: int, *, seed: int, resamples: int, chunk_cells: int = CHUNK_CELLS) -> Iterator[Indices]:
    """Draw `count` of `count` recordings with replacement, `resamples` times: rows of their numbers, in bounded memory.

    The rows are the same however many are drawn at once.

    Args:
        count: of recordings, 1 or more.
        seed: of the drawing.
        resamples: rows in all.
        chunk_cells: about how many numbers are drawn at once.
    """
    generator = np.random.default_rng(seed)
    rows = max(1, chunk_cells // count)
    for begin in range(0, resamples, rows):
        yield generator.integers(0, count, size=(min(rows, resamples - begin), count))


def _resampled_sums(values: Floats, *, seed: int, resamples: int) -> Floats:
    """Sum the columns over each draw: one row for each draw.

    How often each recording was drawn is counted first; one matrix product then sums all columns at once.
    """
    count = len(values)
    sums, done = np.empty((resamples, values.shape[1])), 0
    for drawn in draws(count, seed=seed, resamples=resamples):
        rows = len(drawn)
        places = (drawn + np.arange(rows)[:, None] * count).ravel()
        often = np.bincount(places, minlength=rows * count).reshape(rows, count)
        sums[done : done + rows] = often.astype(np.float64) @ values
        done += rows
    return sums


def _interval(value: float, drawn: Floats, count: int, level: float = LEVEL) -> Interval:
    tail = (1 - level) / 2
    low, high = np.quantile(drawn, (tail, 1 - tail))
    return Interval(value, float(low), float(high), count, level)
