"""Keep everything in one SQLite file: one thread writes, any thread reads.

Write-ahead log with full syncs: what a future calls done survives a crash of the process and of the machine.
Several processes may use one file; the first decision for a text wins, whoever made it.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence, Set
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import msgspec

import coldpress.stores.sqlite_ledger_reads as ledger
import coldpress.stores.sqlite_notes as notebook
import coldpress.stores.sqlite_reads as reads
from coldpress.model.edits import Batch, Standing
from coldpress.model.errors import StoreError
from coldpress.model.identity import EditKey
from coldpress.model.kept import Kept
from coldpress.model.notes import Note, NoteScope
from coldpress.model.records import Outcome, Receipt
from coldpress.stores.addresses import IN_FILE, choose, normal, span
from coldpress.stores.amounts import Amount
from coldpress.stores.base import (
    DEFAULT_BOUNDS,
    MIB,
    Bounds,
    Decisions,
    Direction,
    LedgerEntry,
    LineageSummary,
    Named,
    RawEvent,
    Trace,
)
from coldpress.stores.headers import without_secrets
from coldpress.stores.queued import Queued
from coldpress.stores.recent import TOUCH_SECONDS
from coldpress.stores.spending import Unsettled, day_amount, day_names
from coldpress.stores.sqlite_decisions import SqliteDecisions
from coldpress.stores.sqlite_jobs import EventJob, FlushJob, OutcomeJob, TouchJob
from coldpress.stores.sqlite_kept import SqliteKept
from coldpress.stores.sqlite_pool import ReadPool
from coldpress.stores.sqlite_put import PutJob
from coldpress.stores.sqlite_schema import open_file
from coldpress.stores.sqlite_writer import LINGER_SECONDS, Writer
from coldpress.stores.totals import Totals


class SqliteStore:
    """A `Store` in a file."""

    def __init__(
        self,
        path: Path,
        *,
        bounds: Bounds = DEFAULT_BOUNDS,
        raw_log: bool = False,
        must_exist: bool = False,
        cache_bytes: int = 64 * MIB,
        queue_bytes: int = 256 * MIB,
        busy_seconds: float = 5.0,
        linger_seconds: float = LINGER_SECONDS,
        most_file_bytes: int | None = None,
        clock: Callable[[], float] = time.time,
        on_commit: Callable[[int], None] | None = None,
    ) -> None:
        """Open the file; make it, and its folders, where it is missing.

        Args:
            path: the database file. Two more files stand beside it while it is open.
            bounds: how much is kept.
            raw_log: whether `log_event` keeps anything.
            must_exist: refuse to make a new file, for a reader who would find nothing in it.
            cache_bytes: memory for recently used standing edits, as much again for batches, and for kept texts.
            queue_bytes: memory for what waits to be written; what does not fit is refused.
            busy_seconds: how long to wait for another process that writes.
            linger_seconds: how long rows that nobody waits for may wait for others to share a commit.
            most_file_bytes: never let the file grow beyond this; a write that would fails like a full disk.
            clock: seconds since the epoch, for the last use of things.
            on_commit: called in the writer's thread after each commit with the number of jobs in it.

        Raises:
            StoreError: the file is missing, not ours, from a newer version, or cannot be used.
        """
        path = path.expanduser().absolute()
        if must_exist and not path.exists():
            raise StoreError(f"there is no store at {path} yet: coldpress serve makes it; --store names another")
        connection = open_file(path, busy_seconds=busy_seconds)
        if most_file_bytes is not None:
            _bound_file(connection, most_file_bytes)
        self._path = path
        self._raw_log, self._notes_bytes = raw_log, bounds.notes_bytes
        self._clock = clock
        self._queued, self._unsettled = Queued(), Unsettled()
        self._pool = ReadPool(path, busy_seconds=busy_seconds)
        self._unrecorded = 0
        self._unrecorded_lock = threading.Lock()
        self._writer = Writer(
            connection,
            path,
            bounds,
            clock=clock,
            queue_bytes=queue_bytes,
            linger_seconds=linger_seconds,
            on_commit=on_commit,
            on_swept=self._forget,
        )
        submit = self._writer.submit
        self._decisions = SqliteDecisions(self._pool, self._queued, submit, clock=clock, cache_bytes=cache_bytes)
        self._kept = SqliteKept(self._pool, submit, lost=self._lost, clock=clock, cache_bytes=cache_bytes)
        self._writer.start()

    def __enter__(self) -> SqliteStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def standing(self, keys: Sequence[EditKey]) -> dict[EditKey, Standing]:
        """See `Store.standing`."""
        return self._decisions.find(keys, ()).standings

    def batches(self, chains: Sequence[bytes]) -> dict[bytes, Batch]:
        """See `Store.batches`."""
        return self._decisions.find((), chains).batches

    def decided(self, keys: Sequence[EditKey], chains: Sequence[bytes]) -> Decisions:
        """See `Store.decided`."""
        return self._decisions.find(keys, chains)

    def durable(self, keys: Sequence[EditKey], batches: Sequence[bytes] = ()) -> Future[None]:
        """See `Store.durable`."""
        waiting = self._queued.waiting(keys, batches)
        missing = [key for key in keys if key not in waiting.keys]
        absent = [after for after in batches if after not in waiting.batches]
        lost = len(set(missing).difference(self.standing(missing))) if missing else 0
        lost += len(set(absent).difference(self.batches(absent))) if absent else 0
        if lost:
            future: Future[None] = Future()
            future.set_exception(
                StoreError(f"store {self._path}: {lost} standing edits could not be stored: send the text exact")
            )
            return future
        return waiting.all_done()

    def put(
        self,
        originals: Sequence[tuple[str, str]],
        standings: Sequence[Standing],
        receipt: Receipt | None,
        batch: Batch | None = None,
        *,
        require_log: bool = False,
    ) -> Future[None]:
        """See `Store.put`."""
        future: Future[None] = Future()
        future.set_running_or_notify_cancel()
        job = PutJob(
            tuple(originals), tuple(standings), receipt, batch, require_log, self._clock(), self._settled, future
        )
        self._queued.add(job.originals, job.standings, job.batch, future)
        self._writer.submit(job)
        return future

    def _settled(self, job: PutJob, error: StoreError | None) -> None:
        # Remembered before it leaves the queue, so that a reader always finds it in one of the two.
        if error is None:
            self._decisions.remember(job.kept, job.kept_batch, used=job.now)
        elif job.receipt is not None:
            self._lost()
        self._queued.remove(job.originals, job.standings, job.batch, job.future)

    def keep(self, kept: Sequence[Kept], *, urgent: bool = False) -> Future[None]:
        """See `Store.keep`."""
        return self._kept.keep(kept, urgent=urgent)

    def kept(self, keys: Sequence[bytes]) -> dict[bytes, Kept]:
        """See `Store.kept`."""
        return self._kept.find(keys)

    def _forget(self, gone: Set[bytes]) -> None:
        self._decisions.forget(gone)
        self._kept.forget(gone)

    def add_outcome(self, outcome: Outcome) -> None:
        """See `Store.add_outcome`."""
        now = self._clock()
        cost = self._unsettled.add(outcome, now)

        def settled(error: StoreError | None) -> None:
            # What could not be stored was paid all the same: it stays counted for as long as this process lives.
            if error is None:
                self._unsettled.settle(cost)
            else:
                self._lost()

        self._writer.submit(OutcomeJob(outcome, now, cost, settled))

    def spent_on(self, day: str) -> Amount:
        """See `Store.spent_on`."""
        # In this order: what is stored in between counts twice for this once, and never not at all.
        waiting = self._unsettled.sums(day)
        with self._reading(self._pool.single_read) as connection:
            stored = ledger.sums_named(connection, day_names(day))
        return day_amount({name: waiting.get(name, 0) + stored.get(name, 0) for name in day_names(day)}, day)

    def log_event(
        self, request_id: str, at: float, direction: Direction, headers: Sequence[tuple[str, str]], body: bytes
    ) -> None:
        """See `Store.log_event`."""
        if self._raw_log:
            event = RawEvent(request_id, at, direction, without_secrets(headers), body)
            self._writer.submit(EventJob(event, self._lost))

    def events(self, request_id: str) -> list[RawEvent]:
        """See `Store.events`."""
        with self._reading() as connection:
            return reads.events(connection, request_id)

    def recall(self, sha: str) -> str:
        """See `Store.recall`."""
        digits = normal(sha)
        queued = self._queued.originals(digits)
        with self._reading() as connection:
            stored, expired = reads.matches(connection, *span(digits))
            name = choose(digits, [*stored, *queued], expired, also_check=IN_FILE)
            if name in queued:
                return queued[name]
            text, used = reads.original(connection, name)
        now = self._clock()
        if now - used > TOUCH_SECONDS:
            self._writer.submit(TouchJob(frozenset(), frozenset({name}), now))
        return text

    def receipts(self, *, limit: int, lineage: str | None, before: float | None) -> list[LedgerEntry]:
        """See `Store.receipts`."""
        with self._reading() as connection:
            return ledger.entries(connection, limit=limit, lineage=lineage, before=before)

    def receipt(self, request_id: str) -> LedgerEntry | None:
        """See `Store.receipt`."""
        with self._reading() as connection:
            return ledger.entry(connection, request_id)

    def names_like(self, of: Named, beginning: str, *, limit: int) -> tuple[str, ...]:
        """See `Store.names_like`."""
        with self._reading() as connection:
            return ledger.names_like(connection, of, beginning, limit=limit)

    def compactions(self, *, lineage: str | None, limit: int) -> list[LedgerEntry]:
        """See `Store.compactions`."""
        with self._reading(self._pool.single_read) as connection:
            return ledger.compactions(connection, lineage=lineage, limit=limit)

    def notes(self, scope: NoteScope) -> tuple[Note, ...]:
        """See `Store.notes`."""
        with self._reading(self._pool.single_read) as connection:
            return notebook.notes(connection, scope)

    def put_note(self, scope: NoteScope, note: Note, *, now: float) -> None:
        """See `Store.put_note`."""
        job = notebook.NoteJob(scope, note, now, self._notes_bytes)
        self._writer.submit(job)
        job.future.result()

    def remove_note(self, scope: NoteScope, path: str) -> bool:
        """See `Store.remove_note`."""
        job = notebook.RemoveNoteJob(scope, path)
        self._writer.submit(job)
        job.future.result()
        return job.removed

    def note_scopes(self) -> tuple[NoteScope, ...]:
        """See `Store.note_scopes`."""
        with self._reading(self._pool.single_read) as connection:
            return notebook.scopes(connection)

    def lineages(self, *, limit: int) -> list[LineageSummary]:
        """See `Store.lineages`."""
        with self._reading() as connection:
            return ledger.lineages(connection, limit=limit)

    def trace(self, lineage: str) -> Trace | None:
        """See `Store.trace`."""
        with self._reading(self._pool.single_read) as connection:
            return ledger.trace(connection, lineage)

    def session_lengths(self, *, harness: str | None, now: float, quiet_seconds: float) -> tuple[tuple[int, bool], ...]:
        """See `Store.session_lengths`."""
        with self._reading(self._pool.single_read) as connection:
            return ledger.session_lengths(connection, harness=harness, ended_before=now - quiet_seconds)

    def totals(self) -> Totals:
        """See `Store.totals`."""
        with self._reading() as connection:
            return ledger.totals(connection, unrecorded=self._unrecorded)

    def sweep(self, now: float) -> None:
        """See `Store.sweep`."""
        self._writer.sweep(now).result()

    def flush(self) -> None:
        """See `Store.flush`."""
        future: Future[None] = Future()
        self._writer.submit(FlushJob(future))
        future.result()

    def close(self) -> None:
        """See `Store.close`."""
        self._writer.close()
        self._pool.close()

    def _lost(self) -> None:
        with self._unrecorded_lock:
            self._unrecorded += 1

    @contextmanager
    def _reading(
        self, borrow: Callable[[], AbstractContextManager[sqlite3.Connection]] | None = None
    ) -> Iterator[sqlite3.Connection]:
        try:
            with (borrow or self._pool.reading)() as connection:
                yield connection
        except msgspec.MsgspecError as error:
            raise reads.damaged(error) from error


def _bound_file(connection: sqlite3.Connection, most_bytes: int) -> None:
    """Let the file never grow beyond so much."""
    page_bytes = int(connection.execute("PRAGMA page_size").fetchone()[0])
    connection.execute(f"PRAGMA max_page_count={max(1, most_bytes // page_bytes)}")
