"""Take out what only a terminal acts on: colours, cursor movement, overwritten progress, padding to a table's width."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import groupby

from coldpress.engine.reduce.cuts import cut
from coldpress.engine.reduce.steps import Stepped

# CSI sequences of colour, cursor and erasing, character sets, and window titles (OSC 0 to 2). Hyperlinks (OSC 8)
# stay: they carry an address that is nowhere else.
_SEQUENCE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][0-2];[^\x07\x1b\n]*(?:\x07|\x1b\\)|\x1b[()][AB0-2]|\x1b[78=>]")
_ERASE = re.compile(r"\x1b\[[012]?K")
_TABLE_LINES = 4
MAX_FRAMES = 20_000
"""Frames of one progress line that are followed; more are left as they are, so that time stays bounded."""


def press_sequences(text: str) -> Stepped | None:
    """Cut escape sequences out."""
    if "\x1b" not in text:
        return None
    return cut(text, (match.span() for match in _SEQUENCE.finditer(text)))


def press_progress(text: str) -> Stepped | None:
    """Cut out what a carriage return let later text of the same line overwrite completely."""
    if "\r" not in text:
        return None
    return cut(text, _overwritten(text))


def press_table(text: str) -> Stepped | None:
    """Cut trailing spaces where neighbouring lines were filled to one common width, as table printers do."""
    if " \n" not in text:
        return None
    return cut(text, _filled(text))


def _overwritten(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for line in text.split("\n"):
        body = line[:-1] if line.endswith("\r") else line  # CRLF ends a line and overwrites nothing
        last = body.rfind("\r")
        if last >= 0 and body.count("\r") <= MAX_FRAMES and _hidden(body[:last], body[last + 1 :]):
            begin = start
            for frame in body[:last].split("\r"):  # one cut each, since neighbours are much alike
                yield begin, begin + len(frame) + 1
                begin += len(frame) + 1
        start += len(line) + 1


def _hidden(earlier: str, last: str) -> bool:
    """Whether a terminal that has written `earlier`, gone back and written `last` shows `last` alone."""
    if not last.strip(" ") or _ERASE.search(earlier):  # erased parts would need a screen of our own to follow
        return False
    shown = _SEQUENCE.sub("", last)
    screen: list[str] = []
    for frame in (*_SEQUENCE.sub("", earlier).split("\r"), shown):
        if not _one_column_each(frame):
            return False
        screen[: len(frame)] = frame
    wiped = _ERASE.match(last) is not None
    return wiped or "".join(screen).rstrip(" ") == shown.rstrip(" ")


def _one_column_each(frame: str) -> bool:
    if frame.isascii():
        return frame.isprintable()
    return frame.isprintable() and all(
        unicodedata.east_asian_width(char) not in "WF" and not unicodedata.combining(char) for char in frame
    )


def _filled(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for width, group in groupby(text.split("\n"), key=len):
        lines = tuple(group)
        ends = range(start + width, start + (width + 1) * len(lines), width + 1)
        if len(lines) >= _TABLE_LINES:
            for line, end in zip(lines, ends, strict=True):
                padding = width - len(line.rstrip(" "))
                if padding:
                    yield end - padding, end
        start += (width + 1) * len(lines)
