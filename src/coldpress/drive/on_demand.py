"""Have a provider summarise long conversations on demand, in the background, and put its summary in their place.

A request whose prompt came up to the setting is followed by one of ours for its older part. What that answers takes
the place of exactly these messages from the next request on, as a decision like every other: stored before it is sent,
found again by the chain of the messages, and so never used where the client has edited or rewound its history.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from coldpress.config.settings import Settings
from coldpress.drive.accounts import Accounts
from coldpress.drive.aging import Considered, Question
from coldpress.drive.beside import NOTHING, Beside
from coldpress.drive.exchange import Inbound, OwnReply
from coldpress.drive.insight import Insight
from coldpress.drive.memory import Recent
from coldpress.drive.native_asking import asking_of
from coldpress.drive.on_demand_ask import ANSWER_SECONDS, Order, Sent, outcome_of, receipt_of
from coldpress.drive.on_demand_swap import Made, Swapping
from coldpress.drive.planned import Planned
from coldpress.drive.receipts import Sending, lineage_of
from coldpress.drive.runs import run_of
from coldpress.drive.taken_back import TakenBack
from coldpress.engine.on_demand import AGAIN_SHARE, stands, summarised_at, why_not, without_summaries
from coldpress.engine.session import Session
from coldpress.model.conversation import Conversation
from coldpress.model.native import Declined, NativeAsked
from coldpress.model.records import Outcome
from coldpress.stores.base import Store
from coldpress.wire.on_demand import BETA, Block, read_block
from coldpress.wire.span import Misread

log = logging.getLogger(__name__)

MOST_KEPT: Final = 4_096
"""Conversations of which it is remembered what came of their summaries."""

MOST_OPEN: Final = 1_000
"""Requests whose reply is awaited, each with its body."""

RECENT: Final = 50
"""Requests of a conversation that are looked through for a refusal of before this process."""

_NAME: Final = "compact_on_demand"


@dataclass(frozen=True, slots=True)
class _Track:
    """What is known of one conversation.

    Attributes:
        again_tokens: nothing is asked for on a shorter prompt.
        word: why nothing came of it the last time; empty where something did.
        made: a summary that no request has gone out with yet.
    """

    again_tokens: int = 0
    word: str = ""
    made: Made | None = None


_REFUSED: Final = _Track(sys.maxsize, "refused")
"""A conversation whose provider did not take its own block back: nothing more is asked for."""


class OnDemand:
    """Asks for summaries and hands them out. Use from one event loop, but for `fitting`, `swapped` and `beside`.

    Args:
        settings: with `compact_on_demand_tokens` of each provider.
        store: where requests of ours are written down.
        accounts: prices and forecasts.
        insight: what replies have told.
        taken_back: batches that hold no more.
        clock: seconds since 1970.
    """

    def __init__(
        self,
        settings: Settings,
        store: Store,
        accounts: Accounts,
        insight: Insight,
        taken_back: TakenBack,
        *,
        clock: Callable[[], float],
    ) -> None:
        rows = ((row.name, row.native.compact_on_demand_tokens) for row in settings.providers)
        self._tokens = {name: tokens for name, tokens in rows if tokens is not None}
        self._settings = settings
        self._store = store
        self._accounts = accounts
        self._insight = insight
        self._taken_back = taken_back
        self._clock = clock
        self._swapping = Swapping(settings, accounts)
        self._tracks: Recent[str, _Track] = Recent(MOST_KEPT)
        self._open: Recent[str, Sent] = Recent(MOST_OPEN)
        self._used: Recent[str, tuple[bytes, ...]] = Recent(MOST_OPEN)
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def is_on(self, inbound: Inbound) -> bool:
        """Whether the settings ask for it, and somebody can send what it takes."""
        return inbound.provider in self._tokens and inbound.ask is not None

    def fitting(self, inbound: Inbound, planned: Planned) -> Planned:
        """Let the whole history go where a summary that stands may not."""
        plan = planned.plan
        if plan is None or not stands(plan.session):
            return planned
        fits = self.known(inbound, plan.session) is plan.session
        if fits and self._goes(inbound, planned.conversation):
            return planned
        session = without_summaries(plan.session)
        return replace(planned, plan=replace(plan, session=session, edits=session.edits))

    def known(self, inbound: Inbound, session: Session) -> Session:
        """Give a state without the summary that stands in it where the provider may not get that, cheaply judged."""
        return session if not stands(session) or self.is_on(inbound) else without_summaries(session)

    def holds(self, conversation: Conversation, session: Session) -> bool:
        """Whether a provider's summary stands, or is on its way: then none of ours is made."""
        if stands(session):
            return True
        if not self._tokens:
            return False
        name = branch_of(conversation)
        track = self._tracks.get(name)
        return name in self._tasks or (track is not None and track.made is not None)

    def has_come(self, asked: Question) -> bool:
        """Whether a summary waits for the next request of a conversation that may be changed."""
        track = self._tracks.get(asked.branch) if self._tokens and asked.operation == "press" else None
        return track is not None and track.made is not None

    def swapped(self, asked: Question) -> Considered | None:
        """Put a summary that has come in the place of its messages; `None` where none has come. Blocking."""
        name = asked.branch
        track = self._tracks.get(name)
        if track is None or track.made is None or asked.operation != "press" or asked.provider not in self._tokens:
            return None
        found = self._swapping.swapped(asked, track.made)
        if isinstance(found, str):
            self._note(name, replace(track, made=None, word=found))
            return None
        if found is None:
            return None
        after = found.prompt_tokens or 0
        self._note(name, _Track(again_tokens=after + self._step(asked.provider)))
        return found

    def least(self, session: Session) -> Beside:
        """Give what lets a block in that stands; nothing where none does."""
        if session.rebuild is None or not stands(session):
            return NOTHING
        return Beside(betas=(BETA,), asked=NativeAsked((_NAME,), replaced_messages=session.rebuild.stop))

    def beside(self, inbound: Inbound, conversation: Conversation, session: Session, *, draining: bool) -> Beside:
        """Give what goes beside a request: the word that lets the block in, or why there is none."""
        if stands(session):
            return self.least(session)
        if not self.is_on(inbound):
            return NOTHING
        why = "drain" if draining else self._why_not(inbound, conversation)
        track = self._tracks.get(branch_of(conversation))
        why = why or (track.word if track is not None else "")
        return Beside(asked=NativeAsked(declined=(Declined(_NAME, why),))) if why else NOTHING

    def sent(self, inbound: Inbound, conversation: Conversation, session: Session, sending: Sending) -> None:
        """Take note of a request that goes out: its prompt may be one to summarise."""
        if stands(session) and sending.operation in ("press", "drain"):
            chains = (conversation.messages[at].chain for at in summarised_at(session))
            self._used.note(inbound.request_id, tuple(chains))
        tokens = self._tokens.get(inbound.provider)
        if tokens is None or sending.operation != "press" or inbound.ask is None or len(session.replies) < 2:
            return
        self._open.note(inbound.request_id, Sent(inbound, conversation, session, sending, inbound.ask))

    def ended(self, outcome: Outcome) -> None:
        """Take note of how a request ended: a long one is followed by ours, a refused one gives the block up."""
        sent, used = self._open.pop(outcome.request_id, None), self._used.pop(outcome.request_id, None)
        if used is not None and outcome.status == 400 and outcome.overflow is None:
            self._taken_back.take_back(used)
            log.warning("a provider's own summary was refused: the whole history goes again")
            if sent is not None:
                self._note(sent.branch, _REFUSED)
            return
        if sent is None or outcome.status != 200 or outcome.ended != "complete":
            return
        if outcome.failover is not None and outcome.failover.served:
            return
        name, track = sent.branch, self._tracks.get(sent.branch) or _Track()
        prompt = _prompt_of(outcome)
        is_made = track.made is not None and track.made.is_about(sent.conversation)
        if name in self._tasks or is_made or prompt < self._tokens[sent.inbound.provider]:
            return
        if prompt < track.again_tokens or self._why_not(sent.inbound, sent.conversation) is not None:
            return
        task = asyncio.get_running_loop().create_task(self._summarise(sent, outcome))
        self._tasks[name] = task
        task.add_done_callback(functools.partial(self._done, name))

    async def close(self) -> None:
        """Ask for nothing more."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _summarise(self, sent: Sent, outcome: Outcome) -> None:
        order = await asyncio.to_thread(self._order, sent, outcome)
        if order == _REFUSED.word:
            self._note(sent.branch, _REFUSED)
            return
        if isinstance(order, str):
            self._again(sent, outcome, order)
            return
        at = self._clock()
        betas = (*sent.sending.beside.betas, BETA)
        reply = await sent.ask(order.body, betas=tuple(dict.fromkeys(betas)), timeout_seconds=ANSWER_SECONDS)
        block = _block(reply)
        why = "" if block is not None else "no_answer" if reply is None else "failed"
        prices = self._accounts.prices(sent.inbound.provider, sent.conversation.head.model, at)
        own = outcome_of(reply, prices, at=at, seconds=max(0.0, self._clock() - at))
        self._store.put((), (), receipt_of(sent, order, own.request_id, at=at, why=why))
        self._store.add_outcome(own)
        if block is None:
            log.warning("no summary on demand", extra={"conversation": sent.branch, "status": own.status})
            self._again(sent, outcome, why)
            return
        made = Made(
            order.stop, sent.inbound.provider, sent.conversation, sent.session.rebuild, block.message, block.text
        )
        self._note(sent.branch, _Track(made=made))

    def _order(self, sent: Sent, outcome: Outcome) -> Order | str:
        if sent.branch not in self._tracks and self._was_refused(sent.conversation):
            return _REFUSED.word
        lineage, model = self._insight.lineage(sent.conversation), sent.conversation.head.model
        routes = self._accounts.routes(sent.inbound.provider, model, self._clock())
        to_come = self._accounts.requests_to_come(sent.inbound.harness, len(sent.session.replies))
        return self._swapping.order(sent, outcome, lineage, routes, requests=to_come)

    def _was_refused(self, conversation: Conversation) -> bool:
        """Whether the ledger says that the newest request with a block was refused, before this process."""
        for entry in self._store.receipts(limit=RECENT, lineage=lineage_of(conversation), before=None):
            native, outcome = entry.receipt.native, entry.outcome
            if native is not None and _NAME in native.asked and outcome is not None:
                return outcome.status == 400 and outcome.overflow is None
        return False

    def _goes(self, inbound: Inbound, conversation: Conversation) -> bool:
        """Whether a block that stands may go: the client asks for nothing of the kind, and the model knows it."""
        return self._why_not(inbound, conversation) in (None, "no_price")

    def _why_not(self, inbound: Inbound, conversation: Conversation) -> str | None:
        provider = self._settings.provider(inbound.provider)
        if provider is None:
            return "provider"
        try:
            asking = asking_of(
                self._settings,
                self._accounts,
                conversation,
                provider=provider,
                harness=inbound.harness,
                at=inbound.received_at,
            )
        except Misread:
            return "unreadable"
        return why_not(provider.native, asking, may_send=inbound.ask is not None)

    def _again(self, sent: Sent, outcome: Outcome, word: str) -> None:
        """Remember that nothing came of it, and from where on it is tried again."""
        self._note(sent.branch, _Track(_prompt_of(outcome) + self._step(sent.inbound.provider), word))

    def _step(self, provider: str) -> int:
        return round(AGAIN_SHARE * self._tokens[provider])

    def _note(self, name: str, track: _Track) -> None:
        self._tracks.note(name, track)

    def _done(self, name: str, task: asyncio.Task[None]) -> None:
        self._tasks.pop(name, None)
        if not task.cancelled() and (fault := task.exception()) is not None:
            log.error("summarising on demand failed", extra={"conversation": name}, exc_info=fault)


def branch_of(conversation: Conversation) -> str:
    """Name a conversation as `Question.branch` does."""
    return f"{lineage_of(conversation)}:{run_of(conversation)}"


def _prompt_of(outcome: Outcome) -> int:
    """Tokens of a prompt as reported; 0 where nobody says."""
    return outcome.context_tokens if outcome.context_tokens is not None else outcome.usage.prompt or 0


def _block(reply: OwnReply | None) -> Block | None:
    if reply is None or reply.status != 200:
        return None
    try:
        return read_block(reply.body)
    except Misread:
        return None
