"""Find the line numbers that a reading tool wrote before the lines of a file, and tell them from the file's own text.

Known shapes: `     1→text` and `     1<tab>text` (Claude Code, SWE-agent, OpenHands), `00001| text` (OpenCode),
`   1|text` (Crush), `1: text` and `1|text` (no padding). Lines end at `\\n` only, as these tools count them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from coldpress.engine.markers import MARK

MIN_SHARE = 0.6
"""Numbered share of a text's lines below which the numbers are taken for the text's own."""
MIN_LINES = 3
_NUMBERED = re.compile(r"( *|0*)([1-9][0-9]{0,8}|0)(→|\t|\| |\||: )")
_REMINDER, _REMINDER_END = "<system-reminder>", "</system-reminder>"


@dataclass(frozen=True, slots=True)
class Wrapper:
    """How a tool writes a number before a line: filled to a width, then a separator."""

    fill: str
    width: int
    separator: str

    def prefix(self, number: int) -> str:
        """Write one number as the tool does."""
        return str(number).rjust(self.width, self.fill or " ") + self.separator


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive lines with consecutive numbers in one wrapper; `start` and `count` are line indexes of the text."""

    start: int
    count: int
    first: int
    wrapper: Wrapper

    @property
    def end(self) -> int:
        """Index of the line after the last."""
        return self.start + self.count

    def own(self, lines: Sequence[str]) -> list[str]:
        """Give the block's lines without their numbers."""
        out: list[str] = []
        index = self.start
        while index < self.end:
            number = self.first + index - self.start
            same_length = min(self.end, index + 10 ** len(str(number)) - number)
            skip = len(self.wrapper.prefix(number))
            out += [line[skip:] for line in lines[index:same_length]]
            index = same_length
        return out


def reminder_lines(lines: Sequence[str]) -> frozenset[int]:
    """Indexes of lines that a harness added as instructions to the model, `<system-reminder>` to its end."""
    found: set[int] = set()
    inside = False
    for index, line in enumerate(lines):
        inside = inside or line.startswith(_REMINDER)
        if inside:
            found.add(index)
            inside = _REMINDER_END not in line
    return frozenset(found)


def find_blocks(lines: Sequence[str]) -> tuple[Block, ...]:
    """Find the numbered blocks of a read result; empty where the numbering is not clearly a tool's.

    It is a tool's if numbers run on by one in one and the same wrapper and cover most lines that are
    neither reminders nor our own markers. A single numbered line counts only if it continues the
    numbers of a block before it, as happens where a repeat was left out between them.
    """
    blocks = tuple(_scan(lines))
    numbered = sum(block.count for block in blocks)
    if numbered < MIN_LINES:
        return ()
    others = len(lines) - numbered - len(reminder_lines(lines))
    others -= sum(1 for line in lines if not line or line.startswith(MARK))
    return blocks if numbered >= MIN_SHARE * (numbered + max(0, others)) else ()


def _scan(lines: Sequence[str]) -> Iterator[Block]:
    index, last = 0, None
    while index < len(lines):
        match = _NUMBERED.match(lines[index])
        if match is None:
            index += 1
            continue
        fill, first = match[1][:1], int(match[2])
        width = len(match[1]) + len(match[2]) if fill else 0
        # A space behind the bar may be the file's own: what the lines behind it have decides.
        separators = ("| ", "|") if match[3] == "| " else (match[3],)
        wrappers = [Wrapper(fill, width, separator) for separator in separators]
        block = max(
            (Block(index, _run_length(lines, index, first, wrapper), first, wrapper) for wrapper in wrappers),
            key=lambda found: found.count,
        )
        if block.count > 1 or _continues(last, block):
            yield block
            last = block
        index = block.end


def _run_length(lines: Sequence[str], start: int, first: int, wrapper: Wrapper) -> int:
    # Written out for speed: this runs over every line of every read and of every text it is compared with.
    fill, width, separator = wrapper.fill or " ", wrapper.width, wrapper.separator
    number = first
    for line in islice(lines, start + 1, None):
        number += 1
        if not line.startswith(str(number).rjust(width, fill) + separator):
            return number - first
    return len(lines) - start


def _continues(last: Block | None, block: Block) -> bool:
    if last is None or block.first < last.first + last.count:
        return False
    return block.wrapper.separator == last.wrapper.separator and block.wrapper.fill in ("", last.wrapper.fill)
