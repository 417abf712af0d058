"""`coldpress serve`: run the gateway."""

from __future__ import annotations

from pathlib import Path

import click

from coldpress.cli.check_warnings import plugin_warnings
from coldpress.cli.logs import LEVELS, Level, show_log
from coldpress.cli.options import config_option, store_option
from coldpress.cli.output import warn
from coldpress.config.load import Overrides, load
from coldpress.model.records import Operation


def _pairs(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    pairs = []
    for value in values:
        name, _, url = value.partition("=")
        if not (name and url):
            raise click.BadParameter(f"{value!r} is not NAME=URL, such as openai=http://127.0.0.1:9000", ctx, param)
        pairs.append((name, url))
    return tuple(pairs)


@click.command("serve")
@config_option
@store_option
@click.option("--host", help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on; 0 takes any free one.")
@click.option(
    "--operation",
    "--mode",
    "operation",
    type=click.Choice(["press", "observe", "drain", "off"]),
    help="What to do with the requests of every provider.",
)
@click.option(
    "--provider-url",
    "provider_urls",
    metavar="NAME=URL",
    callback=_pairs,
    multiple=True,
    help="Send a provider's requests elsewhere, or add a provider. May be given several times.",
)
@click.option(
    "--log-level", type=click.Choice(LEVELS), default="warning", show_default=True, help="What to log on stderr."
)
def command(
    *,
    config_path: Path | None,
    store_path: Path | None,
    host: str | None,
    port: int | None,
    operation: Operation | None,
    provider_urls: tuple[tuple[str, str], ...],
    log_level: Level,
) -> None:
    """Run the gateway.

    Options go before the settings file. The address is printed on stdout once requests can come; how to point
    clients at it, and everything in the settings that is not built, on stderr. SIGINT or SIGTERM stops it after the
    running exchanges have ended.
    """
    settings = load(
        config_path,
        overrides=Overrides(
            host=host, port=port, operation=operation, provider_urls=provider_urls, store_path=store_path
        ),
    )
    for warning in (*settings.warnings, *plugin_warnings(settings)):
        warn(warning)
    show_log(log_level)
    # The server's libraries take most of the start-up time: wrong settings are told before they are loaded.
    from coldpress.cli.serving import serve

    serve(settings)
