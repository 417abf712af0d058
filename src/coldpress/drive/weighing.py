"""Say what of a request becomes smaller that a model has seen: first what its budget asks for, then what pays."""

from __future__ import annotations

import asyncio
import functools
from concurrent.futures import Executor
from dataclasses import replace

from coldpress.config.settings import Settings
from coldpress.drive.accounts import Accounts
from coldpress.drive.aging import Aging, Considered, Question
from coldpress.drive.compaction import Compaction
from coldpress.drive.counting import Counting, place_of
from coldpress.drive.deciders import Deciders
from coldpress.drive.exchange import Inbound
from coldpress.drive.faults import Fault
from coldpress.drive.insight import Insight
from coldpress.drive.late import Run
from coldpress.drive.memory import Refused
from coldpress.drive.native_asking import clears
from coldpress.drive.notebook import Notebook
from coldpress.drive.offload import Offload
from coldpress.drive.on_demand import OnDemand
from coldpress.drive.planned import Planned
from coldpress.drive.receipts import lineage_of
from coldpress.drive.result_summaries import ResultSummaries, Sought, with_kept
from coldpress.drive.settle import Settler
from coldpress.drive.summariser import Summariser
from coldpress.engine.belief import Held
from coldpress.engine.session import Session
from coldpress.model.conversation import Conversation
from coldpress.model.overflow import Overflow
from coldpress.model.records import Operation
from coldpress.stores.base import Store

_SHOWN_TO_SUMMARISERS = ("anthropic-beta", "anthropic-version")


class Weighing:
    """Weighs requests one after the other. Use from one event loop.

    Args:
        settings: frozen settings.
        store: for notes.
        accounts: prices and forecasts.
        insight: what is known of conversations.
        settler: what was decided earlier.
        workers: where a forecast is read in the background.
        deciders: of the engine, or others in their place.
        on_demand: has the provider's own summaries.
    """

    def __init__(
        self,
        settings: Settings,
        store: Store,
        *,
        accounts: Accounts,
        insight: Insight,
        settler: Settler,
        workers: Executor,
        deciders: Deciders,
        on_demand: OnDemand,
    ) -> None:
        self._on_demand = on_demand
        self._settings = settings
        self._accounts = accounts
        self._insight = insight
        self._settler = settler
        self._workers = workers
        self._lacks_log = settings.require_raw_log and not settings.store.raw_log  # then the store takes no batch
        self._counting = Counting(deciders.weigh)
        self._summaries = ResultSummaries(Offload(settings.offload, store)) if settings.offload.enabled else None
        self._aging = Aging(settings, accounts, self._counting, deciders, self._summaries)
        asks_model = settings.summariser.kind != "structural"
        summariser = Summariser(settings.summariser) if asks_model else None
        self._notebook = Notebook(settings.notes, store)
        self._compaction = Compaction(settings, self._notebook, self._counting, self._aging, summariser=summariser)

    @property
    def patience_seconds(self) -> float:
        """How much longer a request may take since a summary is waited for."""
        single = self._summaries.patience_seconds if self._summaries is not None else 0.0
        return max(self._compaction.patience_seconds, single)

    async def planned(self, inbound: Inbound, planned: Planned, run: Run) -> Considered | None:
        """Decide on a request that was read; `None` where there is nothing to decide on. See `weigh`."""
        plan, held, conversation = planned.plan, planned.held, planned.conversation
        if plan is None or held is None:
            return None
        if planned.exact_tokens is not None:
            return self.as_it_stands(inbound, conversation, plan.session, held=held, exact_tokens=planned.exact_tokens)
        return await self.weigh(
            inbound,
            conversation,
            plan.session,
            held=held,
            operation=planned.operation,
            sent_before=planned.sent_before,
            run=run,
        )

    async def weigh(
        self,
        inbound: Inbound,
        conversation: Conversation,
        session: Session,
        *,
        held: Held,
        operation: Operation,
        sent_before: bool,
        run: Run,
    ) -> Considered | None:
        """Decide on a request; `None` where there is nothing to decide on.

        Args:
            inbound: the request as it came.
            conversation: the request as it was read.
            session: the state after it, with everything decided at first sight.
            held: what the provider is believed to hold.
            operation: only `press` makes edits.
            sent_before: some process has sent this very request, and decided on no batch then.
            run: does work here or beside the event loop.
        """
        self._accounts.refresh_forecast(inbound.harness, self._workers)  # it must be there before it is needed
        refused = self._refused(inbound, conversation)
        if self._is_decided(conversation, session, refused, sent_before=sent_before):
            return None
        asked = self._question(inbound, conversation, session, held, operation)
        if refused is not None:
            asked = await self._after_refusal(asked, refused, inbound.task, run)
        opening = self._notebook.opening(asked)
        if opening is not None:
            return opening
        swapped = await self._swapped(asked, run)
        if swapped is not None:
            return swapped
        budget = self._compaction.budget(asked, inbound.task)
        pressed = await self._compaction.consider(asked, budget, run) if budget is not None else None
        if (pressed is not None and pressed.applied) or self._lacks_log or not self._aging.may_have_aged(session):
            return pressed
        look = self._aging.look(asked)
        aged = await run(functools.partial(self._aging.consider, look), beside=look.is_heavy)
        if aged is not None and aged.sought is not None:
            aged = await self._summarised(asked, aged, aged.sought, run)
        elif aged is not None:
            aged = replace(aged, offloaded=with_kept(None, aged.weighed.chosen, ()))
        if aged is None or pressed is None:
            return aged or pressed
        # Summaries that were asked for in vain are paid for, whatever pays now.
        cut = replace(aged.weighed.cut, summariser_usd=pressed.weighed.cut.summariser_usd)
        return replace(aged, weighed=replace(aged.weighed, cut=cut), pressure=pressed.pressure)

    async def _swapped(self, asked: Question, run: Run) -> Considered | None:
        """Put a provider's summary that has come in the place of its messages."""
        if self._lacks_log or not self._on_demand.has_come(asked):
            return None
        return await run(functools.partial(self._on_demand.swapped, asked), beside=True)

    def tokens_too_many(self, inbound: Inbound, conversation: Conversation, held: Held) -> int | None:
        """Count a client's own compaction as it came; `None` where it fits, or nobody knows the window. Blocking."""
        asked = self._question(inbound, conversation, Session(), held, "drain")
        return self._compaction.exact_tokens_too_many(asked, inbound.task)

    def as_it_stands(
        self, inbound: Inbound, conversation: Conversation, session: Session, *, held: Held, exact_tokens: int
    ) -> Considered:
        """Write down that a client's own compaction goes out with what stands, since it would be too long without."""
        asked = self._question(inbound, conversation, session, held, "drain")
        return self._compaction.as_it_stands(asked, inbound.task, exact_tokens)

    async def remembered(self, inbound: Inbound, conversation: Conversation, considered: Considered | None) -> None:
        """Keep what a summary that went out says for good.

        It is waited for, so that the next compaction sees these notes however soon it comes.
        """
        if considered is None or considered.written is None:
            return
        with Fault("notes of a summary not kept", inbound.request_id).kept():
            keep = functools.partial(self._notebook.remember, conversation, considered, now=inbound.received_at)
            await asyncio.get_running_loop().run_in_executor(self._workers, keep)

    async def close(self) -> None:
        """Give up what is being written in the background."""
        await self._compaction.close()
        if self._summaries is not None:
            await self._summaries.close()

    async def _summarised(self, asked: Question, aged: Considered, sought: Sought, run: Run) -> Considered:
        """Have the summaries written that would pay, and decide again on what came of that."""
        if not sought.wanted or self._summaries is None:
            return replace(aged, offloaded=with_kept(sought.record, aged.weighed.chosen, ()))
        if asked.operation != "press":
            return replace(aged, offloaded=replace(sought.record, why=asked.operation))
        record = await self._summaries.ask(sought)
        again = await run(functools.partial(self._aging.consider, self._aging.look(asked)), beside=True) or aged
        is_used = any(one.view.standing.mode == "model" for one in again.weighed.chosen)
        record = replace(record, why="applied" if is_used else f"final_gate:{again.weighed.cut.reason}")
        cut = again.weighed.cut
        spent = record.usd or 0.0
        net = cut.net_usd - spent if cut.net_usd is not None and record.usd is not None else None
        cut = replace(cut, summariser_usd=cut.summariser_usd + spent, net_usd=net)
        told = with_kept(record, again.weighed.chosen, sought.wanted)
        return replace(again, weighed=replace(again.weighed, cut=cut), offloaded=told)

    def _question(
        self, inbound: Inbound, conversation: Conversation, session: Session, held: Held, operation: Operation
    ) -> Question:
        headers = ((name, inbound.headers[name]) for name in _SHOWN_TO_SUMMARISERS if name in inbound.headers)
        return Question(
            name=lineage_of(conversation),
            conversation=conversation,
            session=session,
            provider=inbound.provider,
            harness=inbound.harness,
            lineage=self._insight.lineage(conversation),
            held=held,
            at=inbound.received_at,
            operation=operation,
            headers=tuple(headers),
            learned_tokens=self._insight.window(inbound.provider, conversation.head.model),
            on_demand=self._on_demand.holds(conversation, session),
            cleared=operation == "press" and clears(self._settings, self._accounts, inbound, conversation),
        )

    def _refused(self, inbound: Inbound, conversation: Conversation) -> Refused | None:
        """Give the refusal of the last request, where this one is the same or goes on from it, and asks as it did."""
        refused = self._insight.lineage(conversation).refused
        if refused is None or refused.asked != (inbound.provider, conversation.head.model):
            return None
        return refused if place_of(refused, conversation) is not None else None

    async def _after_refusal(self, asked: Question, refused: Refused, task: str | None, run: Run) -> Question:
        """Put to a question what a refusal told; where it named no window, that is less than the prompt had."""
        if refused.told.window_tokens is None:
            counted = await run(functools.partial(self._compaction.refused_tokens, asked, refused), beside=True)
            told = Overflow(refused.told.prompt_tokens, refused.told.prompt_tokens or counted)
            refused = replace(refused, told=told)
            if told.window_tokens is not None and not self._compaction.knows_window(asked, task):
                self._insight.learn_window(asked.provider, asked.conversation.head.model, told.window_tokens)
                asked = replace(asked, learned_tokens=told.window_tokens)
        return replace(asked, refused=refused)

    def _is_decided(
        self, conversation: Conversation, session: Session, refused: Refused | None, *, sent_before: bool
    ) -> bool:
        """Whether this very request was decided on before: the first decision on it holds, whatever came of it.

        A request that was too long without a batch is decided on again: the provider has nothing of it.
        """
        last = len(conversation.messages) - 1
        at = session.aged[-1].at if session.aged else None
        # Behind the reply that a batch is kept by stands what the next request may lack, and this one may have anew.
        is_refused_anew = refused is not None and refused.chain != conversation.messages[last].chain
        stands = at == last or (at is not None and at == conversation.last_assistant and not is_refused_anew)
        if refused is not None and not stands:
            return self._settler.sent_exact(conversation.messages[last].chain)
        # Sent before without a batch, it may have gone on since, and all that follows it goes by what was sent.
        sent_here = conversation.known == len(conversation.messages) or self._insight.was_sent(conversation)
        return stands or sent_here or sent_before or self._settler.sent_exact(conversation.messages[last].chain)
