"""Measure one recording in a worker process, and hand back what the sweep keeps of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from coldpress.drive.faults import Fault
from coldpress.lab.arm_files import Arm
from coldpress.lab.mistakes import mistaken
from coldpress.lab.results import Measured, Skipped
from coldpress.lab.sweep.keys import DIGITS, Task
from coldpress.lab.sweep.rows import Packed, pack


class Work(Protocol):
    """Measure one recording; a function at the top of a module, as processes find it by its name."""

    def __call__(
        self, path: Path, arms: Sequence[Arm], tariffs: Sequence[str], *, with_least: bool, with_turns: bool
    ) -> Measured:
        """Give all rows of the file, or why there are none; see `coldpress.lab.cells.measure`."""


@dataclass(frozen=True, slots=True)
class Done:
    """What came of one task: its bills or why there are none, and its rows as files where they are to be kept."""

    task: Task
    measured: Measured
    packed: Packed | None = None


@dataclass(frozen=True, slots=True)
class Worker:
    """Everything that is the same for all recordings of a sweep; called with a task.

    Attributes:
        work: measures one recording.
        arms, tariffs, with_least, with_turns: handed to it.
        packs: whether rows are to be kept in files; the rows of requests and losses come back only so, or, where
            nothing is kept, as they are.
    """

    work: Work
    arms: tuple[Arm, ...]
    tariffs: tuple[str, ...]
    with_least: bool
    with_turns: bool
    packs: bool

    def __call__(self, task: Task) -> Done:
        """Measure one recording. A mistake of ours costs its recording, never the sweep."""
        fault = Fault("a recording could not be measured", task.part)
        with fault:
            return self._done(task)
        return Done(task, mistaken(task.path, fault))

    def _done(self, task: Task) -> Done:
        measured = self.work(task.path, self.arms, self.tariffs, with_least=self.with_least, with_turns=self.with_turns)
        if any(bill.content != task.content[:DIGITS] for bill in measured.bills):
            why = "was written to while it was measured; run the sweep again"
            return Done(task, Measured(skipped=Skipped(str(task.path), why)))
        if not self.packs or measured.skipped is not None:
            return Done(task, measured)
        packed = pack(measured, task.part, arms=[arm.name for arm in self.arms], tariffs=self.tariffs)
        return Done(task, replace(measured, turns=(), losses=()), packed)
