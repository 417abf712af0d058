"""Prices: whole bills from buckets, what is unknown stays unknown, and the list agrees with published rows."""

from __future__ import annotations

from dataclasses import astuple
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldpress.measure.prices import Rates, Unpriced, cost_usd, rates_for
from coldpress.model.usage import Usage

RATES = Rates(3.0, 0.3, 3.75, 6.0, 15.0, source="test", as_of="2026-01-01")
NO_LONG = Rates(3.0, 0.3, 3.0, None, 15.0, source="test", as_of="2026-01-01")
DAY = date(2026, 11, 30)


@pytest.mark.parametrize(
    ("usage", "expected_usd"),
    [
        pytest.param(Usage(fresh=1_000_000, output=0), 3.0, id="fresh tokens at the input price"),
        pytest.param(Usage(fresh=0, read=1_000_000, output=0), 0.3, id="reads at the read price"),
        pytest.param(Usage(fresh=0, write_short=1_000_000, output=0), 3.75, id="short writes at the write price"),
        pytest.param(Usage(fresh=0, write_long=1_000_000, output=0), 6.0, id="long writes at their own price"),
        pytest.param(Usage(fresh=0, output=1_000_000, reasoning=900_000), 15.0, id="reasoning is inside output"),
        pytest.param(
            Usage(fresh=10, read=20, write_short=30, write_long=40, output=50), 1138.5e-6, id="all buckets add up"
        ),
    ],
)
def test_cost(usage: Usage, expected_usd: float) -> None:
    assert cost_usd(usage, RATES) == pytest.approx(expected_usd)


@pytest.mark.parametrize(
    ("usage", "rates", "missing"),
    [
        pytest.param(Usage(output=5), RATES, ("usage.fresh",), id="a prompt that was not reported"),
        pytest.param(Usage(fresh=5), RATES, ("usage.output",), id="an output that was not reported"),
        pytest.param(Usage(), RATES, ("usage.fresh", "usage.output"), id="no usage at all"),
        pytest.param(
            Usage(fresh=1, write_long=1, output=1),
            NO_LONG,
            ("rates.cache_write_long_usd_per_mtok",),
            id="long writes at an unknown price",
        ),
        pytest.param(Usage(fresh=1, output=1), Unpriced(("rates for model x",)), ("rates for model x",), id="no rates"),
    ],
)
def test_what_is_unknown_is_named(usage: Usage, rates: Rates | Unpriced, missing: tuple[str, ...]) -> None:
    assert cost_usd(usage, rates) == Unpriced(missing)


def test_an_unknown_long_write_price_does_not_matter_where_nothing_was_written_long() -> None:
    assert cost_usd(Usage(fresh=1_000_000, write_long=0, output=0), NO_LONG) == pytest.approx(3.0)


@given(st.lists(st.integers(0, 10**7), min_size=5, max_size=5), st.integers(0, 4), st.integers(1, 10**6))
def test_more_tokens_never_cost_less(buckets: list[int], place: int, more: int) -> None:
    grown = [*buckets]
    grown[place] += more
    before, after = cost_usd(Usage(*buckets), RATES), cost_usd(Usage(*grown), RATES)
    assert isinstance(before, float)
    assert isinstance(after, float)
    assert after > before


@pytest.mark.parametrize(
    ("model", "provider", "on", "prices"),
    [
        pytest.param("claude-opus-5-5", "anthropic", DAY, (4, 0.2, 5, 8, 20), id="Claude, with both writes"),
        pytest.param("claude-opus-5-5", None, DAY, (4, 0.2, 5, 8, 20), id="without a provider, by name"),
        pytest.param("claude-opus-5-5", "my-gateway", DAY, (4, 0.2, 5, 8, 20), id="with a provider the list lacks"),
        pytest.param("gpt-5.3-codex", "openai", DAY, (1.75, 0.175, 1.75, None, 14), id="no write fee: input price"),
        pytest.param("deepseek-v4-pro", "deepseek", DAY, (0.66, 0.022, 0.66, None, 1.98), id="DeepSeek today"),
        pytest.param(
            "deepseek-v4-pro",
            "deepseek",
            date(2026, 7, 21),
            (0.435, 0.003625, 0.435, None, 0.87),
            id="DeepSeek in July",
        ),
    ],
)
def test_listed_rates(model: str, provider: str | None, on: date, prices: tuple[float | None, ...]) -> None:
    rates = rates_for(model, provider=provider, on=on, overrides={})
    assert isinstance(rates, Rates)
    assert astuple(rates)[:5] == prices
    assert rates.as_of == on.isoformat()
    assert rates.source.startswith("genai-prices ")


def test_a_price_cliff_reprices_the_whole_request() -> None:
    rates = rates_for("claude-haiku-5-5", provider="anthropic", on=DAY, overrides={}, prompt_tokens=100_001)
    below = rates_for("claude-haiku-5-5", provider="anthropic", on=DAY, overrides={}, prompt_tokens=100_000)
    assert isinstance(rates, Rates)
    assert isinstance(below, Rates)
    assert astuple(rates)[:5] == (0.5, 0.05, 0.625, 1.0, 2.5)
    assert astuple(below)[:5] == (0.1, 0.01, 0.125, 0.2, 0.5)


def test_overrides_win_over_the_list() -> None:
    assert rates_for("claude-opus-5-5", provider="anthropic", on=DAY, overrides={"claude-opus-5-5": RATES}) is RATES


@pytest.mark.parametrize(
    ("model", "missing"),
    [
        pytest.param("no-such-model", "rates for model no-such-model", id="a model nobody lists"),
        pytest.param("gpt-4", "cache_read rate for model gpt-4", id="a model without a read price"),
    ],
)
def test_unlisted_is_unpriced(model: str, missing: str) -> None:
    assert rates_for(model, provider=None, on=DAY, overrides={}) == Unpriced((missing,))
