"""`coldpress recall`: print the original of a pressed result, byte for byte."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from coldpress.cli.open_store import opened
from coldpress.cli.options import config_option, load_for_reading, store_option
from coldpress.cli.output import talk
from coldpress.model.errors import ColdpressError


@click.command("recall")
@click.argument("sha")
@config_option
@store_option
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file instead of stdout.")
def command(*, sha: str, config_path: Path | None, store_path: Path | None, out: Path | None) -> None:
    """Print an original, byte for byte.

    SHA is the SHA-256 that a marker or the ledger names, or at least its first 8 digits. Nothing is added, not even a
    line end. Exit code 3: unknown; 4: expired, stderr says how to get it again; 5: the digits fit several.
    """
    settings = load_for_reading(config_path, store_path)
    with opened(settings) as store:
        original = store.recall(sha.strip().lower()).encode()
    if out is None:
        sys.stdout.buffer.write(original)
        sys.stdout.buffer.flush()
        return
    try:
        out.write_bytes(original)
    except OSError as error:
        raise ColdpressError(f"{out} cannot be written: {error.strerror or error}") from error
    talk(f"{len(original)} bytes written to {out}")
