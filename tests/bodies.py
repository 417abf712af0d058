"""Look at request bodies from outside: where the texts of tool results stand, and all that is not one of them."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

from coldpress.model.conversation import Conversation, TextLiteral
from coldpress.wire.prefix import Reader
from coldpress.wire.registry import FormatName

_MARK = re.compile(rb',\s*"cache_control":\s*\{"type":\s*"ephemeral"(?:,\s*"ttl":\s*"1h")?\}')


@lru_cache(maxsize=32)  # a test looks at the same two or three bodies again and again
def conversation(body: bytes, name: FormatName = "anthropic") -> Conversation:
    """Read a body with a reader of its own, which knows nothing of earlier requests."""
    return Reader[None](seed=1).read(body, name, None).conversation


def literals(found: Conversation) -> list[TextLiteral]:
    """The text literals of all tool results, in order."""
    return [text for message in found.messages for _, result in message.results for text in result.texts]


def texts(body: bytes, name: FormatName = "anthropic") -> list[str]:
    """The texts of all tool results, in order; one that no Unicode text can hold is left out."""
    found = conversation(body, name)
    return [found.text(literal) for literal in literals(found) if literal.readable]


def skeleton(body: bytes, name: FormatName = "anthropic") -> list[bytes]:
    """Every byte outside the texts of tool results, cut at those texts."""
    pieces, at = list[bytes](), 0
    for literal in literals(conversation(body, name)):
        pieces.append(body[at : literal.span.start])
        at = literal.span.end
    return [*pieces, body[at:]]


def changed_literals(before: bytes, after: bytes, name: FormatName = "anthropic") -> list[tuple[str, str]]:
    """The texts that differ, old and new, of two bodies that must not differ anywhere else."""
    assert skeleton(after, name) == skeleton(before, name)
    mine, theirs = conversation(before, name), conversation(after, name)
    pairs = zip(literals(mine), literals(theirs), strict=True)
    found = []
    for old, new in pairs:
        if before[old.span.start : old.span.end] != after[new.span.start : new.span.end]:
            found.append((mine.text(old), theirs.text(new)))
    return found


def pressed(before: bytes, after: bytes, name: FormatName = "anthropic") -> int:
    """How many texts were replaced; fails where anything else differs."""
    return len(changed_literals(before, after, name))


def messages_bytes(body: bytes, name: FormatName = "anthropic") -> bytes:
    """A body from its start to the end of its last message."""
    return body[: conversation(body, name).messages[-1].span.end]


def without_marks(body: bytes) -> bytes:
    """A body without the client's cache marks."""
    return _MARK.sub(b"", body)


def reasons(lines: tuple[object, ...]) -> Counter[str]:
    """How often each reason stands in a receipt's lines."""
    return Counter(str(getattr(line, "reason", "")) for line in lines)
