"""Find runs of lines that stand in earlier texts too, in time linear in all lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

MAX_PLACES = 4
"""Places in the new text that are tried for one window of lines; more are met only in texts that repeat themselves."""


@dataclass(frozen=True, slots=True)
class Match:
    """`count` lines from `start` are the lines from `there` of the text `referent`."""

    start: int
    count: int
    referent: int
    there: int

    def part(self, offset: int, count: int) -> Match:
        """A run of lines inside this one."""
        return Match(self.start + offset, count, self.referent, self.there + offset)


def find_matches(
    keys: Sequence[str | None], referents: Sequence[Sequence[str | None]], *, minimum: int
) -> tuple[Match, ...]:
    """Find runs of at least `minimum` lines, each as long as it goes. A `None` line equals nothing.

    They may overlap; `cover` chooses. Lines are numbered once and referents are looked at in windows
    of `minimum` lines, and only where that many known lines stand together, which is rare.
    """
    number_of: dict[str, int] = {}
    new = [None if key is None else number_of.setdefault(key, len(number_of)) for key in keys]
    places: dict[tuple[int | None, ...], list[int]] = {}
    for start in _windows(new, minimum):
        at = places.setdefault(tuple(new[start : start + minimum]), [])
        if len(at) < MAX_PLACES:
            at.append(start)
    found: list[Match] = []
    for index, lines in enumerate(referents):
        old = [None if line is None else number_of.get(line) for line in lines]
        found += _matches_in(new, old, places, index, minimum)
    return tuple(found)


def cover(matches: Iterable[Match], minimum: int) -> tuple[Match, ...]:
    """Choose runs that do not overlap, long ones first, of equals the first referent; in order of the new text.

    What is left of a run beside a chosen one is used where it still has `minimum` lines.
    """
    taken: set[int] = set()
    chosen: list[Match] = []
    for match in sorted(matches, key=lambda m: (-m.count, m.referent, m.start, m.there)):
        for offset, count in _free(match, taken):
            if count >= minimum:
                part = match.part(offset, count)
                chosen.append(part)
                taken.update(range(part.start, part.start + count))
    return tuple(sorted(chosen, key=lambda m: m.start))


def _windows(lines: Sequence[int | None], size: int) -> Iterator[int]:
    known = 0
    for index, line in enumerate(lines):
        known = 0 if line is None else known + 1
        if known >= size:
            yield index - size + 1


def _matches_in(
    new: Sequence[int | None],
    old: Sequence[int | None],
    places: dict[tuple[int | None, ...], list[int]],
    referent: int,
    minimum: int,
) -> Iterator[Match]:
    done = 0
    for there in _windows(old, minimum):
        if there < done:
            continue
        for start in places.get(tuple(old[there : there + minimum]), ()):
            count = _extend(new, old, start, there, minimum)
            done = max(done, there + count)
            yield Match(start, count, referent, there)


def _extend(new: Sequence[int | None], old: Sequence[int | None], start: int, there: int, count: int) -> int:
    limit = min(len(new) - start, len(old) - there)
    while count < limit and new[start + count] is not None and new[start + count] == old[there + count]:
        count += 1
    return count


def _free(match: Match, taken: set[int]) -> Iterator[tuple[int, int]]:
    offset = 0
    for end in range(match.count + 1):
        if end == match.count or match.start + end in taken:
            if end > offset:
                yield offset, end - offset
            offset = end + 1
