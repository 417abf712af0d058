"""Read the price list that is installed with coldpress, the offline snapshot of the package `genai-prices`.

The list is 1.6 MB of code and takes a quarter of a second to load, so it is imported by the first look-up or by `load`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

from coldpress.measure.price_names import PROVIDER_ALIASES, canonical, fit, without_snapshot
from coldpress.measure.rates import Prices, Rates, Unpriced

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, ModelPrice, Provider

WEEKDAY_HOURS: Final = frozenset({("deepseek", time(1), time(4)), ("deepseek", time(6), time(10))})
"""Hours (UTC) whose price holds from Monday to Friday only, as DeepSeek's price page says; the list cannot say so. Its
public holidays are not known here: on them a request is priced as on a working day."""

_SATURDAY: Final = 5
_LOOKUPS_KEPT: Final = 4096
"""Names come from clients, so the memory of look-ups has a bound."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the list for a model.

    Attributes:
        since: first day (UTC) it holds on; `None` where the list does not say.
        hours: time of day (UTC) it holds at, from the first up to the second; `None` for the whole day.
        weekdays: whether it holds from Monday to Friday only.
        tiers: rates by prompt length, as in `Prices`; empty where `missing` names rates that the list does not have.
    """

    since: date | None
    hours: tuple[time, time] | None
    weekdays: bool
    tiers: tuple[tuple[int, Rates], ...]
    missing: tuple[str, ...] = ()

    def holds(self, at: datetime) -> bool:
        """Whether the row is in force at a moment in UTC, other rows left aside."""
        if self.since is not None and at.date() < self.since:
            return False
        if self.hours is None:
            return True
        if self.weekdays and at.weekday() >= _SATURDAY:
            return False
        start, end = self.hours
        now = at.time()
        return start <= now < end if start <= end else now >= start or now < end


@dataclass(frozen=True, slots=True)
class Listing:
    """A model of the list: `provider` and `model` are the list's own ids; of the rows in force the last counts."""

    provider: str
    model: str
    rows: tuple[Row, ...]
    context_window: int | None = None

    def row(self, at: datetime) -> Row:
        """The row in force at a moment in UTC."""
        return next((row for row in reversed(self.rows) if row.holds(at)), self.rows[0])

    def prices(self, model: str, at: datetime) -> Prices | Unpriced:
        """Prices in force at a moment in UTC, under the name that was asked for."""
        row = self.row(at)
        if row.missing:
            return Unpriced(tuple(f"{name} rate for model {model}" for name in row.missing))
        return _dated(model, row.tiers, at.date())

    def changes(self) -> tuple[date, ...]:
        """Days on which the list knows a price to begin, in order."""
        return tuple(sorted({row.since for row in self.rows if row.since is not None}))


def load() -> None:
    """Import the list. It is safe to call from any thread, and again."""
    _providers()


def version() -> str:
    """Name the list and its version, as it stands in `Rates.source`."""
    from genai_prices import __version__  # noqa: PLC0415 - see the module's docstring

    return f"genai-prices {__version__}"


def provider_id(provider: str) -> str | None:
    """Give the list's own id of a provider by that or another of its names; `None` where it does not have it."""
    found = _provider(provider)
    return found.id if found else None


def knows(provider: str) -> bool:
    """Whether the list has a provider under this name or one of its other names."""
    return _provider(provider) is not None


@lru_cache(_LOOKUPS_KEPT)
def find(model: str, provider: str | None) -> Listing | None:
    """Find a model; `None` where the list does not have it at this provider, or nowhere where none is known.

    Args:
        model: as clients send it.
        provider: a name of our settings or an id of the list. With `None`, and with a name that neither knows, a known
            prefix of the model's name decides (`deepseek/...`), else the maker of models with such names.
    """
    name = canonical(model)
    for wanted in dict.fromkeys((name, without_snapshot(name))):
        for served_by, short in _places(wanted, provider):
            found = _best(served_by, short)
            if found is not None:
                return _listing(served_by, found)
    return None


def providers() -> tuple[str, ...]:
    """List the ids of the list's providers, in its order."""
    return tuple(_providers())


def models(provider: str) -> tuple[str, ...]:
    """List the ids of a provider's models, in the list's order; empty where the list does not have it."""
    found = _provider(provider)
    return tuple(model.id for model in found.models) if found else ()


def nearest(model: str, provider: str | None) -> tuple[str, ...]:
    """Name up to three models of the list that are written most like one it does not have."""
    found = _provider(provider) if provider else None
    names = {
        known.id.lower(): known.id for served_by in ([found] if found else _makers()) for known in served_by.models
    }
    short = canonical(model).rpartition("/")[2]
    return tuple(names[name] for name in difflib.get_close_matches(short, names, n=3, cutoff=0.6))


def _places(name: str, provider: str | None) -> Iterator[tuple[Provider, str]]:
    """Where to look for a name, in order, each with the name as it is written there."""
    asked = _provider(provider) if provider else None
    prefix, _, rest = name.partition("/")
    prefixed = _provider(prefix) if rest else None
    if asked is not None:
        yield asked, name
        # litellm writes the provider before the name, and OpenRouter's own list the maker.
        if prefixed is asked:
            yield asked, rest
    elif prefixed is not None:
        yield prefixed, rest
    else:
        yield from ((maker, name) for maker in _makers() if maker.model_match and maker.model_match.is_match(name))


def _best(provider: Provider, name: str) -> ModelInfo | None:
    """The model of a provider that fits a name best, else of the providers whose models it serves at their prices."""
    hosts = [provider, *filter(None, map(_provider, provider.fallback_model_providers or ()))]
    for host in hosts:
        own = next((model for model in host.models if model.id.lower() == name), None)
        if own is not None:
            return own
        fits = [(found, model) for model in host.models if (found := fit(model.match, name)) is not None]
        if fits:
            # The first of equals, as the list itself would take it.
            return max(fits, key=lambda pair: pair[0])[1]
    return None


@cache
def _providers() -> dict[str, Provider]:
    from genai_prices import data_snapshot  # noqa: PLC0415 - see the module's docstring

    return {provider.id: provider for provider in data_snapshot.get_snapshot().providers}


def _provider(name: str) -> Provider | None:
    lower = name.strip().lower()
    return _providers().get(PROVIDER_ALIASES.get(lower, lower))


def _makers() -> list[Provider]:
    """Providers that the list knows by the names of their models; the others resell."""
    return [provider for provider in _providers().values() if provider.model_match is not None]


def _listing(provider: Provider, model: ModelInfo) -> Listing:
    from genai_prices.types import ModelPrice, StartDateConstraint, TimeOfDateConstraint  # noqa: PLC0415

    if isinstance(model.prices, ModelPrice):
        return Listing(provider.id, model.id, (_row(model.prices, None, None, weekdays=False),), model.context_window)
    rows: list[Row] = []
    since: date | None = None
    for listed in model.prices:
        hours: tuple[time, time] | None = None
        match listed.constraint:
            case StartDateConstraint(start_date=day):
                since = day
            case TimeOfDateConstraint(start_time=start, end_time=end):
                # A row by the hour stands behind the day that brought it in: it says nothing of the days before.
                hours = (_utc(start), _utc(end))
            case None:
                since = None
        weekdays = hours is not None and (provider.id, *hours) in WEEKDAY_HOURS
        rows.append(_row(listed.prices, since, hours, weekdays=weekdays))
    return Listing(provider.id, model.id, tuple(rows), model.context_window)


def _row(listed: ModelPrice, since: date | None, hours: tuple[time, time] | None, *, weekdays: bool) -> Row:
    """Turn a row of the list into ours, with what it lacks named."""
    needed = (("input", "input_mtok"), ("cache_read", "cache_read_mtok"), ("output", "output_mtok"))
    missing = tuple(word for word, field in needed if _usd(listed, field, 0) is None)
    if missing:
        return Row(since, hours, weekdays, (), missing)
    source = version() + (f" ({hours[0]:%H:%M} to {hours[1]:%H:%M} UTC)" if hours else "")
    starts = {0, *(tier.start for value in vars(listed).values() for tier in getattr(value, "tiers", ()))}
    tiers = tuple((start, _rates(listed, start, source)) for start in sorted(starts))
    return Row(since, hours, weekdays, tiers)


def _rates(listed: ModelPrice, above_tokens: int, source: str) -> Rates:
    fresh = _known(listed, "input_mtok", above_tokens)
    write = _usd(listed, "cache_write_mtok", above_tokens)
    return Rates(
        input_usd_per_mtok=fresh,
        cache_read_usd_per_mtok=_known(listed, "cache_read_mtok", above_tokens),
        # No price for writes means that the provider bills them as plain input.
        cache_write_usd_per_mtok=fresh if write is None else write,
        cache_write_long_usd_per_mtok=_usd(listed, "cache_write_1h_mtok", above_tokens),
        output_usd_per_mtok=_known(listed, "output_mtok", above_tokens),
        source=source,
        as_of="undated",
    )


def _usd(listed: ModelPrice, field: str, above_tokens: int) -> float | None:
    """Read one price, for prompts of more tokens than a limit."""
    value = getattr(listed, field, None)
    price = getattr(value, "base", value)
    for tier in getattr(value, "tiers", ()):
        if tier.start <= above_tokens:
            price = tier.price
    return None if price is None else float(price)


def _known(listed: ModelPrice, field: str, above_tokens: int) -> float:
    price = _usd(listed, field, above_tokens)
    if price is None:
        raise LookupError(field)
    return price


@lru_cache(_LOOKUPS_KEPT)
def _dated(model: str, tiers: tuple[tuple[int, Rates], ...], day: date) -> Prices:
    return Prices(model, tuple((above, replace(rates, as_of=day.isoformat())) for above, rates in tiers))


def _utc(value: time) -> time:
    """A time of day as UTC, without a zone; the list writes its times in UTC or says nothing."""
    if value.tzinfo is None:
        return value
    return datetime.combine(date(1970, 1, 1), value).astimezone(UTC).time()
