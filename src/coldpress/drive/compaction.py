"""Watch the budget of every request, and have prompts that come up to it brought down: now, or with a coming summary.

The order of things: below the trigger nothing. Above it the request is worked on by `coldpress.drive.shrinking`. Where
that wants a model's summary, one is begun in the background and the request goes on as it is, unless it is urgent: then
the summary is waited for, and rules take its place where none comes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from coldpress.config.settings import Settings
from coldpress.drive.aging import COUNT_BYTES, Aging, Considered, Question
from coldpress.drive.attempts import RETRY_SHARE
from coldpress.drive.counting import Counting, ends_of, place_of
from coldpress.drive.late import Job, Run
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

MOST_BUDGETS: Final = 4_096
"""Kinds of requests whose budget is remembered."""

MOST_TRIED: Final = 10_000
"""Conversations of which it is remembered that nothing could be done."""

_NEAR: Final = 0.5
"""Share of the trigger from which on a prompt is counted, by what the provider said of the last one: what one turn adds
may be large."""

URGENT_SHARE: Final = 0.5
"""How much more of the time budget an urgent prompt may take than others."""


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
        self._late: Recent[str, Job[Shrunk | None]] = Recent(MOST_TRIED)
        self._weighed: Recent[str, Digest] = Recent(MOST_TRIED)  # a ready summary that was tried already
        self._budget_of = functools.lru_cache(MOST_BUDGETS)(self._find_budget)

    @property
    def patience_seconds(self) -> float:
        """How much longer an urgent request may take: for its own work, and where a model's summary is waited for."""
        return self._urgent_seconds + (self._models.patience_seconds if self._models is not None else 0.0)

    @property
    def _urgent_seconds(self) -> float:
        return self._settings.limits.prepare_seconds * URGENT_SHARE

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
        is_ready = self._models is not None and self._models.is_ready(asked.branch, asked.conversation)
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
        """Decide on a request; `None` where it is below its trigger, or there is nothing new to say.

        Raises:
            TimeoutError: there was not even time to count it.
        """
        late: list[Shrunk] = []
        try:
            return await self._considered(asked, budget, run, late)
        except TimeoutError:
            if not late:
                raise
            return late[-1].considered if late[-1].considered.ends[-1] >= budget.trigger_tokens else None

    async def _considered(self, asked: Question, budget: Budget, run: Run, late: list[Shrunk]) -> Considered | None:
        models, branch = self._models, asked.branch
        ready = models.ready(branch, asked.conversation) if models is not None else None
        if ready is None and self._is_below(asked, budget):
            return None
        notes = self._notebook.notes(asked.conversation)
        digest = ready if isinstance(ready, Digest) else None
        patient = models is not None and not isinstance(ready, Failed) and models.may_ask(branch)
        is_news = ready is not None and self._weighed.get(branch) is not ready
        again_tokens = 0 if is_news or asked.refused else self._again_tokens(branch, budget)
        asked_stop = models.asked_stop(branch, asked.conversation) if models is not None else 0
        shrink = functools.partial(
            self._shrinker.shrink,
            asked,
            budget,
            notes,
            asked_stop=asked_stop,
            again_tokens=again_tokens,
            if_late=late.append,
        )
        shrunk = await self._in_time(asked, functools.partial(shrink, digest=digest, patient=patient), run, late)
        dropped: Failed | None = None
        if shrunk is not None and shrunk.wants is not None and models is not None:
            is_urgent, (ready, dropped) = shrunk.is_urgent, await self._ordered(models, asked, shrunk, notes, digest)
            digest = ready if isinstance(ready, Digest) else None
            if is_urgent or isinstance(ready, Failed):
                work = functools.partial(shrink, digest=digest, patient=False)
                shrunk = await self._in_time(asked, work, run, late)
        if shrunk is None:
            return None
        considered = shrunk.considered if dropped is None else _with_failure(shrunk.considered, dropped)
        if digest is not None and models is not None and shrunk.digest not in (None, digest):
            # Rules have put a summary of more messages there: this one will not be used any more.
            dropped, ready = models.drop(branch, asked.conversation), None
            considered = considered if dropped is None else _with_failure(considered, dropped)
        if isinstance(ready, Failed):
            considered = _with_failure(considered, ready)
        if models is not None:
            self._took_note(models, asked, considered, shrunk, ready)
        return self._said_before(branch, budget, considered)

    def _took_note(
        self,
        models: ModelDigests,
        asked: Question,
        considered: Considered,
        shrunk: Shrunk,
        ready: Digest | Failed | None,
    ) -> None:
        """Remember what became of what a model wrote: it was used, or told, or is kept for a later request."""
        branch, pressure = asked.branch, considered.pressure
        if isinstance(ready, Digest):
            self._weighed.note(branch, ready)
        if isinstance(ready, Failed):
            models.told(branch, asked.conversation, ready)
        elif ready is not None and shrunk.digest is ready and considered.applied:
            models.applied(branch, asked.conversation)
        if considered.applied and pressure is not None and pressure.after_tokens < pressure.trigger_tokens:
            models.relieved(branch)

    async def _in_time(
        self, asked: Question, work: Callable[[], Shrunk | None], run: Run, late: list[Shrunk]
    ) -> Shrunk | None:
        """Do what a request asks for, or let it go on for the next one; raises `TimeoutError` then.

        There is one piece of such work for a conversation at a time. An urgent prompt waits longer for it.
        """
        name = asked.branch
        before = self._late.get(name)
        if before is not None and before.is_under_way:
            raise TimeoutError
        job = Job(work)
        try:
            shrunk = await run(job, beside=True)
        except TimeoutError:
            self._shrinker.came_late(name)
            self._late.note(name, job)
            if not late or not late[-1].is_urgent:
                raise
            shrunk = await job.within(self._urgent_seconds)
        self._late.pop(name, None)
        self._shrinker.came_in_time(name)
        return shrunk

    async def _ordered(
        self, models: ModelDigests, asked: Question, shrunk: Shrunk, notes: tuple[Note, ...], outgrown: Digest | None
    ) -> tuple[Digest | Failed | None, Failed | None]:
        """Order the summary that is wanted, and wait for it where that is urgent.

        Returns:
            What is there now, `None` where it is still to come; and what an earlier summary cost in vain.
        """
        wanted, branch, dropped = shrunk.wants, asked.branch, None
        ready = models.ready(branch, asked.conversation)
        if wanted is not None and (ready is None or ready is outgrown):  # else it came this very moment
            goes_on = models.is_under_way(branch, asked.conversation)
            objection = functools.partial(self._shrinker.objection, asked, shrunk)
            order = Order(asked, wanted.start, wanted.stop, wanted.task_stop, notes, objection)
            if not await models.order(order):
                return Failed("busy"), None
            dropped = None if goes_on else models.drop(branch, asked.conversation)
        if not shrunk.is_urgent:
            return None, dropped
        await models.wait(branch, asked.conversation)
        ready = models.ready(branch, asked.conversation)
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
        if pressure is None or considered.applied or pressure.reason == "summary_awaited":
            self._tried.pop(name, None)
            return considered
        if name in self._tried and pressure.before_tokens < self._tried[name] and not pressure.refused:
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
    before = considered.weighed.cut
    net = None if before.net_usd is None or failed.usd is None else before.net_usd - failed.usd
    # The cut has what is known of it; that there is more, `pressure` says.
    cut = replace(before, net_usd=net, summariser_usd=before.summariser_usd + (failed.usd or 0.0))
    return replace(considered, weighed=replace(considered.weighed, cut=cut), pressure=pressure)
