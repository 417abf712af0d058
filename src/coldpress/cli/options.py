"""Options that several commands share, and how they become settings."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from coldpress.config.load import Overrides, load
from coldpress.config.settings import Settings

Command = TypeVar("Command", bound=Callable[..., object])


class FiniteRange(click.FloatRange):
    """A number in a range; `nan` and `inf` are in none, though they can be read as numbers."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read a number, or tell the user under the option's own name what is wrong with it."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is no finite number", param, ctx)
        return number


def config_option(command: Command) -> Command:
    """Add `--config PATH`."""
    return click.option(
        "--config",
        "config_path",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Settings file, TOML or JSON. Else ./coldpress.toml, then $XDG_CONFIG_HOME/coldpress/coldpress.toml.",
    )(command)


def store_option(command: Command) -> Command:
    """Add `--store PATH`."""
    return click.option(
        "--store",
        "store_path",
        type=click.Path(dir_okay=False, path_type=Path),
        help="The store's file. Else what the settings say.",
    )(command)


def json_option(command: Command) -> Command:
    """Add `--json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


def same_options() -> str:
    """Write `--config` and `--store` of the running command as a hint has to repeat them; empty where none was given.

    A hint that left them out would lead to another store.
    """
    context = click.get_current_context(silent=True)
    if context is None:
        return ""
    given = (("--config", context.params.get("config_path")), ("--store", context.params.get("store_path")))
    return "".join(f" {name} {shlex.quote(str(path))}" for name, path in given if path is not None)


def load_for_reading(config_path: Path | None, store_path: Path | None = None) -> Settings:
    """Load settings for a command that sends nothing, so that an absent API key is no obstacle."""
    return load(config_path, overrides=Overrides(store_path=store_path), secrets="optional")
