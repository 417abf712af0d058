"""Sums over recordings, how a choice holds on other recordings, and the promise on real ones."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest
from lab.situations import layout, situation, tariff

from coldpress.lab import arms
from coldpress.lab.importers.claude_code import read_file
from coldpress.lab.layout import lay_out
from coldpress.lab.schedule_report import by_halves, compare, lost_edits
from coldpress.lab.schedules import Aging, play
from coldpress.lab.stats import SEED
from coldpress.lab.tariffs import TARIFFS
from coldpress.measure.tokens import estimate

ONE = layout([100, 160, 200, 210], [(1, 40)], name="one", quotes=[(2, (0,)), (1, (0,))])
OTHER = layout([50, 60], name="other")


def test_a_comparison_sums_up_what_each_conversation_costs() -> None:
    found = compare((ONE, OTHER), tariff(), Aging(1), {"every turn": arms.every_turn})
    control, every = found.row("control"), found.row("every turn")
    assert round(control.cost_usd * 1e6) == (1_000 + 700 + 560 + 300) + (500 + 150)
    assert round(every.cost_usd * 1e6) == (1_000 + 700 + 700 + 260) + (500 + 150)
    assert (every.cuts, every.cold_cuts, every.lost) == (1, 0, 1)
    assert every.saved is not None
    assert every.saved.value == pytest.approx(-100 / 3_210)
    assert (found.recordings, found.conversations, found.requests, found.edits) == (2, 2, 6, 2)
    best = found.row("clairvoyant")
    assert best.cost_usd == control.cost_usd == pytest.approx(found.at_least_usd)
    assert every.over == pytest.approx(100 / 3_210)


def test_conversations_of_one_recording_are_one_pair() -> None:
    found = compare((ONE, layout([50, 60], name="one")), tariff(), Aging(1), {})
    assert found.recordings == 1
    assert len(found.row("control").totals) == 1


@pytest.mark.parametrize(
    ("quotes", "lost"),
    [
        pytest.param([(2, (0,))], 1, id="masked on the request it was made on"),
        pytest.param([(1, (0,))], 0, id="made before"),
        pytest.param([(2, (0, 1))], 0, id="another result that still stands has the text too"),
        pytest.param([(3, (0, 1))], 1, id="both are masked"),
    ],
)
def test_lost_edits(quotes: list[tuple[int, tuple[int, ...]]], lost: int) -> None:
    of = situation(layout([100, 160, 200, 210], [(1, 40), (2, 30)], quotes=quotes), 1)
    assert lost_edits(of, play(of, arms.every_turn)) == lost


def test_a_result_that_never_comes_of_age_is_never_lost() -> None:
    of = situation(layout([100, 160, 200], [(1, 40)], quotes=[(2, (0,))]), 9)
    assert lost_edits(of, play(of, arms.every_turn)) == 0


def test_halves_choose_the_rule_that_is_better_everywhere() -> None:
    talks = [layout([100, 160, 200, 210], [(1, 40)], name=f"talk {n}") for n in range(6)]
    found = compare(talks, tariff(), Aging(1), {"never": arms.control, "every": arms.every_turn})
    halves = by_halves([found], ("never", "every"), limit=0.03, draws=10, seed=SEED)
    assert dict(halves.chosen) == {"never": 10, "every": 0}
    assert dict(halves.worst_of) == {"never": 0.0, "every": 1.0}
    assert halves.excess == pytest.approx(0.0)


@pytest.mark.parametrize("name", sorted(TARIFFS))
def test_tariffs_have_every_price(name: str) -> None:
    priced = TARIFFS[name]()
    read, write = priced.read_and_write(1_000, asked_long=True)
    assert 0 < read <= write


@pytest.mark.parametrize("name", ["claude-opus-5-5", "reference-2026-07"])
def test_on_real_sessions_ours_stays_close_to_the_clairvoyant(name: str, shared: Path) -> None:
    layouts = [
        lay_out(trajectory, recording=file.stem, count=functools.cache(estimate))
        for file in sorted((shared / "trajectories/dev/claude-code").glob("*.jsonl"))
        for trajectory in read_file(file).trajectories
    ]
    ours = arms.ours(arms.survival(layouts, before_data=arms.REFERENCE_REQUESTS))
    found = compare(layouts, TARIFFS[name](), Aging(20), {"ours": ours})
    assert found.row("ours").cost_usd <= 1.005 * found.row("control").cost_usd
    assert found.row("ours").cost_usd <= 1.03 * found.at_least_usd
