"""Find members and elements in JSON text by their bytes, for text that is copied and never decoded.

A JSON decoder would refuse lone surrogates, which a client's words may hold. But for these the text is valid JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from coldpress.model.conversation import Span

_TOKEN: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{},:]', re.DOTALL)
_SPACE: Final = b" \t\r\n"


def elements(text: bytes, span: Span) -> Iterator[Span]:
    """Give the place of every element of an array, or of every `key: value` of an object, in order.

    Args:
        text: what holds the JSON value.
        span: place of the value in it, which begins with its bracket.

    >>> [b'[1, "a,b", {"c": [2]}]'[s.start : s.end] for s in elements(b'[1, "a,b", {"c": [2]}]', Span(0, 22))]
    [b'1', b'"a,b"', b'{"c": [2]}']
    """
    depth, start = 0, span.start + 1
    for token in _TOKEN.finditer(text, span.start, span.end):
        sign = token[0]
        if sign in (b"[", b"{"):
            depth += 1
        elif sign in (b"]", b"}"):
            depth -= 1
        if (sign == b"," and depth == 1) or depth == 0:
            found = _stripped(text, start, token.start())
            if len(found):
                yield found
            start = token.end()
        if depth == 0:
            return


def members(text: bytes, span: Span) -> dict[bytes, Span]:
    """Give the place of every value of an object by its key, as the key is written without its quotes.

    >>> members(b'{"a" : [1]}', Span(0, 11))
    {b'a': Span(start=7, end=10)}
    """
    found: dict[bytes, Span] = {}
    for member in elements(text, span):
        key = _TOKEN.match(text, member.start, member.end)
        if key is not None:
            colon = text.index(b":", key.end(), member.end)
            found[key[0][1:-1]] = _stripped(text, colon + 1, member.end)
    return found


def depth_at(text: bytes, span: Span, place: int) -> int:
    """Say how many arrays and objects of a value are open at a place in it; 1 is the value's own level."""
    depth = 0
    for token in _TOKEN.finditer(text, span.start, place):
        depth += (token[0] in (b"[", b"{")) - (token[0] in (b"]", b"}"))
    return depth


def _stripped(text: bytes, start: int, end: int) -> Span:
    while start < end and text[start] in _SPACE:
        start += 1
    while end > start and text[end - 1] in _SPACE:
        end -= 1
    return Span(start, end)
