"""Find the results that a model has seen and that may be made smaller now, with the view that would take their place.

Nothing is decided here: what these views free, and whether that pays, is for `coldpress.engine.cut` to weigh.
"""

from __future__ import annotations

import functools
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import msgspec

from coldpress.engine.aged_view import View
from coldpress.engine.catalogue import Kind
from coldpress.engine.first_sight import RecipeStep
from coldpress.engine.policy import Rule, RuleMode
from coldpress.engine.reduce import dedupe
from coldpress.engine.session import Seen, Session
from coldpress.model.edits import Edit

FINAL_MODES: Final = ("mask", "source", "restore", "redact")
"""Nothing more is done to a result that is shown in one of these."""


class Due(NamedTuple):
    """A result that is old enough for something to be done to it.

    Attributes:
        place: its index in `Session.shown`.
        seen: the result as it is shown now.
        rule: its rule.
        mode: what the rule allows now.
        since: the age in turns from which that mode was allowed.
    """

    place: int
    seen: Seen
    rule: Rule
    mode: RuleMode
    since: int


@dataclass(frozen=True, slots=True)
class Gain:
    """A result that is old enough, with a view that gains; `place` and `since` as in `Due`."""

    place: int
    since: int
    view: View


class Aged(NamedTuple):
    """A result that could become smaller.

    Attributes:
        seen: the result as it is shown now.
        view: what would take its place.
        waited: requests on which it could have become smaller and did not.
    """

    seen: Seen
    view: View
    waited: int


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of the oldest results of a conversation, and stays so while the conversation goes on.

    It is kept from request to request, so that only results that come of age are looked at.

    Attributes:
        shown: these results, from the first on: what may be done to them does not change any more as they age.
        replies: how many replies of the model the conversation had, or more.
        gains: those of them that have a view worth having, in order, as far as views were made.
        unviewed: those behind them whose view nobody has needed so far.
        edits: edits in force up to the last of these results.
        pinned: originals (SHA-256) that these edits point at.
    """

    shown: tuple[Seen, ...] = ()
    replies: int = 0
    gains: tuple[Gain, ...] = ()
    unviewed: tuple[Due, ...] = ()
    edits: tuple[Edit, ...] = ()
    pinned: frozenset[str] = frozenset()

    def holds(self, session: Session) -> bool:
        """Whether it is about this conversation."""
        return len(session.replies) >= self.replies and session.shown[: len(self.shown)] == self.shown


ViewOf = Callable[[Due], View | None]
"""Gives the view of a result, `None` where there is none worth having: `view` behind a memory."""

RuleOf = Callable[[str, Kind], Rule]
"""Gives the rule of a tool by its name and kind: `Policy.rule_for` behind a memory."""


def due(session: Session, rule_of: RuleOf, known: Known, *, prefilled: bool = False) -> tuple[list[Due], int]:
    """Go through the results that nothing is known of, in order.

    Args:
        session: the state after this request.
        rule_of: gives the rule of a tool.
        known: of the conversation's oldest results.
        prefilled: the request ends with the beginning of a reply: no model has seen what stands before it yet.

    Returns:
        Those to which something may be done now; and how many results, counted from the conversation's first one,
        will be judged the same for ever.
    """
    found, settled, still = [], len(known.shown), True
    for index in range(len(known.shown), len(session.shown)):
        seen = session.shown[index]
        age = session.age(seen.message) - prefilled
        if age < 1:
            break
        if seen.standing is None or seen.standing.mode not in FINAL_MODES:
            rule = rule_of(seen.tool, seen.classified.kind)
            mode, since = mode_for(seen, rule, age)
            if mode is not None:
                found.append(Due(index, seen, rule, mode, since))
            still = still and rule.settles is not None and age >= rule.settles
        settled += still
    return found, settled


def aged(
    session: Session, due_now: Sequence[Due], known: Known, view_of: ViewOf
) -> tuple[tuple[Aged, ...], tuple[Gain, ...]]:
    """List the results that could become smaller, in order.

    Args:
        session: the state after this request.
        due_now: what `due` gave for it.
        known: of its oldest results.
        view_of: gives the view of a result.

    Returns:
        The results; and all that gains, those among it too that must stay readable since repeats point at them.
    """
    viewed = ((one, view_of(one)) for one in (*_again(session, known.unviewed), *due_now))
    gains = (*known.gains, *(Gain(one.place, one.since, view) for one, view in viewed if view is not None))
    pinned = _pinned(session.edits, known) if gains else known.pinned
    results = []
    for gain in gains:
        if gain.view.standing.original not in pinned:
            seen = session.shown[gain.place]  # of this request: what is kept has the places of an earlier body
            results.append(Aged(seen, gain.view, session.age(seen.message) - gain.since))
    return tuple(results), gains


def learned(
    session: Session, due_now: Sequence[Due], settled: int, known: Known, gains: tuple[Gain, ...] | None
) -> Known:
    """Keep what stays true of the oldest `settled` results.

    Args:
        session: the state after this request.
        due_now: what `due` gave for it, like `settled`.
        settled: see there.
        known: before.
        gains: all that gains, as `aged` gave it; `None` where no views were made.
    """
    if settled == len(known.shown) and (gains is None or not known.unviewed):
        return known
    shown = session.shown[:settled]
    end = bisect_right(session.edits, shown[-1].message, key=_message_of) if shown else 0
    edits = session.edits[:end]
    later = () if gains is not None else (*known.unviewed, *(one for one in due_now if one.place < settled))
    kept = known.gains if gains is None else tuple(gain for gain in gains if gain.place < settled)
    return Known(shown, len(session.replies), kept, later, edits, _pinned(edits, known))


def _again(session: Session, due_before: Sequence[Due]) -> Iterator[Due]:
    """Put what was due on an earlier request in its place in this one."""
    for one in due_before:
        yield one._replace(seen=session.shown[one.place])


def _pinned(edits: tuple[Edit, ...], known: Known) -> frozenset[str]:
    """Name the originals that repeats among these edits still point at."""
    if edits[: len(known.edits)] == known.edits:
        return known.pinned.union(_referents(edits[len(known.edits) :]))
    return frozenset(_referents(edits))


def mode_for(seen: Seen, rule: Rule, age: int) -> tuple[RuleMode | None, int]:
    """Say what may be done to a result of this age now, `None` for nothing, and from which age on.

    One that nobody decided on at first sight, since some model had seen it before we did, may get what its rule
    allows at first sight.
    """
    later = rule.later_mode(age)
    if later is not None and (seen.standing is None or seen.standing.mode != later[0]):
        return later
    if seen.left and seen.standing is None:
        return next((mode for mode in ("deterministic", "lossless") if mode in rule.first_modes), None), 1
    return None, 1


def pinned(edits: Iterable[Edit]) -> frozenset[str]:
    """Name the originals (SHA-256) that repeats among these edits still point at."""
    return frozenset(_referents(edits))


def _message_of(edit: Edit) -> int:
    return edit.message


def _referents(edits: Iterable[Edit]) -> Iterator[str]:
    """Name the originals (SHA-256) that repeats still point at: they must stay readable."""
    for edit in edits:
        if edit.standing.recipe and "dedupe" in edit.standing.mode:
            yield from _needed(edit.standing.recipe)


@functools.lru_cache(maxsize=4096)
def _needed(recipe: str) -> tuple[str, ...]:
    steps = msgspec.json.decode(recipe, type=list[RecipeStep])
    return tuple(sha for step in steps if step.mode == "dedupe" for sha in dedupe.needed(step.recipe))
