"""Run slow preparations behind the requests: one per conversation, few in all, each with an end to ask for."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass
from typing import Any, Final, Generic, Literal, TypeVar

log = logging.getLogger(__name__)

T = TypeVar("T")

MOST_RUNNING: Final = 4
MOST_FINISHED: Final = 64

Started = Literal["started", "running", "finished", "full"]


@dataclass(frozen=True, slots=True)
class Finished(Generic[T]):
    """A preparation that ended well; `key` is what it was started for."""

    key: Hashable
    result: T


@dataclass(frozen=True, slots=True)
class Failed:
    """A preparation that raised, or was cancelled; `what` names the kind of error, not its words."""

    key: Hashable
    what: str


class Preparations(Generic[T]):
    """Preparations by name, such as a lineage. Use it on one event loop.

    Args:
        most_running: how many run at one time.
        most_finished: how many ends are kept; the oldest go first.
    """

    def __init__(self, *, most_running: int = MOST_RUNNING, most_finished: int = MOST_FINISHED) -> None:
        self._most_running = most_running
        self._most_finished = most_finished
        self._running: dict[str, asyncio.Task[T]] = {}
        self._ends: OrderedDict[str, Finished[T] | Failed] = OrderedDict()
        self._closed = False

    def start(self, name: str, key: Hashable, make: Callable[[], Coroutine[Any, Any, T]]) -> Started:
        """Start a preparation, unless one of this name runs or has ended well for the same key.

        Args:
            name: whose it is. At most one of a name runs; its earlier end is kept until there is a new one.
            key: what it is for. The end tells it, so that a result for something else can be recognised.
            make: makes the coroutine; called only where it is started.

        Returns:
            `running` where one of this name runs already, for whatever key; `finished` where its end is there, or it
            failed for this very key; `full` where too many run, or all are closed. Nothing was started then.
        """
        if name in self._running:
            return "running"
        end = self._ends.get(name)
        if end is not None and end.key == key:
            return "finished"
        if self._closed or len(self._running) >= self._most_running:
            return "full"
        task = asyncio.get_running_loop().create_task(make(), name="preparation")
        self._running[name] = task
        task.add_done_callback(lambda done: self._end(name, key, done))
        return "started"

    def running(self, name: str) -> bool:
        """Whether a preparation of this name is under way."""
        return name in self._running

    def finished(self, name: str) -> Finished[T] | Failed | None:
        """How the last preparation of this name ended; `None` where none has, or its end was dropped."""
        return self._ends.get(name)

    def forget(self, name: str) -> None:
        """Drop the end of this name, so that the same may be prepared again."""
        self._ends.pop(name, None)

    async def wait(self, name: str, seconds: float) -> Finished[T] | Failed | None:
        """Wait for the preparation of this name, and give its end; it runs on where the time is not enough.

        Returns:
            As `finished`, at once where none runs; `None` where it still runs after `seconds`.
        """
        running = self._running.get(name)
        if running is not None:
            done, _ = await asyncio.wait({running}, timeout=seconds)
            if not done:
                return None
            # The task's own call of `_end` came before the one that woke us: it was asked for first.
        return self.finished(name)

    async def close(self) -> None:
        """Cancel what runs and wait until it has stopped. Nothing can be started any more."""
        self._closed = True
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _end(self, name: str, key: Hashable, task: asyncio.Task[T]) -> None:
        """Note how a preparation ended."""
        del self._running[name]
        end: Finished[T] | Failed
        if task.cancelled():
            end = Failed(key, "cancelled")
        elif (error := task.exception()) is not None:
            log.warning("a preparation failed", extra={"fault": type(error).__name__})
            end = Failed(key, type(error).__name__)
        else:
            end = Finished(key, task.result())
        self._ends[name] = end
        self._ends.move_to_end(name)
        while len(self._ends) > self._most_finished:
            self._ends.popitem(last=False)
