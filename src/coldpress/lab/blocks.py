"""Read a Messages request and its blocks as text, for counting and comparing; nothing is written back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from coldpress.lab.rebuild import MARK, MARK_ONE_HOUR


class Part(msgspec.Struct):
    """An element of a tool result's content."""

    type: str
    text: str = ""


class Block(msgspec.Struct):
    """A content block; what a type does not have is empty.

    Only results of tools that the provider runs have an object for content, where these fail.
    """

    type: str
    text: str = ""
    thinking: str = ""
    id: str = ""
    name: str = ""
    input: msgspec.Raw = msgspec.Raw(b"")
    tool_use_id: str = ""
    is_error: bool | None = None
    content: str | list[Part] | dict[str, msgspec.Raw] = ""

    @property
    def results(self) -> tuple[str, ...]:
        """The texts of a tool result, in order."""
        if isinstance(self.content, str):
            return (self.content,) if self.content else ()
        return tuple(part.text for part in self.content if isinstance(part, Part) and part.type == "text")

    @property
    def texts(self) -> tuple[str, ...]:
        """Every text of the block that a model reads; a call is its name and its input as JSON."""
        match self.type:
            case "text":
                return (self.text,)
            case "thinking":
                return (self.thinking,)
            case "tool_use":
                return (self.name, bytes(self.input).decode())
            case "tool_result":
                return self.results
            case _:
                return ()

    @property
    def uncounted(self) -> int:
        """Images, documents and whatever else holds no text to count."""
        if self.type == "tool_result":
            return 0 if isinstance(self.content, str) else len(self.content) - len(self.results)
        return int(self.type not in ("text", "thinking", "tool_use"))


class _Message(msgspec.Struct):
    content: str | list[Block]


class _Body(msgspec.Struct):
    messages: list[msgspec.Raw]
    system: msgspec.Raw = msgspec.Raw(b"")
    tools: msgspec.Raw = msgspec.Raw(b"")


@dataclass(frozen=True, slots=True)
class Body:
    """A request in pieces: the JSON of its head, and of each message without the cache mark."""

    head: str
    messages: tuple[bytes, ...]


def read_body(body: bytes) -> Body:
    """Cut a rebuilt request into pieces.

    Raises:
        msgspec.ValidationError: this is no such request.
    """
    found = msgspec.json.decode(body, type=_Body)
    *before, last = (bytes(message) for message in found.messages)
    head = bytes(found.system) + bytes(found.tools)
    return Body(head.decode(), (*before, _unmarked(last)))


def read_blocks(message: bytes | str) -> tuple[Block, ...]:
    """Read the blocks of one message; a plain string is a text block."""
    content = msgspec.json.decode(message, type=_Message).content
    return (Block("text", text=content),) if isinstance(content, str) else tuple(content)


def strings(value: object) -> Iterator[str]:
    """Every string in a decoded JSON value, keys aside."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for member in value.values():
            yield from strings(member)
    elif isinstance(value, list):
        for member in value:
            yield from strings(member)


def _unmarked(message: bytes) -> bytes:
    """Take the mark off that `rebuild` put behind the last block."""
    for mark in (MARK_ONE_HOUR, MARK):
        if message[:-3].endswith(mark):
            return message[: -3 - len(mark)] + message[-3:]
    return message
