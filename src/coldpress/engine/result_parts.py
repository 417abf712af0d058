"""Tell whether a result failed where one of its texts says so for all of them."""

from __future__ import annotations

from typing import Final

from coldpress.engine.catalogue import Classified
from coldpress.engine.exactness import failed
from coldpress.model.conversation import Conversation, ToolResult

_STATUS_BYTES: Final = 400
"""A text that only says how a call went is shorter."""


def told_failed(conversation: Conversation, result: ToolResult, classified: Classified) -> bool | None:
    """Give the failure flag of a result: the wire's own, else `True` where the first of its texts tells of a failure.

    Codex puts how a script went into a part of its own, in front of what the script printed.

    Args:
        conversation: the request.
        result: one of its results.
        classified: the call it answers.
    """
    if result.failed or conversation.format != "openai_responses" or len(result.texts) < 2:
        return result.failed
    first = result.texts[0]
    if not first.readable or len(first.span) > _STATUS_BYTES:
        return result.failed
    return failed(classified, conversation.text(first), wire_failed=None) or result.failed
