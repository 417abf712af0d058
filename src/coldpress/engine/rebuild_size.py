"""Say how many tokens stand in the place of messages: pictures, files and reasoning count for less than their bytes."""

from __future__ import annotations

from collections.abc import Iterable

from coldpress.measure.tokens import counter_for, estimate
from coldpress.measure.weights import weigh_opaque
from coldpress.model.conversation import Conversation, Opaque, Span, ToolResult


def literal_tokens(conversation: Conversation, literal: str, copied: Iterable[tuple[Opaque, str]]) -> int:
    """Count JSON text of messages, 0 or more, on the scale of `coldpress.measure.tokens.estimate`.

    Args:
        conversation: where blocks were copied from.
        literal: the JSON text.
        copied: blocks that are no text, each with its JSON text as it stands in `literal`, in that order.
    """
    counter = counter_for(conversation.head.model)
    prose, at, tokens = list[str](), 0, 0
    for block, text in copied:
        start = literal.find(text, at)
        if start >= 0:
            prose.append(literal[at:start])
            at = start + len(text)
            tokens += weigh_opaque(conversation, block, counter)
    return estimate("".join((*prose, literal[at:]))) + round(tokens / counter.family.scale)


def opaque_blocks(conversation: Conversation, index: int) -> tuple[tuple[Opaque, Span], ...]:
    """Give the blocks of a message that are no text, those in its results among them, as they stand."""
    found: list[tuple[Opaque, Span]] = []
    for block in conversation.messages[index].blocks:
        others = block.others if isinstance(block, ToolResult) else (block,) if isinstance(block, Opaque) else ()
        found += [(other, other.span) for other in others if other.span is not None]
    return tuple(sorted(found, key=lambda one: one[1].start))
