"""Open the database file: make it, bring its schema up to date, refuse what is not ours."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from coldpress.model.errors import StoreError
from coldpress.stores.sqlite_versions import MIGRATIONS

APPLICATION_ID = 0x434F4C44  # "COLD": tells our file from another program's
PAGE_CACHE_KIB = 8192
WAL_LIMIT_BYTES = 16 << 20


def connect(path: Path, *, busy_seconds: float) -> sqlite3.Connection:
    """Open a connection that commits only where told to, and may move between threads."""
    connection = sqlite3.connect(path, timeout=busy_seconds, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute(f"PRAGMA cache_size=-{PAGE_CACHE_KIB}")
        connection.execute(f"PRAGMA journal_size_limit={WAL_LIMIT_BYTES}")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def open_file(path: Path, *, busy_seconds: float) -> sqlite3.Connection:
    """Open the store's file for writing; make it and its folders where they are missing, for this user only.

    Raises:
        StoreError: the file is not ours, is from a newer version, or cannot be used.
    """
    with explained(path):
        _make(path)
        connection = connect(path, busy_seconds=busy_seconds)
        try:
            _bring_up_to_date(connection, path, deadline=time.monotonic() + busy_seconds)
        except BaseException:
            connection.close()
            raise
        return connection


def _make(path: Path) -> None:
    if path.is_dir():
        raise StoreError(f"{path} is a folder; name a file in it")
    missing = [folder for folder in path.parents if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(mode=0o700, exist_ok=True)
    # SQLite would make it readable for everybody; the files beside it inherit what the main file has.
    os.close(os.open(path, os.O_RDONLY | os.O_CREAT, 0o600))


def _bring_up_to_date(connection: sqlite3.Connection, path: Path, *, deadline: float) -> None:
    connection.execute("BEGIN")  # one state for all that is read: another process may be making the file right now
    version = _version(connection, path)
    connection.execute("COMMIT")
    if version == len(MIGRATIONS):
        return
    connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
    while True:
        # SQLite does not wait by itself when two processes switch a new file to WAL at once.
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            break
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)
    connection.execute("BEGIN IMMEDIATE")
    # Another process may have done it while this one waited.
    for statements in MIGRATIONS[_version(connection, path) :]:
        for statement in statements:
            connection.execute(statement)
    connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version={len(MIGRATIONS)}")
    connection.execute("COMMIT")


def _version(connection: sqlite3.Connection, path: Path) -> int:
    """Read the schema version; 0 for an empty file."""
    application = int(connection.execute("PRAGMA application_id").fetchone()[0])
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    tables = int(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
    if application == 0 and version == 0 and tables == 0:
        return 0
    if application != APPLICATION_ID:
        raise StoreError(f"{path} is a database of another program; name another file for the store")
    if version > len(MIGRATIONS):
        raise StoreError(
            f"{path} was written by a newer coldpress (schema {version}, this one knows {len(MIGRATIONS)}); "
            "upgrade coldpress, or name another file for the store"
        )
    return version


_WHAT_NOW = {
    sqlite3.SQLITE_FULL: "the disk is full: free space, or lower the store's bounds",
    sqlite3.SQLITE_BUSY: "another process holds it locked: close that process, or name another file",
    sqlite3.SQLITE_LOCKED: "another process holds it locked: close that process, or name another file",
    sqlite3.SQLITE_READONLY: "it may not be written: check the permissions of the file and its folder",
    sqlite3.SQLITE_PERM: "it may not be used: check the permissions of the file and its folder",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened: check that its folder exists and may be written",
    sqlite3.SQLITE_CORRUPT: "it is damaged: move it away, and a new one is made",
    sqlite3.SQLITE_NOTADB: "it is not a database: move it away, or name another file for the store",
    sqlite3.SQLITE_IOERR: "the disk failed: check it",
}


def explain(error: Exception, path: Path) -> StoreError:
    """Say what failed, where, and what to do."""
    code = getattr(error, "sqlite_errorcode", None)
    advice = _WHAT_NOW.get(code & 0xFF) if isinstance(code, int) else None
    return StoreError(f"store {path}: {advice} ({error})" if advice else f"store {path}: {error}")


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn errors of the database and the file system into `StoreError`."""
    try:
        yield
    except (sqlite3.Error, OSError, OverflowError, UnicodeError) as error:
        raise explain(error, path) from error
