"""The survival curve of session lengths keeps its laws, and says nothing where it knows too little."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist, fmean, pstdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldpress.measure.forecast import SessionLength, Spread, Survival

lengths = st.lists(
    st.builds(SessionLength, requests=st.integers(1, 30), ended=st.booleans()), min_size=25, max_size=120
)
enough = lengths.map(lambda found: found + [SessionLength(40, True)] * 20)


def ended(*requests: int) -> list[SessionLength]:
    return [SessionLength(n, True) for n in requests]


def going(*requests: int) -> list[SessionLength]:
    return [SessionLength(n, False) for n in requests]


@pytest.mark.parametrize(
    ("sessions", "so_far", "expected"),
    [
        pytest.param(ended(*[4] * 20), 0, 4.0, id="all alike, at the start"),
        pytest.param(ended(*[4] * 20), 3, 1.0, id="all alike, at the last request"),
        pytest.param(ended(*[4] * 20), 4, None, id="no session came this far"),
        pytest.param(ended(*[2] * 20, *[10] * 5), 2, 8.0, id="short ones say nothing behind their end"),
        pytest.param(ended(*[2] * 20, *[10] * 4), 2, None, id="four sessions at risk are too few"),
        pytest.param(ended(*[4] * 19), 0, None, id="nineteen ended sessions are too few"),
        pytest.param(ended(*[4] * 19) + going(*[4] * 50), 0, None, id="sessions without an end do not make up for it"),
        pytest.param(going(*[9] * 50), 0, None, id="none ended"),
        pytest.param([], 0, None, id="none at all"),
        # Twenty of forty end with 4. The other twenty were seen to make 7 or more, and none is expected to make an 8th.
        pytest.param(ended(*[4] * 20) + going(*[7] * 20), 0, 4 + 0.5 * 3, id="the curve ends at the longest seen"),
        # One that made 4 and may go on is not at risk of ending with 4: it might.
        pytest.param(
            ended(*[4] * 20, *[8] * 20) + going(*[4] * 20), 0, 6.0, id="censored at an end says nothing on it"
        ),
        pytest.param(ended(*[4] * 20, *[8] * 20) + going(*[5] * 20), 0, 4 + 4 * 2 / 3, id="censored behind it does"),
        pytest.param(ended(*[4] * 20, 0), 0, 4.0, id="a session without requests is none"),
    ],
)
def test_remaining(sessions: list[SessionLength], so_far: int, expected: float | None) -> None:
    assert Survival.of(sessions).remaining(so_far) == (None if expected is None else pytest.approx(expected))


@given(st.lists(st.integers(1, 60), min_size=20, max_size=80), st.integers(0, 60))
def test_without_censoring_the_forecast_is_the_mean_of_the_rests(requests: list[int], so_far: int) -> None:
    rests = [n - so_far for n in requests if n > so_far]
    found = Survival.of(ended(*requests)).remaining(so_far)
    assert found == (pytest.approx(fmean(rests)) if len(rests) >= 5 else None)


@given(st.lists(st.integers(1, 60), min_size=20, max_size=80), st.integers(0, 20))
def test_without_censoring_the_interval_is_that_of_a_mean(requests: list[int], so_far: int) -> None:
    rests = [n - so_far for n in requests if n > so_far]
    found = Survival.of(ended(*requests)).interval(so_far, level=0.95)
    if len(rests) < 5:
        assert found is None
        return
    half = NormalDist().inv_cdf(0.975) * pstdev(rests) / sqrt(len(rests))
    assert found is not None
    assert found.low == pytest.approx(max(1.0, fmean(rests) - half))
    assert found.high == pytest.approx(fmean(rests) + half)


@given(enough, st.integers(0, 45))
def test_a_forecast_is_at_least_one_and_at_most_what_the_longest_session_made(
    sessions: list[SessionLength], so_far: int
) -> None:
    curve = Survival.of(sessions)
    found = curve.remaining(so_far)
    assert (found is None) == (so_far >= 40)
    if found is not None:
        assert 1 - 1e-9 <= found <= 40 - so_far + 1e-9
        assert curve.interval(so_far, level=0.9) is not None


@given(enough, st.integers(1, 60), st.integers(0, 39))
def test_one_more_session_without_an_end_never_lowers_the_forecast(
    sessions: list[SessionLength], requests: int, so_far: int
) -> None:
    before = Survival.of(sessions).remaining(so_far)
    behind = Survival.of([*sessions, SessionLength(requests, False)]).remaining(so_far)
    assert before is not None and behind is not None
    assert behind >= before - 1e-9


@given(enough, st.randoms(use_true_random=False))
def test_the_order_of_sessions_plays_no_part(sessions: list[SessionLength], random: object) -> None:
    shuffled = list(sessions)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert Survival.of(shuffled) == Survival.of(sessions)


@pytest.mark.parametrize(
    ("so_far", "share", "expected"),
    [
        pytest.param(0, 0.25, 4, id="a quarter has ended"),
        pytest.param(0, 0.5, 4, id="just half has ended"),
        pytest.param(0, 0.51, 9, id="a little more than half needs the longer ones"),
        pytest.param(4, 0.5, 5, id="behind the short ones"),
        pytest.param(0, 0.9, None, id="so many were not seen to end"),
    ],
)
def test_quantile(so_far: int, share: float, expected: int | None) -> None:
    assert Survival.of(ended(*[4] * 20, *[9] * 10) + going(*[12] * 10)).quantile(so_far, share) == expected


@pytest.mark.parametrize("share", [0.0, 1.0, -0.5])
def test_a_share_outside_its_range_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        Survival.of(ended(*[4] * 20)).quantile(0, share)


def test_sessions_all_alike_leave_no_doubt() -> None:
    assert Survival.of(ended(*[4] * 30)).interval(0, level=0.95) == Spread(4.0, 4.0, 0.95)
