"""Find the results that may become one line under pressure, and choose those that free the most for the least risk."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from coldpress.engine.aged import Due, RuleOf, ViewOf
from coldpress.engine.aged_view import View
from coldpress.engine.documents import sets_rules
from coldpress.engine.need import Why, reasons
from coldpress.engine.plan import REFERABLE
from coldpress.engine.policy import Rule
from coldpress.engine.pressure_data import risk
from coldpress.engine.session import Seen, Session
from coldpress.engine.signals import signals
from coldpress.engine.zones import Zones
from coldpress.model.conversation import Conversation

MOST_STEERING_CHARS: Final = 40_000
"""How much of a document is searched for what it forbids: its head, as for summaries."""


@dataclass(frozen=True, slots=True)
class Clearable:
    """A result that may become one line.

    Attributes:
        seen: the result as it is shown now.
        view: the line in its place.
        risk: probability that a later call needs its text and finds it nowhere else, see `pressure_data`.
        why: what speaks for clearing it.
    """

    seen: Seen
    view: View
    risk: float
    why: Why


def clearables(
    conversation: Conversation,
    session: Session,
    *,
    rule_of: RuleOf,
    view_of: ViewOf,
    zones: Zones,
    floor: int,
    pinned: AbstractSet[str],
) -> tuple[Clearable, ...]:
    """List the results between the keep zones that may become one line, in the order of messages.

    Under pressure a rule's age does not count, and sources may go too unless their rule is `exact`. What must stay
    exact by its own structure, what is shortened already and what gains too little has no view and is left out. So are
    documents that set rules: a summary says what they forbid, one line would not.

    Args:
        conversation: the request.
        session: the state after it.
        rule_of: gives the rule of a tool.
        view_of: gives the view of a result, as `coldpress.engine.aged.view` does in the mode `mask`.
        zones: what stays.
        floor: index of the first message that may be edited without losing reasoning that is bound to it.
        pinned: originals (SHA-256) that repeats in force point at: they stay readable.
    """
    first = max(zones.anchor + 1, floor)
    why = reasons(conversation, session) if first < zones.tail else {}
    found: list[Clearable] = []
    for place, seen in enumerate(session.shown):
        if not first <= seen.message < zones.tail:
            continue
        rule = rule_of(seen.tool, seen.classified.kind)
        if not _may_clear(seen, rule) or _steers(conversation, seen):
            continue
        view = view_of(Due(place, seen, rule, "mask", 1))
        if view is not None and view.standing.original not in pinned:
            ground, is_source = why[seen.key], seen.classified.kind == "source"
            chance = risk(ground, is_source=is_source, age=session.age(seen.message))
            found.append(Clearable(seen, view, chance, ground))
    return tuple(found)


def choose(found: Sequence[Clearable], *, free_tokens: int, scale: float) -> tuple[Clearable, ...]:
    """Choose results until enough is freed: most tokens per risk first, of equals the earlier one.

    Args:
        found: what `clearables` gave.
        free_tokens: how many to free, on the provider's scale.
        scale: the provider's tokens for one of ours.

    Returns:
        The chosen ones in the order of messages; all that free anything where they do not suffice, none where nothing
        is to be freed.
    """
    freeing = [one for one in found if one.view.freed_tokens > 0]
    chosen: set[int] = set()
    freed_tokens = 0.0
    for place in sorted(range(len(freeing)), key=lambda place: (-_worth(freeing[place]), place)):
        if freed_tokens >= free_tokens:
            break
        chosen.add(place)
        freed_tokens += freeing[place].view.freed_tokens * scale
    return tuple(one for place, one in enumerate(freeing) if place in chosen)


def _may_clear(seen: Seen, rule: Rule) -> bool:
    if rule.modes == ("exact",) or seen.classified.kind not in REFERABLE:
        return False
    return seen.standing is None or seen.standing.mode not in ("mask", "restore")


def _steers(conversation: Conversation, seen: Seen) -> bool:
    """Whether a result is a document that forbids or limits something: one line in its place would not say so."""
    return sets_rules(seen.classified) and any(signals(conversation.text(seen.literal)[:MOST_STEERING_CHARS]))


def _worth(one: Clearable) -> float:
    """Tokens freed per unit of risk."""
    return one.view.freed_tokens / one.risk
