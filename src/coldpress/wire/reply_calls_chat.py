"""Filter the tool calls in the chunks of a Chat Completions stream, as OpenAI and compatible servers write them."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from coldpress.model.conversation import Span
from coldpress.wire.call_stream import FaultCount, FilterOf, write_text
from coldpress.wire.chat_fragments import EMPTY, LEGACY, Finish, Fragment, Home, steps
from coldpress.wire.events import EventData, Put, event_data
from coldpress.wire.format import Source, top_level
from coldpress.wire.named_stream import NamedStream
from coldpress.wire.span import Misread

_OPENS = (b"tool_calls", b"function_call")
_ENVELOPE = ("id", "object", "created", "model", "system_fingerprint", "service_tier", "provider")
"""What a chunk repeats from chunk to chunk: of usage, padding and the rest there must not be a second copy."""
_CALL = frozenset({"index", "id", "type", "function"})
_FUNCTION = frozenset({"name", "arguments"})
_MOST_LOOKED_AT = 64
"""So many open calls are looked through for whole ones when another begins; where there are more, all wait."""


@dataclass(slots=True)
class _Call:
    """A call that has begun.

    Attributes:
        choice, home, slot: where it stands, as in its fragments.
        stream: its arguments.
        last: the chunk with its last fragment, and where that chunk's values stand.
        repeated_id: its id where the last fragment repeated it, else empty.
    """

    choice: bytes
    home: Home
    slot: bytes
    stream: NamedStream
    last: tuple[EventData, dict[str, Span]]
    repeated_id: str = ""


@dataclass(slots=True)
class _Place:
    """A fragment's string in a chunk, and what is to stand there. `news`: the chunk says a name or an id as well."""

    call: _Call
    span: Span
    text: str
    out: str
    news: bool


@dataclass(slots=True)
class _Chunk:
    """A chunk at hand: where its fragments stand, what is put for whole objects, and what must go out before it."""

    data: EventData
    source: Source
    fields: dict[str, Span]
    places: list[_Place] = field(default_factory=list)
    puts: list[Put] = field(default_factory=list)
    front: list[bytes] = field(default_factory=list)


class ChatCalls:
    """Takes the chunks of one stream in order and gives what goes out in the place of each.

    Calls are told apart by choice, `index` and id, since some servers give every call the index 0, and others no
    index or no id. What a filter holds back goes out in the last fragment of its call where that is still at hand,
    otherwise in a chunk of its own in front of the chunk that ends the call.
    """

    __slots__ = ("_faults", "_filter_of", "_open")

    def __init__(self, filter_of: FilterOf, faults: FaultCount) -> None:
        self._filter_of = filter_of
        self._faults = faults
        self._open: dict[tuple[bytes, Home, bytes], _Call] = {}

    def event(self, event: bytes) -> bytes:
        """Give what goes out for an event: itself, itself with other fragments in it, more than itself, or nothing."""
        if not self._open and not any(word in event for word in _OPENS):
            return event
        data = event_data(event)
        if data is None:
            return event
        if data.payload.strip() == b"[DONE]":
            return self._end_all() + event
        try:
            source, fields = top_level(data.payload)
            found = steps(source, fields, self._faults)
        except Misread:
            if not data.payload.lstrip().startswith(b"{"):
                return event  # an error in words
            self._faults.count += 1
            return self.let_go() + event
        chunk = _Chunk(data, source, fields)
        for step in found:
            if isinstance(step, Finish):
                self._finish(chunk, step.choice)
            else:
                self._take(chunk, step)
        return b"".join(chunk.front) + _written(chunk)

    def let_go(self) -> bytes:
        """End every filter, since an event came that could not be read; gives what they had held back."""
        return b"".join([_another_chunk(call, call.stream.give_up()) for call in self._open.values()])

    def _take(self, chunk: _Chunk, fragment: Fragment) -> None:
        call = self._open.get((fragment.choice, fragment.home, fragment.slot))
        news = call is None or _is_another(call, fragment)
        if call is None or news:
            call = self._begin(chunk, fragment, call)
        else:
            news = call.stream.named(fragment.name)
            call.repeated_id = fragment.call_id if call.stream.call_id else ""
            if fragment.call_id and not call.stream.call_id:
                call.stream.call_id, news = fragment.call_id, True
        call.last = (chunk.data, chunk.fields)
        if fragment.arguments is None:
            return
        if fragment.text is None:
            put = call.stream.put(chunk.source, fragment.arguments)
            chunk.puts += [put] if put is not None else []
            return
        out = call.stream.feed(fragment.text)
        chunk.places.append(_Place(call, fragment.arguments, fragment.text, out, news))

    def _begin(self, chunk: _Chunk, fragment: Fragment, before: _Call | None) -> _Call:
        """Begin a call. The one before in its place has ended, and so has every other that is whole."""
        call_id, name = fragment.call_id, fragment.name
        if before is not None:
            self._end(chunk, before)
            if not name and call_id in ("", before.stream.call_id):  # a server sends the arguments once more
                call_id, name = before.stream.call_id, before.stream.name
        if len(self._open) <= _MOST_LOOKED_AT:
            self._end_whole(chunk, fragment.choice)
        stream = NamedStream(self._filter_of, self._faults, call_id=call_id, name=name)
        call = _Call(fragment.choice, fragment.home, fragment.slot, stream, (chunk.data, chunk.fields))
        self._open[call.choice, call.home, call.slot] = call
        return call

    def _end_whole(self, chunk: _Chunk, choice: bytes) -> None:
        for call in self._open.values():
            if call.choice == choice and not call.stream.done and call.stream.whole:
                self._end(chunk, call)

    def _finish(self, chunk: _Chunk, choice: bytes) -> None:
        for call in [call for call in self._open.values() if call.choice == choice]:
            self._end(chunk, call)
            del self._open[call.choice, call.home, call.slot]

    def _end(self, chunk: _Chunk, call: _Call) -> None:
        rest = call.stream.end()
        place = next((place for place in reversed(chunk.places) if place.call is call), None)
        if place is not None:
            place.out += rest
        else:
            chunk.front.append(_another_chunk(call, rest))

    def _end_all(self) -> bytes:
        found = [_another_chunk(call, call.stream.end()) for call in self._open.values()]
        self._open.clear()
        return b"".join(found)


def _is_another(call: _Call, fragment: Fragment) -> bool:
    """Whether a fragment in the place of a call begins another one, or the same once more."""
    stream = call.stream
    if fragment.call_id and stream.call_id and fragment.call_id != stream.call_id:
        return True
    is_named = bool(fragment.name and stream.name) and not (fragment.call_id and stream.call_id)
    # Where there are no ids, a name behind whole arguments is the only sign.
    return (is_named or fragment.begins_object) and stream.whole


def _written(chunk: _Chunk) -> bytes:
    data = chunk.data
    changed = [place for place in chunk.places if place.out != place.text]
    if not (changed or chunk.puts):
        return data.event
    is_empty = not chunk.puts and len(chunk.places) == 1 and not (changed[0].out or changed[0].news)
    if is_empty and _says_nothing_else(chunk):
        return b""
    ascii_only = data.event.isascii()
    puts = [*chunk.puts, *[Put(place.span, write_text(place.out, ascii_only=ascii_only)) for place in changed]]
    return data.put(sorted(puts, key=lambda put: put.span.start))


def _says_nothing_else(chunk: _Chunk) -> bool:
    """Whether a chunk holds one fragment of one call and nothing beside it that a client would miss."""
    source, fields = chunk.source, chunk.fields
    beside = {key: span for key, span in fields.items() if key not in _ENVELOPE and key != "obfuscation"}
    choices = source.elements(beside.pop("choices"))
    if not chunk.data.bare or len(choices) != 1 or not _all_empty(source, beside):
        return False
    choice = source.members(choices[0])
    choice.pop("index", None)
    inside = choice.pop("delta", None)
    if inside is None:
        return False
    delta = source.members(inside)
    delta.pop("role", None)
    calls = delta.pop("tool_calls", None)
    legacy = delta.pop("function_call", None)
    if not (_all_empty(source, choice) and _all_empty(source, delta)):
        return False
    if calls is None or source.raw(calls) in EMPTY:
        return legacy is not None
    elements = source.elements(calls)
    call = source.members(elements[0])
    function = source.members(call["function"])
    return len(elements) == 1 and legacy is None and call.keys() <= _CALL and function.keys() <= _FUNCTION


def _all_empty(source: Source, fields: dict[str, Span]) -> bool:
    return all(source.raw(span) in EMPTY for span in fields.values())


def _another_chunk(call: _Call, text: str) -> bytes:
    """Write a fragment of a call as a chunk in the manner of the call's last; nothing where there is no text."""
    if not text:
        return b""
    data, fields = call.last
    fragment: dict[str, object] = {"arguments": msgspec.Raw(write_text(text, ascii_only=data.event.isascii()))}
    if call.slot == LEGACY:
        delta: dict[str, object] = {"function_call": fragment}
    else:
        named: dict[str, object] = {"index": msgspec.Raw(call.slot)} if call.slot else {}
        if call.repeated_id:
            # Only where the server does so too: some clients put the ids of fragments together.
            named["id"] = call.repeated_id
        delta = {"tool_calls": [{**named, "function": fragment}]}
    choice = {"index": msgspec.Raw(call.choice), call.home: delta, "finish_reason": None}
    envelope = {
        key: msgspec.Raw(data.payload[span.start : span.end]) for key, span in fields.items() if key in _ENVELOPE
    }
    return data.another(msgspec.json.encode({**envelope, "choices": [choice]}))
