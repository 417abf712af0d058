"""What one request of a conversation leaves to the next: standing edits, and results that later ones may name."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field

from coldpress.engine.catalogue import Classified
from coldpress.model.conversation import TextLiteral
from coldpress.model.edits import Edit, Standing
from coldpress.model.identity import EditKey


@dataclass(frozen=True, slots=True)
class Seen:
    """One text of an earlier tool result.

    `call` is what was called ("Read src/a.py"), and does not change while the conversation goes on.
    `arguments` is the JSON text its call was made with. `standing` is the decision on it, `None` where it is exact.
    """

    key: EditKey
    message: int
    literal: TextLiteral = field(compare=False)
    classified: Classified
    arguments: str
    call: str
    standing: Standing | None

    @property
    def all_lines_visible(self) -> bool:
        """Whether every line of the original is still shown to the model as it was.

        A lossless view of a source takes away what the tool put before its lines; of anything else it may take
        whole lines (counted runs) or parts of them (paths, colours).
        """
        return self.standing is None or (self.standing.mode == "lossless" and self.classified.kind == "source")


@dataclass(frozen=True, slots=True)
class Session:
    """The part of a conversation's state that belongs to a prefix of its messages.

    `edits` holds the standing edits in that prefix, in the order of their spans. `head_identity` names the system
    prompt as last seen.
    """

    edits: tuple[Edit, ...] = ()
    seen: tuple[Seen, ...] = ()
    head_identity: bytes = b""

    def upto(self, messages: int) -> Session:
        """Give the state that belongs to the first `messages` messages."""
        return Session(
            self.edits[: bisect_left(self.edits, messages, key=_message_of)],
            self.seen[: bisect_left(self.seen, messages, key=_message_of)],
            self.head_identity,
        )


def _message_of(item: Edit | Seen) -> int:
    return item.message
