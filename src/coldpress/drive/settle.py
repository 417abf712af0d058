"""Make what was decided durable before it is sent, and send exact whatever cannot be."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace

import msgspec

from coldpress.drive.taken_back import TakenBack
from coldpress.engine.plan import Plan, placed_batch
from coldpress.engine.session import AgedEdits, Session
from coldpress.model.conversation import Conversation
from coldpress.model.edits import Batch, Edit, Standing
from coldpress.model.errors import StoreError
from coldpress.model.identity import EditKey, request_key
from coldpress.model.records import Receipt
from coldpress.stores.base import Store

log = logging.getLogger(__name__)

MOST_EXACT = 100_000
"""Texts, and batches, that are remembered as sent exact against what the store may hold."""


@dataclass(frozen=True, slots=True)
class Known:
    """What the store tells of a request.

    Attributes:
        standing: decisions on its texts.
        batches: decisions on what a model has seen, by the message they are kept by.
        sent_before: some process has sent this very request, and decided on no batch then.
    """

    standing: dict[EditKey, Standing]
    batches: dict[bytes, Batch]
    sent_before: bool


@dataclass(frozen=True, slots=True)
class Decided:
    """Everything decided on one request, before it is durable.

    Attributes:
        conversation: the request.
        plan: the decisions at first sight, with the session before any new batch.
        session: the session with the new batch.
        batch: the decisions on aged results, `None` where none was made; `aged` are its edits.
        originals: `(sha256, text)` of what the batch replaces.
        pending: earlier decisions that the store may still be writing, texts and batches.
        known_edits: how many edits earlier requests of this process have sent already.
        sent_before: see `Known`.
    """

    conversation: Conversation
    plan: Plan
    session: Session
    batch: Batch | None = None
    aged: AgedEdits | None = None
    originals: tuple[tuple[str, str], ...] = ()
    pending: tuple[EditKey, ...] = ()
    pending_batches: tuple[bytes, ...] = ()
    known_edits: int = 0
    sent_before: bool = False

    @property
    def made(self) -> list[EditKey]:
        """The texts that get a replacement at first sight now."""
        return [standing.key for standing in self.plan.fresh if standing.replacement is not None]


@dataclass(frozen=True, slots=True)
class Settled:
    """What holds: the session as it may be sent; `failed` where the store could not keep what was decided now."""

    session: Session
    failed: bool = False


class Settler:
    """Keeps decisions in a store. Use from one event loop; `known` from any thread.

    Args:
        store: where they are kept.
        require_log: take no decision on what a model has seen unless the raw log holds the request.

    Attributes:
        taken_back: batches that hold no more.
    """

    def __init__(self, store: Store, *, require_log: bool = False) -> None:
        self._store = store
        self._require_log = require_log
        self._sent_exact: dict[EditKey | bytes, None] = {}
        self.taken_back = TakenBack(store)

    def known(self, conversation: Conversation, keys: Sequence[EditKey], chains: Sequence[bytes]) -> Known:
        """Look up what was decided earlier, less what went out exact all the same.

        Args:
            conversation: the request.
            keys: of texts in it.
            chains: of messages that a batch may be kept by.
        """
        request = _request_of(conversation)
        found = self._store.decided((*keys, *request), chains)
        standing, batches = found.standings, found.batches
        sent_before = bool([key for key in request if standing.pop(key, None) is not None])
        if self._sent_exact:
            standing |= {key: Standing(key, None) for key in standing if key in self._sent_exact}
            batches = {after: batch for after, batch in batches.items() if after not in self._sent_exact}
        if gone := self.taken_back.known(batches, conversation.head.model):
            batches = {after: batch for after, batch in batches.items() if after not in gone}
        return Known(standing, batches, sent_before)

    def sent_exact(self, after: bytes) -> bool:
        """Whether a batch decided at this message went out exact: then none holds there, now or later."""
        return after in self._sent_exact or after in self.taken_back

    async def settle(self, decided: Decided, receipt: Receipt) -> Settled:
        """Store decisions and receipt, wait until what they replace can be recalled, and say what holds.

        Raises:
            asyncio.CancelledError: the caller gave up; what was decided is sent exact from now on.
        """
        plan, made = decided.plan, decided.made
        originals = (*plan.originals, *decided.originals)
        require_log = self._require_log and decided.batch is not None and _takes_away(decided.batch)
        decisions = (*plan.fresh, *_as_sent(decided))
        stored = self._store.put(originals, decisions, receipt, decided.batch, require_log=require_log)
        try:
            if made or decided.batch:
                await _done(stored)
            if decided.pending or decided.pending_batches:
                await _done(self._store.durable(decided.pending, decided.pending_batches))
        except StoreError as error:
            log.warning("not durable, sent exact", extra={"request": receipt.request_id, "why": str(error)})
            self._hold_exact(decided)  # it may have been stored all the same
            return Settled(await self._without_new(decided), failed=True)
        except asyncio.CancelledError:
            self._hold_exact(decided)  # whoever gave up waiting sends the client's own bytes
            raise
        return Settled(self._as_stored(decided))

    def _as_stored(self, decided: Decided) -> Session:
        """Give way to decisions that another process stored first: the first one holds."""
        session = decided.session
        if decided.made:
            held = self._store.standing(decided.made)
            ours = {standing.key: standing for standing in decided.plan.fresh}
            winners = {key: found for key, found in held.items() if found.replacement != ours[key].replacement}
            if winners:
                first = (_as_held(edit, winners.get(edit.standing.key)) for edit in session.first)
                session = session.with_first(edit for edit in first if edit)
        if decided.batch and decided.aged:
            batch = self._store.batches([decided.batch.after]).get(decided.batch.after, decided.batch)
            if batch != decided.batch:
                aged = _placed(decided.conversation, batch, decided.aged.at)
                session = decided.plan.session.with_first(session.first).with_aged((aged,))
        return session

    async def _without_new(self, decided: Decided) -> Session:
        """Give what stands and no more: the store could not keep what was decided now.

        Where it cannot even answer for what stands, only the edits that earlier requests of this process sent go out.
        """
        session = decided.plan.session
        try:
            await asyncio.wrap_future(self._store.durable(decided.pending, decided.pending_batches))
        except StoreError:
            known = decided.conversation.known
            first, aged = session.first[: decided.known_edits], session.upto(known).aged
            return Session.of(first, aged, session.seen, session.replies, session.head_identity, calls=session.calls)
        made = frozenset(decided.made)
        return session.with_first(edit for edit in session.first if edit.standing.key not in made)

    def _hold_exact(self, decided: Decided) -> None:
        """Remember that texts went out exact although a view of them is, or may be, stored."""
        names: list[EditKey | bytes] = [*decided.made]
        if decided.batch:
            names.append(decided.batch.after)
        self._sent_exact.update(dict.fromkeys(names))
        while len(self._sent_exact) > MOST_EXACT:
            del self._sent_exact[next(iter(self._sent_exact))]


def _as_sent(decided: Decided) -> tuple[Standing, ...]:
    """Put down that a request goes out without a batch of its own, so that nobody decides on one later.

    What follows the request goes by what was sent, and a batch that is found at its message would change that.
    Nobody waits for this: where it is lost, the request may be decided on again.
    """
    if decided.batch is not None or decided.sent_before:
        return ()
    return tuple(Standing(key, None) for key in _request_of(decided.conversation))


def _request_of(conversation: Conversation) -> tuple[EditKey, ...]:
    """Name a request; one without messages gets no name."""
    return tuple(request_key(message.chain) for message in conversation.messages[-1:])


def _placed(conversation: Conversation, batch: Batch, last: int) -> AgedEdits:
    at: Mapping[bytes, int] = {message.chain: index for index, message in enumerate(conversation.messages)}
    return placed_batch(conversation, at, batch, last)


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


def _takes_away(batch: Batch) -> bool:
    """Whether a model is not shown any more what it was; notes that are put in take nothing."""
    return bool(batch.standings) or (batch.rebuild is not None and bool(batch.rebuild.covered))
