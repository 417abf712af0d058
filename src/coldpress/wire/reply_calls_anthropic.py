"""Filter the tool calls in the events of a Messages stream."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from coldpress.model.conversation import Span
from coldpress.wire.call_stream import CallStream, FaultCount, FilterOf, find_filter, read_text, write_text
from coldpress.wire.events import EventData, Put, event_data
from coldpress.wire.format import Source, top_level
from coldpress.wire.reply_calls_json import is_something, message_puts, whole_input
from coldpress.wire.span import Misread

_OPENS = b"tool_use"
_CONCERNS = (_OPENS, b"input_json_delta", b"content_block_stop", b"message_delta", b"message_stop")
_PLAIN = EventData(b"", b"", (), name=b"", bare=True, newline=b"\n")
_DELTA_EVENT = frozenset({"type", "index", "delta"})
_DELTA = frozenset({"type", "partial_json"})


@dataclass(slots=True)
class _Block:
    """A call whose block is open. `stream` is `None` where its whole input came in its first event."""

    name: str
    call_id: str
    stream: CallStream | None


class AnthropicCalls:
    """Takes the events of one stream in order and gives what goes out in the place of each.

    Blocks are told apart by `index`. What a filter holds back goes out in front of the event that ends its block.
    """

    __slots__ = ("_faults", "_filter_of", "_open")

    def __init__(self, filter_of: FilterOf, faults: FaultCount) -> None:
        self._filter_of = filter_of
        self._faults = faults
        self._open: dict[int, _Block] = {}

    def event(self, event: bytes) -> bytes:
        """Give what goes out for an event: itself, itself with another fragment in it, more than itself, or nothing."""
        concerns = any(word in event for word in _CONCERNS) if self._open else _OPENS in event
        data = event_data(event) if concerns else None
        if data is None:
            return event
        try:
            return self._read(data, *top_level(data.payload))
        except Misread:
            if not data.payload.lstrip().startswith(b"{"):
                return event  # an error in words
            self._faults.count += 1
            return self.let_go() + event

    def _read(self, data: EventData, source: Source, fields: dict[str, Span]) -> bytes:
        match source.string(fields.get("type")):
            case "message_start":
                return self._message(data, source, fields)
            case "content_block_start":
                return self._start(data, source, fields)
            case "content_block_delta":
                return self._delta(data, source, fields)
            case "content_block_stop":
                return self._stop(data, _index(source, fields)) + data.event
            case "message_stop":
                return self._stop_all(data) + data.event
            case "message_delta":
                return self._stop_all(data) + data.event if _says_why(source, fields) else data.event
            case _:
                return data.event

    def let_go(self) -> bytes:
        """End every filter, since an event came that could not be read; gives what they had held back."""
        blocks = [(index, block.stream) for index, block in self._open.items() if block.stream is not None]
        self._open.clear()
        return b"".join([_another_delta(_PLAIN, index, stream.give_up()) for index, stream in blocks])

    def _message(self, data: EventData, source: Source, fields: dict[str, Span]) -> bytes:
        """Filter the calls that a server gives whole with the beginning of the message."""
        message = fields.get("message")
        inside = source.members(message) if source.is_object(message) else {}
        return data.put(list(message_puts(source, inside, self._filter_of, self._faults)))

    def _start(self, data: EventData, source: Source, fields: dict[str, Span]) -> bytes:
        index, block = _index(source, fields), fields.get("content_block")
        inside = source.members(block) if source.is_object(block) else {}
        held = self._stop(data, index)  # of a block that a server did not end
        if source.string(inside.get("type")) != "tool_use":
            return held + data.event
        name, call_id = source.string(inside.get("name")) or "", source.string(inside.get("id")) or ""
        given = inside.get("input")
        if source.is_object(given) and source.members(given):
            self._open[index] = _Block(name, call_id, None)
            call_filter = find_filter(self._filter_of, name, call_id, self._faults)
            put = whole_input(source, given, call_filter, self._faults)
            return held + (data.put([put]) if put is not None else data.event)
        self._faults.count += not source.is_object(given) and is_something(source, given)
        self._begin(index, name, call_id)
        return held + data.event

    def _begin(self, index: int, name: str, call_id: str) -> CallStream | None:
        call_filter = find_filter(self._filter_of, name, call_id, self._faults)
        if call_filter is None:
            self._open.pop(index, None)
            return None
        stream = CallStream(call_filter, self._faults)
        self._open[index] = _Block(name, call_id, stream)
        return stream

    def _delta(self, data: EventData, source: Source, fields: dict[str, Span]) -> bytes:
        index, delta = _index(source, fields), fields.get("delta")
        block = self._open.get(index)
        if block is None or not source.is_object(delta):
            return data.event
        inside = source.members(delta)
        fragment = inside.get("partial_json")
        if source.string(inside.get("type")) != "input_json_delta" or not source.is_string(fragment):
            self._faults.count += source.is_object(fragment)
            return data.event
        # Clients take the fragments for the input where both come, so they are filtered from the beginning.
        stream = block.stream or self._begin(index, block.name, block.call_id)
        if stream is None:
            return data.event
        text = read_text(source, fragment)
        out = stream.feed(text)
        if out == text:
            return data.event
        if not out and data.bare and fields.keys() <= _DELTA_EVENT and inside.keys() <= _DELTA:
            return b""
        return data.put([Put(fragment, write_text(out, ascii_only=data.event.isascii()))])

    def _stop(self, data: EventData, index: int) -> bytes:
        block = self._open.pop(index, None)
        if block is None or block.stream is None:
            return b""
        return _another_delta(data, index, block.stream.end())

    def _stop_all(self, data: EventData) -> bytes:
        return b"".join([self._stop(data, index) for index in list(self._open)])


def _another_delta(like: EventData, index: int, text: str) -> bytes:
    if not text:
        return b""
    fragment = msgspec.Raw(write_text(text, ascii_only=like.event.isascii()))
    delta = {"type": "input_json_delta", "partial_json": fragment}
    payload = msgspec.json.encode({"type": "content_block_delta", "index": index, "delta": delta})
    return like.another(payload, name=b"content_block_delta")


def _index(source: Source, fields: dict[str, Span]) -> int:
    """The number of a block; 0 where a server leaves it out."""
    value = source.value(fields["index"]) if "index" in fields else 0
    return value if isinstance(value, int) else 0


def _says_why(source: Source, fields: dict[str, Span]) -> bool:
    """Whether a `message_delta` says why the message ended."""
    delta = fields.get("delta")
    return source.is_object(delta) and source.string(source.members(delta).get("stop_reason")) is not None
