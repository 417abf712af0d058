"""Keep the prefix of an idle conversation in the provider's cache, where the settings pay for that.

A refresh reads the whole prompt at the price of a read; what it may save is writing it again. So refreshes pay as long
as there are no more than `W / C - 1` of them in a row, whatever the prompt's length (W: price of a write, C: of a
read), and only if the client comes back. Each stands in the ledger as a request of its own. What authorises the client
is held in memory until the deadline, with the last body of each conversation; nothing is held where this is off.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from math import floor
from typing import Final

from coldpress.config.settings import Settings
from coldpress.drive.exchange import AsksAsClient, Inbound, OwnReply
from coldpress.drive.receipts import lineage_of
from coldpress.measure.cache_rules import OPENAI_MARKS, rules_for
from coldpress.measure.prices import Prices, Unpriced, cost_usd
from coldpress.model.conversation import Conversation
from coldpress.model.records import Money, Outcome, Receipt
from coldpress.stores.base import Store
from coldpress.wire.answer import read_facts
from coldpress.wire.registry import FormatName
from coldpress.wire.span import Misread
from coldpress.wire.warming import refresh_body

log = logging.getLogger(__name__)

NOTE: Final = "keep_warm"
MOST_BYTES: Final = 64 << 20
"""Of bodies that are held; those of the conversations that were idle longest go first."""

LEAST_LEAD_SECONDS: Final = 20.0
LEAD_SHARE: Final = 0.1
"""So long before a lifetime ends it is refreshed."""

ANSWER_SECONDS: Final = 60.0

Sleep = Callable[[float], Awaitable[None]]

Refreshed = Callable[[bytes, float, float, int | None], None]
"""Told of a refresh: the chain of the request it repeats, when that one came, when this was answered, its tokens."""


@dataclass(frozen=True, slots=True)
class _Idle:
    """A conversation's last request, until the next one or the deadline."""

    request_id: str
    lineage: str
    chain: bytes
    format: FormatName
    provider: str
    model: str
    harness: str | None
    sent_at: float
    deadline: float
    body: bytes
    betas: tuple[str, ...]
    ask: AsksAsClient


class Warmth:
    """Refreshes what lies idle. Use from one event loop.

    Args:
        settings: with `warmth` of each provider.
        store: where refreshes are written down.
        prices: of a model at a provider at a time.
        refreshed: told of each refresh.
        clock: seconds since 1970.
        sleep: waits for seconds.
    """

    def __init__(
        self,
        settings: Settings,
        store: Store,
        prices: Callable[[str, str, float], Prices | Unpriced],
        refreshed: Refreshed,
        *,
        clock: Callable[[], float],
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        told = ((row.name, row.warmth.keep_warm_seconds) for row in settings.providers)
        self._seconds = {name: seconds for name, seconds in told if seconds is not None}
        self._store = store
        self._prices = prices
        self._refreshed = refreshed
        self._clock = clock
        self._sleep = sleep
        self._idle: OrderedDict[str, _Idle] = OrderedDict()
        self._names: dict[str, str] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._held_bytes = 0

    def sent(self, inbound: Inbound, conversation: Conversation, body: bytes, betas: tuple[str, ...]) -> None:
        """Take note of a request that goes out: its conversation is not idle any more."""
        seconds, model = self._seconds.get(inbound.provider), conversation.head.model
        if seconds is None:
            return
        name = lineage_of(conversation)
        self._drop(name)
        if inbound.ask is None or model is None or conversation.head.stateful or not conversation.messages:
            return
        idle = _Idle(
            inbound.request_id,
            name,
            conversation.messages[-1].chain,
            inbound.format,
            inbound.provider,
            model,
            inbound.harness,
            inbound.received_at,
            inbound.received_at + seconds,
            body,
            betas,
            inbound.ask,
        )
        self._idle[name] = idle
        self._names[inbound.request_id] = name
        self._held_bytes += len(body)
        while self._held_bytes > MOST_BYTES:
            self._drop(next(iter(self._idle)))

    def ended(self, outcome: Outcome) -> None:
        """Take note of how a request ended: from now on its conversation is idle."""
        idle = self._idle.get(self._names.get(outcome.request_id, ""))
        if idle is None or idle.request_id != outcome.request_id:
            return
        wait = self._wait_seconds(idle, outcome)
        most = self._most_refreshes(idle, outcome)
        if wait is None or most < 1 or outcome.status != 200:
            self._drop(idle.lineage)
            return
        task = asyncio.get_running_loop().create_task(self._keep(idle, wait, most))
        self._tasks[idle.lineage] = task
        task.add_done_callback(lambda done: self._done(idle, done))

    async def close(self) -> None:
        """Refresh nothing more."""
        tasks = list(self._tasks.values())
        for name in list(self._idle):
            self._drop(name)
        await asyncio.gather(*tasks, return_exceptions=True)

    def _wait_seconds(self, idle: _Idle, outcome: Outcome) -> float | None:
        """How long after a request its prefix is refreshed; `None` where nobody says how long it is held."""
        rules = rules_for(idle.model, idle.provider)
        if rules is None or (idle.format != "anthropic" and rules is not OPENAI_MARKS):
            return None
        usage = outcome.usage
        if not (usage.read or usage.write_short or usage.write_long):
            return None  # nothing is held that could be kept
        seconds = rules.seconds("long" if usage.write_long else "short")
        if seconds is None:
            return None
        wait = seconds - max(LEAST_LEAD_SECONDS, LEAD_SHARE * seconds)
        return wait if wait > 0 else None

    def _most_refreshes(self, idle: _Idle, outcome: Outcome) -> int:
        """How many refreshes in a row may be paid for: with `W / C - 1` of them they cost what one write would."""
        prices = self._prices(idle.provider, idle.model, idle.sent_at)
        if isinstance(prices, Unpriced):
            log.info("not kept warm", extra={"conversation": idle.lineage, "why": "unpriced"})
            return 0
        rates = prices.at(outcome.usage.prompt or 0)
        write = rates.write_usd_per_mtok(long=bool(outcome.usage.write_long))
        if write is None or rates.cache_read_usd_per_mtok <= 0:
            return 0
        return floor(write / rates.cache_read_usd_per_mtok - 1)

    async def _keep(self, idle: _Idle, wait_seconds: float, most: int) -> None:
        body = await asyncio.to_thread(_refresh, idle)
        if body is None:
            return
        for _ in range(most):
            await self._sleep(wait_seconds)
            if self._clock() >= idle.deadline or not await self._refresh(idle, body):
                return

    async def _refresh(self, idle: _Idle, body: bytes) -> bool:
        """Refresh once, and write it down; whether it read what it was for."""
        at = self._clock()
        reply = await idle.ask(body, betas=idle.betas, timeout_seconds=ANSWER_SECONDS)
        outcome = self._outcome(idle, reply, at)
        self._store.put((), (), _receipt(idle, outcome.request_id, at, len(body)))
        self._store.add_outcome(outcome)
        if outcome.status != 200 or not outcome.usage.read:
            log.info("not kept warm any longer", extra={"conversation": idle.lineage, "status": outcome.status})
            return False
        self._refreshed(idle.chain, idle.sent_at, self._clock(), outcome.usage.prompt)
        return True

    def _outcome(self, idle: _Idle, reply: OwnReply | None, at: float) -> Outcome:
        request_id = f"{int(at * 1000):011x}{os.urandom(5).hex()}"
        seconds = max(0.0, self._clock() - at)
        if reply is None:
            return Outcome(request_id, None, "upstream_failed", seconds)
        facts = read_facts(idle.format, reply.body)
        outcome = Outcome(
            request_id, reply.status, "complete", seconds, facts.usage, reply_id=facts.message_id, stop=facts.stop
        )
        prices = self._prices(idle.provider, idle.model, at)
        bill = cost_usd(facts.usage, prices)
        if isinstance(prices, Unpriced) or isinstance(bill, Unpriced):
            return outcome
        # All of it is ours: without us it would not have been sent. What it saves nobody knows beforehand.
        return replace(outcome, money=Money(bill, 0.0, bill, prices=prices.label))

    def _drop(self, name: str) -> None:
        idle = self._idle.pop(name, None)
        if idle is not None:
            self._names.pop(idle.request_id, None)
            self._held_bytes -= len(idle.body)
        task = self._tasks.pop(name, None)
        if task is not None:
            task.cancel()

    def _done(self, idle: _Idle, task: asyncio.Task[None]) -> None:
        if self._tasks.get(idle.lineage) is task:
            self._drop(idle.lineage)
        if not task.cancelled() and (fault := task.exception()) is not None:
            log.error("keeping warm failed", extra={"conversation": idle.lineage}, exc_info=fault)


def _refresh(idle: _Idle) -> bytes | None:
    try:
        return refresh_body(idle.body, idle.format)
    except Misread:
        return None


def _receipt(idle: _Idle, request_id: str, at: float, size: int) -> Receipt:
    """Write down a refresh; it belongs to no conversation, so that none seems longer than it is."""
    return Receipt(
        request_id=request_id,
        received_at=at,
        provider=idle.provider,
        format=idle.format,
        model=idle.model,
        lineage="",
        harness_session=None,
        operation="press",
        messages=0,
        body_bytes=size,
        sent_bytes=size,
        notes=(NOTE,),
        harness=idle.harness,
    )
