"""What every bounded view has: a budget in bytes, counted gaps, long lines cut between characters, one opening line."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from coldpress.engine.reduce.reduced import size_bytes

MIN_GAP_LINES = 2
"""A single line is shown rather than counted: the count would be as long."""
MOST_GAP_BYTES = 400
"""A longer one is counted all the same: between many short lines such lines would break the budget."""

MAX_OTHERS = 4


@dataclass(frozen=True, slots=True)
class View:
    """The body of a view and what of the original it shows, in lines and in UTF-8 bytes; `note` adds a count."""

    body: str
    shown_lines: int
    shown_bytes: int
    note: str = ""


def shorten(line: str, max_chars: int) -> str:
    """Cut the middle out of a long line and say how many characters went.

    >>> shorten("a" * 70 + "b" * 70, 60)
    'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa [coldpress: 80 characters left out here] bbbbbbbbbbbbbbbbbbbb'
    """
    if len(line) <= max_chars + 60:  # the note about the cut is that long
        return line
    head, tail = _ends(line, max_chars)
    return f"{head} [coldpress: {len(line) - max_chars:,} characters left out here] {tail}"


def _ends(line: str, max_chars: int) -> tuple[str, str]:
    head = max_chars * 2 // 3
    return line[:head], line[head - max_chars :]


def gap(count: int, what: str = "lines") -> str:
    """Say in the place of left-out lines how many there were."""
    return f"[coldpress: {count:,} {what} left out here]"


def first_of(others: Sequence[str], *, max_chars: int) -> list[str]:
    """Show the first of the lines that a view has no place for (complaints, notes), and count the rest."""
    shown = [shorten(line, max_chars) for line in others[:MAX_OTHERS]]
    return [*shown, gap(len(others) - MAX_OTHERS, "more lines of another kind")] if others[MAX_OTHERS:] else shown


def show(lines: Sequence[str], chosen: Collection[int], *, max_line_chars: int, note: str = "") -> View:
    """Show the chosen lines in order, each exact unless it is very long, and count every gap in its place."""
    out: list[str] = []
    shown = sorted(_without_small_gaps(lines, chosen))
    shown_bytes = 0
    last = -1
    for index in (*shown, len(lines)):
        if index > last + 1:
            out.append(gap(index - last - 1))
        last = index
        if index < len(lines):
            line = shorten(lines[index], max_line_chars)
            out.append(line)
            whole = line == lines[index]
            shown_bytes += size_bytes(line if whole else "".join(_ends(line, max_line_chars))) + 1
    return View("\n".join(out), len(shown), shown_bytes, note)


def opening(view: View, text: str, *, sha: str, rerun: str | None) -> str:
    """Write the line that says what this is, how much of it is here, and which original it stands for."""
    lines = text.count("\n") + (not text.endswith("\n"))
    sentence = f" {' '.join(rerun.split())}" if rerun and rerun.strip() else ""
    note = f" ({view.note})" if view.note else ""
    return (
        f"[coldpress: a shortened view: {min(view.shown_lines, lines):,} of {lines:,} lines{note}, about"
        f" {view.shown_bytes:,} of {size_bytes(text):,} bytes; the source is intact, only this view is shortened;"
        f" SHA-256 of the whole: {sha}.{sentence}]"
    )


def _without_small_gaps(lines: Sequence[str], chosen: Collection[int]) -> set[int]:
    """Show the few lines of a small gap, unless they are so long that they would cost more than the budget has."""
    kept = set(chosen)
    before = -1
    for index in (*sorted(chosen), len(lines)):
        between = range(before + 1, index)
        if 0 < len(between) < MIN_GAP_LINES and sum(size_bytes(lines[i]) for i in between) <= MOST_GAP_BYTES:
            kept.update(between)
        before = index
    return kept
