"""A calibration follows the reported counts, stays within its bounds, and learns nothing from doubtful figures."""

from __future__ import annotations

from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldpress.measure.calibration import HIGHEST_SCALE, LOWEST_SCALE, Calibration


def taught(counted: list[int], reported: list[int], *, start: Calibration | None = None) -> Calibration:
    """Learn from a conversation that grew by so many counted and reported tokens, behind a head of 30,000."""
    estimates, reports = list(accumulate(counted, initial=0)), list(accumulate(reported, initial=30_000))
    learned = start or Calibration()
    for (e0, e1), (r0, r1) in zip(pairwise(estimates), pairwise(reports), strict=True):
        learned = learned.after_turn(estimated_before=e0, reported_before=r0, estimated_now=e1, reported_now=r1)
    return learned


@pytest.mark.parametrize("ratio", [0.6, 0.9, 1.0, 1.4, 2.5])
def test_the_scale_comes_near_a_constant_ratio(ratio: float) -> None:
    counted = [1000] * 120
    assert taught(counted, [round(1000 * ratio)] * 120).scale == pytest.approx(ratio, rel=0.05)


def test_the_head_and_all_that_stayed_cancel_out() -> None:
    # Whole prompts compared would give (30,000 + 1,000) / 1,000.
    assert taught([1000], [1000]).scale == 1.0


@pytest.mark.parametrize(
    "ratios",
    [
        pytest.param([1.2] * 40 + [9.0], id="a turn with an image"),
        pytest.param([1.2] * 20 + [30.0] + [1.2] * 20, id="a long reminder that nobody recorded"),
        pytest.param([1.2] * 20 + [0.2] + [1.2] * 20, id="reasoning that was not billed"),
    ],
)
def test_one_odd_turn_does_not_spoil_the_scale(ratios: list[float]) -> None:
    assert taught([1000] * len(ratios), [round(1000 * r) for r in ratios]).scale == pytest.approx(1.2, rel=0.05)


def test_one_huge_turn_counts_no_more_than_a_large_one() -> None:
    assert taught([400_000], [600_000]) == taught([4_000], [6_000])


@pytest.mark.parametrize(
    ("before", "now"),
    [
        pytest.param((None, 30_000), (1000, 31_000), id="the earlier count is unknown"),
        pytest.param((0, None), (1000, 31_000), id="the earlier report is unknown"),
        pytest.param((0, 30_000), (None, 31_000), id="the later count is unknown"),
        pytest.param((0, 30_000), (1000, None), id="the later report is unknown"),
        pytest.param((0, 30_000), (99, 31_000), id="too little was added to say anything"),
        pytest.param((0, 30_000), (1000, 30_099), id="too little was reported"),
        pytest.param((5000, 30_000), (1000, 31_000), id="the conversation was cut"),
        pytest.param((0, 30_000), (1000, 9_000), id="the prompt became shorter"),
        pytest.param((-5, 30_000), (1000, 31_000), id="a negative count"),
        pytest.param((0, -30_000), (1000, 31_000), id="a negative report"),
    ],
)
def test_nothing_is_learned_from(before: tuple[int | None, int | None], now: tuple[int | None, int | None]) -> None:
    known = Calibration(1.3, 9_000)
    learned = known.after_turn(
        estimated_before=before[0], reported_before=before[1], estimated_now=now[0], reported_now=now[1]
    )
    assert learned == known


@pytest.mark.parametrize(("estimated", "reported"), [(None, 5_000), (5_000, None), (5_000, 0), (0, 5_000), (5_000, -1)])
def test_a_lone_request_with_an_unknown_figure_teaches_nothing(estimated: int | None, reported: int | None) -> None:
    assert Calibration().after(estimated=estimated, reported=reported) == Calibration()


def test_a_lone_request_teaches_by_its_whole_prompt() -> None:
    assert Calibration().after(estimated=4_000, reported=5_000).scale == pytest.approx(1.125)


numbers = st.one_of(st.none(), st.integers(-(10**12), 10**12))


@given(st.lists(st.tuples(numbers, numbers, numbers, numbers), max_size=30))
def test_whatever_is_reported_the_scale_stays_within_its_bounds(
    turns: list[tuple[int | None, int | None, int | None, int | None]],
) -> None:
    learned = Calibration()
    for e0, r0, e1, r1 in turns:
        learned = learned.after_turn(estimated_before=e0, reported_before=r0, estimated_now=e1, reported_now=r1)
    assert LOWEST_SCALE <= learned.scale <= HIGHEST_SCALE
    assert 0 <= learned.evidence_tokens <= 40_000


@pytest.mark.parametrize(("ratio", "bound"), [(0.1, LOWEST_SCALE), (20.0, HIGHEST_SCALE)])
def test_a_ratio_beyond_the_bounds_ends_at_them(ratio: float, bound: float) -> None:
    assert taught([4000] * 300, [round(4000 * ratio)] * 300).scale == pytest.approx(bound)


def test_a_scale_follows_a_change_of_the_model() -> None:
    before = taught([1000] * 200, [1100] * 200)
    assert taught([1000] * 200, [1800] * 200, start=before).scale == pytest.approx(1.8, rel=0.05)


def test_a_prompt_is_predicted_from_the_last_report_and_the_growth() -> None:
    known = Calibration(1.5, 10_000)
    assert known.predicted(estimated_before=10_000, reported_before=45_000, estimated_now=12_000) == 48_000
    assert known.predicted(estimated_before=10_000, reported_before=5_000, estimated_now=2_000) == 0
    assert known.scaled(100) == 150
