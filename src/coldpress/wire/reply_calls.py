"""Pass a reply on with its tool calls filtered, and every other byte as it came.

Of a stream, every event goes out as soon as it is whole; only of an event whose fragment changes is one JSON string
replaced. A plain JSON reply is held until its end. What cannot be read passes as it is. A reply that breaks off is not
completed: what was held of it is dropped, so that the client never gets half a JSON text for a whole one.
"""

from __future__ import annotations

from typing import Final, Literal

from coldpress.wire.call_stream import FAULTS, CallFilter, FaultCount, FilterOf
from coldpress.wire.events import MOST_EVENT_BYTES, EventCutter, Piece
from coldpress.wire.registry import CALL_FORMATS, FormatName
from coldpress.wire.reply_calls_anthropic import AnthropicCalls
from coldpress.wire.reply_calls_chat import ChatCalls
from coldpress.wire.reply_calls_json import filter_document

__all__ = ["MOST_DOCUMENT_BYTES", "CallFilter", "FilterOf", "ReplyFilter"]

MOST_DOCUMENT_BYTES: Final = 32 << 20
"""A longer JSON reply passes unfiltered, and is counted: a whole reply with a field too many beats none."""

_WHITE = b" \t\r\n"
_BOM = b"\xef\xbb\xbf"
_MOST_BLANK_BYTES = 4096
_EVENT_STARTS = b"deir:"
"""With these letters the lines of an event begin: data, event, id, retry, and comments."""


class ReplyFilter:
    """Feed it every chunk of a reply and send what it gives; `end` gives the rest once the reply is complete.

    Where a reply breaks off, leave `end` uncalled and drop what is held.

    Args:
        format_name: wire format of the exchange; outside `CALL_FORMATS` every reply passes unread.
        content_type: the reply's `content-type`. A first byte that begins a JSON object, or an event, says more.
        filter_of: gives the filter of a call.
        most_event_bytes: events longer than this pass unread; so do fragments in them.
        most_document_bytes: JSON replies longer than this pass unread.
    """

    __slots__ = (
        "_at_start", "_blank", "_calls", "_cutter", "_dropped", "_faults", "_filter_of", "_format", "_held", "_kind",
        "_most", "_says_events", "_tearing",
    )  # fmt: skip

    def __init__(
        self,
        format_name: FormatName,
        content_type: str,
        filter_of: FilterOf,
        *,
        most_event_bytes: int = MOST_EVENT_BYTES,
        most_document_bytes: int = MOST_DOCUMENT_BYTES,
    ) -> None:
        self._format: FormatName = format_name
        self._filter_of = filter_of
        self._faults = FaultCount()
        self._cutter = EventCutter(limit_bytes=most_event_bytes)
        self._calls = (AnthropicCalls if format_name == "anthropic" else ChatCalls)(filter_of, self._faults)
        self._held = bytearray()
        self._most = most_document_bytes
        self._dropped = False
        self._tearing = False
        is_known = format_name in CALL_FORMATS
        self._kind: Literal["open", "events", "document", "unread"] = "open" if is_known else "unread"
        self._says_events = "text/event-stream" in content_type.lower()
        self._at_start = True
        self._blank = b""  # held until it is clear what it stands in front of

    @property
    def faults(self) -> int:
        """How often a filter failed or a reply could not be filtered; the reply went on each time."""
        return self._faults.count

    @property
    def held_bytes(self) -> int:
        """How much of a JSON reply is held for `end`, which takes the longer the more it is."""
        return len(self._held)

    def feed(self, chunk: bytes) -> bytes:
        """Take the next piece of the reply, cut anywhere, and give what goes out now; maybe nothing."""
        if self._kind != "open":
            return self._read(chunk)
        front, chunk = self._look(chunk)
        return front + self._read(chunk) if chunk else front

    def _read(self, chunk: bytes) -> bytes:
        if self._kind == "events":
            return b"".join([self._piece(piece) for piece in self._cutter.feed(chunk)])
        if self._kind == "document":
            return self._hold(chunk)
        return chunk

    def end(self) -> bytes:
        """Give the rest of a complete reply."""
        if self._kind == "document":
            body, self._held = bytes(self._held), bytearray()
            return self._document(body)
        if self._kind == "open":
            return self._blank
        rest = self._cutter.end()
        return self._event(rest) if rest else b""

    def _look(self, chunk: bytes) -> tuple[bytes, bytes]:
        """Decide by the first byte what comes; gives what goes out at once, and what is to be read.

        A byte order mark and white space in front of it go out: some servers wait with it. Only blanks that may stand
        at the beginning of an event's line wait for the rest of it.
        """
        chunk, self._blank, front = self._blank + chunk, b"", b""
        if self._at_start:
            if len(chunk) < len(_BOM) and _BOM.startswith(chunk):
                self._blank = chunk
                return b"", b""
            self._at_start = False
            if chunk.startswith(_BOM):
                front, chunk = _BOM, chunk[len(_BOM) :]
        begins = chunk.lstrip(_WHITE)[:1]
        if begins == b"{":
            self._kind = "document"
        elif begins or len(chunk) > _MOST_BLANK_BYTES:
            self._kind = "events" if self._says_events or begins in _EVENT_STARTS else "unread"
        else:
            at = max(chunk.rfind(b"\n"), chunk.rfind(b"\r")) + 1 if self._says_events else len(chunk)
            self._blank = chunk[at:]
            return front + chunk[:at], b""
        return front, chunk

    def _hold(self, chunk: bytes) -> bytes:
        front = b""
        if not self._held:
            at = len(chunk) - len(chunk.lstrip(_WHITE))
            front, chunk = chunk[:at], chunk[at:]
        self._held += chunk
        if len(self._held) <= self._most:
            return front
        self._kind = "unread"
        self._faults.count += 1
        body, self._held = bytes(self._held), bytearray()
        return front + body

    def _document(self, body: bytes) -> bytes:
        try:
            return filter_document(body, self._format, self._filter_of, self._faults)
        except FAULTS:
            self._faults.count += 1
            return body

    def _piece(self, piece: Piece) -> bytes:
        if piece.kind == "event":
            self._tearing = False
            return self._event(piece.data)
        if piece.kind == "tail":
            return b"" if self._dropped else piece.data
        if piece.kind == "torn":
            return self._torn(piece.data)
        return piece.data  # between events

    def _event(self, event: bytes) -> bytes:
        try:
            out = self._calls.event(event)
        except FAULTS:
            self._faults.count += 1
            out = event
        self._dropped = not out
        return out

    def _torn(self, data: bytes) -> bytes:
        """A piece of an event too long to be held: what is held of calls goes out in front of its first piece."""
        self._dropped = False
        if self._tearing:
            return data
        self._tearing = True
        self._faults.count += 1
        return self._calls.let_go() + data
