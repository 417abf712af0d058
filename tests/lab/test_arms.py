"""What each arm does on a request, and that ours is the gateway's own gate."""

from __future__ import annotations

from itertools import pairwise

import pytest
from lab.situations import layout, situation, tariff

from coldpress.lab import arms
from coldpress.lab.schedules import Arm, bits_of, play

# One result of 400 tokens, due on request 2; 60 tokens behind it are read again or written again.
PROMPTS = [1_000, 1_500, 1_520, 1_540, 1_560, 1_580, 1_600, 1_620]
QUICK = [10.0 * i for i in range(8)]
PAUSED = [0.0, 10.0, 20.0, 30.0, 40.0, 500.0, 510.0, 520.0]


def cuts(arm: Arm, at: list[float], *, write: float, prompts: list[int] | None = None) -> list[int]:
    """Requests on which the result is newly masked."""
    of = situation(layout(prompts or PROMPTS, [(1, 400)], at=at), 1, tariff(write=write))
    masked = play(of, arm).masked
    return [i for i in range(len(masked)) if masked[i] and not (i and masked[i - 1])]


@pytest.mark.parametrize(
    ("arm", "at", "write", "expected"),
    [
        pytest.param(arms.control, PAUSED, 10.0, [], id="the control never"),
        pytest.param(arms.every_turn, QUICK, 10.0, [2], id="every turn: when it is due"),
        pytest.param(arms.cold_points, QUICK, 10.0, [], id="cold points: not without a pause"),
        pytest.param(arms.cold_points, PAUSED, 10.0, [5], id="cold points: at the pause"),
        # 6 * 400 * 1 = 2,400 against (1,520 - 1,000 - 400) * (W - 1) = 120 * (W - 1).
        pytest.param(arms.reference_gate, QUICK, 20.0, [2], id="the reference gate where six requests pay: 2,280"),
        pytest.param(arms.reference_gate, QUICK, 22.0, [], id="the reference gate where not: 2,520, and growing"),
    ],
)
def test_when_an_arm_cuts(arm: Arm, at: list[float], write: float, expected: list[int]) -> None:
    assert cuts(arm, at, write=write) == expected


def test_ours_waits_until_the_rent_is_paid() -> None:
    # Rewrite: 100 of the 1,500 cached tokens stay behind the result: 100 * 29 = 2,900, and 20 more a request.
    # Rent: 400 for each request waited. Half of the rewrite is reached after 4 of them: 1,600 >= (100 + 80) * 29 / 2.
    prompts = [1_000, 1_500, *range(1_520, 2_000, 20)]
    at = [10.0 * i for i in range(len(prompts))]
    none = cuts(arms.ours(arms.no_limit, rent_share=None), at, write=30.0, prompts=prompts)
    half = cuts(arms.ours(arms.no_limit, rent_share=0.5), at, write=30.0, prompts=prompts)
    assert none == [2]
    waited = next(n for n in range(30) if 400 * n >= 0.5 * (100 + 20 * n) * 29)
    assert half == [2 + waited]


def test_ours_does_not_cut_what_the_forecast_cannot_pay() -> None:
    prompts = [1_000, 1_500, *range(1_520, 2_000, 20)]
    at = [10.0 * i for i in range(len(prompts))]
    assert cuts(arms.ours(arms.fixed(2)), at, write=30.0, prompts=prompts) == []


def test_ours_takes_a_cold_point() -> None:
    assert cuts(arms.ours(arms.fixed(1)), PAUSED, write=30.0) == [5]


def test_forecasts() -> None:
    seen: dict[str, list[float | None]] = {"exact": [], "again": [], "survival": []}
    others = [layout(range(10, 10 * (n + 1), 10), name=f"of {n}") for n in [*[4] * 15, *[10] * 15]]
    curve = arms.survival([*others, layout(PROMPTS, [(1, 400)], name="made up")], before_data=6)

    def watch(view: arms.View) -> None:
        seen["exact"].append(arms.exact(view))
        seen["again"].append(arms.as_many_again(view))
        seen["survival"].append(curve(view))

    play(situation(layout(PROMPTS, [(1, 400)])), watch)
    assert seen["exact"] == [8, 7, 6, 5, 4, 3, 2, 1]
    assert seen["again"] == [6, 6, 6, 6, 6, 6, 6, 7]
    # Half of the others make 4 requests, half make 10: 7 on average, 6 more for whoever gets beyond the fourth.
    assert seen["survival"] == pytest.approx([7, 6, 5, 4, 6, 5, 4, 3])


def test_the_conversation_at_hand_is_not_in_its_own_forecast() -> None:
    mine = [layout(range(10, 1_000, 10), name="mine") for _ in range(30)]
    others = [layout(range(10, 110, 10), name=f"other {n}") for n in range(30)]
    curve = arms.survival([*mine, *others], before_data=6)
    seen: list[float | None] = []
    play(situation(mine[0]), lambda view: seen.append(curve(view)))
    assert seen[:2] == [10, 9]
    assert seen[20] == 6


def test_every_arm_keeps_what_it_masked() -> None:
    of = situation(layout([100, 200, 300, 400, 500], [(0, 50), (1, 50), (2, 50)]), 1, tariff(write=2.0))
    for arm in (arms.every_turn, arms.reference_gate, arms.cold_points, arms.ours(arms.exact)):
        masked = play(of, arm).masked
        for one, later in pairwise(masked):
            assert set(bits_of(one)) <= set(bits_of(later))
