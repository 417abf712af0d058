"""Keep the results of a sweep in a folder: what it says about itself, and three Parquet files a recording.

    FOLDER/sweep.json                 what was measured, with what, and which parts belong to it
    FOLDER/PLAN/bills/PART.parquet    a row for each arm and tariff, see `coldpress.lab.results`
    FOLDER/PLAN/turns/PART.parquet    a row for each request of them
    FOLDER/PLAN/losses/PART.parquet   a row for each tool and age of them

PLAN names arms, tariffs and code, PART the recording's bytes and name: what is there under its name need not be
measured again. Of one recording the bills are written last, so that they stand for all three.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from coldpress.lab.results import Bill, Loss, Skipped, Turn
from coldpress.lab.sweep.rows import BILLS, LOSSES, TURNS, Filter, Packed, Row, Table, beside, count_rows, read_rows
from coldpress.model.errors import SweepError

ABOUT: Final = "sweep.json"
FORMAT: Final = "coldpress sweep 1"
_TABLES: Final = (BILLS.name, TURNS.name, LOSSES.name)
_STALE_SECONDS: Final = 3600.0
"""A file that was left half written may be another sweep's that still runs; none takes that long over one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AboutArm:
    """One arm of a sweep, as measured: `settings` is the text of its file."""

    name: str
    about: str
    schedule: str
    window: float | None
    trigger: float | None
    digest: str
    settings: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AboutTariff:
    """One tariff of a sweep: `prices` says all its prices and lifetimes, and where they come from."""

    name: str
    prices: str


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What a sweep says about itself.

    Attributes:
        format: of the folder.
        conditions: what holds for all its figures, for people.
        coldpress, code: the version that measured, and a digest of its sources.
        plan: name of the folder that the parts stand in.
        command: that started it, empty where it was none.
        arms, tariffs: in the order of the rows.
        with_least, with_turns: as in `coldpress.lab.sweep.plan.Plan`.
        planned, measured: recordings to measure, and those that have been; the rest was skipped, or is still to do.
        parts: names of the parts to read, in their order, with the recordings that they belong to.
        skipped: files that could not be replayed, and why, sorted.
    """

    format: str = FORMAT
    conditions: str = "Simulated and open-loop: recorded replies kept fixed, the cache is a model. Input tokens alone."
    coldpress: str
    code: str
    plan: str
    command: str
    arms: tuple[AboutArm, ...]
    tariffs: tuple[AboutTariff, ...]
    with_least: bool
    with_turns: bool
    planned: int
    measured: int = 0
    parts: dict[str, str] = field(default_factory=dict)
    skipped: tuple[Skipped, ...] = ()


def write_about(folder: Path, about: About) -> None:
    """Write `sweep.json`."""
    _replace(folder / ABOUT, msgspec.json.format(msgspec.json.encode(about), indent=1) + b"\n")


def read_about(folder: Path) -> About:
    """Read what the sweep in a folder says about itself.

    Raises:
        SweepError: there is no sweep, or one of another version; says what to do.
    """
    path = folder / ABOUT
    try:
        found = msgspec.json.decode(path.read_bytes(), type=About)
    except FileNotFoundError as error:
        raise SweepError(
            f"{folder}: holds no results of a sweep; name the folder that one was told to write"
        ) from error
    except (OSError, msgspec.DecodeError) as error:
        raise SweepError(f"{path}: cannot be read ({error}); run the sweep again") from error
    if found.format != FORMAT:
        raise SweepError(f"{path}: is {found.format!r}, this version reads {FORMAT!r}; run the sweep again")
    return found


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of one plan in a folder."""

    folder: Path
    plan: str

    def prepare(self) -> None:
        """Make the folders, and take away what a sweep that was ended hard left half written.

        Raises:
            SweepError: they cannot be made; says why.
        """
        try:
            for table in _TABLES:
                self._place(table).mkdir(parents=True, exist_ok=True)
                for left in self._place(table).glob(".*.tmp"):
                    if time.time() - left.stat().st_mtime > _STALE_SECONDS:
                        left.unlink(missing_ok=True)
        except OSError as error:
            raise SweepError(f"{self.folder}: cannot be written: {error.strerror}; name another folder") from error

    def write(self, part: str, packed: Packed) -> None:
        """Keep the rows of one recording.

        Raises:
            SweepError: they cannot be written; says why.
        """
        try:
            for table, content in zip(_TABLES[::-1], (packed.losses, packed.turns, packed.bills), strict=True):
                _replace(self._path(table, part), content)
        except OSError as error:
            raise SweepError(
                f"{self.folder}: cannot be written: {error.strerror}; what is there is kept, run the sweep again"
            ) from error

    def kept(self, part: str) -> tuple[Bill, ...] | None:
        """Give the bills of a recording that was measured before; `None` where any of its files is not whole."""
        try:
            bills, turns, losses = (self._path(table, part) for table in _TABLES)
            written = beside(bills, part)
            if (turns.stat().st_size, losses.stat().st_size) != (written.turns, written.losses):
                return None
            count_rows(TURNS, turns)
            count_rows(LOSSES, losses)
            return tuple(read_rows(BILLS, bills))
        except (SweepError, FileNotFoundError):
            return None

    def rows(self, table: Table[Row], parts: Sequence[str], filters: Sequence[Filter]) -> Iterator[Row]:
        """Give the rows of some parts, one part in memory at a time; those that are not there yet are left out."""
        for part in parts:
            path = self._path(table.name, part)
            if path.exists() and self._path(BILLS.name, part).exists():
                yield from read_rows(table, path, filters)

    def _place(self, table: str) -> Path:
        return self.folder / self.plan / table

    def _path(self, table: str, part: str) -> Path:
        return self._place(table) / f"{part}.parquet"


def read_bills(
    folder: Path, *, recording: str | None = None, arm: str | None = None, tariff: str | None = None
) -> Iterator[Bill]:
    """Read the bills of the sweep in a folder: by content of the recording, then in the order of arms and tariffs.

    Args:
        folder: that the sweep was told to write.
        recording, arm, tariff: names, to read those rows alone.

    Raises:
        SweepError: there is no sweep, or a part of it is damaged; says what to do.
    """
    return _read(BILLS, folder, recording, arm, tariff)


def read_turns(
    folder: Path, *, recording: str | None = None, arm: str | None = None, tariff: str | None = None
) -> Iterator[Turn]:
    """Read the rows of single requests, as `read_bills` does; within one of its rows in the order of time."""
    return _read(TURNS, folder, recording, arm, tariff)


def read_losses(
    folder: Path, *, recording: str | None = None, arm: str | None = None, tariff: str | None = None
) -> Iterator[Loss]:
    """Read what later calls used of results, as `read_bills` does."""
    return _read(LOSSES, folder, recording, arm, tariff)


def _read(table: Table[Row], folder: Path, recording: str | None, arm: str | None, tariff: str | None) -> Iterator[Row]:
    about = read_about(folder)
    parts = [part for part, name in about.parts.items() if recording is None or name == recording]
    wanted = (("arm", arm), ("tariff", tariff))
    filters = [(column, "==", name) for column, name in wanted if name is not None]
    return Parts(folder, about.plan).rows(table, parts, filters)


def _replace(path: Path, content: bytes) -> None:
    """Write a file so that it is there whole or not at all."""
    beside_it = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    beside_it.write_bytes(content)
    beside_it.replace(path)
