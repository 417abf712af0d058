"""Prove, from the bytes on the wire alone, that only pressed texts changed and that every original comes back."""

from __future__ import annotations

from coldpress.demo.play import Played
from coldpress.model.conversation import Conversation, TextLiteral
from coldpress.stores.base import Store
from coldpress.wire.prefix import Reader


def identical_outside_edits(played: Played) -> bool:
    """Whether what the upstream received differs from what the client sent only inside texts of tool results.

    Both bodies are read anew, without any of the gateway's state, and compared piece by piece.
    """
    sent, received = _read(played.sent), _read(played.received)
    mine, theirs = _literals(sent), _literals(received)
    if len(mine) != len(theirs):
        return False
    at = to = 0
    for old, new in zip(mine, theirs, strict=True):
        if played.sent[at : old.span.start] != played.received[to : new.span.start]:
            return False
        at, to = old.span.end, new.span.end
    return played.sent[at:] == played.received[to:]


def recalled_exactly(played: Played, store: Store) -> bool:
    """Whether the store gives back, byte for byte, each text that this request was the first to replace."""
    sent, received = _read(played.sent), _read(played.received)
    changed = {
        sent.text(old).encode()
        for old, new in zip(_literals(sent), _literals(received), strict=True)
        if sent.text(old) != received.text(new)
    }
    return all(store.recall(line.original).encode() in changed for line in played.pressed)


def _read(body: bytes) -> Conversation:
    return Reader[None](seed=0).read(body, "anthropic", None).conversation


def _literals(conversation: Conversation) -> list[TextLiteral]:
    return [text for message in conversation.messages for _, result in message.results for text in result.texts]
