"""Recognise the summary that a client, or the provider, has put in the place of a conversation's earlier part.

It says what the task is and where it stands, so it is kept like the task. Phrases: what the harnesses put in front of
their summaries, November 2026; each must begin a text of a user message, since users talk about summaries too.
"""

from __future__ import annotations

from typing import Final

from coldpress.engine.compacted import compacted_before
from coldpress.model.conversation import Conversation, Message, Text, ToolCall, ToolResult

_BEGINNINGS: Final = (
    "This session is being continued from a previous conversation",  # Claude Code
    "Another language model started to solve this problem",  # Codex
    "The conversation history before this point was compacted",  # pi, omp
    "<state_snapshot>",  # Gemini CLI, Qwen Code
    "<conversation-summary>",  # Copilot in VS Code
    "I spoke to you previously about a number of things.",  # Aider
)
_ASKED: Final = "What did we do so far?"
"""OpenCode's words in front of a summary that stands as the model's own reply."""


def client_summary(conversation: Conversation) -> int:
    """Index of the message with the latest such summary; -1 where there is none.

    A client's summary stands at the head: no tool was called before it. A server's may stand anywhere.
    """
    found, at_head = compacted_before(conversation) - 1, True
    for index, message in enumerate(conversation.messages):
        by_client = at_head and (_is_summary(conversation, message) or _is_answer(conversation, index))
        if by_client:
            found = max(found, index)
        at_head = at_head and not any(isinstance(block, ToolCall | ToolResult) for block in message.blocks)
    return found


def _is_summary(conversation: Conversation, message: Message) -> bool:
    return message.role == "user" and _begins(conversation, message, _BEGINNINGS)


def _is_answer(conversation: Conversation, index: int) -> bool:
    """Whether this is the model's summary behind OpenCode's question for it."""
    message, before = conversation.messages[index], conversation.messages[index - 1] if index else None
    if message.role != "assistant" or before is None or before.role != "user":
        return False
    return _begins(conversation, before, (_ASKED,))


def _begins(conversation: Conversation, message: Message, phrases: tuple[str, ...]) -> bool:
    texts = (b.literal for b in message.blocks if isinstance(b, Text) and b.literal.readable)
    return any(conversation.text(literal).lstrip().startswith(phrases) for literal in texts)
