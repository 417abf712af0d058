"""Cut a stream of server-sent events into its events, wherever its chunks are cut, and find the JSON in them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

from coldpress.model.conversation import Span
from coldpress.wire.span import splice

MOST_EVENT_BYTES: Final = 8 << 20
"""A longer event is passed on unread; the longest a provider sends is a tool call's arguments in one piece."""

_BLANK = re.compile(rb"(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r)")
_BETWEEN = re.compile(rb"(?:[\r\n]+|:[^\r\n]*[\r\n]+)+")
_LINE = re.compile(rb"([^\r\n]*)(\r\n|\n|\r|\Z)")
_OVERLAP = 3
"""So many bytes of a blank line may have come before the one that makes it one."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a stream; joined in order, the pieces are the stream.

    `kind` is `event` for a whole event with the blank line that ends it; `between` for comments and blank lines in
    front of an event; `tail` for a line feed that belongs to the event before, whose carriage return came alone; `torn`
    for a part of an event that is too long to be held.
    """

    kind: Literal["event", "between", "tail", "torn"]
    data: bytes


class EventCutter:
    """Takes chunks as they come and gives every event as soon as its blank line is there."""

    __slots__ = ("_after_cr", "_held", "_limit", "_searched", "_torn")

    def __init__(self, *, limit_bytes: int = MOST_EVENT_BYTES) -> None:
        self._limit = limit_bytes
        self._held = bytearray()
        self._searched = 0
        self._after_cr = False
        self._torn: bytes | None = None

    def feed(self, chunk: bytes) -> list[Piece]:
        """Give the pieces that `chunk` completes."""
        found: list[Piece] = []
        if self._torn is not None:
            chunk = self._tear(chunk, self._torn, found)
        if self._after_cr and chunk:
            self._after_cr = False
            if chunk.startswith(b"\n"):
                found.append(Piece("tail", b"\n"))
                chunk = chunk[1:]
        self._held += chunk
        at = 0
        while self._torn is None and at < len(self._held):
            end = self._piece(at, found)
            if end == at:
                break
            at, self._searched = end, end
        del self._held[:at]
        self._searched = max(0, len(self._held) - _OVERLAP)
        return found

    def end(self) -> bytes:
        """Give what came behind the last blank line: an event of its own where the stream came to its end."""
        rest, self._held = bytes(self._held), bytearray()
        return rest

    def _piece(self, at: int, found: list[Piece]) -> int:
        """Take the piece at `at`, and give where it ends; `at` itself where it has not come whole."""
        held = self._held
        between = _BETWEEN.match(held, at)
        if between is not None:
            found.append(Piece("between", between.group()))
            return between.end()
        blank = _BLANK.search(held, max(at, self._searched))
        if blank is not None:
            # Too long is too long, however it was cut: what comes out must not hang on that.
            kind: Literal["event", "torn"] = "event" if blank.end() - at <= self._limit else "torn"
            found.append(Piece(kind, bytes(held[at : blank.end()])))
            self._after_cr = blank.end() == len(held) and held.endswith(b"\r")
            return blank.end()
        if len(held) - at > self._limit:
            found.append(Piece("torn", bytes(held[at:])))
            self._torn = bytes(held[-_OVERLAP:])
            return len(held)
        return at

    def _tear(self, chunk: bytes, before: bytes, found: list[Piece]) -> bytes:
        """Pass on what belongs to the event that is too long; the rest is given back."""
        seen = before + chunk
        blank = _BLANK.search(seen)
        if blank is None:
            self._torn = seen[-_OVERLAP:]
            found.append(Piece("torn", chunk))
            return b""
        self._torn = None
        end = blank.end() - len(before)
        found.append(Piece("torn", chunk[:end]))
        return chunk[end:]


@dataclass(frozen=True, slots=True)
class Put:
    """JSON text to put in the place of a span of an event's data."""

    span: Span
    literal: bytes


@dataclass(frozen=True, slots=True)
class EventData:
    """What an event says.

    Attributes:
        event: its bytes.
        payload: its data lines, joined by line feeds.
        starts: where each data line begins, in the payload and in the event.
        name: what its `event:` line says, white space and all; `None` where it has none.
        bare: nothing but `event:` and `data:` lines stands in it.
        newline: what ends its lines.
    """

    event: bytes
    payload: bytes
    starts: tuple[tuple[int, int], ...]
    name: bytes | None
    bare: bool
    newline: bytes

    def put(self, changes: Iterable[Put]) -> bytes:
        """Give the event with other JSON values in it; a value stands in one line, as no JSON string is broken."""
        return splice(self.event, [Put(self._place(change.span), change.literal) for change in changes])

    def another(self, payload: bytes, *, name: bytes | None = None) -> bytes:
        """Write an event in the manner of this one; it gets a name only where this one has one."""
        head = b"" if self.name is None else b"event:" + (self.name if name is None else b" " + name) + self.newline
        return head + b"data: " + payload + self.newline * 2

    def _place(self, span: Span) -> Span:
        at, start = next(pair for pair in reversed(self.starts) if pair[0] <= span.start)
        return Span(span.start - at + start, span.end - at + start)


def event_data(event: bytes) -> EventData | None:
    """Read the lines of an event; `None` where it has no data."""
    payload: list[bytes] = []
    starts: list[tuple[int, int]] = []
    name: bytes | None = None
    size, bare, newline = 0, True, b""
    for line, ending, at in _lines(event):
        newline = newline or ending  # of the last line half may be missing yet
        if line.startswith(b"data:"):
            starts.append((size, at + 5))
            payload.append(line[5:])
            size += len(line) - 5 + 1
        elif line.startswith(b"event:"):
            name = line[6:]
        elif line:
            bare = False
    return EventData(event, b"\n".join(payload), tuple(starts), name, bare, newline or b"\n") if starts else None


def _lines(event: bytes) -> Iterator[tuple[bytes, bytes, int]]:
    at = 0
    while at < len(event):
        match = _LINE.match(event, at)
        assert match is not None
        yield match[1], match[2], at
        at = match.end()
