"""Have a provider place a cache mark where a client sets none among its messages, if the settings ask for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from coldpress.drive.beside import NOTHING, Beside
from coldpress.drive.exchange import Inbound
from coldpress.model.conversation import Conversation
from coldpress.wire.addition import member
from coldpress.wire.marks import read_marks

KEY: Final = "cache_control"
MOST_OF_CLIENT: Final = 2
"""A request carries four marks: one is for this, and one is left for the mark before an edit of ours."""

_SHORT: Final = b'{"type":"ephemeral"}'
_LONG: Final = b'{"type":"ephemeral","ttl":"1h"}'


class Marking:
    """Says which requests get a mark; it looks at nothing but the request, so a conversation keeps what it has.

    Args:
        is_on: whether the settings switch it on for a provider of this name.
    """

    def __init__(self, is_on: Callable[[str], bool]) -> None:
        self._is_on = is_on

    def beside(self, inbound: Inbound, conversation: Conversation) -> Beside:
        """Give the top-level mark, with the lifetime of the client's last mark: a longer one may not follow it."""
        if conversation.format != "anthropic" or not conversation.messages or not self._is_on(inbound.provider):
            return NOTHING
        marks = read_marks(conversation)
        if marks is None or len(marks) > MOST_OF_CLIENT or any(mark.message is not None for mark in marks):
            return NOTHING
        long = bool(marks) and marks[-1].long
        return Beside((member(conversation.body, KEY, _LONG if long else _SHORT),))
