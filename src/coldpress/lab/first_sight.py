"""Measure what pressing at first sight saves over recorded runs, and what of it is needed later. Open-loop.

A token is re-sent once for every request that carries it. The recorded replies stay as they were, so what a model
would have done with the views is not measured; what it later quoted of the originals is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import msgspec

from coldpress.lab.blocks import Block, Body, read_blocks, read_body
from coldpress.lab.pressed import Exchange
from coldpress.lab.quotes import Quoted, Shown
from coldpress.model.errors import RecordingError
from coldpress.model.identity import original_sha
from coldpress.model.trajectory import Trajectory

RECORDED_SCALE = 1.24
"""Tokens that Claude's provider reports for one token of o200k, over recorded sessions of Claude Code."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Input tokens of all requests of a run, without coldpress and with it. Images are in neither.

    Attributes:
        without, pressed: of the messages.
        head: of system prompt and tools as rebuilt, which is smaller than the client's own.
        recorded_head: of everything before the messages as the provider reported it; `None` where it did not.
        new_without, new_pressed: of the messages when they are sent for the first time.
        new_head: of the rebuilt head at the start of a conversation.
    """

    without: int = 0
    pressed: int = 0
    head: int = 0
    recorded_head: float | None = 0
    new_without: int = 0
    new_pressed: int = 0
    new_head: int = 0

    @property
    def saved(self) -> int:
        """Tokens that were not re-sent."""
        return self.without - self.pressed

    def __add__(self, other: Tokens) -> Tokens:
        known = self.recorded_head is not None and other.recorded_head is not None
        return Tokens(
            self.without + other.without,
            self.pressed + other.pressed,
            self.head + other.head,
            (self.recorded_head or 0) + (other.recorded_head or 0) if known else None,
            self.new_without + other.new_without,
            self.new_pressed + other.new_pressed,
            self.new_head + other.new_head,
        )

    def bills(self, write_to_read: float) -> tuple[float, float]:
        """Price the input without and with coldpress, in prices of one read token.

        Simulated, with a prefix cache that never runs cold: each token is written once and read on every later
        request. A view that is decided at first sight rewrites nothing.
        """
        whole, pressed = self.without + self.head, self.pressed + self.head
        written, written_pressed = self.new_without + self.new_head, self.new_pressed + self.new_head
        more = write_to_read - 1
        return whole + more * written, pressed + more * written_pressed


@dataclass(slots=True)
class Views:
    """Results of one tool pressed in one way: how many, and tokens saved, counted once and each time re-sent."""

    results: int = 0
    saved_once: int = 0
    saved_resent: int = 0


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
        self._answered: set[str] = set()
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

    def pressed(self, tool: str, call: str, original: str, sent: str) -> _Gain | None:
        """Note a result's text; gives the gain where it was pressed."""
        is_new = call not in self._answered
        self.figures.results[tool] += is_new
        self._answered.add(call)
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
        self._tokens = Tokens()
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
        before = self._tokens
        for one, other in zip(received.messages[known:], sent.messages[known:], strict=True):
            self._message(read_blocks(one), read_blocks(other))
        self._sent = sent.messages
        self._count_head(received, exchange)
        first = not self.requests
        self.requests += 1
        after = self._tokens
        return Tokens(
            without=after.without,
            pressed=after.pressed,
            head=self._head_tokens,
            recorded_head=self._recorded_head,
            new_without=0 if is_fork else after.without - before.without,
            new_pressed=0 if is_fork else after.pressed - before.pressed,
            new_head=self._head_tokens if first and not is_fork else 0,
        )

    def _count_head(self, received: Body, exchange: Exchange) -> None:
        """Count the rebuilt head, and at the first request take the recorded one for all."""
        if received.head != self._head:
            self._head, self._head_tokens = received.head, self._work.count_texts((received.head,))
        prompt = exchange.turn.usage.prompt
        if not self.requests and prompt is not None:
            self._recorded_head = max(0.0, prompt / RECORDED_SCALE - self._tokens.without)

    def _message(self, received: tuple[Block, ...], sent: tuple[Block, ...]) -> None:
        for one, other in zip(received, sent, strict=True):
            self._work.figures.uncounted += one.uncounted
            tokens = self._work.count_texts(one.texts)
            if one.type != "tool_result":
                self._tokens += Tokens(tokens, tokens)
                self._say(one)
                continue
            self._tokens += Tokens(tokens, self._work.count_texts(other.texts))
            tool = self._tool_of.get(one.tool_use_id, "(unknown)")
            for text, view in zip(one.results, other.results, strict=True):
                self.shown.result(text, view)
                gain = self._work.pressed(tool, one.tool_use_id, text, view)
                if gain is not None:
                    self._gains.append((self.requests, gain))

    def _say(self, block: Block) -> None:
        if block.type != "tool_use":
            for text in block.texts:
                self.shown.said(text)
            return
        self._tool_of[block.id] = block.name
        self.shown.input(msgspec.json.decode(block.input))
