"""Answer questions about the rows of a run: medians over rounds, differences to the direct connection."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rows import Case, Cell, Growth, Primed, Row, Setup, Skipped, Stall, Started, Weighed

OURS = "coldpress"


@dataclass(frozen=True, slots=True)
class Spread:
    """The median of the rounds with the least and the greatest of them."""

    middle: float
    low: float
    high: float
    rounds: int

    @staticmethod
    def of(values: Iterable[float]) -> Spread | None:
        """Summarise; `None` where there is nothing to summarise."""
        held = sorted(values)
        return Spread(statistics.median(held), held[0], held[-1], len(held)) if held else None


class Results:
    """All rows of one or more files."""

    def __init__(self, rows: Iterable[Row]) -> None:
        held = list(rows)
        self.setups = [row for row in held if isinstance(row, Setup)]
        self.cells = [row for row in held if isinstance(row, Cell)]
        self.skipped = [row for row in held if isinstance(row, Skipped)]
        self.primed = [row for row in held if isinstance(row, Primed)]
        self.started = [row for row in held if isinstance(row, Started)]
        self.growth = [row for row in held if isinstance(row, Growth)]
        self.stalls = [row for row in held if isinstance(row, Stall)]
        self.weighed = [row for row in held if isinstance(row, Weighed)]
        self._by_case: dict[tuple[Case, str], list[Cell]] = {}
        for cell in self.cells:
            self._by_case.setdefault((cell.case, cell.target), []).append(cell)

    @property
    def cases(self) -> list[Case]:
        """Every case with a measurement, in the order they were run."""
        return list(dict.fromkeys(cell.case for cell in self.cells))

    @property
    def targets(self) -> list[str]:
        """Every target with a measurement, in the order they were first run."""
        return list(dict.fromkeys(cell.target for cell in self.cells))

    def of(self, case: Case, target: str) -> list[Cell]:
        """The rounds of one target on one case that answered at least one request."""
        return [cell for cell in self._by_case.get((case, target), ()) if cell.load.n]

    def value(self, case: Case, target: str, read: Callable[[Cell], float]) -> Spread | None:
        """Any number of a cell."""
        return Spread.of(read(cell) for cell in self.of(case, target))

    def added(self, case: Case, target: str, read: Callable[[Cell], float]) -> Spread | None:
        """A time of a cell less that of the direct connection in the same round."""
        direct = {cell.round: cell for cell in self.of(case, "direct")}
        both = [(cell, direct[cell.round]) for cell in self.of(case, target) if cell.round in direct]
        return Spread.of(read(cell) - read(base) for cell, base in both)

    def ratio(self, case: Case, target: str, read: Callable[[Cell], float], *, added: bool) -> float | None:
        """How many times ours another target's median is; `None` where either is unknown or ours is not above 0."""
        measure = self.added if added else self.value
        theirs, ours = measure(case, target, read), measure(case, OURS, read)
        return theirs.middle / ours.middle if theirs and ours and ours.middle > 0 else None

    def first_error(self, case: Case, target: str) -> str:
        """What went wrong first in a cell, empty where nothing did."""
        return next((c.load.error or "failed" for c in self._by_case.get((case, target), ()) if c.load.errors), "")


def p50(cell: Cell) -> float:
    return cell.load.p50


def p99(cell: Cell) -> float:
    return cell.load.p99


def first_byte(cell: Cell) -> float:
    return cell.load.ttfb50


def cpu(cell: Cell) -> float:
    return cell.cpu_ms


def rps(cell: Cell) -> float:
    return cell.load.rps


def peak(cell: Cell) -> float:
    return cell.peak_mb


def cpu_per_event_us(cell: Cell) -> float:
    return cell.cpu_ms * 1000 / cell.load.events if cell.load.events else 0.0
