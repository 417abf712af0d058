"""Let no more inference requests go to providers, at one time and in any minute, than the settings allow.

What does not fit waits in its order. One may overtake another only where that one waits for a provider it does not go
to itself. Whoever has left is passed over, and whoever would wait too long is told so, at once where that is known.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from coldpress.gateway.errors import Code, Limited

MINUTE_SECONDS: Final = 60.0
_SOON_SECONDS: Final = 1
"""To say when a place may be free that somebody must give back first; the client has waited long already."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """What is allowed: requests at one time, and starts in any 60 seconds; `None` is no limit."""

    concurrency: int | None = None
    rpm: int | None = None

    @property
    def is_open(self) -> bool:
        """Whether it limits nothing."""
        return self.concurrency is None and self.rpm is None


class Handle(Protocol):
    """A call that was put off."""

    def cancel(self) -> None:
        """Do not make it."""


class Timer(Protocol):
    """What admission needs of a clock that does not run backwards, in seconds; an event loop has it."""

    def time(self) -> float:
        """Say the time."""

    def call_at(self, when: float, callback: Callable[[], None], /) -> Handle:
        """Call later."""


class Limiter:
    """One allowance, and what is taken of it now.

    The times of the last `rpm` starts are kept: no 60 seconds hold more. A bucket that fills up would let twice as
    many through in its first minute.

    Args:
        at: the table of the settings, for messages.
        allowance: what is allowed.
    """

    __slots__ = ("_allowance", "_starts", "at", "running")

    def __init__(self, at: str, allowance: Allowance) -> None:
        self.at = at
        self._allowance = allowance
        self._starts: deque[float] = deque(maxlen=allowance.rpm if allowance.rpm is not None else 0)
        self.running = 0

    @property
    def is_full(self) -> bool:
        """Whether one must end before another may begin."""
        return self._allowance.concurrency is not None and self.running >= self._allowance.concurrency

    def opens_at(self, now: float, *, ahead: int = 0) -> float:
        """Say when one more may start by `rpm` alone, behind so many others that wait."""
        rpm = self._allowance.rpm
        if rpm is None or len(self._starts) + ahead < rpm:
            return now
        if not ahead:
            return max(now, self._starts[0] + MINUTE_SECONDS)
        starts, at = deque(self._starts, maxlen=rpm), now
        for _ in range(ahead + 1):
            at = max(now, starts[0] + MINUTE_SECONDS) if len(starts) == rpm else now
            starts.append(at)
        return at

    def take(self, now: float) -> None:
        """Let one through."""
        self.running += 1
        self._starts.append(now)

    def give_back(self) -> None:
        """One has ended."""
        self.running -= 1

    def refusal(self, wait_seconds: float, *, opens_in: float) -> Limited:
        """Say why somebody does not get through; `opens_in` is 0 where one must end first."""
        if opens_in > 0:
            code: Code = "rate_limited"
            most, key = self._allowance.rpm, "rpm"
            what = f"{most} {'request has' if most == 1 else 'requests have'} gone to providers within a minute"
            retry = math.ceil(opens_in)
        else:
            code, retry = "busy", _SOON_SECONDS
            most, key = self._allowance.concurrency, "concurrency"
            what = f"{most} {'request is' if most == 1 else 'requests are'} running"
        message = (
            f"coldpress: {what} ({self.at}.{key}), and this one would wait longer than {wait_seconds:g} s "
            f"(limits.wait_seconds); try again in {retry} s"
        )
        return Limited(429, code, message, retry_after_seconds=retry, again=True)


class Place:
    """What one request holds of the limiters it went through. Giving it back twice is harmless.

    Attributes:
        waited: whether it had to wait for it.
    """

    __slots__ = ("_owner", "limiters", "waited")

    def __init__(self, owner: Admission | None, limiters: tuple[Limiter, ...], *, waited: bool = False) -> None:
        self._owner = owner
        self.limiters = limiters
        self.waited = waited

    def release(self) -> None:
        """Give it back: the request has ended."""
        limiters, self.limiters = self.limiters, ()
        if self._owner is not None:
            self._owner.give_back(limiters)


@dataclass(slots=True, eq=False)
class _Waiter:
    limiters: tuple[Limiter, ...]
    deadline: float
    answer: asyncio.Future[Limited | None] = field(repr=False)
    has_place: bool = False


class Admission:
    """The limiters of one gateway. Use it on one event loop.

    Args:
        overall: what holds for all providers together.
        providers: what holds for each beside that, by name; one that is not named has no limit of its own.
        wait_seconds: how long a request may wait.
        timer: the clock; the running event loop's where it is not given.

    Attributes:
        waited: requests that had to wait, whatever came of it.
    """

    def __init__(
        self,
        overall: Allowance,
        providers: Mapping[str, Allowance],
        *,
        wait_seconds: float,
        timer: Timer | None = None,
    ) -> None:
        self._overall = () if overall.is_open else (Limiter("limits", overall),)
        self._own = {
            name: Limiter(f"providers.{name}", allowance)
            for name, allowance in providers.items()
            if not allowance.is_open
        }
        self._wait_seconds = wait_seconds
        self._timer = timer
        self._queue: dict[_Waiter, None] = {}
        self._alarm: Handle | None = None
        self.waited = 0

    @property
    def waiting(self) -> int:
        """Requests that wait now."""
        return len(self._queue)

    def must_wait(self, provider: str) -> bool:
        """Whether a request would have to wait now, or be refused."""
        limiters = self._limiters(provider)
        if not limiters:
            return False
        self._let_through()
        return not self._are_open(limiters, self._now())

    async def enter(self, provider: str) -> Place:
        """Wait for a place for a request to a provider. Cancelled, it leaves the queue.

        Raises:
            Limited: it would wait too long, or has.
        """
        limiters = self._limiters(provider)
        if not limiters:
            return Place(self, ())
        if not self.must_wait(provider):
            self._take(limiters)
            return Place(self, limiters)
        self._refuse_hopeless(limiters)
        self.waited += 1
        waiter = _Waiter(limiters, self._now() + self._wait_seconds, asyncio.get_running_loop().create_future())
        self._queue[waiter] = None
        self._set_alarm()
        try:
            refusal = await waiter.answer
        except asyncio.CancelledError:
            self._leave(waiter)
            raise
        if refusal is not None:
            raise refusal
        return Place(self, limiters, waited=True)

    def move(self, place: Place, provider: str) -> bool:
        """Change to another provider without waiting; false, and nothing changed, where there is no room."""
        limiters = self._limiters(provider)
        fresh = tuple(limiter for limiter in limiters if limiter not in place.limiters)
        self._let_through()
        if not self._are_open(fresh, self._now()):
            return False
        self._take(fresh)
        left, place.limiters = tuple(limiter for limiter in place.limiters if limiter not in limiters), limiters
        self.give_back(left)
        return True

    def give_back(self, limiters: Iterable[Limiter]) -> None:
        """Let the next ones through where others have ended."""
        is_free = False
        for limiter in limiters:
            limiter.give_back()
            is_free = True
        if is_free:
            self._look()

    def _limiters(self, provider: str) -> tuple[Limiter, ...]:
        own = self._own.get(provider)
        return self._overall if own is None else (*self._overall, own)

    def _now(self) -> float:
        if self._timer is None:
            self._timer = asyncio.get_running_loop()
        return self._timer.time()

    @staticmethod
    def _are_open(limiters: Iterable[Limiter], now: float) -> bool:
        return all(not limiter.is_full and limiter.opens_at(now) <= now for limiter in limiters)

    def _take(self, limiters: Iterable[Limiter]) -> None:
        now = self._now()
        for limiter in limiters:
            limiter.take(now)

    def _refuse_hopeless(self, limiters: Iterable[Limiter]) -> None:
        """Refuse now what will wait too long: nobody knows when a place is given back, but all when a minute ends."""
        now = self._now()
        for limiter in limiters:
            ahead = sum(limiter in waiter.limiters for waiter in self._queue)
            opens_in = limiter.opens_at(now, ahead=ahead) - now
            if opens_in > self._wait_seconds:
                raise limiter.refusal(self._wait_seconds, opens_in=opens_in)
            if self._wait_seconds == 0 and limiter.is_full:
                raise limiter.refusal(self._wait_seconds, opens_in=0.0)

    def _leave(self, waiter: _Waiter) -> None:
        if waiter in self._queue:
            del self._queue[waiter]
            self._set_alarm()
        elif waiter.has_place:
            self.give_back(waiter.limiters)

    def _look(self) -> None:
        self._let_through()
        self._set_alarm()

    def _let_through(self) -> None:
        """Answer everybody who need not wait any longer, in the order of the queue."""
        now = self._now()
        for waiter in tuple(self._queue):
            if waiter.answer.done():
                del self._queue[waiter]  # it was cancelled, and has not had its turn to leave yet
            elif self._are_open(waiter.limiters, now):
                self._take(waiter.limiters)
                waiter.has_place = True
                self._answer(waiter, None)
            elif waiter.deadline <= now:
                self._answer(waiter, self._too_late(waiter, now))

    def _too_late(self, waiter: _Waiter, now: float) -> Limited:
        opens = [(limiter, limiter.opens_at(now) - now) for limiter in waiter.limiters]
        limiter, opens_in = max(opens, key=lambda pair: (pair[1], pair[0].is_full))
        return limiter.refusal(self._wait_seconds, opens_in=opens_in)

    def _answer(self, waiter: _Waiter, refusal: Limited | None) -> None:
        del self._queue[waiter]
        waiter.answer.set_result(refusal)

    def _set_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if not self._queue:
            return
        now = self._now()
        times = [next(iter(self._queue)).deadline]
        for limiter in {limiter: None for waiter in self._queue for limiter in waiter.limiters}:
            if not limiter.is_full and (opens := limiter.opens_at(now)) > now:
                times.append(opens)
        assert self._timer is not None
        self._alarm = self._timer.call_at(min(times), self._look)
