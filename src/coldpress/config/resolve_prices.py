"""Turn the prices of a settings file into those that bills and decisions use."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from itertools import pairwise

from coldpress.config.price_keys import PriceKeys, TierKeys
from coldpress.measure.rates import Prices, Rates


def build_prices(given: Mapping[str, PriceKeys], at: str, problems: list[str]) -> tuple[Prices, ...]:
    """Resolve the prices of one provider, in the order of the file.

    Args:
        given: the prices by model name.
        at: full key of the provider, for messages.
        problems: gets one sentence for everything that is wrong.
    """
    built: list[Prices] = []
    for model, keys in given.items():
        place = f'{at}.pricing."{model}"'
        before = len(problems)
        _check_day(keys, place, problems)
        _check_order(keys, place, problems)
        if len(problems) == before:
            built.append(_prices(model, keys))
    return tuple(built)


def _check_day(keys: PriceKeys, at: str, problems: list[str]) -> None:
    if keys.as_of is None:
        return
    try:
        date.fromisoformat(keys.as_of)
    except ValueError:
        problems.append(f'{at}.as_of is "{keys.as_of}"; it must be a day as YYYY-MM-DD')


def _check_order(keys: PriceKeys, at: str, problems: list[str]) -> None:
    limits = [tier.above_tokens for tier in keys.tiers]
    for index, (low, high) in enumerate(pairwise(limits), start=1):
        if low >= high:
            problems.append(
                f"{at}.tiers[{index}].above_tokens is {high}, not more than {low} of the row before; "
                "write the rows by rising above_tokens, each once"
            )


def _prices(model: str, keys: PriceKeys) -> Prices:
    rates = _first(keys)
    tiers = [(0, rates)]
    for tier in keys.tiers:
        rates = _next(rates, tier, writes_cost_input=keys.cache_write_usd_per_mtok is None)
        tiers.append((tier.above_tokens, rates))
    return Prices(model, tuple(tiers))


def _first(keys: PriceKeys) -> Rates:
    write = keys.cache_write_usd_per_mtok
    return Rates(
        input_usd_per_mtok=keys.input_usd_per_mtok,
        cache_read_usd_per_mtok=keys.cache_read_usd_per_mtok,
        cache_write_usd_per_mtok=keys.input_usd_per_mtok if write is None else write,
        cache_write_long_usd_per_mtok=keys.cache_write_long_usd_per_mtok,
        output_usd_per_mtok=keys.output_usd_per_mtok,
        source="settings",
        as_of=keys.as_of or "undated",
    )


def _next(before: Rates, tier: TierKeys, *, writes_cost_input: bool) -> Rates:
    fresh = _said(tier.input_usd_per_mtok, before.input_usd_per_mtok)
    long = tier.cache_write_long_usd_per_mtok
    return Rates(
        input_usd_per_mtok=fresh,
        cache_read_usd_per_mtok=_said(tier.cache_read_usd_per_mtok, before.cache_read_usd_per_mtok),
        cache_write_usd_per_mtok=_said(
            tier.cache_write_usd_per_mtok, fresh if writes_cost_input else before.cache_write_usd_per_mtok
        ),
        cache_write_long_usd_per_mtok=before.cache_write_long_usd_per_mtok if long is None else long,
        output_usd_per_mtok=_said(tier.output_usd_per_mtok, before.output_usd_per_mtok),
        source=before.source,
        as_of=before.as_of,
    )


def _said(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else value
