"""Tell apart the runs of one task, which begin alike."""

from __future__ import annotations

from coldpress.model.conversation import Conversation


def run_of(conversation: Conversation) -> str:
    """Name a conversation by its first reply, in 64 hexadecimal digits; empty before there is one.

    Runs of one task begin alike, so they have one lineage, and are told apart by this.
    """
    return next((message.chain.hex() for message in conversation.messages if message.role == "assistant"), "")
