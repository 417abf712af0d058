"""Run tasks on a Ray cluster: one that is there, or one of this machine for as long as it takes."""

from __future__ import annotations

import logging
import os
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Final

import joblib
import ray
from ray.exceptions import (
    LocalRayletDiedError,
    NodeDiedError,
    ObjectLostError,
    OutOfMemoryError,
    RayTaskError,
    WorkerCrashedError,
)

from coldpress.lab.sweep.backends import IN_FLIGHT_FOR_EACH, SAME_VERSION, Died, Outcomes, Perform, Pool
from coldpress.lab.sweep.keys import Task
from coldpress.lab.sweep.worker import Done
from coldpress.model.errors import SweepError

_STORE_BYTES: Final = 256 * 1024 * 1024
"""For results on their way; Ray would take a third of the memory."""
_KNOCK_SECONDS: Final = 5.0
_DIED: Final = (LocalRayletDiedError, NodeDiedError, ObjectLostError, OutOfMemoryError, WorkerCrashedError)


@contextmanager
def ray_pool(address: str | None, jobs: int | None) -> Iterator[Pool]:
    """Go to a cluster, or start one of this machine. One that this process is with already is used as it is.

    Raises:
        SweepError: nobody answers at the address, or the cluster has no cores.
    """
    ours = not ray.is_initialized()
    try:
        if ours:
            _begin(address, jobs or joblib.cpu_count())
        cores = int(ray.cluster_resources().get("CPU", 0))
        if not cores:
            raise SweepError(f"the Ray cluster at {address} has no cores to work on; add nodes to it")
        yield _Ray(min(jobs or cores, cores))
    finally:
        if ours:
            ray.shutdown()  # a cluster that was there before is only left by this


def _begin(address: str | None, jobs: int) -> None:
    if address is None:
        # Nothing leaves this machine: Ray would report its use to its makers.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        ray.init(
            address="local",
            num_cpus=jobs,
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
            object_store_memory=_STORE_BYTES,
            # Ray itself hands on the folder of the script alone.
            runtime_env={"env_vars": {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}},
        )
        return
    try:
        _knock(address)
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (OSError, RuntimeError, ValueError) as error:  # a ConnectionError is an OSError
        raise SweepError(
            f"no Ray cluster at {address} ({error}); start one with: ray start --head, or leave the address out for a "
            "local one"
        ) from error


def _knock(address: str) -> None:
    """Raise an `OSError` where nobody listens: Ray would go on trying for many minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdecimal():  # and not a word such as `auto`
        with socket.create_connection((host.strip("[]"), int(port)), timeout=_KNOCK_SECONDS):
            pass


@dataclass(frozen=True, slots=True)
class _Ray:
    """Workers of a Ray cluster."""

    workers: int

    def run(self, perform: Perform, tasks: Sequence[Task]) -> Outcomes:
        call = ray.remote(max_retries=0, num_cpus=1)(_call)
        shared = ray.put(perform)
        waiting = iter(tasks)
        out: dict[ray.ObjectRef[Done], Task] = {}
        try:
            while True:
                for task in islice(waiting, IN_FLIGHT_FOR_EACH * self.workers - len(out)):
                    out[call.remote(shared, task)] = task
                if not out:
                    return
                ready, _ = ray.wait(list(out), num_returns=1)
                for one in ready:
                    yield _outcome(one, out.pop(one))
        finally:
            for one in out:
                ray.cancel(one, force=True)


def _call(perform: Perform, task: Task) -> Done:
    return perform(task)


def _outcome(reference: ray.ObjectRef[Done], task: Task) -> Done | Died:
    try:
        done: Done = ray.get(reference)
    except _DIED:
        return Died(task)
    except RayTaskError as error:
        why = str(error).strip().splitlines()[-1]
        raise SweepError(f"a worker of the Ray cluster cannot do its task ({why}); {SAME_VERSION}") from error
    return done
