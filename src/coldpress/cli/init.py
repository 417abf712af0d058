"""`coldpress init`: write a settings file with every key, commented."""

from __future__ import annotations

from pathlib import Path

import click

from coldpress.cli.output import talk
from coldpress.config.files import FILE_NAME
from coldpress.config.template import template
from coldpress.model.errors import ColdpressError


@click.command("init")
@click.option(
    "--path",
    type=click.Path(path_type=Path),
    default=Path(FILE_NAME),
    show_default=True,
    help="File to write; a folder gets a coldpress.toml.",
)
@click.option("--force", is_flag=True, help="Overwrite a file that is there.")
def command(*, path: Path, force: bool) -> None:
    """Write a settings file with every key, commented.

    The file says nothing that differs from the defaults until you take a "#" away.
    """
    target = path / FILE_NAME if path.is_dir() else path
    if target.exists() and not force:
        raise ColdpressError(f"{target} is there already; --force overwrites it, --path names another")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(template(), encoding="utf-8")
    except OSError as error:
        raise ColdpressError(f"{target} cannot be written: {error.strerror or error}") from error
    click.echo(str(target))
    talk("Edit it, then run: coldpress check")
