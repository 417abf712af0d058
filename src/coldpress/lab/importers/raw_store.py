"""Read the raw log out of a store's file, without changing it or anything beside it."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

import msgspec

from coldpress.model.errors import RecordingError, StoreError
from coldpress.stores.base import Direction, RawEvent
from coldpress.stores.packing import unpack
from coldpress.stores.sqlite_schema import APPLICATION_ID

MAGIC = b"SQLite format 3\x00"
"""What a database file begins with."""

_QUESTION = (
    "SELECT e.request_id, e.at, e.direction, e.headers, b.packed FROM raw_events e"
    " LEFT JOIN raw_bodies b ON b.id = e.body ORDER BY e.at, e.id"
)
_SESSIONS = "SELECT request_id, coalesce(harness_session, lineage) FROM receipts"
_HEADERS = msgspec.json.Decoder(tuple[tuple[str, str], ...])


def stored_events(path: Path) -> Iterator[RawEvent | None]:
    """Yield the events of a store's raw log, oldest first; `None` for one that is damaged.

    Raises:
        OSError: the file cannot be read.
        RecordingError: it is a database of another program, or damaged; says which.
    """
    with _open(path) as connection, _explained(path):
        for request_id, at, direction, headers, packed in connection.execute(_QUESTION):
            yield _event(request_id, at, direction, headers, packed)


def sessions(path: Path) -> dict[str, str]:
    """Name the session of each request that stands in the ledger: the harness's own name, else the lineage.

    Raises:
        OSError: the file cannot be read.
        RecordingError: it is a database of another program, or damaged.
    """
    with _open(path) as connection, _explained(path):
        return {str(request): str(session) for request, session in connection.execute(_SESSIONS) if session}


def _event(request_id: object, at: object, direction: object, headers: object, packed: object) -> RawEvent | None:
    if not isinstance(at, float) or not isinstance(packed, bytes) or direction not in ("request", "reply"):
        return None
    way: Direction = "request" if direction == "request" else "reply"
    try:
        body = unpack(packed, what=f"the logged {way} of {request_id}")
        return RawEvent(str(request_id), at, way, _HEADERS.decode(str(headers)), body)
    except (StoreError, msgspec.MsgspecError):
        return None


@contextmanager
def _open(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the file for reading, with what a running coldpress has put into the `-wal` file beside it.

    Without such a file nothing else writes: then the file is opened as one that does not change, so that SQLite makes
    no files beside it. With one, readers need the `-shm` file too. Where that is missing, as in a copied folder, a copy
    is read.
    """
    log, shared = path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")
    with path.open("rb"):
        pass  # an `OSError` says more than what SQLite would say
    if not log.exists() or not log.stat().st_size:
        with _connected(path, "mode=ro&immutable=1") as connection:
            yield connection
    elif shared.exists():
        with _connected(path, "mode=ro") as connection:
            yield connection
    else:
        with tempfile.TemporaryDirectory(prefix="coldpress-") as folder:
            copy = Path(folder) / "store.sqlite3"
            shutil.copyfile(path, copy)
            shutil.copyfile(log, copy.with_name(copy.name + "-wal"))
            with _connected(copy, "mode=rw", named=path) as connection:
                yield connection


@contextmanager
def _connected(path: Path, options: str, *, named: Path | None = None) -> Iterator[sqlite3.Connection]:
    shown = named or path
    with _explained(shown):
        connection = sqlite3.connect(f"file:{quote(str(path.absolute()))}?{options}", uri=True, isolation_level=None)
    with closing(connection):
        with _explained(shown):
            found = int(connection.execute("PRAGMA application_id").fetchone()[0])
            tables = int(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
        if found != APPLICATION_ID:
            what = "a database of another program" if tables or found else "an empty database"
            raise RecordingError(f"{shown}: {what}; give a store of coldpress, which holds a raw log")
        yield connection


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise RecordingError(
            f"{path}: this store cannot be read ({error}); stop whoever writes to it, or give a copy of it"
        ) from error
