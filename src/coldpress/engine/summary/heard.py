"""Keep what a sentence of a conversation is good for apart from what is told elsewhere, so that it is found once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from coldpress.engine.summary.bound import Candidate, chars_of

_GRAM: Final = 4


class Known:
    """A text in which names are looked up; as a string, but quick to say no."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._grams = frozenset(text[at : at + _GRAM] for at in range(len(text) - _GRAM + 1))

    def __contains__(self, name: str) -> bool:
        """Whether the text has it."""
        return (
            len(name) < _GRAM or (name[:_GRAM] in self._grams and name[-_GRAM:] in self._grams)
        ) and name in self._text


class Heard(NamedTuple):
    """What a sentence is good for.

    Attributes:
        plain: whatever else is told.
        names: that an outsider could not guess; `single` those of them that name one thing among many.
        named: where one of these names is told nowhere else.
        closing: where that is not so.
    """

    plain: tuple[Candidate, ...] = ()
    names: tuple[str, ...] = ()
    single: tuple[str, ...] = ()
    named: tuple[Candidate, ...] = ()
    closing: tuple[Candidate, ...] = ()

    def beside(self, known: Known) -> Iterator[Candidate]:
        """Give what it is good for beside the names that are told already."""
        if any(name not in known for name in self.names):
            # What names one thing among many comes before what measures or prices something.
            weight = 6 if any(name not in known for name in self.single) else 5
            yield from (candidate._replace(weight=weight) for candidate in self.named)
        else:
            yield from self.plain or self.closing

    @property
    def chars(self) -> int:
        """Characters of text that it holds."""
        return chars_of((*self.plain, *self.named, *self.closing)) + sum(map(len, self.names))
