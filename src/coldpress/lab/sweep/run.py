"""Run a sweep: measure what is not measured yet, keep it as it comes, and tell of it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field, replace
from pathlib import Path

from coldpress import __version__
from coldpress.lab import cells
from coldpress.lab.arm_files import Arm
from coldpress.lab.results import Backend, Measured, Skipped
from coldpress.lab.sweep.backends import Died, Pool, need, pool
from coldpress.lab.sweep.folder import About, AboutArm, AboutTariff, Parts, write_about
from coldpress.lab.sweep.interrupts import stopped_once
from coldpress.lab.sweep.keys import Task, code_digest, plan_key, prices_label, task_of
from coldpress.lab.sweep.plan import Plan
from coldpress.lab.sweep.worker import Done, Work, Worker

Progress = Callable[[int, int], None]
"""Told how many recordings are done, of how many."""

DIED = (
    "the process that measured it died, once beside others and once alone; it most likely ran out of memory: measure "
    "it where there is more, or with fewer arms and tariffs"
)


def sweep(
    plan: Plan,
    folder: Path | None,
    *,
    on: Backend = "processes",
    address: str | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
    work: Work = cells.measure,
    command: str = "",
) -> Iterator[Measured]:
    """Measure all recordings of a plan, and give what each came to as it is done.

    What is in the folder already is not measured again, but given first. Whoever stops taking results, by Ctrl-C or
    otherwise, leaves in the folder what was done until then, and a sweep of the same plan goes on from there. A file
    that cannot be measured, or whose process dies, is given as `Measured.skipped`, and tried again the next time.

    Args:
        plan: what to measure.
        folder: where results are kept, see `coldpress.lab.sweep.folder`; rows of requests and losses are only there.
            `None` keeps nothing, and gives all rows.
        on: what runs it. All give the same rows.
        address: of a Dask scheduler or a Ray cluster; a local one is started without. Its workers have to find the
            recordings under the same paths, and the same version of coldpress.
        jobs: recordings at one time; by default one for each core.
        progress: called in this process behind each recording.
        work: measures one.
        command: that started it, to be written down.

    Raises:
        ConfigError: a tariff is not known.
        SweepError: the folder cannot be written, or there is nobody (left) to work.
        ModuleNotFoundError: a library is missing; says which extra brings it.
    """
    if on != "processes":
        need({"dask": "distributed", "ray": "ray"}[on], f"a sweep on {on.capitalize()}")
    if folder is not None:
        need("pyarrow", "a sweep that keeps its results")
    run = _Sweep(plan, folder, work, command, progress or _nothing)
    run.begin()
    return stopped_once(run.results(lambda: pool(on, address=address, jobs=jobs)))


def _nothing(done: int, of: int) -> None:
    """Tell nobody."""


@dataclass(slots=True)
class _Sweep:
    """One sweep under way: what it is to do, and what it has done. It holds no rows."""

    plan: Plan
    folder: Path | None
    work: Work
    command: str
    progress: Progress
    tasks: dict[str, Task] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)
    parts: Parts | None = None
    about: About | None = None
    measured: int = 0
    of: int = 0

    def begin(self) -> None:
        """Name all tasks, and write down in the folder what will be there."""
        for path in self.plan.paths:
            task = task_of(path)
            if isinstance(task, Skipped):
                self.skipped.append(task)
            else:
                self.tasks.setdefault(task.part, task)
        self.tasks = dict(sorted(self.tasks.items()))
        self.of = len(self.tasks) + len(self.skipped)
        if self.folder is not None:
            self.about = _about(self.plan, self.command, self.of)
            self.parts = Parts(self.folder, self.about.plan)
            self.parts.prepare()
            self._write_about()

    def results(self, start: Callable[[], AbstractContextManager[Pool]]) -> Generator[Measured]:
        """Give what every recording came to: what is there, then what is measured now, by workers that `start` gives.

        The largest are measured first, so that none of them is left for the end, when other workers have nothing more.
        """
        try:
            for skipped in tuple(self.skipped):
                yield self._told(Measured(skipped=skipped))
            missing = list[Task]()
            for task in self.tasks.values():
                bills = None if self.parts is None else self.parts.kept(task.part)
                if bills is None:
                    missing.append(task)
                else:
                    yield self._told(Measured(bills))
            if missing:
                missing.sort(key=lambda task: -task.size_bytes)
                with start() as workers:
                    yield from self._measured(workers, missing)
        finally:
            self._write_about()

    def _measured(self, workers: Pool, tasks: Sequence[Task]) -> Iterator[Measured]:
        """Measure recordings; those that were out when a process died once more, each of them alone."""
        worker = Worker(
            self.work, self.plan.measured_arms, self.plan.tariffs, self.plan.with_least, self.plan.with_turns,
            packs=self.parts is not None,
        )  # fmt: skip
        suspects = list[Task]()
        with closing(workers.run(worker, tasks)) as outcomes:
            for outcome in outcomes:
                if isinstance(outcome, Died):
                    suspects.append(outcome.task)
                else:
                    yield self._kept(outcome)
        for task in suspects:
            with closing(workers.run(worker, [task])) as outcomes:
                for outcome in outcomes:
                    yield self._kept(_blamed(task) if isinstance(outcome, Died) else outcome)

    def _kept(self, done: Done) -> Measured:
        """Keep what came of a task, and tell of it."""
        if done.measured.skipped is not None:
            self.skipped.append(done.measured.skipped)
        elif self.parts is not None and done.packed is not None:
            self.parts.write(done.task.part, done.packed)
        return self._told(done.measured)

    def _told(self, measured: Measured) -> Measured:
        self.measured += measured.skipped is None
        self.progress(self.measured + len(self.skipped), self.of)
        return measured

    def _write_about(self) -> None:
        if self.folder is None or self.about is None:
            return
        paths = {skipped.path for skipped in self.skipped}
        parts = {part: task.recording for part, task in self.tasks.items() if str(task.path) not in paths}
        skipped = tuple(sorted(self.skipped, key=lambda one: one.path))
        write_about(self.folder, replace(self.about, measured=self.measured, parts=parts, skipped=skipped))


def _blamed(task: Task) -> Done:
    return Done(task, Measured(skipped=Skipped(str(task.path), DIED)))


def _about(plan: Plan, command: str, planned: int) -> About:
    return About(
        coldpress=__version__,
        code=code_digest(),
        plan=plan_key(plan),
        command=command,
        arms=tuple(_about_arm(arm) for arm in plan.measured_arms),
        tariffs=tuple(AboutTariff(name=name, prices=prices_label(name)) for name in plan.tariffs),
        with_least=plan.with_least,
        with_turns=plan.with_turns,
        planned=planned,
    )


def _about_arm(arm: Arm) -> AboutArm:
    trigger = arm.settings.budgets.default.trigger if arm.has_budget else None
    return AboutArm(
        name=arm.name, about=arm.about, schedule=arm.schedule, window=arm.window, trigger=trigger, digest=arm.digest,
        settings=arm.text,
    )  # fmt: skip
