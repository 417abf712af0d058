"""`coldpress prices`: show which prices are known, from where, and since when."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import click

from coldpress.cli.options import config_option, json_option, load_for_reading
from coldpress.cli.output import print_json, talk
from coldpress.cli.price_overview import overview
from coldpress.cli.price_view import print_list, print_quote, quote_object
from coldpress.cli.quote import quote, read_moment, table_option_names


@click.command("prices")
@click.argument("model", required=False)
@click.option("--provider", help="Who serves it: a provider of the settings or of the price list. Else by the model.")
@click.option(
    "--prices",
    "table",
    type=click.Choice(table_option_names()),
    help="A named price table, instead of the settings and the built-in list.",
)
@click.option(
    "--at", callback=read_moment, metavar="TIME", help="The moment to price, UTC where it names no zone. Else now."
)
@click.option("--all", "every", is_flag=True, help="Without MODEL: every model of the built-in list that has prices.")
@config_option
@json_option
def command(
    *,
    model: str | None,
    provider: str | None,
    table: str | None,
    at: datetime,
    every: bool,
    config_path: Path | None,
    as_json: bool,
) -> None:
    """Show which prices are known, from where, and since when.

    MODEL is a name as clients send it: its prices by prompt length, day and hour. Without it: the models of the
    settings, of the named tables, and the newest of each family at the built-in providers.
    """
    settings = load_for_reading(config_path)
    if model is not None:
        found = quote(settings, model, provider=provider, table=table, at=at)
        if as_json:
            print_json(quote_object(found))
        else:
            print_quote(found)
            talk("USD per million tokens. A dash is a price that is not known.")
        return
    quotes = overview(settings, provider=provider, table=table, at=at, every=every)
    if as_json:
        print_json({"at": at.isoformat(), "models": [quote_object(one) for one in quotes]})
        return
    print_list(quotes)
    talk("USD per million tokens. A dash is a price that is not known. One model in full: coldpress prices MODEL")
