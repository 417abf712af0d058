"""Bring one prompt down that has come up to its trigger, if that is worth it, and write down what was done and why."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from coldpress.config.settings import Settings
from coldpress.drive.aging import Aging, Considered, Question
from coldpress.drive.attempts import Attempt, Attempts, Measured, Range, generation_of, least_tokens
from coldpress.drive.counting import Counting, after_refusal, ends_of
from coldpress.drive.summaries import Digest
from coldpress.engine.aged import Aged
from coldpress.engine.binding import editable_from
from coldpress.engine.budget import Budget
from coldpress.engine.cut import Weighed
from coldpress.engine.gate import Terms, preflight, settle
from coldpress.measure.economics import Prompt, Removal
from coldpress.model.notes import Note
from coldpress.model.records import Cut, Pressure, PressureReason

FULL: Final = 0.97
"""Share of the window from which on whatever can be freed goes. Before that the prompt still fits, by estimates that
are 2 % off now and then, and to free a little each time would break the cache on every request: see
docs/explanation/compaction-replay.md."""

FULL_LEAST_SHARE: Final = 0.01
"""Share of the window that must be freed even then, unless the prompt does not fit without."""

SCANT: Final = 1 / 16
"""What is left of the room for summary and carried turns where the prompt would still fill the window."""

_NARROWER: Final = (3, 1)
"""Replies that stay where the settings' number leaves the prompt too long."""


@dataclass(frozen=True, slots=True)
class Shrunk:
    """What can be done about a prompt.

    Attributes:
        considered: with its `pressure`, to be decided on; nothing is applied where that says so.
        wants: a model's summary of these messages is wanted before anything is done.
        digest: the summary that is used, `None` where none is.
        is_urgent: the prompt is so long that nothing may be put off.
    """

    considered: Considered
    wants: Range | None = None
    digest: Digest | None = None
    is_urgent: bool = False


class Shrinker:
    """Works on one request after the other; safe to use from any thread, blocking.

    Args:
        settings: with budgets and rules.
        counting: of tokens.
        aging: makes views of results.
    """

    def __init__(self, settings: Settings, counting: Counting, aging: Aging) -> None:
        self._settings = settings
        self._counting = counting
        self._aging = aging
        self._attempts = Attempts(settings, counting, aging)
        self.came_late = self._attempts.came_late
        self.came_in_time = self._attempts.came_in_time

    def shrink(
        self,
        asked: Question,
        budget: Budget,
        notes: tuple[Note, ...],
        *,
        digest: Digest | None,
        patient: bool,
        asked_stop: int = 0,
        again_tokens: int = 0,
        if_late: Callable[[Shrunk], None] | None = None,
    ) -> Shrunk | None:
        """Say what can be done about a request; `None` below the trigger.

        Args:
            asked: the request.
            budget: that holds for it.
            notes: that are shown with a summary.
            digest: a model's summary that is ready; it also goes below the trigger, where the cache is cold.
            patient: a model's summary may be waited for, if one is wanted.
            asked_stop: a model was asked about the messages before it, and nothing came of that yet; 0 where none was.
            again_tokens: nothing is tried on a shorter prompt, since nothing came of that before.
            if_late: is told, once the request is counted, what there is to say of it where time runs out.
        """
        layout = self._counting.layout(asked.name, asked.conversation, asked.session)
        if asked.refused is not None:
            lineage = after_refusal(asked.lineage, layout, asked.conversation, asked.held, asked.refused)
            asked = replace(asked, lineage=lineage)
        ends = ends_of(layout, asked.conversation, asked.lineage, asked.held)
        is_free_moment = digest is not None and asked.held.belief.state == "cold"
        if ends[-1] < max(budget.trigger_tokens, again_tokens) and not is_free_moment:
            return None
        allowed = self._settings.allow_thinking_loss
        floor = editable_from(asked.conversation, allow_thinking_loss=allowed)
        happened = functools.cache(functools.partial(self._attempts.happened, asked.conversation))
        measured = Measured(asked, budget, layout, ends, floor, notes, happened)
        if if_late is not None:
            if_late(Shrunk(_declined(measured, "no_time"), is_urgent=ends[-1] >= budget.urgent_tokens))
        refused = self._refused(asked)
        if refused is not None:
            return Shrunk(_declined(measured, refused))
        attempt, is_narrowed = self._best(measured, digest, patient=patient, asked_stop=asked_stop)
        if ends[-1] < budget.trigger_tokens and attempt.written is None:
            return None
        return self._judged(measured, attempt, is_narrowed=is_narrowed)

    def objection(self, asked: Question, shrunk: Shrunk, usd: float) -> str | None:
        """Say why the gate would not pay this much for the summary that is wanted; `None` where it would.

        An urgent prompt overrules the gate. What costs nothing needs no gate, and where the gate does not know enough
        nothing is paid.
        """
        wanted, ends, held = shrunk.wants, shrunk.considered.ends, asked.held
        if wanted is None or shrunk.is_urgent or usd == 0:
            return None
        terms = self._aging.terms(asked)
        if isinstance(terms, Cut):
            return f"gate_{terms.reason}"
        cached = min(ends[held.messages] if held.messages else 0, ends[-1])
        best_case = Removal(ends[wanted.start], ends[wanted.stop] - ends[wanted.start])
        reason = preflight(Prompt(ends[-1], cached), [best_case], replace(terms, rent_share=None), summariser_usd=usd)
        return None if reason is None else f"gate_{reason}"

    def _refused(self, asked: Question) -> PressureReason | None:
        """Give the reason why nothing may be done, whatever there is."""
        if self._settings.require_raw_log and not self._settings.store.raw_log:
            return "no_raw_log"
        if asked.operation == "press":
            return None
        return "drain" if asked.operation == "drain" else "observe"

    def _best(
        self, measured: Measured, digest: Digest | None, *, patient: bool, asked_stop: int
    ) -> tuple[Attempt, bool]:
        """Keep as many turns as the settings ask for, and fewer only where the prompt stays too long all the same.

        An urgent prompt is too long while it is at its trigger or near it: it would be rewritten on every request from
        then on, and each time the cache would go with it.

        Where not even one turn fits, the summary is cut to its first lines, and next to nothing is carried over: better
        than a request that the provider refuses.

        Returns:
            What can be done; and whether fewer turns are kept.
        """
        budget = measured.budget
        is_urgent = measured.before_tokens >= budget.urgent_tokens
        resting_tokens = max(budget.target_tokens, budget.trigger_tokens - least_tokens(budget))
        too_long_tokens = resting_tokens if is_urgent else budget.urgent_tokens
        best = self._attempts.attempt(measured, budget.keep_turns, digest, patient=patient, asked_stop=asked_stop)
        is_narrowed = False
        for keep_turns in (turns for turns in _NARROWER if turns < budget.keep_turns):
            if best.wants is not None or best.after_tokens < too_long_tokens:
                break
            other = self._attempts.attempt(measured, keep_turns, None, patient=False)
            if other.after_tokens < best.after_tokens:
                best, is_narrowed = other, True
        if best.wants is None and best.after_tokens >= FULL * budget.window_tokens:
            room_tokens = round(SCANT * budget.target_tokens)
            other = self._attempts.attempt(measured, 1, None, patient=False, room_tokens=room_tokens)
            if other.after_tokens < best.after_tokens:
                best, is_narrowed = other, True
        return best, is_narrowed

    def _judged(self, measured: Measured, attempt: Attempt, *, is_narrowed: bool) -> Shrunk:
        """Say whether what can be done is worth doing, and write down what it is."""
        budget, before, after = measured.budget, measured.before_tokens, attempt.after_tokens
        if attempt.wants is not None:
            is_urgent = before >= budget.urgent_tokens
            return Shrunk(_declined(measured, "summary_awaited"), wants=attempt.wants, is_urgent=is_urgent)
        freed, least = before - after, least_tokens(budget)
        reason = self._unworthy(measured, attempt, least)
        if reason is not None:
            # Where nothing can go, it is only when the window is near that the work has to be split.
            escalate = reason == "no_gain" or before >= budget.urgent_tokens
            return Shrunk(_declined(measured, reason, escalate=escalate))
        digest, written = attempt.digest, attempt.written
        pressure = replace(
            _pressure(measured, _applied(attempt, budget)),
            after_tokens=after,
            cleared=len(attempt.masks),
            cleared_tokens=attempt.masked_tokens,
            narrowed=is_narrowed,
            escalate=freed < least or generation_of(measured.asked.session) >= budget.max_generations,
        )
        if written is not None and digest is not None:
            pressure = replace(
                pressure,
                summarised=digest.stop - digest.start,
                summarised_tokens=max(0, freed - attempt.masked_tokens),
                generation=written.rebuild.generation,
                summary=written.rebuild.block,
                summariser=digest.summariser,
                summariser_usd=digest.usd,
                dropped=digest.dropped,
            )
        return Shrunk(self._considered(measured, attempt, pressure), digest=digest)

    def _unworthy(self, measured: Measured, attempt: Attempt, least: int) -> PressureReason | None:
        """Give the reason why what can be done is not done."""
        budget, freed = measured.budget, measured.before_tokens - attempt.after_tokens
        if not attempt.masks and attempt.written is None:
            if measured.asked.on_demand:
                return "on_demand"
            return "binding_model" if measured.floor > 0 else "nothing_to_take"
        if freed <= 0:
            return "no_gain"
        # Else a little would go on every request, and each time the cache with it.
        falls_short = attempt.after_tokens > budget.target_tokens and freed < least
        comes_again = attempt.after_tokens >= budget.trigger_tokens
        if not falls_short and not comes_again:
            return None
        return None if _is_due(measured.before_tokens, attempt.after_tokens, budget) else "no_gain"

    def _considered(self, measured: Measured, attempt: Attempt, pressure: Pressure) -> Considered:
        masks = tuple(Aged(mask.seen, mask.view, 0) for mask in attempt.masks)
        first = Considered(Weighed(masks, Cut("pressure")), written=attempt.written).first_changed
        cut = self._cut(measured, attempt, first or 0, pressure.summariser_usd or 0.0)
        if pressure.summariser_usd is None:
            cut = replace(cut, net_usd=None)
        return Considered(
            Weighed(masks, cut), measured.ends, attempt.counted_tokens, pressure=pressure, written=attempt.written
        )

    def _cut(self, measured: Measured, attempt: Attempt, first: int, summariser_usd: float) -> Cut:
        """Record what the gate would have said: pressure goes over it, and the ledger shows at what price."""
        asked, ends = measured.asked, measured.ends
        freed, held = measured.before_tokens - attempt.after_tokens, asked.held
        terms = self._aging.terms(asked)
        if isinstance(terms, Cut):
            terms = Terms(routes=(), requests=None, state=held.belief.state)
        cached = ends[held.messages] if held.messages else 0
        removal = Removal(ends[first], freed, summariser_usd=summariser_usd)
        cut = settle(Prompt(ends[-1], min(cached, ends[-1])), [removal], replace(terms, rent_share=None)).cut
        applied = len(attempt.masks) + (attempt.written is not None)
        return replace(
            cut,
            reason="pressure",
            candidates=applied,
            applied=applied,
            removed_tokens=freed,
            rewrite_tokens=cut.rewrite_tokens or max(0, min(cached - freed, attempt.after_tokens) - ends[first]),
            summariser_usd=summariser_usd,
        )


def _is_due(before_tokens: int, after_tokens: int, budget: Budget) -> bool:
    """Whether a prompt that fills the window is brought down although little comes of it.

    What stays above the window is refused all the same: there is no sense in a little then.
    """
    window, freed = budget.window_tokens, before_tokens - after_tokens
    if before_tokens < FULL * window:
        return False
    if after_tokens > window:
        return freed >= least_tokens(budget)
    return before_tokens > window or freed >= FULL_LEAST_SHARE * window


def _applied(attempt: Attempt, budget: Budget) -> PressureReason:
    if attempt.written is not None:
        return "summarised"
    return "masked" if attempt.after_tokens <= budget.target_tokens else "masked_short"


def _pressure(measured: Measured, reason: PressureReason) -> Pressure:
    budget, before = measured.budget, measured.before_tokens
    return Pressure(
        reason=reason,
        window_tokens=budget.window_tokens,
        trigger_tokens=budget.trigger_tokens,
        target_tokens=budget.target_tokens,
        before_tokens=before,
        after_tokens=before,
    )


def _declined(measured: Measured, reason: PressureReason, *, escalate: bool = False) -> Considered:
    """Nothing goes for this reason; the prompt was counted all the same."""
    pressure = replace(_pressure(measured, reason), escalate=escalate)
    return Considered(Weighed((), Cut("nothing_aged")), measured.ends, measured.counted_tokens, pressure=pressure)
