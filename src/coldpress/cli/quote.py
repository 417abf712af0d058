"""Look a model's prices up for a person: from the settings, a table or the list, with what was likely meant."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

import click

from coldpress.config.read import nearest
from coldpress.config.settings import Settings
from coldpress.measure import price_list
from coldpress.measure.price_list import Listing
from coldpress.measure.price_tables import PRICE_TABLES, price_table
from coldpress.measure.prices import Prices, Unpriced, prices_for
from coldpress.model.errors import ColdpressError

Origin = Literal["settings", "table", "list"]


@dataclass(frozen=True, slots=True)
class Quote:
    """Prices in force at a moment, and where they come from.

    Attributes:
        provider: who is priced: a name of the settings or an id of the list; `None` for a table.
        prices: what holds.
        origin: where that comes from.
        listing: the model in the built-in list, `None` where that does not have it.
        since: ISO date since when the prices hold, `None` where it is not known.
        until: ISO date of the next change, `None` where none is known.
        replaced: prices that those of the settings take the place of, `None` where there are none.
    """

    provider: str | None
    prices: Prices
    origin: Origin
    listing: Listing | None
    since: str | None
    until: str | None
    replaced: Prices | None = None


def table_option_names() -> list[str]:
    """List the names that `--prices` takes."""
    return [table.name for table in PRICE_TABLES]


def read_moment(context: click.Context, parameter: click.Parameter, value: str | None) -> datetime:
    """Read `--at`; a moment without a zone is UTC, and without one given it is now."""
    if value is None:
        return datetime.now(tz=UTC)
    try:
        at = datetime.fromisoformat(value)
    except ValueError as error:
        raise click.BadParameter(f"{value!r} is no time; write 2026-11-30 or 2026-11-30T02:00+00:00") from error
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def quote(settings: Settings, model: str, *, provider: str | None, table: str | None, at: datetime) -> Quote:
    """Find the prices of a model.

    Args:
        settings: their prices go first, but not before a table that was asked for.
        model: as clients send it.
        provider: a name of the settings or an id of the list; `None` finds it by the model.
        table: a table that was asked for on the command line.
        at: the moment.

    Raises:
        ColdpressError: nothing is known; the message names what was likely meant.
        click.UsageError: the name is empty.
    """
    if not model.strip():
        raise click.UsageError("the name of the model is empty; coldpress prices lists the models that have prices")
    check_provider(settings, provider)
    if table is None:
        ours = _of_settings(settings, model, provider)
        if ours is not None:
            name, prices = ours
            below = prices_for(model, provider=name, at=at, table=settings.prices)
            return Quote(
                name,
                prices,
                "settings",
                price_list.find(model, name),
                since=None if prices.as_of == "undated" else prices.as_of,
                until=None,
                replaced=below if isinstance(below, Prices) else None,
            )
    wanted = table or settings.prices
    found = prices_for(model, provider=provider, at=at, table=wanted)
    if isinstance(found, Unpriced):
        raise ColdpressError(_nothing(model, provider, wanted, found, asked=table))
    if wanted is not None:
        of = price_table(wanted)
        return Quote(None, found, "table", None, of.since, of.until)
    return _of_list(model, provider, found, at)


def check_provider(settings: Settings, provider: str | None) -> None:
    """Refuse a provider that neither the settings nor the list know.

    Raises:
        ColdpressError: it names the nearest.
    """
    if provider is None or settings.provider(provider) or price_list.knows(provider):
        return
    names = [*(known.name for known in settings.providers), *price_list.providers()]
    near = nearest(provider, names)
    hint = f"did you mean {near}?" if near else f"known are {', '.join(sorted(set(names)))}"
    raise ColdpressError(f'no prices are known of a provider "{provider}"; {hint}')


def _of_list(model: str, provider: str | None, found: Prices, at: datetime) -> Quote:
    listing = price_list.find(model, provider)
    if listing is None:
        raise LookupError(model)
    since = listing.row(at).since
    until = next((day for day in listing.changes() if day > at.date()), None)
    return Quote(
        listing.provider,
        found,
        "list",
        listing,
        since=since.isoformat() if since else None,
        until=until.isoformat() if until else None,
    )


def _of_settings(settings: Settings, model: str, provider: str | None) -> tuple[str, Prices] | None:
    """The first provider that prices the model, or the one that was asked for."""
    for known in settings.providers:
        if model in known.prices and provider in (None, known.name):
            return known.name, known.prices[model]
    return None


def own_prices(model: str, asked: str | None, *, key: str | None = None) -> str:
    """Say where prices of one's own go.

    Args:
        model: as clients send it.
        asked: a table that was named on the command line; the settings are not read then.
        key: the one key that is missing, `None` for all.
    """
    first = "" if asked is None else f"The table that --prices names ({asked}) goes before the settings: leave it out. "
    what = "Prices of your own go into the settings" if key is None else f"Set {key} in the settings"
    return f'{first}{what}, under [providers.NAME.pricing."{model}"].'


def _nothing(model: str, provider: str | None, table: str | None, found: Unpriced, *, asked: str | None) -> str:
    said = f"{model} has no price, for want of: {', '.join(found.missing)}."
    own = own_prices(model, asked)
    if table is not None:
        return f"{said} The table has {', '.join(prices.model for prices in price_table(table).rows)}. {own}"
    near = price_list.nearest(model, provider) if price_list.find(model, provider) is None else ()
    return f"{said} {f'Did you mean {_either(near)}? ' if near else ''}{own}"


def _either(names: tuple[str, ...]) -> str:
    return " or ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else names[0]
