"""Run tasks on a Dask cluster: one that is there, or one of processes of this machine for as long as it takes."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Final

import dask.config
import joblib
from distributed import Client, Future, KilledWorker, LocalCluster, wait

from coldpress.lab.sweep.backends import IN_FLIGHT_FOR_EACH, SAME_VERSION, Died, Outcomes, Perform, Pool
from coldpress.lab.sweep.keys import Task
from coldpress.lab.sweep.worker import Done
from coldpress.model.errors import SweepError

_LOOK_SECONDS: Final = 5.0
"""How often to look whether there are workers still, while none has anything to tell."""
_KNOCK_SECONDS: Final = 10.0
_CALM: Final = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
"""What each worker of our own does first: Ctrl-C is for the process that they work for, which ends them."""
_PATIENCE_SECONDS: Final = 60.0
"""How long a cluster may be without any worker: one that was ended is started again by its nanny within seconds."""


@contextmanager
def dask_pool(address: str | None, jobs: int | None) -> Iterator[Pool]:
    """Go to a scheduler, or start a cluster of processes with one thread each.

    Raises:
        SweepError: nobody answers at the address, or the cluster has no workers.
    """
    with ExitStack() as stack:
        if address is None:
            # Once is enough for us: tasks that were out when a worker died are tried again alone.
            stack.enter_context(dask.config.set({"distributed.scheduler.allowed-failures": 0}))
            cluster = LocalCluster(
                n_workers=jobs or joblib.cpu_count(),
                threads_per_worker=1,
                processes=True,
                dashboard_address=None,
                silence_logs=logging.CRITICAL,
                preload=[_CALM],
            )
            client = Client(stack.enter_context(cluster), set_as_default=False)
        else:
            client = _reached(address)
        stack.enter_context(client)
        threads = sum(client.nthreads().values())
        if not threads:
            raise SweepError(f"the Dask cluster at {address} has no workers; start some with: dask worker {address}")
        yield _Dask(client, min(jobs or threads, threads))


def _reached(address: str) -> Client:
    try:
        return Client(address, set_as_default=False, timeout=_KNOCK_SECONDS)
    except (OSError, ValueError) as error:  # no answer in time is an OSError, too
        raise SweepError(
            f"no Dask scheduler at {address} ({error or 'no answer'}); start one with: dask scheduler, or leave the "
            "address out for a local cluster"
        ) from error


@dataclass(frozen=True, slots=True)
class _Dask:
    """Workers of a Dask cluster."""

    client: Client
    workers: int

    def run(self, perform: Perform, tasks: Sequence[Task]) -> Outcomes:
        waiting = iter(tasks)
        out: dict[Future[Done], Task] = {}
        try:
            while True:
                for task in islice(waiting, IN_FLIGHT_FOR_EACH * self.workers - len(out)):
                    out[self.client.submit(perform, task, pure=False, retries=0)] = task
                if not out:
                    return
                for future in self._finished(list(out)):
                    yield self._outcome(future, out.pop(future))
        finally:
            self.client.cancel(list(out))

    def _finished(self, futures: list[Future[Done]]) -> list[Future[Done]]:
        """Wait until one or more are done."""
        alive_at = time.monotonic()
        while True:
            try:
                with self.client.as_current():
                    return list(wait(futures, timeout=_LOOK_SECONDS, return_when="FIRST_COMPLETED").done)
            except TimeoutError:
                pass
            if self.client.status == "running" and self.client.nthreads():
                alive_at = time.monotonic()
            elif time.monotonic() - alive_at > _PATIENCE_SECONDS:
                raise SweepError(
                    "the Dask cluster has no workers any more; what was measured is kept: start some and run the "
                    "sweep again"
                )

    def _outcome(self, future: Future[Done], task: Task) -> Done | Died:
        if future.status in ("cancelled", "lost"):
            raise SweepError("the Dask cluster went away; what was measured is kept: run the sweep again")
        error = future.exception()
        if isinstance(error, KilledWorker):
            return Died(task)
        if error is not None:
            raise SweepError(f"a worker of the Dask cluster cannot do its task ({error}); {SAME_VERSION}") from error
        done: Done = future.result()
        future.release()
        return done
