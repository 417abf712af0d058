"""Keep a summary within bounds of items and bytes, and say how many items did not fit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from coldpress.engine.credentials import holds_secret
from coldpress.model.summary import Item, Section, Summary

MOST_ITEMS: Final = 24
"""Items in one section, unless told otherwise."""

MOST_BYTES: Final = 12_000
"""UTF-8 bytes of all items' texts together, unless told otherwise: some 3,000 tokens."""

_ITEM_BYTES: Final = 10
"""What an item takes beside its text: a dash, its citation, a line end."""

_FIRST: Final[tuple[Section, ...]] = (
    *("constraints", "failures", "plan", "artifacts", "ruled_out", "goal", "questions", "decisions"),
)
"""Which section's items go first where there is no room for all and they weigh the same."""


class Candidate(NamedTuple):
    """An item that wants to be in a section; the heavier one goes first where there is no room for both."""

    section: Section
    item: Item
    weight: int = 0


def chars_of(candidates: Iterable[Candidate]) -> int:
    """Give the characters of text that candidates hold, quotations aside: they are pieces of it."""
    return sum(len(candidate.item.text) for candidate in candidates)


@dataclass(frozen=True, slots=True)
class Bounded:
    """A summary within its bounds.

    Attributes:
        summary: what fits, in the order of messages.
        left_out: how many items of a section did not fit, in the order of sections; sections without are not there.
    """

    summary: Summary
    left_out: tuple[tuple[Section, int], ...] = ()


def fitted(candidates: Sequence[Candidate], *, most_items: int = MOST_ITEMS, most_bytes: int = MOST_BYTES) -> Bounded:
    """Choose items by weight, then by section, then the later one, until a bound is met.

    An item that looks like a credential is left out as well, since summaries are stored. Items that say the same in
    one section count once, the later one.

    Args:
        candidates: in the order of messages; those of one message in the order they shall stand.
        most_items: of one section.
        most_bytes: UTF-8 bytes of all items together, citations counted.
    """
    distinct = {(c.section, c.item.text): at for at, c in enumerate(candidates)}
    order = sorted(
        distinct.values(), key=lambda at: (-candidates[at].weight, _FIRST.index(candidates[at].section), -at)
    )
    taken: list[int] = []
    counts = dict.fromkeys(_FIRST, 0)
    room = most_bytes
    for at in order:
        section, item, _ = candidates[at]
        size = len(item.text.encode()) + _ITEM_BYTES
        if item.text and counts[section] < most_items and size <= room and not holds_secret(item.text):
            taken.append(at)
            counts[section] += 1
            room -= size
    chosen = [candidates[at] for at in sorted(taken)]
    summary = Summary(**{section: _of(section, chosen) for section in _FIRST})
    return Bounded(summary, _left_out(summary, [candidates[at] for at in distinct.values()]))


def _of(section: Section, chosen: Iterable[Candidate]) -> tuple[Item, ...]:
    return tuple(sorted((c.item for c in chosen if c.section == section), key=lambda item: item.message))


def _left_out(summary: Summary, distinct: Sequence[Candidate]) -> tuple[tuple[Section, int], ...]:
    missing = (
        (section, sum(c.section == section for c in distinct) - len(items)) for section, items in summary.sections()
    )
    return tuple((section, count) for section, count in missing if count)
