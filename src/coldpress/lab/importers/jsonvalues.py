"""Read JSON lines and fields of other programs' files without trusting their types."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator
from datetime import datetime

from coldpress.lab.importers.counts import Tally
from coldpress.wire.span import mask_lone_surrogates

JsonObject = dict[str, object]

HALVES = "halves of a character (U+FFFD stands in)"
NO_TIME = "times before 1970 or after 2100 (taken as unknown)"

_YEAR_2100_SECONDS = 4_102_444_800.0
_MARK = b"\\ufffd"
"""What stands for half a character, as an escape."""


def read_json(text: str | bytes, notes: Counter[str]) -> object:
    """Read one JSON value.

    Half a character is read as U+FFFD and counted in `notes`; what JSON cannot write again (`NaN`, infinities and
    numbers beyond a float) is `None`.

    Raises:
        ValueError: it is no JSON.
        RecursionError: it is nested too deep.
    """
    if isinstance(text, bytes):
        text = text.decode(json.detect_encoding(text))
    whole, halves = whole_characters(text)
    found: object = json.loads(whole, parse_constant=lambda _: None, parse_float=_finite)
    if halves:
        notes[HALVES] += halves
    return found


def whole_characters(text: str) -> tuple[str, int]:
    """Write U+FFFD for every escape of half a character in JSON text, and count them."""
    if "\\ud" not in text and "\\uD" not in text:
        return text, 0
    written, halves = whole_bytes(text.encode(errors="replace"))
    return (written.decode(), halves) if halves else (text, 0)


def whole_bytes(text: bytes) -> tuple[bytes, int]:
    """Do the same with JSON text in UTF-8."""
    if b"\\ud" not in text and b"\\uD" not in text:
        return text, 0
    after = mask_lone_surrogates(text)
    return after, after.count(_MARK) - text.count(_MARK)


def known_time(seconds: float | None, notes: Counter[str]) -> float | None:
    """Give a time in seconds since 1970; one that no recording can be of is counted, and unknown."""
    if seconds is None or 0 <= seconds < _YEAR_2100_SECONDS:
        return None if seconds is None else float(seconds)
    notes[NO_TIME] += 1
    return None


def _finite(number: str) -> float | None:
    found = float(number)
    return found if math.isfinite(found) else None


def objects_of(line: str, tally: Tally) -> Iterator[JsonObject]:
    """Yield the JSON objects of one line; more than one is rare, none is a blank or broken line.

    Values are read as by `read_json`.
    """
    decoder, at = json.JSONDecoder(parse_constant=lambda _: None, parse_float=_finite), 0
    line, halves = whole_characters(line.strip())
    if halves:
        tally.skipped[HALVES] += halves
    while at < len(line):
        try:
            value, end = decoder.raw_decode(line, at)
        except (ValueError, RecursionError):  # nested too deep, or a number of too many digits
            tally.broken("text that is not JSON")
            return
        if isinstance(value, dict):
            yield value
        else:
            tally.broken("JSON that is not an object")
        at = end
        while at < len(line) and line[at].isspace():
            at += 1


def text_in(found: JsonObject, key: str) -> str | None:
    """Give a field that holds a string."""
    value = found.get(key)
    return value if isinstance(value, str) else None


def count_in(found: JsonObject, key: str) -> int | None:
    """Give a field that holds a whole number."""
    value = found.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def number_in(found: JsonObject, key: str) -> float | None:
    """Give a field that holds a number."""
    value = found.get(key)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def object_in(found: JsonObject, key: str) -> JsonObject:
    """Give a field that holds an object, else an empty one."""
    value = found.get(key)
    return value if isinstance(value, dict) else {}


def objects_in(found: JsonObject, key: str) -> list[JsonObject]:
    """Give the objects of a field that holds a list; anything else in it is left out."""
    value = found.get(key)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def time_in(found: JsonObject, key: str, notes: Counter[str]) -> float | None:
    """Give a field that holds an ISO 8601 time, in seconds since 1970; see `known_time`."""
    stamp = text_in(found, key)
    try:
        found_at = datetime.fromisoformat(stamp).timestamp() if stamp else None
    except (ValueError, OverflowError):  # no time, or a year that clocks do not know
        return None
    return known_time(found_at, notes)
