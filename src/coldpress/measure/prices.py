"""Find what a model costs at a moment, and turn reported tokens into US dollars; what is not known stays unpriced."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType

from coldpress.measure import price_list
from coldpress.measure.price_tables import price_table
from coldpress.measure.rates import Prices, Rates, Unpriced
from coldpress.model.usage import Usage

__all__ = ["Prices", "Rates", "Unpriced", "cost_usd", "prices_for", "warm"]

_TOKENS_PER_MTOK = 1_000_000
_NO_OVERRIDES: Mapping[str, Prices] = MappingProxyType({})


def prices_for(
    model: str,
    *,
    provider: str | None,
    at: datetime,
    overrides: Mapping[str, Prices] = _NO_OVERRIDES,
    table: str | None = None,
) -> Prices | Unpriced:
    """Look a model's prices up for a moment: the overrides, then the named table, or else the built-in list.

    The list is the offline snapshot of the package `genai-prices`; nothing is fetched. The first look-up loads it,
    which takes a quarter of a second: a server calls `warm` in a thread at its start. Later ones take microseconds.

    Args:
        model: the model's name as requests carry it, a `provider/` before it and a date or `-latest` behind it allowed.
        provider: who serves it, by the name in our settings or by the list's own id; `None`, or one that neither knows,
            finds the provider by the model's name: its prefix, else the maker's own prices.
        at: the moment of the request, with a time zone: some prices change on a day, some by the hour.
        overrides: prices by exact model name; these always win.
        table: name of one of `PRICE_TABLES`. A model that is not in it is unpriced: the list is not looked at.

    Raises:
        ConfigError: there is no such table.
        ValueError: `at` has no time zone.
    """
    if at.tzinfo is None:
        raise ValueError(f"at is {at}, without a time zone; prices by the hour need one")
    if model in overrides:
        return overrides[model]
    if table is not None:
        return price_table(table).find(model) or Unpriced((f"rates for model {model} in table {table}",))
    listing = price_list.find(model, provider)
    if listing is None:
        served = f" at {provider}" if provider and price_list.knows(provider) else ""
        return Unpriced((f"rates for model {model}{served}",))
    return listing.prices(model, at.astimezone(UTC))


def warm() -> None:
    """Load the built-in list, so that no later look-up waits for it. Safe to call from any thread, and twice."""
    price_list.load()


def cost_usd(usage: Usage, prices: Prices | Rates | Unpriced, *, prompt_tokens: int | None = None) -> float | Unpriced:
    """Price one reply in USD, not rounded.

    Every token is priced by the bucket the provider put it in, all at the rates of the prompt's length. A bucket the
    provider does not have (`read` or a write reported as `None` beside a reported prompt) costs nothing: its tokens
    are in `fresh`. A reply whose prompt or output was not reported, or with long-lived writes at an unknown price, is
    `Unpriced`.

    Args:
        usage: of one reply.
        prices: of its model.
        prompt_tokens: the prompt's length, where it is not the sum of the buckets: a reply of several steps is billed
            for the prompt of each, and none of them is as long as all together.

    >>> rates = Rates(3.0, 0.3, 3.75, 6.0, 15.0, "example", "2026-01-01")
    >>> round(cost_usd(Usage(fresh=1000, read=100_000, write_short=2000, output=500), rates), 6)
    0.048
    >>> cost_usd(Usage(), rates)
    Unpriced(missing=('usage.fresh', 'usage.output'))
    """
    if isinstance(prices, Unpriced):
        return prices
    length = usage.prompt if prompt_tokens is None else prompt_tokens
    rates = prices.at(length or 0) if isinstance(prices, Prices) else prices
    missing = []
    if usage.fresh is None:
        missing.append("usage.fresh")
    if usage.output is None:
        missing.append("usage.output")
    if usage.write_long and rates.cache_write_long_usd_per_mtok is None:
        missing.append("rates.cache_write_long_usd_per_mtok")
    if usage.fresh is None or usage.output is None or missing:
        return Unpriced(tuple(missing))
    micro_usd = (
        usage.fresh * rates.input_usd_per_mtok
        + (usage.read or 0) * rates.cache_read_usd_per_mtok
        + (usage.write_short or 0) * rates.cache_write_usd_per_mtok
        + (usage.write_long or 0) * (rates.cache_write_long_usd_per_mtok or 0.0)
        + usage.output * rates.output_usd_per_mtok
    )
    return micro_usd / _TOKENS_PER_MTOK
