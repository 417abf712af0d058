"""Find where a conversation begins for a server that has compacted it: it looks at nothing before its own block.

What stands before is sent and billed as nothing, so there is nothing to gain there: no edit, no summary, and no result
that a later one could point at.
"""

from __future__ import annotations

from typing import Final

from coldpress.model.conversation import Conversation, Opaque

COMPACTIONS: Final = frozenset({"compaction", "compaction_summary", "context_compaction"})
"""The block of Messages, the item of Responses, and what Codex calls that item."""

_FORMATS: Final = frozenset({"anthropic", "openai_responses"})
"""The wire formats whose servers compact."""


def compacted_before(conversation: Conversation, *, since: int = 0) -> int:
    """Index of the first message behind the server's latest block; 0 where there is none.

    Args:
        conversation: the request.
        since: messages before this one are not looked at.
    """
    if conversation.format not in _FORMATS:
        return 0
    messages = conversation.messages
    for index in range(len(messages) - 1, since - 1, -1):
        for block in messages[index].blocks:
            if isinstance(block, Opaque) and block.kind in COMPACTIONS:
                return index + 1
    return 0
