"""Filter the tool calls in the chunks of a Chat Completions stream, as OpenAI and compatible servers write them."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from coldpress.model.conversation import Span
from coldpress.wire.call_stream import CallStream, FaultCount, FilterOf, find_filter, read_text, write_text
from coldpress.wire.events import EventData, Put, event_data
from coldpress.wire.format import Source, top_level
from coldpress.wire.span import Misread

_OPENS = (b"tool_calls", b"function_call")
_LEGACY = b"function_call"
_ENVELOPE = ("id", "object", "created", "model", "system_fingerprint", "service_tier", "provider")
"""What a chunk repeats from chunk to chunk: of usage, padding and the rest there must not be a second copy."""
_CALL = frozenset({"index", "id", "type", "function"})
_FUNCTION = frozenset({"name", "arguments"})
_EMPTY = (b"null", b'""', b"[]")


@dataclass(slots=True)
class _Call:
    """A call that has begun.

    Attributes:
        choice: JSON of the choice's index.
        slot: JSON of the call's own index, empty where the server gives none; `_LEGACY` for the one without any.
        repeated_id: its id where the last fragment repeated it, else empty.
        last: the chunk with its last fragment, and where that chunk's values stand.
    """

    choice: bytes
    slot: bytes
    call_id: str
    name: str
    stream: CallStream
    last: tuple[EventData, dict[str, Span]]
    repeated_id: str = ""


@dataclass(frozen=True, slots=True)
class _Fragment:
    """What a chunk says of a call; `arguments` is where its piece of the arguments stands, if there is one."""

    choice: bytes
    slot: bytes
    call_id: str
    name: str
    arguments: Span | None
    text: str


@dataclass(frozen=True, slots=True)
class _Finish:
    """A choice has ended."""

    choice: bytes


@dataclass(slots=True)
class _Place:
    """A fragment's string in a chunk, and what is to stand there. `first`: the call begins with it."""

    call: _Call
    span: Span
    text: str
    out: str
    first: bool


@dataclass(slots=True)
class _Chunk:
    """A chunk at hand: where its fragments stand, and what must go out before it."""

    data: EventData
    source: Source
    fields: dict[str, Span]
    places: list[_Place] = field(default_factory=list)
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
        self._open: dict[tuple[bytes, bytes], _Call] = {}

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
            steps = _steps(source, fields)
        except Misread:
            if not data.payload.lstrip().startswith(b"{"):
                return event  # an error in words
            self._faults.count += 1
            return self.let_go() + event
        chunk = _Chunk(data, source, fields)
        for step in steps:
            if isinstance(step, _Finish):
                self._finish(chunk, step.choice)
            else:
                self._take(chunk, step)
        return b"".join(chunk.front) + _written(chunk)

    def let_go(self) -> bytes:
        """End every filter, since an event came that could not be read; gives what they had held back."""
        calls = list(self._open.values())
        self._open.clear()
        return b"".join([_another_chunk(call, call.stream.give_up()) for call in calls])

    def _take(self, chunk: _Chunk, fragment: _Fragment) -> None:
        call = self._open.get((fragment.choice, fragment.slot))
        first = call is None or _is_another(call, fragment)
        if call is None or first:
            call = self._begin(chunk, fragment, call)
        elif fragment.name and not call.name and not call.stream.begun:
            call.name = fragment.name
            call.stream = self._stream(call.name, call.call_id)
        if not first:
            call.repeated_id = fragment.call_id
        call.last = (chunk.data, chunk.fields)
        if fragment.arguments is not None:
            out = call.stream.feed(fragment.text)
            chunk.places.append(_Place(call, fragment.arguments, fragment.text, out, first))

    def _begin(self, chunk: _Chunk, fragment: _Fragment, before: _Call | None) -> _Call:
        """Begin a call. The one before in its place has ended, and so has every other that is whole."""
        for other in list(self._open.values()):
            if other is before or (other.choice == fragment.choice and not other.stream.done and other.stream.whole):
                self._end(chunk, other)
        call = _Call(
            fragment.choice,
            fragment.slot,
            fragment.call_id,
            fragment.name,
            self._stream(fragment.name, fragment.call_id),
            (chunk.data, chunk.fields),
        )
        self._open[call.choice, call.slot] = call
        return call

    def _stream(self, name: str, call_id: str) -> CallStream:
        """Ask for the filter of a call; one that has no name yet has none."""
        call_filter = find_filter(self._filter_of, name, call_id, self._faults) if name else None
        return CallStream(call_filter, self._faults)

    def _finish(self, chunk: _Chunk, choice: bytes) -> None:
        for call in [call for call in self._open.values() if call.choice == choice]:
            self._end(chunk, call)
            del self._open[call.choice, call.slot]

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


def _steps(source: Source, fields: dict[str, Span]) -> list[_Fragment | _Finish]:
    """Read what a chunk says of calls, in order; raises `Misread`."""
    found: list[_Fragment | _Finish] = []
    choices = fields.get("choices")
    for span in source.elements(choices) if source.is_array(choices) else []:
        choice = source.members(span)
        number = source.raw(choice["index"]) if "index" in choice else b"0"
        delta = choice.get("delta")
        inside = source.members(delta) if source.is_object(delta) else {}
        found += _fragments(source, number, inside)
        if source.string(choice.get("finish_reason")):
            found.append(_Finish(number))
    return found


def _fragments(source: Source, choice: bytes, delta: dict[str, Span]) -> list[_Fragment]:
    found: list[_Fragment] = []
    calls, legacy = delta.get("tool_calls"), delta.get("function_call")
    for span in source.elements(calls) if source.is_array(calls) else []:
        call = source.members(span)
        function = call.get("function")
        if source.is_object(function):
            slot = source.raw(call["index"]) if "index" in call else b""
            call_id = source.string(call.get("id")) or ""
            found.append(_fragment(source, choice, slot, call_id, source.members(function)))
    if source.is_object(legacy):
        found.append(_fragment(source, choice, _LEGACY, "", source.members(legacy)))
    return found


def _fragment(source: Source, choice: bytes, slot: bytes, call_id: str, function: dict[str, Span]) -> _Fragment:
    arguments = function.get("arguments")
    name = source.string(function.get("name")) or ""
    if not source.is_string(arguments):
        return _Fragment(choice, slot, call_id, name, None, "")
    return _Fragment(choice, slot, call_id, name, arguments, read_text(source, arguments))


def _is_another(call: _Call, fragment: _Fragment) -> bool:
    """Whether a fragment in the place of a call begins another one."""
    if fragment.call_id and call.call_id:
        return fragment.call_id != call.call_id
    # Where there are no ids, a name behind whole arguments is the only sign.
    return bool(fragment.name) and call.stream.whole


def _written(chunk: _Chunk) -> bytes:
    data = chunk.data
    changed = [place for place in chunk.places if place.out != place.text]
    if not changed:
        return data.event
    if len(chunk.places) == 1 and not changed[0].out and not changed[0].first and _says_nothing_else(chunk):
        return b""
    ascii_only = data.event.isascii()
    puts = [Put(place.span, write_text(place.out, ascii_only=ascii_only)) for place in changed]
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
    delta = source.members(choice.pop("delta"))
    delta.pop("role", None)
    calls = delta.pop("tool_calls", None)
    legacy = delta.pop("function_call", None)
    if not (_all_empty(source, choice) and _all_empty(source, delta)):
        return False
    if calls is None or source.raw(calls) in _EMPTY:
        return legacy is not None
    elements = source.elements(calls)
    call = source.members(elements[0])
    function = source.members(call["function"])
    return len(elements) == 1 and legacy is None and call.keys() <= _CALL and function.keys() <= _FUNCTION


def _all_empty(source: Source, fields: dict[str, Span]) -> bool:
    return all(source.raw(span) in _EMPTY for span in fields.values())


def _another_chunk(call: _Call, text: str) -> bytes:
    """Write a fragment of a call as a chunk in the manner of the call's last; nothing where there is no text."""
    if not text:
        return b""
    data, fields = call.last
    fragment: dict[str, object] = {"arguments": msgspec.Raw(write_text(text, ascii_only=data.event.isascii()))}
    if call.slot == _LEGACY:
        delta: dict[str, object] = {"function_call": fragment}
    else:
        named: dict[str, object] = {"index": msgspec.Raw(call.slot)} if call.slot else {}
        if call.repeated_id:
            # Only where the server does so too: some clients put the ids of fragments together.
            named["id"] = call.repeated_id
        delta = {"tool_calls": [{**named, "function": fragment}]}
    choice = {"index": msgspec.Raw(call.choice), "delta": delta, "finish_reason": None}
    envelope = {
        key: msgspec.Raw(data.payload[span.start : span.end]) for key, span in fields.items() if key in _ENVELOPE
    }
    return data.another(msgspec.json.encode({**envelope, "choices": [choice]}))
