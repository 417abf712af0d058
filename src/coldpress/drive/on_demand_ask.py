"""A request of ours for a summary on demand, and how it stands in the ledger."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import Final

from coldpress.drive.exchange import AsksAsClient, Inbound, OwnReply
from coldpress.drive.receipts import Sending, lineage_of
from coldpress.drive.runs import run_of
from coldpress.engine.session import Session
from coldpress.measure.prices import Prices, Unpriced, cost_usd
from coldpress.model.conversation import Conversation
from coldpress.model.native import Applied, NativeAsked
from coldpress.model.records import Money, Outcome, Receipt
from coldpress.wire.answer import read_facts

ANSWER_SECONDS: Final = 600.0
"""For a whole summary; nobody waits for it."""

NOTE: Final = "compact_on_demand"
"""The receipt's word for such a request; `compact_on_demand:failed` where no summary came of it."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A request that went out.

    Attributes:
        inbound: as it came.
        conversation: as it was read.
        session: the state that it was sent with.
        sending: what was put into it.
        ask: sends one of ours in the client's name.
    """

    inbound: Inbound
    conversation: Conversation
    session: Session
    sending: Sending
    ask: AsksAsClient = field(repr=False)

    @property
    def branch(self) -> str:
        """Names the conversation, as `Question.branch` does."""
        return f"{lineage_of(self.conversation)}:{run_of(self.conversation)}"


@dataclass(frozen=True, slots=True)
class Order:
    """What is asked for: a summary of the first `stop` messages, by this body."""

    stop: int
    body: bytes = field(repr=False)


def receipt_of(sent: Sent, order: Order, request_id: str, *, at: float, why: str) -> Receipt:
    """Write down a request for a summary; it belongs to no conversation, so that none seems longer than it is.

    Args:
        sent: the request that it follows.
        order: what was asked for.
        request_id: of ours.
        at: seconds since 1970.
        why: no summary came of it; empty where one did.
    """
    inbound, conversation = sent.inbound, sent.conversation
    return Receipt(
        request_id=request_id,
        received_at=at,
        provider=inbound.provider,
        format=inbound.format,
        model=conversation.head.model,
        lineage="",
        harness_session=None,
        operation="press",
        messages=order.stop,
        body_bytes=len(order.body),
        sent_bytes=len(order.body),
        notes=(NOTE, f"{NOTE}:{why}") if why else (NOTE,),
        harness=inbound.harness,
        native=NativeAsked(("compact_on_demand",), replaced_messages=order.stop),
    )


def outcome_of(reply: OwnReply | None, prices: Prices | Unpriced, *, at: float, seconds: float) -> Outcome:
    """Say how it ended and what it cost; all of that is ours: without us it would not have been sent."""
    request_id = f"{int(at * 1000):011x}{os.urandom(5).hex()}"
    if reply is None:
        return Outcome(request_id, None, "upstream_failed", seconds)
    facts = read_facts("anthropic", reply.body)
    outcome = Outcome(
        request_id,
        reply.status,
        "complete",
        seconds,
        facts.usage,
        others=facts.others,
        context_tokens=facts.context_tokens,
        reply_id=facts.message_id,
    )
    cost = cost_usd(facts.usage, prices)
    bill = None if isinstance(cost, Unpriced) else cost
    if bill is not None and not isinstance(prices, Unpriced):
        outcome = replace(outcome, money=Money(bill, 0.0, bill, prices=prices.label))
    if reply.status != 200:
        return outcome
    return replace(outcome, applied=(Applied("compact_on_demand", usage=facts.usage, usd=bill),))
