"""The demonstration from end to end: play the session twice, price it, prove what must hold; then in a small window."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from coldpress.config import load
from coldpress.demo.play import Played, play, recording_path
from coldpress.demo.proof import identical_outside_edits, recalled_exactly
from coldpress.demo.report import Demo
from coldpress.demo.small_window import longest, play_in_small_window
from coldpress.lab.importers.recording import read_file
from coldpress.measure.prices import prices_for
from coldpress.model.errors import StoreError
from coldpress.model.records import Operation
from coldpress.stores.memory import MemoryStore
from coldpress.stores.sqlite import SqliteStore

STORE_NAME = "demo.sqlite3"


def run_demo(recording: Path | None, folder: Path, *, progress: Callable[[Operation, int, int], None]) -> Demo:
    """Play a recording, the bundled one by default, with the gateway off and pressing, then so in a small window.

    Args:
        recording: in coldpress's own format.
        folder: where the pressing run's store is made anew.
        progress: told after each request of the first two runs.

    Raises:
        DemoFailed: the upstream refused a request, in the small window for another reason than its length.
        RecordingError: the recording cannot be read.
        StoreError: something that is no store of coldpress stands where the store is made.
    """
    session = read_file(recording or recording_path())
    path = folder / STORE_NAME
    _check_replaceable(path)
    settings = load(None, environ={}, directory=folder, secrets="optional")
    settings = replace(settings, press_subscription=True)
    off = play(session, settings, MemoryStore(), operation="off", progress=lambda n, of: progress("off", n, of))
    for end in ("", "-wal", "-shm", "-journal"):  # what SQLite calls the files of one database
        path.with_name(STORE_NAME + end).unlink(missing_ok=True)
    with closing(SqliteStore(path)) as store:
        press = play(session, settings, store, operation="press", progress=lambda n, of: progress("press", n, of))
        recalled = all(recalled_exactly(played, store) for played in press)
    model = session.trajectory.turns[0].model
    return Demo(
        off=tuple(off),
        press=tuple(press),
        prices=prices_for(model, provider="anthropic", at=_moment(session.trajectory.turns[0].sent_at)),
        identical=all(identical_outside_edits(played) for played in (*off, *press)) and _untouched(off),
        recalled=recalled,
        store_path=str(path),
        small=play_in_small_window(session, settings, peak_tokens=longest(off)),
    )


def _check_replaceable(path: Path) -> None:
    """Refuse to replace what is no store of ours: somebody else put it there."""
    if not path.exists():
        return
    try:
        SqliteStore(path).close()
    except StoreError as error:
        raise StoreError(
            f"{error}. The demonstration makes its store there: move that file away, or set XDG_DATA_HOME to "
            "another folder"
        ) from error


def _untouched(off: list[Played]) -> bool:
    return all(played.sent == played.received for played in off)


def _moment(sent_at: float | None) -> datetime:
    return datetime.fromtimestamp(sent_at or 0.0, tz=UTC)
