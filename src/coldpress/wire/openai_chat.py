"""Read OpenAI Chat Completions bodies (`POST .../chat/completions`), as most compatible servers take them.

Tool results are messages of their own (`role: tool`) behind the assistant message that called. The format has
no failure flag. The legacy `function` role has no ids and is paired by order.
"""

from __future__ import annotations

from coldpress.model.conversation import Block, CallId, Opaque, Role, Span, Text, ToolCall, ToolName, ToolResult
from coldpress.wire.format import ROLES, Source, Turn, read_content, result

_REASONING = ("reasoning_content", "reasoning")
"""Where compatible servers put the text of a reply's reasoning; the first that is there counts."""


def read_blocks(source: Source, span: Span, turn: Turn) -> tuple[Role, tuple[Block, ...]]:
    """Read one message into its role and blocks, noting calls in `turn`.

    Raises:
        Misread: the message is not an object, or repeats a key.
    """
    fields = source.members(span)
    name = source.string(fields.get("role")) or ""
    role = ROLES.get(name, "other")
    turn.begin(role)
    content = fields.get("content")
    if role == "tool":
        if name == "function":
            return role, (_function_result(source, turn, fields, content),)
        return role, (result(source, turn, source.string(fields.get("tool_call_id")) or "", content, None),)
    texts, others = read_content(source, content)
    blocks: list[Block] = [Text(literal) for literal in texts]
    if role == "assistant":
        blocks += _calls(source, fields, turn)
        blocks += [Opaque("reasoning", fields[key]) for key in _REASONING if source.is_string(fields.get(key))][:1]
    blocks += others
    return role, tuple(blocks)


def _function_result(source: Source, turn: Turn, fields: dict[str, Span], content: Span | None) -> Block:
    call = turn.answer("", source.string(fields.get("name")))
    texts, others = read_content(source, content)
    return ToolResult(CallId(""), call, texts, None, others)


def _calls(source: Source, fields: dict[str, Span], turn: Turn) -> list[Block]:
    found: list[Block] = []
    calls = fields.get("tool_calls")
    if source.is_array(calls):
        for span in source.elements(calls):
            found.append(_call(source, span))
    legacy = fields.get("function_call")
    if source.is_object(legacy):
        found.append(_named(source, "", source.members(legacy)))
    for call in found:
        if isinstance(call, ToolCall):
            turn.add(call)
    return found


def _call(source: Source, span: Span) -> Block:
    if not source.is_object(span):
        return Opaque("tool_calls", span)
    fields = source.members(span)
    call_id = source.string(fields.get("id")) or ""
    inner = fields.get("function")
    if source.is_object(inner):
        return _named(source, call_id, source.members(inner))
    custom = fields.get("custom")
    if source.is_object(custom):
        named = source.members(custom)
        return ToolCall(CallId(call_id), ToolName(source.string(named.get("name")) or ""), None)
    return Opaque("tool_calls", span)


def _named(source: Source, call_id: str, fields: dict[str, Span]) -> ToolCall:
    arguments = fields.get("arguments")
    quoted = source.is_string(arguments)
    return ToolCall(CallId(call_id), ToolName(source.string(fields.get("name")) or ""), arguments, quoted)
