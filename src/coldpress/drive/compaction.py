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
from coldpress.drive.counting import Counting, ends_of, place_of
from coldpress.drive.memory import Recent, Refused
from coldpress.drive.model_digests import Failed, ModelDigests, Order
from coldpress.drive.notebook import Notebook
from coldpress.drive.shrinking import FULL, Shrinker, Shrunk
from coldpress.drive.summaries import Digest
from coldpress.drive.summariser import Summariser
from coldpress.engine.budget import Budget
from coldpress.engine.cut import Weighed
from coldpress.engine.layout import Layout
from coldpress.engine.session import Session
from coldpress.measure.windows import window_tokens
from coldpress.model.notes import Note
from coldpress.model.records import Cut, Pressure

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
        notebook: for notes.
        counting: of tokens.
        aging: makes views of results.
        summariser: asks a model for summaries; `None` where rules write them all.
    """

    def __init__(
        self, settings: Settings, notebook: Notebook, counting: Counting, aging: Aging, *, summariser: Summariser | None
    ) -> None:
        self._settings = settings
        self._notebook = notebook
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
        found = self._budget(asked, task)
        if found is None or not found.stages:
            return None
        if asked.refused is not None:
            # What the settings say is too much for this prompt, if the provider has just refused it for less.
            told = asked.refused.told.window_tokens or found.window_tokens
            return replace(found, window_tokens=min(found.window_tokens, told))
        sent = len(asked.conversation.body) - asked.session.saved.bytes
        is_ready = self._models is not None and self._models.is_ready(asked.branch)
        was_near = (asked.lineage.prompt_tokens or 0) >= _NEAR * found.trigger_tokens
        may_be = is_ready or was_near or sent >= FEWEST_BYTES_PER_TOKEN * found.trigger_tokens
        return found if may_be else None

    def _budget(self, asked: Question, task: str | None) -> Budget | None:
        return self._budget_of(asked.conversation.head.model, asked.provider, asked.harness, task, asked.learned_tokens)

    def _find_budget(
        self, model: str | None, provider: str, harness: str | None, task: str | None, learned_tokens: int | None
    ) -> Budget | None:
        nominal = window_tokens(model, provider=provider) if model else None
        known = [tokens for tokens in (nominal, learned_tokens) if tokens is not None]
        nominal = min(known, default=None)
        return self._settings.budgets.budget(model=model, harness=harness, task=task, nominal_tokens=nominal)

    def knows_window(self, asked: Question, task: str | None) -> bool:
        """Whether anybody says how long a prompt may be."""
        return self._budget(asked, task) is not None

    def refused_tokens(self, asked: Question, refused: Refused) -> int | None:
        """Count the request that was refused, `None` where this one does not go on from it. Blocking."""
        layout = self._counting.layout(asked.name, asked.conversation, asked.session)
        place = place_of(refused, asked.conversation)
        return None if place is None else ends_of(layout, asked.conversation, asked.lineage, asked.held)[place + 1]

    def exact_tokens_too_many(self, asked: Question, task: str | None) -> int | None:
        """Count a request as the client wrote it; `None` where that is less than urgent, or no window is known.

        Blocking. The room above the urgent share is for an estimate that is too low, and for the answer.
        """
        budget = self._budget(asked, task)
        if budget is None or len(asked.conversation.body) < FEWEST_BYTES_PER_TOKEN * budget.urgent_tokens:
            return None
        layout = self._counting.laid_out(Layout(), asked.conversation, Session())
        tokens = ends_of(layout, asked.conversation, asked.lineage, asked.held)[-1]
        return tokens if tokens >= budget.urgent_tokens else None

    def as_it_stands(self, asked: Question, task: str | None, exact_tokens: int) -> Considered:
        """Write down that a client compacts its own conversation, which is sent with what stands and no more."""
        budget = self._budget(asked, task)
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

    async def close(self) -> None:
        """Give up summaries that are being written."""
        if self._models is not None:
            await self._models.close()

    async def consider(self, asked: Question, budget: Budget, run: Run) -> Considered | None:
        """Decide on a request; `None` where it is below its trigger, or there is nothing new to say."""
        models = self._models
        ready = models.ready(asked.branch, asked.conversation) if models is not None else None
        if ready is None and self._is_below(asked, budget):
            return None
        notes = self._notebook.notes(asked.conversation)
        digest = ready if isinstance(ready, Digest) else None
        patient = models is not None and not isinstance(ready, Failed)
        again_tokens = 0 if ready is not None or asked.refused else self._again_tokens(asked.branch, budget)
        shrink = functools.partial(self._shrinker.shrink, asked, budget, notes, again_tokens=again_tokens)
        shrunk = await run(functools.partial(shrink, digest=digest, patient=patient), beside=True)
        dropped: Failed | None = None
        if shrunk is not None and shrunk.wants is not None and models is not None:
            is_urgent, (ready, dropped) = shrunk.is_urgent, await self._ordered(models, asked, shrunk, notes, digest)
            digest = ready if isinstance(ready, Digest) else None
            if is_urgent or isinstance(ready, Failed):
                shrunk = await run(functools.partial(shrink, digest=digest, patient=False), beside=True)
        if shrunk is None:
            return None
        considered = shrunk.considered if dropped is None else _with_failure(shrunk.considered, dropped)
        if digest is not None and shrunk.digest is not None and shrunk.digest is not digest:
            # Too little to go by now: were it kept, no other would be asked for.
            ready = Failed("outgrown", digest.usd)
        if isinstance(ready, Failed):
            considered = _with_failure(considered, ready)
        if models is not None and ready is not None and (shrunk.digest is ready or isinstance(ready, Failed)):
            models.forget(asked.branch)
        return self._said_before(asked.branch, budget, considered)

    async def _ordered(
        self, models: ModelDigests, asked: Question, shrunk: Shrunk, notes: tuple[Note, ...], outgrown: Digest | None
    ) -> tuple[Digest | Failed | None, Failed | None]:
        """Order the summary that is wanted, and wait for it where that is urgent.

        Returns:
            What is there now, `None` where it is still to come; and what an earlier summary cost in vain.
        """
        wanted, name, dropped = shrunk.wants, asked.branch, None
        ready = models.ready(name, asked.conversation)
        if wanted is not None and (ready is None or ready is outgrown):  # else it came this very moment
            if not models.is_under_way(name):
                dropped = models.drop(name)
            objection = functools.partial(self._shrinker.objection, asked, shrunk)
            order = Order(asked, wanted.start, wanted.stop, wanted.task_stop, notes, objection)
            if not await models.order(order):
                return Failed("busy"), dropped
        if not shrunk.is_urgent:
            return None, dropped
        await models.wait(name)
        ready = models.ready(name, asked.conversation)
        if ready is None or ready is outgrown:
            ready = Failed("timeout")  # it is still being written; what it costs is told when it ends
        return ready, dropped

    def _is_below(self, asked: Question, budget: Budget) -> bool:
        """Whether a request is below its trigger, where that can be told at once; false where it takes counting."""
        if asked.refused or self._counting.uncounted_bytes(asked.conversation, enough=COUNT_BYTES) > COUNT_BYTES:
            return False
        layout = self._counting.layout(asked.name, asked.conversation, asked.session)
        return ends_of(layout, asked.conversation, asked.lineage, asked.held)[-1] < budget.trigger_tokens

    def _again_tokens(self, name: str, budget: Budget) -> int:
        """From how many tokens on it is worth another try, where nothing could be done: an attempt takes its time."""
        return min(self._tried.get(name) or 0, round(FULL * budget.window_tokens))

    def _said_before(self, name: str, budget: Budget, considered: Considered) -> Considered | None:
        """Leave out that nothing could be done, until the prompt has grown so much that it may be otherwise."""
        pressure = considered.pressure
        if pressure is None or considered.applied or pressure.refused or pressure.reason == "summary_awaited":
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
