"""What the wire formats share: reading messages into blocks, pairing results with calls, naming messages."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeGuard

import msgspec

from coldpress.model.conversation import (
    Block,
    CallId,
    Message,
    Opaque,
    Role,
    Span,
    TextLiteral,
    ToolCall,
    ToolResult,
)
from coldpress.model.identity import chain_next
from coldpress.wire.span import Misread, elements, mask_lone_surrogates, members

_ANY = msgspec.json.Decoder()
_STRING = msgspec.json.Decoder(str)
_CANONICAL = msgspec.json.Encoder(order="deterministic")
ROLES: dict[str, Role] = {
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}
_ANY_ROLES: dict[str, Role] = {**ROLES, "model": "assistant"}
_MARKS = ("cache_control", "prompt_cache_breakpoint")
_WHITE = b" \t\r\n"


@dataclass(slots=True)
class Turn:
    """The calls of the assistant turn at hand, and which of them have been answered.

    Where a result may come out of turn (`begin` is told to keep calls), it also knows the calls of earlier turns that
    nothing has answered.
    """

    calls: list[ToolCall] = field(default_factory=list)
    answered: set[int] = field(default_factory=set)
    open: bool = False
    _by_id: dict[str, list[int]] = field(default_factory=dict)
    _waiting: dict[int, ToolCall] = field(default_factory=dict)
    _waiting_by_id: dict[str, list[int]] = field(default_factory=dict)
    _put_off: int = 0

    def begin(self, role: Role, *, keeps_calls: bool = False) -> None:
        """Take note of the next message's role: an assistant message after any other starts a new turn.

        Args:
            role: the message's.
            keeps_calls: calls that are unanswered by then may still be answered, by `answer_any`.
        """
        if role == "assistant" and not self.open:
            if keeps_calls and len(self.answered) < len(self.calls):
                self._put_off_unanswered()
            self.calls, self.answered, self._by_id = [], set(), {}
        self.open = role == "assistant"

    def add(self, call: ToolCall, *aliases: str) -> None:
        """Take note of a call of this turn, and of other ids that a result may name it by."""
        for call_id in dict.fromkeys((call.id, *aliases)):
            self._by_id.setdefault(call_id, []).append(len(self.calls))
        self.calls.append(call)

    def answer(self, call_id: str, name: str | None = None) -> ToolCall | None:
        """Find the call of this turn that a result answers; `None` where that is missing or in doubt.

        A result without an id answers the first unanswered call without one (of that name, where it
        has a name). An id that two calls of the turn carry is in doubt.
        """
        fitting = self._by_id.get(call_id, [])
        if call_id:
            if len(fitting) != 1 or fitting[0] in self.answered:
                return None
        else:
            fitting = [i for i in fitting if i not in self.answered and name in (None, self.calls[i].name)]
            if not fitting:
                return None
        self.answered.add(fitting[0])
        return self.calls[fitting[0]]

    def answer_any(self, call_id: str) -> ToolCall | None:
        """Find the call with this id: of this turn, else among the unanswered ones of earlier turns.

        An id that two of those carry is in doubt, and so is one that this turn has answered already.
        """
        if call_id in self._by_id or not call_id:
            return self.answer(call_id)
        fitting = (at for at in self._waiting_by_id.get(call_id, ()) if at in self._waiting)
        found, other = next(fitting, None), next(fitting, None)
        return None if found is None or other is not None else self._waiting.pop(found)

    def knows(self, call_id: str) -> bool:
        """Whether a call of this turn, or an unanswered one of an earlier turn, has this id."""
        return call_id in self._by_id or any(at in self._waiting for at in self._waiting_by_id.get(call_id, ()))

    def answer_by_name(self, name: str) -> ToolCall | None:
        """Find the only unanswered call of this turn with this name; `None` where there are none or several."""
        fitting = [at for at, call in enumerate(self.calls) if at not in self.answered and call.name == name]
        if len(fitting) != 1:
            return None
        self.answered.add(fitting[0])
        return self.calls[fitting[0]]

    def copy(self) -> Turn:
        """Give an independent copy, to be kept with a checkpoint."""
        return Turn(
            list(self.calls),
            set(self.answered),
            self.open,
            {call_id: list(places) for call_id, places in self._by_id.items()},
            dict(self._waiting),
            {call_id: list(places) for call_id, places in self._waiting_by_id.items()},
            self._put_off,
        )

    def _put_off_unanswered(self) -> None:
        for call_id, places in self._by_id.items():
            waiting = [self._put_off + at for at in places if call_id and at not in self.answered]
            for at in waiting:
                self._waiting[at] = self.calls[at - self._put_off]
            if waiting:
                self._waiting_by_id.setdefault(call_id, []).extend(waiting)
        self._put_off += len(self.calls)


@dataclass(frozen=True, slots=True)
class Source:
    """Bytes of a body and the text its spans are found in: the same, but for masked lone surrogates.

    `base` is the offset in the client's body that the first byte stands for. Spans are offsets in the client's body.
    """

    body: bytes
    text: bytes
    base: int = 0

    def members(self, span: Span) -> dict[str, Span]:
        """Locate the values of the object at `span`; raises `Misread`."""
        return members(self.text, span, self.base)

    def elements(self, span: Span) -> list[Span]:
        """Locate the elements of the array at `span`; raises `Misread`."""
        return elements(self.text, span, self.base)

    def value(self, span: Span) -> Any:
        """Decode the JSON value at `span`.

        Raises:
            Misread: it is nested too deeply, or holds a number out of range.
        """
        try:
            return _ANY.decode(memoryview(self.text)[span.start - self.base : span.end - self.base])
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
            raise Misread(str(error)) from error

    def string(self, span: Span | None) -> str | None:
        """Decode a string value; `None` where there is none or it is something else."""
        if span is None:
            return None
        text, start = self.text, span.start - self.base
        if text[start] != 0x22:
            return None
        try:
            return _STRING.decode(text[start : span.end - self.base])
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise Misread(str(error)) from error

    def literal(self, span: Span, part: int) -> TextLiteral:
        """Describe the string literal at `span`."""
        return TextLiteral(part, span, not self.masked(span))

    def is_string(self, span: Span | None) -> TypeGuard[Span]:
        """Whether a JSON string stands at `span`."""
        return span is not None and self._first(span) == 0x22

    def is_array(self, span: Span | None) -> TypeGuard[Span]:
        """Whether a JSON array stands at `span`."""
        return span is not None and self._first(span) == 0x5B

    def is_object(self, span: Span | None) -> TypeGuard[Span]:
        """Whether a JSON object stands at `span`."""
        return span is not None and self._first(span) == 0x7B

    def raw(self, span: Span) -> bytes:
        """Give the client's own bytes at `span`."""
        return self.body[span.start - self.base : span.end - self.base]

    def masked(self, span: Span) -> bool:
        """Whether the bytes at `span` hold a lone surrogate, so that no text equals them."""
        return self.text is not self.body and self.raw(span) != self.text[span.start - self.base : span.end - self.base]

    def _first(self, span: Span) -> int:
        return self.text[span.start - self.base]

    def digest(self, span: Span) -> bytes:
        """Name the message at `span`: equal for equal content, whatever its marks, spacing and key order.

        A text in a one-element array is the same as the bare string. A message that cannot be decoded
        is named by its bytes.
        """
        try:
            value = self.value(span)
            canonical = _CANONICAL.encode(_plain_message(value) if isinstance(value, dict) else value)
        except (Misread, msgspec.MsgspecError, RecursionError, UnicodeEncodeError):
            return hashlib.sha256(b"raw\0" + self.raw(span)).digest()
        if self.masked(span):
            canonical += b"\0" + self.raw(span)  # masked escapes must not make two texts one
        return hashlib.sha256(canonical).digest()


def top_level(body: bytes, base: int = 0) -> tuple[Source, dict[str, Span]]:
    """Locate the values of a JSON object, masking lone surrogates only where the decoder refuses the bytes.

    Args:
        body: its text, maybe with white space around it.
        base: the offset that spans give to the first byte of `body`.

    Raises:
        Misread: it is not an object, or it repeats a key.
    """
    begin = len(body) - len(body.lstrip(_WHITE))
    span = Span(begin + base, len(body.rstrip(_WHITE)) + base)
    source = Source(body, body, base)
    try:
        return source, source.members(span)
    except Misread:
        masked = mask_lone_surrogates(body)
        if masked == body:
            raise
        source = Source(body, masked, base)
        return source, source.members(span)


def read_content(
    source: Source, content: Span | None, kinds: Collection[str] = ("text",)
) -> tuple[tuple[TextLiteral, ...], tuple[Opaque, ...]]:
    """Locate what a content value holds: its texts (a bare string is one), and the parts that are no text.

    Args:
        source: where the span points into.
        content: the value.
        kinds: types of the parts whose `text` is one.
    """
    if source.is_string(content):
        return (source.literal(content, 0),), ()
    if not source.is_array(content):
        return (), ()
    texts: list[TextLiteral] = []
    others: list[Opaque] = []
    for part, span in enumerate(source.elements(content)):
        if not source.is_object(span):
            others.append(Opaque("not an object", span))
            continue
        fields = source.members(span)
        kind = source.string(fields.get("type")) or "untyped"
        text = fields.get("text")
        if kind in kinds and source.is_string(text):
            texts.append(source.literal(text, part))
        else:
            others.append(Opaque(kind, span))
    return tuple(texts), tuple(others)


def result(source: Source, turn: Turn, call_id: str, content: Span | None, failed: bool | None) -> ToolResult:
    """Build a tool result paired with its call."""
    texts, others = read_content(source, content)
    return ToolResult(CallId(call_id), turn.answer(call_id), texts, failed, others)


def read_messages(
    source: Source, spans: list[Span], *, turn: Turn, chain: bytes, leading: bool, blocks_of: BlockReader, mark: int
) -> tuple[tuple[Message, ...], Turn]:
    """Read messages in order. A message that cannot be read becomes one opaque block and is carried as it is.

    Args:
        source: where the spans point into.
        spans: of the messages to read.
        turn: the assistant turn at hand; changed.
        chain: `Message.chain` of the message before, or the seed.
        leading: whether only system messages, or none, stand before. System messages at the very front
            are the head's business and do not extend the chain.
        blocks_of: the wire format's reader of one message.
        mark: behind how many of these messages the state of the turn is wanted.

    Returns:
        The messages, and the turn as it stood at `mark`.
    """
    found: list[Message] = []
    at_mark = turn.copy()
    for span in spans:
        digest = source.digest(span)
        try:
            role, blocks = blocks_of(source, span, turn)
        except Misread:
            role, blocks = _role_only(source, span, turn), (Opaque("unreadable", span),)
        leading = leading and role == "system"
        if not leading:
            chain = chain_next(chain, digest)
        found.append(Message(role, blocks, digest, chain, span))
        if len(found) == mark:
            at_mark = turn.copy()
    return tuple(found), at_mark


def _role_only(source: Source, span: Span, turn: Turn) -> Role:
    """Salvage the role of a message that cannot be read, so that turns are still told apart."""
    try:
        value = source.value(span)
        name = value.get("role") if isinstance(value, dict) else None
    except Misread:
        name = None
    role: Role = _ANY_ROLES.get(name, "other") if isinstance(name, str) else "other"
    turn.begin(role)
    return role


class BlockReader(Protocol):
    """How one wire format reads a message."""

    def __call__(self, source: Source, span: Span, turn: Turn) -> tuple[Role, tuple[Block, ...]]:
        """Read the message at `span`, noting its calls in `turn`; raises `Misread`."""


def _plain_message(message: dict[str, Any]) -> dict[str, Any]:
    plain = {k: v for k, v in message.items() if k not in _MARKS}
    if "content" in plain:
        plain["content"] = _plain_content(plain["content"])
    return plain


def _plain_content(content: Any) -> Any:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, list):
        return content
    return [_plain_block(block) if isinstance(block, dict) else block for block in content]


def _plain_block(block: dict[str, Any]) -> dict[str, Any]:
    plain = {k: v for k, v in block.items() if k not in _MARKS}
    if plain.get("type") == "tool_result" and "content" in plain:
        plain["content"] = _plain_content(plain["content"])
    return plain
