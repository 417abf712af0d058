"""Say what a tool call was made for: what the model told, or what it, its call and its user's request let infer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

import msgspec

from coldpress.engine.injected import is_nobodys, without_injected
from coldpress.model.conversation import Conversation, Message, Text, ToolCall

MAX_BYTES: Final = 1_024
"""UTF-8 bytes of a guidance."""

PROSE_BYTES: Final = 400
REQUEST_BYTES: Final = 240
VALUE_BYTES: Final = 240
"""Of the model's words the last count, since they lead to the call; of everything else the first."""

LOOKED_AT_CHARS: Final = 4_096

REASONS: Final = ("intent", "description", "reason", "explanation", "justification", "purpose", "task", "i")
"""Arguments in which tools let a model say what a call is for; `i` is that of OMP, in most of its tools."""

REGEXES: Final = ("pattern", "regex")
PATTERNS: Final = (*REGEXES, "query", "search", "search_term", "symbol", "name", "q", "prompt")
FIRST: Final = (*PATTERNS, "path", "file_path", "paths", "command", "cmd", "glob", "url")
"""Arguments that say most of what is looked for, in this order; all others come behind them."""

_MAX_NESTED: Final = 4
_REGEX_SIGNS: Final = re.compile(
    r"\\[bBdDsSwWAZznrt]|\[[^\]\n]{0,80}\]|\{\d+(?:,\d*)?\}|[|()^$*+?{}\[\]]|\\(.)|\.(?=[*+?])"
)

Source = Literal["captured", "native", "inferred", "none"]
"""Told in the field that was added for it; told in a field of the tool's own; inferred; nothing is known."""


@dataclass(frozen=True, slots=True)
class Guidance:
    """What a call was made for.

    Attributes:
        text: on one line, at most 1 KiB of UTF-8; empty where nothing is known.
        source: where it stems from; `native` says that the call tells it in part, and the rest is inferred.
    """

    text: str
    source: Source


@dataclass(frozen=True, slots=True)
class Hints:
    """What a guidance can be inferred from, each on one line and bounded.

    Attributes:
        native: what the call's own fields say that it is for.
        arguments: what it was called with.
        prose: what the model said in front of it, in the same reply.
        request: what a user last asked for before that.
    """

    native: str
    arguments: str
    prose: str
    request: str

    @property
    def text(self) -> str:
        """All of it, what tells most first."""
        parts = (self.native, self.arguments, self.prose, self.request)
        return head("; ".join(part for part in parts if part), MAX_BYTES)


def guidance(conversation: Conversation, message: int, call: ToolCall, *, captured: str | None) -> Guidance:
    """Say what a call was made for.

    What comes behind the call plays no part, so that the answer stays the same as the conversation goes on.

    Args:
        conversation: holds the call.
        message: index of the message that holds it.
        call: as that message has it.
        captured: what the model gave as its reason, `None` where that is not known.

    Raises:
        IndexError: there is no such message.
    """
    told = head(captured or "", MAX_BYTES)
    if told:
        return Guidance(told, "captured")
    found = hints(conversation, message, call)
    text = found.text
    if not text:
        return Guidance("", "none")
    return Guidance(text, "native" if found.native else "inferred")


def hints(conversation: Conversation, message: int, call: ToolCall) -> Hints:
    """Collect what a guidance can be inferred from; arguments and exceptions as for `guidance`."""
    if not 0 <= message < len(conversation.messages):
        raise IndexError(f"message {message} of {len(conversation.messages)}: there is no such message")
    native, arguments = _of_call(conversation, call)
    start = _reply_start(conversation, message)
    prose = tail(" ".join(_prose(conversation, start, message, call)), PROSE_BYTES)
    return Hints(native, arguments, prose, _request(conversation, start))


def head(text: str, most_bytes: int) -> str:
    """Give the beginning of a text on one line, cut between words where one ends near the bound, never in a character.

    >>> head("one  two\\nthree", 9)
    'one two'
    """
    line = _one_line(text[: 4 * most_bytes])
    raw = line.encode()
    if len(raw) <= most_bytes:
        return line
    cut = raw[:most_bytes].decode(errors="ignore")
    if line[len(cut)] != " ":
        before, space, rest = cut.rpartition(" ")
        cut = before if space and len(rest) < 40 else cut
    return cut.rstrip()


def tail(text: str, most_bytes: int) -> str:
    """Give the end of a text, cut like `head`.

    >>> tail("one two three", 9)
    'two three'
    """
    line = _one_line(text[-4 * most_bytes :])
    raw = line.encode()
    if len(raw) <= most_bytes:
        return line
    cut = raw[-most_bytes:].decode(errors="ignore")
    if line[-len(cut) - 1] != " ":
        rest, space, after = cut.partition(" ")
        cut = after if space and len(rest) < 40 else cut
    return cut.lstrip()


def _one_line(text: str) -> str:
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def _of_call(conversation: Conversation, call: ToolCall) -> tuple[str, str]:
    """Give what the call says that it is for, and what it was called with."""
    try:
        given = msgspec.json.decode(conversation.arguments(call), type=dict[str, object])
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return "", ""
    native = next((head(value, VALUE_BYTES) for key in REASONS if isinstance(value := given.get(key), str)), "")
    order = [
        *(key for key in FIRST if key in given),
        *(key for key in given if key not in FIRST and key not in REASONS),
    ]
    values: list[str] = []
    for key in order:
        values += (_written(key, value) for value in _strings(given[key], 0))
        if sum(map(len, values)) > MAX_BYTES:
            break
    return native, head(" ".join(value for value in values if value), 2 * VALUE_BYTES)


def _strings(value: object, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth < _MAX_NESTED and isinstance(value, dict):
        for member in value.values():
            yield from _strings(member, depth + 1)
    elif depth < _MAX_NESTED and isinstance(value, list):
        for member in value:
            yield from _strings(member, depth + 1)


def _written(key: str, value: str) -> str:
    """Write one argument; of a pattern its literal pieces, quoted, since they are looked for word for word."""
    is_regex = key in REGEXES or (key in PATTERNS and " " not in value.strip())
    if not is_regex:
        return head(value, VALUE_BYTES)
    pieces = (piece.strip() for piece in _REGEX_SIGNS.sub(_unescaped, value[:LOOKED_AT_CHARS]).split("\0"))
    return head(" ".join(f'"{piece}"' for piece in pieces if len(piece) > 1 and '"' not in piece), VALUE_BYTES)


def _unescaped(match: re.Match[str]) -> str:
    return match[1] if match[1] is not None and match[1] != "|" else "\0"


def _reply_start(conversation: Conversation, message: int) -> int:
    """Index of the first message of a reply, which clients may write as several."""
    while message > 0 and conversation.messages[message - 1].role == "assistant":
        message -= 1
    return message


def _prose(conversation: Conversation, start: int, message: int, call: ToolCall) -> Iterator[str]:
    """What the model says from a message on up to the call."""
    for index in range(start, message + 1):
        for block in conversation.messages[index].blocks:
            if index == message and block == call:
                return
            if isinstance(block, Text) and block.literal.readable:
                yield conversation.text(block.literal)


def _request(conversation: Conversation, before: int) -> str:
    """What a user last said in front of a message, without what harnesses add."""
    for index in range(before - 1, -1, -1):
        message = conversation.messages[index]
        if message.role == "user" and (said := _said(conversation, message)):
            return head(said, REQUEST_BYTES)
    return ""


def _said(conversation: Conversation, message: Message) -> str:
    texts = (
        conversation.text(block.literal)
        for block in message.blocks
        if isinstance(block, Text) and block.literal.readable
    )
    return " ".join(without_injected(text).strip() for text in texts if not is_nobodys(text)).strip()
