"""Find what an agent quotes of earlier tool results, and whether what it quotes was still shown to it.

Nothing here knows how a view is made: texts are compared as they were received and as they were sent, with
the line numbers of reading and searching tools taken off.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from coldpress.lab.blocks import strings
from coldpress.lab.edit_calls import old_texts

LONG_LINE = 40
"""Characters from which a line tells where it came from; shorter ones repeat by chance."""

_READ_NUMBER = re.compile(r"^ *\d+(?:→|\t)", re.MULTILINE)
_SEARCH_NUMBER = re.compile(r"^(?:[^\s:]+[:-])?\d+[:-]", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Quoted:
    """What the calls of a run quoted.

    Attributes:
        edits: old texts of edits, all of them.
        from_results: of these, how many stood in one piece in an earlier tool result as it was received.
        broken: of these, how many stood in one piece in nothing that was sent.
        line_lost: edits of which a long line stood in an earlier result and in nothing that was sent.
        lines: long lines of tool inputs, of any tool, that are whole lines of an earlier result.
        lines_lost: of these, how many stood in nothing that was sent.
        examples: the old texts of `broken` edits.
    """

    edits: int = 0
    from_results: int = 0
    broken: int = 0
    line_lost: int = 0
    lines: int = 0
    lines_lost: int = 0
    examples: tuple[str, ...] = field(default=(), repr=False)

    def __add__(self, other: Quoted) -> Quoted:
        return Quoted(
            self.edits + other.edits,
            self.from_results + other.from_results,
            self.broken + other.broken,
            self.line_lost + other.line_lost,
            self.lines + other.lines,
            self.lines_lost + other.lines_lost,
            self.examples + other.examples,
        )


class Shown:
    """The texts of one conversation so far, as its tools gave them and as they were sent to the model."""

    def __init__(self) -> None:
        self._originals: list[str] = []
        self._original_lines: set[str] = set()
        self._sent: list[str] = []
        self._sent_lines: set[str] = set()

    def result(self, original: str, sent: str) -> None:
        """Add a tool result."""
        for text in readings(original):
            self._originals.append(text)
            self._original_lines.update(_long_lines(text))
        for text in readings(sent):
            self.said(text)

    def said(self, text: str) -> None:
        """Add any other text that is sent: of the user, of the model, of a tool's input."""
        self._sent.append(text)
        self._sent_lines.update(_long_lines(text))

    def input(self, arguments: object) -> None:
        """Add the decoded input of a tool call."""
        for text in strings(arguments):
            self.said(text)

    def call(self, tool: str, arguments: object) -> Quoted:
        """Look at a tool call made on sight of all this; `arguments` is its decoded input."""
        old = tuple(old_texts(tool, arguments))
        found = sum((self._edit(text) for text in old), Quoted())
        quoted = {line for text in strings(arguments) for line in _long_lines(text)} & self._original_lines
        lost = sum(not self._is_sent(line) for line in quoted)
        return found + Quoted(lines=len(quoted), lines_lost=lost)

    def _edit(self, old: str) -> Quoted:
        from_results = any(old in text for text in self._originals)
        broken = from_results and not any(old in text for text in self._sent)
        lost = any(
            not self._is_sent(line) and any(line in text for text in self._originals) for line in _long_lines(old)
        )
        return Quoted(1, int(from_results), int(broken), int(lost), examples=(old,) if broken else ())

    def _is_sent(self, line: str) -> bool:
        return line in self._sent_lines or any(line in text for text in self._sent)


def readings(text: str) -> tuple[str, ...]:
    """Give a text as it stands, and without what reading and searching tools write before its lines."""
    return tuple(dict.fromkeys((text, _READ_NUMBER.sub("", text), _SEARCH_NUMBER.sub("", text))))


def _long_lines(text: str) -> Iterable[str]:
    return (line for part in text.split("\n") if len(line := part.strip()) >= LONG_LINE)
