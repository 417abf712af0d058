"""Read JSON lines and fields of other programs' files without trusting their types."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime

from coldpress.lab.importers.counts import Tally

JsonObject = dict[str, object]


def objects_of(line: str, tally: Tally) -> Iterator[JsonObject]:
    """Yield the JSON objects of one line; more than one is rare, none is a blank or broken line.

    `NaN` and infinities, which some programs write and JSON has not, are read as `None`.
    """
    decoder, at, line = json.JSONDecoder(parse_constant=lambda _: None), 0, line.strip()
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


def time_in(found: JsonObject, key: str) -> float | None:
    """Give a field that holds an ISO 8601 time, in seconds since 1970."""
    stamp = text_in(found, key)
    try:
        return datetime.fromisoformat(stamp).timestamp() if stamp else None
    except ValueError:
        return None
