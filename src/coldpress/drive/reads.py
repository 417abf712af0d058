"""Work out where a read of an edited request can end, and set the one cache mark that makes it end there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from coldpress.engine.anchor import anchor, life_at, matching, read_ends
from coldpress.engine.belief import Held
from coldpress.engine.session import Session
from coldpress.measure.cache_rules import CacheRules, rules_for
from coldpress.model.conversation import Conversation
from coldpress.wire.marks import Insertion, Mark, entry_ends, insertion, read_marks


@dataclass(frozen=True, slots=True)
class Reads:
    """What is known of a provider's cache for one request.

    Attributes:
        conversation: the request.
        ends: tokens of the prompt up to the end of each message.
        entries: leading messages that earlier requests ended with and that are still sent the same.
        rules: the provider's, `None` where they are not known: a read may end anywhere then.
    """

    conversation: Conversation = field(repr=False)
    ends: Sequence[int]
    entries: tuple[int, ...]
    rules: CacheRules | None

    @classmethod
    def of(cls, conversation: Conversation, session: Session, held: Held, ends: Sequence[int], provider: str) -> Reads:
        """Gather what is known; entries that later batches have changed are left out."""
        batches = [(batch.begins, batch.at) for batch in session.aged if batch.begins is not None]
        model = conversation.head.model
        return cls(
            conversation,
            ends,
            matching(held.entries, batches),
            rules_for(model, provider) if model else None,
        )

    @property
    def hopeful(self) -> tuple[int, ...] | None:
        """Where a read can end if marks stand well; `None` for anywhere. Costs nothing."""
        if self.rules is None or self.rules.kind == "steps":
            return None
        return tuple(sorted({self.ends[0], *(self.ends[entry] for entry in self.entries)}))

    @property
    def needs_marks(self) -> bool:
        """Whether the client's marks decide where a read really ends."""
        return self.rules is not None and self.rules.kind == "marks" and self.rules.lookback_blocks is not None

    def marked(self) -> MarkedReads:
        """Look at the client's marks: a search of the whole body."""
        marks = read_marks(self.conversation)
        if marks is None or self.rules is None:
            return MarkedReads(self, (), 0)
        return MarkedReads(self, marks, max(0, self.rules.max_marks - len(marks)))


def entries_left(conversation: Conversation, provider: str, ours: Insertion | None) -> tuple[int, ...]:
    """Say which prefixes a request leaves in the provider's cache, in messages.

    Every request has to be asked, from a conversation's first one on: an edit that comes much later lies behind
    entries that are older than the first aged result. Of the client's marks those on messages that are new in this
    request are looked at, which costs little; what ends before them was left by earlier requests.

    Args:
        conversation: the request.
        provider: who serves it.
        ours: a mark of ours that goes with it.
    """
    model = conversation.head.model
    rules = rules_for(model, provider) if model else None
    if rules is None or rules.kind != "marks" or rules.marks_end:
        return (len(conversation.messages),)
    marks = read_marks(conversation, since=max(0, min(conversation.known, len(conversation.messages) - 1)))
    left = entry_ends(conversation, marks) if marks is not None else ()
    return (*left, ours.message + 1) if ours is not None else left


def asks_long_life(conversation: Conversation) -> bool:
    """Whether a mark of the client's asks for the long lifetime, or may: a search of the whole body."""
    marks = read_marks(conversation)
    return marks is None or any(mark.long for mark in marks)


@dataclass(frozen=True, slots=True)
class MarkedReads:
    """The same with the client's marks: `free` more may be set."""

    reads: Reads
    marks: tuple[Mark, ...]
    free: int

    def ends(self) -> tuple[int, ...]:
        """Where a read of the edited request can end, in tokens, if `mark` is set."""
        rules = self.reads.rules
        return read_ends(
            self.reads.ends,
            self._counts,
            self.reads.entries,
            self._places,
            free_marks=self.free,
            head_marked=any(mark.message is None and mark.block == -1 for mark in self.marks),
            lookback_blocks=self._lookback,
            minimum_tokens=rules.minimum_tokens if rules else 0,
            can_mark=self._can_mark,
        )

    def mark(self, first_edited: int) -> Insertion | None:
        """Give the mark of ours that an edit in this message needs; `None` where the client's own will do."""
        message = anchor(
            first_edited,
            self._counts,
            self.reads.entries,
            self._places,
            free_marks=self.free,
            lookback_blocks=self._lookback,
            can_mark=self._can_mark,
        )
        long = life_at(message, self._lives) if message is not None else None
        return None if message is None or long is None else insertion(self.reads.conversation, message, long=long)

    @property
    def _counts(self) -> list[int]:
        return [len(message.blocks) for message in self.reads.conversation.messages]

    @property
    def _places(self) -> list[tuple[int, int]]:
        return [(mark.message, mark.block) for mark in self.marks if mark.message is not None]

    @property
    def _lives(self) -> list[tuple[int, bool]]:
        return [(-1 if mark.message is None else mark.message, mark.long) for mark in self.marks]

    @property
    def _lookback(self) -> int:
        rules = self.reads.rules
        return (rules.lookback_blocks if rules else None) or 0

    def _can_mark(self, message: int) -> bool:
        long = life_at(message, self._lives)
        return long is not None and insertion(self.reads.conversation, message, long=long) is not None
