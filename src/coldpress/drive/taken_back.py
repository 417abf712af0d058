"""Take back batches that made a provider refuse a conversation, so that it goes on as it last was accepted.

A model that binds its reasoning to what stands before it refuses a request in which that was changed. Where the change
was a batch of ours that no accepted request contained, the client's own texts go out again from the next request on:
behind these the reasoning was said. Batches that a request with an answer contained stay, and so does what was decided
at first sight, since reasoning was said behind them.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Sequence
from typing import Final

from coldpress.drive.memory import Recent
from coldpress.engine.session import Session
from coldpress.model.conversation import Message
from coldpress.model.edits import Standing
from coldpress.model.identity import taken_back_key
from coldpress.model.records import Outcome
from coldpress.stores.base import Store
from coldpress.wire.binding_refusal import REFUSED

log = logging.getLogger(__name__)

MOST_OPEN: Final = 10_000
MOST_UNPROVEN: Final = 10_000
MOST_TAKEN_BACK: Final = 100_000


class TakenBack:
    """Remembers which batches hold no more; safe to use from any thread.

    Batches are named by the chain of the message that they are kept by (`Batch.after`).

    Args:
        store: keeps it for later processes.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._open: Recent[str, tuple[bytes, ...]] = Recent(MOST_OPEN)
        self._unproven: Recent[bytes, None] = Recent(MOST_UNPROVEN)
        self._void: Recent[bytes, None] = Recent(MOST_TAKEN_BACK)
        self._lock = threading.Lock()

    def __contains__(self, after: bytes) -> bool:
        return after in self._void

    def sent(self, request_id: str, messages: Sequence[Message], session: Session, made: bytes | None) -> None:
        """Take note of the batches in a request that goes out.

        Args:
            request_id: its name.
            messages: of it.
            session: what is sent of it.
            made: the batch that was decided on it, where it is in there.
        """
        if not session.aged:
            return
        with self._lock:
            if made is not None:
                self._unproven.note(made, None)
            found = tuple(after for batch in session.aged if (after := messages[batch.at].chain) in self._unproven)
            if found:
                self._open.note(request_id, found)

    def ended(self, outcome: Outcome) -> None:
        """Learn from how a request ended: its batches were accepted, or refused, or nobody knows."""
        with self._lock:
            batches = self._open.pop(outcome.request_id, ())
        if not batches or (outcome.failover is not None and outcome.failover.served):
            return
        if outcome.status is not None and outcome.status < 300:
            with self._lock:
                for after in batches:
                    self._unproven.pop(after, None)
        elif REFUSED in outcome.transformations:
            self._take_back(batches)
            log.warning("edits taken back", extra={"request": outcome.request_id, "batches": len(batches)})

    def known(self, batches: Iterable[bytes]) -> set[bytes]:
        """Say which of these were taken back, by this process or an earlier one; blocking where there are any."""
        keys = {after: taken_back_key(after) for after in batches}
        told = self._store.standing(list(keys.values())) if keys else {}
        gone = {after for after, key in keys.items() if after in self._void or key in told}
        with self._lock:
            for after in gone:
                self._void.note(after, None)
        return gone

    def left(self, session: Session, messages: Sequence[Message]) -> Session:
        """Give a session without what was taken back."""
        if not self._void or not session.aged:
            return session
        kept = tuple(batch for batch in session.aged if messages[batch.at].chain not in self._void)
        if len(kept) == len(session.aged):
            return session
        return Session.of(
            session.first, kept, session.seen, session.replies, session.head_identity, calls=session.calls
        )

    def _take_back(self, batches: Sequence[bytes]) -> None:
        with self._lock:
            for after in batches:
                self._unproven.pop(after, None)
                self._void.note(after, None)
        self._store.put((), [Standing(taken_back_key(after), None) for after in batches], None)
