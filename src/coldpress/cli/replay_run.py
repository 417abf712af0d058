"""Choose recordings and measure them, one after the other or on several cores, until they are done or Ctrl-C."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from coldpress.cli.output import talk
from coldpress.cli.progress import Progress
from coldpress.lab.results import Backend, Bill, Measured, Skipped
from coldpress.model.errors import ConfigError

if TYPE_CHECKING:
    from coldpress.lab.arm_files import Arm
    from coldpress.lab.sweep.plan import Found, Plan

_DAY_SECONDS: Final = 86_400.0


@dataclass(frozen=True, slots=True)
class How:
    """How recordings are measured.

    Attributes:
        folder: where results are kept; `None` for nowhere.
        jobs: recordings at the same time; one a core where not given.
        backend, address: what runs it.
        with_turns: whether a row for every request is kept too.
        triggers, windows: of budgets, see `coldpress.lab.arm_files.with_budget`.
    """

    folder: Path | None = None
    jobs: int | None = None
    backend: Backend = "processes"
    address: str | None = None
    with_turns: bool = False
    triggers: tuple[float, ...] = ()
    windows: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which files are replayed: `paths`, which are some or all of the `found` ones."""

    paths: tuple[Path, ...]
    found: Found


@dataclass(frozen=True, slots=True)
class Gathered:
    """What came of them.

    Attributes:
        bills: of all recordings that could be replayed, in the order of their files.
        skipped: files that could not be, with reasons.
        done, of: how many files were looked at, and how many there are to look at.
        interrupted: whether somebody stopped it before all were.
    """

    bills: tuple[Bill, ...] = field(repr=False)
    skipped: tuple[Skipped, ...]
    done: int
    of: int
    interrupted: bool


def choose(
    paths: Sequence[Path], *, since_days: float | None = None, limit: int | None = None, largest: bool = False
) -> Chosen:
    """Find the recordings among files and folders.

    Args:
        paths: files, and folders that are walked.
        since_days: leave out files that were last written longer ago.
        limit: at most this many: the newest, or the largest.
        largest: see `limit`.

    Raises:
        click.UsageError: a path cannot be read; says which.
    """
    from coldpress.lab.sweep.plan import look_in

    try:
        found = look_in(paths)
    except ConfigError as error:
        raise click.UsageError(str(error)) from error
    for line in found.told:
        talk(line)
    kept = list(found.paths)
    if since_days is not None:
        oldest = time.time() - since_days * _DAY_SECONDS
        kept = [path for path in kept if _stat(path).st_mtime >= oldest]
    if limit is not None and limit < len(kept):
        first = sorted(kept, key=lambda path: _rank(path, largest=largest), reverse=True)[:limit]
        kept = sorted(first)
    return Chosen(tuple(kept), found)


def _rank(path: Path, *, largest: bool) -> tuple[float, str]:
    found = _stat(path)
    return (found.st_size if largest else found.st_mtime, str(path))


def _stat(path: Path) -> os.stat_result:
    try:
        return path.stat()
    except OSError:
        return os.stat_result((0,) * 10)  # gone in between: the oldest and smallest; whoever reads it will say why


def gather(paths: Sequence[Path], arms: Sequence[Arm], tariffs: Sequence[str], how: How) -> Gathered:
    """Measure recordings, and hold on to nothing but their bills. Ctrl-C ends it with what there is.

    Args:
        paths: of the recordings.
        arms: to replay them with.
        tariffs: names.
        how: it is done.
    """
    from coldpress.lab.sweep.plan import Plan

    # Workers, of a cluster above all, may stand in another folder; people are told the paths that they gave.
    given = {str(path.absolute()): str(path) for path in paths}
    plan = Plan(
        tuple(map(Path, given)), tuple(arms), tuple(tariffs), how.triggers, how.windows, with_turns=how.with_turns
    )
    begun = {str(path): _state(path) for path in plan.paths}
    bills, skipped, interrupted, done = list[Bill](), list[Skipped](), False, 0
    with Progress("replaying") as progress:
        try:
            with closing(_measured(plan, how, progress)) as coming:
                for measured in coming:
                    found = _again(measured, begun, plan)
                    bills += found.bills
                    skipped += (found.skipped,) if found.skipped else ()
                    done += 1
        except KeyboardInterrupt:
            interrupted = True
    bills.sort(key=lambda bill: (bill.recording, bill.content))  # the same sums, whoever was done first
    skipped = sorted((replace(one, path=given.get(one.path, one.path)) for one in skipped), key=lambda one: one.path)
    return Gathered(tuple(bills), tuple(skipped), done, len(paths), interrupted)


def _measured(plan: Plan, how: How, progress: Progress) -> Generator[Measured]:
    if how.folder is None and how.backend == "processes" and (how.jobs == 1 or len(plan.paths) == 1):
        yield from _here(plan, progress)
        return
    from coldpress.lab.sweep.run import sweep

    command = shlex.join(("coldpress", *sys.argv[1:]))
    yield from sweep(
        plan, how.folder, on=how.backend, address=how.address, jobs=how.jobs, progress=progress, command=command
    )


def _here(plan: Plan, progress: Progress) -> Iterator[Measured]:
    """Measure in this process."""
    from coldpress.lab import cells

    for done, path in enumerate(plan.paths, 1):
        yield cells.measure(path, plan.measured_arms, plan.tariffs, with_turns=False)
        progress(done, len(plan.paths))


def _again(measured: Measured, begun: dict[str, tuple[float, float]], plan: Plan) -> Measured:
    """Measure a recording that was written to in between once more, here: a sweep refuses what it cannot keep."""
    from coldpress.lab import cells

    left = measured.skipped
    if left is None or begun.get(left.path) == _state(Path(left.path)):
        return measured
    return cells.measure(Path(left.path), plan.measured_arms, plan.tariffs, with_turns=False)


def _state(path: Path) -> tuple[float, float]:
    found = _stat(path)
    return found.st_size, found.st_mtime


def spread(work: Callable[[Path], Measured], paths: Sequence[Path], *, jobs: int | None) -> Iterator[Measured]:
    """Do a piece of work for every path on processes of this machine, and give what comes of it in their order."""
    import joblib

    with joblib.parallel_config("loky", n_jobs=jobs or joblib.cpu_count(), inner_max_num_threads=1):
        parallel = joblib.Parallel(return_as="generator", batch_size=1)
    yield from parallel(joblib.delayed(work)(path) for path in paths)
