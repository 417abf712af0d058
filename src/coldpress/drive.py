"""Where the engine meets the world: one request in, the bytes to send out, everything written down in between.

The steps of `Driver.prepare`: find the known prefix, read what is new, look up what stands, propose, make
originals durable, splice. Any failure of ours sends the client's own bytes on and is recorded. `engine` decides;
this file only fetches what it needs, runs it where it does not hold up the event loop, and stores the result.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace

import msgspec

from coldpress.config.settings import Settings
from coldpress.engine.client_requests import is_client_compaction
from coldpress.engine.plan import Plan, places, propose
from coldpress.engine.session import Session
from coldpress.model.conversation import Conversation
from coldpress.model.edits import Edit, Standing
from coldpress.model.errors import StoreError
from coldpress.model.identity import EditKey, lineage_id
from coldpress.model.records import Operation, Outcome, Receipt
from coldpress.stores.base import Store
from coldpress.wire.prefix import Checkpoint, Reader, Reading
from coldpress.wire.registry import FormatName
from coldpress.wire.span import Misread, splice

log = logging.getLogger(__name__)

OFFLOAD_BYTES = 48 * 1024
"""Requests with more unread bytes than this are read in a thread. Below, the change of threads costs more (0.4 ms a
request at 128 KiB) than it saves others: a 12 kB log to press takes five milliseconds either way."""

PLANNING_THREADS = 4
PLANNING_SHARE = 0.5
"""How much of the time budget reading and deciding may take; the rest is for making originals durable."""

MOST_HEADS = 10_000
"""Conversations whose system prompt as last seen is remembered."""

MOST_EXACT = 100_000
"""Texts that are remembered as sent exact against what the store may hold."""

_SESSION_HEADERS = (
    "x-claude-code-session-id",
    "session_id",
    "session-id",
    "conversation_id",
    "thread-id",
    "x-session-id",
    "x-session-affinity",
    "x-opencode-session",
    "x-grok-conv-id",
)


@dataclass(frozen=True, slots=True)
class Inbound:
    """A request to an inference path.

    `body` is free of content encodings. `operation` is the client's own wish for this request, if any.
    `headers` have lower-case names.
    """

    request_id: str
    received_at: float
    provider: str
    format: FormatName
    body: bytes = field(repr=False)
    operation: Operation | None
    headers: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Prepared:
    """What to send: the very same body object where `changed` is false."""

    body: bytes = field(repr=False)
    changed: bool
    receipt: Receipt
    stream: bool


@dataclass(frozen=True, slots=True)
class _Planned:
    reading: Reading[Session]
    operation: Operation
    plan: Plan | None
    pending: tuple[EditKey, ...]
    notes: tuple[str, ...]


_NOTHING = Plan((), (), (), (), 0, Session())


class Driver:
    """Prepares requests of many conversations at a time. Use from one event loop.

    Args:
        settings: frozen settings.
        store: where originals, decisions and receipts are kept.
    """

    def __init__(self, settings: Settings, store: Store) -> None:
        self._settings = settings
        self._store = store
        self._reader: Reader[Session] = Reader(seed=int.from_bytes(os.urandom(8), "little"))
        self._heads: OrderedDict[str, bytes] = OrderedDict()
        self._lock = threading.Lock()
        # More than one, so that a giant request does not hold up the others: threads take turns.
        self._workers = ThreadPoolExecutor(PLANNING_THREADS, thread_name_prefix="coldpress-plan")
        self._sent_exact: dict[EditKey, None] = {}

    async def prepare(self, inbound: Inbound) -> Prepared:
        """Decide what to send for a request; returns when everything it replaces can be recalled.

        Never raises for a reason of ours: the client's own bytes are sent and the receipt says why.
        """
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
        except Exception as error:  # pass through on doubt: no mistake of ours may stop an agent
            log.exception("request passed through", extra={"request": inbound.request_id})
            return self._pass_through(inbound, type(error).__name__)

    def finish(self, outcome: Outcome) -> None:
        """Write down how a request ended."""
        self._store.add_outcome(outcome)

    @property
    def wants_replies(self) -> bool:
        """Whether the raw log is on."""
        return self._settings.store.raw_log

    def log_reply(self, request_id: str, headers: Sequence[tuple[str, str]], body: bytes) -> None:
        """Put a reply into the raw log, as far as it came."""
        self._store.log_event(request_id, time.time(), "reply", headers, body)

    def stats(self) -> dict[str, object]:
        """Give the ledger's sums for `/stats`; blocking.

        Applications are every text that went upstream smaller: new views, and standing edits sent again. Every sum
        stands beside the number of requests or replies it was taken over.
        """
        totals = self._store.totals()
        by_name = {"operations": dict(totals.operations), "ended": dict(totals.ended)}
        return {**asdict(totals), **by_name, "applications": totals.applications}

    def close(self) -> None:
        """Let the worker go."""
        self._workers.shutdown(wait=True, cancel_futures=True)

    async def _prepare(self, inbound: Inbound) -> Prepared:
        self._log_request(inbound)
        with self._lock:
            checkpoint = self._reader.find(inbound.body, inbound.format)
        unread = len(inbound.body) - (checkpoint.length if checkpoint else 0)
        work = functools.partial(self._plan, inbound, checkpoint)
        try:
            planned = work() if unread <= OFFLOAD_BYTES else await self._in_thread(work)
        except TimeoutError:
            return self._prefix_only(inbound, checkpoint, "over_budget")
        except StoreError:
            return self._prefix_only(inbound, checkpoint, "store_failed")
        return await self._settle(inbound, planned)

    async def _in_thread(self, work: Callable[[], _Planned]) -> _Planned:
        """Read and decide beside the event loop; raises `TimeoutError` where that takes too long."""
        async with asyncio.timeout(self._settings.limits.prepare_seconds * PLANNING_SHARE):
            return await asyncio.get_running_loop().run_in_executor(self._workers, work)

    def _prefix_only(self, inbound: Inbound, checkpoint: Checkpoint[Session] | None, why: str) -> Prepared:
        """Send the standing edits of the known prefix and the rest exact: it could not be decided on."""
        edits = checkpoint.extra.edits if checkpoint is not None and self._wished(inbound) != "observe" else ()
        body = splice(inbound.body, edits)
        facts = {"request": inbound.request_id, "why": why, "edits": len(edits)}
        log.warning("sent with known edits only", extra=facts)
        receipt = replace(
            self._unread(inbound, why),
            sent_bytes=len(body),
            reused=len(edits),
            reused_bytes_saved=_saved(edits),
        )
        self._store.put((), (), receipt)
        return Prepared(body, body is not inbound.body, receipt, stream=False)

    def _plan(self, inbound: Inbound, checkpoint: Checkpoint[Session] | None) -> _Planned:
        """Read and decide; blocking, runs on any thread."""
        reading = self._reader.read(inbound.body, inbound.format, checkpoint)
        conversation = reading.conversation
        operation, notes = self._operation(inbound, conversation)
        before = reading.extra if conversation.known and reading.extra is not None else Session()
        notes += self._head_notes(conversation, before)
        if operation == "off":
            return _Planned(reading, operation, None, (), notes)
        if conversation.head.stateful:
            return _Planned(reading, operation, None, (), (*notes, "pass_through:stateful"))
        if is_client_compaction(conversation):
            return _Planned(reading, operation, None, (), (*notes, "client_compaction"))
        standing = self._store.standing([place.key for place in places(conversation)])
        if self._sent_exact:
            standing |= {key: Standing(key, None) for key in standing if key in self._sent_exact}
        plan = propose(conversation, before, standing, self._settings.policy, operation)
        pending = tuple(key for key, found in standing.items() if found.replacement is not None)
        return _Planned(reading, operation, plan, pending, notes)

    async def _settle(self, inbound: Inbound, planned: _Planned) -> Prepared:
        """Make what is replaced durable, then splice. What cannot be made durable is sent exact."""
        plan = planned.plan or _NOTHING
        edits = plan.edits if planned.operation in ("press", "drain") else ()
        body = splice(inbound.body, edits)
        receipt = self._receipt(inbound, planned, edits, body)
        stored = self._store.put(plan.originals, plan.fresh, receipt)
        made = [standing.key for standing in plan.fresh if standing.replacement is not None]
        try:
            if made:
                await _done(stored)
            if planned.pending:
                await _done(self._store.durable(planned.pending))
        except StoreError as error:
            log.warning("not durable, sent exact", extra={"request": inbound.request_id, "why": str(error)})
            self._hold_exact(made)  # it may have been stored all the same
            return await self._without_fresh(inbound, planned, edits, made)
        except asyncio.CancelledError:
            self._hold_exact(made)  # whoever gave up waiting sends the client's own bytes
            raise
        if made and (winners := self._lost_races(plan, made)):
            edits = tuple(held for edit in edits if (held := _as_held(edit, winners.get(edit.standing.key))))
            body = splice(inbound.body, edits)
            plan = replace(plan, session=replace(plan.session, edits=edits))
        if planned.plan is not None:
            with self._lock:
                self._reader.remember(planned.reading, plan.session.upto(planned.reading.boundary))
        return Prepared(body, body is not inbound.body, receipt, planned.reading.conversation.head.stream)

    def _hold_exact(self, keys: list[EditKey]) -> None:
        """Remember that texts went out exact although a view of them is, or may be, stored."""
        self._sent_exact.update(dict.fromkeys(keys))
        while len(self._sent_exact) > MOST_EXACT:
            del self._sent_exact[next(iter(self._sent_exact))]

    def _lost_races(self, plan: Plan, made: list[EditKey]) -> dict[EditKey, Standing]:
        """Find decisions that another process stored first: the first one holds."""
        held = self._store.standing(made)
        ours = {standing.key: standing for standing in plan.fresh}
        return {key: found for key, found in held.items() if found.replacement != ours[key].replacement}

    async def _without_fresh(
        self, inbound: Inbound, planned: _Planned, edits: tuple[Edit, ...], made: list[EditKey]
    ) -> Prepared:
        """Send what stands and no more: the store could not keep what was decided now.

        Where it cannot even answer for what stands, only the edits that earlier requests of this process sent go out.
        """
        try:
            await asyncio.wrap_future(self._store.durable(planned.pending))
            kept = tuple(edit for edit in edits if edit.standing.key not in made)
        except StoreError:
            kept = edits[: len(planned.reading.extra.edits)] if planned.reading.extra else ()
        body = splice(inbound.body, kept)
        bare = replace(planned, plan=replace(_NOTHING, edits=kept, reused=len(kept)))
        receipt = self._receipt(inbound, bare, kept, body, note="store_failed")
        return Prepared(body, body is not inbound.body, receipt, planned.reading.conversation.head.stream)

    def _head_notes(self, conversation: Conversation, before: Session) -> tuple[str, ...]:
        """Say where the client changed what stands before the messages: the provider's cache is cold then.

        The exact prompt is looked up by conversation, since where it stands before the messages a change of it
        leaves no known prefix to compare with.
        """
        head, name = conversation.head, _lineage(conversation)
        with self._lock:
            last = self._heads.pop(name, head.exact)
            self._heads[name] = head.exact
            if len(self._heads) > MOST_HEADS:
                self._heads.popitem(last=False)
        changed = ("head_changed",) if before.head_identity not in (b"", head.identity) else ()
        return changed + (("volatile_head",) if last != head.exact else ())

    def _operation(self, inbound: Inbound, conversation: Conversation) -> tuple[Operation, tuple[str, ...]]:
        """Settle what may be done: the request's own wish, else the provider's setting, with subscriptions spared."""
        operation = self._wished(inbound)
        if inbound.operation is not None:
            return operation, ()
        if conversation.head.subscription and operation == "press" and not self._settings.press_subscription:
            return "observe", ("subscription",)
        return operation, ()

    def _wished(self, inbound: Inbound) -> Operation:
        """What the request itself, its provider or the settings ask for."""
        if inbound.operation is not None:
            return inbound.operation
        provider = self._settings.provider(inbound.provider)
        return provider.operation if provider is not None else self._settings.operation

    def _receipt(
        self, inbound: Inbound, planned: _Planned, edits: tuple[Edit, ...], sent: bytes, *, note: str | None = None
    ) -> Receipt:
        conversation, plan = planned.reading.conversation, planned.plan
        reused = plan.reused if plan and edits else 0
        fresh = len(plan.originals) if plan else 0
        return Receipt(
            request_id=inbound.request_id,
            received_at=inbound.received_at,
            provider=inbound.provider,
            format=inbound.format,
            model=conversation.head.model,
            lineage=_lineage(conversation),
            harness_session=conversation.head.harness_session or _session_header(inbound.headers),
            operation=planned.operation,
            messages=len(conversation.messages),
            body_bytes=len(inbound.body),
            sent_bytes=len(sent),
            lines=plan.lines if plan else (),
            reused=reused,
            reused_bytes_saved=_saved(edits[: len(edits) - fresh]) if edits else 0,
            notes=planned.notes + ((note,) if note else ()),
        )

    def _pass_through(self, inbound: Inbound, why: str) -> Prepared:
        receipt = self._unread(inbound, why)
        self._store.put((), (), receipt)
        return Prepared(inbound.body, False, receipt, stream=False)

    def _unread(self, inbound: Inbound, why: str) -> Receipt:
        """The receipt of a request of which nothing is known but its size."""
        return Receipt(
            request_id=inbound.request_id,
            received_at=inbound.received_at,
            provider=inbound.provider,
            format=inbound.format,
            model=None,
            lineage="",
            harness_session=_session_header(inbound.headers),
            operation=self._wished(inbound),
            messages=0,
            body_bytes=len(inbound.body),
            sent_bytes=len(inbound.body),
            notes=(f"pass_through:{why}",),
        )

    def _log_request(self, inbound: Inbound) -> None:
        if self._settings.store.raw_log:
            headers = tuple(inbound.headers.items())
            self._store.log_event(inbound.request_id, inbound.received_at, "request", headers, inbound.body)


async def _done(future: Future[None]) -> None:
    """Wait for a thread's future; one that is done already costs no turn of the event loop."""
    if future.done():
        future.result()
    else:
        await asyncio.wrap_future(future)


def _as_held(edit: Edit, winner: Standing | None) -> Edit | None:
    """Give the edit that the stored decision asks for; `None` where that is to send the text exact."""
    if winner is None:
        return edit
    if winner.replacement is None:
        return None
    return replace(edit, literal=msgspec.json.encode(winner.replacement), standing=winner)


def _saved(edits: Sequence[Edit]) -> int:
    return sum(len(edit.span) - len(edit.literal) for edit in edits)


def _lineage(conversation: Conversation) -> str:
    first = next((m for m in conversation.messages if m.role != "system"), None)
    return lineage_id(conversation.head.identity, first.chain if first else b"")


def _session_header(headers: Mapping[str, str]) -> str | None:
    return next((headers[name] for name in _SESSION_HEADERS if name in headers), None)
