"""What one request of a conversation leaves to the next: standing edits, and results that later ones may name."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from coldpress.engine.catalogue import Classified
from coldpress.model.conversation import Span, TextLiteral
from coldpress.model.edits import NOTHING_SAVED, Edit, Rebuild, Saved, Standing
from coldpress.model.identity import EditKey


@dataclass(frozen=True, slots=True)
class Seen:
    """One text of an earlier tool result.

    `tool` is its tool as the client names it; `call` is what was called ("Read src/a.py"), and does not change while
    the conversation goes on. `arguments` is the JSON text its call was made with. `standing` is the decision on it,
    `None` where it is exact. `left` is true where nobody decided on it: some model had seen it before we did. `intent`
    is why the call was made, in the model's own words, where it said so.
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
    intent: str | None = None

    @property
    def all_lines_visible(self) -> bool:
        """Whether every line of the original is still shown to the model as it was.

        A lossless view of a source takes away what the tool put before its lines; of anything else it may take
        whole lines (counted runs) or parts of them (paths, colours).
        """
        return self.standing is None or (self.standing.mode == "lossless" and self.classified.kind == "source")


@dataclass(frozen=True, slots=True)
class RestoredCall:
    """A call in the history that is sent as the model wrote it, fields included that the client never saw.

    Attributes:
        span: of its arguments in the body.
        literal: JSON to put there.
        message: index of the message that holds it.
    """

    span: Span = field(compare=False)
    literal: bytes
    message: int


Item = TypeVar("Item", Edit, Seen, RestoredCall)


@dataclass(frozen=True, slots=True)
class PlacedRebuild:
    """Messages that are not sent any more, in their place in a request; for `coldpress.wire.span.splice`.

    Attributes:
        first: index of the first message that goes, `stop` of the first behind them that stays. They are equal where
            none goes.
        span: from the end of the message in front of them to the end of the last of them.
        rebuild: the decision.
        literal: what is written in the place of the span.
    """

    first: int
    stop: int
    span: Span = field(compare=False)
    rebuild: Rebuild
    literal: bytes = field(compare=False, repr=False)

    def __contains__(self, message: int) -> bool:
        return self.first <= message < self.stop

    @property
    def saved(self) -> Saved:
        """What it takes out of the client's body."""
        tokens = self.rebuild.covered_tokens - self.rebuild.literal_tokens
        return Saved(len(self.span) - len(self.literal), tokens)


@dataclass(frozen=True, slots=True)
class AgedEdits:
    """The edits of one batch that holds in this conversation.

    `at` is the index of the message it is kept by: a conversation that is cut off before that message does not hold it.
    That is the last one of the request it was decided on, or the last reply in it where clients put something behind
    that which the next request lacks. `rebuild` are the messages that it leaves out.
    """

    at: int
    edits: tuple[Edit, ...]
    rebuild: PlacedRebuild | None = None

    @property
    def begins(self) -> int | None:
        """Index of the first message that is sent otherwise because of it; `None` where none is."""
        begins = [edit.message for edit in self.edits[:1]]
        if self.rebuild is not None:
            begins.append(self.rebuild.first)
        return min(begins, default=None)

    @property
    def reach(self) -> int:
        """Index of the last message that it depends on: its edits may lie behind the reply that it is kept by."""
        return max(self.at, max((edit.message for edit in self.edits), default=self.at))


@dataclass(frozen=True, slots=True)
class Session:
    """The part of a conversation's state that belongs to a prefix of its messages.

    Attributes:
        first: edits made at first sight in that prefix, in the order of their spans.
        aged: the batches decided later, oldest first.
        seen: results as they stand after first sight.
        replies: indices of the messages that begin a reply of the model.
        head_identity: names the system prompt as last seen.
        calls: earlier calls that are sent as the model wrote them, in the order of their spans.
        rebuild: follows from the above: the messages that are not sent any more, by the latest batch that says so.
        edits: follows from the above: every edit in force, in the order of the spans; of several on one text the latest
            batch's, and none in messages that are not sent.
        shown: follows from the above: the results as they are shown to the model now; not those that are not sent.
        saved: follows from the above: what the edits in force and the rebuild save together.

    What follows is kept, since working it out anew takes longer the longer the conversation is. So a session is made
    from another one by its methods, or by `of`.
    """

    first: tuple[Edit, ...] = ()
    aged: tuple[AgedEdits, ...] = ()
    seen: tuple[Seen, ...] = ()
    replies: tuple[int, ...] = ()
    head_identity: bytes = b""
    calls: tuple[RestoredCall, ...] = ()
    edits: tuple[Edit, ...] = field(default=(), compare=False)
    shown: tuple[Seen, ...] = field(default=(), compare=False)
    saved: Saved = field(default=NOTHING_SAVED, compare=False)
    rebuild: PlacedRebuild | None = field(default=None, compare=False)

    @classmethod
    def of(
        cls,
        first: tuple[Edit, ...],
        aged: tuple[AgedEdits, ...],
        seen: tuple[Seen, ...],
        replies: tuple[int, ...],
        head_identity: bytes,
        *,
        calls: tuple[RestoredCall, ...] = (),
    ) -> Session:
        """Make a session of what does not follow from anything else."""
        edits, shown = (_in_force(first, aged), _shown(seen, aged)) if aged else (first, seen)
        rebuild = next((batch.rebuild for batch in reversed(aged) if batch.rebuild is not None), None)
        saved = Saved.by(edits)
        if rebuild is not None:
            edits = tuple(edit for edit in edits if edit.message not in rebuild)
            shown = tuple(result for result in shown if result.message not in rebuild)
            saved = Saved.by(edits) + rebuild.saved
        return cls(first, aged, seen, replies, head_identity, calls, edits, shown, saved, rebuild)

    @property
    def splices(self) -> tuple[Edit | PlacedRebuild | RestoredCall, ...]:
        """Everything to put into the body, in the order of the spans."""
        if self.rebuild is None and not self.calls:
            return self.edits
        rebuild = (self.rebuild,) if self.rebuild is not None else ()
        return tuple(sorted((*self.edits, *self.sent_calls, *rebuild), key=_start_of))

    @property
    def sent_calls(self) -> tuple[RestoredCall, ...]:
        """The calls as the model wrote them, but for those in messages that are not sent."""
        if self.rebuild is None:
            return self.calls
        return tuple(call for call in self.calls if call.message not in self.rebuild)

    def age(self, message: int) -> int:
        """How many replies of the model stand behind a message: a result's age in turns."""
        return len(self.replies) - bisect_left(self.replies, message)

    def continued(
        self,
        first: tuple[Edit, ...],
        seen: tuple[Seen, ...],
        replies: tuple[int, ...],
        head_identity: bytes,
        *,
        calls: tuple[RestoredCall, ...] = (),
    ) -> Session:
        """Give the state after more messages: each argument says what they add, `head_identity` what holds now."""
        replies, calls = self.replies + replies, self.calls + calls
        begins = [edit.message for edit in first[:1]] + [result.message for result in seen[:1]]
        if begins and any(batch.reach >= min(begins) for batch in self.aged):
            # As after a restart: a batch was found in the new messages, and may be about texts in them.
            return Session.of(self.first + first, self.aged, self.seen + seen, replies, head_identity, calls=calls)
        return Session(
            self.first + first,
            self.aged,
            self.seen + seen,
            replies,
            head_identity,
            calls,
            self.edits + first,
            self.shown + seen,
            self.saved + Saved.by(first) if first else self.saved,
            self.rebuild,
        )

    def with_aged(self, batches: Iterable[AgedEdits]) -> Session:
        """Add batches, in the order in which they were decided."""
        more = tuple(batches)
        if not more:
            return self
        if self.rebuild is not None or any(batch.rebuild is not None for batch in more):
            return Session.of(
                self.first, self.aged + more, self.seen, self.replies, self.head_identity, calls=self.calls
            )
        edits, shown = _in_force(self.edits, more), _shown(self.shown, more)
        return replace(self, aged=self.aged + more, edits=edits, shown=shown, saved=Saved.by(edits))

    def with_first(self, first: Iterable[Edit]) -> Session:
        """Let other edits at first sight hold."""
        return Session.of(tuple(first), self.aged, self.seen, self.replies, self.head_identity, calls=self.calls)

    def upto(self, messages: int) -> Session:
        """Give the state that belongs to the first `messages` messages."""
        aged = tuple(batch for batch in self.aged if batch.reach < messages)
        first, seen = _before(self.first, messages), _before(self.seen, messages)
        replies, calls = self.replies[: bisect_left(self.replies, messages)], _before(self.calls, messages)
        if len(aged) < len(self.aged):
            return Session.of(first, aged, seen, replies, self.head_identity, calls=calls)
        edits, shown = (_before(self.edits, messages), _before(self.shown, messages)) if aged else (first, seen)
        saved = self.saved - Saved.by(self.edits[len(edits) :])
        return Session(first, aged, seen, replies, self.head_identity, calls, edits, shown, saved, self.rebuild)


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


def _start_of(patch: Edit | PlacedRebuild | RestoredCall) -> int:
    return patch.span.start


def _message_of(item: Edit | Seen | RestoredCall) -> int:
    return item.message
