"""Count what an importer read and what became of it, so that nothing is dropped in silence.

An *object* is what an importer takes one by one: a line's JSON object, or a message, step or event of a document. Each
has one fate. *Used*: a trajectory or the head holds it, or something of it. *Set aside*: it is known what it is, and it
is in no trajectory. *Unknown*: of a kind that the importer does not know. Beside the objects, pieces of text that are
none are *broken*.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

_WAITING, _USED, _SET_ASIDE, _UNKNOWN = range(4)


@dataclass(frozen=True, slots=True)
class Counts:
    """What one recording held.

    For every file, `used + set_aside + unknown + broken == pieces`, and so `unsettled` is zero: tests hold every
    importer to it.

    Attributes:
        lines: of the file; 1 for a document.
        objects: JSON objects that were taken one by one.
        kinds: objects by their kind, sorted by name.
        skipped: what is in no trajectory, or is there in another shape than recorded, by reason, sorted by name.
            Reasons may count parts of an object, so their sum is no count of objects.
        used: objects that a trajectory or the head holds.
        set_aside: objects of a known kind that nothing holds.
        unknown: objects of a kind that is not known.
        broken: pieces that are no JSON object.
    """

    lines: int
    objects: int
    kinds: tuple[tuple[str, int], ...]
    skipped: tuple[tuple[str, int], ...]
    used: int
    set_aside: int
    unknown: int
    broken: int

    @property
    def pieces(self) -> int:
        """Everything that was read: objects, and what is none."""
        return self.objects + self.broken

    @property
    def unsettled(self) -> int:
        """Objects of which the importer did not say what became of them."""
        return self.objects - self.used - self.set_aside - self.unknown

    def __add__(self, other: Counts) -> Counts:
        """Add up two recordings."""
        return Counts(
            self.lines + other.lines,
            self.objects + other.objects,
            _sorted(Counter(dict(self.kinds)) + Counter(dict(other.kinds))),
            _sorted(Counter(dict(self.skipped)) + Counter(dict(other.skipped))),
            self.used + other.used,
            self.set_aside + other.set_aside,
            self.unknown + other.unknown,
            self.broken + other.broken,
        )

    def table(self) -> str:
        """Lay the counts out as lines of text for people."""
        rows = [("lines", self.lines), ("objects", self.objects)]
        rows += [(f"  {kind}", count) for kind, count in self.kinds]
        rows += [("used", self.used), ("known and set aside", self.set_aside), ("of an unknown kind", self.unknown)]
        rows.append(("broken", self.broken))
        rows += [(f"  not used: {reason}", count) for reason, count in self.skipped]
        return "\n".join(f"{count:>8}  {label}" for label, count in rows)


class Tally:
    """Collects counts while a file is read.

    `skipped` takes reasons that concern a part of an object; the methods take what concerns a whole one.
    """

    def __init__(self) -> None:
        self.lines = 0
        self.kinds: Counter[str] = Counter()
        self.skipped: Counter[str] = Counter()
        self._broken = 0
        self._fates = bytearray()

    def take(self, kind: str) -> int:
        """Count an object, and give the number that its fate is told by: 0 for the first, and so on."""
        self.kinds[kind] += 1
        self._fates.append(_WAITING)
        return len(self._fates) - 1

    def use(self, *numbers: int) -> None:
        """Say that something holds these objects, whatever was said of them before."""
        for number in numbers:
            self._fates[number] = _USED

    def set_aside(self, reason: str, *numbers: int) -> None:
        """Count a reason once, and say that nothing holds these objects for it, unless something does."""
        self.skipped[reason] += 1
        self._settle(numbers, _SET_ASIDE)

    def pass_over(self, *numbers: int) -> None:
        """Say that nothing holds these objects, unless something does; the reason was counted before."""
        self._settle(numbers, _SET_ASIDE)

    def not_known(self, reason: str, *numbers: int) -> None:
        """Count a reason once, and say that it is not known what these objects are, unless something holds them."""
        self.skipped[reason] += 1
        self._settle(numbers, _UNKNOWN)

    def broken(self, reason: str) -> None:
        """Count a piece that is no object."""
        self.skipped[reason] += 1
        self._broken += 1

    def holds(self, number: int) -> bool:
        """Whether something holds this object, so far."""
        return self._fates[number] == _USED

    def _settle(self, numbers: Iterable[int], fate: int) -> None:
        for number in numbers:
            if self._fates[number] == _WAITING:
                self._fates[number] = fate

    def counts(self) -> Counts:
        """Take what was counted so far as a value."""
        return Counts(
            self.lines,
            self.kinds.total(),
            _sorted(self.kinds),
            _sorted(self.skipped),
            self._fates.count(_USED),
            self._fates.count(_SET_ASIDE),
            self._fates.count(_UNKNOWN),
            self._broken,
        )


def _sorted(counter: Counter[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted((name, count) for name, count in counter.items() if count))
