"""List messages by their numbers, so that a model that sees them without numbers can cite them."""

from __future__ import annotations

from coldpress.engine.transcript import called
from coldpress.model.conversation import Conversation, Opaque, Text, ToolCall, ToolResult

_SHOWN_CHARS = 80


def listing(conversation: Conversation, start: int, stop: int) -> str:
    """Give a line for each message from `start` to `stop` - 1: its number, its role, and what it begins with."""
    lines = [f"m{i + 1}: {conversation.messages[i].role}: {_about(conversation, i)}" for i in range(start, stop)]
    return "The messages of the part, by their numbers:\n" + "\n".join(lines) + "\n"


def _about(conversation: Conversation, index: int) -> str:
    told: list[str] = []
    for block in conversation.messages[index].blocks:
        match block:
            case ToolCall():
                told.append(f"calls {block.name} {_line(called(conversation, block))}")
            case ToolResult():
                told.append(f"result of {block.call.name if block.call else 'a call'}")
            case Text() if block.literal.readable:
                told.append(_line(conversation.text(block.literal)))
            case Text() | Opaque():
                pass
    return "; ".join(told)


def _line(text: str) -> str:
    return " ".join(text[: 4 * _SHOWN_CHARS].split())[:_SHOWN_CHARS]
