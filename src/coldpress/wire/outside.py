"""Find what stands in a body beside its messages, without going through them again."""

from __future__ import annotations

from coldpress.model.conversation import Conversation, Span
from coldpress.wire.format import Source, top_level


def outside(conversation: Conversation) -> tuple[Source, dict[str, Span]]:
    """Locate the members of a body, in a text that has one empty text in the place of all its messages.

    Spans are of that text. What stands in front of the messages has its place in the body, too.

    Raises:
        Misread: it is no object, or repeats a key.
    """
    messages, body = conversation.messages, conversation.body
    if not messages:
        return top_level(body)
    return top_level(body[: messages[0].span.start] + b'""' + body[messages[-1].span.end :])
