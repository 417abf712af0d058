"""Prices in a settings file: the reference names, cliffs, dates, a named table, and what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import get_args

import pytest

from coldpress.config.load import load
from coldpress.config.settings import Settings
from coldpress.measure.price_tables import PRICE_TABLES, PriceTableName
from coldpress.measure.rates import Rates
from coldpress.model.errors import ConfigError

PRICED = (
    '[providers.openai.pricing."m"]\ninput_usd_per_mtok = 2\noutput_usd_per_mtok = 8\ncache_read_usd_per_mtok = 0.2\n'
)
TIER = "[[providers.openai.pricing.m.tiers]]\n"


def read(folder: Path, text: str, name: str = "coldpress.toml") -> Settings:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return load(path, environ={}, directory=folder)


def tiers(settings: Settings) -> tuple[tuple[int, Rates], ...]:
    provider = settings.provider("openai")
    assert provider is not None
    return provider.prices["m"].tiers


def rates(fresh: float, read: float, write: float, long: float | None, out: float) -> Rates:
    return Rates(fresh, read, write, long, out, "settings", "undated")


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        pytest.param("", rates(2, 0.2, 2, None, 8), id="writing costs the input price where nothing is said"),
        pytest.param(
            "cache_write_usd_per_mtok = 0\n", rates(2, 0.2, 0, None, 8), id="writing for nothing is not unsaid"
        ),
        pytest.param(
            "cache_write_usd_per_mtok = 2.5\ncache_write_long_usd_per_mtok = 5\n",
            rates(2, 0.2, 2.5, 5, 8),
            id="both writes",
        ),
    ],
)
def test_the_five_prices(tmp_path: Path, more: str, expected: Rates) -> None:
    assert tiers(read(tmp_path, PRICED + more)) == ((0, expected),)


def test_the_names_are_the_same_in_json(tmp_path: Path) -> None:
    prices = {
        "input_usd_per_mtok": 2,
        "output_usd_per_mtok": 8,
        "cache_read_usd_per_mtok": 0.2,
        "cache_write_usd_per_mtok": 2.5,
        "tiers": [{"above_tokens": 1000, "output_usd_per_mtok": 12}],
    }
    text = json.dumps({"providers": {"openai": {"pricing": {"m": prices}}}})
    assert tiers(read(tmp_path, text, "coldpress.json")) == (
        (0, rates(2, 0.2, 2.5, None, 8)),
        (1000, rates(2, 0.2, 2.5, None, 12)),
    )


class TestCliffs:
    def test_what_a_row_does_not_say_stays_as_in_the_row_before(self, tmp_path: Path) -> None:
        text = (
            PRICED
            + "cache_write_usd_per_mtok = 2.5\n"
            + f"{TIER}above_tokens = 1000\ninput_usd_per_mtok = 4\n"
            + f"{TIER}above_tokens = 2000\ncache_read_usd_per_mtok = 0.4\ncache_write_long_usd_per_mtok = 9\n"
        )
        assert tiers(read(tmp_path, text)) == (
            (0, rates(2, 0.2, 2.5, None, 8)),
            (1000, rates(4, 0.2, 2.5, None, 8)),
            (2000, rates(4, 0.4, 2.5, 9, 8)),
        )

    def test_a_write_without_a_price_of_its_own_follows_the_input(self, tmp_path: Path) -> None:
        text = f"{PRICED}{TIER}above_tokens = 1000\ninput_usd_per_mtok = 4\n"
        assert tiers(read(tmp_path, text))[1] == (1000, rates(4, 0.2, 4, None, 8))

    @pytest.mark.parametrize(
        ("rows", "told"),
        [
            pytest.param((2000, 1000), "tiers[1].above_tokens is 1000, not more than 2000", id="falling"),
            pytest.param((1000, 1000), "tiers[1].above_tokens is 1000, not more than 1000", id="twice the same"),
            pytest.param((0,), "tiers[0].above_tokens is 0", id="zero is the row above"),
        ],
    )
    def test_rows_out_of_order_are_refused(self, tmp_path: Path, rows: tuple[int, ...], told: str) -> None:
        with pytest.raises(ConfigError) as raised:
            read(tmp_path, PRICED + "".join(f"{TIER}above_tokens = {row}\n" for row in rows))
        assert told in str(raised.value)


@pytest.mark.parametrize("day", ["yesterday", "2026-13-01", "30.11.2026"])
def test_a_date_that_is_none_is_refused(tmp_path: Path, day: str) -> None:
    with pytest.raises(ConfigError, match=r'pricing\."m"\.as_of is ".*"; it must be a day'):
        read(tmp_path, f'{PRICED}as_of = "{day}"\n')


def test_a_price_below_zero_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cache_write_usd_per_mtok is -1; it must be a number.*0 or more"):
        read(tmp_path, PRICED + "cache_write_usd_per_mtok = -1\n")


class TestTables:
    def test_the_words_of_the_settings_are_the_tables_there_are(self) -> None:
        assert get_args(PriceTableName) == tuple(table.name for table in PRICE_TABLES)

    def test_a_table_is_chosen_by_name(self, tmp_path: Path) -> None:
        assert read(tmp_path, 'prices = "reference-2026-07"').prices == "reference-2026-07"
        assert read(tmp_path, "").prices is None

    def test_another_name_is_refused_with_the_nearest(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match=r'prices is "reference-2026-08".*did you mean reference-2026-07\?'):
            read(tmp_path, 'prices = "reference-2026-08"')

    def test_every_row_says_its_table_and_day(self) -> None:
        for table in PRICE_TABLES:
            for prices in table.rows:
                assert prices.label == f"table {table.name} for {table.as_of}"


def test_the_settings_of_the_how_to_load(tmp_path: Path) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "howto" / "prices.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    provider = read(tmp_path, block).provider("openai")
    assert provider is not None
    short, long = (rates for _, rates in provider.prices["gpt-6-sol"].tiers)
    assert (short.write_usd_per_mtok(long=True), long.write_usd_per_mtok(long=True)) == (5.0, 10.0)
