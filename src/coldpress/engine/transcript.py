"""Write a message of a conversation as plain text, from the client's own bytes, to be quoted and checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from coldpress.model.conversation import Conversation, Message, Opaque, Text, TextLiteral, ToolCall, ToolResult

UNREADABLE: Final = "[text that is not valid Unicode]"
MAX_CALLED_BYTES: Final = 240
"""How much of its call stands in front of a result. A result's message thereby names the command it answers."""

_MAX_NESTED: Final = 6


def message_text(conversation: Conversation, index: int, *, most_bytes: int | None = None) -> str:
    r"""Give the text of one message as the client sent it: who speaks, texts, calls with arguments, results.

    What stems from the conversation is there character for character: strings of arguments are decoded and stand on
    lines of their own, so that a command or a path can be quoted from it as a model wrote it. Blocks that hold no
    text (images, thinking) leave a note of their kind. In front of each result stand the call's name and the first
    `MAX_CALLED_BYTES` of what it was called with.

    Args:
        conversation: as read from the client's request.
        index: of the message, from 0.
        most_bytes: UTF-8 bytes of the text; where it has more, its middle is left out, with a note of how much.

    Raises:
        IndexError: there is no such message.
    """
    if not 0 <= index < len(conversation.messages):
        raise IndexError(f"message {index} of {len(conversation.messages)}: there is no such message")
    message = conversation.messages[index]
    text = "\n".join((message.role, *_blocks(conversation, message)))
    return text if most_bytes is None else shortened(text, most_bytes)


def source_texts(conversation: Conversation) -> Callable[[int], str | None]:
    """Give a look-up of messages' texts by their number, from 1 as summaries cite them; `None` where there is none.

    Each text is made once, when it is first asked for.
    """
    made: dict[int, str] = {}

    def text(number: int) -> str | None:
        if not 1 <= number <= len(conversation.messages):
            return None
        if number not in made:
            made[number] = message_text(conversation, number - 1)
        return made[number]

    return text


def literal_text(conversation: Conversation, literal: TextLiteral) -> str:
    """Decode a literal; a note in its place where no Unicode text can hold it."""
    return conversation.text(literal) if literal.readable else UNREADABLE


def shortened(text: str, most_bytes: int) -> str:
    r"""Keep the head (two thirds) and the tail of a text that has more UTF-8 bytes, with a note between them.

    No character is cut in two. Where the note itself would not fit, the note alone is what is left.

    >>> shortened("a" * 200, 60)
    'aaaaaaaaaaaaaaaaaaaaaa\n[167 bytes left out here]\naaaaaaaaaaa'
    """
    raw = text.encode()
    if len(raw) <= most_bytes:
        return text
    room = max(0, most_bytes - len(_note(len(raw)).encode()))
    head = raw[: room * 2 // 3].decode(errors="ignore")
    tail_bytes = room - room * 2 // 3
    tail = raw[len(raw) - tail_bytes :].decode(errors="ignore")
    return head + _note(len(raw) - len(head.encode()) - len(tail.encode())) + tail


def arguments_text(conversation: Conversation, call: ToolCall) -> str:
    """Give the arguments of a call one by one, `name: value`, strings decoded; as they stand where they are no object.

    An array or an object within is written likewise, its elements behind `-`. Numbers keep their own digits.
    """
    try:
        raw = conversation.arguments(call)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return UNREADABLE
    try:
        return "\n".join(_members(raw.encode(), 0))
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return raw


def _note(omitted_bytes: int) -> str:
    return f"\n[{omitted_bytes} bytes left out here]\n"


def _blocks(conversation: Conversation, message: Message) -> Iterator[str]:
    for block in message.blocks:
        match block:
            case Text(literal):
                yield literal_text(conversation, literal)
            case ToolCall():
                yield f"[call of {block.name}]"
                yield arguments_text(conversation, block)
            case ToolResult():
                yield from _result(conversation, block)
            case Opaque(kind):
                yield f"[a block of kind {kind}]"


def _result(conversation: Conversation, result: ToolResult) -> Iterator[str]:
    failed = ", which failed" if result.failed else ""
    if result.call is None:
        yield f"[result{failed}]"
    else:
        yield f"[result of {result.call.name}{failed}]"
        yield called(conversation, result.call)
        yield "[it gave back]"
    for literal in result.texts:
        yield literal_text(conversation, literal)
    for other in result.others:
        yield f"[a block of kind {other.kind}]"


def called(conversation: Conversation, call: ToolCall) -> str:
    """Give the beginning of a call's arguments, as it stands in front of each of its results."""
    raw = arguments_text(conversation, call).encode()
    return raw[:MAX_CALLED_BYTES].decode(errors="ignore")


def _members(raw: bytes, depth: int) -> Iterator[str]:
    for name, value in msgspec.json.decode(raw, type=dict[str, msgspec.Raw]).items():
        yield from _labelled(f"{name}:", bytes(value), depth)


def _labelled(label: str, raw: bytes, depth: int) -> Iterator[str]:
    first = raw.lstrip()[:1]
    if first == b'"':
        yield f"{label} {msgspec.json.decode(raw, type=str)}"
    elif first in (b"{", b"[") and depth < _MAX_NESTED:
        yield label
        if first == b"{":
            yield from _members(raw, depth + 1)
        else:
            for element in msgspec.json.decode(raw, type=list[msgspec.Raw]):
                yield from _labelled("-", bytes(element), depth + 1)
    else:
        yield f"{label} {raw.decode().strip()}"
