"""Replay recordings with candidates, and keep the bills by candidate and content."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from coldpress.lab.arm_files import Arm
from coldpress.lab.results import Bill, Measured, Skipped
from coldpress.lab.tune_grid import DEFAULTS, Candidate
from coldpress.lab.tune_split import Known

ROUNDS_AT_MOST = 2
"""Rounds of candidates that every recording of the tuning half is replayed in."""


class Measure(Protocol):
    """Replays one recording: `coldpress.lab.cells.measure`, or what stands in for it."""

    def __call__(
        self, path: Path, arms: Sequence[Arm], tariffs: Sequence[str], *, with_least: bool, with_turns: bool
    ) -> Measured:
        """Give the bills of a recording with these arms at these tariffs, or say why there are none."""
        ...


Spread = Callable[[Callable[[Path], Measured], Sequence[Path]], Iterable[Measured]]
"""Does a piece of work for every path and gives what came of it in their order: one by one, or on many processes."""


class Work:
    """All replays of one tuning.

    Attributes:
        skipped: recordings that could not be replayed.
    """

    def __init__(
        self,
        tariff: str,
        measure: Measure,
        recordings: int,
        *,
        progress: Callable[[int, int], None] | None,
        spread: Spread | None,
    ) -> None:
        self.skipped: list[Skipped] = []
        self._tariff = tariff
        self._measure = measure
        self._progress = progress
        self._spread = spread or one_by_one
        self._bills: dict[tuple[Candidate, str], Bill] = {}
        larger_half = (recordings + 1) // 2
        # All once with the defaults, one half in each round, and the other half with the choice.
        self._done, self._of = 0, recordings + ROUNDS_AT_MOST * larger_half + larger_half

    def begin(self, recordings: Sequence[Path]) -> tuple[Known, ...]:
        """Replay all with the defaults, and say which could be."""
        known = []
        for path, measured in zip(recordings, self._run(recordings, (DEFAULTS,)), strict=True):
            bill = next(iter(measured.bills), None)
            if bill is None:
                self.skipped.append(measured.skipped or Skipped(str(path), f"has no bill at {self._tariff}"))
                continue
            self._bills[DEFAULTS, bill.content] = bill
            known.append(Known(path, bill))
        return tuple(known)

    def replay(self, part: Sequence[Known], candidates: Sequence[Candidate]) -> None:
        """Replay some recordings with candidates."""
        if not candidates:
            return
        by_name = {one.name: one for one in candidates}
        for known, measured in zip(part, self._run([one.path for one in part], candidates), strict=True):
            for bill in measured.bills:
                self._bills[by_name[bill.arm], known.bill.content] = bill

    def bills(self, candidate: Candidate, part: Sequence[Known]) -> list[Bill]:
        """Give the bills of a candidate, of those recordings that have one."""
        found = (self._bills.get((candidate, one.bill.content)) for one in part)
        return [bill for bill in found if bill is not None]

    def end(self) -> None:
        """Tell that nothing more will be replayed."""
        if self._progress is not None:
            self._progress(self._of, self._of)

    def _run(self, paths: Sequence[Path], candidates: Sequence[Candidate]) -> Iterator[Measured]:
        arms = tuple(one.arm for one in candidates)
        work = functools.partial(_one, measure=self._measure, arms=arms, tariff=self._tariff)
        for measured in self._spread(work, paths):
            self._done += 1
            if self._progress is not None:
                self._progress(min(self._done, self._of), self._of)
            yield measured


def one_by_one(work: Callable[[Path], Measured], paths: Sequence[Path]) -> Iterator[Measured]:
    """Do a piece of work for every path, one after the other."""
    return map(work, paths)


def _one(path: Path, *, measure: Measure, arms: Sequence[Arm], tariff: str) -> Measured:
    return measure(path, arms, (tariff,), with_least=False, with_turns=False)
