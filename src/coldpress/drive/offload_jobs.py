"""Keep account of the questions under way: who waits for each, and that each is paid by one request and no more."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from coldpress.drive.offload_types import Bill, Failed, Made, Reason, Wanted
from coldpress.model.usage import Usage

log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class Job:
    """A question under way.

    Attributes:
        wanted: what is asked.
        waiters: requests that still wait for it.
        has_turn: whether it was let out.
        is_billed: whether somebody was told what it cost.
    """

    wanted: Wanted
    task: asyncio.Task[Made | Failed] | None = None
    waiters: int = 0
    has_turn: bool = False
    is_billed: bool = False


class Jobs:
    """Questions under way by their identity. Use it on one event loop.

    Args:
        run: puts a question and gives what came of it.
    """

    def __init__(self, run: Callable[[Job], Awaitable[Made | Failed]]) -> None:
        self._run = run
        self._running: dict[bytes, Job] = {}
        self._unbilled: list[Bill] = []

    def join(self, wanted: Wanted) -> Job:
        """Begin a question, or wait with those who wait for it already; every call is followed by one of `leave`."""
        job = self._running.get(wanted.identity)
        if job is None:
            job = self._running[wanted.identity] = Job(wanted)
            job.task = asyncio.ensure_future(self._begun(job))
            job.task.add_done_callback(functools.partial(self._ended, job))
        job.waiters += 1
        return job

    def answer(self, job: Job) -> Made | Failed:
        """Say what came of a question so far; the first who hears the end of it hears what it cost."""
        if job.task is None or not job.task.done():
            return Failed("late" if job.has_turn else "busy")
        if job.task.cancelled():
            return Failed("busy")
        outcome = job.task.result()
        if not outcome.asked:
            return outcome
        if job.is_billed:
            return replace(outcome, usd=0.0, usage=Usage(), asked=False)
        job.is_billed = True
        return outcome

    def leave(self, job: Job) -> None:
        """Wait no longer. A question that nobody waits for goes on where it was let out, and is dropped where not."""
        job.waiters -= 1
        if job.waiters or job.task is None:
            return
        if job.task.done():
            self._bill(job)
        elif not job.has_turn:
            self._forget(job)
            job.task.cancel()

    def take_unbilled(self) -> tuple[Bill, ...]:
        """Give, once, what questions cost that ended after everybody had left."""
        bills, self._unbilled = tuple(self._unbilled), []
        return bills

    async def close(self) -> None:
        """Give up what is under way, whose cost nobody will tell."""
        tasks = [job.task for job in self._running.values() if job.task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _begun(self, job: Job) -> Made | Failed:
        return await self._run(job)

    def _ended(self, job: Job, _: object) -> None:
        self._forget(job)
        if not job.waiters:
            self._bill(job)

    def _forget(self, job: Job) -> None:
        if self._running.get(job.wanted.identity) is job:
            del self._running[job.wanted.identity]

    def _bill(self, job: Job) -> None:
        """Note what a question cost that nobody waits for."""
        if job.is_billed or job.task is None:
            return
        job.is_billed = True
        name = job.wanted.identity
        if job.task.cancelled():
            if job.has_turn:
                self._unbilled.append(Bill(name, "late", None, Usage()))
            return
        fault = job.task.exception()
        if fault is not None:
            log.error("a question about a result failed", exc_info=fault)
            return
        outcome = job.task.result()
        reason: Reason | None = outcome.reason if isinstance(outcome, Failed) else None
        if outcome.asked:
            self._unbilled.append(Bill(name, reason or "", outcome.usd, outcome.usage))
