"""Weigh one message of a request in tokens, with the share of every text of its tool results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, assert_never

import msgspec

from coldpress.measure.tokens import Counter
from coldpress.model.conversation import Block, Conversation, Opaque, Span, Text, TextLiteral, ToolCall, ToolResult

MOST_UNKNOWN_TOKENS: Final = 16_000
"""No block of an unknown kind counts for more: the bytes of a file, a page or an encrypted item are not all prompt."""

_BYTES_PER_TOKEN: Final = 4
_IMAGES: Final = frozenset({"image", "image_url", "input_image"})
_REASONING: Final = frozenset({"thinking", "redacted_thinking", "reasoning"})


@dataclass(frozen=True, slots=True)
class Weight:
    """Tokens of one message, on the scale of the counter that weighed it.

    Attributes:
        tokens: of the whole message, with what its structure adds.
        texts: of each text of a tool result, as `(block, part, tokens)`, in order; `block` is the index in
            `Message.blocks`, `part` is `TextLiteral.part`. Their tokens are within `tokens`.
    """

    tokens: int
    texts: tuple[tuple[int, int, int], ...] = ()


def weigh(conversation: Conversation, index: int, counter: Counter) -> Weight:
    """Weigh the message at `index`, 0 or more. It depends on nothing but that message's content and the counter.

    Texts, arguments and results count by their decoded text. An image counts as one fixed figure, reasoning by its
    signature where it has one, else by its text. A block of an unknown kind counts a token for four bytes, at
    most `MOST_UNKNOWN_TOKENS`. The time is linear in the bytes of the message.
    """
    message = conversation.messages[index]
    scales = _Scales(conversation, counter)
    texts = tuple(
        (place, literal.part, scales.literal(literal)) for place, block in message.results for literal in block.texts
    )
    inside = sum(tokens for _, _, tokens in texts)
    return Weight(counter.family.message_tokens + inside + sum(map(scales.block, message.blocks)), texts)


def weigh_opaque(conversation: Conversation, block: Opaque, counter: Counter) -> int:
    """Weigh a block that is no text, 0 or more, as `weigh` does."""
    return _Scales(conversation, counter).opaque(block)


@dataclass(frozen=True, slots=True)
class _Scales:
    conversation: Conversation
    counter: Counter

    def block(self, block: Block) -> int:
        """Weigh a block, less the texts of a tool result."""
        family = self.counter.family
        match block:
            case Text():
                return self.literal(block.literal)
            case ToolCall():
                return family.call_tokens + self.counter.count(block.name) + self._arguments(block)
            case ToolResult():
                return family.result_tokens + sum(map(self.opaque, block.others))
            case Opaque():
                return self.opaque(block)
            case _:
                assert_never(block)

    def literal(self, literal: TextLiteral) -> int:
        if literal.readable:
            return self.counter.count(self.conversation.text(literal))
        # It has no exact text: its JSON form stands in, whose escapes count a little too much.
        return self.counter.count(self._raw(literal.span).decode("utf-8", "replace"))

    def _arguments(self, call: ToolCall) -> int:
        if call.arguments is None:
            return 0
        try:
            text = self.conversation.arguments(call)
        except (msgspec.DecodeError, UnicodeDecodeError):
            text = self._raw(call.arguments).decode("utf-8", "replace")
        return self.counter.count(_without_escapes(text))

    def opaque(self, block: Opaque) -> int:
        if block.kind in _IMAGES:
            return self.counter.family.image_tokens
        if block.span is None:
            return 0
        if block.kind in _REASONING:
            return self._reasoning(block.span)
        return min(len(block.span) // _BYTES_PER_TOKEN, MOST_UNKNOWN_TOKENS)

    def _reasoning(self, span: Span) -> int:
        try:
            value = msgspec.json.decode(self._raw(span))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return min(len(span) // _BYTES_PER_TOKEN, MOST_UNKNOWN_TOKENS)
        if isinstance(value, str):
            return self.counter.count(value)
        fields = value if isinstance(value, dict) else {}
        sealed = [fields[key] for key in ("signature", "data") if isinstance(fields.get(key), str) and fields[key]]
        if sealed:
            family = self.counter.family
            return max(0, round(family.signature_tokens_per_byte * len(sealed[0])) - family.signature_free_tokens)
        text = fields.get("thinking")
        return self.counter.count(text) if isinstance(text, str) else 0

    def _raw(self, span: Span) -> bytes:
        return self.conversation.body[span.start : span.end]


def _without_escapes(arguments: str) -> str:
    """Give the JSON text with its characters as they are: some clients escape all that is not ASCII, no prompt does."""
    if "\\u" not in arguments:
        return arguments
    try:
        return msgspec.json.encode(msgspec.json.decode(arguments)).decode()
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return arguments
