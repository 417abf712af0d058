"""Cut a very long line around what is looked for in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

WINDOWS: Final = 3
HEAD_SHARE: Final = 0.25
"""The beginning always stays: a search's path and number stand there, a log's time."""

BEFORE_SHARE: Final = 0.3
"""Of a piece, what stands in front of the match."""

SEEN_CHARS: Final = 48
"""So much of a match and of what follows it stands in a piece that shows it already."""

MIN_LEFT_OUT: Final = 80
"""Fewer characters are shown: the note about them would be as long."""


def excerpt(line: str, max_chars: int, places: Callable[[str], list[tuple[int, int]]]) -> str:
    """Give about `max_chars` characters of a line: its beginning, what matches best, and notes of what is between.

    Cuts fall between characters (code points). A line that is hardly longer comes back as it is.

    Args:
        line: one line.
        max_chars: of the line that are shown, notes aside.
        places: gives the matches in a text: where each begins and what it is worth.

    >>> excerpt("x" * 500 + " needle " + "y" * 500, 100, lambda text: [(501, 8)]).count("coldpress")
    2
    """
    if len(line) <= max_chars + MIN_LEFT_OUT:
        return line
    head = int(max_chars * HEAD_SHARE)
    width = (max_chars - head) // WINDOWS
    spans = [(0, head)]
    best = sorted(places(line), key=lambda found: (-found[1], found[0]))
    for place, _ in best:
        if len(spans) > WINDOWS:
            break
        start = max(0, place - int(width * BEFORE_SHARE))
        if not any(begin <= place and min(len(line), place + SEEN_CHARS) <= end for begin, end in spans):
            spans.append((start, min(len(line), start + width)))
    if len(spans) == 1:
        spans.append((len(line) - (max_chars - head), len(line)))
    return _joined(line, sorted(spans))


def _joined(line: str, spans: list[tuple[int, int]]) -> str:
    out: list[str] = []
    done = 0
    for begin, end in (*spans, (len(line), len(line))):
        start = max(begin, done)
        left_out = start - done
        if 0 < left_out < MIN_LEFT_OUT:
            out.append(line[done:start])
        elif left_out > 0:
            behind = " " if start < len(line) else ""
            out.append(f" [coldpress: {left_out:,} characters left out here]{behind}")
        out.append(line[start:end])
        done = max(done, end)
    return "".join(out)
