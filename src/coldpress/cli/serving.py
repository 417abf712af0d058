"""Put a gateway together from its parts, run it, and let go of everything in the right order."""

from __future__ import annotations

import time
from contextlib import ExitStack, closing
from pathlib import Path

import click

from coldpress import __version__
from coldpress.cli.background import repeating
from coldpress.cli.options import same_options
from coldpress.cli.output import table_lines, talk, warn
from coldpress.cli.watch import SettingsWatch
from coldpress.config.files import FILE_NAME
from coldpress.config.settings import Settings
from coldpress.drive import Driver
from coldpress.gateway.serve import Serving, run
from coldpress.gateway.settings import gateway_settings
from coldpress.model.errors import StoreError
from coldpress.stores.sqlite import SqliteStore

_LOOK_SECONDS = 2.0
_SWEEP_SECONDS = 3600.0


def serve(settings: Settings) -> None:
    """Run the gateway until it is told to stop.

    Raises:
        ConfigError: a port cannot be listened on.
        StoreError: the store cannot be opened.
    """
    watched = SettingsWatch(settings.file or Path.cwd() / FILE_NAME)
    with ExitStack() as parts:
        store = parts.enter_context(
            closing(SqliteStore(settings.store.path, bounds=settings.store.bounds, raw_log=settings.store.raw_log))
        )
        driver = parts.enter_context(closing(Driver(settings, store)))
        look = repeating(lambda: _tell_news(watched), every_seconds=_LOOK_SECONDS, name="coldpress-settings")
        sweep = repeating(lambda: _sweep(store), every_seconds=_SWEEP_SECONDS, name="coldpress-sweep")
        parts.enter_context(look)
        parts.enter_context(sweep)
        run(gateway_settings(settings), driver, told=lambda serving: _tell(serving, settings))
    talk("stopped. A client that still points here gets no answer: unset ANTHROPIC_BASE_URL or OPENAI_BASE_URL.")


def how_to_point_clients(url: str, settings: Settings) -> str:
    """Say how agents and SDKs are pointed at a gateway."""
    bare = settings.default_provider
    rows = (
        ("Claude Code", f"ANTHROPIC_BASE_URL={url} claude", bare.anthropic),
        ("Anthropic SDK", f'Anthropic(base_url="{url}")', bare.anthropic),
        ("OpenAI SDK", f'OpenAI(base_url="{url}/v1")', bare.openai),
        ("any provider", f"{url}/provider/NAME[/v1]", "NAME"),
    )
    names = ", ".join(provider.name for provider in settings.providers)
    told = f"NAME is one of {names}; /v1 only for clients whose base URL ends in it"
    return "\n".join((*table_lines(("client", "how to point it here", "goes to"), rows), told))


def _tell(serving: Serving, settings: Settings) -> None:
    click.echo(serving.url)
    subscription = "pressed too" if settings.press_subscription else "only observed"
    talk(f"coldpress {__version__} listens on {serving.url} with {settings.source}")
    talk(f"operation {settings.operation}; Claude subscription traffic is {subscription}")
    talk(how_to_point_clients(serving.url, settings))
    talk(f"health and statistics: http://{_bracketed(serving.control_host)}:{serving.control_port}/stats")
    talk(f"store: {settings.store.path}; see it with: coldpress ledger list{same_options()}")


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _tell_news(watched: SettingsWatch) -> None:
    news = watched.news()
    if news:
        warn(news)


def _sweep(store: SqliteStore) -> None:
    try:
        store.sweep(time.time())
    except StoreError as error:
        warn(f"the store could not be swept, so it may outgrow its bounds: {error}")
