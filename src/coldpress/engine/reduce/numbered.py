"""A result read line by line: each line as it stands, its own text, and the number a reader would call it by."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from coldpress.engine.reduce.numbering import Block, find_blocks, reminder_lines


@dataclass(frozen=True, slots=True)
class NumberedText:
    """Lines split at `\\n`.

    `own` are the lines without a reading tool's numbers; `reminders` the indexes of lines that a harness added.
    """

    lines: tuple[str, ...]
    own: tuple[str, ...]
    blocks: tuple[Block, ...]
    reminders: frozenset[int]

    @property
    def comparable(self) -> tuple[str | None, ...]:
        """Each line's own text, `None` for what must not count as a repeat.

        That is reminders, and in a numbered read everything that has no number.
        """
        if self.blocks:
            out: list[str | None] = [None] * len(self.own)
            for block in self.blocks:
                out[block.start : block.end] = self.own[block.start : block.end]
            return tuple(out)
        return tuple(None if index in self.reminders else line for index, line in enumerate(self.own))

    def block_of(self, index: int) -> Block | None:
        """The numbered block a line belongs to."""
        place = bisect_right(self.blocks, index, key=lambda block: block.start) - 1
        return self.blocks[place] if place >= 0 and index < self.blocks[place].end else None

    def number(self, index: int) -> int:
        """What a reader calls this line: its number in the file where shown, else its place in the result, from 1."""
        block = self.block_of(index)
        return index + 1 if block is None else block.first + index - block.start

    def runs_on(self, index: int) -> bool:
        """Whether a line's number follows that of the line before it."""
        return self.block_of(index) == self.block_of(index - 1)


def read_text(text: str, *, numbered: bool) -> NumberedText:
    """Split a result into lines, and where it is `numbered` take a reading tool's numbers off."""
    lines = tuple(text.split("\n"))
    reminders = reminder_lines(lines) if "<system-reminder>" in text else frozenset[int]()
    blocks = find_blocks(lines) if numbered else ()
    if not blocks:
        return NumberedText(lines, lines, (), reminders)
    own = list(lines)
    for block in blocks:
        own[block.start : block.end] = block.own(lines)
    return NumberedText(lines, tuple(own), blocks, reminders)
