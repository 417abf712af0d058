"""What one measurement is, and how measurements are kept: one JSON object a line, each with its kind."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, get_args

from bodies import Format

Mode = Literal["json", "stream"]
TurnKind = Literal["warm", "first", "log"]
"""warm: a known conversation, one small new turn. first: a conversation never seen before. log: warm, and the
new turn brings a 12 kB test log that is pressed at first sight."""
TURNS: tuple[TurnKind, ...] = get_args(TurnKind)


@dataclass(frozen=True, slots=True)
class Setup:
    """What a run was made on and with."""

    date: str
    machine: str
    software: dict[str, str]
    options: str
    bodies: dict[str, int]


@dataclass(frozen=True, slots=True)
class Case:
    """What is sent in one cell of the table. `world` names how the upstream answers: at once, paced, or late."""

    format: Format
    size: str
    mode: Mode
    turn: TurnKind
    connections: int
    world: Literal["instant", "paced", "provider"] = "instant"


@dataclass(frozen=True, slots=True)
class Load:
    """What the load generator saw. Times are milliseconds; `delay` only where events are paced (see loadgen.c)."""

    n: int
    sent: int
    errors: int
    seconds: float
    rps: float
    p50: float
    p90: float
    p99: float
    max: float
    ttfb50: float
    ttfb99: float
    events: float
    delays: int
    delay50: float
    delay99: float
    delay_max: float
    error: str


@dataclass(frozen=True, slots=True)
class Cell:
    """One target in one round of one case.

    `cpu_ms` is CPU time of the target's process tree per request, `cpu_wait_ms` how long its threads were ready and
    had no CPU, per request. `peak_mb` is the sum of the peaks of its processes. `forwarded_bytes` is the mean size of
    the bodies that reached the upstream; `None` where other requests reached it as well.
    """

    target: str
    round: int
    case: Case
    load: Load
    cpu_ms: float
    cpu_wait_ms: float
    peak_mb: float
    body_bytes: int
    forwarded_bytes: float | None


@dataclass(frozen=True, slots=True)
class Skipped:
    """A cell that was not run, and why."""

    target: str
    case: Case
    why: str


@dataclass(frozen=True, slots=True)
class Primed:
    """How a conversation was made known to a target, and what it then forwards.

    `requests` is 0 for a target that was not primed, and less than `turns` where the time was up. `exact` says
    whether the body was forwarded byte for byte.
    """

    target: str
    format: Format
    size: str
    requests: int
    turns: int
    seconds: float
    sent_bytes: int
    forwarded_bytes: int
    exact: bool


@dataclass(frozen=True, slots=True)
class Started:
    """One start of a target: seconds until it answered, memory a second later."""

    target: str
    seconds: float
    idle_mb: float


@dataclass(frozen=True, slots=True)
class Growth:
    """A conversation grown turn by turn: milliseconds of the requests in one band of body sizes.

    `marks` is the number of user messages at the end that carry a cache mark, which moves every turn.
    """

    target: str
    format: Format
    marks: int
    up_to_bytes: int
    requests: int
    p50: float
    p90: float


@dataclass(frozen=True, slots=True)
class Stall:
    """Answers to a small GET every 2 ms on a second connection while a load ran (`load` empty: no load)."""

    target: str
    load: str
    pings: int
    p50: float
    p99: float
    p999: float
    max: float
    cpu_wait_share: float


@dataclass(frozen=True, slots=True)
class Weighed:
    """What a target decided about aged results over a whole run: requests by reason, and texts that became smaller."""

    target: str
    requests: int
    applied: dict[str, int]
    declined: dict[str, int]
    texts: int


Row = Setup | Cell | Skipped | Primed | Started | Growth | Stall | Weighed
KINDS: dict[str, type[Row]] = {
    kind.__name__.lower(): kind for kind in (Setup, Cell, Skipped, Primed, Started, Growth, Stall, Weighed)
}


@dataclass(frozen=True, slots=True)
class Book:
    """A file of measurements that only grows."""

    path: Path

    def write(self, row: Row) -> None:
        """Add a measurement."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as out:
            out.write(json.dumps({"kind": type(row).__name__.lower()} | asdict(row), ensure_ascii=False) + "\n")

    def rows(self) -> Iterator[Row]:
        """Read all measurements in order.

        Raises:
            ValueError: a line is not a measurement of this version of the harness.
        """
        for number, line in enumerate(self.path.read_text().splitlines(), 1):
            try:
                yield _row(json.loads(line))
            except (KeyError, TypeError) as error:
                raise ValueError(f"{self.path}:{number}: not a measurement of this version ({error})") from error


def _row(values: dict[str, object]) -> Row:
    kind = KINDS[str(values.pop("kind"))]
    if isinstance(values.get("case"), dict):
        values["case"] = Case(**values["case"])  # type: ignore[arg-type]
    if isinstance(values.get("load"), dict):
        values["load"] = Load(**values["load"])  # type: ignore[arg-type]
    return kind(**values)  # type: ignore[arg-type]
