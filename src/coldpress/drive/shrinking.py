"""Bring one prompt down that has come up to its trigger: mask, measure, summarise, measure, keep fewer turns last."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from coldpress.config.settings import Settings
from coldpress.drive.aging import Aging, Considered, Question
from coldpress.drive.counting import Counting, after_refusal, ends_of
from coldpress.drive.summaries import Digest, block_of, structural
from coldpress.engine.aged import Aged, pinned
from coldpress.engine.binding import editable_from
from coldpress.engine.budget import Budget
from coldpress.engine.carry import carried
from coldpress.engine.cut import Weighed
from coldpress.engine.gate import Terms, preflight, settle
from coldpress.engine.layout import Ends, Layout
from coldpress.engine.plan import placed_batch
from coldpress.engine.pressure import Clearable, choose, clearables
from coldpress.engine.rebuild import Writing, Written, index_of, write
from coldpress.engine.session import Session
from coldpress.engine.zones import Zones, evictable, kept_texts, zones
from coldpress.measure.economics import Prompt, Removal
from coldpress.measure.tokens import counter_for
from coldpress.model.edits import Batch
from coldpress.model.identity import original_sha
from coldpress.model.notes import Note
from coldpress.model.records import Cut, Pressure, PressureReason

CARRIED_SHARE: Final = 0.25
"""Share of the target that turns carried over word for word may take."""

FULL: Final = 0.97
"""Share of the window from which on whatever can be freed goes. Before that the prompt still fits, by estimates that
are 2 % off now and then, and to free a little each time would break the cache on every request: see
docs/explanation/compaction-replay.md."""

_NARROWER: Final = (3, 1)
"""Replies that stay where the settings' number leaves the prompt too long."""


@dataclass(frozen=True, slots=True)
class Range:
    """Messages of which a summary is wanted, half-open; those before `task_stop` state the task."""

    start: int
    stop: int
    task_stop: int


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


@dataclass(frozen=True, slots=True)
class _Measured:
    """A request before anything is done about it."""

    asked: Question
    budget: Budget
    layout: Layout
    ends: Ends
    floor: int
    notes: tuple[Note, ...]

    @property
    def before_tokens(self) -> int:
        return self.ends[-1]

    @property
    def counted_tokens(self) -> int:
        return round(self.layout.sums[-1])


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One way to bring it down, measured."""

    after_tokens: int
    counted_tokens: int
    masks: tuple[Clearable, ...] = ()
    masked_tokens: int = 0
    written: Written | None = None
    digest: Digest | None = None
    wants: Range | None = None


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

    def shrink(
        self,
        asked: Question,
        budget: Budget,
        notes: tuple[Note, ...],
        *,
        digest: Digest | None,
        patient: bool,
        again_tokens: int = 0,
    ) -> Shrunk | None:
        """Say what can be done about a request; `None` below the trigger.

        Args:
            asked: the request.
            budget: that holds for it.
            notes: that are shown with a summary.
            digest: a model's summary that is ready; it also goes below the trigger, where the cache is cold.
            patient: a model's summary may be waited for, if one is wanted.
            again_tokens: nothing is tried on a shorter prompt, since nothing came of that before.
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
        measured = _Measured(asked, budget, layout, ends, floor, notes)
        refused = self._refused(asked)
        if refused is not None:
            return Shrunk(_declined(measured, refused))
        attempt, is_narrowed = self._best(measured, digest, patient=patient)
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

    def _best(self, measured: _Measured, digest: Digest | None, *, patient: bool) -> tuple[_Attempt, bool]:
        """Keep as many turns as the settings ask for, and fewer only where the prompt stays too long all the same.

        An urgent prompt is too long while it is at its trigger or near it: it would be rewritten on every request from
        then on, and each time the cache would go with it.

        Returns:
            What can be done; and whether fewer turns are kept.
        """
        budget = measured.budget
        is_urgent = measured.before_tokens >= budget.urgent_tokens
        resting_tokens = max(budget.target_tokens, budget.trigger_tokens - _least_tokens(budget))
        too_long_tokens = resting_tokens if is_urgent else budget.urgent_tokens
        best = self._attempt(measured, budget.keep_turns, digest, patient=patient)
        is_narrowed = False
        for keep_turns in (turns for turns in _NARROWER if turns < budget.keep_turns):
            if best.wants is not None or best.after_tokens < too_long_tokens:
                break
            other = self._attempt(measured, keep_turns, None, patient=False)
            if other.after_tokens < best.after_tokens:
                best, is_narrowed = other, True
        return best, is_narrowed

    def _attempt(self, measured: _Measured, keep_turns: int, digest: Digest | None, *, patient: bool) -> _Attempt:
        """Mask down to the target; where that does not reach it, put a summary in the place of the middle."""
        asked, budget = measured.asked, measured.budget
        found = zones(asked.conversation, asked.session, keep_turns=keep_turns)
        attempt = _Attempt(measured.before_tokens, measured.counted_tokens)
        if "mask" in budget.stages:
            attempt = self._masked(measured, found)
        if attempt.after_tokens <= budget.target_tokens or "summary" not in budget.stages:
            return attempt
        wanted = evictable(asked.conversation, found, floor=measured.floor)
        is_whole = digest is not None and found.anchor < digest.start and digest.stop <= found.tail
        if digest is not None and is_whole and digest.start >= measured.floor:
            summarised = self._summarised(measured, attempt, digest)
            if summarised.written is not None and not _is_little(measured, summarised):
                return summarised
        if wanted is None:
            return attempt
        is_new = digest is None or (digest.start, digest.stop) != wanted
        if patient and is_new:  # else a model has had these messages already, and made too much of them
            return replace(attempt, wants=Range(*wanted, task_stop=found.anchor + 1))
        made = structural(asked.conversation, *wanted, task_stop=found.anchor + 1, target_tokens=budget.target_tokens)
        return self._summarised(measured, attempt, made)

    def _masked(self, measured: _Measured, found: Zones) -> _Attempt:
        asked = measured.asked
        candidates = clearables(
            asked.conversation,
            asked.session,
            rule_of=self._aging.rule_of,
            view_of=functools.partial(self._aging.view, asked.conversation),
            zones=found,
            floor=measured.floor,
            pinned=pinned(asked.session.edits),
        )
        needed = measured.before_tokens - measured.budget.target_tokens
        masks = choose(candidates, free_tokens=needed, scale=asked.scale)
        batch = Batch(asked.conversation.messages[-1].chain, tuple(mask.view.standing for mask in masks))
        after, counted = self._measure(measured, batch)
        return _Attempt(after, counted, masks, measured.before_tokens - after)

    def _summarised(self, measured: _Measured, masked: _Attempt, digest: Digest) -> _Attempt:
        """Put a summary in the place of its messages; what was masked among them goes with them."""
        asked, budget = measured.asked, measured.budget
        conversation, generation = asked.conversation, _generation(asked.session) + 1
        tokens_of = self._tokens_of(measured)
        copied = carried(
            conversation,
            asked.session.replies,
            digest.start,
            digest.stop,
            rule_of=self._aging.rule_of,
            tokens_of=tokens_of,
            most_tokens=round(CARRIED_SHARE * budget.target_tokens),
        )
        kept = (place for place in kept_texts(conversation, digest.start, digest.stop) if place[0] not in copied)
        index, notes = index_of(conversation, digest.start, digest.stop), self._settings.notes
        writing = Writing(
            start=digest.start,
            stop=digest.stop,
            kept=tuple(kept),
            block=block_of(digest, generation, measured.notes, notes, index=original_sha(index)),
            carried=copied,
            summary=digest.summary,
            generation=generation,
            covered_tokens=sum(map(tokens_of, range(digest.start, digest.stop))),
            summariser=digest.summariser,
            index=index,
        )
        written = write(conversation, asked.session, writing)
        masks = tuple(m for m in masked.masks if not digest.start <= m.seen.message < digest.stop)
        standings = (*(mask.view.standing for mask in masks), *written.restores)
        after, counted = self._measure(measured, Batch(conversation.messages[-1].chain, standings, written.rebuild))
        if after >= masked.after_tokens:
            return masked
        cleared = sum(round(mask.view.freed_tokens * asked.scale) for mask in masks)
        return _Attempt(after, counted, masks, cleared, written, digest)

    def _tokens_of(self, measured: _Measured) -> Callable[[int], int]:
        """Count messages as the client wrote them, on the scale of `coldpress.measure.tokens.estimate`."""
        counter = counter_for(measured.asked.conversation.head.model)

        def tokens_of(index: int) -> int:
            return round(self._counting.tokens(measured.asked.conversation, index, counter) / counter.family.scale)

        return tokens_of

    def _measure(self, measured: _Measured, batch: Batch) -> tuple[int, int]:
        """Count a request as it would be sent with a batch: on the provider's scale, and as we count messages."""
        asked = measured.asked
        at = {message.chain: index for index, message in enumerate(asked.conversation.messages)}
        made = placed_batch(asked.conversation, at, batch, len(asked.conversation.messages) - 1)
        layout = self._counting.laid_out(measured.layout, asked.conversation, asked.session.with_aged((made,)))
        # With the head as it was measured: what is known of it comes from prompts that were sent.
        ends = layout.ends(head_tokens=measured.ends.head_tokens, scale=measured.ends.scale)
        return ends[-1], round(layout.sums[-1])

    def _judged(self, measured: _Measured, attempt: _Attempt, *, is_narrowed: bool) -> Shrunk:
        """Say whether what can be done is worth doing, and write down what it is."""
        budget, before, after = measured.budget, measured.before_tokens, attempt.after_tokens
        if attempt.wants is not None:
            is_urgent = before >= budget.urgent_tokens
            return Shrunk(_declined(measured, "summary_awaited"), wants=attempt.wants, is_urgent=is_urgent)
        freed, least = before - after, _least_tokens(budget)
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
            escalate=freed < least or _generation(measured.asked.session) >= budget.max_generations,
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

    def _unworthy(self, measured: _Measured, attempt: _Attempt, least: int) -> PressureReason | None:
        """Give the reason why what can be done is not done."""
        budget, freed = measured.budget, measured.before_tokens - attempt.after_tokens
        if not attempt.masks and attempt.written is None:
            return "binding_model" if measured.floor > 0 else "nothing_to_take"
        if freed <= 0:
            return "no_gain"
        # Else a little would go on every request, and each time the cache with it.
        falls_short = attempt.after_tokens > budget.target_tokens and freed < least
        comes_again = attempt.after_tokens >= budget.trigger_tokens
        is_full = measured.before_tokens >= FULL * budget.window_tokens
        return "no_gain" if (falls_short or comes_again) and not is_full else None

    def _considered(self, measured: _Measured, attempt: _Attempt, pressure: Pressure) -> Considered:
        masks = tuple(Aged(mask.seen, mask.view, 0) for mask in attempt.masks)
        first = Considered(Weighed(masks, Cut("pressure")), written=attempt.written).first_changed
        cut = self._cut(measured, attempt, first or 0, pressure.summariser_usd or 0.0)
        return Considered(
            Weighed(masks, cut), measured.ends, attempt.counted_tokens, pressure=pressure, written=attempt.written
        )

    def _cut(self, measured: _Measured, attempt: _Attempt, first: int, summariser_usd: float) -> Cut:
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


def _least_tokens(budget: Budget) -> int:
    """What a compaction must free."""
    return round(budget.min_gain * budget.window_tokens)


def _is_little(measured: _Measured, attempt: _Attempt) -> bool:
    """Whether it misses the target and frees so little that it is no use."""
    budget, after = measured.budget, attempt.after_tokens
    return after > budget.target_tokens and measured.before_tokens - after < _least_tokens(budget)


def _applied(attempt: _Attempt, budget: Budget) -> PressureReason:
    if attempt.written is not None:
        return "summarised"
    return "masked" if attempt.after_tokens <= budget.target_tokens else "masked_short"


def _pressure(measured: _Measured, reason: PressureReason) -> Pressure:
    budget, before = measured.budget, measured.before_tokens
    return Pressure(
        reason=reason,
        window_tokens=budget.window_tokens,
        trigger_tokens=budget.trigger_tokens,
        target_tokens=budget.target_tokens,
        before_tokens=before,
        after_tokens=before,
    )


def _declined(measured: _Measured, reason: PressureReason, *, escalate: bool = False) -> Considered:
    """Nothing goes for this reason; the prompt was counted all the same."""
    pressure = replace(_pressure(measured, reason), escalate=escalate)
    return Considered(Weighed((), Cut("nothing_aged")), measured.ends, measured.counted_tokens, pressure=pressure)


def _generation(session: Session) -> int:
    """How many times messages of the conversation were summarised."""
    return 0 if session.rebuild is None else session.rebuild.rebuild.generation
