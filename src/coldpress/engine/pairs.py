"""Find the turns of a conversation, and those among them whose calls and results do not pair beyond doubt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from coldpress.model.conversation import CallId, Conversation, Opaque, ToolCall, ToolResult

UNREADABLE: Final = frozenset(
    (
        *("unreadable", "content", "not an object", "tool_calls", "tool_use", "tool_result"),
        *("parts", "several", "functionCall", "functionResponse", "toolCall", "toolResponse"),  # Gemini's
    )
)
"""Kinds of opaque blocks in which a call or a result may hide that was not understood: values of the wrong shape, and
calls and results in a message of the wrong role."""

_SERVER_CALLS: Final = ("server_tool_use", "mcp_tool_use")
_SERVER_RESULT: Final = "_tool_result"
_FOUND_TOOLS: Final = ("tool_search_tool_result", "tool_reference", "tool_search_output", "additional_tools")
"""What names tools that are offered by it alone: without it, later calls are of tools that the model does not have."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One reply of the model and everything up to the next one: messages `start` to `stop`, half-open.

    `doubtful` is true where a call has no result, a result no call, several share an id or a later turn holds another
    result, where a block cannot be read, a message has a role that we do not know, or tools were found that later turns
    may call.
    """

    start: int
    stop: int
    doubtful: bool


class _ServerBlock(msgspec.Struct):
    """What pairs the provider's own tool calls and results."""

    id: str = ""
    tool_use_id: str = ""


def turns(conversation: Conversation, replies: Sequence[int], start: int, stop: int) -> tuple[Turn, ...]:
    """List the turns from message `start` on, which begins a reply, up to `stop`.

    Args:
        conversation: the request.
        replies: indices of the messages that begin a reply.
        start: index of the first message.
        stop: index behind the last one; the turn it falls into is cut short there.
    """
    begins = [index for index in replies if start <= index < stop]
    ends = [*begins[1:], stop]
    late = late_calls(conversation, start, len(conversation.messages))  # one that stays may mean a call that goes
    return tuple(
        Turn(begin, end, _in_doubt(conversation, begin, end) or not late.isdisjoint(range(begin, end)))
        for begin, end in zip(begins, ends, strict=True)
    )


def late_calls(conversation: Conversation, start: int, stop: int) -> frozenset[int]:
    """Find the messages with a call that a result in messages `start` to `stop` seems to answer out of turn.

    The result has no call in its own turn, or that call is answered already, or it answers one of an earlier turn, as
    it may in Responses. It is taken to mean the latest call with its id in front of it.
    """
    found: set[int] = set()
    for index in range(start, stop):
        for _, result in conversation.messages[index].results:
            if result.call_id and (result.call is None or not _in_turn(conversation, result.call, index)):
                call = _latest_call(conversation, result.call_id, index)
                if call is not None:
                    found.add(call)
    return frozenset(found)


def _in_turn(conversation: Conversation, call: ToolCall, index: int) -> bool:
    """Whether a call stands in the turn that message `index` belongs to. Only Responses pairs beyond a turn."""
    if conversation.format != "openai_responses":
        return True
    messages, in_reply = conversation.messages, False
    for at in range(index - 1, -1, -1):
        is_reply = messages[at].role == "assistant"
        if in_reply and not is_reply:
            return False
        in_reply = in_reply or is_reply
        if is_reply and call in messages[at].blocks:
            return True
    return False


def _latest_call(conversation: Conversation, call_id: CallId, before: int) -> int | None:
    for index in range(before - 1, -1, -1):
        if any(isinstance(block, ToolCall) and block.id == call_id for block in conversation.messages[index].blocks):
            return index
    return None


def _in_doubt(conversation: Conversation, start: int, stop: int) -> bool:
    calls: Counter[CallId] = Counter()
    results: Counter[CallId] = Counter()
    server: list[Opaque] = []
    for message in conversation.messages[start:stop]:
        if message.role == "other":
            return True
        for block in message.blocks:
            match block:
                case ToolCall():
                    calls[block.id] += 1
                case ToolResult():
                    if block.call is None or any(other.kind in _FOUND_TOOLS for other in block.others):
                        return True
                    results[block.call_id] += 1
                case Opaque(kind) if kind in UNREADABLE or kind in _FOUND_TOOLS:
                    return True
                case Opaque(kind) if kind in _SERVER_CALLS or kind.endswith(_SERVER_RESULT):
                    server.append(block)
                case _:
                    pass
    if calls != results or any(count > 1 for call_id, count in calls.items() if call_id):
        return True
    return bool(server) and not _server_tools_pair(conversation, server)


def _server_tools_pair(conversation: Conversation, blocks: Sequence[Opaque]) -> bool:
    """Whether every call of the provider's own tools has one result behind it, and every result its call."""
    waiting: set[str] = set()
    seen: set[str] = set()
    for block in blocks:
        if block.span is None:
            return False
        try:
            read = msgspec.json.decode(conversation.body[block.span.start : block.span.end], type=_ServerBlock)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return False
        if block.kind in _SERVER_CALLS:
            if not read.id or read.id in seen:
                return False
            seen.add(read.id)
            waiting.add(read.id)
        elif read.tool_use_id not in waiting:
            return False
        else:
            waiting.remove(read.tool_use_id)
    return not waiting
