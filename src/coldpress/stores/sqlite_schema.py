"""Open the database file: make it, bring its schema up to date, refuse what is not ours."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from coldpress.model.errors import StoreError

APPLICATION_ID = 0x434F4C44  # "COLD": tells our file from another program's
PAGE_CACHE_KIB = 8192
WAL_LIMIT_BYTES = 16 << 20

# Counting by trigger cannot drift, also where two processes write.
_COUNT = """
CREATE TRIGGER {table}_{event} AFTER {event} ON {table} BEGIN
  UPDATE sizes SET row_count = row_count {sign} 1, bytes = bytes {sign} {row}.size WHERE part = '{part}';
END
"""


def _counted(table: str, part: str) -> tuple[str, ...]:
    return (
        _COUNT.format(table=table, event="insert", sign="+", row="new", part=part),
        _COUNT.format(table=table, event="delete", sign="-", row="old", part=part),
    )


_VERSION_1 = (
    "CREATE TABLE sizes(part TEXT PRIMARY KEY, row_count INTEGER NOT NULL, bytes INTEGER NOT NULL) WITHOUT ROWID",
    "INSERT INTO sizes VALUES('originals',0,0),('standings',0,0),('ledger',0,0),('raw',0,0),('tombstones',0,0)",
    # The text stands apart, so that noting a use does not rewrite it.
    """CREATE TABLE originals(
         id INTEGER PRIMARY KEY, sha BLOB NOT NULL UNIQUE, text_bytes INTEGER NOT NULL, size INTEGER NOT NULL,
         tool TEXT NOT NULL, last_used REAL NOT NULL)""",
    "CREATE TABLE original_texts(id INTEGER PRIMARY KEY, packed BLOB NOT NULL)",
    "CREATE INDEX originals_by_use ON originals(last_used, id)",
    """CREATE TABLE tombstones(
         sha BLOB PRIMARY KEY, expired_at REAL NOT NULL, tool TEXT NOT NULL, text_bytes INTEGER NOT NULL,
         size INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID""",
    "CREATE INDEX tombstones_by_age ON tombstones(expired_at)",
    # A use is noted for the message, not for each of its texts.
    "CREATE TABLE chains(chain BLOB PRIMARY KEY, last_used REAL NOT NULL) WITHOUT ROWID",
    "CREATE INDEX chains_by_use ON chains(last_used)",
    """CREATE TABLE standings(
         id INTEGER PRIMARY KEY, chain BLOB NOT NULL, block INTEGER NOT NULL, part INTEGER NOT NULL,
         mode TEXT NOT NULL, original BLOB, replacement BLOB, recipe BLOB, size INTEGER NOT NULL,
         UNIQUE(chain, block, part))""",
    """CREATE TABLE receipts(
         id INTEGER PRIMARY KEY, request_id TEXT NOT NULL UNIQUE, received_at REAL NOT NULL, provider TEXT NOT NULL,
         format TEXT NOT NULL, model TEXT, lineage TEXT NOT NULL, harness_session TEXT, operation TEXT NOT NULL,
         messages INTEGER NOT NULL, body_bytes INTEGER NOT NULL, sent_bytes INTEGER NOT NULL, reused INTEGER NOT NULL,
         reused_bytes_saved INTEGER NOT NULL, lines TEXT NOT NULL, notes TEXT NOT NULL,
         pressed INTEGER NOT NULL, pressed_before INTEGER NOT NULL, pressed_after INTEGER NOT NULL,
         pressed_tokens_before INTEGER NOT NULL, pressed_tokens_after INTEGER NOT NULL,
         pressed_uncounted INTEGER NOT NULL,
         observed INTEGER NOT NULL, observed_before INTEGER NOT NULL, observed_after INTEGER NOT NULL,
         observed_tokens_before INTEGER NOT NULL, observed_tokens_after INTEGER NOT NULL,
         observed_uncounted INTEGER NOT NULL, restored INTEGER NOT NULL, size INTEGER NOT NULL)""",
    "CREATE INDEX receipts_by_age ON receipts(received_at, id)",
    "CREATE INDEX receipts_by_lineage ON receipts(lineage, received_at, id)",
    """CREATE TABLE outcomes(
         id INTEGER PRIMARY KEY, request_id TEXT NOT NULL UNIQUE, noted_at REAL NOT NULL, status INTEGER,
         ended TEXT NOT NULL, duration_seconds REAL NOT NULL, fresh INTEGER, read INTEGER, write_short INTEGER,
         write_long INTEGER, output INTEGER, reasoning INTEGER, size INTEGER NOT NULL)""",
    "CREATE INDEX outcomes_by_age ON outcomes(noted_at)",
    """CREATE TABLE raw_bodies(
         id INTEGER PRIMARY KEY, sha BLOB NOT NULL UNIQUE, packed BLOB NOT NULL, size INTEGER NOT NULL)""",
    """CREATE TABLE raw_events(
         id INTEGER PRIMARY KEY, request_id TEXT NOT NULL, at REAL NOT NULL, direction TEXT NOT NULL,
         headers TEXT NOT NULL, body INTEGER NOT NULL, size INTEGER NOT NULL)""",
    "CREATE INDEX raw_events_by_request ON raw_events(request_id)",
    "CREATE INDEX raw_events_by_age ON raw_events(at, id)",
    "CREATE INDEX raw_events_by_body ON raw_events(body)",
    *_counted("originals", "originals"),
    *_counted("tombstones", "tombstones"),
    *_counted("standings", "standings"),
    *_counted("receipts", "ledger"),
    *_counted("outcomes", "ledger"),
    *_counted("raw_bodies", "raw"),
    *_counted("raw_events", "raw"),
)

MIGRATIONS: tuple[tuple[str, ...], ...] = (_VERSION_1,)
"""Statements that lead from each schema version to the next, from an empty file on."""


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
