"""Tell which lines of a file a read shows, so that a later read can be known to show them all again."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final

import msgspec

from coldpress.engine.catalogue import Classified
from coldpress.engine.markers import is_client_truncated
from coldpress.engine.reduce.numbered import read_text

READ_CAP_LINES: Final = 2_000
"""Claude Code, OpenCode and others show this many lines of a file that is read whole, and say nothing of the rest."""

_WHOLE_FILE: Final = re.compile(r"\s*(?:cat|nl|bat|less|more)\b[^|;&<>]*\Z")
_SED: Final = re.compile(r"\s*sed\s+-n\s+['\"]?(\d+),(\d+|\$)p['\"]?\s[^|;&<>]*\Z")
_HEAD: Final = re.compile(r"\s*head\s+(?:-n\s*|-)(\d+)\s[^|;&<>]*\Z")
_CD: Final = re.compile(r"\s*cd\s+\S+\s*&&")


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of a file from `first` to `last`, both included, counted from 1; infinite for up to the end."""

    first: float = 1
    last: float = math.inf

    def covers(self, other: Lines) -> bool:
        """Whether all of the other lines are among these."""
        return self.first <= other.first and other.last <= self.last


WHOLE: Final = Lines()


def lines_shown(classified: Classified, arguments: str, text: str) -> Lines | None:
    """Give the lines that a read of one file shows; `None` where that is not clear.

    Args:
        classified: the call, a source with a target.
        arguments: JSON text that the call was made with.
        text: the result.

    A call for the whole file shows all of it, unless it may have come up to a limit: then the lines' own numbers count.
    """
    asked = _asked_by_command(classified.command) if classified.command is not None else _asked(arguments)
    is_cut = is_client_truncated(text)
    if asked is None or (asked == WHOLE and not is_cut and text.count("\n") + 1 < READ_CAP_LINES):
        return asked
    blocks = read_text(text, numbered=classified.numbered).blocks
    if not blocks:
        return None if is_cut or asked == WHOLE else asked
    last = blocks[-1]
    return Lines(blocks[0].first, last.first + last.end - last.start - 1)


def _asked_by_command(command: str) -> Lines | None:
    command = _CD.sub("", command, count=1)
    if _WHOLE_FILE.match(command):
        return WHOLE
    if found := _SED.match(command):
        return Lines(int(found[1]), math.inf if found[2] == "$" else int(found[2]))
    found = _HEAD.match(command)
    return Lines(1, int(found[1])) if found else None


class _Range(msgspec.Struct):
    """Arguments by which reading tools ask for a part of a file; other types than these are not understood."""

    offset: int | None = None
    limit: int | None = None
    start_line: int | None = None
    end_line: int | None = None
    view_range: tuple[int, int] | None = None
    pages: object = None
    range: object = None


def _asked(arguments: str) -> Lines | None:
    try:
        given = msgspec.json.decode(arguments, type=_Range)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return None
    if given.pages is not None or given.range is not None:
        return None
    if given.view_range is not None:
        first, last = given.view_range
        return Lines(first, math.inf if last < 0 else last)
    if given.start_line is not None or given.end_line is not None:
        return Lines(given.start_line or 1, given.end_line or math.inf)
    first = max(1, given.offset or 1)
    return Lines(first, math.inf if given.limit is None else first + given.limit - 1)
