"""Write a request's receipt: what was decided, what was sent, and what was believed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coldpress.drive.aging import Considered
from coldpress.drive.exchange import Inbound
from coldpress.engine.belief import Held
from coldpress.model.conversation import Conversation
from coldpress.model.edits import Edit
from coldpress.model.identity import lineage_id
from coldpress.model.records import Cut, Line, Operation, Receipt
from coldpress.wire.marks import Insertion


@dataclass(frozen=True, slots=True)
class Sending:
    """What is about to be sent for a request that was read.

    Attributes:
        operation: what may be done with it.
        edits: all edits that go out, in the order of their spans; those that start at `fresh` were decided now.
        lines: the ledger's lines for decisions made now.
        notes: fixed words.
        held: what the provider is believed to hold, `None` where nobody asked.
        considered: what came of the aged results, `None` where there are none.
        mark: a cache mark of ours that goes out.
        scale: the provider's tokens for one of `coldpress.measure.tokens.estimate`.
    """

    operation: Operation
    edits: tuple[Edit, ...] = ()
    fresh: frozenset[int] = frozenset()
    lines: tuple[Line, ...] = ()
    notes: tuple[str, ...] = ()
    held: Held | None = None
    considered: Considered | None = None
    mark: Insertion | None = None
    scale: float = 1.0

    @property
    def splices(self) -> tuple[Edit | Insertion, ...]:
        """Everything to put into the body, in the order of the spans."""
        if self.mark is None:
            return self.edits
        return tuple(sorted((*self.edits, self.mark), key=lambda put: put.span.start))

    @property
    def cut(self) -> Cut | None:
        """The decision about aged results."""
        return self.considered.weighed.cut if self.considered else None


def receipt_of(inbound: Inbound, conversation: Conversation, sending: Sending, sent: bytes) -> Receipt:
    """Write the receipt of a request that was read."""
    reused = [edit for edit in sending.edits if edit.span.start not in sending.fresh]
    considered = sending.considered
    return Receipt(
        request_id=inbound.request_id,
        received_at=inbound.received_at,
        provider=inbound.provider,
        format=inbound.format,
        model=conversation.head.model,
        lineage=lineage_of(conversation),
        harness_session=conversation.head.harness_session or inbound.session_header,
        operation=sending.operation,
        messages=len(conversation.messages),
        body_bytes=len(inbound.body),
        sent_bytes=len(sent),
        lines=sending.lines,
        reused=len(reused),
        reused_bytes_saved=bytes_saved(reused),
        notes=sending.notes,
        harness=inbound.harness,
        prompt_tokens=considered.prompt_tokens if considered else None,
        removed_tokens=tokens_saved(sending.edits, sending.scale),
        belief=sending.held.belief if sending.held else None,
        cut=sending.cut,
    )


def unread_receipt(inbound: Inbound, operation: Operation, why: str) -> Receipt:
    """Write the receipt of a request of which nothing is known but its size."""
    return Receipt(
        request_id=inbound.request_id,
        received_at=inbound.received_at,
        provider=inbound.provider,
        format=inbound.format,
        model=None,
        lineage="",
        harness_session=inbound.session_header,
        operation=operation,
        messages=0,
        body_bytes=len(inbound.body),
        sent_bytes=len(inbound.body),
        notes=(f"pass_through:{why}",),
        harness=inbound.harness,
    )


def lineage_of(conversation: Conversation) -> str:
    """Name a conversation by its system prompt and its first message."""
    first = next((m for m in conversation.messages if m.role != "system"), None)
    return lineage_id(conversation.head.identity, first.chain if first else b"")


def bytes_saved(edits: Sequence[Edit]) -> int:
    """Bytes that edits took out of a body."""
    return sum(len(edit.span) - len(edit.literal) for edit in edits)


def tokens_saved(edits: Sequence[Edit], scale: float) -> int | None:
    """Tokens that edits took out of a prompt; `None` where one was never counted."""
    saved = 0
    for edit in edits:
        if edit.standing.saved_tokens is None:
            return None
        saved += edit.standing.saved_tokens
    return round(saved * scale)
