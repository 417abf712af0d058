"""`coldpress recall`: print the original of a pressed result, byte for byte."""

from __future__ import annotations

from pathlib import Path

import click

from coldpress.cli.open_store import opened
from coldpress.cli.options import config_option, load_for_reading, store_option
from coldpress.cli.out_file import check_target
from coldpress.cli.output import talk
from coldpress.engine.pii import placeholders
from coldpress.model.errors import ColdpressError


@click.command("recall")
@click.argument("sha")
@config_option
@store_option
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file instead of stdout.")
@click.option("--force", is_flag=True, help="Overwrite a file that is there; never the store.")
def command(*, sha: str, config_path: Path | None, store_path: Path | None, out: Path | None, force: bool) -> None:
    """Print an original, byte for byte.

    SHA is the SHA-256 that a marker or the ledger names, or at least its first 8 digits. Nothing is added, not even a
    line end; stderr says how often `pii` took something out before it was stored. Exit code 3: unknown; 4: expired,
    stderr says how to get it again; 5: the digits fit several.
    """
    settings = load_for_reading(config_path, store_path)
    if out is not None:
        check_target(out, store=settings.store.path, force=force)
    with opened(settings) as store:
        text = store.recall(sha.strip().lower())
    taken_out, original = len(placeholders(text)), text.encode()
    if taken_out:
        talk(f"pii took something out in {taken_out} places before this was stored; it is kept nowhere")
    if out is None:
        click.echo(original, nl=False)
        return
    try:
        out.write_bytes(original)
    except OSError as error:
        raise ColdpressError(f"{out} cannot be written: {error.strerror or error}") from error
    talk(f"{len(original)} bytes written to {out}")
