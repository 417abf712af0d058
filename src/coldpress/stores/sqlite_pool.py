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
        self._path = path
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

    @contextmanager
    def single_read(self) -> Iterator[sqlite3.Connection]:
        """Borrow a connection for one statement, which is a transaction by itself; raises as `reading` does."""
        with explained(self._path):
            connection = self._take()
            try:
                yield connection
            except BaseException:
                # After an error its state is unknown; a new one costs little.
                connection.close()
                raise
            self._give_back(connection)

    def close(self) -> None:
        """Close what is idle; what is lent is closed when it comes back."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _take(self) -> sqlite3.Connection:
        with self._lock:
            if self._closed:
                raise StoreError(f"store {self._path}: it is closed: open it again")
            if self._idle:
                return self._idle.pop()
        connection = connect(self._path, busy_seconds=self._busy_seconds)
        connection.execute("PRAGMA query_only=ON")
        return connection

    def _give_back(self, connection: sqlite3.Connection) -> None:
        with self._lock:
            if not self._closed and len(self._idle) < MOST_IDLE:
                self._idle.append(connection)
                return
        connection.close()
