"""Let work on a conversation go on beside the loop where a request cannot wait for it any longer."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Generic, Protocol, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Run(Protocol):
    """Does work here, or beside the event loop."""

    def __call__(self, work: Callable[[], R], *, beside: bool) -> Awaitable[R]:
        """Do it; raises `TimeoutError` where that takes too long beside the loop."""
        ...


class Job(Generic[T]):
    """A piece of work that is done once, on whatever thread; it goes on when nobody waits for it.

    Args:
        work: to be done.
    """

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._began = False
        self._ended = threading.Event()
        self._results: list[T] = []

    def __call__(self) -> T:
        """Do it; called once."""
        self._began = True
        try:
            result = self._work()
            self._results.append(result)
        finally:
            self._ended.set()
        return result

    @property
    def is_under_way(self) -> bool:
        """Whether it has begun and not ended."""
        return self._began and not self._ended.is_set()

    async def within(self, seconds: float) -> T:
        """Wait for the end of what has begun; raises `TimeoutError` where it takes longer, or went wrong."""
        if self._began:
            await asyncio.to_thread(self._ended.wait, seconds)
        if not self._results:
            raise TimeoutError
        return self._results[0]
