"""Read files of JSON lines, also damaged ones: what cannot be read is counted and the rest goes on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from coldpress.lab.importers.counts import Tally
from coldpress.lab.importers.jsonvalues import JsonObject, known_time, objects_of

_BOM = b"\xef\xbb\xbf"
"""Some editors put it in front of a file."""


def decoded(lines: Iterable[bytes], tally: Tally) -> Iterator[str]:
    """Yield each line as text; one that is no UTF-8, as where a file was cut inside a character, comes out empty."""
    for number, line in enumerate(lines):
        try:
            yield (line.removeprefix(_BOM) if number == 0 else line).decode("utf-8")
        except UnicodeDecodeError:
            tally.broken("lines that are not UTF-8 text")
            yield ""


def line_objects(lines: Iterable[str], tally: Tally) -> Iterator[JsonObject]:
    """Yield the JSON objects of all lines in order, counting lines and what is no object."""
    for line in lines:
        tally.lines += 1
        yield from objects_of(line, tally)


def utc_time(stamp: object, notes: Counter[str]) -> float | None:
    """Give an ISO 8601 time in seconds since 1970; one without a zone counts as UTC, whatever machine reads it.

    One before 1970 or after 2100 is counted in `notes`, and unknown.

    >>> [utc_time(one, Counter()) for one in ("1970-01-01T00:00:01.5", "1970-01-01T01:00:00+01:00", "yesterday")]
    [1.5, 0.0, None]
    """
    if not isinstance(stamp, str):
        return None
    try:
        found = datetime.fromisoformat(stamp)
        at = (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
    return known_time(at, notes)
