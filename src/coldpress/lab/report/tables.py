"""Make the tables of a report: captions, heads and cells, each with what it shows in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from coldpress.lab.report.conditions import TariffAbout
from coldpress.lab.report.facts import Facts, Group
from coldpress.lab.report.lost import Lost
from coldpress.lab.report.peers import Peers
from coldpress.lab.report.wording import NONE, UNKNOWN, count, lost, pct, pct_range, plain, usd, usd_range
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

SIMULATED: Final = "Simulated and open-loop; input alone."


def money(facts: Facts, tariff: TariffAbout) -> Table:
    """Give the bills of every arm at one tariff."""
    columns: tuple[Column, ...] = (
        ("bill, USD", lambda row: usd(row.bill_usd)),
        ("saved, % [interval]", lambda row: pct_range(row.saving)),
        ("saved per recording, median USD [interval]", lambda row: usd_range(row.median_saving)),
        ("cheaper in", lambda row: f"{row.cheaper} of {row.cheaper + row.dearer + row.equal}"),
        ("dearer in", lambda row: count(row.dearer)),
        ("refetches (cost in the bill, USD)", lambda row: f"{count(row.refetches)} ({usd(row.refetch_usd)})"),
        ("regret, % above the least possible", lambda row: pct_range(row.regret)),
    )
    caption = f"Input bills at {plain(tariff.label)}, all recordings together. {SIMULATED} An interval holds 95 %."
    return _by_arm(facts, facts.figures[tariff.name], columns, caption)


def content(facts: Facts, tariff: TariffAbout) -> Table:
    """Give what every arm lost, and what it did to prompts, at one tariff."""
    columns: tuple[Column, ...] = (
        ("edits lost", lambda row: lost(row.edits_lost, row.edits, row.edit_loss, row.edit_loss_at_most)),
        (
            "identifiers lost",
            lambda row: lost(row.identifiers_lost, row.identifiers, row.identifier_loss, row.identifier_loss_at_most),
        ),
        ("prompt tokens saved, %", lambda row: pct(row.prompt_saving)),
        ("peak tokens saved, %", lambda row: pct(row.peak_saving)),
        ("cuts cold / warm", lambda row: f"{count(row.cold_cuts)} / {count(row.cuts - row.cold_cuts)}"),
        ("compactions", lambda row: count(row.compactions)),
    )
    caption = f"What was lost, and what became of the prompts, at {tariff.name}. {SIMULATED} An interval holds 95 %."
    return _by_arm(facts, facts.figures[tariff.name], columns, caption)


def compact(facts: Facts, tariff: TariffAbout) -> Table:
    """Give the few figures that tariffs are compared by."""
    columns: tuple[Column, ...] = (
        ("bill, USD", lambda row: usd(row.bill_usd)),
        ("saved, % [interval]", lambda row: pct_range(row.saving)),
        ("regret, %", lambda row: pct(row.regret.value if row.regret else None)),
        ("edits lost", lambda row: f"{count(row.edits_lost)} of {count(row.edits)}"),
    )
    return _by_arm(
        facts, facts.figures[tariff.name], columns, f"At {plain(tariff.label)}. {SIMULATED} An interval holds 95 %."
    )


def by_group(facts: Facts, groups: Sequence[Group], what: str) -> Table:
    """Give the savings of every arm in each group of recordings at the main tariff."""
    judged = facts.judged
    rows = []
    for group in groups:
        savings = {row.arm: row for row in group.figures}
        cells = [_saving_and_loss(savings.get(arm.name)) for arm in judged]
        ahead = [_name(group.name), Cell(count(group.recordings)), Cell(usd(group.control_usd))]
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
            Cell(one.note or NONE, prose=True),
        )
        for letter, one in peers.lettered
    )
    return Table(f"Others' figures. {peers.source}", heads, rows)


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


def _identifiers_lost(row: ArmFigures) -> str:
    return lost(row.identifiers_lost, row.identifiers, row.identifier_loss, row.identifier_loss_at_most)
