"""Paired differences and shares with percentile intervals: against SciPy, against plain loops, and their laws."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from coldpress.lab.paired import Paired, median, paired, ratio_interval
from coldpress.lab.stats import (
    Interval,
    draws,
    mean_intervals,
    median_intervals,
    most_if_none,
    share_at_most,
    share_interval,
    share_intervals,
)
from coldpress.model.errors import FiguresError

SEED = 166
GENERATOR = np.random.default_rng(5)
CONTROL = GENERATOR.lognormal(0.0, 1.0, 37).tolist()
ARM = (np.array(CONTROL) * GENERATOR.uniform(0.6, 1.15, 37)).tolist()
SAVED = [one - other for one, other in zip(CONTROL, ARM, strict=True)]


def naive_quantile(numbers: Sequence[float], share: float) -> float:
    """Between the two nearest of the sorted numbers, in proportion."""
    ordered = sorted(numbers)
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def ends(found: Interval | None) -> tuple[float, float]:
    assert found is not None
    return found.low, found.high


class TestAgainstSciPy:
    """With SciPy's own draws of the same seed the ends are the same; with others they differ by chance alone."""

    def bootstrap(self, statistic: object, seed: int) -> tuple[float, float]:
        found = scipy_stats.bootstrap(
            (CONTROL, ARM), statistic, paired=True, n_resamples=10_000, method="percentile", vectorized=True,
            confidence_level=0.95, rng=np.random.default_rng(seed),
        )  # fmt: skip
        return found.confidence_interval.low, found.confidence_interval.high

    STATISTICS = (
        ("median", lambda one, other, axis=-1: np.median(one - other, axis=axis)),
        ("mean", lambda one, other, axis=-1: np.mean(one - other, axis=axis)),
        ("share", lambda one, other, axis=-1: 1 - np.sum(other, axis=axis) / np.sum(one, axis=axis)),
    )

    def ours(self, name: str) -> tuple[float, float]:
        if name == "share":
            return ends(ratio_interval(SAVED, CONTROL, seed=SEED))
        return ends(getattr(paired(CONTROL, ARM, seed=SEED), name))

    @pytest.mark.parametrize(("name", "statistic"), STATISTICS)
    def test_the_same_seed_gives_the_same_interval(self, name: str, statistic: object) -> None:
        assert self.ours(name) == pytest.approx(self.bootstrap(statistic, SEED), rel=1e-12)

    @pytest.mark.parametrize(("name", "statistic"), STATISTICS)
    def test_another_seed_differs_by_chance_alone(self, name: str, statistic: object) -> None:
        low, high = self.ours(name)
        others = [self.bootstrap(statistic, seed) for seed in (1, 2, 3)]
        for their_low, their_high in others:
            assert abs(low - their_low) < 0.06 * (high - low)
            assert abs(high - their_high) < 0.06 * (high - low)


class TestAgainstLoops:
    """Whole numbers add up exactly in any order, so nothing may differ but the last digit of a quotient."""

    PARTS = (3, 0, 8, 5, 0, 1, 13)
    WHOLES = (10, 40, 9, 5, 0, 21, 30)

    def drawn(self, resamples: int) -> list[list[int]]:
        return np.random.default_rng(SEED).integers(0, 7, size=(resamples, 7)).tolist()

    def test_shares(self) -> None:
        drawn = [(sum(self.PARTS[i] for i in row), sum(self.WHOLES[i] for i in row)) for row in self.drawn(500)]
        shares = [part / whole for part, whole in drawn if whole]
        expected = (naive_quantile(shares, 0.025), naive_quantile(shares, 0.975))
        assert ends(ratio_interval(self.PARTS, self.WHOLES, seed=SEED, resamples=500)) == pytest.approx(
            expected, rel=1e-14
        )

    def test_medians_and_means(self) -> None:
        rows = [[self.PARTS[i] for i in row] for row in self.drawn(500)]
        for found, statistic in (
            (median_intervals([self.PARTS], seed=SEED, resamples=500)[0], statistics.median),
            (mean_intervals([self.PARTS], seed=SEED, resamples=500)[0], statistics.fmean),
        ):
            numbers = [statistic(row) for row in rows]
            assert ends(found) == pytest.approx(
                (naive_quantile(numbers, 0.025), naive_quantile(numbers, 0.975)), rel=1e-14
            )
            assert found is not None and found.value == statistic(self.PARTS)

    def test_draws_without_any_whole_do_not_count(self) -> None:
        found = share_interval([(1, 2), *[(0, 0)] * 9], seed=SEED, resamples=500)
        assert found == Interval(0.5, 0.5, 0.5, 10)

    def test_shares_together_are_those_alone(self) -> None:
        together = share_intervals(
            [(self.PARTS, self.WHOLES), (self.WHOLES, self.PARTS), ((0,) * 7, (0,) * 7)], seed=SEED
        )
        assert together == (
            ratio_interval(self.PARTS, self.WHOLES, seed=SEED),
            ratio_interval(self.WHOLES, self.PARTS, seed=SEED),
            None,
        )

    @pytest.mark.parametrize("chunk_cells", [1, 7, 100, 10**6])
    def test_rows_are_the_same_however_many_are_drawn_at_once(self, chunk_cells: int) -> None:
        found = list(draws(7, seed=SEED, resamples=50, chunk_cells=chunk_cells))
        assert np.concatenate(found).tolist() == self.drawn(50)
        assert max(part.size for part in found) <= max(7, chunk_cells)


PAIRS = st.lists(st.tuples(st.integers(-(10**6), 10**6), st.integers(-(10**6), 10**6)), min_size=1, max_size=12)
few = settings(max_examples=40)


def of(pairs: Sequence[tuple[float | None, float | None]], seed: int = SEED) -> Paired:
    return paired([one for one, _ in pairs], [other for _, other in pairs], seed=seed, resamples=200)


class TestLaws:
    @few
    @given(PAIRS)
    def test_swapping_the_arms_turns_the_signs(self, pairs: list[tuple[int, int]]) -> None:
        here, there = of(pairs), of([(other, one) for one, other in pairs])
        assert (here.cheaper, here.dearer, here.equal) == (there.dearer, there.cheaper, there.equal)
        for one, other in ((here.median, there.median), (here.mean, there.mean)):
            assert one is not None and other is not None
            assert one.value == -other.value
            assert (one.low, one.high) == pytest.approx((-other.high, -other.low), rel=1e-9, abs=1e-6)

    @few
    @given(PAIRS, st.integers(-(10**6), 10**6))
    def test_what_both_cost_more_changes_nothing(self, pairs: list[tuple[int, int]], more: int) -> None:
        assert of(pairs) == of([(one + more, other + more) for one, other in pairs])

    @few
    @given(PAIRS, st.randoms(use_true_random=False))
    def test_the_order_of_recordings_does_not_matter_to_the_figures(self, pairs: list[tuple[int, int]], random) -> None:
        mixed = list(pairs)
        random.shuffle(mixed)
        here, there = of(pairs), of(mixed)
        assert here.median is not None and there.median is not None and here.mean is not None and there.mean is not None
        assert (here.median.value, here.mean.value) == (there.median.value, there.mean.value)
        assert (here.cheaper, here.dearer, here.equal) == (there.cheaper, there.dearer, there.equal)

    @few
    @given(PAIRS)
    def test_an_interval_holds_nothing_beyond_the_data(self, pairs: list[tuple[int, int]]) -> None:
        found, savings = of(pairs), [one - other for one, other in pairs]
        for interval in (found.median, found.mean):
            assert interval is not None and interval.sessions == len(pairs)
            assert interval.low <= interval.high
            assert min(savings) - 1e-6 <= interval.low and interval.high <= max(savings) + 1e-6

    @few
    @given(PAIRS, st.integers(0, 3))
    def test_unknown_pairs_are_dropped_and_counted(self, pairs: list[tuple[int, int]], unknown: int) -> None:
        whole, lacking = of(pairs), of([*pairs, *[(None, 1), (1, None), (None, None)][:unknown]])
        assert (lacking.median, lacking.mean, lacking.pairs) == (whole.median, whole.mean, len(pairs))
        assert (whole.dropped, lacking.dropped) == (0, unknown)

    @few
    @given(PAIRS)
    def test_a_seed_says_all(self, pairs: list[tuple[int, int]]) -> None:
        assert of(pairs) == of(pairs)

    def test_another_seed_says_something_else(self) -> None:
        assert paired(CONTROL, ARM, seed=1) != paired(CONTROL, ARM, seed=2)


def test_pairs_are_counted() -> None:
    found = of([(2.0, 1.0), (2.0, 3.0), (2.0, 2.0), (4.0, 1.0), (None, 1.0)])
    assert (found.cheaper, found.dearer, found.equal, found.pairs, found.dropped) == (2, 1, 1, 4, 1)
    assert found.cheaper_share == 0.5


def test_no_pair_has_no_figures() -> None:
    found = of([(None, 1.0)])
    assert found == Paired(None, None, 0, 0, 0, 1)
    assert found.cheaper_share is None
    assert of([]) == Paired(None, None, 0, 0, 0, 0)
    assert median([None]) is None and median([]) is None
    assert share_interval([], seed=SEED) is None and share_interval([(0, 0)], seed=SEED) is None


def test_one_pair_says_that_it_is_alone() -> None:
    found = of([(3.0, 1.0)])
    assert found.median == Interval(2.0, 2.0, 2.0, 1)
    assert found.median.is_single
    assert not Interval(2.0, 2.0, 2.0, 2).is_single


def test_equal_pairs_have_no_width() -> None:
    found = of([(3.5, 1.5)] * 9)
    assert found.median == found.mean == Interval(2.0, 2.0, 2.0, 9)


@pytest.mark.parametrize("bad", [math.inf, -math.inf, math.nan])
def test_infinite_numbers_are_refused(bad: float) -> None:
    for refused in (
        lambda: paired([1.0, 2.0], [1.0, bad], seed=SEED),
        lambda: paired([bad, 2.0], [1.0, 1.0], seed=SEED),
        lambda: share_interval([(1.0, 2.0), (bad, 3.0)], seed=SEED),
        lambda: ratio_interval([1.0], [bad], seed=SEED),
        lambda: median([1.0, bad]),
    ):
        with pytest.raises(FiguresError, match=r"number \d is (inf|-inf|nan)"):
            refused()


def test_unequal_columns_are_refused() -> None:
    with pytest.raises(FiguresError, match="1 numbers of the control and 2 of the arm"):
        paired([1.0], [1.0, 2.0], seed=SEED)
    with pytest.raises(FiguresError, match="2 parts and 1 wholes"):
        ratio_interval([1.0, 2.0], [1.0], seed=SEED)
    with pytest.raises(FiguresError, match="columns of 1 and of 2 numbers"):
        share_intervals([([1.0], [1.0]), ([1.0, 2.0], [1.0, 2.0])], seed=SEED)


def test_nothing_found_in_few_trials_says_little() -> None:
    assert most_if_none(0) is None
    assert [round(most_if_none(trials) or 0, 3) for trials in (1, 10, 690)] == [0.95, 0.259, 0.004]


@pytest.mark.parametrize(("found", "trials"), [(1, 32), (3, 40), (19, 20), (700, 9_000), (40, 100_000)])
def test_few_hits_leave_as_much_possible_as_scipy_says(found: int, trials: int) -> None:
    known = scipy_stats.beta.ppf(0.95, found + 1, trials - found)
    assert share_at_most(found, trials) == pytest.approx(known, rel=1e-9)


def test_no_hits_and_nothing_but_hits() -> None:
    assert share_at_most(0, 600) == most_if_none(600)
    assert share_at_most(0, 0) is None
    assert share_at_most(7, 7) == 1.0
