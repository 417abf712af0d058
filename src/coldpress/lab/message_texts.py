"""Give the texts of single messages, each message read once: of its tool results, and everything else."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import msgspec

from coldpress.lab.blocks import Block, read_blocks, strings
from coldpress.lab.identifiers import identifiers
from coldpress.lab.quotes import readings


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call: its id, its tool, and its decoded input."""

    id: str
    tool: str
    arguments: object


@dataclass(frozen=True)
class ResultTexts:
    """A tool result.

    Attributes:
        call: id of the call that it answers.
        parts: its texts as they stand, in order.
    """

    call: str
    parts: tuple[str, ...] = field(repr=False)

    @cached_property
    def readings(self) -> tuple[str, ...]:
        """Its texts as they stand, and without line numbers."""
        return tuple(reading for part in self.parts for reading in readings(part))

    @cached_property
    def words(self) -> frozenset[str]:
        """The identifiers in it."""
        return frozenset(word for text in self.readings for word in identifiers(text))


@dataclass(frozen=True)
class MessageTexts:
    """The texts of one message: of its results, and `said` everything else, a call with the strings of its input."""

    results: tuple[ResultTexts, ...]
    said: tuple[str, ...]
    calls: tuple[Call, ...]

    @cached_property
    def all(self) -> tuple[str, ...]:
        """Every text; results as they stand and without line numbers."""
        return (*(text for result in self.results for text in result.readings), *self.said)

    @cached_property
    def said_words(self) -> frozenset[str]:
        """The identifiers outside results."""
        return frozenset(word for text in self.said for word in identifiers(text))

    def holds(self, text: str) -> bool:
        """Whether a text stands in one of its texts, in one piece."""
        return any(text in other for other in self.all)


class Texts:
    """The texts of messages of one recording."""

    def __init__(self) -> None:
        self._known: dict[bytes, MessageTexts] = {}

    def of(self, message: bytes) -> MessageTexts:
        """Give the texts of a message, JSON text."""
        known = self._known.get(message)
        if known is None:
            known = self._known[message] = _read(read_blocks(message))
        return known


def _read(blocks: tuple[Block, ...]) -> MessageTexts:
    results: list[ResultTexts] = []
    said: list[str] = []
    calls: list[Call] = []
    for block in blocks:
        if block.type == "tool_result":
            results.append(ResultTexts(block.tool_use_id, block.results))
        elif block.type == "tool_use":
            arguments = msgspec.json.decode(block.input)
            calls.append(Call(block.id, block.name, arguments))
            said += strings(arguments)
        else:
            said += block.texts
    return MessageTexts(tuple(results), tuple(said), tuple(calls))
