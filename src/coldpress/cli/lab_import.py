"""`coldpress lab import`: say what is in files of recordings, and account for every line."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from coldpress.cli.exits import USAGE
from coldpress.cli.lab_options import paths_argument, paths_or_default
from coldpress.cli.options import json_option
from coldpress.cli.output import print_json, print_table, printable, say_count
from coldpress.cli.progress import Progress
from coldpress.lab.results import Skipped
from coldpress.model.errors import RecordingError

if TYPE_CHECKING:
    from coldpress.lab.importers.counts import Counts

_HEADS: Final = ("file", "kind", "trajectories", "requests", "lines", "used", "set aside", "unknown", "broken")
_RIGHT: Final = frozenset({2, 3, 4, 5, 6, 7, 8})
_SPARE: Final = ("lines", "trajectories")


@dataclass(frozen=True, slots=True)
class _Part:
    """A trajectory without its turns."""

    name: str
    side_chain: bool
    requests: int


@dataclass(frozen=True, slots=True)
class _File:
    path: Path
    kind: str
    parts: tuple[_Part, ...]
    counts: Counts

    @property
    def requests(self) -> int:
        return sum(part.requests for part in self.parts)


@click.command("import")
@paths_argument
@click.option("--verbose", is_flag=True, help="List for each file what was counted, by kind and reason.")
@json_option
def import_(*, paths: tuple[Path, ...], verbose: bool, as_json: bool) -> None:
    """Say what is in files of recordings: kind, trajectories, requests, and what became of every line.

    PATH is a file or a folder, ~/.claude/projects where none is given. The kind is told by what a file holds. Of its
    objects, a conversation holds the used ones; those set aside are known and stand in none; then come those of a kind
    that is not known, and text that cannot be read. Files are only read. For example `coldpress lab import
    session.jsonl --verbose`.
    """
    from coldpress.cli.replay_run import choose

    files, skipped = list[_File](), list[Skipped]()
    chosen = choose(paths_or_default(paths)).paths
    with Progress("reading") as progress:
        for done, path in enumerate(chosen, 1):
            found = _read(path)
            if isinstance(found, Skipped):
                skipped.append(found)
            else:
                files.append(found)
            progress(done, len(chosen))
    if as_json:
        rows = [{"path": one.path, "why": one.why} for one in skipped]
        print_json({"files": [_object(one) for one in files], "skipped": rows})
    else:
        _print(files, skipped, verbose=verbose)
    if not files:
        raise SystemExit(USAGE.code)


def _read(path: Path) -> _File | Skipped:
    from coldpress.lab.importers.any import kind_of, read_file

    try:
        kind, found = kind_of(path), read_file(path)
    except (RecordingError, OSError) as error:
        return Skipped(str(path), str(error).removeprefix(f"{path}: "))
    parts = tuple(_Part(one.name, one.side_chain, one.requests) for one in found.trajectories)
    return _File(path, kind, parts, found.counts)


def _print(files: Sequence[_File], skipped: Sequence[Skipped], *, verbose: bool) -> None:
    folder = os.path.commonpath([one.path.absolute().parent for one in files]) if files else ""
    rows = [
        (
            str(one.path.absolute().relative_to(folder)),
            one.kind,
            *map(say_count, (len(one.parts), one.requests)),
            *map(say_count, _counted(one.counts)),
        )
        for one in files
    ]
    if rows:
        click.echo(f"In {printable(folder)}:")
        print_table(_HEADS, rows, right=_RIGHT, spare=_SPARE)
    for one in files if verbose else ():
        click.echo(f"\n{printable(str(one.path))}")
        for line in one.counts.table().splitlines():
            click.echo(printable(line))
    if skipped:
        click.echo(f"\n{len(skipped):,} skipped:")
    for left in skipped:
        click.echo(f"  {printable(left.path)}: {printable(left.why)}")


def _counted(counts: Counts) -> tuple[int, ...]:
    return counts.lines, counts.used, counts.set_aside, counts.unknown, counts.broken


def _object(one: _File) -> dict[str, object]:
    counts = one.counts
    return {
        "path": str(one.path),
        "kind": one.kind,
        "trajectories": [asdict(part) for part in one.parts],
        "requests": one.requests,
        "lines": counts.lines,
        "objects": counts.objects,
        "used": counts.used,
        "set_aside": counts.set_aside,
        "unknown": counts.unknown,
        "broken": counts.broken,
        "kinds": dict(counts.kinds),
        "reasons": dict(counts.skipped),
    }
