"""Tell which lines of a file a read asks for, so that the next page of a file is not taken for the last one again."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final


@dataclass(frozen=True, slots=True)
class Lines:
    """Half-open range of line numbers, from 1; `stop` is infinite where it goes to the end."""

    start: float = 1
    stop: float = inf

    def overlaps(self, other: Lines) -> bool:
        """Whether some line is in both."""
        return self.start < other.stop and other.start < self.stop

    def covers(self, other: Lines) -> bool:
        """Whether every line of another range is in this one."""
        return self.start <= other.start and other.stop <= self.stop


WHOLE: Final = Lines()

RANGE_KEYS: Final = frozenset(
    (
        *("offset", "limit", "view_range", "viewRange", "range", "ranges", "start_line", "end_line", "startLine"),
        *("endLine", "start_line_one_indexed", "end_line_one_indexed_inclusive", "line_start", "line_end", "start"),
        *("end", "head", "tail", "lines", "pages", "should_read_entire_file"),
    )
)
"""Arguments of a read that say which lines of a file are wanted."""

_FIRST: Final = ("start_line", "startLine", "start_line_one_indexed", "line_start", "start")
_LAST: Final = ("end_line", "endLine", "end_line_one_indexed_inclusive", "line_end", "end")
_PAIRS: Final = ("view_range", "viewRange", "range")
_SED: Final = re.compile(r"(\d+)(?:,(\d+|\$))?p;?")
_COUNT: Final = re.compile(r"-(?:n|-lines=)?(\d+)")


def lines_of_arguments(given: Mapping[str, object]) -> Lines | None:
    """Tell which lines a read tool is asked for; `None` where that is not clear.

    >>> lines_of_arguments({"file_path": "a.py", "offset": 100, "limit": 50})
    Lines(start=100, stop=150)
    """
    told = {key: value for key, value in given.items() if key in RANGE_KEYS and value not in (None, False, True)}
    if not told:
        return WHOLE
    start = next((number for key in ("offset", *_FIRST) if (number := _number(told.pop(key, None))) is not None), None)
    last = next((number for key in _LAST if (number := _number(told.pop(key, None))) is not None), None)
    limit = _number(told.pop("limit", None))
    pair = next((value for key in _PAIRS if isinstance(value := told.pop(key, None), list)), None)
    if told:
        return None
    if pair is not None:
        ends = [_number(value) for value in pair]
        if len(ends) != 2 or ends[0] is None or ends[1] is None:
            return None
        start, last = ends[0], ends[1] if ends[1] >= 0 else None
    first = max(1, start or 1)
    stop = first + limit if limit is not None else last + 1 if last is not None else inf
    return Lines(first, stop)


def lines_of_command(stages: Sequence[Sequence[str]]) -> Lines | None:
    """Tell which lines a pipeline of `cat`, `head` and `sed -n` shows; `None` where that is not clear.

    >>> lines_of_command([["sed", "-n", "10,20p", "a.py"]]), lines_of_command([["head", "-n", "5", "a.py"]])
    (Lines(start=10, stop=21), Lines(start=1, stop=6))
    """
    if len(stages) != 1:
        return None
    word, rest = stages[0][0], list(stages[0][1:])
    if word in ("cat", "bat", "batcat", "nl", "less", "more"):
        return WHOLE
    if word == "sed":
        ranges = [match for option in rest if (match := _SED.fullmatch(option))]
        return _of_sed(ranges[0]) if len(ranges) == 1 else None
    if word == "head":
        count = _head_count(rest)
        return None if count is None else Lines(1, 1 + count)
    return None


def _of_sed(match: re.Match[str]) -> Lines:
    start, last = int(match[1]), match[2]
    return Lines(start, inf if last == "$" else int(last or start) + 1)


def _head_count(rest: Sequence[str]) -> int | None:
    if "-c" in rest:
        return None
    if "-n" in rest[:-1]:
        value = rest[rest.index("-n") + 1]
        return int(value) if value.isdigit() else None
    counts = [int(match[1]) for option in rest if (match := _COUNT.fullmatch(option))]
    return counts[0] if counts else 10


def _number(value: object) -> int | None:
    if isinstance(value, str) and value.isdigit():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
