"""Find where values stand in a JSON text, and put other string literals in their place.

A compiled decoder says how long each value is; where it stands follows from the order of the values and the
few bytes between them. Nothing here scans inside a value. A text that does not line up, such as an object
that repeats a key, is refused with `Misread`: the caller then leaves it alone.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from typing import Protocol

import msgspec

from coldpress.model.conversation import Span

Buffer = bytes | memoryview


class Misread(ValueError):
    """The text is not JSON of the expected shape, or its values cannot be located without doubt."""


_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ARRAY = msgspec.json.Decoder(list[msgspec.Raw])
_OPENINGS_KEPT = 1024
_SPACE = re.compile(rb"[ \t\r\n]*")
_MEMBER = re.compile(rb'[ \t\r\n]*("[^"\\]*(?:\\.[^"\\]*)*")[ \t\r\n]*:[ \t\r\n]*', re.DOTALL)
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)


def members(text: bytes, span: Span, base: int = 0) -> dict[str, Span]:
    """Locate the values of the JSON object at `span`, by key, in the order of the text.

    Args:
        text: JSON text.
        span: where the object stands.
        base: the offset that spans give to the first byte of `text`.

    Raises:
        Misread: it is not an object, or it repeats a key.
    """
    raws = _decode_object(memoryview(text)[span.start - base : span.end - base])
    return _compact_members(text, span, base, raws) or _any_members(text, span, base, raws)


def _compact_members(text: bytes, span: Span, base: int, raws: dict[str, msgspec.Raw]) -> dict[str, Span] | None:
    """Locate the values where the object is written as most clients do, without spaces; `None` where it is not.

    It saves a third of the time. A key that is repeated is left to `_any_members` as well.
    """
    found: dict[str, Span] = {}
    at = span.start - base
    for key, raw in raws.items():
        opening = _opening(key)
        start = at + 1 + len(opening)
        end = start + len(raw)
        if not (text.startswith(opening, at + 1) and text.startswith(raw, start)):  # compares, copies nothing
            return None
        found[key] = Span(start + base, end + base)
        at = end
        if text[at] != 0x2C:
            break
    is_whole = len(found) == len(raws) and text[at] == 0x7D and at + 1 == span.end - base
    return found if is_whole else None


@functools.lru_cache(_OPENINGS_KEPT)
def _opening(key: str) -> bytes:
    """Write a key as clients do, where nothing in it has to be escaped."""
    return b'"%b":' % key.encode()


def _any_members(text: bytes, span: Span, base: int, raws: dict[str, msgspec.Raw]) -> dict[str, Span]:
    found: dict[str, Span] = {}
    at = _skip(text, span.start - base) + 1
    while True:
        opening = _MEMBER.match(text, at)
        if opening is None:
            at = _skip(text, at)
            if text[at] == 0x7D and not found:
                break
            raise Misread(f"no key at byte {at}")
        key = _key(opening[1])
        raw = raws.get(key)
        if raw is None or key in found:
            raise Misread(f"key {key!r} is repeated")
        start, value = opening.end(), bytes(raw)
        at = start + len(value)
        if text[start:at] != value:
            raise Misread(f"the value of {key!r} is not where it should be: the key is repeated")
        found[key] = Span(start + base, at + base)
        if text[at] != 0x2C:  # clients write compact JSON
            at = _skip(text, at)
            if text[at] == 0x7D:
                break
            if text[at] != 0x2C:
                raise Misread(f"no comma at byte {at}")
        at += 1
    if len(found) != len(raws) or _skip(text, at + 1) < span.end - base:
        raise Misread("the object holds more than was located")
    return found


def elements(text: bytes, span: Span, base: int = 0) -> list[Span]:
    """Locate the elements of the JSON array at `span`, in order; arguments as for `members`.

    Raises:
        Misread: it is not an array.
    """
    try:
        raws = _ARRAY.decode(memoryview(text)[span.start - base : span.end - base])
    except (msgspec.MsgspecError, RecursionError) as error:
        raise Misread(str(error)) from error
    found: list[Span] = []
    at = _skip(text, span.start - base) + 1
    for raw in raws:
        start = _skip(text, at)
        end = start + len(raw)
        found.append(Span(start + base, end + base))
        at = _skip(text, end)
        if text[at] not in b",]":
            raise Misread(f"no comma at byte {at}")
        at += 1
    return found


def mask_lone_surrogates(text: bytes) -> bytes:
    r"""Give `text` with every lone surrogate escape (`\ud83d` without its half) replaced by `\ufffd`.

    The replacement has the same length, so every span holds for both. JavaScript clients that cut a
    text in the middle of an emoji write such escapes; compiled decoders refuse them.
    """
    return _ESCAPE.sub(lambda m: b"\\ufffd" if m.group(1) else m.group(), text)


class Patch(Protocol):
    """JSON text to put in the place of a span; between two bytes where the span has no length."""

    @property
    def span(self) -> Span:
        """What is replaced."""

    @property
    def literal(self) -> bytes:
        """What takes its place."""


def splice(body: bytes, edits: Iterable[Patch]) -> bytes:
    """Put every edit's literal in the place of its span; the very same object where there is none.

    Args:
        body: the client's bytes.
        edits: in ascending order of their spans, which do not overlap.

    Raises:
        ValueError: they are in another order, or overlap: what came out would be no request any more.
    """
    pieces: list[Buffer] = []
    view, at = memoryview(body), 0
    for edit in edits:
        if edit.span.start < at:
            raise ValueError(f"an edit at byte {edit.span.start} begins before the last one ends, at {at}")
        pieces.append(view[at : edit.span.start])
        pieces.append(edit.literal)
        at = edit.span.end
    if not pieces:
        return body
    pieces.append(view[at:])
    return b"".join(pieces)


def _decode_object(text: memoryview) -> dict[str, msgspec.Raw]:
    try:
        return _OBJECT.decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise Misread(str(error)) from error


def _skip(text: bytes, at: int) -> int:
    if at < len(text) and text[at] > 0x20:  # the usual case: clients write compact JSON
        return at
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _key(literal: bytes) -> str:
    if b"\\" not in literal:
        return literal[1:-1].decode()
    return msgspec.json.decode(literal, type=str)
