"""Take back batches that made a provider refuse a conversation, so that it goes on as it last was accepted.

A model that binds its reasoning to what stands before it refuses a request in which that was changed. Where the change
was a batch of ours that no accepted request to this model contained, the client's own texts go out again from the next
request on: behind these the reasoning was said. Batches that a request with an answer contained stay, and so does what
was decided at first sight, since reasoning was said behind them.

What is accepted is kept for later processes too: one that was stopped while it waited for a reply leaves a batch that
nobody has accepted, and one that saw the reply leaves a batch that has to stay.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Sequence
from typing import Final

from coldpress.drive.faults import Fault
from coldpress.drive.memory import Recent
from coldpress.engine.session import Session
from coldpress.model.conversation import Conversation, Message
from coldpress.model.edits import Standing
from coldpress.model.identity import EditKey, accepted_key, taken_back_key
from coldpress.model.records import Operation, Outcome
from coldpress.stores.base import Store
from coldpress.wire.binding_refusal import REFUSED

log = logging.getLogger(__name__)

MOST_OPEN: Final = 10_000
MOST_ACCEPTED: Final = 100_000
MOST_TAKEN_BACK: Final = 100_000


class TakenBack:
    """Remembers which batches hold no more; safe to use from any thread.

    Batches are named by the chain of the message that they are kept by (`Batch.after`).

    Args:
        store: keeps it for later processes.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._open: Recent[str, tuple[EditKey, ...]] = Recent(MOST_OPEN)
        self._accepted: Recent[EditKey, None] = Recent(MOST_ACCEPTED)
        self._void: Recent[bytes, None] = Recent(MOST_TAKEN_BACK)
        self._lock = threading.Lock()

    def __contains__(self, after: bytes) -> bool:
        return after in self._void

    def sent(self, request_id: str, conversation: Conversation, session: Session, operation: Operation) -> None:
        """Take note of the batches in a request that goes out and that its model has not accepted yet.

        Args:
            request_id: its name.
            conversation: the request.
            session: the state behind it.
            operation: while it is only observed none of them is sent.
        """
        if not session.aged or operation not in ("press", "drain"):
            return
        messages, model = conversation.messages, conversation.head.model
        keys = [accepted_key(messages[batch.at].chain, model) for batch in session.aged]
        with self._lock:
            for key in keys:
                if key in self._accepted:
                    self._accepted.move_to_end(key)
            if found := tuple(key for key in keys if key not in self._accepted):
                self._open.note(request_id, found)

    def ended(self, outcome: Outcome) -> None:
        """Learn from how a request ended: its batches were accepted, or refused, or nobody knows. Never raises."""
        with self._lock:
            # Another request may have shown meanwhile that some of them are accepted.
            batches = [key for key in self._open.pop(outcome.request_id, ()) if key not in self._accepted]
        if not batches or (outcome.failover is not None and outcome.failover.served):
            return
        with Fault("not kept which edits a provider takes", outcome.request_id).kept():
            if outcome.status is not None and outcome.status < 300:
                with self._lock:
                    for key in batches:
                        self._accepted.note(key, None)
                self._store.put((), [Standing(key, None) for key in batches], None)
            elif REFUSED in outcome.transformations:
                self.take_back([key.chain for key in batches])
                log.warning("edits taken back", extra={"request": outcome.request_id, "batches": len(batches)})

    def known(self, batches: Iterable[bytes], model: str | None) -> set[bytes]:
        """Say which of these were taken back, by this process or an earlier one; blocking where there are any.

        Those that `model` is known to have accepted are remembered.
        """
        keys = {after: (taken_back_key(after), accepted_key(after, model)) for after in batches}
        told = self._store.standing([key for pair in keys.values() for key in pair]) if keys else {}
        gone = {after for after, (taken_back, _) in keys.items() if after in self._void or taken_back in told}
        with self._lock:
            for after in gone:
                self._void.note(after, None)
            for _, accepted in keys.values():
                if accepted in told:
                    self._accepted.note(accepted, None)
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

    def take_back(self, batches: Sequence[bytes]) -> None:
        """Let these hold no more, in this process and in later ones."""
        with self._lock:
            for after in batches:
                self._void.note(after, None)
        self._store.put((), [Standing(taken_back_key(after), None) for after in batches], None)
