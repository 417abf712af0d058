"""The reference experiment's arithmetic, on made-up sessions whose medians, mean, counts and intervals are known."""

from __future__ import annotations

import json
import math
import statistics
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from coldpress.lab.reference_tables import Session, as_object, markdown, reference_tables
from coldpress.model.errors import FiguresError

SEED = 166
UNIT = 1e-7
"""Of the costs below, in USD."""

TASKS = ("architecture", "economics", "regression_review", "safety", "stress")

# Found by a search for whole numbers that have the published medians, means and counts; five repetitions a row.
COSTS = {
    "control": (
        (269147, 335515, 260400, 187174, 203758),
        (331438, 248200, 217940, 230974, 331857),
        (327612, 413362, 414468, 259306, 336720),
        (168901, 183505, 176400, 123407, 206377),
        (148597, 222560, 204105, 278497, 261519),
    ),
    "deterministic": (
        (229840, 245445, 219107, 216882, 236574),
        (326198, 242960, 267170, 225734, 315417),
        (322372, 342780, 342780, 342780, 342780),
        (150451, 92153, 151420, 151420, 207533),
        (272808, 266990, 266990, 304530, 272600),
    ),
    "model_gated": (
        (172200, 224650, 259930, 366234, 259930),
        (162813, 224650, 213160, 217420, 240082),
        (224650, 279739, 324110, 333789, 375929),
        (167883, 224650, 132201, 172970, 239986),
        (205704, 215050, 213121, 230375, 268263),
    ),
}
REQUESTS = {"control": 16, "deterministic": 19, "model_gated": 17}
LOOPS = {"control": 2, "deterministic": 1, "model_gated": 1}


def sessions() -> list[Session]:
    """75 sessions: two tokens for each unit of cost, and a hit ratio that grows from repetition to repetition."""
    found = []
    for arm, rows in COSTS.items():
        for number, (task, row) in enumerate(zip(TASKS, rows, strict=True)):
            for repetition, cost in enumerate(row):
                stopped = 5 * number + repetition < LOOPS[arm]
                found.append(
                    Session(
                        task,
                        repetition,
                        arm,
                        not stopped,
                        stopped,
                        cost * UNIT,
                        2 * cost,
                        2 * cost * (90 + repetition) // 100,
                        REQUESTS[arm] + repetition - 2,
                    )
                )
    return found


TABLES = reference_tables(sessions(), seed=SEED)
OBJECT = as_object(TABLES)


def naive_interval(savings: list[float], statistic: object) -> list[float]:
    """The reference experiment's own way, with plain loops: drawn, sorted, and read off between the nearest two."""
    drawn = np.random.default_rng(SEED).integers(0, len(savings), size=(10_000, len(savings))).tolist()
    found = sorted(statistic([savings[i] for i in row]) for row in drawn)  # type: ignore[operator]
    ends = []
    for share in (0.025, 0.975):
        place = share * (len(found) - 1)
        below = math.floor(place)
        ends.append(found[below] + (place - below) * (found[below + 1] - found[below]))
    return ends


def savings(arm: str) -> list[int]:
    return [
        c - a for row, other in zip(COSTS["control"], COSTS[arm], strict=True) for c, a in zip(row, other, strict=True)
    ]


def test_arms() -> None:
    known = {
        "control": (23, 2, 0.024820, 16),
        "deterministic": (24, 1, 0.026699, 19),
        "model_gated": (24, 1, 0.022465, 17),
    }
    for row in TABLES.arms:
        completed, stops, cost, requests = known[row.arm]
        assert (row.sessions, row.unpriced, row.completed, row.loop_stops) == (25, 0, completed, stops)
        assert row.median_cost_usd == pytest.approx(cost)
        assert row.median_input_tokens == pytest.approx(2 * cost / UNIT)
        assert row.median_requests == requests
        rows = COSTS[row.arm]
        cached = sum(2 * cost * (90 + repetition) // 100 for line in rows for repetition, cost in enumerate(line))
        assert row.cache_hit_ratio == cached / (2 * sum(map(sum, rows)))
    # A ratio of sums, not a mean of ratios: that would be 0.92 in every arm.
    assert len({row.cache_hit_ratio for row in TABLES.arms}) == 3


@pytest.mark.parametrize(
    ("arm", "median", "mean", "cheaper"),
    [("deterministic", 0.000524, -0.0000559, 13), ("model_gated", 0.000478, 0.001569, 15)],
)
def test_pairs(arm: str, median: float, mean: float, cheaper: int) -> None:
    row = next(row for row in TABLES.paired if row.arm == arm)
    assert TABLES.blocks == row.cost.pairs == 25
    assert (row.cost.cheaper, row.cost.dearer, row.cost.equal, row.cost.dropped) == (cheaper, 25 - cheaper, 0, 0)
    assert row.cost.median is not None and row.cost.mean is not None and row.input_tokens.median is not None
    assert row.cost.median.value == pytest.approx(median)
    assert row.cost.mean.value == pytest.approx(mean)
    assert row.input_tokens.median.value == 2 * round(median / UNIT)


@pytest.mark.parametrize(
    ("arm", "median_interval", "mean_interval"),
    [
        ("deterministic", (-0.00280130, 0.00184500), (-0.00207911, 0.00193935)),
        ("model_gated", (-0.00336090, 0.00481220), (-0.00136427, 0.00455721)),
    ],
)
def test_intervals_of_seed_166(
    arm: str, median_interval: tuple[float, float], mean_interval: tuple[float, float]
) -> None:
    row = next(row for row in TABLES.paired if row.arm == arm)
    saved = [float(one) for one in savings(arm)]
    for found, statistic, known in (
        (row.cost.median, statistics.median, median_interval),
        (row.cost.mean, statistics.fmean, mean_interval),
    ):
        assert found is not None and found.sessions == 25
        assert [found.low / UNIT, found.high / UNIT] == pytest.approx(naive_interval(saved, statistic), rel=1e-9)
        assert (found.low, found.high) == pytest.approx(known, abs=5e-9)


def test_tasks() -> None:
    found = {row.task: row.median_cost_usd for row in TABLES.tasks}
    known = {
        "architecture": (0.026040, 0.022984, 0.025993),
        "economics": (0.024820, 0.026717, 0.021742),
        "regression_review": (0.033672, 0.034278, 0.032411),
        "safety": (0.017640, 0.015142, 0.017297),
        "stress": (0.022256, 0.027260, 0.021505),
    }
    assert found == {task: pytest.approx(row) for task, row in known.items()}


def test_the_published_results_have_the_same_columns_and_figures(shared: Path) -> None:
    published = json.loads((shared / "reference" / "results.json").read_text())
    of_the_ledger = {"transformed_runs", "transformations", "reuses", "bytes_removed", "summariser_calls"}
    assert OBJECT["pairs"] == published["pairs"]
    assert OBJECT["bootstrap"] == published["bootstrap"]
    for arm, row in published["arms"].items():
        assert set(row) <= set(OBJECT["arms"][arm])
        for key in ("completed", "loop_stops", "median_cost_usd", "median_requests"):
            assert OBJECT["arms"][arm][key] == pytest.approx(row[key]), (arm, key)
    for arm, row in published["paired"].items():
        assert set(row) - of_the_ledger <= set(OBJECT["paired"][arm])
        for key in ("median_saving_usd", "mean_saving_usd", "cheaper_pairs"):
            assert OBJECT["paired"][arm][key] == pytest.approx(row[key]), (arm, key)
    by_task = published["median_cost_by_task_usd"]
    assert OBJECT["median_cost_by_task_usd"] == {task: pytest.approx(row) for task, row in by_task.items()}


def test_the_order_of_sessions_does_not_matter_to_the_figures() -> None:
    mixed = sessions()
    np.random.default_rng(3).shuffle(mixed)  # type: ignore[arg-type]
    assert as_object(reference_tables(mixed, seed=SEED)) == OBJECT


def test_a_session_without_a_price_or_none_at_all_is_a_drop() -> None:
    mine = [s for s in sessions() if (s.task, s.repetition, s.arm) != ("safety", 0, "model_gated")]
    mine = [
        replace(s, cost_usd=None) if (s.task, s.repetition) == ("stress", 1) and s.arm == "control" else s for s in mine
    ]
    found = reference_tables(mine, seed=SEED)
    control, _, gated = found.arms
    assert (control.sessions, control.unpriced, gated.sessions, gated.unpriced) == (25, 1, 24, 0)
    deterministic, gated_pairs = found.paired
    assert (deterministic.cost.pairs, deterministic.cost.dropped) == (24, 1)
    assert (gated_pairs.cost.pairs, gated_pairs.cost.dropped) == (23, 2)
    assert (gated_pairs.input_tokens.pairs, gated_pairs.input_tokens.dropped) == (24, 1)


def test_an_arm_of_which_nothing_is_known_says_so() -> None:
    unknown = [
        replace(s, cost_usd=None, input_tokens=None, cached_tokens=None) if s.arm == "model_gated" else s
        for s in sessions()
    ]
    found = reference_tables(unknown, seed=SEED)
    gated = found.arms[2]
    assert (gated.median_cost_usd, gated.median_input_tokens, gated.cache_hit_ratio) == (None, None, None)
    assert found.paired[1].cost.median is None
    assert "| model_gated | unknown | unknown | unknown | 0 of 0 pairs | 25 |" in list(markdown(found))


def test_the_written_tables() -> None:
    lines = list(markdown(TABLES))
    assert "| control | 23 of 25 | 2 | 0.024820 | 496,400 | 16 | 91.98% |" in lines
    assert any(
        line.startswith("| deterministic | +0.000524 [") and line.endswith("| 13 of 25 pairs | 0 |") for line in lines
    )
    assert "| stress | 0.022256 | 0.027260 | 0.021505 |" in lines
    assert lines[-1] == "Intervals: 95 %, percentile bootstrap over pairs, 10,000 resamples, seed 166."


def test_what_cannot_be_paired_is_refused() -> None:
    with pytest.raises(FiguresError, match="two sessions of control for architecture, repetition 0"):
        reference_tables([*sessions(), sessions()[0]], seed=SEED)
    with pytest.raises(FiguresError, match="no session of the control 'none'; there are control, deterministic"):
        reference_tables(sessions(), control="none", seed=SEED)
    with pytest.raises(FiguresError, match="no sessions"):
        reference_tables([], seed=SEED)
