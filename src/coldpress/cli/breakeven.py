"""`coldpress breakeven`: say after how many turns a cut into a warm cache has paid for what it rewrites."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import click

from coldpress.cli.breakeven_view import answer_lines, answer_object
from coldpress.cli.options import FiniteRange, config_option, json_option, load_for_reading
from coldpress.cli.out_file import check_target
from coldpress.cli.output import print_json, talk
from coldpress.cli.quote import own_prices, quote, read_moment, table_option_names
from coldpress.measure.breakeven import course
from coldpress.measure.prices import Unpriced
from coldpress.model.errors import ColdpressError


def _picture(context: click.Context, parameter: click.Parameter, value: Path | None) -> Path | None:
    if value is not None and value.suffix.lower() not in (".png", ".svg"):
        raise click.BadParameter(f"{value} ends in neither .png nor .svg; the ending says what to draw")
    return value


@click.command("breakeven")
@click.option("--model", required=True, help="The model, as clients send it.")
@click.option("--provider", help="Who serves it: a provider of the settings or of the price list. Else by the model.")
@click.option(
    "--prices",
    "table",
    type=click.Choice(table_option_names()),
    help="A named price table, instead of the settings and the built-in list.",
)
@click.option(
    "--rewrite-tokens",
    required=True,
    type=click.IntRange(min=0),
    help="Tokens that stay behind the cut and are written to the cache again.",
)
@click.option("--removed-tokens", required=True, type=click.IntRange(min=1), help="Tokens that are taken out.")
@click.option(
    "--prompt-tokens",
    type=click.IntRange(min=1),
    help="The whole prompt without the cut. Else the two above together, the least it can be. It matters only where "
    "prices have a cliff.",
)
@click.option(
    "--summariser-usd",
    type=FiniteRange(min=0),
    default=0.0,
    show_default=True,
    metavar="USD",
    help="What a summary that takes the place of the text cost to write.",
)
@click.option("--long-writes", is_flag=True, help="Written for the long lifetime (1 hour at Anthropic).")
@click.option(
    "--at", callback=read_moment, metavar="TIME", help="The moment to price, UTC where it names no zone. Else now."
)
@click.option(
    "--plot",
    "picture",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=_picture,
    help="Draw what is saved over the turns into this file, .png or .svg. Needs matplotlib (the extra `plot`).",
)
@click.option("--force", is_flag=True, help="Let --plot overwrite a file that is there; never the store.")
@config_option
@json_option
def command(
    *,
    model: str,
    provider: str | None,
    table: str | None,
    rewrite_tokens: int,
    removed_tokens: int,
    prompt_tokens: int | None,
    summariser_usd: float,
    long_writes: bool,
    at: datetime,
    picture: Path | None,
    force: bool,
    config_path: Path | None,
    as_json: bool,
) -> None:
    """Say after how many turns a cut into a warm cache has paid.

    A cut pays after N turns where N > (R*max(0, W-C) + S) / (D*C): R tokens are rewritten, D are removed, W is the
    price of writing uncached tokens, C of cached reads, S what a summariser cost. The turn that rewrites is the first.
    At first sight and in a cold cache nothing is rewritten: R is 0, and a cut pays at once.
    """
    settings = load_for_reading(config_path)
    if picture is not None:
        check_target(picture, store=settings.store.path, force=force)
    found = quote(settings, model, provider=provider, table=table, at=at)
    try:
        answer = course(
            found.prices,
            rewrite_tokens=rewrite_tokens,
            removed_tokens=removed_tokens,
            prompt_tokens=prompt_tokens,
            summariser_usd=summariser_usd,
            long=long_writes,
        )
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--prompt-tokens") from error
    if isinstance(answer, Unpriced):
        raise ColdpressError(
            f"long writes of {model} have no price, for want of: {', '.join(answer.missing)}. "
            "Leave out --long-writes, or give the price. "
            + own_prices(model, table, key="cache_write_long_usd_per_mtok")
        )
    asked = {
        "rewrite_tokens": rewrite_tokens,
        "removed_tokens": removed_tokens,
        "summariser_usd": summariser_usd,
        "long_writes": long_writes,
    }
    if picture is not None:
        from coldpress.cli.breakeven_plot import Cut, draw

        draw(picture, found.prices, answer, Cut(rewrite_tokens, removed_tokens, summariser_usd, long=long_writes))
    if as_json:
        print_json(answer_object(found, asked, answer, picture))
        return
    for line in answer_lines(found, answer, long=long_writes):
        click.echo(line)
    if picture is not None:
        talk(f"drawn into {picture}")
