"""Tell clients that end each request with something that the next one lacks, so that their batches stand all the same.

Some put the time, the open files or a reminder at the end of every request, as a message or as a block of the last one.
A batch that is kept by such a message is never found again. It is kept by the last reply in front of it then.
"""

from __future__ import annotations

import threading
from typing import Final

from coldpress.drive.memory import Recent
from coldpress.engine.session import Session
from coldpress.model.conversation import Conversation

MOST_BATCHES: Final = 10_000
"""Batches of which it is remembered where they were decided."""


class Tails:
    """Remembers where batches were decided; safe to use from any thread."""

    def __init__(self) -> None:
        self._after: Recent[bytes, bytes] = Recent(MOST_BATCHES)  # by the last reply: the message it was kept by
        self._lock = threading.Lock()

    def place(self, conversation: Conversation, session: Session) -> int:
        """Give the index of the message that a batch decided on this request is kept by.

        That is the last one, or the last reply where what follows it will not come again. Where one is kept by that
        reply already, the last one: the first decision at a message holds.
        """
        last, reply = len(conversation.messages) - 1, conversation.last_assistant
        if reply < 0 or any(batch.at == reply for batch in session.aged):
            return last
        return reply if self._is_transient(conversation, session) else last

    def note(self, conversation: Conversation, after: bytes) -> None:
        """Remember that a batch decided on this request is kept by the message with this chain."""
        if conversation.last_assistant >= 0:
            with self._lock:
                self._after.note(conversation.messages[conversation.last_assistant].chain, after)

    def _is_transient(self, conversation: Conversation, session: Session) -> bool:
        """Whether the last batch decided behind a reply of this conversation was lost with what stood behind that.

        A batch that is kept by a reply says so too, after a restart as well.
        """
        messages = conversation.messages
        if any(messages[batch.at].role == "assistant" for batch in session.aged):
            return True
        with self._lock:
            for index in range(conversation.last_assistant, -1, -1):
                after = self._after.get(messages[index].chain) if messages[index].role == "assistant" else None
                if after is not None:
                    return all(message.chain != after for message in messages[index:])
        return False
