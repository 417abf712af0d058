"""Put a member of our own beside a client's in the body of a request; every byte of the client's stays."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from coldpress.model.conversation import Span
from coldpress.wire.span import Patch

_WHITE = b" \t\r\n"


@dataclass(frozen=True, slots=True)
class Addition:
    """JSON text to put between two bytes of a body: `span` has no length."""

    span: Span
    literal: bytes


def member(body: bytes, key: str, value: bytes) -> Addition:
    """Give what adds a member at the end of the body's object.

    Args:
        body: a JSON object that has members, none of them `key`.
        key: of plain ASCII letters and underscores.
        value: JSON text.
    """
    end = len(body.rstrip(_WHITE)) - 1
    return Addition(Span(end, end), b',"' + key.encode() + b'":' + value)


def element(body: bytes, array: Span, value: bytes) -> Addition:
    """Give what adds an element at the end of the array at `array`; `value` is JSON text."""
    inner = body[array.start + 1 : array.end - 1].strip(_WHITE)
    end = array.end - 1
    return Addition(Span(end, end), (b"," if inner else b"") + value)


def places(patches: Iterable[Patch]) -> tuple[Span, ...]:
    """Say where additions stand in the body that comes of splicing in these patches, in ascending order."""
    found, grown = [], 0
    for patch in patches:
        start = patch.span.start + grown
        if isinstance(patch, Addition):
            found.append(Span(start, start + len(patch.literal)))
        grown += len(patch.literal) - len(patch.span)
    return tuple(found)


def without(body: bytes, added: Iterable[Span]) -> bytes:
    """Give a body as it is without what was added at these places."""
    pieces, at = [], 0
    for span in added:
        pieces.append(body[at : span.start])
        at = span.end
    return b"".join((*pieces, body[at:])) if pieces else body
