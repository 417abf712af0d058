"""What the writer can be asked to write: each job is checked alone, written with others, then told how it went."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field

import msgspec

from coldpress.model.errors import StoreError
from coldpress.model.records import Outcome
from coldpress.stores.base import RawEvent
from coldpress.stores.packing import pack
from coldpress.stores.sqlite_ledger import write_outcome
from coldpress.stores.tally import outcome_sums

# What a row takes beside its texts: columns, indexes, page slack.
EVENT_ROW_BYTES = 150


class Job:
    """One piece of work for the writer thread. By itself it has nothing to check, to write or to tell."""

    @property
    def urgent(self) -> bool:
        """Whether somebody waits for it."""
        return False

    @property
    def queued_bytes(self) -> int:
        """Memory it holds while it waits."""
        return 500

    def check(self) -> None:
        """Refuse what cannot be stored, before a transaction begins. Raises `StoreError`."""

    def write(self, connection: sqlite3.Connection) -> int:
        """Write inside a transaction; return the bytes added, as bounds count them."""
        return 0

    @property
    def sums(self) -> Mapping[str, int]:
        """What the last `write` adds to the sums; the writer adds up all jobs of a transaction first."""
        return {}

    def settle(self, error: StoreError | None) -> None:
        """Hear that it is durable, or why it is not."""


@dataclass(slots=True, eq=False)
class OutcomeJob(Job):
    """How a request ended. Nobody waits; `settled` hears of the error, `None` where it is stored.

    `cost` is what `coldpress.stores.spending.Unsettled` has counted for it: what it adds to its day.
    """

    outcome: Outcome
    now: float
    cost: Mapping[str, int]
    settled: Callable[[StoreError | None], None]
    _added: dict[str, int] = field(default_factory=dict)
    _first: bool = False

    def check(self) -> None:
        """Refuse counts and amounts that no reply can hold."""
        self._added = {**outcome_sums(self.outcome), **self.cost}

    def write(self, connection: sqlite3.Connection) -> int:
        """Write it; the first outcome of a request stays."""
        added = write_outcome(connection, self.outcome, self.now)
        self._first = added > 0
        return added

    @property
    def sums(self) -> Mapping[str, int]:
        """Nothing where another outcome was there first."""
        return self._added if self._first else {}

    def settle(self, error: StoreError | None) -> None:
        """Tell the store."""
        self.settled(error)


@dataclass(slots=True, eq=False)
class EventJob(Job):
    """One raw event, secrets already removed. Nobody waits; `lost` hears of a failure."""

    event: RawEvent
    lost: Callable[[], None]

    @property
    def queued_bytes(self) -> int:
        """Memory it holds while it waits."""
        return 500 + len(self.event.body)

    def write(self, connection: sqlite3.Connection) -> int:
        """Write the event, and its body where that is new."""
        event, sha = self.event, hashlib.sha256(self.event.body).digest()
        known = connection.execute("SELECT id FROM raw_bodies WHERE sha = ?", (sha,)).fetchone()
        added = 0
        if known is None:
            packed = pack(event.body)
            added = len(packed)
            body = connection.execute("INSERT INTO raw_bodies VALUES(NULL,?,?,?)", (sha, packed, added)).lastrowid
        else:
            body = int(known[0])
        headers = msgspec.json.encode(event.headers).decode()
        size = EVENT_ROW_BYTES + len(headers)
        connection.execute(
            "INSERT INTO raw_events VALUES(NULL,?,?,?,?,?,?)",
            (event.request_id, event.at, event.direction, headers, body, size),
        )
        return added + size

    def settle(self, error: StoreError | None) -> None:
        """Count what is lost."""
        if error is not None:
            self.lost()


@dataclass(slots=True, eq=False)
class TouchJob(Job):
    """Note that decisions, originals and kept texts are in use. Losing it costs nothing but an earlier expiry."""

    chains: frozenset[bytes]
    shas: frozenset[str]
    now: float
    kept: frozenset[bytes] = frozenset()

    @property
    def queued_bytes(self) -> int:
        """Memory it holds while it waits."""
        return 200 * (len(self.chains) + len(self.shas) + len(self.kept))

    def write(self, connection: sqlite3.Connection) -> int:
        """Move the last use on."""
        connection.executemany(
            "UPDATE chains SET last_used = max(last_used, ?) WHERE chain = ?",
            [(self.now, chain) for chain in sorted(self.chains)],
        )
        connection.executemany(
            "UPDATE originals SET last_used = max(last_used, ?) WHERE sha = ?",
            [(self.now, bytes.fromhex(sha)) for sha in sorted(self.shas)],
        )
        connection.executemany(
            "UPDATE kept SET used_at = max(used_at, ?) WHERE key = ?", [(self.now, key) for key in sorted(self.kept)]
        )
        return 0


@dataclass(slots=True, eq=False)
class FlushJob(Job):
    """Nothing to write: its turn comes when all before it is done."""

    future: Future[None]

    @property
    def urgent(self) -> bool:
        """Somebody waits."""
        return True

    @property
    def queued_bytes(self) -> int:
        """None: it always finds room."""
        return 0

    def settle(self, error: StoreError | None) -> None:
        """Its turn has come."""
        self.future.set_result(None)
