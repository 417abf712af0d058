"""What one request of a conversation leaves to the next: standing edits, and results that later ones may name."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from coldpress.engine.catalogue import Classified
from coldpress.model.conversation import TextLiteral
from coldpress.model.edits import Edit, Standing
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

    `first` holds the edits made at first sight in that prefix, in the order of their spans, `aged` the batches decided
    later, oldest first. `seen` holds results as they stand after first sight. `replies` are the indices of the model's
    messages. `head_identity` names the system prompt as last seen.
    """

    first: tuple[Edit, ...] = ()
    aged: tuple[AgedEdits, ...] = ()
    seen: tuple[Seen, ...] = ()
    replies: tuple[int, ...] = ()
    head_identity: bytes = b""

    @property
    def edits(self) -> tuple[Edit, ...]:
        """Every edit in force, in the order of the spans: of several on one text the latest batch's."""
        return in_force(self.first, self.aged)

    @property
    def shown(self) -> tuple[Seen, ...]:
        """The results as they are shown to the model now."""
        latest = {edit.standing.key: edit.standing for batch in self.aged for edit in batch.edits}
        return tuple(replace(s, standing=latest[s.key]) if s.key in latest else s for s in self.seen)

    def age(self, message: int) -> int:
        """How many replies of the model stand behind a message: a result's age in turns."""
        return len(self.replies) - bisect_left(self.replies, message)

    def upto(self, messages: int) -> Session:
        """Give the state that belongs to the first `messages` messages."""
        return Session(
            self.first[: bisect_left(self.first, messages, key=_message_of)],
            tuple(batch for batch in self.aged if batch.at < messages),
            self.seen[: bisect_left(self.seen, messages, key=_message_of)],
            self.replies[: bisect_left(self.replies, messages)],
            self.head_identity,
        )


def in_force(first: Sequence[Edit], aged: Sequence[AgedEdits]) -> tuple[Edit, ...]:
    """Merge edits made at first sight with later batches, in the order of their spans."""
    if not aged:
        return tuple(first)
    latest = {edit.standing.key: edit for edit in first}
    for batch in aged:
        latest |= {edit.standing.key: edit for edit in batch.edits}
    return tuple(sorted(latest.values(), key=_start_of))


def _start_of(edit: Edit) -> int:
    return edit.span.start


def _message_of(item: Edit | Seen) -> int:
    return item.message
