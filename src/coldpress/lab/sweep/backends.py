"""Run the tasks of a sweep in processes of this machine, on a Dask cluster or on a Ray cluster.

All three do the same: a bounded number of tasks is out at one time, results come as they are done, and a task whose
process died is told as such. None of them tries it again by itself: the sweep does, alone.
"""

from __future__ import annotations

import signal
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice
from typing import Final, Protocol, assert_never

import joblib
from joblib.externals.loky import get_reusable_executor

from coldpress.lab.results import Backend
from coldpress.lab.sweep.keys import Task
from coldpress.lab.sweep.worker import Done

IN_FLIGHT_FOR_EACH: Final = 2
"""Tasks that are out for each worker: one that it works on, and one so that it need not wait for the next."""

SAME_VERSION: Final = "install the same version of coldpress, and what it needs, where the workers run"
"""What to do where a task fails before it has begun: mistakes in it come back as results."""

_CHUNK_FOR_EACH: Final = 32
"""Tasks that are handed to joblib at one time, for each worker. It goes on while nobody takes its results, so this
bounds what can wait; at the end of a chunk workers wait for the last of them, which is why it is no smaller."""

_EXTRAS: Final = {"pyarrow": "lab", "distributed": "dask", "ray": "ray"}


@dataclass(frozen=True, slots=True)
class Died:
    """A task that was out when a process died; whether it was the one to blame nobody knows."""

    task: Task


Perform = Callable[[Task], Done]
Outcomes = Generator[Done | Died, None, None]


class Pool(Protocol):
    """Workers that tasks can be given to."""

    @property
    def workers(self) -> int:
        """How many tasks are worked on at one time."""

    def run(self, perform: Perform, tasks: Sequence[Task]) -> Outcomes:
        """Give what came of every task, in the order that they are done.

        Raises:
            SweepError: there is nobody left to work; says what to do.
        """


def pool(on: Backend, *, address: str | None, jobs: int | None) -> AbstractContextManager[Pool]:
    """Start workers, or go to those of a cluster. What was started here ends with the block, a cluster goes on.

    Args:
        on: what runs the tasks.
        address: of a Dask scheduler or a Ray cluster that is there; without one a local one is started.
        jobs: tasks at one time: else one for each core that this process may use, or that the cluster has.

    Raises:
        SweepError: a cluster cannot be reached, or has no workers.
        ModuleNotFoundError: a library is missing; says which extra brings it.
    """
    match on:
        case "processes":
            return processes(jobs or joblib.cpu_count())
        case "dask":
            need("distributed", "a sweep on Dask")
            from coldpress.lab.sweep.on_dask import dask_pool

            return dask_pool(address, jobs)
        case "ray":
            need("ray", "a sweep on Ray")
            from coldpress.lab.sweep.on_ray import ray_pool

            return ray_pool(address, jobs)
    assert_never(on)


def need(library: str, what: str) -> None:
    """Refuse to begin without a library.

    Raises:
        ModuleNotFoundError: it is not installed; says which extra brings it.
    """
    if find_spec(library) is None:
        raise ModuleNotFoundError(
            f"{what} needs {library}, which is not installed; pip install 'coldpress[{_EXTRAS[library]}]'", name=library
        )


@contextmanager
def processes(jobs: int) -> Iterator[Pool]:
    """Start processes of this machine."""
    try:
        yield _Processes(jobs)
    finally:
        # Else loky ends them as the interpreter exits, where a Ctrl-C is told with a traceback.
        get_reusable_executor(reuse=True).shutdown(wait=True)


@dataclass(frozen=True, slots=True)
class _Processes:
    """Processes by joblib and loky, started by the first run; they serve the next one, until the pool ends."""

    workers: int

    def run(self, perform: Perform, tasks: Sequence[Task]) -> Outcomes:
        # joblib works in this very process where it is told of one job, and a task that dies would take the sweep
        # along: it is told of two, and gets one task at a time.
        size = 1 if self.workers == 1 else _CHUNK_FOR_EACH * self.workers
        waiting = iter(tasks)
        while chunk := list(islice(waiting, size)):
            yield from self._chunk(perform, chunk)

    def _chunk(self, perform: Perform, chunk: list[Task]) -> Outcomes:
        """Run some tasks; where a process dies, tell of all that were out, and go on with the others."""
        rest, out = iter(chunk), dict[str, Task]()
        while True:
            try:
                with _closing(self._parallel(perform, _marked(rest, out))) as results:
                    for done in results:
                        del out[done.task.part]
                        yield done
                return
            except BrokenProcessPool:  # joblib has stopped them all by now, and starts others for the next
                yield from map(Died, out.values())
                out.clear()

    def _parallel(self, perform: Perform, tasks: Iterator[Task]) -> Generator[Done]:
        # Only making it needs these settings. A block around its results would hold for whoever takes them, too.
        with joblib.parallel_config("loky", n_jobs=max(2, self.workers), inner_max_num_threads=1, initializer=_calm):
            parallel = joblib.Parallel(
                return_as="generator_unordered", batch_size=1, pre_dispatch=IN_FLIGHT_FOR_EACH * self.workers
            )
        results: Generator[Done] = parallel(joblib.delayed(perform)(task) for task in tasks)
        return results


@contextmanager
def _closing(results: Generator[Done]) -> Iterator[Generator[Done]]:
    """End the workers of results that nobody takes any more; joblib would warn of that, but here it is meant."""
    try:
        yield results
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            results.close()


def _marked(tasks: Iterator[Task], out: dict[str, Task]) -> Iterator[Task]:
    """Write down which tasks were handed out."""
    for task in tasks:
        out[task.part] = task
        yield task


def _calm() -> None:
    """Leave Ctrl-C to the process that the workers work for: it ends them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
