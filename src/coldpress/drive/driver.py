"""One request in, the bytes to send out, everything written down in between.

The steps of `Driver.prepare`: find the known prefix, read what is new, look up what stands, decide on what is at first
sight, consider what has aged, make originals durable, splice. Any failure of ours sends the client's own bytes on and
is recorded. `engine` decides; this room fetches what it needs, runs it where it does not hold up the event loop, and
stores the result.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import replace
from typing import TypeVar

from coldpress.config.settings import Settings
from coldpress.drive.accounts import Accounts
from coldpress.drive.aging import Considered
from coldpress.drive.beside import NOTHING, Beside
from coldpress.drive.calls import Calls
from coldpress.drive.deciders import Deciders
from coldpress.drive.exchange import Inbound, Prepared
from coldpress.drive.extensions import Extensions
from coldpress.drive.faults import Fault
from coldpress.drive.guard import Guard, Screens
from coldpress.drive.insight import Insight, Opened
from coldpress.drive.planned import Planned, decided_on, with_edits
from coldpress.drive.planning import CLIENT_COMPACTION, Planning, wished
from coldpress.drive.receipts import Sending, lineage_of, receipt_of, unread_sent_receipt
from coldpress.drive.settle import Decided, Settler
from coldpress.drive.sides import Sides
from coldpress.drive.tails import Tails
from coldpress.drive.warmth import Sleep
from coldpress.drive.watching import Watching, with_overflow_found
from coldpress.drive.weighing import Weighing
from coldpress.engine.session import Session
from coldpress.measure.rates import Unpriced
from coldpress.model.errors import StoreError
from coldpress.model.records import Finding, Outcome, Receipt
from coldpress.stores.amounts import Amount
from coldpress.stores.base import Store
from coldpress.stores.spending import day_of
from coldpress.wire.addition import places
from coldpress.wire.prefix import Checkpoint, Reader
from coldpress.wire.span import Misread, splice

log = logging.getLogger(__name__)

OFFLOAD_BYTES = 48 * 1024
"""Requests with more unread bytes than this are read in a thread: below, the change costs more than it saves others."""

NO_TIME = "no_time"
"""The receipt's word for a request of which there was no time to say whether anything may become smaller."""

PLANNING_THREADS = 4
PLANNING_SHARE = 0.5
"""How much of the time budget reading and deciding may take; the rest is for making originals durable."""

R = TypeVar("R")


class Driver:
    """Prepares requests of many conversations at a time. Use from one event loop.

    Args:
        settings: frozen settings.
        store: where originals, decisions and receipts are kept.
        clock: seconds since 1970.
        sleep: waits for seconds of that clock.
        deciders: of the engine, or others in their place.
        workers: does what would hold up the event loop; threads where not given.
    """

    def __init__(
        self,
        settings: Settings,
        store: Store,
        *,
        clock: Callable[[], float] = time.time,
        sleep: Sleep = asyncio.sleep,
        deciders: Deciders = Deciders(),  # noqa: B008
        workers: Executor | None = None,
    ) -> None:
        self._settings = settings
        self._store = store
        self._reader: Reader[Session] = Reader(seed=int.from_bytes(os.urandom(8), "little"))
        self._lock = threading.Lock()
        # More than one, so that a giant request does not hold up the others: threads take turns.
        self._workers = workers or ThreadPoolExecutor(PLANNING_THREADS, thread_name_prefix="coldpress-plan")
        self._settler = Settler(store, require_log=settings.require_raw_log)
        self._clock = clock
        self._accounts = Accounts(settings, store, clock=clock)
        self._guard = Guard(settings.plugins.pii, store, self._workers)
        self._extensions = Extensions(settings.plugins)
        self._calls = Calls(settings.plugins, store, self._extensions)
        self._insight = Insight(settings, store, self._accounts)
        self._sides = Sides(settings, store, self._accounts, self._insight, self._settler, clock=clock, sleep=sleep)
        self._weighing = Weighing(
            settings,
            store,
            accounts=self._accounts,
            insight=self._insight,
            settler=self._settler,
            workers=self._workers,
            deciders=deciders,
            on_demand=self._sides.on_demand,
        )
        self._planning = Planning(
            settings,
            self._reader,
            settler=self._settler,
            insight=self._insight,
            weighing=self._weighing,
            calls=self._calls,
            extensions=self._extensions,
            choose_view=deciders.decide,
        )
        self._watching = Watching()
        self._tails = Tails()
        self._workers.submit(self._accounts.warm)

    async def prepare(self, inbound: Inbound) -> Prepared:
        """Decide what to send for a request; returns when everything it replaces can be recalled.

        Never raises for a reason of ours: the client's own bytes are sent and the receipt says why. All that is read
        and sent on is what `screen` leaves of the request.

        Raises:
            Withheld: it may not be sent at all.
        """
        inbound = await self.screen(inbound)
        fault = Fault("request passed through", inbound.request_id)
        with fault.kept():
            return await self._prepare_or_pass(inbound)
        return self._pass_through(inbound, fault.name)

    async def screen(self, inbound: Inbound, *, keep: bool = True) -> Inbound:
        """Give a request without what may not leave, once; see `Guard.screened`.

        Raises:
            Withheld: it may not be sent at all.
        """
        return await self._guard.screened(inbound, wished(inbound, self._settings), keep=keep)

    @property
    def screens(self) -> Screens:
        """Whether requests are looked through, and whether one goes on that cannot be."""
        return self._guard.screens

    async def _prepare_or_pass(self, inbound: Inbound) -> Prepared:
        try:
            return await self._prepare(inbound)
        except Misread:
            return self._pass_through(inbound, "unreadable_body")
        except StoreError as error:
            log.warning(
                "store failed, request passed through", extra={"request": inbound.request_id, "why": str(error)}
            )
            return self._pass_through(inbound, "store_failed")
        except asyncio.CancelledError:
            self._pass_through(inbound, "given_up")  # too slow, or the client left; a receipt already put stays
            raise

    def finish(self, outcome: Outcome) -> None:
        """Learn from how a request ended, and write it down.

        Never raises: the reply is out, and what became of it is written down even where nothing could be learned.
        """
        self._settler.taken_back.ended(outcome)
        self._sides.ended(outcome)
        calls = self._calls.ended(outcome.request_id)
        if calls is not None:
            outcome = replace(outcome, captures=calls.captures, plugins=calls.notes)
        with Fault("plugins not told of a reply", outcome.request_id).kept():
            self._extensions.after(outcome, calls.called if calls is not None else ())
        opened: Opened | None = None
        with Fault("nothing learned from a reply", outcome.request_id).kept():
            opened = self._insight.learn(outcome)
            if opened is not None and (outcome.failover is None or not outcome.failover.served):
                found = self._watching.reply(
                    outcome, opened.held, event_before=opened.had_events, cut_here=opened.cut_here
                )
                outcome = replace(outcome, findings=found) if found else outcome
            outcome = with_overflow_found(outcome)
            if opened is not None and not self._accounts.ready:
                self._workers.submit(self._write_down, opened, outcome)
                return
        self._write_down(opened, outcome)

    def _write_down(self, opened: Opened | None, outcome: Outcome) -> None:
        with Fault("a reply could not be priced", outcome.request_id).kept():
            outcome = self._insight.priced(opened, outcome)
        self._store.add_outcome(outcome)

    @property
    def wants_replies(self) -> bool:
        """Whether the raw log is on."""
        return self._settings.store.raw_log

    def log_reply(self, request_id: str, headers: Sequence[tuple[str, str]], body: bytes) -> None:
        """Put a reply into the raw log, as far as it came."""
        self._store.log_event(request_id, self._clock(), "reply", headers, body)

    def load_forecast(self, harness: str | None) -> None:
        """Read how long earlier conversations of a client were; blocking.

        Else that is done in the background, when it is first asked for, and decisions until then go by the settings.
        """
        self._accounts.load_forecast(harness)

    def stats(self) -> dict[str, object]:
        """Give the ledger's sums for `/stats`; blocking.

        Applications are every text that went upstream smaller: new views, and standing edits sent again. Every sum
        stands beside the number of requests or replies it was taken over.
        """
        totals = self._store.totals().as_object()
        return {**totals, "plugins": self._extensions.totals(totals.get("plugins"))}

    def spent(self, at: float) -> Amount:
        """Say what the requests cost that ended on the UTC day of `at` (seconds since 1970); blocking.

        Raises:
            StoreError: the store cannot tell.
        """
        return self._store.spent_on(day_of(at))

    def is_priced(self, provider: str, model: str | None, at: float) -> bool:
        """Whether a model has a price at a provider; blocking where the price list has not been read yet."""
        return not isinstance(self._accounts.prices(provider, model, at), Unpriced)

    @property
    def patience_seconds(self) -> float:
        """How much longer than its time budget `prepare` may take, since an urgent request waits for a summary."""
        return self._weighing.patience_seconds

    async def give_up(self) -> None:
        """Stop asking for summaries in the background; on the event loop, before `close`."""
        await self._weighing.close()
        await self._sides.close()

    def close(self) -> None:
        """Let the workers go, once what they have begun is done."""
        self._workers.shutdown(wait=True)
        self._extensions.close()

    async def _prepare(self, inbound: Inbound) -> Prepared:
        self._log_request(inbound)
        with self._lock:
            checkpoint = self._reader.find(inbound.body, inbound.format)
        unread = len(inbound.body) - (checkpoint.length if checkpoint else 0)
        try:
            beside = unread > OFFLOAD_BYTES or self._extensions.looks_at_requests
            planned = await self._run(lambda: self._planning.plan(inbound, checkpoint), beside=beside)
            if CLIENT_COMPACTION in planned.notes and planned.operation != "observe":
                planned = await self._run(lambda: self._planning.fitted(inbound, planned), beside=True)
            planned, considered = await self._consider(inbound, self._sides.on_demand.fitting(inbound, planned))
        except TimeoutError:
            return self._prefix_only(inbound, checkpoint, "over_budget")
        except StoreError:
            return self._prefix_only(inbound, checkpoint, "store_failed")
        return await self._settle(inbound, planned, considered)

    async def _run(self, work: Callable[[], R], *, beside: bool) -> R:
        """Do work here, or beside the event loop; raises `TimeoutError` where that takes too long."""
        if not beside:
            return work()
        async with asyncio.timeout(self._settings.limits.prepare_seconds * PLANNING_SHARE):
            return await asyncio.get_running_loop().run_in_executor(self._workers, work)

    async def _consider(self, inbound: Inbound, planned: Planned) -> tuple[Planned, Considered | None]:
        """Weigh the aged results, where there may be any.

        They can wait: where that takes too long, or goes wrong, everything else goes out as it was decided.
        """
        with Fault("aged results not weighed", inbound.request_id).kept():
            try:
                return planned, await self._weighing.planned(inbound, planned, self._run)
            except TimeoutError:
                log.warning("no time to weigh aged results", extra={"request": inbound.request_id})
                return replace(planned, notes=(*planned.notes, NO_TIME)), None
        return planned, None

    async def _settle(self, inbound: Inbound, planned: Planned, considered: Considered | None) -> Prepared:
        """Make what is replaced durable, then splice. What cannot be made durable is sent exact."""
        if planned.plan is None:
            sending = self._sending(planned, considered)
            if planned.calls.is_on:
                before = planned.reading.extra or Session()
                sending = replace(sending, calls=(*before.calls, *planned.calls.restored))
            body = splice(inbound.body, sending.splices)
            receipt = receipt_of(inbound, planned.conversation, sending, body)
            self._store.put((), (), receipt)
            self._insight.note_shown(inbound, planned.conversation, sending)
            return self._prepared(inbound, planned, body, receipt, sending)
        decided = decided_on(planned, considered, self._tails)
        sending = self._sending(planned, considered, await self._watched(inbound, decided))
        sending = replace(sending, beside=await self._beside(inbound, planned, decided.session))
        sending = with_edits(sending, decided, decided.session)
        body = splice(inbound.body, sending.splices)
        receipt = receipt_of(inbound, planned.conversation, sending, body)
        settled = await self._settler.settle(decided, receipt)
        if settled.session != decided.session:
            sending = replace(with_edits(sending, decided, settled.session), mark=None)
            body = splice(inbound.body, sending.splices)
        if settled.failed:
            kept = considered.kept("store_failed") if considered else None
            sending = replace(sending, considered=kept, lines=(), notes=(*sending.notes, "store_failed"))
            receipt = receipt_of(inbound, planned.conversation, sending, body)
        else:
            if decided.batch is not None:
                self._tails.note(planned.conversation, decided.batch.after)
            with self._lock:
                state = settled.session.upto(planned.reading.boundary)
                self._reader.remember(planned.reading, state, anew=decided.batch is not None)
            await self._weighing.remembered(inbound, planned.conversation, considered)
        self._settler.taken_back.sent(inbound.request_id, planned.conversation, settled.session, planned.operation)
        self._sides.on_demand.sent(inbound, planned.conversation, settled.session, sending)
        self._insight.note_sent(inbound, planned.conversation, sending)
        return self._prepared(inbound, planned, body, receipt, sending)

    def _prepared(
        self, inbound: Inbound, planned: Planned, body: bytes, receipt: Receipt, sending: Sending
    ) -> Prepared:
        conversation, betas = planned.conversation, sending.beside.betas
        calls = self._calls.on_the_way(inbound, conversation, planned.calls)
        self._sides.warmth.sent(inbound, conversation, body, betas)
        added, changed = places(sending.splices) if sending.beside.additions else (), inbound.is_changed(body)
        return Prepared(body, changed, receipt, conversation.head.stream, calls, betas, added)

    async def _beside(self, inbound: Inbound, planned: Planned, session: Session) -> Beside:
        """Ask the provider for what it does by itself; where that goes wrong, for nothing."""
        if planned.operation not in ("press", "drain") or not self._sides.has_any(inbound):
            return NOTHING
        draining = planned.operation == "drain"
        with Fault("nothing asked of the provider", inbound.request_id).kept():
            ask = functools.partial(self._sides.beside, inbound, planned.conversation, session, draining=draining)
            return await self._run(ask, beside=True)
        return NOTHING

    def _sending(self, planned: Planned, considered: Considered | None, findings: tuple[Finding, ...] = ()) -> Sending:
        """Begin to say what goes out: everything but the edits."""
        return Sending(
            planned.operation,
            notes=planned.notes,
            held=planned.held,
            considered=considered,
            schemas=planned.calls.schemas,
            plugins=planned.plugins,
            findings=findings,
            had_events=planned.plan is not None and bool(planned.plan.session.aged),
            scale=self._insight.scale(planned.conversation),
        )

    async def _watched(self, inbound: Inbound, decided: Decided) -> tuple[Finding, ...]:
        """Ask the watchers; where that goes wrong, or takes too long, they have seen nothing."""
        name, conversation = lineage_of(decided.conversation), decided.conversation
        with Fault("watchers failed", inbound.request_id).kept():
            beside = self._watching.is_behind(name, conversation, decided.session)
            before = decided.plan.session.rebuild
            look = functools.partial(self._watching.decided, name, conversation, decided.session, before=before)
            return await self._run(look, beside=beside)
        return ()

    def _prefix_only(self, inbound: Inbound, checkpoint: Checkpoint[Session] | None, why: str) -> Prepared:
        """Send the standing edits of the known prefix and the rest exact: it could not be decided on."""
        operation = wished(inbound, self._settings)
        known = Session()
        if checkpoint is not None and operation != "observe":
            known = self._settler.taken_back.left(checkpoint.extra, checkpoint.messages)
            known = self._sides.on_demand.known(inbound, known)
        # Its calls go as the client wrote them, like its tools: a model that saw a field in its own calls would fill it
        # again, and nothing takes it off this reply.
        least = self._sides.least(inbound, operation, known)
        sending = Sending(operation, edits=known.edits, rebuild=known.rebuild, beside=least)
        facts = {"request": inbound.request_id, "why": why, "edits": len(known.edits)}
        log.warning("sent with known edits only", extra=facts)
        return self._unread(inbound, sending, why)

    def _pass_through(self, inbound: Inbound, why: str) -> Prepared:
        operation = wished(inbound, self._settings)
        return self._unread(inbound, Sending(operation, beside=self._sides.least(inbound, operation)), why)

    def _unread(self, inbound: Inbound, sending: Sending, why: str) -> Prepared:
        body, beside = splice(inbound.body, sending.splices), sending.beside
        receipt = unread_sent_receipt(inbound, sending, why, body)
        self._store.put((), (), receipt)
        added = places(sending.splices) if beside.additions else ()
        return Prepared(body, inbound.is_changed(body), receipt, stream=False, betas=beside.betas, added=added)

    def _log_request(self, inbound: Inbound) -> None:
        if self._settings.store.raw_log:
            headers = tuple(inbound.headers.items())
            self._store.log_event(inbound.request_id, inbound.received_at, "request", headers, inbound.body)
