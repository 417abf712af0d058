"""Prices: whole bills from buckets, what is unknown stays unknown, cliffs reprice the whole request."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldpress.measure.prices import Prices, Rates, Unpriced, cost_usd, prices_for
from coldpress.model.errors import ConfigError
from coldpress.model.usage import Usage

RATES = Rates(3.0, 0.3, 3.75, 6.0, 15.0, source="test", as_of="2026-01-01")
NO_LONG = Rates(3.0, 0.3, 3.0, None, 15.0, source="test", as_of="2026-01-01")
DOUBLE = Rates(6.0, 0.6, 7.5, 12.0, 22.5, source="test", as_of="2026-01-01")
CLIFF = Prices("m", ((0, RATES), (200_000, DOUBLE)))
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


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
    assert cost_usd(usage, Prices("m", ((0, RATES),))) == cost_usd(usage, RATES)


@pytest.mark.parametrize(
    ("usage", "missing"),
    [
        pytest.param(Usage(output=5), ("usage.fresh",), id="a prompt that was not reported"),
        pytest.param(Usage(fresh=5), ("usage.output",), id="an output that was not reported"),
        pytest.param(Usage(), ("usage.fresh", "usage.output"), id="no usage at all"),
        pytest.param(
            Usage(fresh=1, write_long=1, output=1),
            ("rates.cache_write_long_usd_per_mtok",),
            id="long writes at an unknown price",
        ),
    ],
)
def test_what_is_unknown_is_named(usage: Usage, missing: tuple[str, ...]) -> None:
    assert cost_usd(usage, NO_LONG) == Unpriced(missing)
    assert cost_usd(usage, Prices("m", ((0, NO_LONG),))) == Unpriced(missing)


def test_without_prices_there_is_no_cost() -> None:
    assert cost_usd(Usage(fresh=1, output=1), Unpriced(("rates for model x",))) == Unpriced(("rates for model x",))


def test_an_unknown_long_write_price_does_not_matter_where_nothing_was_written_long() -> None:
    assert cost_usd(Usage(fresh=1_000_000, write_long=0, output=0), NO_LONG) == pytest.approx(3.0)


@given(st.lists(st.integers(0, 10**7), min_size=5, max_size=5), st.integers(0, 4), st.integers(1, 10**6))
def test_more_tokens_never_cost_less(buckets: list[int], place: int, more: int) -> None:
    grown = [*buckets]
    grown[place] += more
    before, after = cost_usd(Usage(*buckets), CLIFF), cost_usd(Usage(*grown), CLIFF)
    assert isinstance(before, float)
    assert isinstance(after, float)
    assert after > before


class TestCliffs:
    @pytest.mark.parametrize(
        ("usage", "expected_usd"),
        [
            pytest.param(Usage(fresh=0, read=200_000, output=1000), 0.06 + 0.015, id="at the limit"),
            pytest.param(Usage(fresh=1, read=200_000, output=1000), 6e-6 + 0.12 + 0.0225, id="one token above it"),
            pytest.param(
                Usage(fresh=0, read=100_000, write_short=50_000, write_long=50_001, output=0),
                0.06 + 0.375 + 50_001 * 12e-6,
                id="reads and writes count into the prompt",
            ),
            pytest.param(Usage(fresh=0, read=0, output=300_000), 4.5, id="output does not count into the prompt"),
        ],
    )
    def test_the_whole_request_is_repriced(self, usage: Usage, expected_usd: float) -> None:
        assert cost_usd(usage, CLIFF) == pytest.approx(expected_usd)

    @pytest.mark.parametrize(
        "tiers",
        [
            pytest.param((), id="no tier"),
            pytest.param(((1, RATES),), id="no tier for short prompts"),
            pytest.param(((0, RATES), (5, RATES), (5, RATES)), id="one limit twice"),
            pytest.param(((0, RATES), (9, RATES), (5, RATES)), id="limits that fall"),
        ],
    )
    def test_tiers_without_order_are_refused(self, tiers: tuple[tuple[int, Rates], ...]) -> None:
        with pytest.raises(ValueError, match="tiers of m"):
            Prices("m", tiers)

    def test_source_and_date_are_those_of_the_rates(self) -> None:
        assert (CLIFF.source, CLIFF.as_of, CLIFF.label) == ("test", "2026-01-01", "test for 2026-01-01")


@pytest.mark.parametrize("usd", [-0.01, nan, inf])
@pytest.mark.parametrize(
    "name", ["input_usd_per_mtok", "cache_read_usd_per_mtok", "cache_write_long_usd_per_mtok", "output_usd_per_mtok"]
)
def test_a_price_below_zero_or_without_end_is_refused(name: str, usd: float) -> None:
    with pytest.raises(ValueError, match=f"{name} is"):
        replace(RATES, **{name: usd})


def test_the_write_price_depends_on_the_lifetime() -> None:
    assert (RATES.write_usd_per_mtok(long=False), RATES.write_usd_per_mtok(long=True)) == (3.75, 6.0)
    assert NO_LONG.write_usd_per_mtok(long=True) is None


class TestTheOrderOfSources:
    OURS = Prices("deepseek-v4-pro", ((0, RATES),))

    def test_overrides_win_over_the_list_and_over_a_table(self) -> None:
        overrides = {"deepseek-v4-pro": self.OURS}
        for table in (None, "reference-2026-07"):
            found = prices_for("deepseek-v4-pro", provider="deepseek", at=NOON, overrides=overrides, table=table)
            assert found is self.OURS

    def test_overrides_hold_for_the_exact_name_only(self) -> None:
        found = prices_for("deepseek-v4-flash", provider="deepseek", at=NOON, overrides={"deepseek-v4": self.OURS})
        assert isinstance(found, Prices)
        assert found.source.startswith("genai-prices ")

    def test_a_table_wins_over_the_list_whatever_the_day(self) -> None:
        found = prices_for("deepseek-v4-pro", provider="deepseek", at=NOON, table="reference-2026-07")
        assert isinstance(found, Prices)
        assert found.at(0) == Rates(0.435, 0.003625, 0.435, None, 0.87, "table reference-2026-07", "2026-07-21")

    def test_the_list_does_not_fill_the_gaps_of_a_table(self) -> None:
        found = prices_for("claude-opus-5-5", provider="anthropic", at=NOON, table="reference-2026-07")
        assert found == Unpriced(("rates for model claude-opus-5-5 in table reference-2026-07",))

    def test_an_unknown_table_is_refused_with_the_nearest(self) -> None:
        with pytest.raises(ConfigError, match="did you mean reference-2026-07"):
            prices_for("deepseek-v4-pro", provider=None, at=NOON, table="reference-2026-7")


@pytest.mark.parametrize(
    ("model", "provider", "missing"),
    [
        pytest.param("no-such-model", None, "rates for model no-such-model", id="a model nobody lists"),
        pytest.param(
            "gpt-6-sol", "groq", "rates for model gpt-6-sol at groq", id="a model this provider does not list"
        ),
        pytest.param("gpt-4", "openai", "cache_read rate for model gpt-4", id="a model without a read price"),
    ],
)
def test_unlisted_is_unpriced(model: str, provider: str | None, missing: str) -> None:
    assert prices_for(model, provider=provider, at=NOON) == Unpriced((missing,))


def test_a_moment_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="without a time zone"):
        prices_for("claude-opus-5-5", provider="anthropic", at=datetime(2026, 11, 30))
