"""Write a request's receipt: what was decided, what was sent, and what was believed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from coldpress.drive.aging import Considered
from coldpress.drive.beside import NOTHING, Beside
from coldpress.drive.exchange import Inbound, Screened
from coldpress.engine.belief import Held
from coldpress.engine.session import PlacedRebuild, RestoredCall
from coldpress.model.conversation import Conversation
from coldpress.model.edits import NOTHING_SAVED, Edit, Saved
from coldpress.model.identity import EditKey, lineage_id
from coldpress.model.plugins import PluginNote
from coldpress.model.records import Cut, Finding, Line, Operation, Receipt
from coldpress.wire.addition import Addition
from coldpress.wire.marks import Insertion
from coldpress.wire.tool_schemas import SchemaEdit


@dataclass(frozen=True, slots=True)
class Reused:
    """Smaller views that were made for earlier requests and are sent again.

    Attributes:
        views: how many.
        bytes: of UTF-8 that their texts had more. With what the lines say of views made now that is all that the views
            of a request save.
    """

    views: int = 0
    bytes: int = 0

    @classmethod
    def of(cls, edits: Iterable[Edit], made: Mapping[EditKey, int] = MappingProxyType({})) -> Reused:
        """Sum up.

        Args:
            edits: all that go out. Those that give an exact text back are no smaller views.
            made: texts that were decided on now, with what an earlier view of them saved already.
        """
        views = size = 0
        for edit in edits:
            if edit.standing.mode == "restore":
                continue
            before = made.get(edit.standing.key)
            views += before is None
            size += edit.saved_bytes if before is None else before
        return cls(views, size)


@dataclass(frozen=True, slots=True)
class Sending:
    """What is about to be sent for a request that was read.

    Attributes:
        operation: what may be done with it.
        edits: all edits that go out, in the order of their spans.
        saved: what they save together.
        reused: those of them that are views made earlier.
        lines: the ledger's lines for decisions made now.
        notes: fixed words.
        held: what the provider is believed to hold, `None` where nobody asked.
        considered: what came of the aged results, `None` where there are none.
        mark: a cache mark of ours that goes out.
        rebuild: messages that do not go out, with what goes in their place.
        schemas: tool schemas that go out otherwise.
        calls: earlier calls that go out as the model wrote them.
        plugins: what plugins of other packages did.
        findings: what the watchers noticed.
        had_events: something was taken out of the conversation on an earlier request.
        scale: the provider's tokens for one of `coldpress.measure.tokens.estimate`.
        beside: what is put beside the client's own fields.
    """

    operation: Operation
    edits: tuple[Edit, ...] = ()
    saved: Saved = NOTHING_SAVED
    reused: Reused = Reused()
    lines: tuple[Line, ...] = ()
    notes: tuple[str, ...] = ()
    held: Held | None = None
    considered: Considered | None = None
    mark: Insertion | None = None
    rebuild: PlacedRebuild | None = None
    schemas: tuple[SchemaEdit, ...] = ()
    calls: tuple[RestoredCall, ...] = ()
    plugins: tuple[PluginNote, ...] = ()
    findings: tuple[Finding, ...] = ()
    had_events: bool = False
    scale: float = 1.0
    beside: Beside = NOTHING

    @property
    def splices(self) -> tuple[Edit | Insertion | PlacedRebuild | SchemaEdit | RestoredCall | Addition, ...]:
        """Everything to put into the body, in the order of the spans."""
        ours = (put for put in (self.mark, self.rebuild) if put is not None)
        more = (*ours, *self.schemas, *self.calls, *self.beside.additions)
        if not more:
            return self.edits
        return tuple(sorted((*self.edits, *more), key=lambda put: put.span.start))

    @property
    def cut(self) -> Cut | None:
        """The decision about aged results."""
        return self.considered.weighed.cut if self.considered else None


_UNSCREENED: Final = Screened(0)


def receipt_of(inbound: Inbound, conversation: Conversation, sending: Sending, sent: bytes) -> Receipt:
    """Write the receipt of a request that was read."""
    considered, screened = sending.considered, inbound.screened or _UNSCREENED
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
        body_bytes=inbound.client_bytes,
        sent_bytes=len(sent),
        lines=(*screened.lines, *sending.lines),
        reused=sending.reused.views,
        reused_bytes_saved=sending.reused.bytes,
        notes=(*screened.notes, *sending.notes),
        harness=inbound.harness,
        prompt_tokens=considered.prompt_tokens if considered else None,
        removed_tokens=sending.saved.scaled(sending.scale),
        belief=sending.held.belief if sending.held else None,
        cut=sending.cut,
        pressure=considered.pressure if considered else None,
        findings=(*screened.findings, *sending.findings),
        plugins=sending.plugins,
        offload=considered.offloaded if considered else None,
        native=sending.beside.asked,
    )


def unread_receipt(inbound: Inbound, operation: Operation, why: str) -> Receipt:
    """Write the receipt of a request of which nothing is known but its size, and what was taken out of it."""
    screened = inbound.screened or _UNSCREENED
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
        body_bytes=inbound.client_bytes,
        sent_bytes=len(inbound.body),
        lines=screened.lines,
        notes=(*screened.notes, f"pass_through:{why}"),
        findings=screened.findings,
        harness=inbound.harness,
    )


def unread_sent_receipt(inbound: Inbound, sending: Sending, why: str, sent: bytes) -> Receipt:
    """Write the receipt of a request that nobody read to its end, with what goes out in it all the same."""
    reused = Reused.of(sending.edits)
    return replace(
        unread_receipt(inbound, sending.operation, why),
        sent_bytes=len(sent),
        reused=reused.views,
        reused_bytes_saved=reused.bytes,
        native=sending.beside.asked,
    )


def withheld_receipt(
    inbound: Inbound, operation: Operation, findings: tuple[Finding, ...], why: str, conversation: Conversation | None
) -> Receipt:
    """Write the receipt of a request that was not sent."""
    receipt = replace(
        unread_receipt(inbound, operation, ""), sent_bytes=0, notes=(f"withheld:{why}",), findings=findings
    )
    if conversation is None:
        return receipt
    return replace(
        receipt,
        model=conversation.head.model,
        lineage=lineage_of(conversation),
        harness_session=conversation.head.harness_session or inbound.session_header,
        messages=len(conversation.messages),
    )


def root_of(conversation: Conversation) -> bytes:
    """Name a conversation by its first message alone, whatever stands before it; empty where it has none."""
    for message in conversation.messages:
        if message.role != "system":
            return message.chain
    return b""


def lineage_of(conversation: Conversation) -> str:
    """Name a conversation by its system prompt and its first message."""
    return lineage_id(conversation.head.identity, root_of(conversation))
