"""What one request of a conversation leaves to the next: standing edits, and results that later ones may name."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from coldpress.engine.catalogue import Classified
from coldpress.model.conversation import TextLiteral
from coldpress.model.edits import NOTHING_SAVED, Edit, Saved, Standing
from coldpress.model.identity import EditKey


@dataclass(frozen=True, slots=True)
class Seen:
    """One text of an earlier tool result.

    `tool` is its tool as the client names it; `call` is what was called ("Read src/a.py"), and does not change while
    the conversation goes on. `arguments` is the JSON text its call was made with. `standing` is the decision on it,
    `None` where it is exact. `left` is true where nobody decided on it: some model had seen it before we did.
    """

    key: EditKey
    message: int
    literal: TextLiteral = field(compare=False)
    classified: Classified
    arguments: str
    tool: str
    call: str
    standing: Standing | None
    left: bool = False

    @property
    def all_lines_visible(self) -> bool:
        """Whether every line of the original is still shown to the model as it was.

        A lossless view of a source takes away what the tool put before its lines; of anything else it may take
        whole lines (counted runs) or parts of them (paths, colours).
        """
        return self.standing is None or (self.standing.mode == "lossless" and self.classified.kind == "source")


Item = TypeVar("Item", Edit, Seen)


@dataclass(frozen=True, slots=True)
class AgedEdits:
    """The edits of one batch that holds in this conversation.

    `at` is the index of the last message of the request it was decided on: a conversation that is cut off before
    that message does not hold it.
    """

    at: int
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class Session:
    """The part of a conversation's state that belongs to a prefix of its messages.

    Attributes:
        first: edits made at first sight in that prefix, in the order of their spans.
        aged: the batches decided later, oldest first.
        seen: results as they stand after first sight.
        replies: indices of the messages that begin a reply of the model.
        head_identity: names the system prompt as last seen.
        edits: follows from the above: every edit in force, in the order of the spans; of several on one text the latest
            batch's.
        shown: follows from the above: the results as they are shown to the model now.
        saved: follows from the above: what the edits in force save together.

    What follows is kept, since working it out anew takes longer the longer the conversation is. So a session is made
    from another one by its methods, or by `of`.
    """

    first: tuple[Edit, ...] = ()
    aged: tuple[AgedEdits, ...] = ()
    seen: tuple[Seen, ...] = ()
    replies: tuple[int, ...] = ()
    head_identity: bytes = b""
    edits: tuple[Edit, ...] = field(default=(), compare=False)
    shown: tuple[Seen, ...] = field(default=(), compare=False)
    saved: Saved = field(default=NOTHING_SAVED, compare=False)

    @classmethod
    def of(
        cls,
        first: tuple[Edit, ...],
        aged: tuple[AgedEdits, ...],
        seen: tuple[Seen, ...],
        replies: tuple[int, ...],
        head_identity: bytes,
    ) -> Session:
        """Make a session of what does not follow from anything else."""
        edits, shown = (_in_force(first, aged), _shown(seen, aged)) if aged else (first, seen)
        return cls(first, aged, seen, replies, head_identity, edits, shown, Saved.by(edits))

    def age(self, message: int) -> int:
        """How many replies of the model stand behind a message: a result's age in turns."""
        return len(self.replies) - bisect_left(self.replies, message)

    def continued(
        self, first: tuple[Edit, ...], seen: tuple[Seen, ...], replies: tuple[int, ...], head_identity: bytes
    ) -> Session:
        """Give the state after more messages: each argument says what they add, the last one what holds now."""
        begins = [edit.message for edit in first[:1]] + [result.message for result in seen[:1]]
        if begins and any(batch.at >= min(begins) for batch in self.aged):
            # As after a restart: a batch was found in the new messages, and may be about texts in them.
            return Session.of(self.first + first, self.aged, self.seen + seen, self.replies + replies, head_identity)
        return Session(
            self.first + first,
            self.aged,
            self.seen + seen,
            self.replies + replies,
            head_identity,
            self.edits + first,
            self.shown + seen,
            self.saved + Saved.by(first) if first else self.saved,
        )

    def with_aged(self, batches: Iterable[AgedEdits]) -> Session:
        """Add batches, in the order in which they were decided."""
        more = tuple(batches)
        if not more:
            return self
        edits, shown = _in_force(self.edits, more), _shown(self.shown, more)
        return replace(self, aged=self.aged + more, edits=edits, shown=shown, saved=Saved.by(edits))

    def with_first(self, first: Iterable[Edit]) -> Session:
        """Let other edits at first sight hold."""
        return Session.of(tuple(first), self.aged, self.seen, self.replies, self.head_identity)

    def upto(self, messages: int) -> Session:
        """Give the state that belongs to the first `messages` messages."""
        aged = tuple(batch for batch in self.aged if batch.at < messages)
        first, seen = _before(self.first, messages), _before(self.seen, messages)
        replies = self.replies[: bisect_left(self.replies, messages)]
        if len(aged) < len(self.aged):
            return Session.of(first, aged, seen, replies, self.head_identity)
        edits, shown = (_before(self.edits, messages), _before(self.shown, messages)) if aged else (first, seen)
        saved = self.saved - Saved.by(self.edits[len(edits) :])
        return Session(first, aged, seen, replies, self.head_identity, edits, shown, saved)


def _in_force(first: Sequence[Edit], aged: Sequence[AgedEdits]) -> tuple[Edit, ...]:
    """Merge edits made at first sight with later batches, in the order of their spans."""
    latest = {edit.standing.key: edit for edit in first}
    for batch in aged:
        latest |= {edit.standing.key: edit for edit in batch.edits}
    return tuple(sorted(latest.values(), key=_start_of))


def _shown(seen: Sequence[Seen], aged: Sequence[AgedEdits]) -> tuple[Seen, ...]:
    latest = {edit.standing.key: edit.standing for batch in aged for edit in batch.edits}
    return tuple(replace(s, standing=latest[s.key]) if s.key in latest else s for s in seen)


def _before(items: tuple[Item, ...], messages: int) -> tuple[Item, ...]:
    return items[: bisect_left(items, messages, key=_message_of)]


def _start_of(edit: Edit) -> int:
    return edit.span.start


def _message_of(item: Edit | Seen) -> int:
    return item.message
