"""Make of the bills of a sweep what people read: one row for each arm and tariff, with intervals over recordings.

All of it is simulated and open-loop, of input alone. Figures do not depend on the order in which bills arrive: they are
resampled in the order of the recordings' contents.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from coldpress.lab.results import Bill
from coldpress.lab.stats import (
    RESAMPLES,
    SEED,
    Interval,
    mean_intervals,
    median_intervals,
    share_at_most,
    share_intervals,
)
from coldpress.model.errors import FiguresError

__all__ = ["RESAMPLES", "SEED", "ArmFigures", "by_kind", "by_task", "figures"]

Recording = tuple[str, str]
"""What a recording is known by: content and name."""

_BATCH_COLUMNS: Final = 256
"""Columns that are resampled at once: the draws are made once for all of them, and their sums are held."""


@dataclass(frozen=True, slots=True)
class ArmFigures:
    """One arm at one tariff, over all recordings that have a bill there.

    Attributes:
        arm, tariff: their names.
        sessions: recordings.
        requests: of them.
        bill_usd: of all requests as they were sent; `control_usd` of the client's own bodies.
        saving: share of the control's whole bill; below 0 where the arm is dearer.
        median_saving, mean_saving: of the paired differences, USD a recording.
        cheaper, dearer, equal: recordings in which the arm is so.
        edits: that quote an earlier result, which is what the loss is a share of; `edits_lost` of them quote what stood
            in nothing that was sent, `edits_written` is all edits, of whatever.
        edit_loss: share of `edits`. Where none was lost its interval is [0, 0], which says too little: see the next.
        edit_loss_at_most: upper end of the share: that of the interval, or what `share_at_most` leaves possible were
            edits independent, whichever is more. So it is never 0, and never less where more was lost of the same
            edits. `None` without edits.
        identifiers, identifiers_lost, identifier_loss, identifier_loss_at_most: likewise for uses of identifiers.
        refetches: hidden results that would have been fetched again, for `refetch_usd`, which is part of `bill_usd`.
        regret: bill without refetches over the least possible, minus 1, over recordings of which the least is known.
        prompt_saving: share of the control's prompt tokens.
        peak_saving: mean over recordings of the share that the longest prompt is shorter by.
        cuts: requests on which results were newly hidden, `cold_cuts` of them with a cold cache.
        compactions: requests on which a budget made something smaller.
        dropped: recordings among the bills that have none for this arm at this tariff.
    """

    arm: str
    tariff: str
    sessions: int
    requests: int
    bill_usd: float
    control_usd: float
    saving: Interval | None
    median_saving: Interval | None
    mean_saving: Interval | None
    cheaper: int
    dearer: int
    equal: int
    edits: int
    edits_lost: int
    edits_written: int
    edit_loss: Interval | None
    edit_loss_at_most: float | None
    identifiers: int
    identifiers_lost: int
    identifier_loss: Interval | None
    identifier_loss_at_most: float | None
    refetches: int
    refetch_usd: float
    regret: Interval | None
    prompt_saving: float | None
    peak_saving: float | None
    cuts: int
    cold_cuts: int
    compactions: int
    dropped: int


def figures(bills: Sequence[Bill], *, seed: int = SEED, resamples: int = RESAMPLES) -> tuple[ArmFigures, ...]:
    """Sum bills up by arm and tariff, in the order of their first appearance.

    Args:
        bills: of any number of recordings, arms and tariffs. The same bill twice counts once.
        seed: of the resampling.
        resamples: how many times the recordings are drawn.

    Raises:
        FiguresError: two bills of one recording, arm and tariff say different things, or a sum of money is infinite
            or none.
    """
    cells: dict[tuple[str, str], dict[Recording, Bill]] = {}
    for bill in bills:
        here = cells.setdefault((bill.arm, bill.tariff), {})
        if here.setdefault(_key(bill), bill) != bill:
            raise FiguresError(
                f"two different bills of {bill.recording} with {bill.arm} at {bill.tariff}; "
                "take those of one version of coldpress and of one reading of the recording"
            )
    seen = {_key(bill) for bill in bills}
    groups = [_Group(cell, tuple(found[key] for key in sorted(found))) for cell, found in cells.items()]
    intervals = _intervals(groups, seed=seed, resamples=resamples)
    return tuple(_figures(group, intervals[group.cell], len(seen) - len(group.bills)) for group in groups)


def by_task(
    bills: Sequence[Bill], *, seed: int = SEED, resamples: int = RESAMPLES
) -> dict[str, tuple[ArmFigures, ...]]:
    """Give the figures of each task by its name, in the order of first appearance; the rest as of `figures`."""
    return _by(bills, lambda bill: bill.task, seed=seed, resamples=resamples)


def by_kind(
    bills: Sequence[Bill], *, seed: int = SEED, resamples: int = RESAMPLES
) -> dict[str, tuple[ArmFigures, ...]]:
    """Give the figures of each kind of recording by its name, in the order of first appearance."""
    return _by(bills, lambda bill: bill.kind, seed=seed, resamples=resamples)


def _by(
    bills: Sequence[Bill], name: Callable[[Bill], str], *, seed: int, resamples: int
) -> dict[str, tuple[ArmFigures, ...]]:
    found: dict[str, list[Bill]] = {}
    for bill in bills:
        found.setdefault(name(bill), []).append(bill)
    return {key: figures(mine, seed=seed, resamples=resamples) for key, mine in found.items()}


def _key(bill: Bill) -> Recording:
    return bill.content, bill.recording


@dataclass(frozen=True, slots=True)
class _Group:
    """The bills of an arm at a tariff, in the order of contents."""

    cell: tuple[str, str]
    bills: tuple[Bill, ...]

    @property
    def savings(self) -> list[float]:
        return [bill.control_usd - bill.bill_usd for bill in self.bills]

    @property
    def shares(self) -> list[tuple[list[float], list[float]]]:
        """Parts and wholes of saving, lost edits, lost identifiers and regret; none of the last where none is known."""
        least = [bill.least_usd for bill in self.bills]
        return [
            (self.savings, [bill.control_usd for bill in self.bills]),
            ([bill.edits_lost for bill in self.bills], [bill.edits_of_results for bill in self.bills]),
            ([bill.identifiers_lost for bill in self.bills], [bill.identifiers for bill in self.bills]),
            (
                [0.0 if one is None else _beyond(bill, one) for bill, one in zip(self.bills, least, strict=True)],
                [0.0 if one is None else one for one in least],
            ),
        ]


@dataclass(frozen=True, slots=True)
class _Intervals:
    saving: Interval | None
    edit_loss: Interval | None
    identifier_loss: Interval | None
    regret: Interval | None
    median: Interval | None
    mean: Interval | None


def _intervals(groups: Sequence[_Group], *, seed: int, resamples: int) -> dict[tuple[str, str], _Intervals]:
    """Resample all groups, those of equally many recordings from the same draws."""
    found: dict[tuple[str, str], _Intervals] = {}
    for alike in _batches(groups):
        shares = share_intervals([pair for group in alike for pair in group.shares], seed=seed, resamples=resamples)
        columns = [group.savings for group in alike]
        medians = median_intervals(columns, seed=seed, resamples=resamples)
        means = mean_intervals(columns, seed=seed, resamples=resamples)
        per_group = len(shares) // len(alike)
        for number, group in enumerate(alike):
            mine = shares[number * per_group : (number + 1) * per_group]
            found[group.cell] = _Intervals(mine[0], mine[1], mine[2], mine[3], medians[number], means[number])
    return found


def _batches(groups: Sequence[_Group]) -> Iterable[list[_Group]]:
    by_count: dict[int, list[_Group]] = {}
    for group in groups:
        by_count.setdefault(len(group.bills), []).append(group)
    most = _BATCH_COLUMNS // (2 * 4)
    for alike in by_count.values():
        yield from (alike[begin : begin + most] for begin in range(0, len(alike), most))


def _figures(group: _Group, intervals: _Intervals, dropped: int) -> ArmFigures:
    bills = group.bills
    savings = group.savings
    edits, edits_lost = sum(b.edits_of_results for b in bills), sum(b.edits_lost for b in bills)
    identifiers, identifiers_lost = sum(b.identifiers for b in bills), sum(b.identifiers_lost for b in bills)
    prompts, control_prompts = sum(b.prompt_tokens for b in bills), sum(b.control_prompt_tokens for b in bills)
    peaks = [1 - b.peak_tokens / b.control_peak_tokens for b in bills if b.control_peak_tokens]
    return ArmFigures(
        arm=group.cell[0],
        tariff=group.cell[1],
        sessions=len(bills),
        requests=sum(b.requests for b in bills),
        bill_usd=math.fsum(b.bill_usd for b in bills),
        control_usd=math.fsum(b.control_usd for b in bills),
        saving=intervals.saving,
        median_saving=intervals.median,
        mean_saving=intervals.mean,
        cheaper=sum(saving > 0 for saving in savings),
        dearer=sum(saving < 0 for saving in savings),
        equal=sum(saving == 0 for saving in savings),
        edits=edits,
        edits_lost=edits_lost,
        edits_written=sum(b.edits for b in bills),
        edit_loss=intervals.edit_loss,
        edit_loss_at_most=_at_most(intervals.edit_loss, edits_lost, edits),
        identifiers=identifiers,
        identifiers_lost=identifiers_lost,
        identifier_loss=intervals.identifier_loss,
        identifier_loss_at_most=_at_most(intervals.identifier_loss, identifiers_lost, identifiers),
        refetches=sum(b.refetches for b in bills),
        refetch_usd=math.fsum(b.refetch_usd for b in bills),
        regret=_regret(intervals.regret, bills),
        prompt_saving=1 - prompts / control_prompts if control_prompts else None,
        peak_saving=math.fsum(peaks) / len(peaks) if peaks else None,
        cuts=sum(b.cuts for b in bills),
        cold_cuts=sum(b.cold_cuts for b in bills),
        compactions=sum(b.compactions for b in bills),
        dropped=dropped,
    )


def _beyond(bill: Bill, least_usd: float) -> float:
    """What was paid above the least, both without fetching anything again."""
    return bill.bill_usd - bill.refetch_usd - least_usd


def _at_most(loss: Interval | None, lost: int, of: int) -> float | None:
    if loss is None:
        return None
    by_edit = share_at_most(lost, of)
    return loss.high if by_edit is None else max(loss.high, by_edit)


def _regret(interval: Interval | None, bills: Sequence[Bill]) -> Interval | None:
    """Say of how many recordings the least is known: the others were drawn with no weight."""
    if interval is None:
        return None
    known = sum(bill.least_usd is not None for bill in bills)
    return Interval(interval.value, interval.low, interval.high, known)
