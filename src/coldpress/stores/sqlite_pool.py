"""Connections for reading, shared by threads one at a time."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from coldpress.model.errors import StoreError
from coldpress.stores.sqlite_schema import connect, explained

MOST_IDLE = 4


class ReadPool:
    """Lends connections that cannot write; a lender sees one state of the file for as long as it holds one."""

    def __init__(self, path: Path, *, busy_seconds: float) -> None:
        self.path = path
        self._busy_seconds = busy_seconds
        self._idle: list[sqlite3.Connection] = []
        self._closed = False
        self._lock = threading.Lock()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Borrow a connection inside a transaction: all reads see one state of the file.

        Raises:
            StoreError: the pool is closed, or the database fails.
        """
        with self.single_read() as connection:
            connection.execute("BEGIN")
            yield connection
            connection.execute("COMMIT")

    def single_read(self) -> SingleRead:
        """Borrow a connection for one statement, which is a transaction by itself; raises as `reading` does."""
        return SingleRead(self)

    def close(self) -> None:
        """Close what is idle; what is lent is closed when it comes back."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def take(self) -> sqlite3.Connection:
        """Lend a connection; raises `StoreError` where the pool is closed, or no new one can be had."""
        with self._lock:
            if self._closed:
                raise StoreError(f"store {self.path}: it is closed: open it again")
            if self._idle:
                return self._idle.pop()
        with explained(self.path):
            connection = connect(self.path, busy_seconds=self._busy_seconds)
            connection.execute("PRAGMA query_only=ON")
            return connection

    def give_back(self, connection: sqlite3.Connection) -> None:
        """Take one back that is in order."""
        with self._lock:
            if not self._closed and len(self._idle) < MOST_IDLE:
                self._idle.append(connection)
                return
        connection.close()


class SingleRead:
    """A connection on loan. Every request takes one, and this costs a third of what nested generators do."""

    __slots__ = ("_connection", "_pool")

    def __init__(self, pool: ReadPool) -> None:
        self._pool = pool
        self._connection: sqlite3.Connection | None = None

    def __enter__(self) -> sqlite3.Connection:
        self._connection = self._pool.take()
        return self._connection

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        connection = self._connection
        if connection is None:
            return
        if error is None:
            self._pool.give_back(connection)
            return
        connection.close()  # after an error its state is unknown; a new one costs little
        with explained(self._pool.path):
            raise error
