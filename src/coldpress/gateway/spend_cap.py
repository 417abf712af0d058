"""Keep the spend of a UTC day under what the settings allow, and say so where it cannot be kept.

The sum is that of the ledger, so it outlives the process and holds for all that share a store. A request counts when
its reply has ended: what runs when the sum is reached goes to its end, so the day may cost more than the cap by what
the requests then running cost, and by no more.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal, Protocol

from coldpress.gateway.errors import Limited
from coldpress.model.errors import StoreError
from coldpress.stores.amounts import Amount
from coldpress.wire.model_name import model_asked
from coldpress.wire.registry import NO_ADDRESS, Address

log = logging.getLogger(__name__)

_DAY = timedelta(days=1)


class Books(Protocol):
    """Who knows what was spent, and what has a price."""

    def spent(self, at: float) -> Amount:
        """Say what the requests cost that ended on the UTC day of a time. Blocking; may raise `StoreError`."""

    def is_priced(self, provider: str, model: str | None, at: float) -> bool:
        """Whether a model has a price at a provider. Blocking at first."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What the settings say: a sum in USD, and what becomes of requests that nobody can price."""

    usd: float
    unpriced: Literal["refuse", "allow"]


class SpendCap:
    """The cap of one gateway.

    Args:
        budget: what is allowed, `None` where nothing is limited.
        books: who knows what was spent.
        clock: seconds since 1970.
    """

    def __init__(self, budget: Budget | None, books: Books, *, clock: Callable[[], float]) -> None:
        self._budget = budget
        self._books = books
        self._clock = clock
        self._warned_day = ""

    @property
    def is_on(self) -> bool:
        """Whether anything is limited."""
        return self._budget is not None

    async def check(self, provider: str, body: bytes | None, address: Address = NO_ADDRESS) -> None:
        """Refuse a request where the day's sum is reached, or where nobody could say what it cost.

        Args:
            provider: where it goes.
            body: the request; `None` where it goes on unread.
            address: what its path tells.

        Raises:
            Limited: it is refused.
        """
        if self._budget is None:
            return
        refusal = await asyncio.to_thread(self._refusal, self._budget, provider, body, address)
        if refusal is not None:
            raise refusal

    def told(self) -> dict[str, object]:
        """Give what `/stats` says of it; blocking."""
        try:
            spent = self._books.spent(self._clock())
        except StoreError:
            spent = None
        cap = self._budget.usd if self._budget is not None else None
        if spent is None:
            return {"usd": None, "replies": None, "unpriced": None, "cap_usd": cap}
        return {"usd": spent.usd, "replies": spent.replies, "unpriced": spent.unpriced, "cap_usd": cap}

    def _refusal(self, budget: Budget, provider: str, body: bytes | None, address: Address) -> Limited | None:
        now = self._clock()
        try:
            spent = self._books.spent(now)
        except StoreError as error:
            return self._untold(budget, error)
        if spent.usd >= budget.usd:
            return _reached(budget, spent, now)
        self._warn(budget, spent, now)
        if budget.unpriced == "allow":
            return None
        model = model_asked(body, address)
        if model is None:
            return _unpriced(f"coldpress relays this request to {provider!r} unread, so nobody can say what it costs")
        if not self._books.is_priced(provider, model, now):
            return _unpriced(
                f"the price of model {model[:100]!r} at provider {provider!r} is not known; give it in "
                f"[providers.{provider}.pricing]"
            )
        return None

    def _untold(self, budget: Budget, error: StoreError) -> Limited | None:
        log.warning("the day's spend is not known", extra={"why": str(error), "unpriced": budget.unpriced})
        if budget.unpriced == "allow":
            return None
        message = "coldpress: the store cannot tell what was spent today, so limits.daily_usd cannot be kept"
        return Limited(503, "overloaded", message, retry_after_seconds=1, again=True)

    def _warn(self, budget: Budget, spent: Amount, now: float) -> None:
        """Say once a day that the sum is a least one."""
        day = datetime.fromtimestamp(now, UTC).date().isoformat()
        if spent.unpriced and day != self._warned_day:
            self._warned_day = day
            facts = {"day": day, "unpriced": spent.unpriced, "spent_usd": spent.usd, "cap_usd": budget.usd}
            log.warning("limits.daily_usd counts requests of unknown cost as nothing known", extra=facts)


def _reached(budget: Budget, spent: Amount, now: float) -> Limited:
    at = datetime.fromtimestamp(now, UTC)
    resets = datetime(at.year, at.month, at.day, tzinfo=UTC) + _DAY
    unknown = (
        f", and {spent.unpriced} {'request' if spent.unpriced == 1 else 'requests'} of unknown cost"
        if spent.unpriced
        else ""
    )
    message = (
        f"coldpress: {spent.usd_text} USD were spent on {at.date().isoformat()} (UTC){unknown}, and limits.daily_usd "
        f"allows {budget.usd:g}; it begins anew at {resets:%Y-%m-%dT%H:%M:%SZ}, or raise it and start coldpress again"
    )
    seconds = math.ceil((resets - at).total_seconds())
    return Limited(429, "spend_cap", message, retry_after_seconds=seconds)


def _unpriced(why: str) -> Limited:
    return Limited(
        403,
        "unpriced",
        f'coldpress: {why}. limits.daily_usd could not be kept; limits.unpriced = "allow" lets such requests through',
    )
