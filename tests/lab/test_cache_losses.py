"""A small chance of losing a warm prefix is fitted on some sessions and raises the bill of others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldpress.lab.cache_check import Compared, Session
from coldpress.lab.cache_losses import (
    Bills,
    Losses,
    bill_error_interval,
    expected_bills,
    expected_usd,
    held_out_bills,
    losses,
    rate_interval,
)
from coldpress.model.usage import Usage


def request(*, read: int, foretold: int, usd: tuple[float, float, float] | None = (1.0, 1.0, 11.0)) -> Compared:
    """A request with its reported, simulated and cold bill."""
    reported, simulated, cold = usd or (None, None, None)
    return Compared(
        "s", 0, 0.0, "m", Usage(fresh=10, read=read), Usage(fresh=10, read=foretold), reported, simulated, cold, ()
    )


KEPT = request(read=50_000, foretold=50_000)
LOST = request(read=0, foretold=50_000, usd=(11.0, 1.0, 11.0))
COLD = request(read=0, foretold=0, usd=(11.0, 11.0, 11.0))


def session(*requests: Compared, provider: str = "anthropic") -> Session:
    return Session("s", provider, requests)


def test_only_what_was_warm_can_be_lost() -> None:
    assert losses([session(KEPT, KEPT, LOST, COLD), session(KEPT)]) == Losses(warm=4, lost=1)
    assert losses([session(COLD)]).rate is None


@pytest.mark.parametrize(
    ("one", "usd"),
    [
        pytest.param(KEPT, 3.5, id="a quarter of ten dollars more"),
        pytest.param(COLD, 11.0, id="a cold prefix cannot be lost again"),
        pytest.param(request(read=0, foretold=50_000, usd=None), None, id="unpriced stays unpriced"),
    ],
)
def test_expected_bill_of_a_request(one: Compared, usd: float | None) -> None:
    assert expected_usd(one, 0.25) == usd


def test_a_session_is_judged_by_the_rate_of_the_others() -> None:
    # One of four is lost in the first, none in the second: each gets the rate of the other.
    one, two = session(KEPT, KEPT, KEPT, LOST), session(KEPT, KEPT)
    assert held_out_bills([one, two], folds=2) == (Bills(14.0, 4.0), Bills(2.0, 2 * 3.5))


def test_the_rate_is_that_of_the_same_provider_where_there_is_any() -> None:
    sessions = [session(KEPT), session(KEPT, KEPT), session(LOST, KEPT, provider="google")]
    # The third has nobody of its kind, so the others' rate of none holds.
    assert [bill.expected_usd for bill in held_out_bills(sessions, folds=3)] == [1.0, 2.0, 2.0]


@pytest.mark.parametrize("folds", [1, 3])
def test_a_fold_needs_sessions_to_learn_from(folds: int) -> None:
    with pytest.raises(ValueError, match=f"folds is {folds}; use 2 to 2"):
        held_out_bills([session(KEPT), session(KEPT)], folds=folds)


def test_intervals_draw_whole_sessions() -> None:
    rate = rate_interval([session(KEPT, LOST), session(KEPT, LOST)], seed=166)
    assert rate is not None
    assert (rate.value, rate.low, rate.high, rate.sessions) == (0.5, 0.5, 0.5, 2)
    error = bill_error_interval([Bills(10.0, 9.0), Bills(10.0, 9.0)], seed=166)
    assert error is not None
    assert (error.value, error.low, error.high) == (-0.1, -0.1, -0.1)


PRICED = st.builds(
    lambda read, foretold, simulated, more: request(
        read=read, foretold=foretold, usd=(1.0, simulated, simulated + more)
    ),
    st.integers(0, 9000),
    st.integers(0, 9000),
    st.floats(0, 10),
    st.floats(0, 10),
)


@given(requests=st.lists(PRICED, max_size=6), rate=st.floats(0, 1))
def test_without_losses_the_bill_is_that_of_the_rules_and_with_all_lost_that_of_cold_caches(
    requests: list[Compared], rate: float
) -> None:
    one = session(*requests)
    plain, certain = expected_bills(one, 0.0), expected_bills(one, 1.0)
    assert plain.expected_usd == sum(found.simulated_usd or 0 for found in requests)
    assert certain.expected_usd == pytest.approx(
        sum((found.cold_usd if found.warm else found.simulated_usd) or 0 for found in requests)
    )
    assert plain.expected_usd - 1e-9 <= expected_bills(one, rate).expected_usd <= certain.expected_usd + 1e-9
