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


def halves(known: Sequence[Known], *, seed: int) -> Halves:
    """Divide recordings.

    They are put in the order of what the client's own bodies cost; of every two neighbours one goes to each half, by a
    hash of seed and content. So both halves have large and small ones, and names, folders and the order in which files
    were found say nothing. Of several recordings with one content the first counts.

    Args:
        known: recordings.
        seed: of the hash.
    """
    distinct = {one.bill.content: one for one in reversed(known)}
    ordered = sorted(distinct.values(), key=lambda one: (one.bill.control_usd, one.bill.content))
    tuning: list[Known] = []
    held_out: list[Known] = []
    for begin in range(0, len(ordered), 2):
        drawn = sorted(ordered[begin : begin + 2], key=lambda one: _hash(one.bill.content, seed))
        if len(drawn) == 2:
            tuning.append(drawn[0])
            held_out.append(drawn[1])
        else:
            # The odd one is the dearest of all; its hash alone decides.
            (tuning if int(_hash(drawn[0].bill.content, seed), 16) % 2 else held_out).append(drawn[0])
    return Halves(tuple(tuning), tuple(held_out))


def _hash(content: str, seed: int) -> str:
    return hashlib.sha256(f"{seed} {content}".encode()).hexdigest()
