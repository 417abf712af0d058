"""Add up what was lost, by tool and by age of the result, for every arm at one tariff."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from coldpress.lab.results import AGES, Loss

TOOLS: Final = 12
"""How many tools a table names, those whose results were used most; the others share a row."""

OTHER_TOOLS: Final = "other tools"


@dataclass(frozen=True, slots=True)
class Lost:
    """Uses of results, and how many of them found nothing that was sent.

    Attributes:
        edits, edits_lost: edits that quote a result.
        identifiers, identifiers_lost: uses of identifiers.
        refetches: results that would have had to be fetched again.
    """

    edits: int = 0
    edits_lost: int = 0
    identifiers: int = 0
    identifiers_lost: int = 0
    refetches: int = 0

    def plus(self, other: Loss | Lost) -> Lost:
        """Add another one."""
        return Lost(
            self.edits + other.edits,
            self.edits_lost + other.edits_lost,
            self.identifiers + other.identifiers,
            self.identifiers_lost + other.identifiers_lost,
            self.refetches + other.refetches,
        )

    @property
    def edit_loss(self) -> float | None:
        """Share of the edits that were lost; `None` where there were none."""
        return self.edits_lost / self.edits if self.edits else None


@dataclass(frozen=True, slots=True)
class Losses:
    """All of them, of one tariff.

    Attributes:
        ages: by `(label of the age, arm)`, the youngest first.
        tools: by `(tool, arm)`, the most used first, `OTHER_TOOLS` last.
    """

    ages: Mapping[tuple[str, str], Lost]
    tools: Mapping[tuple[str, str], Lost]

    @property
    def age_labels(self) -> tuple[str, ...]:
        """The ages that there are."""
        return tuple(dict.fromkeys(age for age, _ in self.ages))

    @property
    def tool_names(self) -> tuple[str, ...]:
        """The tools that there are."""
        return tuple(dict.fromkeys(tool for tool, _ in self.tools))


def losses_of(rows: Iterable[Loss]) -> Losses:
    """Add up rows of one tariff."""
    by_age: dict[tuple[int, str], Lost] = {}
    by_tool: dict[tuple[str, str], Lost] = {}
    for row in rows:
        by_age[row.age_from, row.arm] = by_age.get((row.age_from, row.arm), Lost()).plus(row)
        by_tool[row.tool, row.arm] = by_tool.get((row.tool, row.arm), Lost()).plus(row)
    ages = {(age_label(age), arm): by_age[age, arm] for age, arm in sorted(by_age, key=lambda place: place[0])}
    return Losses(ages, _most_used(by_tool))


def age_label(age_from: int) -> str:
    """Say a group of ages in turns.

    >>> [age_label(age) for age in AGES]
    ['1 to 5', '6 to 10', '11 to 20', '21 to 50', '51 and more']
    """
    later = [age for age in AGES if age > age_from]
    return f"{age_from} to {later[0] - 1}" if later else f"{age_from} and more"


def _most_used(by_tool: Mapping[tuple[str, str], Lost]) -> dict[tuple[str, str], Lost]:
    used: dict[str, int] = {}
    for (tool, _), lost in by_tool.items():
        used[tool] = max(used.get(tool, 0), lost.edits + lost.identifiers)
    named = sorted(used, key=lambda tool: (-used[tool], tool))
    # One tool alone is as well named as called another.
    shown = named if len(named) <= TOOLS + 1 else named[:TOOLS]
    arms = tuple(dict.fromkeys(arm for _, arm in by_tool))
    found = {(tool, arm): by_tool[tool, arm] for tool in shown for arm in arms if (tool, arm) in by_tool}
    for (tool, arm), lost in by_tool.items():
        if tool not in shown:
            found[OTHER_TOOLS, arm] = found.get((OTHER_TOOLS, arm), Lost()).plus(lost)
    return found
