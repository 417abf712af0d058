"""Divide recordings into those that settings are chosen on and those that they are judged on, with like bills."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from coldpress.lab.results import Bill


@dataclass(frozen=True, slots=True)
class Known:
    """A recording that could be replayed, with its bill under the defaults."""

    path: Path
    bill: Bill


@dataclass(frozen=True, slots=True)
class Halves:
    """Recordings to choose on and to judge on, each in the order of their bills; no content stands in both."""

    tuning: tuple[Known, ...]
    held_out: tuple[Known, ...]


def halves(known: Sequence[Known], families: Sequence[Sequence[Path]] = (), *, seed: int) -> Halves:
    """Divide recordings.

    They are put in the order of what the client's own bodies cost; of every two neighbours one goes to each half, by a
    hash of seed and content. So both halves have large and small ones, and names, folders and the order in which files
    were found say nothing. Of several recordings with one content the first counts. A family goes to one half, as one
    neighbour that costs what all of it costs.

    Args:
        known: recordings.
        families: files that hold some of the same requests, see `coldpress.lab.families`.
        seed: of the hash.
    """
    ordered = sorted(_together(known, families), key=_rank)
    tuning: list[Known] = []
    held_out: list[Known] = []
    for begin in range(0, len(ordered), 2):
        drawn = sorted(ordered[begin : begin + 2], key=lambda some: _hash(some[0].bill.content, seed))
        if len(drawn) == 2:
            tuning += drawn[0]
            held_out += drawn[1]
        else:
            # The odd one is the dearest of all; its hash alone decides.
            odd = drawn[0]
            (tuning if int(_hash(odd[0].bill.content, seed), 16) % 2 else held_out).extend(odd)
    return Halves(_by_bill(tuning), _by_bill(held_out))


def _together(known: Sequence[Known], families: Sequence[Sequence[Path]]) -> list[tuple[Known, ...]]:
    """Give what goes to one half together: families, and most recordings alone. Each content stands there once."""
    family_of = {path: number for number, family in enumerate(families) for path in family}
    distinct = {one.bill.content: one for one in reversed(known)}
    groups: dict[int | str, list[Known]] = {}
    for content, one in sorted(distinct.items()):
        groups.setdefault(family_of.get(one.path, content), []).append(one)
    return [tuple(group) for group in groups.values()]


def _rank(group: Sequence[Known]) -> tuple[float, str]:
    return sum(one.bill.control_usd for one in group), group[0].bill.content


def _by_bill(half: list[Known]) -> tuple[Known, ...]:
    return tuple(sorted(half, key=lambda one: (one.bill.control_usd, one.bill.content)))


def _hash(content: str, seed: int) -> str:
    return hashlib.sha256(f"{seed} {content}".encode()).hexdigest()
