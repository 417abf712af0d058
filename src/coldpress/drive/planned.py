"""A request that was read and decided on at first sight, and what goes out once aged results were considered too."""

from __future__ import annotations

from dataclasses import dataclass, replace

from coldpress.drive.aging import Considered, batch_of
from coldpress.drive.calls import NO_CALL_WORK
from coldpress.drive.calls_on_the_way import CallWork
from coldpress.drive.receipts import Reused, Sending
from coldpress.drive.settle import Decided
from coldpress.drive.tails import Tails
from coldpress.engine.belief import Held
from coldpress.engine.plan import Plan, placed_batch
from coldpress.engine.session import Session
from coldpress.model.conversation import Conversation
from coldpress.model.identity import EditKey
from coldpress.model.plugins import PluginNote
from coldpress.model.records import Operation
from coldpress.wire.prefix import Reading


@dataclass(frozen=True, slots=True)
class Planned:
    """A request that was read.

    Attributes:
        reading: the request, and the state of its known prefix.
        operation: what may be done with it.
        notes: fixed words for its receipt.
        held: what the provider is believed to hold, `None` where nobody asked.
        plan: what stands and what is decided at first sight; `None` where nothing may be.
        pending, pending_batches: earlier decisions that the store may still be writing, texts and batches.
        sent_before: some process has sent this very request, and decided on no batch then.
        exact_tokens: of a client's own compaction that would be too long as it came; `None` for every other request.
        calls: what of its tools and earlier calls is sent otherwise.
        plugins: what plugins of other packages did.
    """

    reading: Reading[Session]
    operation: Operation
    notes: tuple[str, ...]
    held: Held | None = None
    plan: Plan | None = None
    pending: tuple[EditKey, ...] = ()
    pending_batches: tuple[bytes, ...] = ()
    sent_before: bool = False
    exact_tokens: int | None = None
    calls: CallWork = NO_CALL_WORK
    plugins: tuple[PluginNote, ...] = ()

    @property
    def conversation(self) -> Conversation:
        """The request."""
        return self.reading.conversation


def decided_on(planned: Planned, considered: Considered | None, tails: Tails) -> Decided:
    """Put the decisions at first sight and those on aged results together; `tails` says where the latter are kept."""
    conversation, plan = planned.conversation, planned.plan
    assert plan is not None
    before = planned.reading.extra
    decided = Decided(
        conversation,
        plan,
        plan.session,
        pending=planned.pending,
        pending_batches=planned.pending_batches,
        known_edits=len(before.first) if before is not None else 0,
        sent_before=planned.sent_before,
    )
    if considered is None or not considered.applied:
        return decided
    place = tails.place(conversation, plan.session)
    batch, originals = batch_of(conversation, considered, conversation.messages[place].chain)
    at = {message.chain: index for index, message in enumerate(conversation.messages)}
    made = placed_batch(conversation, at, batch, place)
    return replace(decided, session=plan.session.with_aged((made,)), batch=batch, aged=made, originals=originals)


def with_edits(sending: Sending, decided: Decided, session: Session) -> Sending:
    """Say which edits go out in this mode of operation, and which of them were decided now."""
    if sending.operation not in ("press", "drain"):
        return replace(sending, lines=decided.plan.lines)
    return replace(
        sending,
        edits=session.edits,
        saved=session.saved,
        rebuild=session.rebuild,
        calls=session.sent_calls,
        reused=Reused.of(session.edits, _made(decided, session)),
        mark=sending.considered.mark if sending.considered else None,
        lines=(*decided.plan.lines, *(sending.considered.lines if sending.considered else ())),
    )


def _made(decided: Decided, session: Session) -> dict[EditKey, int]:
    """Give the texts that were decided on now, each with the bytes that an earlier view of it saved already."""
    made = dict.fromkeys(decided.made, 0)
    if decided.aged is None or session.aged[-1:] != (decided.aged,):
        return made
    again = {edit.standing.key: 0 for edit in decided.aged.edits}
    for edit in decided.plan.session.edits:
        if edit.standing.key in again and edit.standing.mode != "restore":
            again[edit.standing.key] = edit.saved_bytes
    return again | made
