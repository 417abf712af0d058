"""Remember what the watchers know of conversations, and ask them on every request, compaction and reply."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

import xxhash

from coldpress.drive.memory import MOST_LINEAGES, SMALLEST_PREFIX_TOKENS, Recent
from coldpress.engine.belief import Held
from coldpress.engine.session import PlacedRebuild, Session
from coldpress.engine.watch import NOTHING_WATCHED, Watch, watch
from coldpress.engine.watch_prefix import HeadWriting, dropped_reads, head_bytes, head_writing, reserialised
from coldpress.engine.watch_rebuild import drift, kept_texts, lost_signals
from coldpress.model.conversation import Conversation
from coldpress.model.records import Finding, Outcome
from coldpress.model.summary import Summary

MOST_WATCHED: Final = 500
"""Conversations whose calls are remembered: some 300 bytes a call, and only where something was taken away."""


MOST_LOOKED_AT: Final = 50
"""More messages than this are looked at in a thread: one takes some 50 microseconds."""


@dataclass(frozen=True, slots=True)
class _Head:
    """The head of a lineage's last request: the hash of its bytes, and how it was written."""

    bytes_hash: bytes
    writing: HeadWriting | None


class Watching:
    """Watches conversations; safe to use from any thread.

    While nothing was taken away from a conversation and its head stays the same to the byte, a request costs no more
    than hashing that head.
    """

    def __init__(self) -> None:
        # By the chain of the last message that was looked at: a fork finds the state of what it shares.
        self._watched: Recent[bytes, Watch] = Recent(MOST_WATCHED)
        # Of each lineage, what many requests may continue from: looking at a long conversation anew takes long.
        self._stems: Recent[str, Watch] = Recent(MOST_WATCHED)
        self._heads: Recent[str, _Head] = Recent(MOST_LINEAGES)
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """How many conversations' calls are remembered."""
        with self._lock:
            return len(self._watched)

    def is_behind(self, name: str, conversation: Conversation, session: Session) -> bool:
        """Whether `look` would take long: on so many messages nobody has looked, as after a restart."""
        messages = conversation.messages
        if not session.aged or len(messages) <= MOST_LOOKED_AT:
            return False
        with self._lock:
            stem = self._stems.get(name)
            if stem is not None and len(messages) - stem.messages <= MOST_LOOKED_AT and stem.holds(conversation):
                return False
            return not any(message.chain in self._watched for message in messages[-MOST_LOOKED_AT - 1 :])

    def look(self, name: str, conversation: Conversation, session: Session) -> tuple[Finding, ...]:
        """Look at a request: at its head, and at the calls in the messages that are new.

        Args:
            name: of the lineage.
            conversation: the request.
            session: the state that holds for it; what is decided on this very request may be in it or not.
        """
        found = self._look_at_head(name, conversation)
        if not session.aged or not conversation.messages:
            return found
        before = self._state(name, conversation)
        state, more = watch(before, conversation, session)
        with self._lock:
            self._watched.note(state.chain, state)
            if (before is NOTHING_WATCHED or before.is_shared) and before.messages < conversation.known:
                self._stems.note(name, state.upto(conversation, conversation.known))
        return found + more

    def decided(
        self, name: str, conversation: Conversation, session: Session, *, before: PlacedRebuild | None
    ) -> tuple[Finding, ...]:
        """Look at a request, and at its rebuild where that is another than `before`, which stood so far."""
        found, now = self.look(name, conversation, session), session.rebuild
        if now is not None and now != before:
            found += self.rebuilt(conversation, now, before=None if before is None else before.rebuild.summary)
        return found

    def rebuilt(
        self, conversation: Conversation, placed: PlacedRebuild, *, before: Summary | None, notes: Iterable[str] = ()
    ) -> tuple[Finding, ...]:
        """Look at a rebuild that was decided on a request, before it is sent.

        Args:
            conversation: the request.
            placed: the decision.
            before: the summary that stood so far, `None` where there was none.
            notes: texts that are shown elsewhere than in the rebuild itself.
        """
        gone, literal = range(placed.first, placed.stop), placed.rebuild.literal
        lost = lost_signals(conversation, gone, literal)
        if before is None:
            return lost
        return lost + drift(before, placed.rebuild.summary, (*notes, *kept_texts(conversation, gone, literal)))

    def reply(self, outcome: Outcome, held: Held, *, event_before: bool, cut_here: bool) -> tuple[Finding, ...]:
        """Look at what a reply read.

        Args:
            outcome: of the request.
            held: what was believed when the request went out.
            event_before: something was taken away on an earlier request of the conversation, and stands.
            cut_here: something was taken away on this very request, which explains a smaller read.
        """
        answered = outcome.status is not None and outcome.status < 300
        if not answered or not event_before or cut_here:
            return ()
        return dropped_reads(held, outcome.usage.read, smallest_tokens=SMALLEST_PREFIX_TOKENS)

    def _state(self, name: str, conversation: Conversation) -> Watch:
        """Take what is known of the longest beginning of a conversation; what comes of it takes its place.

        Where that was taken by another request, which continued otherwise, there may be one to share.
        """
        messages = conversation.messages
        with self._lock:
            stem = self._stems.get(name)
            if stem is None or not stem.holds(conversation):
                stem = NOTHING_WATCHED
            for message in reversed(messages[max(0, stem.messages - 1) :]):
                state = self._watched.pop(message.chain, None)
                if state is not None:
                    return state
        return stem

    def _look_at_head(self, name: str, conversation: Conversation) -> tuple[Finding, ...]:
        digest = xxhash.xxh3_128()
        for part in head_bytes(conversation):
            digest.update(part)
        named = digest.digest()
        with self._lock:
            last = self._heads.get(name)
        if last is not None and last.bytes_hash == named:
            return ()
        now = head_writing(conversation)
        with self._lock:
            self._heads.note(name, _Head(named, now))
        if last is None or last.writing is None or now is None:
            return ()
        return reserialised(last.writing, now)


def with_overflow_found(outcome: Outcome) -> Outcome:
    """Write down as a finding that the prompt was too long, which is how the ledger keeps it."""
    told = outcome.overflow
    if told is None:
        return outcome
    found = Finding("window_overflow", tokens=told.window_tokens)
    return replace(outcome, findings=(*outcome.findings, found), overflow=None)
