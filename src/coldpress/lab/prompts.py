"""Read the bodies of a recording as a provider reads them, each message once, and name every prefix of each prompt.

Tools and system prompt come first, then block by block; cache marks of the client and of coldpress alike. Blocks are
known by their content, so a changed text changes the name of every prefix behind it. What a body has in common with
the one before it is found by comparing bytes, so that reading costs what is new.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import msgspec

from coldpress.lab.blocks import Block
from coldpress.measure.cache import Chained
from coldpress.measure.cache_rules import Life

_MESSAGES = b'"messages":['


@dataclass(frozen=True, slots=True)
class Sizes:
    """How the texts of one conversation are counted.

    Attributes:
        head_tokens: of tools and system prompt together.
        warm_tokens: of these, what others had left in the cache before the conversation began.
        scale: the provider's tokens for one that is counted.
    """

    head_tokens: int
    warm_tokens: int
    scale: float


@dataclass(frozen=True, slots=True)
class Asked:
    """One prompt, whoever serves it.

    Attributes:
        keys, totals: of its prefixes, see `coldpress.measure.cache.Chained`.
        marked: index of every piece with a cache mark.
        reply: names of the prefixes that go on with the reply.
        warm_key, warm_tokens: the part of its head that others have left in the cache.
    """

    keys: list[bytes] = field(repr=False)
    totals: list[int] = field(repr=False)
    marked: tuple[int, ...]
    reply: tuple[bytes, ...] = field(repr=False)
    warm_key: bytes
    warm_tokens: int

    def chained(self, life: Life) -> Chained:
        """Give it as a cache takes it, with marks of one lifetime."""
        return Chained(self.keys, self.totals, tuple((index, life) for index in self.marked), self.reply)

    def warm(self, life: Life) -> Chained:
        """Give the warm part of its head as a prompt of its own."""
        return Chained([self.warm_key], [self.warm_tokens], ((0, life),))


@dataclass(frozen=True, slots=True)
class _Piece:
    """A content block: its content without the mark, its tokens as counted, and whether a mark stands on it."""

    digest: bytes
    counted: int
    marked: bool


class _Marked(msgspec.Struct):
    cache_control: msgspec.Raw = msgspec.Raw(b"")


class _Message(msgspec.Struct):
    content: str | list[msgspec.Raw]


class _Request(msgspec.Struct):
    messages: list[msgspec.Raw]
    system: list[_Marked]
    model: str = ""


@dataclass(frozen=True, slots=True)
class _Known:
    """The last body of a conversation.

    Attributes:
        body: its bytes, `ends` where each message and the comma behind it end.
        model: that it names.
        keys, totals: of the prefixes up to the end of all its messages.
        pieces: how many of them stand in front of each message.
        marked: by message, the indices of pieces with a mark.
    """

    body: bytes
    ends: list[int]
    model: str
    keys: list[bytes]
    totals: list[int]
    pieces: list[int]
    marked: list[tuple[int, ...]]


class PromptReader:
    """Reads the bodies of one recording.

    Args:
        count: tokens of a text.
        structure_tokens: what a call, and its result, count beside their texts, on the same scale.
    """

    def __init__(self, count: Callable[[str], int], structure_tokens: int) -> None:
        self._count = count
        self._structure_tokens = structure_tokens
        self._pieces_of: dict[bytes, tuple[_Piece, ...]] = {}
        self._last: dict[Sizes, _Known] = {}

    def again(self) -> PromptReader:
        """Give one for another run: it knows the messages that this one has read, and no bodies."""
        found = PromptReader(self._count, self._structure_tokens)
        found._pieces_of = self._pieces_of
        return found

    def read(self, body: bytes, sizes: Sizes, reply: str) -> Asked:
        """Read a request and its reply.

        Args:
            body: as it arrives at the provider; a request that `coldpress.lab.rebuild` wrote, edited or not.
            sizes: of its conversation.
            reply: the message that came back, JSON text.
        """
        known, same = self._begin(body, sizes)
        found = msgspec.json.decode(b'{"messages":[' + body[known.ends[same - 1] :] if same else body, type=_Request)
        messages = [bytes(message) for message in found.messages]
        model = known.model if same else found.model
        warm = min(sizes.warm_tokens, sizes.head_tokens)
        warm_key = _link(hashlib.sha256(model.encode()).digest(), b"head, warm")
        if same:
            cut = known.pieces[same]
            keys, totals = known.keys[:cut], known.totals[:cut]
        else:
            keys, totals = [warm_key, _link(warm_key, b"head, the rest")], [warm, sizes.head_tokens]
        pieces, marked = known.pieces[: same + 1] if same else [2], known.marked[:same]
        for message in messages:
            marks = []
            for piece in self._pieces(message):
                marks += [len(keys)] if piece.marked else []
                keys.append(_link(keys[-1], piece.digest))
                totals.append(totals[-1] + round(piece.counted * sizes.scale))
            pieces.append(len(keys))
            marked.append(tuple(marks))
        ends = _ends(body, known.ends[:same], messages)
        self._last[sizes] = _Known(body, ends, model, keys, totals, pieces, marked)
        has_mark = any(bytes(block.cache_control) for block in found.system)
        every = (*((1,) if has_mark else ()), *(index for marks in marked for index in marks))
        links = accumulate((piece.digest for piece in self._pieces(reply.encode())), _link, initial=keys[-1])
        return Asked(keys, totals, every, tuple(links)[1:], warm_key, warm)

    def counted(self, message: str) -> int:
        """Tokens of a message as counted, JSON text, not scaled."""
        return sum(piece.counted for piece in self._pieces(message.encode()))

    def _begin(self, body: bytes, sizes: Sizes) -> tuple[_Known, int]:
        """Give the last body of the conversation, and how many of its messages this one begins with."""
        known = self._last.get(sizes)
        if known is None:
            return _Known(b"", [], "", [], [], [2], []), 0
        most = len(known.ends) - 1  # its last message has a mark that has gone on since
        if most > 0 and body.startswith(known.body[: known.ends[most - 1]]):
            return known, most
        same = bisect_right(range(most), 0, key=lambda place: not body.startswith(known.body[: known.ends[place]]))
        return known, max(0, same)

    def _pieces(self, message: bytes) -> tuple[_Piece, ...]:
        known = self._pieces_of.get(message)
        if known is None:
            content = msgspec.json.decode(message, type=_Message).content
            raws = [msgspec.json.encode({"type": "text", "text": content})] if isinstance(content, str) else content
            known = self._pieces_of[message] = tuple(self._piece(bytes(raw)) for raw in raws)
        return known

    def _piece(self, raw: bytes) -> _Piece:
        content: dict[str, msgspec.Raw] = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
        marked = content.pop("cache_control", None) is not None
        block = msgspec.json.decode(raw, type=Block)
        structure = self._structure_tokens if block.type in ("tool_use", "tool_result") else 0
        counted = structure + sum(self._count(text) for text in block.texts)
        return _Piece(hashlib.sha256(msgspec.json.encode(content)).digest(), counted, marked)


def _link(key: bytes, digest: bytes) -> bytes:
    """Name the prefix that goes on with a piece."""
    return hashlib.sha256(key + digest).digest()


def _ends(body: bytes, known: list[int], messages: Sequence[bytes]) -> list[int]:
    """Say where each message and the comma behind it end; nothing where the body is written with spaces."""
    at = known[-1] if known else body.find(_MESSAGES) + len(_MESSAGES)
    found = list(known)
    for message in messages:
        if not body.startswith(message, at):
            return []
        at += len(message) + 1
        found.append(at)
    return found
