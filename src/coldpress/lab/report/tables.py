"""Make the tables of a report: captions, heads and cells, each with what it shows in words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from coldpress.lab.report.conditions import TariffAbout
from coldpress.lab.report.facts import Facts, Group
from coldpress.lab.report.lost import Lost
from coldpress.lab.report.peers import Peers
from coldpress.lab.report.wording import NONE, UNKNOWN, count, lost, pct, pct_range, plain, usd_alike, usd_range
from coldpress.lab.summary import ArmFigures

Column = tuple[str, Callable[[ArmFigures], str]]


@dataclass(frozen=True, slots=True)
class Cell:
    """What one cell says.

    Attributes:
        text: it.
        name: whether it is a text of others', which may run from right to left.
        prose: whether it is a sentence, to be set from the left and broken into lines.
    """

    text: str
    name: bool = False
    prose: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Attributes:
        caption: what it shows and where from.
        heads: of the columns.
        rows: the first cell of each is its head.
    """

    caption: str
    heads: tuple[Cell, ...]
    rows: tuple[tuple[Cell, ...], ...]


NAME_LONGEST: Final = 40
"""Letters of a name in a table; figures.json has the whole."""

HEAD_LONGEST: Final = 24
"""Letters of an arm's name above a column."""

REGRET: Final = "regret: (bill − refetches) / least − 1, %"
OTHER_LEAST: Final = "†"
"""Marks a regret over a schedule of other rules."""

LEVEL: Final = "Intervals: 95 %."
SIMULATED: Final = "Simulated and open-loop; input alone."


def money(facts: Facts, tariff: TariffAbout) -> Table:
    """Give the bills of every arm at one tariff."""
    figures = facts.figures[tariff.name]
    bill, refetch = (_largest(amounts) for amounts in _bills_and_refetches(figures))
    median = _largest(row.median_saving.value for row in figures if row.median_saving)
    columns: tuple[Column, ...] = (
        ("bill, USD", lambda row: usd_alike(row.bill_usd, bill)),
        ("saved, % [interval]", lambda row: pct_range(row.saving)),
        ("saved per recording, median USD [interval]", lambda row: usd_range(row.median_saving, median)),
        ("cheaper in", lambda row: f"{row.cheaper} of {row.cheaper + row.dearer + row.equal}"),
        ("dearer in", lambda row: count(row.dearer)),
        (
            "refetches (cost in the bill, USD)",
            lambda row: f"{count(row.refetches)} ({usd_alike(row.refetch_usd, refetch)})",
        ),
        (f"{REGRET} [interval]", lambda row: _regret(facts, row)),
    )
    caption = (
        f"Input bills at {plain(tariff.label)}, all recordings together. {SIMULATED} {LEVEL} {_regret_note(facts)}"
    )
    return _by_arm(facts, figures, columns, caption.strip())


def content(facts: Facts, tariff: TariffAbout) -> Table:
    """Give what every arm lost, and what it did to prompts, at one tariff."""
    columns: tuple[Column, ...] = (
        ("edits lost", lambda row: _edits_lost(facts, row)),
        ("identifiers lost", lambda row: _identifiers_lost(facts, row)),
        ("prompt tokens saved, %", lambda row: pct(row.prompt_saving)),
        ("peak tokens saved, %", lambda row: pct(row.peak_saving)),
        ("cuts cold / warm", lambda row: f"{count(row.cold_cuts)} / {count(row.cuts - row.cold_cuts)}"),
        ("compactions", lambda row: count(row.compactions)),
    )
    caption = f"What was lost, and what became of the prompts, at {plain(tariff.label)}. {SIMULATED} {LEVEL}"
    return _by_arm(facts, facts.figures[tariff.name], columns, caption)


def compact(facts: Facts, tariff: TariffAbout) -> Table:
    """Give the few figures that tariffs are compared by."""
    figures = facts.figures[tariff.name]
    bill, _ = (_largest(amounts) for amounts in _bills_and_refetches(figures))
    columns: tuple[Column, ...] = (
        ("bill, USD", lambda row: usd_alike(row.bill_usd, bill)),
        ("saved, % [interval]", lambda row: pct_range(row.saving)),
        (REGRET, lambda row: _regret(facts, row, pct(row.regret.value if row.regret else None))),
        ("edits lost", lambda row: f"{count(row.edits_lost)} of {count(row.edits)}"),
    )
    # A tariff may be named for what it is for, which no "at" stands before.
    begins = f"{tariff.name[:1].upper()}{tariff.name[1:]}" if " " in tariff.name else f"At {tariff.label}"
    return _by_arm(facts, figures, columns, f"{plain(begins)}. {SIMULATED} {LEVEL} {_regret_note(facts)}".strip())


def by_group(facts: Facts, groups: Sequence[Group], what: str) -> Table:
    """Give the savings of every arm in each group of recordings at the main tariff."""
    judged = facts.judged
    largest = _largest(group.control_usd for group in groups)
    rows = []
    for group in groups:
        savings = {row.arm: row for row in group.figures}
        cells = [_saving_and_loss(savings.get(arm.name)) for arm in judged]
        ahead = [_name(group.name), Cell(count(group.recordings)), Cell(usd_alike(group.control_usd, largest))]
        rows.append((*ahead, *cells))
    caption = (
        f"Saved by {what}, in % of the control's bill, with the number of edits lost behind it. {SIMULATED} "
        "Groups of few recordings say little; intervals are left out here and are in figures.json."
    )
    heads = (Cell(what), Cell("recordings"), Cell("control, USD"), *(_arm_head(arm.number, arm.name) for arm in judged))
    return Table(caption, heads, tuple(rows))


def by_place(facts: Facts, held: Mapping[tuple[str, str], Lost], labels: Sequence[str], what: str) -> Table:
    """Give the edits that were lost by tool or age, for every arm at the main tariff."""
    judged = facts.judged
    rows = []
    for label in labels:
        found = [held.get((label, arm.name)) for arm in judged]
        used = max((one.edits for one in found if one), default=0)
        names = max((one.identifiers for one in found if one), default=0)
        rows.append((_name(label), Cell(count(used)), Cell(count(names)), *map(_lost_cell, found)))
    caption = (
        f"Lost by {what}: edits / identifiers / results that would have to be fetched again. {SIMULATED} "
        "Each arm is counted over the same uses."
    )
    arms = [_arm_head(arm.number, arm.name) for arm in judged]
    return Table(caption, (Cell(what), Cell("edits"), Cell("identifiers"), *arms), tuple(rows))


def peers_table(peers: Peers) -> Table:
    """Give others' published figures as they are."""
    saved = (f"saved, % at {one.label}" for one in peers.conditions)
    heads = (Cell("program"), *map(Cell, saved), Cell("edits lost, %"), Cell("note", prose=True))
    rows = tuple(
        (
            Cell(f"{letter} {plain(one.label, NAME_LONGEST)}", name=True),
            *(Cell(pct(share)) for share in one.saved),
            Cell(pct(one.edits_lost)),
            Cell(_with_minus(one.note) or NONE, prose=True),
        )
        for letter, one in peers.lettered
    )
    return Table(f"Others' figures. {peers.source}", heads, rows)


def _with_minus(note: str) -> str:
    """Write the minus of a note's numbers as all others are."""
    return re.sub(r"(?<![\w.-])-(?=\d)", "−", note)


def _regret(facts: Facts, row: ArmFigures, said: str | None = None) -> str:
    arm = facts.arm(row.arm)
    if arm.has_budget:
        return NONE
    if row.regret is None:
        return UNKNOWN
    return (said or pct_range(row.regret)) + ("" if arm.has_own_least else OTHER_LEAST)


def _regret_note(facts: Facts) -> str:
    arms = facts.conditions.arms
    marked = f"{OTHER_LEAST} over a least of other rules." if any(not arm.has_own_least for arm in arms) else ""
    none = f"{NONE} arms with a budget have no regret." if any(arm.has_budget for arm in arms) else ""
    return " ".join(filter(None, (marked, none)))


def _largest(amounts: Iterable[float]) -> float:
    return max(map(abs, amounts), default=0.0)


def _bills_and_refetches(figures: Sequence[ArmFigures]) -> tuple[list[float], list[float]]:
    return [row.bill_usd for row in figures], [row.refetch_usd for row in figures]


def _by_arm(facts: Facts, figures: Sequence[ArmFigures], columns: Sequence[Column], caption: str) -> Table:
    rows = tuple(
        (
            Cell(f"{facts.arm(row.arm).number} {plain(row.arm, NAME_LONGEST)}", name=True),
            *(Cell(say(row)) for _, say in columns),
        )
        for row in figures
    )
    return Table(caption, (Cell("arm"), *(Cell(head) for head, _ in columns)), rows)


def _saving_and_loss(row: ArmFigures | None) -> Cell:
    if row is None or row.saving is None:
        return Cell(UNKNOWN)
    return Cell(f"{pct(row.saving.value)} ({count(row.edits_lost)})")


def _lost_cell(found: Lost | None) -> Cell:
    if found is None:
        return Cell(NONE)
    return Cell(f"{count(found.edits_lost)} / {count(found.identifiers_lost)} / {count(found.refetches)}")


def _arm_head(number: int, name: str, longest: int = HEAD_LONGEST) -> Cell:
    return Cell(f"{number} {plain(name, longest)}", name=True)


def _name(text: str) -> Cell:
    return Cell(plain(text, NAME_LONGEST), name=True)


def _edits_lost(facts: Facts, row: ArmFigures) -> str:
    if _hides_nothing(facts, row):
        return f"0 of {count(row.edits)}"
    return lost(row.edits_lost, row.edits, row.edit_loss, row.edit_loss_at_most)


def _hides_nothing(facts: Facts, row: ArmFigures) -> bool:
    """Whether an arm cannot lose anything, so that no bound of chance belongs to it."""
    return facts.arm(row.arm).role == "control"


def _identifiers_lost(facts: Facts, row: ArmFigures) -> str:
    if _hides_nothing(facts, row):
        return f"0 of {count(row.identifiers)}"
    return lost(row.identifiers_lost, row.identifiers, row.identifier_loss, row.identifier_loss_at_most)
