"""Stand in for the measuring of a recording where a test is about the sweep around it; found by worker processes."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from coldpress.lab import cells
from coldpress.lab.arm_files import Arm
from coldpress.lab.results import Bill, Loss, Measured, Skipped, Turn

TURNS = 40
PATIENCE_SECONDS = 60.0


def counted(path: Path, arms: Sequence[Arm], tariffs: Sequence[str], *, with_least: bool, with_turns: bool) -> Measured:
    """Rows that follow from a file's bytes and the names of arm and tariff, in no time."""
    if path.read_bytes().startswith(b"broken"):
        return Measured(skipped=Skipped(str(path), "broken"))
    content = cells.content_of(path)
    seed = int(content, 16)
    places = [(arm.name, tariff) for arm in arms for tariff in tariffs]
    bills = tuple(_bill(path, content, arm, tariff, seed, least=0.1 if with_least else None) for arm, tariff in places)
    turns = [
        Turn(
            path.stem,
            content,
            arm,
            tariff,
            "c",
            bool(n % 2),
            n,
            n / 7,
            (seed * n % 997) / 9,
            0.5,
            n,
            n,
            n,
            0,
            False,
            "",
        )
        for arm, tariff in places
        for n in range(TURNS if with_turns else 0)
    ]
    losses = tuple(Loss(path.stem, content, arm, tariff, "Read", 6, 4, 1, 2, 0, 1) for arm, tariff in places)
    return Measured(bills, tuple(turns), losses)


def _bill(path: Path, content: str, arm: str, tariff: str, seed: int, *, least: float | None) -> Bill:
    task = path.absolute().parent.name
    numbers = [seed % (at + 3) for at in range(17)]
    return Bill(
        path.stem, content, "coldpress", task, arm, tariff, 1, 3, seed % 1000 / 7, 1.5, 0.0, 0,
        *numbers[:15], least, None,
    )  # fmt: skip


def halved(path: Path, arms: Sequence[Arm], tariffs: Sequence[str], **flags: bool) -> Measured:
    """Give half a token, which no row can hold."""
    found = counted(path, arms, tariffs, **flags)
    return Measured(tuple(replace(bill, peak_tokens=0.5) for bill in found.bills))  # type: ignore[arg-type]


def backwards(path: Path, arms: Sequence[Arm], tariffs: Sequence[str], **flags: bool) -> Measured:
    """The same rows, last first."""
    found = counted(path, arms, tariffs, **flags)
    return Measured(
        found.bills[::-1], tuple(sorted(found.turns, key=lambda turn: (turn.arm, turn.number))), found.losses
    )


def deadly(path: Path, arms: Sequence[Arm], tariffs: Sequence[str], **flags: bool) -> Measured:
    """Measure for real, but end the process as the kernel would where memory runs out, on a file that is named so."""
    if path.stem == "deadly":
        os._exit(9)
    return cells.measure(path, arms, tariffs, **flags)


def mistaken(path: Path, arms: Sequence[Arm], tariffs: Sequence[str], **flags: bool) -> Measured:
    """Fail on one file as code with a mistake in it does."""
    if path.stem == "b":
        raise ZeroDivisionError("of 1 by 0")
    return counted(path, arms, tariffs, **flags)


def writing(path: Path, arms: Sequence[Arm], tariffs: Sequence[str], **flags: bool) -> Measured:
    """Measure a file that an agent goes on writing to."""
    with path.open("a") as file:
        file.write("more")
    return counted(path, arms, tariffs, **flags)


def waiting(path: Path, arms: Sequence[Arm], tariffs: Sequence[str], **flags: bool) -> Measured:
    """Hang on files that are named so, until there is a file `go` beside."""
    until = time.monotonic() + PATIENCE_SECONDS
    while path.stem.startswith("waits") and not (path.parent / "go").exists() and time.monotonic() < until:
        time.sleep(0.02)
    return counted(path, arms, tariffs, **flags)


def lonely(path: Path, arms: Sequence[Arm], tariffs: Sequence[str], **flags: bool) -> Measured:
    """Fail where another task runs at the same time."""
    busy = path.parent / ".busy"
    with busy.open("x"):
        time.sleep(0.05)
    busy.unlink()
    return counted(path, arms, tariffs, **flags)


def threads(path: Path, arms: Sequence[Arm], tariffs: Sequence[str], **flags: bool) -> Measured:
    """Say how many threads numerical libraries may use in a worker."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    return Measured(skipped=Skipped(str(path), " ".join(os.environ.get(name, "any") for name in names)))


def slow(path: Path, arms: Sequence[Arm], tariffs: Sequence[str], **flags: bool) -> Measured:
    """The same rows, each after a while."""
    time.sleep(0.2)
    return counted(path, arms, tariffs, **flags)
