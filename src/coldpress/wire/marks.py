"""Read the cache marks of a request in the Anthropic Messages format, and set one more.

A mark is a `cache_control` object on a tool, a system block or a content block; the top-level one stands for a mark on
the last block that can carry one. Text that merely quotes the word holds it with escaped quotes, so bodies are searched
for the key with plain quotes first, and only what holds it is looked into.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from coldpress.model.conversation import Conversation, Message, Opaque, Span, Text
from coldpress.wire.format import Source
from coldpress.wire.span import Misread, mask_lone_surrogates

_KEY: Final = b'"cache_control"'
_LAST_MARK: Final = re.compile(_KEY + rb":({[^{}\"]*(?:\"[a-z0-9_]*\"[^{}\"]*)*})}\]}")
"""The end of a message whose only mark stands at the end of its last block, where nearly all clients set it."""

_THINKING: Final = frozenset({"thinking", "redacted_thinking"})
_NO_BLOCK: Final = "not an object"
_HEADS_KEPT: Final = 64

MARKABLE: Final = frozenset(
    {
        "text",
        "image",
        "document",
        "search_result",
        "tool_use",
        "tool_result",
        "server_tool_use",
        "web_search_tool_result",
        "web_fetch_tool_result",
        "advisor_tool_result",
        "code_execution_tool_result",
        "bash_code_execution_tool_result",
        "text_editor_code_execution_tool_result",
        "tool_search_tool_result",
        "mcp_tool_use",
        "mcp_tool_result",
        "container_upload",
    }
)
"""Blocks of user and assistant messages whose type takes a mark (anthropic 2.14.0, `types/beta/*_param.py`)."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Mark:
    """A cache mark of the client's.

    Attributes:
        message: index of its message; `None` for a mark on a tool or a system block.
        block: index of its block in the message; a mark on a part of a block counts for the block. Before the
            messages blocks are counted back from them: -1 is the last system block, or the last tool without a system.
        long: whether it asks for the long lifetime.
    """

    message: int | None
    block: int
    long: bool


@dataclass(frozen=True, slots=True)
class Insertion:
    """A mark to write into a message; for `coldpress.wire.span.splice`, at its place among edits."""

    span: Span = field(compare=False)
    literal: bytes
    message: int


def read_marks(conversation: Conversation, *, since: int = 0) -> tuple[Mark, ...] | None:
    """List the marks of a request in the order of the prompt: tools, system, messages.

    Every mark counts, of two on one block (one on a part of it) both: a request carries four at the most.

    Args:
        conversation: the request.
        since: messages before this one are not looked at.

    Returns:
        `()` for other formats; `None` where something that may be a mark stands in a part that cannot be read, so
        that their number is not known.
    """
    if conversation.format != "anthropic" or (since == 0 and _KEY not in conversation.body):
        return ()
    try:
        head, automatic = _marks_around(_around(conversation))
        found = [*head]
        for index in range(since, len(conversation.messages)):
            found += _message_marks(conversation, index)
    except Misread:
        return None
    if automatic is not None:
        message, block = _last_cacheable(conversation)
        if not any((mark.message, mark.block) == (message, block) for mark in found):
            found.append(Mark(message, block, automatic))
    return tuple(found)


def entry_ends(conversation: Conversation, marks: Sequence[Mark]) -> tuple[int, ...]:
    """Say which prefixes of whole messages a request leaves in the cache: how many messages each holds, ascending.

    A mark in the middle of a message leaves one too; it is not listed, since no read is foretold to end there.
    """
    messages = conversation.messages
    ends = {
        mark.message + 1
        for mark in marks
        if mark.message is not None and mark.block == len(messages[mark.message].blocks) - 1
    }
    return tuple(sorted(ends))


def insertion(conversation: Conversation, message: int, *, long: bool) -> Insertion | None:
    """Give what puts a mark on the last block of a message; `None` where it must not be set.

    That is so in other formats, and where the last block has a mark, is reasoning, an empty text, of a kind not known
    to take one, or cannot be read without doubt; where the content is a bare string; and in messages of the system,
    which may go away as the conversation goes on.

    Args:
        conversation: the request.
        message: index of the message.
        long: whether the mark asks for the long lifetime.

    It stands right before the block's closing brace, so behind every text literal of the block.
    """
    chosen = conversation.messages[message]
    if conversation.format != "anthropic" or chosen.role not in ("user", "assistant") or not chosen.blocks:
        return None
    last = chosen.blocks[-1]
    if isinstance(last, Opaque) and last.kind not in MARKABLE:
        return None
    try:
        place = _read(_source(conversation.body, chosen.span), lambda source: _place_for_mark(source, chosen.span))
    except Misread:
        return None
    if place is None:
        return None
    control = b'{"type":"ephemeral","ttl":"1h"}' if long else b'{"type":"ephemeral"}'
    return Insertion(Span(place, place), b"," + _KEY + b":" + control, message)


def _place_for_mark(source: Source, message: Span) -> int | None:
    """Find the closing brace of a message's last block, where a mark may be set on it."""
    content = source.members(message).get("content")
    blocks = _blocks_at(source, content)
    if not blocks or not source.is_object(blocks[-1]):
        return None
    block = blocks[-1]
    fields = source.members(block)
    kind = source.string(fields.get("type"))
    if kind not in MARKABLE or "cache_control" in fields or next(_marks_at(source, block), None) is not None:
        return None
    if kind == "text" and not (source.string(fields.get("text")) or "").strip():
        return None
    return block.end - 1


def _around(conversation: Conversation) -> bytes:
    """Give what stands before and behind the messages as an object of its own, with an empty array of messages."""
    body, messages = conversation.body, conversation.messages
    return body[: messages[0].span.start] + body[messages[-1].span.end :] if messages else body


@functools.lru_cache(_HEADS_KEPT)
def _marks_around(head: bytes) -> tuple[list[Mark], bool | None]:
    """Read the marks around the messages; a conversation brings the same bytes with every request."""
    return _read(Source(head, head), _head_marks) if _KEY in head else ([], None)


def _head_marks(source: Source) -> tuple[list[Mark], bool | None]:
    """Read the marks on tools and system blocks, and the lifetime of the top-level mark, `None` without one."""
    begin = len(source.text) - len(source.text.lstrip())
    fields = source.members(Span(begin, len(source.text.rstrip())))
    system = _blocks_at(source, fields.get("system"))
    text = 1 if source.string(fields.get("system")) else 0  # a bare string is one block, and cannot be marked
    tools = fields.get("tools")
    listed = _blocks_at(source, tools) if tools is not None and _KEY in source.raw(tools) else []
    blocks = [*listed, *system]
    found = [
        Mark(None, index - len(blocks) - text, long)
        for index, block in enumerate(blocks)
        for long in _marks_at(source, block)
    ]
    control = fields.get("cache_control")
    automatic = _is_long(source, control) if source.is_object(control) else None
    return found, automatic


def _message_marks(conversation: Conversation, index: int) -> list[Mark]:
    message, body = conversation.messages[index], conversation.body
    span = message.span
    first = body.find(_KEY, span.start, span.end)
    if first < 0:
        return []
    if (last := _LAST_MARK.fullmatch(body, first, span.end)) is not None:
        control = Source(body, body)
        return [Mark(index, len(message.blocks) - 1, _is_long(control, Span(*last.span(1))))]
    return _read(_source(conversation.body, span), lambda source: _marks_of(source, span, index))


def _marks_of(source: Source, span: Span, index: int) -> list[Mark]:
    blocks = _blocks_at(source, source.members(span).get("content"))
    return [Mark(index, place, long) for place, block in enumerate(blocks) for long in _marks_at(source, block)]


def _marks_at(source: Source, block: Span) -> Iterator[bool]:
    """Give the lifetime of every mark on a block and on the parts inside its content.

    A call's input and a tool's schema are no places for marks, whatever keys they hold.
    """
    if not source.is_object(block) or _KEY not in source.raw(block):
        return
    fields = source.members(block)
    control = fields.get("cache_control")
    if source.is_object(control):
        yield _is_long(source, control)
    for name in ("content", "source"):
        inner = fields.get(name)
        if inner is None:
            continue
        for part in source.elements(inner) if source.is_array(inner) else [inner]:
            yield from _marks_at(source, part)


def _blocks_at(source: Source, value: Span | None) -> list[Span]:
    return source.elements(value) if source.is_array(value) else []


def _is_long(source: Source, control: Span) -> bool:
    return source.string(source.members(control).get("ttl")) == "1h"


def _last_cacheable(conversation: Conversation) -> tuple[int | None, int]:
    """Find the message and block that a top-level mark is placed on."""
    for index in range(len(conversation.messages) - 1, -1, -1):
        message = conversation.messages[index]
        for place in range(len(message.blocks) - 1, -1, -1):
            if _can_carry_automatic(message, place):
                return index, place
    return None, -1


def _can_carry_automatic(message: Message, place: int) -> bool:
    block = message.blocks[place]
    if isinstance(block, Opaque):
        return block.kind not in _THINKING and block.kind != _NO_BLOCK
    return not isinstance(block, Text) or len(block.literal.span) > len('""')


def _source(body: bytes, span: Span) -> Source:
    raw = body[span.start : span.end]
    return Source(raw, raw, span.start)


def _read(source: Source, how: Callable[[Source], T]) -> T:
    """Read a part of a body, with lone surrogates masked where the decoder refuses it as it is; raises `Misread`."""
    try:
        return how(source)
    except Misread:
        masked = mask_lone_surrogates(source.body)
        if masked == source.body:
            raise
        return how(Source(source.body, masked, source.base))
