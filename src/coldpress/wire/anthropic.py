"""Read Anthropic Messages bodies (`POST /v1/messages`).

Tool results are blocks of user messages and answer calls of the assistant turn before. Their `content` is
absent, a string, or an array; `is_error` is the wire's own failure flag. Everything else is opaque.
"""

from __future__ import annotations

from coldpress.model.conversation import Block, CallId, Opaque, Role, Span, Text, ToolCall, ToolName
from coldpress.wire.format import ROLES, Source, Turn, result


def read_blocks(source: Source, span: Span, turn: Turn) -> tuple[Role, tuple[Block, ...]]:
    """Read one message into its role and blocks, noting calls in `turn`.

    Raises:
        Misread: the message is not an object, or repeats a key.
    """
    fields = source.members(span)
    role = ROLES.get(source.string(fields.get("role")) or "", "other")
    turn.begin(role)
    content = fields.get("content")
    if content is None:
        return role, ()
    if source.is_string(content):
        return role, (Text(source.literal(content, 0)),)
    if not source.is_array(content):
        return role, (Opaque("content", content),)
    return role, tuple(_block(source, block, turn, role) for block in source.elements(content))


def _block(source: Source, span: Span, turn: Turn, role: Role) -> Block:
    if not source.is_object(span):
        return Opaque("not an object", span)
    fields = source.members(span)
    kind = source.string(fields.get("type")) or "untyped"
    text = fields.get("text")
    if kind == "text" and source.is_string(text):
        return Text(source.literal(text, 0))
    if kind == "tool_use" and role == "assistant":
        call = ToolCall(
            CallId(source.string(fields.get("id")) or ""),
            ToolName(source.string(fields.get("name")) or ""),
            fields.get("input"),
        )
        turn.add(call)
        return call
    if kind == "tool_result" and role == "user":
        flag = fields.get("is_error")
        failed = source.value(flag) is True if flag is not None else None
        return result(source, turn, source.string(fields.get("tool_use_id")) or "", fields.get("content"), failed)
    return Opaque(kind, span)
