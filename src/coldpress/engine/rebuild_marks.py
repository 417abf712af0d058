"""Find the cache marks of a client's messages, and set one on messages that stand in the place of others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from coldpress.engine.json_bytes import depth_at, elements, members
from coldpress.model.conversation import Conversation, Opaque, Span, ToolCall

MARK_KEY: Final = b'"cache_control"'
_MARK_FIELD: Final = MARK_KEY + rb"\s*:\s*(\{[^{}]*\})"
_MARK: Final = re.compile(rb",\s*" + _MARK_FIELD + rb"|" + _MARK_FIELD + rb"\s*,")
"""A cache mark with the comma that goes with it; text holds the word with escaped quotes."""


def marked(literal: bytes, mark: bytes) -> bytes:
    """Set a cache mark on the last block of the first of some messages, which `write` wrote, where that is a text.

    Args:
        literal: JSON text of messages, joined by commas.
        mark: JSON text of a `cache_control` value.
    """
    listed = b"[" + literal + b"]"
    ending = b',"cache_control":' + mark + b"}"
    for message in elements(listed, Span(0, len(listed))):
        content = members(listed, message)[b"content"]
        value = listed[content.start : content.end]
        if value.startswith(b'"'):
            value = b'[{"type":"text","text":' + value + ending + b"]"
        else:
            *_, last = elements(value, Span(0, len(value)))
            if b"text" not in members(value, last):
                continue
            value = value[: last.end - 1].rstrip() + ending + value[last.end :]
        return listed[1 : content.start] + value + listed[content.end : -1]
    return literal


def marks(conversation: Conversation, index: int) -> Iterator[re.Match[bytes]]:
    """Find the cache marks on the blocks of a message; what a call was made with is none."""
    body, message = conversation.body, conversation.messages[index]
    if body.find(MARK_KEY, message.span.start, message.span.end) < 0:
        return
    calls = [block.arguments for block in message.blocks if isinstance(block, ToolCall) and block.arguments]
    servers = [b.span for b in message.blocks if isinstance(b, Opaque) and b.span and b.kind.endswith("tool_use")]
    for mark in _MARK.finditer(body, message.span.start, message.span.end):
        place = mark.start()
        if any(call.start <= place < call.end for call in calls):
            continue
        if not any(call.start <= place < call.end and depth_at(body, call, place) > 1 for call in servers):
            yield mark
