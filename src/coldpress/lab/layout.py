"""Lay a recorded conversation out in tokens: its requests, the results that may be masked, and what edits quote."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from coldpress.engine.catalogue import Classified, Kind, classify
from coldpress.engine.exactness import judge
from coldpress.engine.policy import EXACT_KINDS
from coldpress.engine.reduce.reduced import pays
from coldpress.lab.blocks import Block, read_blocks, strings
from coldpress.lab.edit_calls import old_texts
from coldpress.lab.quotes import readings
from coldpress.model.trajectory import Trajectory, Turn

MASK_TOKENS: Final = 60
"""What stands in the place of a masked result: one line that names the call and how to make it again."""

MASK_BYTES: Final = 200
"""The same line in bytes."""

REPORTED_SCALE: Final = 1.24
"""Reported tokens for one of o200k over recorded Claude sessions; for conversations too short to tell their own."""

_SCALES: Final = (0.8, 2.0)
"""A conversation's own scale outside of this says that something else than the messages grew."""


@dataclass(frozen=True, slots=True)
class Removable:
    """A text of a tool result that may be masked once it is old enough.

    Attributes:
        first: index of the request that it first appears in.
        before_tokens: prompt tokens in front of it, nothing masked.
        saved_tokens: what the prompt is shorter by where it is masked.
        kind: of the call it answers.
    """

    first: int
    before_tokens: int
    saved_tokens: int
    kind: Kind


@dataclass(frozen=True, slots=True)
class Quote:
    """An edit whose old text stands in removable results and nowhere else.

    `request` is the one on sight of which it was made, `sources` are indices of removables, ascending.
    """

    request: int
    sources: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """One conversation. Requests count from 0, those shared with the conversation it was forked from included.

    Tokens are on the provider's scale: estimated per message, and scaled so that the prompts add up to what was
    reported.

    Attributes:
        name: of the trajectory; `recording` is the file it stands in.
        prompt_tokens: whole prompt of each request, nothing masked, not falling.
        sent_at: seconds since 1970, one per request, not falling.
        head_tokens: in front of the messages; the client's own mark stands behind them.
        changed: whether each request asks another model than the one before it.
        own: the first request that this conversation made itself; earlier ones were made elsewhere.
        first_read_tokens: what the provider reported as read on the request `own`.
        long: whether the client asked for the long lifetime.
        removables: in the order of the prompt.
        quotes: of edits that this conversation made itself.
        edits: how many edits it made itself, and `edits_of_results` of them quote some tool result.
    """

    name: str
    recording: str
    prompt_tokens: tuple[int, ...]
    sent_at: tuple[float, ...]
    head_tokens: int
    changed: tuple[bool, ...]
    own: int
    first_read_tokens: int
    long: bool
    removables: tuple[Removable, ...]
    quotes: tuple[Quote, ...] = ()
    edits: int = 0
    edits_of_results: int = 0

    @property
    def requests(self) -> int:
        """How many requests the conversation made itself."""
        return len(self.prompt_tokens) - self.own


def lay_out(trajectory: Trajectory, *, recording: str, count: Callable[[str], int], head_counted: int = 0) -> Layout:
    """Lay out one conversation.

    Args:
        trajectory: with the head's size only in the reported usage of its first request.
        recording: name of the file.
        count: tokens of a text on the o200k scale.
        head_counted: of system prompt and tools, likewise; plays a part only where no usage is reported.
    """
    work = _Work(count)
    for index, turn in enumerate(trajectory.turns):
        work.turn(turn, index, own=index >= trajectory.shared_turns)
    estimated = work.prompts
    scale, head = _fit(estimated, trajectory.turns, head_counted)
    own = trajectory.shared_turns
    reported = trajectory.turns[own].usage
    return Layout(
        name=trajectory.name,
        recording=recording,
        prompt_tokens=tuple(round(head + scale * tokens) for tokens in estimated),
        sent_at=tuple(_times(trajectory.turns)),
        head_tokens=round(head),
        changed=tuple(_changes(trajectory.turns)),
        own=own,
        first_read_tokens=reported.read or 0,
        long=any(turn.usage.write_long for turn in trajectory.turns),
        removables=tuple(work.removables(scale, head)),
        quotes=tuple(work.quotes),
        edits=work.edits,
        edits_of_results=work.edits_of_results,
    )


def _fit(estimated: list[int], turns: tuple[Turn, ...], head_counted: int) -> tuple[float, float]:
    """Fit scale and head: the first prompt is as reported, and the prompts together are."""
    known = [(mine, turn.usage.prompt) for mine, turn in zip(estimated, turns, strict=True)]
    pairs = [(mine, reported) for mine, reported in known if reported]
    if not pairs:
        return REPORTED_SCALE, REPORTED_SCALE * head_counted
    first, first_reported = pairs[0]
    grown = sum(mine - first for mine, _ in pairs)
    scale = REPORTED_SCALE
    if grown > 0:
        scale = sum(reported - first_reported for _, reported in pairs) / grown
        scale = min(max(scale, _SCALES[0]), _SCALES[1])
    return scale, max(0.0, first_reported - scale * first)


def _times(turns: Sequence[Turn]) -> Iterator[float]:
    """Give each request a time; one without, or before its predecessor's, gets its predecessor's.

    Those in front of the first that has one get that.
    """
    latest = next((turn.sent_at for turn in turns if turn.sent_at is not None), 0.0)
    for turn in turns:
        latest = max(latest, turn.sent_at or 0.0)
        yield latest


def _changes(turns: Iterable[Turn]) -> Iterator[bool]:
    before: str | None = None
    for turn in turns:
        yield before is not None and turn.model != before
        before = turn.model


@dataclass(frozen=True, slots=True)
class _Found:
    first: int
    before: int
    saved: int
    kind: Kind


class _Work:
    """One pass over a conversation, in tokens of the counter."""

    def __init__(self, count: Callable[[str], int]) -> None:
        self._count = count
        self._tokens = 0
        self._found: list[_Found] = []
        self._calls: dict[str, Classified] = {}
        self._kept: list[str] = []
        self._exact_results: list[str] = []
        self._removable_texts: list[tuple[str, ...]] = []
        self.prompts: list[int] = []
        self.quotes: list[Quote] = []
        self.edits = 0
        self.edits_of_results = 0

    def turn(self, turn: Turn, index: int, *, own: bool) -> None:
        """Take in what a request added, then what was answered."""
        for message in turn.added:
            for block in read_blocks(message):
                self._block(block, index)
        self.prompts.append(self._tokens)
        for block in read_blocks(turn.reply):
            if block.type == "tool_use":
                self._call(block, index, own=own)
            self._block(block, index + 1)

    def removables(self, scale: float, head: float) -> Iterator[Removable]:
        """Give the removable results on the provider's scale."""
        for one in self._found:
            yield Removable(one.first, round(head + scale * one.before), int(scale * one.saved), one.kind)

    def _call(self, block: Block, index: int, *, own: bool) -> None:
        self._calls[block.id] = classify(block.name, bytes(block.input).decode() or "{}")
        if own:
            for old in old_texts(block.name, msgspec.json.decode(block.input)):
                self._edit(old, index)

    def _edit(self, old: str, index: int) -> None:
        self.edits += 1
        sources = tuple(i for i, texts in enumerate(self._removable_texts) if any(old in text for text in texts))
        exact = any(old in text for text in self._exact_results)
        self.edits_of_results += bool(sources) or exact
        if sources and not exact and not any(old in text for text in self._kept):
            self.quotes.append(Quote(index, sources))

    def _block(self, block: Block, index: int) -> None:
        if block.type == "tool_result":
            for text in block.results:
                self._result(block.tool_use_id, text, index, failed=bool(block.is_error))
            return
        for text in block.texts:
            self._tokens += self._count(text)
        if block.type == "tool_use":
            self._kept += strings(msgspec.json.decode(block.input))
        else:
            self._kept += block.texts

    def _result(self, call: str, text: str, index: int, *, failed: bool) -> None:
        classified = self._calls.get(call)
        tokens = self._count(text)
        if classified is not None and _may_go(classified, text, failed=failed) and tokens > MASK_TOKENS:
            self._found.append(_Found(index, self._tokens, tokens - MASK_TOKENS, classified.kind))
            self._removable_texts.append(readings(text))
        else:
            self._exact_results += readings(text)
        self._tokens += tokens


def _may_go(classified: Classified, text: str, *, failed: bool) -> bool:
    """Whether policy and exactness let a mask stand in a result's place, and the mask is short enough."""
    if classified.kind in EXACT_KINDS or not pays(text, "x" * MASK_BYTES):
        return False
    return judge(classified, text, wire_failed=failed) == "ok"
