"""The table: which cases are measured, and in which order the targets take their turns.

In each case every target runs once a round, and the order is turned around in every other round, so that a slow
spell of the machine does not fall on the same target each time.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench import Bench, say
from bodies import FORMATS, SIZES, Format
from rows import Case, Mode, TurnKind

ALL_SIZES = tuple(SIZES)
BOTH_MODES: tuple[Mode, ...] = ("json", "stream")


@dataclass(frozen=True, slots=True)
class Block:
    """A product of cases with a number of rounds."""

    formats: tuple[Format, ...]
    sizes: tuple[str, ...]
    modes: tuple[Mode, ...]
    turns: tuple[TurnKind, ...]
    connections: tuple[int, ...]
    rounds: int

    def cases(self) -> Iterator[Case]:
        """List the cases. One connection comes first: it tells how slow a target is."""
        for fmt, size, turn, mode, count in itertools.product(
            self.formats, self.sizes, self.turns, self.modes, sorted(self.connections)
        ):
            yield Case(fmt, size, mode, turn, count)


PRESETS: dict[str, tuple[Block, ...]] = {
    "smoke": (Block(FORMATS, ("4k", "128k"), BOTH_MODES, ("warm",), (1,), 1),),
    "quick": (
        Block(("chat",), ALL_SIZES, ("json",), ("warm",), (1, 8), 2),
        Block(("chat",), ("4k", "128k"), ("stream",), ("warm",), (1, 8), 2),
        Block(("anthropic", "responses", "gemini"), ("4k", "128k", "1m"), ("json",), ("warm",), (1,), 2),
        Block(("anthropic",), ALL_SIZES, ("json",), ("first",), (1,), 1),
    ),
    "full": (Block(FORMATS, ALL_SIZES, BOTH_MODES, ("warm", "first"), (1, 8, 32), 3),),
}


def measure(bench: Bench, blocks: Sequence[Block]) -> None:
    """Run all cases of all blocks."""
    for block in blocks:
        for case in block.cases():
            for number in range(block.rounds):
                order = list(bench.targets.values())
                for target in order if number % 2 == 0 else reversed(order):
                    bench.cell(target, case, number)
            say(f"{case.format} {case.size} {case.mode} {case.turn} c={case.connections} done")
