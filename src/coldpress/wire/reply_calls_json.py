"""Filter the tool calls of a reply that comes as one JSON document."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from coldpress.model.conversation import Span
from coldpress.wire.call_stream import FAULTS, CallFilter, FaultCount, FilterOf, find_filter, read_text, write_text
from coldpress.wire.events import Put
from coldpress.wire.format import Source, top_level
from coldpress.wire.registry import FormatName
from coldpress.wire.span import Misread, splice

_CALLS = (b"tool_use", b"tool_calls", b"function_call")
_NOTHING = (b"null", b'""')
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])


def filter_document(body: bytes, format_name: FormatName, filter_of: FilterOf, faults: FaultCount) -> bytes:
    """Give a reply with filtered calls; the very same object where nothing changes, or it is no JSON object.

    One that cannot be read is counted where it may hold a call.
    """
    try:
        source, fields = top_level(body)
        walk = message_puts if format_name == "anthropic" else _chat
        return splice(body, list(walk(source, fields, filter_of, faults)))
    except Misread:
        faults.count += any(word in body for word in _CALLS)
        return body


def whole_input(source: Source, given: Span, call_filter: CallFilter | None, faults: FaultCount) -> Put | None:
    """Filter arguments that stand as a JSON object; `None` where they stay.

    What comes out must be an object again: everything else stays as the model wrote it, and is counted.
    """
    text = source.raw(given).decode()
    out = _filtered(call_filter, text, faults)
    if out is None or out == text:
        return None
    literal = out.encode("utf-8", "surrogatepass")
    try:
        _OBJECT.decode(literal)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        faults.count += 1
        return None
    return Put(given, literal)


def _whole_text(source: Source, given: Span, call_filter: CallFilter | None, faults: FaultCount) -> Put | None:
    text = read_text(source, given)
    out = _filtered(call_filter, text, faults)
    if out is None or out == text:
        return None
    return Put(given, write_text(out, ascii_only=source.body.isascii()))


def _filtered(call_filter: CallFilter | None, text: str, faults: FaultCount) -> str | None:
    """Send a whole text through a filter; `None` where there is none, or it fails."""
    if call_filter is None:
        return None
    try:
        return call_filter.feed(text) + call_filter.end()
    except FAULTS:
        faults.count += 1
        return None


def message_puts(source: Source, fields: dict[str, Span], filter_of: FilterOf, faults: FaultCount) -> Iterator[Put]:
    """Filter the calls of a message of the Messages format, whose members are given; raises `Misread`."""
    for block in _objects(source, fields.get("content")):
        given = block.get("input")
        if source.string(block.get("type")) != "tool_use":
            continue
        if not source.is_object(given):
            faults.count += is_something(source, given)
            continue
        name, call_id = source.string(block.get("name")) or "", source.string(block.get("id")) or ""
        put = whole_input(source, given, find_filter(filter_of, name, call_id, faults), faults)
        if put is not None:
            yield put


def is_something(source: Source, given: Span | None) -> bool:
    """Whether a value that cannot be filtered may hold arguments."""
    return given is not None and source.raw(given) not in _NOTHING


def _chat(source: Source, fields: dict[str, Span], filter_of: FilterOf, faults: FaultCount) -> Iterator[Put]:
    for choice in _objects(source, fields.get("choices")):
        puts: list[Put | None] = []
        for home in (choice.get("message"), choice.get("delta")):
            inside = source.members(home) if source.is_object(home) else {}
            for call in _objects(source, inside.get("tool_calls")):
                call_id = source.string(call.get("id")) or ""
                puts.append(_function(source, call.get("function"), call_id, filter_of, faults))
            puts.append(_function(source, inside.get("function_call"), "", filter_of, faults))
        yield from sorted([put for put in puts if put is not None], key=lambda put: put.span.start)


def _function(
    source: Source, function: Span | None, call_id: str, filter_of: FilterOf, faults: FaultCount
) -> Put | None:
    if not source.is_object(function):
        return None
    fields = source.members(function)
    given = fields.get("arguments")
    is_text, is_object = source.is_string(given), source.is_object(given)
    if given is None or not (is_text or is_object):
        faults.count += is_something(source, given)
        return None
    call_filter = find_filter(filter_of, source.string(fields.get("name")) or "", call_id, faults)
    # The format says a string; some servers give the object itself.
    return (_whole_text if is_text else whole_input)(source, given, call_filter, faults)


def _objects(source: Source, span: Span | None) -> Iterator[dict[str, Span]]:
    """The members of every object in an array; nothing where there is no array."""
    if not source.is_array(span):
        return
    for element in source.elements(span):
        if source.is_object(element):
            yield source.members(element)
