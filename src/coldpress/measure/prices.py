"""Turn reported tokens into US dollars at rates with a date and a source; what is not known stays unpriced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time

from coldpress.model.usage import Usage

_TOKENS_PER_MTOK = 1_000_000


@dataclass(frozen=True, slots=True)
class Rates:
    """Prices of one model, in USD per million tokens.

    `cache_write_usd_per_mtok` is the short-lived write (5 minutes at Anthropic); where a provider charges nothing
    extra for writing, it equals the input price. `cache_write_long_usd_per_mtok` is the long-lived one (1 hour), `None`
    where none is known. `as_of` is the ISO date the rates hold for, `source` names where they come from.
    """

    input_usd_per_mtok: float
    cache_read_usd_per_mtok: float
    cache_write_usd_per_mtok: float
    cache_write_long_usd_per_mtok: float | None
    output_usd_per_mtok: float
    source: str
    as_of: str


@dataclass(frozen=True, slots=True)
class Unpriced:
    """No amount can be given: `missing` names what is not known, in a stable order."""

    missing: tuple[str, ...]


def cost_usd(usage: Usage, rates: Rates | Unpriced) -> float | Unpriced:
    """Price one reply in USD, not rounded.

    Every token is priced by the bucket the provider put it in. A bucket the provider does not have (`read`
    or a write reported as `None` beside a reported prompt) costs nothing: its tokens are in `fresh`. A reply
    whose prompt or output was not reported, or with long-lived writes at an unknown price, is `Unpriced`.

    >>> rates = Rates(3.0, 0.3, 3.75, 6.0, 15.0, "example", "2026-01-01")
    >>> round(cost_usd(Usage(fresh=1000, read=100_000, write_short=2000, output=500), rates), 6)
    0.048
    >>> cost_usd(Usage(), rates)
    Unpriced(missing=('usage.fresh', 'usage.output'))
    """
    if isinstance(rates, Unpriced):
        return rates
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


def rates_for(
    model: str,
    *,
    provider: str | None,
    on: date,
    overrides: Mapping[str, Rates],
    prompt_tokens: int = 0,
) -> Rates | Unpriced:
    """Look a model's rates up for a day: the overrides first, then the price list installed with coldpress.

    The list is the offline snapshot of the package `genai-prices`; nothing is fetched. Where it has prices
    by the hour of the day, the rates are those of noon UTC.

    Args:
        model: the model's name as requests carry it.
        provider: who serves it, by the list's own id (`anthropic`, `openai`, `deepseek`); `None`, or an id the list
            does not know, searches all providers by the model's name.
        on: the day the rates must hold for.
        overrides: rates by exact model name; these always win.
        prompt_tokens: length of the prompt to price. Some models reprice the whole request, output too, above a length.
    """
    if model in overrides:
        return overrides[model]
    # Loading the list takes a quarter of a second: only a caller that asks for it pays.
    from genai_prices import data_snapshot  # noqa: PLC0415

    snapshot = data_snapshot.get_snapshot()
    known = any(candidate.id == provider for candidate in snapshot.providers)
    try:
        _, found = snapshot.find_provider_model(model, None, provider if known else None, None)
    except LookupError:
        return Unpriced((f"rates for model {model}",))
    listed = found.get_prices(datetime.combine(on, time(12), tzinfo=UTC))
    return _from_list(model, listed, on, prompt_tokens)


def _from_list(model: str, listed: object, on: date, prompt_tokens: int) -> Rates | Unpriced:
    """Fill our own type from a row of the list, with the row's gaps named."""
    # `noqa` below: read late for the same reason as the list itself.
    from genai_prices import __version__  # noqa: PLC0415

    price_in = _usd(listed, "input_mtok", prompt_tokens)
    price_out = _usd(listed, "output_mtok", prompt_tokens)
    read = _usd(listed, "cache_read_mtok", prompt_tokens)
    if price_in is None or price_out is None or read is None:
        named = (("input", price_in), ("cache_read", read), ("output", price_out))
        return Unpriced(tuple(f"{name} rate for model {model}" for name, value in named if value is None))
    write = _usd(listed, "cache_write_mtok", prompt_tokens)
    return Rates(
        input_usd_per_mtok=price_in,
        cache_read_usd_per_mtok=read,
        # No row for writes means that the provider bills them as plain input.
        cache_write_usd_per_mtok=price_in if write is None else write,
        cache_write_long_usd_per_mtok=_usd(listed, "cache_write_1h_mtok", prompt_tokens),
        output_usd_per_mtok=price_out,
        source=f"genai-prices {__version__}",
        as_of=on.isoformat(),
    )


def _usd(listed: object, field: str, prompt_tokens: int) -> float | None:
    """Read one price of a row, at the tier a prompt of this length falls into."""
    value = getattr(listed, field, None)
    for tier in sorted(getattr(value, "tiers", ()), key=lambda tier: int(tier.start), reverse=True):
        if prompt_tokens > tier.start:
            return float(tier.price)
    value = getattr(value, "base", value)
    return None if value is None else float(value)
