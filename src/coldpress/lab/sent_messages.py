"""Cut the bodies of a conversation into messages without cache marks, each only behind what the one before has too."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

_MESSAGES: Final = b'"messages":['
_KEY: Final = b'"cache_control"'
_MARK: Final = re.compile(rb',"cache_control":\{[^{}]*\}')
"""A mark as clients and coldpress write it. Inside a JSON string the quotation marks would be escaped."""


class _Request(msgspec.Struct):
    messages: list[msgspec.Raw]


@dataclass(frozen=True, slots=True)
class Cut:
    """The messages of a body, and how many of the first are those of the body before."""

    messages: Sequence[bytes] = field(repr=False)
    same: int


class SentMessages:
    """The bodies of one conversation that were sent, in order."""

    def __init__(self) -> None:
        self._body = b""
        self._ends: list[int] = []
        self._messages: list[bytes] = []

    def cut(self, body: bytes) -> Cut:
        """Cut the next body; the list of the one before must not be looked at any more.

        Raises:
            msgspec.ValidationError: this is no request with messages.
        """
        same = self._shared(body)
        rest = b'{"messages":[' + body[self._ends[same - 1] :] if same else body
        raws = [bytes(raw) for raw in msgspec.json.decode(rest, type=_Request).messages]
        self._ends = _ends(body, self._ends[:same], raws)
        self._body = body
        self._messages = [*self._messages[:same], *(unmarked(raw) for raw in raws)]
        return Cut(self._messages, same)

    def _shared(self, body: bytes) -> int:
        """Say how many messages this body begins with that the one before begins with too, but for its last."""
        most = len(self._ends) - 1  # the last one's mark goes on to the next body's last
        if most <= 0:
            return 0
        before = memoryview(self._body)
        same, differs = 0, most + 1
        at, middle = 0, most
        while same + 1 < differs:
            end = self._ends[middle - 1]
            if body.startswith(before[at:end], at):
                same, at = middle, end
            else:
                differs = middle
            middle = (same + differs) // 2
        return same


def unmarked(message: bytes) -> bytes:
    """Take the cache marks off a message.

    >>> unmarked(b'{"content":[{"text":"a","cache_control":{"type":"ephemeral"}}]}')
    b'{"content":[{"text":"a"}]}'
    """
    return _MARK.sub(b"", message) if _KEY in message else message


def _ends(body: bytes, known: list[int], raws: Sequence[bytes]) -> list[int]:
    """Say where each message and the comma behind it end; nothing where the body is written with spaces."""
    at = known[-1] if known else body.find(_MESSAGES) + len(_MESSAGES)
    for raw in raws:
        if not body.startswith(raw, at):
            return []
        at += len(raw) + 1
        known.append(at)
    return known
