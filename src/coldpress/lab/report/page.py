"""Lay a report out as one HTML file that needs no script, no server and no network."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from jinja2 import Environment, StrictUndefined

from coldpress.lab.report import outcome, story
from coldpress.lab.report.canvas import Picture
from coldpress.lab.report.conditions import ArmAbout
from coldpress.lab.report.costs import cache_timeline, cost_by_request, loss_by_age
from coldpress.lab.report.facts import GROUPS, Facts
from coldpress.lab.report.pareto import pareto, small_multiples
from coldpress.lab.report.payback import payback_map
from coldpress.lab.report.tables import Table, by_group, by_place, compact, content, money, peers_table
from coldpress.lab.report.wording import many, plain, plain_lines
from coldpress.lab.report.words import WORDS

TEMPLATES: Final = "templates"


@dataclass(frozen=True, slots=True)
class Block:
    """What stands under a heading: texts, then pictures, then tables.

    Attributes:
        anchor: of its heading.
        title: of it.
        texts: paragraphs.
        arms: said in a line each.
        pictures, tables: in order; a folded table is shown on demand.
    """

    anchor: str
    title: str
    texts: tuple[str, ...] = ()
    arms: tuple[ArmAbout, ...] = ()
    pictures: tuple[Picture, ...] = ()
    tables: tuple[Table, ...] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """A finished report."""

    html: str
    pictures: tuple[Picture, ...]


def page(facts: Facts) -> Page:
    """Draw all figures and lay everything out."""
    blocks = tuple(block for block in _blocks(facts) if block.texts or block.pictures or block.tables)
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters.update(plain=plain, plain_lines=plain_lines, address=_address)
    folder = files("coldpress.lab.report") / TEMPLATES
    template = environment.from_string((folder / "report.html").read_text(encoding="utf-8"))
    html = template.render(
        title=_title(facts),
        style=(folder / "report.css").read_text(encoding="utf-8"),
        head=story.head(facts),
        outcome=outcome.outcome(facts),
        blocks=blocks,
        arms=facts.conditions.arms,
        tariffs=facts.conditions.tariffs,
        version=facts.conditions.version,
        skipped=facts.conditions.skipped,
        caveats=story.caveats(facts),
        words_explained=WORDS,
    )
    return Page(html, tuple(one for block in blocks for one in block.pictures))


def _title(facts: Facts) -> str:
    judged = [arm for arm in facts.judged if arm.role == "arm"]
    return (
        f"What {many(len(judged), 'way')} of making prompts smaller would have cost on "
        f"{many(facts.sizes.recordings, 'recorded agent run')}"
    )


def _blocks(facts: Facts) -> Sequence[Block]:
    main = facts.main
    if main is None:
        return ()
    others = [tariff for tariff in facts.conditions.tariffs if tariff is not main]
    return (
        Block(
            "bills", f"Bills and losses at {plain(main.label)}",
            (_bills_text(facts),), facts.conditions.arms, (), (money(facts, main), content(facts, main)),
        ),
        Block("peak", "Peak tokens, beside a published figure", (story.peak(facts),)),
        Block("pareto", "What is saved against what is lost", (), (), _shown(pareto(facts, main)), _peers(facts)),
        Block("course", "Cost, request by request", (), (), _shown(cost_by_request(facts))),
        Block("cache", "The cache of one recording", (), (), _shown(cache_timeline(facts))),
        Block("losses", "What was lost, by age and by tool", (), (), _shown(loss_by_age(facts)), _losses(facts)),
        Block("groups", "By task and by kind of program", _groups_text(facts), (), (), _groups(facts)),
        Block(
            "others", "At the other tariffs", (), (), _shown(small_multiples(facts, others)) if others else (),
            tuple(compact(facts, tariff) for tariff in others),
        ),
        Block("payback", "When a cut into a warm cache pays", (), (), _shown(payback_map(facts))),
    )  # fmt: skip


def _bills_text(facts: Facts) -> str:
    return (
        "Numbers before the arms are those in the figures. Savings are shares of the control's whole bill; below 0 an "
        "arm is dearer. The regret is of bills without refetches: (bill − refetches) / least − 1. The least is what "
        "the clairvoyant schedule of the same rules came to when it was played, else what the cheapest clairvoyant arm "
        "did; figures of the second sort, and the control's, which lets nothing go, are marked †, for they stand "
        "against other rules. A regret can be a little below 0: the clairvoyant plan goes by a simpler cache than the "
        "one that bills, and what may go depends on what went before. Arms with a budget have none (–). Where bills "
        "with refetches are ranked, a clairvoyant arm can be dearer than another, since it does not weigh refetches."
    )


def _peers(facts: Facts) -> tuple[Table, ...]:
    return (peers_table(facts.peers),) if facts.peers and facts.peers.peers else ()


def _losses(facts: Facts) -> tuple[Table, ...]:
    held = facts.losses
    if not held.ages:
        return ()
    return (
        by_place(facts, held.ages, held.age_labels, "age in turns"),
        by_place(facts, held.tools, held.tool_names, "tool"),
    )


def _groups(facts: Facts) -> tuple[Table, ...]:
    found = [by_group(facts, facts.tasks, "task")] if facts.tasks else []
    return (*found, by_group(facts, facts.kinds, "kind")) if facts.kinds else tuple(found)


def _groups_text(facts: Facts) -> tuple[str, ...]:
    if not facts.tasks:
        return ()
    said = ["A task is the folder that a recording stood in."]
    if facts.sizes.tasks > len(facts.tasks):
        said.append(f"The {GROUPS} of {many(facts.sizes.tasks, 'folder')} with the largest bills are shown.")
    if not facts.kinds and facts.sizes.kinds:
        said.append(f"All recordings are of one kind, {plain(facts.sizes.kinds[0][0])}.")
    return (" ".join(said),)


def _shown(drawn: Picture | None) -> tuple[Picture, ...]:
    return () if drawn is None else (drawn,)


def _address(png: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(png).decode('ascii')}"
