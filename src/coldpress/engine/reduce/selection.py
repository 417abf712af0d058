"""Choose the lines of a view: both ends, what warns, the best matches with their headings, what stands around them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from coldpress.engine.reduce.outline import Outline
from coldpress.engine.reduce.relevance import Relevance

GAP_BYTES: Final = 42
"""What the count of left-out lines takes, its line feed included."""

NOTABLE_SHARE: Final = 1 / 3
LEAST_SHARE_OF_BEST: Final = 4
"""A line without a name matches if it is worth a fourth of the best one: beside names, a word of prose is chance."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much may be shown.

    Attributes:
        lines: at most, headings aside.
        bytes: at most, counts of gaps included.
        half_bytes: more than this would be half of the result.
        context: lines on either side of a match.
        fill_bytes: up to this, less relevant lines are shown where matches leave room.
    """

    lines: int
    bytes: int
    half_bytes: int
    context: int
    fill_bytes: int


@dataclass(frozen=True, slots=True)
class Selection:
    """Indexes of the chosen lines, in order, which of them match, and how many that match are not among them."""

    lines: tuple[int, ...]
    matching: frozenset[int]
    missed: int


def select(
    sizes: Sequence[int], laid_out: Outline, found: Relevance, notable: Sequence[int], bounds: Bounds
) -> Selection | None:
    """Choose lines; `None` where half of the result matches, or no match fits.

    Args:
        sizes: UTF-8 bytes of each line as it would be shown.
        laid_out: how the lines belong together.
        found: what each line is worth; some line is worth something.
        notable: lines to show whatever they are worth, as far as they take a third of the room.
        bounds: how much may be shown.
    """
    room = _Room(sizes, bounds.lines, min(bounds.bytes, bounds.half_bytes), laid_out.heading_lines)
    least = max(found.scores) / LEAST_SHARE_OF_BEST
    ranked = _ranked(laid_out, found.scores)
    hits = [index for index in ranked if found.named[index] or found.scores[index] >= least]
    first = 1 if 0 in laid_out.heading_lines else 0
    for end in (first, len(sizes) - 1):
        room.take(_with_heading(laid_out, end))
    room.take_all(_from_both_ends(notable), NOTABLE_SHARE)
    taken = [index for index in hits if not room.is_full and room.take(_with_heading(laid_out, index))]
    missed = len(hits) - len(taken)
    if not taken or (missed and bounds.half_bytes < bounds.bytes):
        return None
    for near in _around(laid_out, taken, range(1, bounds.context + 1)):
        room.take((near,))
    room.take_all(notable, 1)
    # Few matches may mean that the guidance says little. docs/explanation/keyword.md has what this is worth.
    for index in _next_best(ranked, len(sizes)):
        if room.is_full or room.spent >= bounds.fill_bytes:
            break
        room.take(_with_heading(laid_out, index))
    room.fill()
    matching = frozenset(room.chosen.intersection(hits))
    return Selection(tuple(sorted(room.chosen)), matching, len(hits) - len(matching))


class _Room:
    """What is chosen so far, and how much more fits."""

    def __init__(self, sizes: Sequence[int], lines: int, most_bytes: int, free: Collection[int]) -> None:
        """`free` are the lines that count as bytes alone."""
        self.chosen: set[int] = set()
        self._sizes = sizes
        self._lines = lines
        self._free = free
        self._bytes = most_bytes - GAP_BYTES
        self._all_bytes = most_bytes

    def take(self, indexes: Iterable[int]) -> bool:
        """Add lines, all or none; whether they are in."""
        new = [index for index in indexes if index not in self.chosen]
        lines = sum(index not in self._free for index in new)
        if lines > self._lines:
            return False
        cost = 0
        for done, index in enumerate(new):
            cost += self._cost(index)
            self.chosen.add(index)
            if cost > self._bytes:
                self.chosen.difference_update(new[: done + 1])
                return False
        self._lines -= lines
        self._bytes -= cost
        return True

    @property
    def is_full(self) -> bool:
        """Whether not one more line fits."""
        return self._lines <= 0 or self._bytes <= 0

    @property
    def spent(self) -> int:
        """Bytes that are taken."""
        return self._all_bytes - self._bytes

    def take_all(self, indexes: Iterable[int], share: float) -> None:
        """Add lines one by one while they fit in a share of the room there was."""
        least = self._all_bytes * (1 - share)
        lines = self._lines * (1 - share)
        for index in indexes:
            if self._bytes - self._sizes[index] - GAP_BYTES < least or self._lines <= lines:
                break
            self.take((index,))

    def fill(self) -> None:
        """Show what is shorter than its count would be."""
        before = -1
        for index in (*sorted(self.chosen), len(self._sizes)):
            between = range(before + 1, index)
            if 0 < len(between) <= GAP_BYTES and sum(self._sizes[i] + 1 for i in between) <= GAP_BYTES:
                self.take(between)
            before = index

    def _cost(self, index: int) -> int:
        """Bytes that showing a line takes, given what is shown: it may part a gap in two, or close one."""
        before = index == 0 or index - 1 in self.chosen
        behind = index + 1 == len(self._sizes) or index + 1 in self.chosen
        return self._sizes[index] + 1 + GAP_BYTES * (1 - before - behind)


def _ranked(laid_out: Outline, scores: Sequence[int]) -> list[int]:
    """Lines by what they are worth; of equals the first of every file come before the second."""
    seen: dict[tuple[int, int], int] = {}
    keys: list[tuple[int, int, int]] = []
    for index, score in enumerate(scores):
        if score:
            place = (laid_out.groups[index], score) if laid_out.numbered else (index, score)
            turn = seen[place] = seen.get(place, 0) + 1
            keys.append((-score, turn, index))
    return [index for _, _, index in sorted(keys)]


def _around(laid_out: Outline, indexes: Sequence[int], distances: range) -> Iterator[int]:
    """The lines at these distances from each of some lines, the nearest first, of the same file."""
    count = len(laid_out.groups)
    for distance in distances:
        for index in indexes:
            for near in (index - distance, index + distance):
                if 0 <= near < count and laid_out.groups[near] == laid_out.groups[index]:
                    yield near


def _next_best(ranked: Sequence[int], count: int) -> Iterator[int]:
    """What to show beyond matches: lines that match less, then both ends."""
    yield from ranked
    for distance in range((count + 1) // 2):
        yield count - 1 - distance
        yield distance


def _with_heading(laid_out: Outline, index: int) -> tuple[int, ...]:
    heading = laid_out.headings[index]
    return (index,) if heading is None else (heading, index)


def _from_both_ends(indexes: Sequence[int]) -> list[int]:
    """The last, the first, the last but one, and so on: the first is often the cause, the last often the sum."""
    half = len(indexes) // 2
    behind, front = list(reversed(indexes[half:])), list(indexes[:half])
    out = [index for pair in zip(behind, front, strict=False) for index in pair]
    return [*out, *behind[len(front) :]]
