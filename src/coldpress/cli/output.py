"""Print for people and for programs: talk on stderr, results on stdout, aligned tables, one JSON object."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Sequence
from datetime import UTC, datetime

import click

UNKNOWN = "unknown"


def talk(text: str) -> None:
    """Say something to the person on stderr."""
    click.echo(text, err=True)


def warn(text: str) -> None:
    """Say a warning on stderr, in yellow where stderr is a terminal and NO_COLOR is not set."""
    label = "warning:"
    if sys.stderr.isatty() and not os.environ.get("NO_COLOR"):
        label = click.style(label, fg="yellow", bold=True)
    click.echo(f"{label} {text}", err=True)


def print_json(value: object) -> None:
    """Print one JSON value on stdout: keys in their given order, two spaces of indentation, UTF-8."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def print_table(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: frozenset[int] = frozenset(),
    spare: Sequence[str] = (),
) -> None:
    """Print aligned columns on stdout.

    Args:
        heads: the head of each column.
        rows: cells, as many in each row as there are heads.
        right: the columns, counted from 0, that are aligned to the right.
        spare: heads of columns to leave out, first to last, until the table fits the terminal; stderr names them.
            A pipe or a file gets every column.
    """
    room = shutil.get_terminal_size().columns if spare and sys.stdout.isatty() else None
    lines, left_out = fitting_lines(heads, rows, right=right, spare=spare, room=room)
    for line in lines:
        click.echo(line)
    if left_out:
        talk(f"Left out for want of width: {', '.join(left_out)}. A wider terminal, a pipe or --json shows them.")


def fitting_lines(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: frozenset[int],
    spare: Sequence[str],
    room: int | None,
) -> tuple[list[str], tuple[str, ...]]:
    """Lay out as many columns as there is room for, and name those left out.

    >>> fitting_lines(("tool", "bytes"), [("Read", "7")], right=frozenset({1}), spare=("bytes",), room=8)
    (['tool', 'Read'], ('bytes',))
    """
    for count in range(len(spare) + 1):
        kept = [column for column, head in enumerate(heads) if head not in spare[:count]]
        lines = table_lines(
            [heads[column] for column in kept],
            [[row[column] for column in kept] for row in rows],
            right=frozenset(place for place, column in enumerate(kept) if column in right),
        )
        if room is None or max(map(len, lines)) <= room:
            break
    return lines, tuple(spare[:count])


def table_lines(
    heads: Sequence[str], rows: Sequence[Sequence[str]], *, right: frozenset[int] = frozenset(), gap: int = 2
) -> list[str]:
    """Lay out aligned columns, two spaces apart, without spaces at line ends.

    >>> table_lines(("tool", "bytes"), [("Read", "7")], right=frozenset({1}))
    ['tool  bytes', 'Read      7']
    """
    cells = [[printable(cell) for cell in row] for row in (heads, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(heads))]
    return [
        (" " * gap)
        .join(
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        .rstrip()
        for row in cells
    ]


def say_time(seconds: float) -> str:
    """Write a time since the epoch as UTC.

    >>> say_time(0.0)
    '1970-01-01 00:00:00Z'
    """
    return datetime.fromtimestamp(seconds, tz=UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def say_count(number: int | None) -> str:
    """Write a count with thousands apart; a missing one is unknown, not zero.

    >>> say_count(12345), say_count(None)
    ('12,345', 'unknown')
    """
    return UNKNOWN if number is None else f"{number:,}"


def say_usd(amount: float | None) -> str:
    """Write money to a ten-thousandth of a cent; a missing amount is unknown, not zero."""
    return UNKNOWN if amount is None else f"{amount:.6f}"


def printable(text: str) -> str:
    """Take out what could steer a terminal: names of tools, models and sessions come from clients."""
    return "".join(c if c.isprintable() else "�" for c in text)
