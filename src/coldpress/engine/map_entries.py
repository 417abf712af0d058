"""Write lists of keys and values back as the maps they stand for, in the text of a value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from coldpress.engine.json_bytes import elements
from coldpress.engine.json_text import string_of
from coldpress.engine.open_maps import Every, MapPath, Step
from coldpress.model.conversation import Span

_STRING: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_COLON: Final = re.compile(rb"[ \t\r\n]*:[ \t\r\n]*")
_KEPT_TREES: Final = 1_024
"""Tools whose tree is kept. A tree is some hundred bytes."""


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a call's arguments, and the places below it that lead to a translated map.

    Attributes:
        is_map: a list of keys and values stands here for a map.
        below: by step.
    """

    is_map: bool
    below: Mapping[Step, Place]


@lru_cache(maxsize=_KEPT_TREES)
def places(maps: tuple[MapPath, ...]) -> Place:
    """Give the top of the arguments, with what lies below it, for the paths of a tool's maps."""
    steps = dict.fromkeys(path[0] for path in maps if path)
    below = {step: places(tuple(path[1:] for path in maps if path and path[0] == step)) for step in steps}
    return Place(() in maps, below)


def with_maps(text: str, place: Place) -> str:
    r"""Put a map in the place of every list of keys and values, where a translated map stands.

    Keys keep their order and their spelling, and values every byte. Passed on as it came is what is no such list: an
    object (the model wrote the map itself), a list with a key twice, an entry with more or less than a string `key`
    and a `value`.

    Args:
        text: valid JSON text of the value at `place`.
        place: of the value.

    >>> env = places((("env",),)).below["env"]
    >>> with_maps('[{"key": "A", "value": 1.0}, {"value": "x", "key": "\\u0042"}]', env)
    '{"A":1.0,"\\u0042":"x"}'
    >>> with_maps('[{"key": "A", "value": 1}, {"key": "A", "value": 2}]', env)
    '[{"key": "A", "value": 1}, {"key": "A", "value": 2}]'
    """
    raw = text.encode(errors="surrogatepass")
    value = Span(len(raw) - len(raw.lstrip()), len(raw.rstrip()))
    changed = _rewritten(raw, value, place)
    return b"".join((raw[: value.start], changed, raw[value.end :])).decode(errors="surrogatepass")


def _rewritten(raw: bytes, span: Span, place: Place) -> bytes:
    sign = raw[span.start : span.start + 1]
    whole = raw[span.start : span.end]
    if place.is_map:
        return whole if sign != b"[" else _map(raw, span, place.below.get(Every.ENTRY)) or whole
    if sign == b"{":
        found = ((pair.value, place.below.get(string_of(pair.literal) or "")) for pair in _pairs(raw, span))
    elif sign == b"[" and Every.ITEM in place.below:
        found = ((element, place.below[Every.ITEM]) for element in elements(raw, span))
    else:
        return whole
    return _spliced(raw, span, ((at, below) for at, below in found if below is not None))


def _spliced(raw: bytes, span: Span, inner: Iterable[tuple[Span, Place]]) -> bytes:
    pieces, at = list[bytes](), span.start
    for place_span, place in inner:
        pieces += raw[at : place_span.start], _rewritten(raw, place_span, place)
        at = place_span.end
    return b"".join((*pieces, raw[at : span.end]))


def _map(raw: bytes, span: Span, below: Place | None) -> bytes | None:
    """Give the map for a list; `None` where it is no list of entries with each key once."""
    written: dict[str, bytes] = {}
    for element in elements(raw, span):
        entry = _entry(raw, element)
        key = None if entry is None else string_of(entry.literal)
        if entry is None or key is None or key in written:
            return None
        value = raw[entry.value.start : entry.value.end] if below is None else _rewritten(raw, entry.value, below)
        written[key] = entry.literal + b":" + value
    return b"{" + b",".join(written.values()) + b"}"


@dataclass(frozen=True, slots=True)
class _Pair:
    literal: bytes
    value: Span


def _entry(raw: bytes, span: Span) -> _Pair | None:
    """Give an entry's key as it is written, whatever it is, and the place of its value."""
    if raw[span.start : span.start + 1] != b"{":
        return None
    found = [(string_of(pair.literal), pair.value) for pair in _pairs(raw, span)]
    named = dict(found)
    if len(found) != 2 or named.keys() != {"key", "value"}:
        return None
    key = named["key"]
    return _Pair(raw[key.start : key.end], named["value"])


def _pairs(raw: bytes, span: Span) -> Iterator[_Pair]:
    """Give the members of an object, repeated keys too."""
    for member in elements(raw, span):
        key = _STRING.match(raw, member.start, member.end)
        colon = key and _COLON.match(raw, key.end(), member.end)
        if key and colon:
            yield _Pair(key[0], Span(colon.end(), member.end))
