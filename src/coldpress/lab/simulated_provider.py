"""Answer the requests of a recording with the usage that a provider's prefix cache would have reported.

Bodies are read as a provider reads them: tools and system prompt first, then block by block, cache marks of the client
and of coldpress alike. Blocks are known by their content, so a changed text changes every prefix behind it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace

import msgspec

from coldpress.lab.blocks import Block
from coldpress.lab.tariffs import Tariff
from coldpress.measure.cache import Piece, PrefixCache
from coldpress.measure.cache_rules import CacheRules, Life
from coldpress.model.usage import Usage


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
class _Read:
    """A content block: its content without the mark, its tokens as counted, and whether a mark stands on it."""

    digest: bytes
    counted: int
    marked: bool


class _Marked(msgspec.Struct):
    cache_control: msgspec.Raw = msgspec.Raw(b"")


class _Message(msgspec.Struct):
    content: str | list[msgspec.Raw]


class _Request(msgspec.Struct):
    model: str
    messages: list[msgspec.Raw]
    system: list[_Marked]


class SimulatedProvider:
    """One provider's cache, filled by the requests of one recording.

    Not modelled: what a real provider evicts early or keeps longer, and the cache's other users, but for what is warm
    of a head when a conversation begins.
    """

    def __init__(
        self,
        rules: CacheRules,
        tariff: Tariff,
        *,
        asked_long: bool,
        count: Callable[[str], int],
        structure_tokens: int,
    ) -> None:
        """Begin empty.

        Args:
            rules: how the provider caches.
            tariff: lifetimes; those of the rules play no part.
            asked_long: whether the client's marks ask for the long lifetime.
            count: tokens of a text.
            structure_tokens: what a call, and its result, count beside their texts, on the same scale.
        """
        self._life: Life = "long" if tariff.is_long(asked=asked_long) else "short"
        self._cache = PrefixCache(rules, short_seconds=tariff.lifetime_seconds)
        self._count = count
        self._structure_tokens = structure_tokens
        self._known: dict[bytes, tuple[_Read, ...]] = {}

    def warm(self, body: bytes, sizes: Sizes, *, at: float) -> None:
        """Put into the cache what is warm of a conversation's head before its first request."""
        if sizes.warm_tokens:
            found = msgspec.json.decode(body, type=_Request)
            warm = replace(self._head(found, sizes)[0], mark=self._life)
            self._cache.send([warm], scope=found.model.encode(), now=at)

    def send(self, body: bytes, sizes: Sizes, *, at: float, answered_at: float, reply: str) -> Usage:
        """Give the buckets of a prompt as the provider would report them; `output` stays unknown.

        Args:
            body: as it arrives at the provider.
            sizes: of its conversation.
            at: when it was sent, in seconds since 1970; not before the last one.
            answered_at: when lifetimes begin and entries can be read.
            reply: the message that came back, JSON text.
        """
        found = msgspec.json.decode(body, type=_Request)
        pieces = self._head(found, sizes)
        for message in found.messages:
            pieces += self._pieces(bytes(message), sizes)
        return self._cache.send(
            pieces,
            scope=found.model.encode(),
            now=at,
            answered_at=answered_at,
            reply=self._pieces(reply.encode(), sizes),
        )

    def counted(self, message: str) -> int:
        """Tokens of a message as counted, JSON text, not scaled."""
        return sum(block.counted for block in self._blocks(message.encode()))

    def _head(self, found: _Request, sizes: Sizes) -> list[Piece]:
        """Cut the head where its warm part ends. All heads of one recording are taken to be alike."""
        mark = self._life if any(bytes(block.cache_control) for block in found.system) else None
        warm = min(sizes.warm_tokens, sizes.head_tokens)
        return [
            Piece(b"head, warm", warm, None, "system"),
            Piece(b"head, the rest", sizes.head_tokens - warm, mark, "system"),
        ]

    def _pieces(self, message: bytes, sizes: Sizes) -> list[Piece]:
        return [
            Piece(block.digest, round(block.counted * sizes.scale), self._life if block.marked else None)
            for block in self._blocks(message)
        ]

    def _blocks(self, message: bytes) -> tuple[_Read, ...]:
        known = self._known.get(message)
        if known is None:
            content = msgspec.json.decode(message, type=_Message).content
            raws = [msgspec.json.encode({"type": "text", "text": content})] if isinstance(content, str) else content
            known = self._known[message] = tuple(self._block(bytes(raw)) for raw in raws)
        return known

    def _block(self, raw: bytes) -> _Read:
        content: dict[str, msgspec.Raw] = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
        marked = content.pop("cache_control", None) is not None
        block = msgspec.json.decode(raw, type=Block)
        structure = self._structure_tokens if block.type in ("tool_use", "tool_result") else 0
        counted = structure + sum(self._count(text) for text in block.texts)
        return _Read(hashlib.sha256(msgspec.json.encode(content)).digest(), counted, marked)
