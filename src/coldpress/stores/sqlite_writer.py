"""One thread that writes: takes what is queued, commits it together, tells everybody how it went."""

from __future__ import annotations

import queue
import sqlite3
import threading
from collections import Counter, deque
from collections.abc import Callable, Set
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

from coldpress.model.errors import StoreError
from coldpress.stores.base import MIB, Bounds
from coldpress.stores.sqlite_jobs import FlushJob, Job
from coldpress.stores.sqlite_ledger import add_sums
from coldpress.stores.sqlite_schema import explain
from coldpress.stores.sqlite_sweep import STEPS, over_bounds

# Rows that nobody waits for share a commit; a quarter of a second is not noticed in a ledger.
LINGER_SECONDS = 0.25
# A larger transaction would hold the lock, and the write-ahead log, for longer than anybody should wait.
MOST_JOBS = 2000
MOST_TRANSACTION_BYTES = 32 * MIB
LEAST_SWEEP_BYTES = 64 << 10
MOST_SWEEP_BYTES = 8 * MIB


@dataclass(slots=True, eq=False)
class _Sweep:
    """A sweep under way: which step it is at, and who waits for it."""

    now: float
    future: Future[None] | None
    step: int = 0


class _Nothing:
    """Says that the queue is empty."""


_NOTHING = _Nothing()
Item = Job | _Sweep | None
"""What is queued; `None` ends the thread."""


class Writer:
    """Owns the writing connection from `start` to `close`."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        path: Path,
        bounds: Bounds,
        *,
        clock: Callable[[], float],
        queue_bytes: int,
        linger_seconds: float,
        on_commit: Callable[[int], None] | None,
        on_swept: Callable[[Set[bytes]], None],
    ) -> None:
        self._connection = connection
        self._path = path
        self._file = _identity(path)
        self._bounds = bounds
        self._clock = clock
        self._on_commit = on_commit
        self._on_swept = on_swept
        self._queue: queue.SimpleQueue[Item] = queue.SimpleQueue()
        self._room = queue_bytes
        self._linger_seconds = linger_seconds
        self._hurry = threading.Event()
        self._lock = threading.Lock()
        self._closed = False
        self._stopping = False
        self._unsettled: set[Job] = set()
        self._sweeps: deque[_Sweep] = deque()
        self._since_sweep = 0
        smallest = min(
            bounds.originals_bytes, bounds.standings_bytes, bounds.ledger_bytes, bounds.raw_bytes, bounds.kept_bytes
        )
        self._sweep_every = max(LEAST_SWEEP_BYTES, min(MOST_SWEEP_BYTES, smallest // 16))
        self._thread = threading.Thread(target=self._run, name="coldpress-store", daemon=True)

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def submit(self, job: Job) -> None:
        """Queue a job, or settle it at once with the reason why it cannot be queued."""
        with self._lock:
            if self._closed:
                refusal = "it is closed: open it again"
            elif job.queued_bytes > self._room:
                refusal = "more is queued than may be: the disk does not keep up"
            else:
                self._room -= job.queued_bytes
                self._queue.put(job)
                if job.urgent:
                    self._hurry.set()
                return
        job.settle(StoreError(f"store {self._path}: {refusal}"))

    def sweep(self, now: float) -> Future[None]:
        """Queue a sweep; the future is done when all parts are within their bounds."""
        future: Future[None] = Future()
        future.set_running_or_notify_cancel()
        with self._lock:
            if not self._closed:
                self._queue.put(_Sweep(now, future))
                self._hurry.set()
                return future
        future.set_exception(StoreError(f"store {self._path}: it is closed: open it again"))
        return future

    def close(self) -> None:
        """Write what is queued, end the thread, close the connection."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._queue.put(None)
                self._hurry.set()
        if self._thread.is_alive():
            self._thread.join()
        self._connection.close()

    # What follows runs in the writer's thread only.

    def _run(self) -> None:
        try:
            while not self._stopping:
                self._commit(self._collect())
                if self._sweeps:
                    self._sweep_step()
        finally:
            # Also on an error of ours: whoever waits must hear, and nobody may queue behind a dead thread.
            self._abandon()

    def _collect(self) -> list[Job]:
        """Wait for work, then take what is queued; linger only while nobody waits for any of it."""
        jobs: list[Job] = []
        size = 0
        self._hurry.clear()
        hurry = bool(self._sweeps)
        item = self._take(wait=not hurry)
        while not isinstance(item, _Nothing):
            if item is None:
                self._stopping = True
                break
            if isinstance(item, _Sweep):
                # What was queued before the sweep is written before it.
                self._sweeps.append(item)
                hurry = True
            else:
                jobs.append(item)
                self._unsettled.add(item)
                size += item.queued_bytes
                hurry = hurry or item.urgent
            if len(jobs) >= MOST_JOBS or size >= MOST_TRANSACTION_BYTES:
                break
            item = self._take(wait=False)
            if isinstance(item, _Nothing) and not hurry:
                # Asleep, and not woken by every row that comes: each waking takes the interpreter from the event loop.
                self._hurry.wait(self._linger_seconds)
                hurry = True
                item = self._take(wait=False)
        return jobs

    def _take(self, *, wait: bool) -> Item | _Nothing:
        try:
            return self._queue.get(block=wait)
        except queue.Empty:
            return _NOTHING

    def _commit(self, jobs: list[Job]) -> None:
        ready: list[Job] = []
        for job in jobs:
            try:
                job.check()
            except StoreError as error:
                self._settle(job, error)
            else:
                ready.append(job)
        if all(isinstance(job, FlushJob) for job in ready):
            self._settle_all(ready, None)
            return
        try:
            added = self._transact(ready)
        except sqlite3.OperationalError as error:
            # The file, not a job: full, locked, read-only, unreadable. Trying one by one would only take longer.
            self._settle_all(ready, explain(error, self._path))
        except (sqlite3.Error, OSError, ValueError, OverflowError, MemoryError, StoreError) as error:
            if len(ready) == 1:
                self._settle(ready[0], error if isinstance(error, StoreError) else explain(error, self._path))
                return
            for job in ready:  # one of them is wrong: it alone shall fail
                self._commit([job])
        else:
            self._settle_all(ready, None)
            self._after_commit(sum(not isinstance(job, FlushJob) for job in ready), added)

    def _transact(self, jobs: list[Job]) -> int:
        """Write in one transaction and return the bytes added, or raise with nothing written."""
        if _identity(self._path) != self._file:
            raise StoreError(f"store {self._path}: the file was removed or replaced while in use: restart coldpress")
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            added, sums = 0, Counter[str]()
            for job in jobs:
                added += job.write(self._connection)
                sums.update(job.sums)
            add_sums(self._connection, sums)
            self._connection.execute("COMMIT")
        except BaseException:
            self._roll_back()
            raise
        return added

    def _after_commit(self, jobs: int, added: int) -> None:
        """Sweep without being asked as soon as enough was written, so that load cannot outrun a timer."""
        if self._on_commit is not None:
            self._on_commit(jobs)
        self._since_sweep += added
        if self._since_sweep < self._sweep_every or self._sweeps:
            return
        self._since_sweep = 0
        try:
            over = over_bounds(self._connection, self._bounds)
        except sqlite3.Error:
            return  # the next commit meets the same trouble and has somebody to tell
        if over:
            self._sweeps.append(_Sweep(self._clock(), None))

    def _roll_back(self) -> None:
        # After some errors SQLite has done so by itself, after others it cannot: the first error is the one to tell.
        try:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        except sqlite3.Error:
            return

    def _sweep_step(self) -> None:
        sweep = self._sweeps[0]
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            swept = STEPS[sweep.step](self._connection, sweep.now, self._bounds)
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            self._roll_back()
            self._end_sweep(explain(error, self._path))
            return
        if swept.gone:
            self._on_swept(swept.gone)
        if swept.more:
            return
        sweep.step += 1
        if sweep.step == len(STEPS):
            self._end_sweep(None)

    def _end_sweep(self, error: StoreError | None) -> None:
        future = self._sweeps.popleft().future
        if future is None:
            return
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)

    def _settle_all(self, jobs: list[Job], error: StoreError | None) -> None:
        for job in jobs:
            self._settle(job, error)

    def _settle(self, job: Job, error: StoreError | None) -> None:
        with self._lock:
            self._room += job.queued_bytes
        self._unsettled.discard(job)
        job.settle(error)

    def _abandon(self) -> None:
        closed = StoreError(f"store {self._path}: it was closed before this was done")
        with self._lock:
            self._closed = True
        self._settle_all(list(self._unsettled), closed)
        while self._sweeps:
            self._end_sweep(closed)
        while True:
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                return
            if isinstance(item, _Sweep):
                self._sweeps.append(item)
                self._end_sweep(closed)
            elif item is not None:
                self._settle(item, closed)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
