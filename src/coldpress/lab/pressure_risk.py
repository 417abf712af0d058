"""Measure how often a tool result is needed again, by why it may be needed no more and by its age.

Open-loop: recorded agents saw all results exact. A result is *quoted* where the old text of a later edit stands in it
in one piece, or a long line of a later call's input is one of its lines; it is *needed* where nothing that came between
the two holds that text too, so that without it the agent would have had nothing to quote from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import msgspec

from coldpress.engine.exactness import judge
from coldpress.engine.need import Why, reasons
from coldpress.engine.plan import propose
from coldpress.engine.policy import Policy
from coldpress.engine.session import Seen, Session
from coldpress.lab.blocks import strings
from coldpress.lab.edit_calls import old_texts
from coldpress.lab.quotes import LONG_LINE, readings
from coldpress.lab.rebuild import requests
from coldpress.model.conversation import Conversation, Text, ToolCall, ToolResult
from coldpress.model.trajectory import Trajectory
from coldpress.wire.prefix import Reader

MIN_BYTES = 1_000
"""Smaller results are not worth a line in their place."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One result at one age.

    Attributes:
        why: the reason at that moment.
        is_source: whether it shows the text of a file.
        age: in turns.
        bytes: of its text.
        quoted: whether a later call quotes it.
        needed: whether it was the only place such a call could quote from.
    """

    why: Why
    is_source: bool
    age: int
    bytes: int
    quoted: bool
    needed: bool


def samples(trajectory: Trajectory, ages: Iterable[int]) -> Iterator[Sample]:
    """Look at every result of a run when it comes to each of these ages, as long as some reply follows.

    Left out are results that must stay exact, and what belongs to the run that a fork began in. What the very last
    reply calls is not looked at.
    """
    body = b""
    for body in requests(trajectory):  # noqa: B007 - the last one holds them all
        pass
    if not body:
        return
    conversation = Reader[None](seed=1).read(body, "anthropic", None).conversation
    session = propose(conversation, Session(), {}, Policy(()), "observe").session
    quotes = _Quotes(conversation)
    wanted = frozenset(ages)
    for number in range(max(1, trajectory.shared_turns), len(session.replies)):
        now = session.replies[number]
        then, state = replace(conversation, messages=conversation.messages[:now]), session.upto(now)
        due = [seen for seen in state.shown if state.age(seen.message) in wanted]
        if not due:
            continue
        why = reasons(then, state)
        for seen in due:
            size = quotes.size(seen)
            if size >= MIN_BYTES:
                quoted, needed = quotes.after(seen, now)
                yield Sample(
                    why[seen.key], seen.classified.kind == "source", state.age(seen.message), size, quoted, needed
                )


@dataclass(frozen=True)
class _Said:
    """The texts of one message, and the old texts and inputs of its calls."""

    texts: tuple[str, ...]
    olds: tuple[str, ...]
    inputs: tuple[str, ...]

    @cached_property
    def lines(self) -> frozenset[str]:
        return _long_lines(self.texts)

    @cached_property
    def input_lines(self) -> frozenset[str]:
        return _long_lines(self.inputs)


class _Quotes:
    """What the calls of one conversation quote."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._said = [_said(conversation, index) for index in range(len(conversation.messages))]
        self._quoted: dict[Seen, tuple[int, int]] = {}
        self._sizes: dict[Seen, int] = {}

    def size(self, seen: Seen) -> int:
        """Bytes of a result that may become smaller; 0 of one that may not."""
        if seen not in self._sizes:
            block = self._conversation.messages[seen.message].blocks[seen.key.block]
            text = self._conversation.text(seen.literal)
            failed = block.failed if isinstance(block, ToolResult) else None
            verdict = judge(seen.classified, text, wire_failed=failed)
            self._sizes[seen] = len(text.encode()) if verdict == "ok" else 0
        return self._sizes[seen]

    def after(self, seen: Seen, message: int) -> tuple[bool, bool]:
        """Whether a call from a message on quotes this result, and whether one needs it."""
        if seen not in self._quoted:
            self._quoted[seen] = self._last(seen)
        quoted, needed = self._quoted[seen]
        return quoted >= message, needed >= message

    def _last(self, seen: Seen) -> tuple[int, int]:
        """The last message with a call that quotes a result, and the last that needs it; -1 where none does."""
        texts = readings(self._conversation.text(seen.literal))
        lines = _long_lines(texts)
        quoted = needed = -1
        for index in range(seen.message + 1, len(self._said)):
            said = self._said[index]
            olds = [old for old in said.olds if any(old in text for text in texts)]
            found = lines & said.input_lines
            if not olds and not found:
                continue
            quoted = index
            between = self._said[seen.message + 1 : index]
            held = all(any(old in text for one in between for text in one.texts) for old in olds)
            if not held or any(all(line not in one.lines for one in between) for line in found):
                needed = index
        return quoted, needed


def _said(conversation: Conversation, index: int) -> _Said:
    texts: list[str] = []
    olds: list[str] = []
    inputs: list[str] = []
    for block in conversation.messages[index].blocks:
        match block:
            case Text(literal) if literal.readable:
                texts.append(conversation.text(literal))
            case ToolResult():
                texts += [r for t in block.texts if t.readable for r in readings(conversation.text(t))]
            case ToolCall():
                given = msgspec.json.decode(conversation.arguments(block))
                inputs += strings(given)
                olds += old_texts(block.name, given)
            case _:
                pass
    return _Said((*texts, *inputs), tuple(olds), tuple(inputs))


def _long_lines(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(line for text in texts for part in text.split("\n") if len(line := part.strip()) >= LONG_LINE)
