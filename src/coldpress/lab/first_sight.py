"""Measure what pressing at first sight saves over recorded runs, and what of it is needed later. Open-loop.

A token is re-sent once for every request that carries it. The recorded replies stay as they were, so what a model
would have done with the views is not measured; what it later quoted of the originals is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal, assert_never

import msgspec

from coldpress.lab.blocks import Block, Body, read_blocks, read_body
from coldpress.lab.pressed import Exchange
from coldpress.lab.quotes import Quoted, Shown
from coldpress.model.errors import RecordingError
from coldpress.model.identity import original_sha
from coldpress.model.trajectory import Trajectory

RECORDED_SCALE = 1.24
"""Tokens that Claude's provider reports for one token of o200k, over recorded sessions of Claude Code."""


Scope = Literal["messages", "rebuilt", "recorded"]
"""What a share is taken of: the messages alone, the whole request with the head as rebuilt, which is small, or with
a head of the size that the provider's usage tells."""


@dataclass(frozen=True, slots=True)
class Sent:
    """Input tokens, those of every request and those of them that were sent for the first time."""

    every: float = 0
    first: float = 0

    def __add__(self, other: Sent) -> Sent:
        return Sent(self.every + other.every, self.first + other.first)

    def bill(self, write_to_read: float) -> float:
        """Price the input in prices of one read token.

        Simulated, with a prefix cache that never runs cold: each token is written once and read from then on.
        """
        return self.every + (write_to_read - 1) * self.first


@dataclass(frozen=True, slots=True)
class Tokens:
    """Input tokens of a run's requests. Images are in none of them.

    Attributes:
        without, pressed: of the messages, without coldpress and with it.
        rebuilt_head: of system prompt and tools as rebuilt.
        recorded_head: of everything before the messages, as the provider reported it; `None` where it did not.
    """

    without: Sent = Sent()
    pressed: Sent = Sent()
    rebuilt_head: Sent = Sent()
    recorded_head: Sent | None = Sent()

    def __add__(self, other: Tokens) -> Tokens:
        mine, theirs = self.recorded_head, other.recorded_head
        return Tokens(
            self.without + other.without,
            self.pressed + other.pressed,
            self.rebuilt_head + other.rebuilt_head,
            None if mine is None or theirs is None else mine + theirs,
        )

    def both(self, scope: Scope) -> tuple[Sent, Sent] | None:
        """Give a scope's tokens without coldpress and with it; `None` where its head is unknown."""
        match scope:
            case "messages":
                return self.without, self.pressed
            case "rebuilt":
                return self.without + self.rebuilt_head, self.pressed + self.rebuilt_head
            case "recorded":
                head = self.recorded_head
                return None if head is None else (self.without + head, self.pressed + head)
            case _:
                assert_never(scope)


@dataclass(slots=True)
class Views:
    """Results of one tool pressed in one way: how many, and tokens saved, counted once and each time re-sent."""

    results: int = 0
    saved_once: int = 0
    saved_resent: int = 0

    def __add__(self, other: Views) -> Views:
        return Views(
            self.results + other.results,
            self.saved_once + other.saved_once,
            self.saved_resent + other.saved_resent,
        )


@dataclass(slots=True)
class SessionFigures:
    """Everything measured on one recording; `views` by tool and mode, `results` by tool, pressed or not."""

    name: str
    requests: int = 0
    conversations: int = 0
    tokens: Tokens = field(default_factory=Tokens)
    quoted: Quoted = field(default_factory=Quoted)
    views: dict[tuple[str, str], Views] = field(default_factory=lambda: defaultdict(Views))
    results: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    uncounted: int = 0


def measure(
    name: str, run: Iterable[tuple[Trajectory, Iterable[Exchange]]], count: Callable[[str], int]
) -> SessionFigures:
    """Measure one recording.

    Args:
        name: of the recording.
        run: its trajectories with their exchanges, from `coldpress.lab.pressed.exchanges`.
        count: counts the tokens of a text.

    Raises:
        RecordingError: a later request changes what an earlier one sent, so nothing here would hold.
    """
    work = _Work(SessionFigures(name), count)
    for trajectory, exchanges in run:
        work.conversation(trajectory, exchanges)
    return work.figures


@dataclass(frozen=True, slots=True)
class _Gain:
    tool: str
    mode: str
    tokens: int


class _Work:
    """One pass over a recording. Calls are known by id: a fork shows again what was counted before it."""

    def __init__(self, figures: SessionFigures, count: Callable[[str], int]) -> None:
        self.figures = figures
        self._count = count
        self._answered: set[tuple[str, int]] = set()
        self._called: set[str] = set()
        self._mode_of: dict[str, str] = {}

    def conversation(self, trajectory: Trajectory, exchanges: Iterable[Exchange]) -> None:
        """Measure one trajectory, message by message, each once."""
        self.figures.conversations += 1
        chain = _Chain(self)
        for exchange in exchanges:
            self._mode_of |= {line.original: line.mode for line in exchange.lines if line.original}
            is_fork = not chain.requests and trajectory.shared_turns > 0
            self.figures.tokens += chain.send(exchange, is_fork=is_fork)
            self.figures.requests += 1
            self._calls(exchange, chain.shown)
        for gain in chain.gains_resent:
            self.figures.views[gain.tool, gain.mode].saved_resent += gain.tokens

    def count_texts(self, texts: Iterable[str]) -> int:
        """Tokens of some texts."""
        return sum(self._count(text) for text in texts)

    def pressed(self, tool: str, place: tuple[str, int], original: str, sent: str) -> _Gain | None:
        """Note a result's text at a place, its call and its part; gives the gain where it was pressed."""
        is_new = place not in self._answered
        self.figures.results[tool] += is_new
        self._answered.add(place)
        if original == sent:
            return None
        gain = _Gain(tool, self._mode_of[original_sha(original)], self._count(original) - self._count(sent))
        views = self.figures.views[tool, gain.mode]
        views.results += is_new
        views.saved_once += gain.tokens if is_new else 0
        return gain

    def _calls(self, exchange: Exchange, shown: Shown) -> None:
        """Look at the calls that were made on sight of a request."""
        for block in read_blocks(exchange.turn.reply):
            if block.type == "tool_use" and block.id not in self._called:
                self._called.add(block.id)
                self.figures.quoted += shown.call(block.name, msgspec.json.decode(block.input))


class _Chain:
    """One conversation as it grows, as received and as sent."""

    def __init__(self, work: _Work) -> None:
        self.shown = Shown()
        self.requests = 0
        self._work = work
        self._sent: tuple[bytes, ...] = ()
        self._without = self._pressed = 0
        self._head, self._head_tokens = "", 0
        self._recorded_head: float | None = None
        self._tool_of: dict[str, str] = {}
        self._gains: list[tuple[int, _Gain]] = []

    @property
    def gains_resent(self) -> Iterator[_Gain]:
        """Each gain times the requests that carried it."""
        for first, gain in self._gains:
            yield _Gain(gain.tool, gain.mode, gain.tokens * (self.requests - first))

    def send(self, exchange: Exchange, *, is_fork: bool) -> Tokens:
        """Take in a request; gives its own tokens. What a fork begins with was written to the cache before it."""
        received, sent = read_body(exchange.received), read_body(exchange.sent)
        known = len(self._sent)
        if sent.messages[:known] != self._sent or len(received.messages) != len(sent.messages):
            raise RecordingError(f"request {self.requests} changes what an earlier one sent; the driver must not")
        without, pressed = self._without, self._pressed
        for one, other in zip(received.messages[known:], sent.messages[known:], strict=True):
            self._message(read_blocks(one), read_blocks(other))
        self._sent = sent.messages
        begins = not self.requests and not is_fork
        rebuilt, recorded = self._heads(received, exchange)
        self.requests += 1
        return Tokens(
            Sent(self._without, 0 if is_fork else self._without - without),
            Sent(self._pressed, 0 if is_fork else self._pressed - pressed),
            Sent(rebuilt, rebuilt if begins else 0),
            None if recorded is None else Sent(recorded, recorded if begins else 0),
        )

    def _heads(self, received: Body, exchange: Exchange) -> tuple[int, float | None]:
        """Count the rebuilt head; the recorded one is what the first request's usage leaves for it."""
        if received.head != self._head:
            self._head, self._head_tokens = received.head, self._work.count_texts((received.head,))
        prompt = exchange.turn.usage.prompt
        if not self.requests and prompt is not None:
            self._recorded_head = max(0.0, prompt / RECORDED_SCALE - self._without)
        return self._head_tokens, self._recorded_head

    def _message(self, received: tuple[Block, ...], sent: tuple[Block, ...]) -> None:
        for one, other in zip(received, sent, strict=True):
            self._work.figures.uncounted += one.uncounted
            self._without += self._work.count_texts(one.texts)
            self._pressed += self._work.count_texts(other.texts)
            if one.type == "tool_result":
                self._result(one, other)
            elif one.type == "tool_use":
                self._tool_of[one.id] = one.name
                self.shown.input(msgspec.json.decode(one.input))
            else:
                for text in one.texts:
                    self.shown.said(text)

    def _result(self, received: Block, sent: Block) -> None:
        tool = self._tool_of.get(received.tool_use_id, "(unknown)")
        for part, (text, view) in enumerate(zip(received.results, sent.results, strict=True)):
            self.shown.result(text, view)
            gain = self._work.pressed(tool, (received.tool_use_id, part), text, view)
            if gain is not None:
                self._gains.append((self.requests, gain))
