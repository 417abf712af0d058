"""Notice calls that are made again after their result was taken away, and approaches that were ruled out.

The state grows with the messages that are new; nothing is looked at while nothing was ever taken away. Message numbers
in findings count from 1, tokens are on the scale of `coldpress.measure.tokens`. Only a call's latest earlier result
matters: a call that is made again while that is still shown is a poll, and no loss.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from coldpress.engine.calls import Asked, asked, command_subjects, file_subject
from coldpress.engine.catalogue import classify
from coldpress.engine.changes import changed, took_effect
from coldpress.engine.session import AgedEdits, Session
from coldpress.measure.tokens import estimate
from coldpress.model.conversation import Conversation, ToolCall, ToolResult
from coldpress.model.records import Finding
from coldpress.model.summary import Item, Summary


@dataclass(frozen=True, slots=True)
class Gone:
    """Messages that are sent no more.

    Attributes:
        at: index of the last message of the request on which that was decided.
        first: index of the first message that is not sent.
        stop: index behind the last one.
        summary: what stands in their place says; `None` where nothing was summed up.
        literal: JSON text of what is sent instead; messages that are carried over stand in it byte for byte.
    """

    at: int
    first: int
    stop: int
    summary: Summary | None = None
    literal: str = field(default="", repr=False)

    @classmethod
    def of(cls, session: Session) -> tuple[Gone, ...]:
        """Give the messages that a conversation was sent without, one compaction after the other."""
        return tuple(
            cls(batch.at, placed.first, placed.stop, placed.rebuild.summary, placed.rebuild.literal)
            for batch in session.aged
            if (placed := batch.rebuild) is not None
        )


@dataclass(frozen=True, slots=True)
class Made:
    """A call that was made and answered: what it asked for, and where it and its result stand (indices)."""

    asked: Asked
    call: int
    message: int
    block: int


@dataclass(frozen=True, slots=True)
class Change:
    """A change that was made; `names` are last parts of the paths it names, empty where it names none."""

    message: int
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class Watch:
    """What the watcher knows of a conversation.

    Attributes:
        messages: how many leading messages were looked at.
        chain: `Message.chain` of the last of them.
        made: the calls in them, in order.
        changes: the changes in them, in order.
        is_shared: the conversation it was taken of has gone on from there, so that the messages behind it may have been
            looked at on an earlier request.
    """

    messages: int = 0
    chain: bytes = b""
    made: tuple[Made, ...] = ()
    changes: tuple[Change, ...] = ()
    is_shared: bool = False

    def holds(self, conversation: Conversation) -> bool:
        """Whether it is about the beginning of this conversation."""
        if not 0 < self.messages <= len(conversation.messages):
            return False
        return conversation.messages[self.messages - 1].chain == self.chain

    def upto(self, conversation: Conversation, messages: int) -> Watch:
        """Give what was known after the first `messages` messages, one at least, for others that continue from there.

        Args:
            conversation: the one that this is about.
            messages: no more than `self.messages`.
        """
        made = self.made[: bisect_left(self.made, messages, key=_answered_in)]
        changes = self.changes[: bisect_left(self.changes, messages, key=_changed_in)]
        return Watch(messages, conversation.messages[messages - 1].chain, made, changes, is_shared=True)


def _answered_in(made: Made) -> int:
    return made.message


def _changed_in(change: Change) -> int:
    return change.message


NOTHING_WATCHED = Watch()


def watch(state: Watch, conversation: Conversation, session: Session) -> tuple[Watch, tuple[Finding, ...]]:
    """Look at the calls in the messages that are new.

    Args:
        state: after an earlier request of the conversation. One of another conversation is not used; then, and where
            it is shared, the messages from the last reply on count as new.
        conversation: the request.
        session: its batches say which results became one line, which messages are not sent, and since when.
    """
    if not session.aged or not conversation.messages:
        return state, ()
    known = state if state.holds(conversation) else NOTHING_WATCHED
    new_from = known.messages
    if not new_from or known.is_shared:
        new_from = session.replies[-1] if session.replies else len(conversation.messages)
    looking = _Looking(conversation, session.aged, Gone.of(session), list(known.made), list(known.changes))
    findings = list[Finding]()
    for message in range(known.messages, len(conversation.messages)):
        for block, result in conversation.messages[message].results:
            if result.call is not None:
                one = looking.take(result.call, result, message, block)
                if one is not None and message >= new_from:
                    findings += looking.findings(one, result.call, result)
    chain = conversation.messages[-1].chain
    return Watch(len(conversation.messages), chain, tuple(looking.made), tuple(looking.changes)), tuple(findings)


@dataclass(slots=True)
class _Looking:
    """One pass over the answered calls of a conversation, with what was taken away in it, and when."""

    conversation: Conversation
    aged: Sequence[AgedEdits]
    gone: tuple[Gone, ...]
    made: list[Made]
    changes: list[Change]

    def take(self, call: ToolCall, result: ToolResult, message: int, block: int) -> Made | None:
        """Take note of a call and of where its result stands; `None` where its repetition would mean nothing."""
        arguments = self.conversation.arguments(call)
        found = classify(call.name, arguments)
        change = changed(found, arguments)
        if change is not None and took_effect(self.conversation, found, result):
            self.changes.append(Change(message, change.names))
        wanted = asked(found, arguments)
        if wanted is None:
            return None
        self.made.append(Made(wanted, _place(self.conversation, call, message), message, block))
        return self.made[-1]

    def findings(self, one: Made, call: ToolCall, result: ToolResult) -> Iterator[Finding]:
        """Say what there is to say of the call that was noted last."""
        before = self._lost(one)
        if before is not None:
            tokens = _tokens(self.conversation, result)
            yield Finding("amnesia_loop", call.name, (before.call + 1, one.call + 1), tokens)
        item = self._ruled_out(one, call.name)
        if item is not None:
            yield Finding("ruled_out_retried", call.name, (item.message, one.call + 1))

    def _lost(self, one: Made) -> Made | None:
        """Find the earlier call that is made again because its result was taken away."""
        subject = one.asked.subject  # there may be hundreds of calls, and few are about the same
        same = [old for old in self.made[:-1] if old.asked.subject == subject and _means_the_same(old.asked, one.asked)]
        if not same:
            return None
        latest = next((old for old in reversed(same) if old.asked.exact == one.asked.exact), same[-1])
        if not self._is_away(latest, at=one.call) or self._is_renewed(one.asked, since=latest.message):
            return None
        shown = (old for old in same if _covers(old.asked, one.asked) and not self._is_away(old, at=one.call))
        return None if any(not self._is_renewed(one.asked, since=old.message) for old in shown) else latest

    def _ruled_out(self, one: Made, tool: str) -> Item | None:
        """Find the item of the summary that was shown which rules a call out."""
        gone = self._gone(at=one.call)
        if gone is None or gone.summary is None:
            return None
        return next((item for item in gone.summary.ruled_out if _is_ruled_out(one.asked, tool, item)), None)

    def _is_away(self, made: Made, *, at: int) -> bool:
        """Whether the result of a call was not shown to the model when it wrote the message at an index."""
        gone = self._gone(at=at)
        if gone is not None and gone.first <= made.message < gone.stop:
            return not self._is_carried(made, gone)
        masked = False
        for batch in self.aged:
            if batch.at >= at:
                break
            for edit in batch.edits:
                if edit.message == made.message and edit.standing.key.block == made.block:
                    masked = edit.standing.mode == "mask"
        return masked

    def _gone(self, *, at: int) -> Gone | None:
        """Give the compaction in force when the message at an index was written; one of now tells nothing of it."""
        return next((gone for gone in reversed(self.gone) if gone.at < at), None)

    def _is_carried(self, made: Made, gone: Gone) -> bool:
        """Whether a result stands in what is sent in the place of its message."""
        result = self.conversation.messages[made.message].blocks[made.block]
        texts = result.texts if isinstance(result, ToolResult) else ()
        raw = (self.conversation.body[text.span.start : text.span.end] for text in texts)
        return bool(texts) and all(text.decode() in gone.literal for text in raw)

    def _is_renewed(self, wanted: Asked, *, since: int) -> bool:
        """Whether the same call has a new answer, since something was changed that it depends on."""
        if wanted.renewed == "never":
            return False
        later = [change for change in self.changes if change.message > since]
        return bool(later) if wanted.renewed == "by_any_change" else any(c.names & wanted.names for c in later)


def _place(conversation: Conversation, call: ToolCall, before: int) -> int:
    """Find the message that makes a call which is answered in a later one."""
    for index in range(before - 1, -1, -1):
        if any(block is call for block in conversation.messages[index].blocks):
            return index
    return before


def _means_the_same(one: Asked, other: Asked) -> bool:
    """Whether two calls ask for the same; two pages of a file without a line in common do not."""
    if one.subject != other.subject or (one.folder and other.folder and one.folder != other.folder):
        return False
    return one.lines is None or other.lines is None or one.lines.overlaps(other.lines)


def _covers(one: Asked, other: Asked) -> bool:
    """Whether one read shows every line of another."""
    return one.lines is not None and other.lines is not None and one.lines.covers(other.lines)


def _is_ruled_out(wanted: Asked, tool: str, item: Item) -> bool:
    """Whether an item rules a call out: it quotes its command, or the file it reads.

    A file may be quoted for another reason, as in "editing a.py did not help"; so it counts where it is all that is
    quoted, or where the item names the tool.
    """
    for quote in item.quotes:
        if wanted.subject in command_subjects(quote):
            return True
        if wanted.subject == file_subject(quote) and (len(item.quotes) == 1 or tool in item.text):
            return True
    return False


def _tokens(conversation: Conversation, result: ToolResult) -> int:
    return sum(estimate(conversation.text(literal)) for literal in result.texts if literal.readable)
