"""Try what can be done about a prompt that is too long, with so many turns kept, and measure what comes of it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from coldpress.config.settings import Settings
from coldpress.drive.aging import Aging, Question
from coldpress.drive.counting import Counting
from coldpress.drive.findings import Findings
from coldpress.drive.memory import Recent
from coldpress.drive.summaries import Digest, beside_carried, block_of, structural
from coldpress.engine.aged import pinned
from coldpress.engine.budget import Budget
from coldpress.engine.carry import carried
from coldpress.engine.layout import Ends, Layout
from coldpress.engine.plan import placed_batch
from coldpress.engine.pressure import Clearable, choose, clearables
from coldpress.engine.rebuild import Writing, Written, index_of, write
from coldpress.engine.session import Session
from coldpress.engine.summary.events import Event, events
from coldpress.engine.zones import Zones, evictable, kept_texts, zones
from coldpress.measure.tokens import counter_for
from coldpress.model.conversation import Conversation
from coldpress.model.edits import Batch
from coldpress.model.identity import original_sha
from coldpress.model.notes import Note

CARRIED_SHARE: Final = 0.25
"""Share of the room that turns carried over word for word may take; of the target, as a rule."""

LEAST_SHARE: Final = 0.05
"""Share of the window that a compaction must free even where the settings' `min_gain` is less: with nothing asked for
there would be one on every request."""

RETRY_SHARE: Final = 0.05
"""Where nothing could be done, it is tried again when the prompt has grown by this share of the window. No model is
asked again about messages that it was asked about before, and as many more."""

MOST_DIGESTS: Final = 64
"""Summaries by rules that are kept for conversations on which time ran out, some 16 kB each."""


@dataclass(frozen=True, slots=True)
class Range:
    """Messages of which a summary is wanted, half-open; those before `task_stop` state the task."""

    start: int
    stop: int
    task_stop: int


@dataclass(frozen=True, slots=True)
class Measured:
    """A request before anything is done about it.

    Attributes:
        asked: the request.
        budget: that holds for it.
        layout: of the request as it would be sent.
        ends: tokens of the prompt up to the end of each message, on the provider's scale.
        floor: index of the first message that may be edited without losing reasoning that is bound to it.
        notes: that are shown with a summary.
        happened: gives what happened in all its messages, see `Attempts.happened`; gone through once for all attempts.
    """

    asked: Question
    budget: Budget
    layout: Layout
    ends: Ends
    floor: int
    notes: tuple[Note, ...]
    happened: Callable[[], tuple[Event, ...]]

    @property
    def before_tokens(self) -> int:
        """Tokens of the prompt."""
        return self.ends[-1]

    @property
    def counted_tokens(self) -> int:
        """Tokens of its messages, as we count them."""
        return round(self.layout.sums[-1])


@dataclass(frozen=True, slots=True)
class Attempt:
    """One way to bring it down, measured.

    Attributes:
        after_tokens: of the prompt then, `counted_tokens` of its messages as we count them.
        masks: results that become one line, which takes `masked_tokens` away.
        written: messages that go, and what takes their place.
        digest: the summary among that.
        wants: a model's summary of these messages is wanted first; nothing else is said then.
    """

    after_tokens: int
    counted_tokens: int
    masks: tuple[Clearable, ...] = ()
    masked_tokens: int = 0
    written: Written | None = None
    digest: Digest | None = None
    wants: Range | None = None


class Attempts:
    """Tries one request after the other; safe to use from any thread, blocking.

    Args:
        settings: with rules.
        counting: of tokens.
        aging: makes views of results.
    """

    def __init__(self, settings: Settings, counting: Counting, aging: Aging) -> None:
        self._settings = settings
        self._counting = counting
        self._aging = aging
        self._findings = Findings()
        self._late: Recent[str, None] = Recent(MOST_DIGESTS)
        self._digests: Recent[tuple[str, int, int], Digest] = Recent(MOST_DIGESTS)

    def happened(self, conversation: Conversation) -> tuple[Event, ...]:
        """Go through all messages of a request; of those that were gone through before, much is remembered."""
        return tuple(events(conversation, 0, len(conversation.messages), memo=self._findings))

    def came_late(self, branch: str) -> None:
        """Let the next request of a conversation use the summary that comes too late for this one."""
        self._late.note(branch, None)

    def came_in_time(self, branch: str) -> None:
        """Let the next request of a conversation have a summary of its own."""
        self._late.pop(branch, None)

    def attempt(
        self,
        measured: Measured,
        keep_turns: int,
        digest: Digest | None,
        *,
        patient: bool,
        asked_stop: int = 0,
        room_tokens: int | None = None,
    ) -> Attempt:
        """Mask down to the target; where that does not reach it, put a summary in the place of the middle.

        Args:
            measured: the request.
            keep_turns: replies at the end that stay.
            digest: a model's summary that is ready.
            patient: a model's summary may be waited for.
            asked_stop: a model was asked about the messages before it, and nothing came of that yet; 0 where none was.
            room_tokens: of which a summary by rules and the turns carried over take shares; the target if not given.
        """
        asked, budget = measured.asked, measured.budget
        room_tokens = budget.target_tokens if room_tokens is None else room_tokens
        found = zones(asked.conversation, asked.session, keep_turns=keep_turns)
        attempt = Attempt(measured.before_tokens, measured.counted_tokens)
        if "mask" in budget.stages:
            attempt = self._masked(measured, found)
        if attempt.after_tokens <= budget.target_tokens or "summary" not in budget.stages or asked.on_demand:
            return attempt
        wanted = evictable(asked.conversation, found, floor=measured.floor)
        is_whole = digest is not None and found.anchor < digest.start and digest.stop <= found.tail
        models: Attempt | None = None
        if digest is not None and is_whole and digest.start >= measured.floor:
            summarised = self._summarised(measured, attempt, digest, room_tokens)
            models = summarised if summarised.written is not None else None
            if models is not None and not _is_little(measured, models):
                return models
        if wanted is None:
            return models or attempt
        grown_tokens = measured.ends[wanted[1]] - measured.ends[min(asked_stop, wanted[1])]
        is_new = not asked_stop or grown_tokens >= RETRY_SHARE * budget.window_tokens
        if patient and is_new:  # else a model has had these messages already, or nearly
            return replace(attempt, wants=Range(*wanted, task_stop=found.anchor + 1))
        made = self._ruled(measured, Range(*wanted, task_stop=found.anchor + 1), keep_turns, room_tokens)
        by_rules = self._summarised(measured, attempt, made, room_tokens)
        # What was paid for goes first where neither is much.
        return models if models is not None and _is_little(measured, by_rules) else by_rules

    def _ruled(self, measured: Measured, wanted: Range, keep_turns: int, room_tokens: int) -> Digest:
        """Summarise messages by rules; where the last request had no time for that, take what was made for it."""
        conversation, branch = measured.asked.conversation, measured.asked.branch
        kept = self._digests.get((branch, keep_turns, room_tokens)) if branch in self._late else None
        if kept is not None and kept.holds(conversation) and kept.start == wanted.start and kept.stop <= wanted.stop:
            return kept
        made = structural(
            conversation,
            wanted.start,
            wanted.stop,
            task_stop=wanted.task_stop,
            target_tokens=room_tokens,
            happened=measured.happened(),
            memo=self._findings,
        )
        self._digests.note((branch, keep_turns, room_tokens), made)
        return made

    def _masked(self, measured: Measured, found: Zones) -> Attempt:
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
        return Attempt(after, counted, masks, measured.before_tokens - after)

    def _summarised(self, measured: Measured, masked: Attempt, digest: Digest, room_tokens: int) -> Attempt:
        """Put a summary in the place of its messages; what was masked among them goes with them."""
        asked = measured.asked
        conversation, generation = asked.conversation, generation_of(asked.session) + 1
        tokens_of = self._tokens_of(measured)
        copied = carried(
            conversation,
            asked.session.replies,
            digest.start,
            digest.stop,
            rule_of=self._aging.rule_of,
            tokens_of=tokens_of,
            most_tokens=round(CARRIED_SHARE * room_tokens),
            happened=measured.happened(),
            memo=self._findings,
        )
        kept = (place for place in kept_texts(conversation, digest.start, digest.stop) if place[0] not in copied)
        index, notes = index_of(conversation, digest.start, digest.stop), self._settings.notes
        writing = Writing(
            start=digest.start,
            stop=digest.stop,
            kept=tuple(kept),
            block=block_of(
                beside_carried(digest, copied), generation, measured.notes, notes, index=original_sha(index)
            ),
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
        return Attempt(after, counted, masks, cleared, written, digest)

    def _tokens_of(self, measured: Measured) -> Callable[[int], int]:
        """Count messages as the client wrote them, on the scale of `coldpress.measure.tokens.estimate`."""
        counter = counter_for(measured.asked.conversation.head.model)

        def tokens_of(index: int) -> int:
            return round(self._counting.tokens(measured.asked.conversation, index, counter) / counter.family.scale)

        return tokens_of

    def _measure(self, measured: Measured, batch: Batch) -> tuple[int, int]:
        """Count a request as it would be sent with a batch: on the provider's scale, and as we count messages."""
        asked = measured.asked
        at = {message.chain: index for index, message in enumerate(asked.conversation.messages)}
        made = placed_batch(asked.conversation, at, batch, len(asked.conversation.messages) - 1)
        layout = self._counting.laid_out(measured.layout, asked.conversation, asked.session.with_aged((made,)))
        # With the head as it was measured: what is known of it comes from prompts that were sent.
        ends = layout.ends(head_tokens=measured.ends.head_tokens, scale=measured.ends.scale)
        return ends[-1], round(layout.sums[-1])


def least_tokens(budget: Budget) -> int:
    """What a compaction must free, whatever the settings say: each one breaks the cache."""
    return round(max(budget.min_gain, LEAST_SHARE) * budget.window_tokens)


def _is_little(measured: Measured, attempt: Attempt) -> bool:
    """Whether it misses the target and frees so little that it is no use."""
    budget, after = measured.budget, attempt.after_tokens
    return after > budget.target_tokens and measured.before_tokens - after < least_tokens(budget)


def generation_of(session: Session) -> int:
    """How many times messages of the conversation were summarised."""
    return 0 if session.rebuild is None else session.rebuild.rebuild.generation
