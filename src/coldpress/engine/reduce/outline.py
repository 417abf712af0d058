"""See how a tool laid out its lines: which have numbers of the tool's own, which file each is of, what stands above."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from coldpress.engine.catalogue import Kind

_NUMBERED: Final = re.compile(r"(?:(?P<path>(?:[A-Za-z]:)?[^\s:]{1,400}?)[:-])?[ \t]*(?:[*>][ \t]*)?\d{1,9}[:|│→\t-]")
"""A line's own number with the sign behind it, and the path in front of it where each line has one."""

_NUMBERING: Final[frozenset[Kind]] = frozenset(("search", "mcp", "unknown", "subagent"))
_SEPARATORS: Final = frozenset(("--", "---", "..."))
MIN_NUMBERED_SHARE: Final = 0.5
LOOKED_AT_CHARS: Final = 480


@dataclass(frozen=True, slots=True)
class Outline:
    """The lines of a result and how they belong together.

    Attributes:
        numbered: whether most lines have a number of the tool's own.
        has_number: of every line whether it has one, given that most have.
        groups: of every line what it is part of; equal numbers are of the same file, or of the same stretch.
        headings: of every line the index of the line above it that names its file, `None` where there is none.
        heading_lines: those that name a file or a folder.
    """

    numbered: bool
    has_number: tuple[bool, ...]
    groups: tuple[int, ...]
    headings: tuple[int | None, ...]
    heading_lines: frozenset[int]


def outline(lines: Sequence[str], kind: Kind, placed: Mapping[int, int] = MappingProxyType({})) -> Outline:
    """Read lines as `path:12:text`, as `12:text` beneath a path, as names beneath `folder:`, or as plain lines.

    Dates and times in front of a log's lines are no numbers of lines, so those are looked for in searches alone.

    Args:
        lines: of the result.
        kind: of the result.
        placed: of each line that is known to be of a file, by its index, the index of the line that names this file.
    """
    named = frozenset(placed.values())
    matches = [
        _NUMBERED.match(line, 0, LOOKED_AT_CHARS) if kind in _NUMBERING and at not in named else None
        for at, line in enumerate(lines)
    ]
    filled = sum(1 for line in lines if line.strip())
    count = sum(match is not None for match in matches)
    numbered = count > 0 and count >= MIN_NUMBERED_SHARE * filled
    groups: list[int] = []
    headings: list[int | None] = []
    known: dict[str, int] = {}
    heading: int | None = None
    group = 0
    for index, line in enumerate(lines):
        match = matches[index] if numbered else None
        path = match["path"] if match is not None else None
        if path is not None:
            # By the file's name alone: Claude Code spells the paths of hits and of context differently.
            heading, group = None, known.setdefault(path.rpartition("/")[2], index)
        elif index in placed:
            heading = group = placed[index]
        elif index in named or _is_heading(lines, matches, index, numbered=numbered):
            heading, group = index, index
        elif line.strip() in _SEPARATORS or (not numbered and not line.strip() and heading is not None):
            heading, group = (heading if numbered else None), index
        groups.append(group)
        headings.append(None if heading == index else heading)
    has_number = tuple(numbered and match is not None for match in matches)
    return Outline(
        numbered, has_number, tuple(groups), tuple(headings), frozenset(at for at in headings if at is not None)
    )


def _is_heading(lines: Sequence[str], matches: Sequence[re.Match[str] | None], index: int, *, numbered: bool) -> bool:
    """Whether a line names what stands beneath it."""
    line = lines[index].rstrip()
    if not line or index + 1 == len(lines) or matches[index] is not None:
        return False
    if numbered:
        below = matches[index + 1]
        return below is not None and below["path"] is None and line not in _SEPARATORS
    return line.endswith(":") and (index == 0 or not lines[index - 1].strip()) and bool(lines[index + 1].strip())
