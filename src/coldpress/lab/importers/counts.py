"""Count what an importer read and what it left out, so that nothing is dropped in silence."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Counts:
    """What one recording held.

    `kinds` counts the JSON objects by their kind. `skipped` counts what is in no trajectory, or is there
    in another shape than recorded, by reason; both are sorted by name.
    """

    lines: int
    objects: int
    kinds: tuple[tuple[str, int], ...]
    skipped: tuple[tuple[str, int], ...]

    def __add__(self, other: Counts) -> Counts:
        """Add up two recordings."""
        return Counts(
            self.lines + other.lines,
            self.objects + other.objects,
            _sorted(Counter(dict(self.kinds)) + Counter(dict(other.kinds))),
            _sorted(Counter(dict(self.skipped)) + Counter(dict(other.skipped))),
        )

    def table(self) -> str:
        """Lay the counts out as lines of text for people."""
        rows = [("lines", self.lines), ("objects", self.objects)]
        rows += [(f"  {kind}", count) for kind, count in self.kinds]
        rows += [(f"  not used: {reason}", count) for reason, count in self.skipped]
        return "\n".join(f"{count:>8}  {label}" for label, count in rows)


class Tally:
    """Collects counts while a file is read."""

    def __init__(self) -> None:
        self.lines = 0
        self.kinds: Counter[str] = Counter()
        self.skipped: Counter[str] = Counter()

    def counts(self) -> Counts:
        """Take what was counted so far as a value."""
        return Counts(self.lines, self.kinds.total(), _sorted(self.kinds), _sorted(self.skipped))


def _sorted(counter: Counter[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted((name, count) for name, count in counter.items() if count))
