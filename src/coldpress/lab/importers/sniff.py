"""Say what a file is that cannot be a recording, and give the JSON values that the first of its lines hold."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from coldpress.lab.importers.raw_store import MAGIC

_HEAD_BYTES = 4096
_LINES = 200
"""A session may begin with lines that could be anyone's; none that was seen needs more than ten."""

_BYTES = 16 << 20
"""Lines may be long; the kind of a file shows in less."""

_BOM = b"\xef\xbb\xbf"
_STARTS: tuple[tuple[bytes, str], ...] = (
    (b"PK\x03\x04", "a ZIP archive; unpack it and give what is in it"),
    (b"\x1f\x8b", "compressed with gzip; unpack it and give what is in it"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd; unpack it and give what is in it"),
    (b"BZh", "compressed with bzip2; unpack it and give what is in it"),
    (b"\xfd7zXZ\x00", "compressed with xz; unpack it and give what is in it"),
    (b"%PDF-", "a PDF document"),
    (b"PAR1", "a Parquet file; write its rows as JSON Lines and give that"),
    (b"version https://git-lfs.github.com/spec/", "a Git LFS pointer, not the file itself; run `git lfs pull` for it"),
    (b"\xff\xfe", "UTF-16 text; convert it to UTF-8"),
    (b"\xfe\xff", "UTF-16 text; convert it to UTF-8"),
)
_HTML = (b"<!doctype html", b"<html")


@dataclass(frozen=True, slots=True)
class Wrong:
    """What a file is that cannot be a recording, and what to do about it where that is known."""

    what: str


def wrong_file(path: Path) -> Wrong | None:
    """Tell by the first bytes what a file is that is none of ours; `None` where it may hold JSON, or is a database.

    Raises:
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    if not head:
        return Wrong("empty")
    if head.startswith(MAGIC):
        return None
    for start, what in _STARTS:
        if head.startswith(start):
            return Wrong(what)
    shown = head.removeprefix(_BOM).lstrip()
    if shown.lower().startswith(_HTML):
        return Wrong("an HTML page; a download may have failed, or needs a login")
    if b"\0" in head:
        every_other = head[:64:2].count(0) > len(head[:64]) // 4 or head[1:64:2].count(0) > len(head[:64]) // 4
        return Wrong("UTF-16 text; convert it to UTF-8" if every_other else "no text")
    return None


def is_database(path: Path) -> bool:
    """Whether it is a database file, as a store of coldpress is one.

    Raises:
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


@dataclass(frozen=True, slots=True)
class First:
    """JSON values that a file begins with; `whole` where there is one, and it is all of the file."""

    values: tuple[object, ...]
    whole: bool


def first_values(path: Path) -> First:
    """Read the values of the first lines; where these hold none, the file as one value.

    Of a file of JSON Lines, no more than the first 200 lines, or those in the first 16 MiB, are read.

    Raises:
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        values, lines, broken_first = list[object](), 0, False
        for line in _lines(file):
            lines += 1
            found = _values(line)
            broken_first = broken_first or (lines == 1 and not found)
            values += found
        rest = bool(file.readline())
    if broken_first:
        whole = _whole(path)
        if whole is not None:
            return First((whole[0],), whole=True)
    return First(tuple(values), whole=lines == 1 and len(values) == 1 and not rest)


def _lines(file: BinaryIO) -> Iterator[bytes]:
    seen = taken = 0
    while taken < _LINES and seen < _BYTES:
        line = file.readline()
        if not line:
            return
        seen += len(line)
        if line := line.removeprefix(_BOM).strip():
            taken += 1
            yield line


def _values(line: bytes) -> list[object]:
    """Give the values of a line; an interrupted writer may leave two. Words and numbers in other text are none."""
    decoder, at, found = json.JSONDecoder(), 0, list[object]()
    try:
        text = line.decode()
        while at < len(text):
            value, at = decoder.raw_decode(text, at)
            found.append(value)
            while at < len(text) and text[at].isspace():
                at += 1
    except (ValueError, RecursionError):
        return [value for value in found if isinstance(value, dict | list)]
    return found


def _whole(path: Path) -> tuple[object] | None:
    """Read the file as one value, which may be `null`; `None` where it is none."""
    try:
        return (json.loads(path.read_bytes()),)
    except (ValueError, RecursionError):
        return None
