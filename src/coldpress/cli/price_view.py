"""Lay out prices for people, and give them as plain values under names that stay."""

from __future__ import annotations

from collections.abc import Sequence

import click

from coldpress.cli.output import print_table, table_lines
from coldpress.cli.quote import Quote
from coldpress.measure.price_list import Row
from coldpress.measure.prices import Rates
from coldpress.measure.rates import PRICE_NAMES, Prices

_RATE_HEADS = ("in", "read", "write", "long write", "out")
_FROM = {"settings": "the settings", "table": "a named table", "list": "the built-in list"}


def say_rate(usd_per_mtok: float | None) -> str:
    """Write a rate without trailing zeros; one that is not known is a dash, not zero.

    >>> say_rate(0.003625), say_rate(10.0), say_rate(None)
    ('0.003625', '10', '-')
    """
    return "-" if usd_per_mtok is None else f"{usd_per_mtok:.8f}".rstrip("0").rstrip(".")


def tier_name(above_tokens: int) -> str:
    """Name a tier by the prompts it holds for."""
    return f"> {above_tokens:,}" if above_tokens else "from 0"


def tier_object(above_tokens: int, rates: Rates) -> dict[str, object]:
    """Give one tier as plain values, under the names of the settings."""
    return {"above_tokens": above_tokens, **{name: getattr(rates, name) for name in PRICE_NAMES}}


def quote_object(found: Quote) -> dict[str, object]:
    """Give a model's prices as plain values."""
    listing = found.listing
    return {
        "model": found.prices.model,
        "provider": found.provider,
        "from": found.origin,
        "source": found.prices.source,
        "as_of": found.prices.as_of,
        "since": found.since,
        "until": found.until,
        "tiers": _tiers(found.prices),
        "replaces": {"source": found.replaced.label, "tiers": _tiers(found.replaced)} if found.replaced else None,
        "listed_as": {"provider": listing.provider, "model": listing.model} if listing else None,
        "rows": [_row_object(row) for row in listing.rows] if listing else [],
    }


def print_quote(found: Quote) -> None:
    """Print what holds, where it is from and since when, and every row of the list."""
    served = f" at {found.provider}" if found.provider else ""
    click.echo(f"{found.prices.model}{served}, from {_FROM[found.origin]}: {found.prices.label}")
    click.echo(f"in force since {found.since or 'a day that is not known'}, {_until(found)}")
    click.echo("")
    _print_tiers(found.prices)
    if found.replaced is not None:
        click.echo(f"\nWithout the settings, {found.replaced.label}:\n")
        _print_tiers(found.replaced)
    if found.listing is not None and len(found.listing.rows) > 1:
        click.echo(f"\nAll rows of the list for {found.listing.model} at {found.listing.provider}; of those that hold,")
        click.echo("the last counts:\n")
        rows = [cells for row in found.listing.rows for cells in _row_cells(row)]
        heads = ("since", "hours (UTC)", "prompt", *_RATE_HEADS)
        for line in table_lines(heads, rows, right=frozenset(range(3, 8))):
            click.echo(line)


def print_list(quotes: Sequence[Quote]) -> None:
    """Print one row a model and tier."""
    rows = [
        (found.provider or "-", found.prices.model, tier_name(above), *_rates(rates), found.prices.label)
        for found in quotes
        for above, rates in found.prices.tiers
    ]
    heads = ("provider", "model", "prompt", *_RATE_HEADS, "prices")
    print_table(heads, rows, right=frozenset(range(3, 8)), spare=("prices", "provider"))


def _tiers(prices: Prices) -> list[dict[str, object]]:
    return [tier_object(above, rates) for above, rates in prices.tiers]


def _until(found: Quote) -> str:
    return f"until {found.until}" if found.until else "with no change known to come"


def _print_tiers(prices: Prices) -> None:
    rows = [(tier_name(above), *_rates(rates)) for above, rates in prices.tiers]
    for line in table_lines(("prompt", *_RATE_HEADS), rows, right=frozenset(range(1, 6))):
        click.echo(line)


def _rates(rates: Rates) -> tuple[str, ...]:
    return (
        say_rate(rates.input_usd_per_mtok),
        say_rate(rates.cache_read_usd_per_mtok),
        say_rate(rates.cache_write_usd_per_mtok),
        say_rate(rates.cache_write_long_usd_per_mtok),
        say_rate(rates.output_usd_per_mtok),
    )


def _hours(row: Row) -> str:
    if row.hours is None:
        return "all day"
    return f"{row.hours[0]:%H:%M}-{row.hours[1]:%H:%M}{' Mon-Fri' if row.weekdays else ''}"


def _row_cells(row: Row) -> list[tuple[str, ...]]:
    since = row.since.isoformat() if row.since else "-"
    if row.missing:
        return [(since, _hours(row), "-", *("-" for _ in _RATE_HEADS))]
    return [(since, _hours(row), tier_name(above), *_rates(rates)) for above, rates in row.tiers]


def _row_object(row: Row) -> dict[str, object]:
    return {
        "since": row.since.isoformat() if row.since else None,
        "hours_utc": [f"{moment:%H:%M}" for moment in row.hours] if row.hours else None,
        "weekdays_only": row.weekdays,
        "tiers": [tier_object(above, rates) for above, rates in row.tiers],
        "missing": list(row.missing),
    }
