"""Make a recorded conversation ready for a replay: another model, a client's head, sizes, and what it quoted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import msgspec

from coldpress.lab.blocks import read_blocks, read_body, strings
from coldpress.lab.layout import Layout
from coldpress.lab.prompts import Sizes
from coldpress.lab.quotes import EDITS, old_texts, readings
from coldpress.lab.rebuild import RequestHead, made_up_head
from coldpress.model.trajectory import Trajectory, Turn


@dataclass(frozen=True)
class Source:
    """A recorded conversation as it is replayed.

    Attributes:
        trajectory: it, with the models that it asks in the replay.
        layout: its sizes and times.
        head: what stands before its messages.
        counted: tokens of a message (JSON text), as counted.
        texts: of its messages, shared by all conversations of a recording.
    """

    trajectory: Trajectory
    layout: Layout
    head: RequestHead
    counted: Callable[[str], int]
    texts: Texts

    @cached_property
    def sizes(self) -> Sizes:
        """How the provider counts: heads and prompts are as large as the layout says.

        What a fork begins with is warm because its origin sent it; nothing else is.
        """
        turns = self.trajectory.turns
        messages = [message for turn in turns for message in (*turn.added, turn.reply)][:-1]
        counted = sum(self.counted(message) for message in messages)
        layout = self.layout
        scale = (layout.prompt_tokens[-1] - layout.head_tokens) / counted if counted else 1.0
        warm = 0 if self.trajectory.shared_turns else layout.first_read_tokens
        return Sizes(layout.head_tokens, min(warm, layout.head_tokens), scale)

    def quoted(self, received: bytes, sent: bytes, turn: Turn) -> Quotes:
        """Look at the edits that were made on sight of a request."""
        return quotes_of(self.texts, received, sent, turn.reply)


@dataclass(frozen=True, slots=True)
class Quotes:
    """Old texts of edits, those that an earlier tool result held, and those of them that nothing sent held any more."""

    edits: int = 0
    from_results: int = 0
    lost: int = 0


@dataclass(frozen=True, slots=True)
class MessageTexts:
    """The texts of one message: of its results, and everything else."""

    results: tuple[str, ...]
    said: tuple[str, ...]

    @property
    def all(self) -> tuple[str, ...]:
        """Every text."""
        return (*self.results, *self.said)


class Texts:
    """The texts of messages, each message read once."""

    def __init__(self) -> None:
        self._known: dict[bytes, MessageTexts] = {}

    def of(self, message: bytes) -> MessageTexts:
        """Give a message's texts: results as they stand and without line numbers, and everything else."""
        known = self._known.get(message)
        if known is None:
            blocks = read_blocks(message)
            results = [reading for block in blocks for text in block.results for reading in readings(text)]
            said: list[str] = []
            for block in blocks:
                if block.type == "tool_use":
                    said += strings(msgspec.json.decode(block.input))
                elif block.type != "tool_result":
                    said += block.texts
            known = self._known[message] = MessageTexts(tuple(results), tuple(said))
        return known


def quotes_of(texts: Texts, received: bytes, sent: bytes, reply: str) -> Quotes:
    """Look at the edits of a reply: what they quote, and whether it stood in what was sent.

    Args:
        texts: of messages.
        received: the request as the client wrote it.
        sent: as the model saw it.
        reply: the message that came back, JSON text.
    """
    old = tuple(_edited(reply))
    if not old:
        return Quotes()
    results = [text for message in read_body(received).messages for text in texts.of(message).results]
    shown = [text for message in read_body(sent).messages for text in texts.of(message).all]
    from_results = [text for text in old if any(text in result for result in results)]
    return Quotes(len(old), len(from_results), sum(not any(text in other for other in shown) for text in from_results))


def _edited(reply: str) -> Iterator[str]:
    for block in read_blocks(reply):
        if block.type == "tool_use" and block.name.lower() in EDITS:
            yield from old_texts(msgspec.json.decode(block.input))


def other_models(trajectories: Sequence[Trajectory], model: str) -> dict[str, str]:
    """Name a model for each that was recorded: the given one for the first, variants of it for others.

    So a change of the model stays one, at the same prices.
    """
    found: dict[str, str] = {}
    for trajectory in trajectories:
        for turn in trajectory.turns:
            found.setdefault(turn.model, f"{model}-v{len(found) + 1}" if found else model)
    return found


def with_models(trajectory: Trajectory, names: Mapping[str, str]) -> Trajectory:
    """Let a trajectory ask other models."""
    return replace(trajectory, turns=tuple(replace(turn, model=names[turn.model]) for turn in trajectory.turns))


def heads(trajectories: Sequence[Trajectory]) -> dict[bool, RequestHead]:
    """Make one head for the main agent of a recording and one for its sub-agents, each with all tools they called."""
    found: dict[bool, RequestHead] = {}
    for trajectory in trajectories:
        made, known = made_up_head(trajectory), found.get(trajectory.side_chain)
        tools = sorted({*made.tools, *(known.tools if known else ())})
        found[trajectory.side_chain] = replace(made, tools=tuple(tools))
    return found
