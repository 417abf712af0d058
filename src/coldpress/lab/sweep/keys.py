"""Name what decides the rows of a sweep, so that what was measured is found again and nothing else is taken for it."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Final

from coldpress import __version__
from coldpress.lab.results import Skipped
from coldpress.lab.services import RECORDED, service_for
from coldpress.lab.sweep.plan import Plan, sha256_of
from coldpress.lab.sweep.rows import ROWS_DIGEST

DIGITS: Final = 16
_DECIDES_NOTHING: Final = ("cli", "gateway", "library", "testing", "demo", "lab/report", "lab/sweep")
"""Rooms whose code no row depends on."""


@dataclass(frozen=True, slots=True)
class Task:
    """One recording of a sweep.

    Attributes:
        path: of its file.
        content: SHA-256 of its bytes, in hex.
        part: name of the files that its rows are kept in, without ending; sorted by it recordings stand in order.
        size_bytes: of the file.
    """

    path: Path
    content: str
    part: str
    size_bytes: int

    @property
    def recording(self) -> str:
        """The recording's name in the rows."""
        return self.path.stem


def task_of(path: Path) -> Task | Skipped:
    """Make the task of a file, or say why it cannot be read.

    Its name and its folder's are part of it, as rows carry them.
    """
    try:
        content, size_bytes = sha256_of(path), path.stat().st_size
    except OSError as error:
        return Skipped(str(path), f"cannot be read: {error.strerror or error}")
    return Task(path, content, f"{content[:DIGITS]}-{_digest(path.stem, task_name(path))[:8]}", size_bytes)


def task_name(path: Path) -> str:
    """Name what a recording belongs to: its folder."""
    return path.absolute().parent.name


def plan_key(plan: Plan) -> str:
    """Name everything that decides the rows of a recording, apart from the recording itself: 16 hex digits."""
    arms = [(arm.name, arm.digest) for arm in plan.measured_arms]
    tariffs = [(name, prices_label(name)) for name in plan.tariffs]
    return _digest(arms, tariffs, plan.with_least, plan.with_turns, ROWS_DIGEST, __version__, code_digest())


@functools.cache
def prices_label(tariff: str) -> str:
    """Say all prices and lifetimes of a tariff; of the recorded one, which list its prices come from.

    Raises:
        ConfigError: there is no such tariff; says which there are.
    """
    if tariff == RECORDED:
        return f"each recording's own main model, by genai-prices {version('genai-prices')}"
    return repr(service_for(tariff, ()).tariff)


@functools.cache
def code_digest() -> str:
    """Name the code that rows come from: a version that is worked on keeps its number while its figures change."""
    root = Path(__file__).parents[2]
    parts = [f"{path.relative_to(root).as_posix()} {sha256_of(path)}" for path in _sources(root)]
    return _digest(*parts)


def _sources(root: Path) -> Iterator[Path]:
    for path in sorted(root.rglob("*.py")):
        where = path.relative_to(root).as_posix()
        if not where.startswith(tuple(f"{room}/" for room in _DECIDES_NOTHING)):
            yield path


def _digest(*said: object) -> str:
    return hashlib.sha256(repr(said).encode()).hexdigest()[:DIGITS]
