"""Read request bodies, parsing only what an earlier request of the same conversation did not hold.

An agent's next request repeats the bytes of the last one and adds to them. For every conversation a checkpoint
remembers how long a prefix was read, the hash of its bytes and what was found in it. The next body is hashed
once from its start; where a checkpoint's hash comes up, parsing begins there. Clients move cache marks among
their last messages, so a checkpoint ends before the first of those that carries one.

Checkpoints are found through the hash of the body's first 2**k bytes, for every k: conversations that share
only their beginning do not get in each other's way, however many there are.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import xxhash

from coldpress.model.conversation import Conversation, Message, Span, Text
from coldpress.model.identity import chain_seed
from coldpress.wire.format import Source, Turn, read_messages, top_level
from coldpress.wire.head import NO_SYSTEM, Parts, System, read_parts, read_system
from coldpress.wire.layout import Layout, layout_of, message_spans
from coldpress.wire.registry import FORMATS, NO_ADDRESS, Address, FormatName
from coldpress.wire.span import Misread

MARKED_MESSAGES = 8
"""Among so many last messages a client may move its cache marks from turn to turn."""

_SMALLEST_POWER = 8
_PER_BUCKET = 8
_MEMO_BYTES = 64
_MEMO_ENTRIES = 256
_MARK_KEYS = (b'"cache_control"', b'"prompt_cache_breakpoint"')
_LEADING_SYSTEM: dict[FormatName, str] = {"openai_chat": "system", "openai_responses": "leading"}
"""Where system messages at the very front are kept: Responses has a text beside the messages as well."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Checkpoint(Generic[T]):
    """What was read of a prefix.

    `layout` is how the body is written. `length` is in bytes and ends right behind the last of `messages`. `tools` is
    where the list of tools stands, if it stands in front of them. `extra` is the caller's own.
    """

    format: FormatName
    layout: Layout
    length: int
    digest: bytes
    messages: tuple[Message, ...]
    turn: Turn
    parts: dict[str, Any]
    keys: frozenset[str]
    tools: Span | None
    extra: T


@dataclass(frozen=True, slots=True)
class Reading(Generic[T]):
    """A request as read, with what is needed to keep a checkpoint of it.

    `extra` is what the caller left at `parent`, the checkpoint this request continues from. `boundary` says how many
    leading messages the next checkpoint covers; it is not above `conversation.known` where none is worth keeping.
    `tools` is where the list of tools stands, if it stands in front of the messages.
    """

    conversation: Conversation
    layout: Layout
    extra: T | None
    boundary: int
    turn: Turn
    parts: dict[str, Any]
    keys: frozenset[str]
    tools: Span | None
    parent: Checkpoint[T] | None


class Reader(Generic[T]):
    """Reads bodies of any known format and keeps checkpoints.

    Args:
        seed: for the prefix hash; a number that outsiders do not know keeps them from making collisions.
        max_messages: how many messages all checkpoints together may hold (about 1 kB each); the least
            recently used checkpoints go first.
    """

    def __init__(self, *, seed: int, max_messages: int = 100_000) -> None:
        self._seed = seed
        self._max_messages = max_messages
        self._held = 0
        self._buckets: OrderedDict[bytes, tuple[Checkpoint[T], ...]] = OrderedDict()
        self._memo: OrderedDict[bytes, dict[str, Any]] = OrderedDict()

    def read(
        self,
        body: bytes,
        format_name: FormatName,
        checkpoint: Checkpoint[T] | None,
        address: Address = NO_ADDRESS,
    ) -> Reading[T]:
        """Read a request body.

        Args:
            body: the client's bytes, uncompressed.
            format_name: its wire format.
            checkpoint: what `find` gave for this body.
            address: what the path tells of the request.

        Raises:
            Misread: it is not a JSON object with an array of messages, or it repeats a key.
        """
        told = {"model": address.model, "stream": address.streams}
        beside = {key: value for key, value in told.items() if value is not None}
        if checkpoint is not None:
            try:
                return self._continue(body, checkpoint, beside)
            except Misread:
                pass  # the rest does not stand on its own: read the whole body instead
        return self._whole(body, format_name, beside)

    def find(self, body: bytes, format_name: FormatName) -> Checkpoint[T] | None:
        """Give the checkpoint with the longest prefix of `body`, in one pass over its bytes."""
        view = memoryview(body)
        state, at, best = xxhash.xxh3_128(seed=self._seed), 0, None
        for power in range(_SMALLEST_POWER, len(body).bit_length()):
            state.update(view[at : 1 << power])
            at = 1 << power
            key = _key(format_name, power, state.digest())
            for checkpoint in sorted(self._buckets.get(key, ()), key=_length):
                if checkpoint.length < len(body):
                    state.update(view[at : checkpoint.length])
                    at = checkpoint.length
                    best = checkpoint if state.digest() == checkpoint.digest else best
            if key in self._buckets:
                self._buckets.move_to_end(key)
        return best

    def remember(self, reading: Reading[T], extra: T, *, anew: bool = False) -> None:
        """Keep a checkpoint behind the first `reading.boundary` messages; `extra` is given back with it.

        Args:
            reading: the request.
            extra: the caller's own.
            anew: `extra` is another than the checkpoint has that this request continues from, though it may hold
                nothing more.
        """
        conversation, upto = reading.conversation, reading.boundary
        if upto <= conversation.known and not (anew and upto == conversation.known > 0):
            return
        length = conversation.messages[upto - 1].span.end
        if length < 1 << _SMALLEST_POWER:
            return
        view = memoryview(conversation.body)
        new = Checkpoint(
            conversation.format,
            reading.layout,
            length,
            self._hash(view[:length]),
            conversation.messages[:upto],
            reading.turn,
            reading.parts,
            reading.keys,
            reading.tools,
            extra,
        )
        power = length.bit_length() - 1
        key = _key(conversation.format, power, self._hash(view[: 1 << power]))
        old = self._buckets.pop(key, ())
        # Least recently used first. Requests that continue from one point in many ways must not push that point out.
        others = [c for c in old if c.digest != new.digest and c is not reading.parent]
        used = [c for c in old if c is reading.parent and c.digest != new.digest]
        self._buckets[key] = (*(others + used)[-(_PER_BUCKET - 1) :], new)
        self._held += sum(len(c.messages) for c in self._buckets[key]) - sum(len(c.messages) for c in old)
        while self._held > self._max_messages and len(self._buckets) > 1:
            _, dropped = self._buckets.popitem(last=False)
            self._held -= sum(len(c.messages) for c in dropped)

    def _continue(self, body: bytes, checkpoint: Checkpoint[T], beside: dict[str, Any]) -> Reading[T]:
        start, before, layout = checkpoint.length, checkpoint.messages, checkpoint.layout
        if body[start] not in b",]":
            raise Misread("no message ends where the known prefix does")
        # The rest of the body, behind an opening of its own, is a JSON object again.
        rest = layout.opening + body[start + (body[start] == 0x2C) :]
        source, outer = top_level(rest, len(body) - len(rest))
        fields = layout.fields(source, outer)
        if checkpoint.keys & (fields.keys() - {layout.messages}):
            raise Misread("a key is repeated behind the known prefix")
        spans = source.elements(fields.pop(layout.messages))
        stable = _stable(source, spans)
        found, turn = read_messages(
            source,
            spans,
            turn=checkpoint.turn.copy(),
            chain=before[-1].chain,
            leading=before[-1].role == "system" and all(m.role == "system" for m in before),
            blocks_of=layout.read,
            mark=stable,
        )
        messages = before + found
        parts = checkpoint.parts | self._parts(source, fields) | beside
        head, tools = Parts(**parts).head(checkpoint.format), _tools(fields) or checkpoint.tools
        conversation = Conversation(checkpoint.format, head, messages, body, len(before), tools)
        boundary = len(before) + stable
        return Reading(
            conversation,
            layout,
            checkpoint.extra,
            boundary,
            turn,
            checkpoint.parts,
            checkpoint.keys,
            checkpoint.tools,
            checkpoint,
        )

    def _whole(self, body: bytes, format_name: FormatName, beside: dict[str, Any]) -> Reading[T]:
        source, outer = top_level(body)
        layout = layout_of(source, outer, format_name)
        fields = layout.fields(source, outer)
        place = fields.pop(layout.messages, None)
        spans = message_spans(source, place, layout)
        stable = 0 if source.is_string(place) else _stable(source, spans)
        messages, turn = read_messages(
            source,
            spans,
            turn=Turn(),
            chain=chain_seed(format_name),
            leading=True,
            blocks_of=layout.read,
            mark=stable,
        )
        ahead = {k: v for k, v in fields.items() if place is not None and v.start < place.start}
        parts = self._parts(source, ahead)
        if format_name in _LEADING_SYSTEM:
            parts[_LEADING_SYSTEM[format_name]] = _leading_system(source, messages)
        behind = self._parts(source, {k: v for k, v in fields.items() if k not in ahead})
        head = Parts(**(parts | behind | beside)).head(format_name)
        conversation = Conversation(format_name, head, messages, body, tools=_tools(fields))
        keys = frozenset(ahead) | {layout.messages}
        return Reading(conversation, layout, None, stable, turn, parts, keys, _tools(ahead), None)

    def _parts(self, source: Source, fields: dict[str, Span]) -> dict[str, Any]:
        """Read top-level values; the long ones, which clients repeat, only when their bytes are new."""
        found: dict[str, Any] = {}
        for key, span in fields.items():
            if len(span) < _MEMO_BYTES:
                found |= read_parts(source, {key: span})
                continue
            name = self._hash(memoryview(source.raw(span))) + key.encode()
            if name not in self._memo:
                self._memo[name] = read_parts(source, {key: span})
                if len(self._memo) > _MEMO_ENTRIES:
                    self._memo.popitem(last=False)
            found |= self._memo[name]
        return found

    def _hash(self, data: memoryview) -> bytes:
        return xxhash.xxh3_128_digest(data, seed=self._seed)


def _stable(source: Source, spans: list[Span]) -> int:
    """How many of these messages the next request will repeat byte for byte: those before a mark that may move."""
    first = max(0, len(spans) - MARKED_MESSAGES)
    for index in range(first, len(spans)):
        raw = source.raw(spans[index])
        if any(mark in raw for mark in _MARK_KEYS):
            return index
    return len(spans)


def _length(checkpoint: Checkpoint[Any]) -> int:
    return checkpoint.length


def _key(format_name: FormatName, power: int, digest: bytes) -> bytes:
    return digest + bytes((power, FORMATS.index(format_name)))


def _tools(fields: dict[str, Span]) -> Span | None:
    return fields.get("tools") or fields.get("functions")


def _leading_system(source: Source, messages: tuple[Message, ...]) -> System:
    texts: list[str] = []
    for message in messages:
        if message.role != "system":
            break
        texts += [source.string(b.literal.span) or "" for b in message.blocks if isinstance(b, Text)]
    return read_system(texts) if texts else NO_SYSTEM
