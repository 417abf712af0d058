"""Score the lines of a text by the words somebody looks for: rare names count most, words that are everywhere least."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from typing import Final

from coldpress.engine.words import NAME, Word, parts

MAX_PHRASE_LINES: Final = 100_000
"""Lines with a quoted string or compound name, each counted once for every one: where they are more, none tells."""

CHARS_PER_PLACE: Final = 8
"""Of quoted strings and compound names, one place in so many characters is told, those worth most first."""

_IN_NAME: Final = re.compile(r"\w")


@dataclass(frozen=True, slots=True)
class Relevance:
    """What the lines of a text are worth.

    Attributes:
        scores: of every line, 0 where nothing that is looked for stands in it.
        named: of every line whether a name or quoted string stands in it that no more than half of the lines have.
        words: those that were found, the one that tells most first.
        places: gives every place in a piece of text at which something that is looked for begins, with what finding it
            is worth, in order.
    """

    scores: tuple[int, ...]
    named: tuple[bool, ...]
    words: tuple[Word, ...]
    places: Callable[[str], list[tuple[int, int]]]


def relevance(lines: Sequence[str], wanted: Sequence[Word]) -> Relevance | None:
    """Score lines. A word counts once a line: its weight, times how often the lines that have it halve all lines.

    A word of weight 8 in one of 1,000 lines is worth 72. One in more than half of the lines is worth nothing, unless
    all that are found are such: then each line is worth what they weigh. Takes time linear in the text. `None` where
    what is looked for stands in more places than `MAX_PHRASE_LINES`.
    """
    lookup = _Lookup(wanted)
    found = _found(lines, wanted, lookup)
    if found is None:
        return None
    counts = Counter(place for places in found for place in places)
    values = _values(wanted, counts, len(lines))
    scores = tuple(sum(map(values.__getitem__, places)) if places else 0 for places in found)
    telling = {at for at, word in enumerate(wanted) if word.rank == "exact" and 2 * counts[at] <= len(lines)}
    named = tuple(not telling.isdisjoint(places) for places in found)
    best = sorted(counts, key=lambda at: (-values[at], at))
    return Relevance(scores, named, tuple(wanted[at] for at in best), _places_of(wanted, values, lookup))


def _values(wanted: Sequence[Word], counts: Mapping[int, int], lines: int) -> tuple[int, ...]:
    """What finding each word is worth. One that stands in most lines tells none of them from the others."""
    values = tuple(
        word.weight * ((lines // counts[at]).bit_length() - 1) if counts[at] else 0 for at, word in enumerate(wanted)
    )
    return values if any(values) else tuple(word.weight if counts[at] else 0 for at, word in enumerate(wanted))


class _Lookup(dict[str, tuple[int, ...]]):
    """Which of the wanted words a run of letters and digits is, or has among its pieces; each run is split once."""

    def __init__(self, wanted: Sequence[Word]) -> None:
        super().__init__()
        self._whole = {word.text: at for at, word in enumerate(wanted) if word.rank == "exact" and not word.is_phrase}
        self._pieces = {word.text: at for at, word in enumerate(wanted) if word.rank != "exact"}

    def __missing__(self, token: str) -> tuple[int, ...]:
        whole = self._whole.get(token.lower())
        pieces = {self._pieces.get(piece) for piece in parts(token)}
        found = tuple(sorted({at for at in (whole, *pieces) if at is not None}))
        self[token] = found
        return found


def _found(lines: Sequence[str], wanted: Sequence[Word], lookup: _Lookup) -> list[list[int]] | None:
    """List for every line the indexes of the words that stand in it; `None` where that would be too many."""
    found = [list({at for ats in map(lookup.__getitem__, NAME.findall(line)) if ats for at in ats}) for line in lines]
    for count, (at, line_number) in enumerate(_phrase_lines(lines, wanted)):
        if count >= MAX_PHRASE_LINES:
            return None
        found[line_number].append(at)
    return found


def _phrase_lines(lines: Sequence[str], wanted: Sequence[Word]) -> Iterator[tuple[int, int]]:
    """Pair each quoted string or compound name with every line it stands in."""
    phrases = [(at, word.text) for at, word in enumerate(wanted) if word.is_phrase]
    if not phrases:
        return
    text = "\n".join(lines)
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    for at, phrase in phrases:
        if phrase not in text:
            continue
        standing = _standing(phrase)
        found = standing.search(text)
        while found is not None:
            line = bisect_right(starts, found.start()) - 1
            yield at, line
            found = standing.search(text, starts[line + 1])


def _standing(phrase: str) -> re.Pattern[str]:
    """A phrase that does not go on as a longer name. It comes first in the pattern: that makes the search fast."""
    literal = re.escape(phrase)
    before = rf"(?<!\w{literal})" if _IN_NAME.match(phrase[0]) else ""
    behind = r"(?!\w)" if _IN_NAME.match(phrase[-1]) else ""
    return re.compile(f"{literal}{before}{behind}")


def _places_of(
    wanted: Sequence[Word], values: Sequence[int], lookup: _Lookup
) -> Callable[[str], list[tuple[int, int]]]:
    worthy = [(values[at], word.text) for at, word in enumerate(wanted) if word.is_phrase and values[at]]
    phrases = sorted(worthy, key=lambda phrase: -phrase[0])

    def places(text: str) -> list[tuple[int, int]]:
        worth = Counter[int]()
        for match in NAME.finditer(text):
            if ats := lookup[match[0]]:
                worth[match.start()] += sum(values[at] for at in ats)
        for value, place in islice(_phrases_in(text, phrases), len(text) // CHARS_PER_PLACE):
            worth[place] += value
        return sorted(worth.items())

    return places


def _phrases_in(text: str, phrases: Sequence[tuple[int, str]]) -> Iterator[tuple[int, int]]:
    """Pair what each phrase is worth with every place it stands at."""
    for value, phrase in phrases:
        if phrase in text:
            yield from ((value, match.start()) for match in _standing(phrase).finditer(text))
