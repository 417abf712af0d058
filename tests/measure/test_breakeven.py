"""One cut over its turns: when it has paid, also below a cliff, and what its bill says at that turn."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldpress.measure.breakeven import Course, Row, course, row
from coldpress.measure.economics import Prompt, Removal, breakeven_turns, net_usd
from coldpress.measure.rates import Prices, Rates, Unpriced


def rates(read: float, write: float, *, fresh: float | None = None, long: float | None = None) -> Rates:
    return Rates(write if fresh is None else fresh, read, write, long, 10.0, "test", "2026-11-30")


def flat(read: float, write: float, *, long: float | None = None) -> Prices:
    return Prices("m", ((0, rates(read, write, long=long)),))


SOL = Prices("gpt-6.1-sol", ((0, rates(0.1, 2.5, fresh=2.0)), (272_000, rates(0.2, 5.0, fresh=4.0))))
GROK = Prices("grok-4.7", ((0, rates(0.5, 2.0)), (200_000, rates(1.0, 4.0))))
GEMINI = Prices("gemini-3.1-pro", ((0, rates(0.2, 2.0)), (200_000, rates(0.4, 4.0))))
HAIKU = Prices("claude-haiku-5-5", ((0, rates(0.01, 0.125)), (100_000, rates(0.05, 0.625))))


def priced(prices: Prices, rewrite: int, removed: int, **more: float) -> Course:
    found = course(prices, rewrite_tokens=rewrite, removed_tokens=removed, **more)  # type: ignore[arg-type]
    assert isinstance(found, Course)
    return found


@pytest.mark.parametrize(
    ("prices", "prompt_tokens", "turns"),
    [
        pytest.param(SOL, 280_000, 5, id="GPT from 280k to 260k"),
        pytest.param(GROK, 210_000, 1, id="Grok from 210k to 190k"),
        pytest.param(GEMINI, 210_000, 2, id="Gemini from 210k to 190k"),
        pytest.param(HAIKU, 110_000, 2, id="Haiku from 110k to 90k"),
        pytest.param(SOL, 300_000, 61, id="GPT that stays above the cliff"),
        pytest.param(SOL, 272_000, 61, id="GPT that was below the cliff"),
    ],
)
def test_falling_below_a_cliff_pays_soon(prices: Prices, prompt_tokens: int, turns: int) -> None:
    assert priced(prices, 50_000, 20_000, prompt_tokens=prompt_tokens).turns == turns


@pytest.mark.parametrize(
    ("prices", "rewrite", "turns"),
    [
        pytest.param(flat(0.0, 1.0), 1000, None, id="free reads: never"),
        pytest.param(flat(0.0, 0.0), 1000, None, id="all free: never, since nothing is saved"),
        pytest.param(flat(1.0, 1.0), 1000, 1, id="no cache: at once"),
        pytest.param(flat(2.0, 1.0), 1000, 1, id="writing cheaper than reading: at once"),
        pytest.param(flat(0.1, 1.0), 0, 1, id="nothing to rewrite: at once"),
        pytest.param(flat(1.0, 11.0), 1000, 11, id="a tie after ten turns has not paid"),
    ],
)
def test_edges(prices: Prices, rewrite: int, turns: int | None) -> None:
    assert priced(prices, rewrite, 1000).turns == turns


def test_long_writes_cost_more_turns_or_are_unpriced() -> None:
    assert priced(flat(0.1, 1.25, long=2.0), 1000, 1000, long=True).turns == 20
    found = course(flat(0.1, 1.25), rewrite_tokens=1, removed_tokens=1, long=True)
    assert isinstance(found, Unpriced)


def test_a_prompt_shorter_than_its_parts_is_refused() -> None:
    with pytest.raises(ValueError, match="a prompt of 99 tokens is shorter"):
        course(SOL, rewrite_tokens=50, removed_tokens=50, prompt_tokens=99)


@given(
    read=st.floats(0.01, 5),
    write=st.floats(0.01, 20),
    rewrite=st.integers(0, 300_000),
    removed=st.integers(100, 300_000),
    before=st.integers(0, 300_000),
    summariser_usd=st.floats(0, 1),
    cliff=st.integers(1, 900_000),
    times=st.floats(1, 5),
)
def test_the_turn_named_is_the_first_whose_bill_is_smaller(
    *,
    read: float,
    write: float,
    rewrite: int,
    removed: int,
    before: int,
    summariser_usd: float,
    cliff: int,
    times: float,
) -> None:
    """The bills are added up here request by request, without the formula."""
    prices = Prices("m", ((0, rates(read, write)), (cliff, rates(read * times, write * times))))
    whole = before + rewrite + removed
    found = priced(prices, rewrite, removed, prompt_tokens=whole, summariser_usd=summariser_usd)
    assert found.turns is not None
    high, low = prices.at(whole), prices.at(whole - removed)
    first = before * low.cache_read_usd_per_mtok + rewrite * max(low.cache_read_usd_per_mtok, low.input_usd_per_mtok)

    def saved(turns: int) -> float:
        kept = turns * whole * high.cache_read_usd_per_mtok / 1e6
        cut = (first + (turns - 1) * (whole - removed) * low.cache_read_usd_per_mtok) / 1e6 + summariser_usd
        return kept - cut

    rounding = 1e-9 * (
        saved(2 * found.turns) + found.once_usd + found.turns * whole * high.cache_read_usd_per_mtok / 1e6
    )
    assert saved(found.turns) > -rounding
    assert found.turns == 1 or saved(found.turns - 1) <= rounding
    assert found.net_usd(found.turns) == pytest.approx(saved(found.turns), abs=max(rounding, 1e-9))


@given(
    read=st.integers(0, 500).map(lambda cents: cents / 1000),
    write=st.integers(0, 2000).map(lambda cents: cents / 100),
    rewrite=st.integers(0, 300_000),
    removed=st.integers(1, 300_000),
)
def test_without_a_cliff_it_is_the_arithmetic_of_the_gate(
    read: float, write: float, rewrite: int, removed: int
) -> None:
    prices = flat(read, write)
    found = priced(prices, rewrite, removed)
    assert found.turns == breakeven_turns(rewrite, removed, prices.at(0))
    whole = Prompt(found.prompt_tokens, found.prompt_tokens)
    for requests in (1, 7):
        net = net_usd(whole, (Removal(0, removed),), prices, requests=requests)
        assert found.net_usd(requests) == pytest.approx(net, abs=1e-9)


def test_the_row_says_nothing_where_reads_are_free() -> None:
    assert row(rates(0.0, 1.0)) == Row(None, 0.0, None, None, None, None)
    assert row(rates(0.0, 0.0)).read_to_input is None
