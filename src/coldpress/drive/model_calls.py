"""Put one question to a model's endpoint: in bounded time and attempts, behind a breaker, and with what it cost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Final

from coldpress.drive.summariser_ask import Declined, Written
from coldpress.drive.summariser_breaker import Breaker
from coldpress.drive.summariser_post import Endpoint, NotAnswered, Posted
from coldpress.drive.summariser_reply import PricesOf, describe, is_worth_another, read_reply, wait_seconds
from coldpress.wire.registry import FormatName

UNANSWERED: Final = ("http_error", "timeout")
"""Failures of the endpoint. Somebody should look at it, so the first since it last answered is a warning."""


@dataclass(frozen=True, slots=True)
class CallLimits:
    """How long and how often one question is put.

    Attributes:
        timeout_seconds: for all attempts and waits together.
        attempts: in all, where the answer is 429, 5xx or a broken connection.
        rest_seconds: without any question after failures in a row.
    """

    timeout_seconds: float
    attempts: int
    rest_seconds: float


async def at_once(seconds: float) -> bool:
    """Let every further attempt be made, whatever time is left for it."""
    return seconds > 0


class ModelCalls:
    """Asks one endpoint. Use it on one event loop, from `open` to `close`.

    Args:
        endpoint: where; it is opened and closed with this.
        format_name: what it speaks.
        limits: of every question.
        prices_of: prices by model name, at the moment of the call.
        clock: seconds since 1970.
        ticks: seconds of a clock that does not run backwards, for the breaker and the time limit.
        sleep: waits between two attempts.
        turn: waits for leave to make a further attempt, no longer than the seconds it is given, and says whether there
            is any.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        format_name: FormatName,
        limits: CallLimits,
        *,
        prices_of: PricesOf,
        clock: Callable[[], float],
        ticks: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
        turn: Callable[[float], Awaitable[bool]] = at_once,
    ) -> None:
        self._endpoint = endpoint
        self._format = format_name
        self._limits = limits
        self._prices_of = prices_of
        self._breaker = Breaker(limits.rest_seconds)
        self._clock = clock
        self._ticks = ticks
        self._sleep = sleep
        self._turn = turn

    async def open(self) -> None:
        """Make ready to ask."""
        await self._endpoint.open()

    async def close(self) -> None:
        """Close every connection; questions under way are not waited for."""
        await self._endpoint.close()

    async def call(
        self, body: bytes, *, model: str, started: float, headers: tuple[tuple[str, str], ...] = ()
    ) -> Written | Declined:
        """Ask, and wait no longer than the limit. Never raises for what a provider does.

        A question that is cancelled counts neither as a success nor as a failure.

        Args:
            body: of the request.
            model: that it asks.
            started: when the time began to run, in ticks.
            headers: of an agent's request, see `Endpoint.post`.
        """
        if not self._breaker.admit(self._ticks()):
            rest = self._breaker.rests_for(self._ticks())
            return Declined("breaker_open", f"after failures in a row {self._endpoint.place} rests {rest:.0f} s more")
        outcome: Written | Declined | None = None
        try:
            outcome = await self._within_limit(body, model, headers, started)
        finally:
            if outcome is None:
                self._breaker.abandoned()
        if isinstance(outcome, Written):
            self._breaker.succeeded()
        else:
            self._breaker.failed(self._ticks())
        return outcome

    @property
    def is_resting(self) -> bool:
        """Whether a question that is put now would not be sent."""
        return self._breaker.is_open(self._ticks())

    def useful(self) -> None:
        """Take note that the last answer was of use."""
        self._breaker.useful()

    def useless(self) -> None:
        """Take note that the last answer was of none: a model that keeps at that is not asked for a while."""
        self._breaker.useless(self._ticks())

    async def _within_limit(
        self, body: bytes, model: str, headers: tuple[tuple[str, str], ...], started: float
    ) -> Written | Declined:
        limit = self._limits.timeout_seconds
        try:
            async with asyncio.timeout(max(0.0, limit - (self._ticks() - started))):
                return await self._attempts(body, model, headers, started)
        except TimeoutError:
            # The endpoint may have had the question and may bill it.
            return Declined("timeout", f"{self._endpoint.place} gave no summary within {limit:g} s", None)

    async def _attempts(
        self, body: bytes, model: str, headers: tuple[tuple[str, str], ...], started: float
    ) -> Written | Declined:
        """Ask until there is an answer, or no sense in asking again."""
        limits = self._limits
        all_known, attempt = True, 1
        while True:
            posted = await self._endpoint.post(body, headers)
            if isinstance(posted, Posted) and posted.status == 200:
                seconds = self._ticks() - started
                outcome = read_reply(self._format, posted.body, model=model, prices_of=self._prices_of, seconds=seconds)
                return outcome if all_known else replace(outcome, cost_usd=None)
            all_known = all_known and not (isinstance(posted, NotAnswered) and posted.sent)
            said = describe(posted, self._endpoint.place)
            again = is_worth_another(posted) and attempt < limits.attempts
            if again:
                wait = wait_seconds(posted, attempt, now=self._clock())
                left = limits.timeout_seconds - (self._ticks() - started)
                if wait >= left:
                    said += f"; the next attempt would be {wait:.0f} s later, and less time is left"
                    again = False
                else:
                    await self._sleep(wait)
                    again = await self._turn(left - wait)
            if not again:
                return Declined("http_error", said, 0.0 if all_known else None)
            attempt += 1
