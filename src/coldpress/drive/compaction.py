"""Watch the budget of every request, and have prompts that come up to it brought down: now, or with a coming summary.

The order of things: below the trigger nothing. Above it the request is worked on by `coldpress.drive.shrinking`. Where
that wants a model's summary, one is begun in the background and the request goes on as it is, unless it is urgent: then
the summary is waited for, and rules take its place where none comes.
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final, Protocol, TypeVar

from coldpress.config.settings import Settings
from coldpress.drive.aging import COUNT_BYTES, Aging, Considered, Question
from coldpress.drive.counting import Counting, ends_of
from coldpress.drive.memory import Recent
from coldpress.drive.model_digests import Failed, ModelDigests, Order
from coldpress.drive.shrinking import Shrinker, Shrunk
from coldpress.drive.summaries import Digest, shown_notes
from coldpress.drive.summariser import Summariser
from coldpress.engine.budget import Budget
from coldpress.engine.cut import Weighed
from coldpress.engine.layout import Layout
from coldpress.engine.notes import facts, remembered
from coldpress.engine.rebuild import Writing, write
from coldpress.engine.session import Session
from coldpress.measure.windows import window_tokens
from coldpress.model.notes import Note, scope_of_lineage
from coldpress.model.records import Cut, Pressure
from coldpress.stores.base import Store

FEWEST_BYTES_PER_TOKEN: Final = 1.5
"""A body with fewer bytes for each token of the trigger is not counted: recorded requests have 2.7 bytes a token, and
what has less than 1.5, long runs of rare characters, reaches the trigger a little later, far from the window."""

RETRY_SHARE: Final = 0.05
"""Where nothing could be done, it is tried again when the prompt has grown by this share of the window."""

MOST_BUDGETS: Final = 4_096
"""Kinds of requests whose budget is remembered."""

MOST_TRIED: Final = 10_000
"""Conversations of which it is remembered that nothing could be done."""

_NEAR: Final = 0.5
"""Share of the trigger from which on a prompt is counted, by what the provider said of the last one: what one turn adds
may be large."""

_VERY_NEAR: Final = 0.9

R = TypeVar("R")


class Run(Protocol):
    """Does work here, or beside the event loop."""

    def __call__(self, work: Callable[[], R], *, beside: bool) -> Awaitable[R]:
        """Do it; raises `TimeoutError` where that takes too long beside the loop."""
        ...


class Compaction:
    """Considers requests one after the other. Use from one event loop.

    Args:
        settings: with budgets, notes and the summariser.
        store: for notes.
        counting: of tokens.
        aging: makes views of results.
        summariser: asks a model for summaries; `None` where rules write them all.
    """

    def __init__(
        self, settings: Settings, store: Store, counting: Counting, aging: Aging, *, summariser: Summariser | None
    ) -> None:
        self._settings = settings
        self._store = store
        self._counting = counting
        self._shrinker = Shrinker(settings, counting, aging)
        self._models = ModelDigests(settings, summariser) if summariser is not None else None
        self._tried: Recent[str, int] = Recent(MOST_TRIED)
        self._budget_of = functools.lru_cache(MOST_BUDGETS)(self._find_budget)

    @property
    def patience_seconds(self) -> float:
        """How much longer an urgent request may take, since a model's summary is waited for; 0 where none is."""
        return self._models.patience_seconds if self._models is not None else 0.0

    def budget(self, asked: Question, task: str | None) -> Budget | None:
        """Give the budget of a request that may have come up to it, cheaply judged; `None` where none is needed."""
        found = self._budget_of(asked.conversation.head.model, asked.provider, asked.harness, task)
        if found is None or not found.stages:
            return None
        sent = len(asked.conversation.body) - asked.session.saved.bytes
        is_ready = self._models is not None and self._models.is_ready(asked.name)
        was_near = (asked.lineage.prompt_tokens or 0) >= _NEAR * found.trigger_tokens
        may_be = is_ready or was_near or sent >= FEWEST_BYTES_PER_TOKEN * found.trigger_tokens
        return found if may_be else None

    def _find_budget(self, model: str | None, provider: str, harness: str | None, task: str | None) -> Budget | None:
        nominal = window_tokens(model, provider=provider) if model else None
        return self._settings.budgets.budget(model=model, harness=harness, task=task, nominal_tokens=nominal)

    def exact_tokens_too_many(self, asked: Question, task: str | None) -> int | None:
        """Count a request as the client wrote it; `None` where that is less than urgent, or no window is known.

        Blocking. The room above the urgent share is for an estimate that is too low, and for the answer.
        """
        budget = self._budget_of(asked.conversation.head.model, asked.provider, asked.harness, task)
        if budget is None or len(asked.conversation.body) < FEWEST_BYTES_PER_TOKEN * budget.urgent_tokens:
            return None
        layout = self._counting.laid_out(Layout(), asked.conversation, Session())
        tokens = ends_of(layout, asked.conversation, asked.lineage, asked.held)[-1]
        return tokens if tokens >= budget.urgent_tokens else None

    def as_it_stands(self, asked: Question, task: str | None, exact_tokens: int) -> Considered:
        """Write down that a client compacts its own conversation, which is sent with what stands and no more."""
        budget = self._budget_of(asked.conversation.head.model, asked.provider, asked.harness, task)
        layout = self._counting.layout(asked.name, asked.conversation, asked.session)
        ends = ends_of(layout, asked.conversation, asked.lineage, asked.held)
        considered = Considered(Weighed((), Cut("nothing_aged")), ends, round(layout.sums[-1]))
        if budget is None:
            return considered
        pressure = Pressure(
            reason="client_compacts",
            window_tokens=budget.window_tokens,
            trigger_tokens=budget.trigger_tokens,
            target_tokens=budget.target_tokens,
            before_tokens=exact_tokens,
            after_tokens=ends[-1],
        )
        return replace(considered, pressure=pressure)

    def opening(self, asked: Question) -> Considered | None:
        """Show the project's notes behind the task of a conversation that begins; blocking, `None` where none are.

        Nothing is cached behind that place yet, and later requests keep it.
        """
        conversation, scope = asked.conversation, self._settings.notes.project_scope
        if scope is None or conversation.last_assistant >= 0 or asked.session.rebuild is not None:
            return None
        block = shown_notes(self._store.notes(scope), self._settings.notes)
        if not block or asked.operation != "press":
            return None
        count = len(conversation.messages)
        written = write(conversation, asked.session, Writing(start=count, stop=count, kept=(), block=block))
        return Considered(Weighed((), Cut("nothing_aged")), written=written)

    async def close(self) -> None:
        """Give up summaries that are being written."""
        if self._models is not None:
            await self._models.close()

    async def consider(self, asked: Question, budget: Budget, run: Run) -> Considered | None:
        """Decide on a request; `None` where it is below its trigger, or there is nothing new to say."""
        notes = self.notes(asked.name)
        ready = self._models.ready(asked.name, asked.conversation) if self._models is not None else None
        digest = ready if isinstance(ready, Digest) else None
        patient = self._models is not None and ready is None
        shrink = functools.partial(self._shrinker.shrink, asked, budget, notes)
        beside = self._is_heavy(asked, budget)
        shrunk = await run(functools.partial(shrink, digest=digest, patient=patient), beside=beside)
        if shrunk is not None and shrunk.wants is not None and self._models is not None:
            await self._order(self._models, asked, shrunk, notes)
            if shrunk.is_urgent:
                await self._models.wait(asked.name)
                ready = self._models.ready(asked.name, asked.conversation)
                digest = ready if isinstance(ready, Digest) else None
                shrunk = await run(functools.partial(shrink, digest=digest, patient=False), beside=True)
        if shrunk is None:
            return None
        considered = shrunk.considered
        if isinstance(ready, Failed):
            considered = _with_failure(considered, ready)
        if self._models is not None and ready is not None and (shrunk.digest is ready or digest is None):
            self._models.forget(asked.name)
        return self._said_before(asked.name, budget, considered)

    def remember(self, name: str, considered: Considered, *, now: float) -> None:
        """Keep the lasting facts of a summary that went out as notes of its conversation; blocking."""
        written = considered.written
        if written is None or written.rebuild.summary is None:
            return
        scope = scope_of_lineage(name)
        kept = remembered(self._store.notes(scope), facts(written.rebuild.summary), limits=self._settings.notes.limits)
        for note in kept.changed:
            self._store.put_note(scope, note, now=now)

    def notes(self, name: str) -> tuple[Note, ...]:
        """Give the notes that a conversation is shown: its project's, then its own."""
        if not self._settings.notes.show:
            return ()
        project = self._settings.notes.project_scope
        shared = self._store.notes(project) if project is not None else ()
        return (*shared, *self._store.notes(scope_of_lineage(name)))

    async def _order(self, models: ModelDigests, asked: Question, shrunk: Shrunk, notes: tuple[Note, ...]) -> None:
        wanted = shrunk.wants
        if wanted is not None:
            objection = functools.partial(self._shrinker.objection, asked, shrunk)
            order = Order(asked, wanted.start, wanted.stop, wanted.task_stop, notes, objection)
            await models.order(order)

    def _is_heavy(self, asked: Question, budget: Budget) -> bool:
        """Whether it is work for a thread: there is much to count, or the trigger may be reached."""
        if self._counting.uncounted_bytes(asked.conversation, enough=COUNT_BYTES) > COUNT_BYTES:
            return True
        last = asked.lineage.prompt_tokens
        return last is None or last >= _VERY_NEAR * budget.trigger_tokens

    def _said_before(self, name: str, budget: Budget, considered: Considered) -> Considered | None:
        """Leave out that nothing could be done, until the prompt has grown so much that it may be otherwise."""
        pressure = considered.pressure
        if pressure is None or considered.applied or pressure.reason == "summary_awaited":
            self._tried.pop(name, None)
            return considered
        if name in self._tried and pressure.before_tokens < self._tried[name]:
            return None
        self._tried.note(name, pressure.before_tokens + round(RETRY_SHARE * budget.window_tokens))
        return considered


def _with_failure(considered: Considered, failed: Failed) -> Considered:
    """Write down that a model was asked in vain."""
    pressure = considered.pressure
    if pressure is None:
        return considered
    paid = None if failed.usd is None or pressure.summariser_usd is None else pressure.summariser_usd + failed.usd
    pressure = replace(pressure, refused=(*pressure.refused, failed.why), summariser_usd=paid)
    cut = replace(considered.weighed.cut, summariser_usd=considered.weighed.cut.summariser_usd + (failed.usd or 0.0))
    return replace(considered, weighed=replace(considered.weighed, cut=cut), pressure=pressure)
