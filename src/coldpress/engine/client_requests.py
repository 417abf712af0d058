"""Recognise requests by which a client compacts or titles its own conversation: these are read by nobody but it.

A summary made from our shortened views would make them permanent, so such a request goes on as it came. A
phrase alone is not enough, since users talk about prompts too: the request must offer no tools, or forbid them
in so many words. Or it ends with the item of Responses that orders the server to compact. Phrases: as found in the
harnesses' requests, November 2026.
"""

from __future__ import annotations

from typing import Final

from coldpress.model.conversation import Conversation, Opaque, Text

_COMPACTION_PHRASES = (
    "Your task is to create a detailed summary of the conversation so far",  # Claude Code
    "CONTEXT CHECKPOINT COMPACTION",  # Codex
    "structured context checkpoint summary",  # pi, omp
    "Provide a detailed prompt for continuing our conversation above",  # OpenCode
    "<state_snapshot>",  # Gemini CLI, Qwen Code
    "*Briefly* summarize this partial conversation about programming",  # Aider
)
_TRIGGER: Final = "compaction_trigger"
_NO_TOOLS = ("Respond with TEXT ONLY", "Do NOT call any tools", "Do not call any tools")


def is_client_compaction(conversation: Conversation) -> bool:
    """Whether this request asks the model, or the server, to summarise the conversation for its client."""
    if _ends_with_trigger(conversation):
        return True
    text = _last_user_text(conversation)
    if not any(phrase in text for phrase in _COMPACTION_PHRASES):
        return False
    return not conversation.head.tools or any(text.lstrip()[:200].find(words) >= 0 for words in _NO_TOOLS)


def _ends_with_trigger(conversation: Conversation) -> bool:
    last = conversation.messages[-1].blocks if conversation.messages else ()
    return any(isinstance(block, Opaque) and block.kind == _TRIGGER for block in last)


def _last_user_text(conversation: Conversation) -> str:
    if not conversation.messages or conversation.messages[-1].role != "user":
        return ""
    texts = [b.literal for b in conversation.messages[-1].blocks if isinstance(b, Text) and b.literal.readable]
    return conversation.text(texts[-1]) if texts else ""
