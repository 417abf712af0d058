"""Let no more questions out at one time, and in any minute, than the settings allow."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final

WINDOW_SECONDS: Final = 60.0


class Turns:
    """Hands out turns in the order in which they are asked for. Use it on one event loop.

    A turn is a place among `concurrency` and a start of which no 60 seconds hold more than `rpm`. A token bucket would
    let twice as many through in its first minute.

    Args:
        concurrency: turns that are taken and not given back.
        rpm: starts in any 60 seconds.
        ticks: seconds of a clock that does not run backwards.
        sleep: waits.
    """

    def __init__(
        self, *, concurrency: int, rpm: int, ticks: Callable[[], float], sleep: Callable[[float], Awaitable[None]]
    ) -> None:
        self._places = asyncio.Semaphore(concurrency)
        self._starts: deque[float] = deque(maxlen=rpm)
        self._rpm = rpm
        self._ticks = ticks
        self._sleep = sleep

    async def take(self, seconds: float) -> bool:
        """Wait for a turn no longer than this; whoever gets one gives it back with `release`."""
        asked_at = self._ticks()
        try:
            async with asyncio.timeout(seconds):
                await self._places.acquire()
        except TimeoutError:
            return False
        may_start = False
        try:
            may_start = await self.start(seconds - (self._ticks() - asked_at))
        finally:
            if not may_start:
                self._places.release()
        return may_start

    async def start(self, seconds: float) -> bool:
        """Wait, in a place that was taken, until one more request may start; at once say so where that is too long."""
        now = self._ticks()
        is_full = len(self._starts) == self._rpm
        start = max(now, self._starts[0] + WINDOW_SECONDS) if is_full else now
        if start - now > seconds:
            return False
        # Noted before the wait, so that those behind this one count it.
        self._starts.append(start)
        if start > now:
            await self._sleep(start - now)
        return True

    def release(self) -> None:
        """Give a turn back."""
        self._places.release()
