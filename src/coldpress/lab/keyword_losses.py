"""Compare views by keywords with heads and tails: what each takes away, and what of it recorded agents used later.

Open-loop: the recorded agents saw every result exact, and what they would have done with a view is not in here. A view
takes a result's place after one exact exposure, so what the first reply to it uses counts as seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, Literal, NamedTuple

import msgspec

from coldpress.engine.exactness import judge
from coldpress.engine.guidance import Hints, hints
from coldpress.engine.plan import propose
from coldpress.engine.policy import Policy
from coldpress.engine.reduce import deterministic, heading, keyword
from coldpress.engine.reduce.reduced import pays, size_bytes
from coldpress.engine.reduce.relevance import relevance
from coldpress.engine.reduce.views.shell import head_and_tail
from coldpress.engine.session import Seen, Session
from coldpress.engine.words import words
from coldpress.lab.blocks import strings
from coldpress.lab.identifiers import identifiers
from coldpress.lab.quotes import LONG_LINE, readings
from coldpress.lab.rebuild import requests
from coldpress.model.conversation import Conversation, Text, ToolCall, ToolResult
from coldpress.model.identity import original_sha
from coldpress.model.trajectory import Trajectory
from coldpress.wire.prefix import Reader

MIN_BYTES: Final = 2_048
KINDS: Final = ("search", "shell", "listing")
HEAD_SHARE: Final = 0.6

Arm = Literal[
    "keyword",
    "fallback",
    "same_bytes",
    "same_bytes_by_file",
    "deterministic",
    "native",
    "native_same_bytes",
    "inferred",
    "inferred_same_bytes",
    "unguided",
]
"""Lines by the inferred guidance; by a guidance without the model's prose; a head and a tail in the bytes of the first,
with nothing else; the same of a search whose paths stand once above their lines; the mode `deterministic`.

Of calls that say themselves what they are for: lines by that alone, and a head and a tail in the bytes of that view;
by all the rest of the guidance, and likewise; by nothing."""

ARMS: Final[tuple[Arm, ...]] = ("keyword", "fallback", "same_bytes", "same_bytes_by_file", "deterministic")
TOLD_ARMS: Final[tuple[Arm, ...]] = (
    "native",
    "native_same_bytes",
    "inferred",
    "inferred_same_bytes",
    "keyword",
    "same_bytes",
    "unguided",
)
"""What is compared where a call says itself what it is for; `keyword` goes by that and by the rest."""

Outcome = Literal["view", "no_words", "no_match", "too_much"]
"""Of `keyword`: there is a view; the guidance asks for nothing; nothing matches; half of the result or more does."""


class Effect(NamedTuple):
    """What a view does.

    Attributes:
        bytes: of the view.
        lost: identifiers that only the result had and that the view lacks.
        lines_lost: quoted lines likewise.
        moved: lines of the view that are none of the original's, in their order, with number and path. The mode
            `deterministic` writes lines anew and counts with all of them.
    """

    bytes: int
    lost: int
    lines_lost: int
    moved: int


@dataclass(frozen=True, slots=True)
class Sample:
    """One result.

    Attributes:
        tool: its tool as the client names it.
        kind: its kind.
        bytes: of its text.
        outcome: what `keyword` made of it.
        needed: its identifiers that the model used in a later call or in its prose, from the second reply on.
        only_here: of these, how many had not stood anywhere else by then.
        quoted: its lines of 40 characters or more that stand in a later call's input, likewise.
        quoted_only_here: of these, how many had not stood anywhere else by then.
        effects: of every arm that has a view.
        seconds: that the arm `keyword` took.
        told: the call says itself what it is for.
    """

    tool: str
    kind: str
    bytes: int
    outcome: Outcome
    needed: int
    only_here: int
    quoted: int
    quoted_only_here: int
    effects: Mapping[Arm, Effect]
    seconds: float
    told: bool


def samples(trajectory: Trajectory, clock: Callable[[], float]) -> Iterator[Sample]:
    """Look at every search, log and listing of 2 KiB or more that may be made smaller and that two replies follow.

    What belongs to the run that a fork began in is left out.

    Args:
        trajectory: a recorded run.
        clock: gives seconds of processor time.
    """
    body = b""
    for body in requests(trajectory):  # noqa: B007 - the last one holds them all
        pass
    if not body:
        return
    conversation = Reader[None](seed=1).read(body, "anthropic", None).conversation
    session = propose(conversation, Session(), {}, Policy(()), "observe").session
    told = _Told(conversation)
    first = session.replies[trajectory.shared_turns - 1] if trajectory.shared_turns else 0
    for seen in session.shown:
        replies = [reply for reply in session.replies if reply > seen.message]
        if seen.message < first or len(replies) < 2 or seen.classified.kind not in KINDS:
            continue
        result = conversation.messages[seen.message].blocks[seen.key.block]
        text = conversation.text(seen.literal)
        if not isinstance(result, ToolResult) or result.call is None or size_bytes(text) < MIN_BYTES:
            continue
        if judge(seen.classified, text, wire_failed=result.failed) == "ok":
            yield _sample(told, seen, result.call, text, second=replies[1], clock=clock)


def _sample(told: _Told, seen: Seen, call: ToolCall, text: str, *, second: int, clock: Callable[[], float]) -> Sample:
    conversation = told.conversation
    at = max(i for i in range(seen.message) if call in conversation.messages[i].blocks)
    found = hints(conversation, at, call)
    sha, kind = original_sha(text), seen.classified.kind
    started = clock()
    made = keyword.reduce(text, kind=kind, called=seen.call, guidance=found.text, sha=sha, rerun=None)
    seconds = clock() - started
    views: dict[Arm, str] = {}
    if made is not None:
        views["keyword"] = made.text
        views["same_bytes"] = _ends(text, made.text)
        views["same_bytes_by_file"] = _ends(_by_file(text) if kind == "search" else text, made.text)
    for arm, guidance in _other_guidances(found).items():
        other = keyword.reduce(text, kind=kind, called=seen.call, guidance=guidance, sha=sha, rerun=None)
        if other is None:
            continue
        views[arm] = other.text
        if (ends := _SAME_BYTES.get(arm)) is not None:
            views[ends] = _ends(text, other.text)
    plain = deterministic.reduce(text, kind=kind, command=seen.classified.command, sha=sha, rerun=None)
    if plain is not None and pays(text, plain.text):
        views["deterministic"] = plain.text
    needed = told.needed(seen, frozenset(identifiers(text)), second)
    quoted = told.needed(seen, _long_lines(readings(text)), second)
    effects = {arm: _effect(text, view, needed, quoted) for arm, view in views.items()}
    outcome = _outcome(text, found.text) if made is None else "view"
    return Sample(
        seen.tool,
        kind,
        size_bytes(text),
        outcome,
        *needed.counts,
        *quoted.counts,
        effects,
        seconds,
        told=bool(found.native),
    )


_SAME_BYTES: Final[Mapping[Arm, Arm]] = {"native": "native_same_bytes", "inferred": "inferred_same_bytes"}


def _other_guidances(found: Hints) -> dict[Arm, str]:
    """Give what else than all hints a view could go by."""
    guidances: dict[Arm, str] = {"fallback": replace(found, prose="").text}
    if found.native:
        guidances |= {"native": found.native, "inferred": replace(found, native="").text, "unguided": ""}
    return guidances


def _ends(text: str, view: str) -> str:
    """A head and a tail in the bytes of a view, behind its first line."""
    opening, body = view.split("\n", 1)
    ends = head_and_tail(
        text, budget_bytes=size_bytes(body), head_share=HEAD_SHARE, max_line_chars=keyword.MAX_LINE_CHARS
    )
    return f"{opening}\n{ends.body}"


class _Needed(NamedTuple):
    """What the model uses of a result later: how much, and what of it only the result had."""

    every: int
    only_here: frozenset[str]

    @property
    def counts(self) -> tuple[int, int]:
        return self.every, len(self.only_here)


def _effect(text: str, view: str, needed: _Needed, quoted: _Needed) -> Effect:
    body = view.split("\n", 1)[1] if "\n" in view else ""
    lost, lines_lost = (sum(one not in body for one in kind.only_here) for kind in (needed, quoted))
    return Effect(size_bytes(view), lost, lines_lost, min(_moved(text, body), _moved(_by_file(text), body)))


def _by_file(text: str) -> str:
    """A search with each path above its lines: the same lines in the same order, as `heading.restore` shows."""
    grouped = heading.press(text)
    return text if grouped is None else grouped.text


def _long_lines(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(line for text in texts for part in text.split("\n") if len(line := part.strip()) >= LONG_LINE)


def _moved(text: str, body: str) -> int:
    """Count the lines of a view that are no line of the original behind the one before; those cut by us aside."""
    lines = text.split("\n")
    at = moved = 0
    for line in body.split("\n"):
        if "[coldpress: " in line:
            continue
        try:
            at = lines.index(line, at) + 1
        except ValueError:
            moved += 1
    return moved


def _outcome(text: str, guidance: str) -> Outcome:
    """Say why there is no view by keywords."""
    wanted = words(guidance)
    if not wanted:
        return "no_words"
    found = relevance(text.split("\n"), wanted)
    return "too_much" if found is None or found.words else "no_match"


class _Told:
    """Which identifiers stand where in a conversation, and where the model uses them."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation

    def needed(self, seen: Seen, own: frozenset[str], second: int) -> _Needed:
        """Say what of a result's own identifiers, or of its own long lines, the model writes from a message on."""
        uses: dict[str, int] = {}
        for index in range(second, len(self._used)):
            for word in self._used[index] & own:
                uses.setdefault(word, index)
        place = (seen.message, seen.key.block, seen.literal.part)
        return _Needed(
            len(uses), frozenset(word for word, use in uses.items() if not self._elsewhere(word, place, use))
        )

    def _elsewhere(self, word: str, place: tuple[int, int, int], before: int) -> bool:
        """Whether a word stands in a text in front of a message that is not the one at this place."""
        return any(
            where[0] < before and where != place and (word in found or word in text)
            for where, text, found in self._texts
        )

    @cached_property
    def _texts(self) -> list[tuple[tuple[int, int, int], str, frozenset[str]]]:
        """Every text with its place; a call's is all the strings of its arguments."""
        found: list[tuple[tuple[int, int, int], str, frozenset[str]]] = []
        for index, message in enumerate(self.conversation.messages):
            for block, content in enumerate(message.blocks):
                found += (
                    ((index, block, part), text, frozenset(identifiers(text))) for part, text in self._texts_of(content)
                )
        return found

    @cached_property
    def _used(self) -> list[frozenset[str]]:
        """The identifiers that the model writes in each message, and the long lines in the input of its calls."""
        used: list[set[str]] = [set() for _ in self.conversation.messages]
        for (index, block, _), text, found in self._texts:
            if self.conversation.messages[index].role == "assistant":
                used[index] |= found
                if isinstance(self.conversation.messages[index].blocks[block], ToolCall):
                    used[index] |= _long_lines((text,))
        return [frozenset(words_of) for words_of in used]

    def _texts_of(self, block: object) -> Iterator[tuple[int, str]]:
        match block:
            case Text(literal) if literal.readable:
                yield 0, self.conversation.text(literal)
            case ToolResult():
                yield from ((t.part, self.conversation.text(t)) for t in block.texts if t.readable)
            case ToolCall():
                given = msgspec.json.decode(self.conversation.arguments(block))
                yield 0, "\n".join(strings(given))
            case _:
                pass
