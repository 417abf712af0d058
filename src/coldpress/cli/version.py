"""`coldpress version`: print the versions of coldpress and what it stands on."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

import click

from coldpress import __version__
from coldpress.cli.options import json_option
from coldpress.cli.output import print_json, print_table

DEPENDENCIES = ("msgspec", "xxhash", "uvicorn", "uvloop", "httptools", "aiohttp", "zstandard", "brotli", "genai-prices")


@click.command("version")
@json_option
def command(*, as_json: bool) -> None:
    """Print the versions of coldpress and what it stands on."""
    found = versions()
    if as_json:
        print_json(found)
    else:
        print_table(("what", "version"), [(name, number or "not installed") for name, number in found.items()])


def versions() -> dict[str, str | None]:
    """Give the version of everything that matters for a report of a fault; `None` where it is not installed."""
    found: dict[str, str | None] = {
        "coldpress": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
    }
    for name in DEPENDENCIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found
