"""Keep everything in memory, with the promises and bounds of the file but for surviving the process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from coldpress.model.edits import Batch, Standing
from coldpress.model.errors import StoreError
from coldpress.model.identity import EditKey
from coldpress.model.kept import Kept
from coldpress.model.notes import Note, NoteScope
from coldpress.model.records import Outcome, Receipt
from coldpress.stores.addresses import IN_MEMORY, Tombstone, choose, normal
from coldpress.stores.amounts import Amount, Held
from coldpress.stores.base import (
    DAY_SECONDS,
    DEFAULT_BOUNDS,
    Bounds,
    Decisions,
    Direction,
    LedgerEntry,
    LineageSummary,
    Named,
    RawEvent,
    Trace,
)
from coldpress.stores.batches import originals_of
from coldpress.stores.headers import without_secrets
from coldpress.stores.memory_decisions import MemoryDecisions
from coldpress.stores.memory_kept import MemoryKept
from coldpress.stores.memory_ledger import MemoryLedger
from coldpress.stores.memory_notes import MemoryNotes
from coldpress.stores.memory_raw import MemoryRaw
from coldpress.stores.originals import decoded, encoded, missing_original, not_logged, tool_of
from coldpress.stores.packing import is_text, pack
from coldpress.stores.tally import check_receipt
from coldpress.stores.totals import Stored, Totals

SWEEP_SHARE = 16


@dataclass(slots=True)
class _Original:
    packed: bytes
    text_bytes: int
    tool: str
    last_used: float


class MemoryStore:
    """A `Store` without a file."""

    def __init__(
        self,
        *,
        bounds: Bounds = DEFAULT_BOUNDS,
        raw_log: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Begin empty.

        Args:
            bounds: how much is kept.
            raw_log: whether `log_event` keeps anything.
            clock: seconds since the epoch, for the last use of things.
        """
        self._bounds = bounds
        self._log_raw = raw_log
        self._clock = clock
        self._lock = threading.RLock()
        self._closed = False
        self._originals: dict[str, _Original] = {}
        self._tombstones: dict[str, Tombstone] = {}
        self._decisions = MemoryDecisions()
        self._ledger = MemoryLedger()
        self._notes = MemoryNotes()
        self._raw = MemoryRaw()
        self._kept = MemoryKept()
        self._originals_bytes = 0
        self._since_sweep = 0
        self._unrecorded = 0

    def __enter__(self) -> MemoryStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def standing(self, keys: Sequence[EditKey]) -> dict[EditKey, Standing]:
        """See `Store.standing`."""
        with self._lock:
            self._require_open()
            now = self._clock()
            found = self._decisions.standing(keys, now)
            for standing in found.values():
                self._use(standing.original, now)
        return found

    def batches(self, chains: Sequence[bytes]) -> dict[bytes, Batch]:
        """See `Store.batches`."""
        with self._lock:
            self._require_open()
            now = self._clock()
            found = self._decisions.batches(chains, now)
            for sha in {sha for batch in found.values() for sha in originals_of(batch)}:
                self._use(sha, now)
        return found

    def decided(self, keys: Sequence[EditKey], chains: Sequence[bytes]) -> Decisions:
        """See `Store.decided`."""
        return Decisions(self.standing(keys), self.batches(chains))

    def durable(self, keys: Sequence[EditKey], batches: Sequence[bytes] = ()) -> Future[None]:
        """See `Store.durable`; here nothing outlives the process, so this is done at once."""
        lost = len(set(keys)) - len(self.standing(keys)) + len(set(batches)) - len(self.batches(batches))
        return _done(StoreError(f"{lost} standing edits are not stored: send the text exact") if lost else None)

    def keep(self, kept: Sequence[Kept], *, urgent: bool = False) -> Future[None]:
        """See `Store.keep`."""
        with self._lock:
            now = self._clock()
            for text in kept:
                if self._closed or not is_text(text.text):
                    self._unrecorded += 1
                else:
                    self._since_sweep += self._kept.keep(text, now)
            if not self._closed:
                self._sweep_when_due()
        return _done(None)

    def kept(self, keys: Sequence[bytes]) -> dict[bytes, Kept]:
        """See `Store.kept`."""
        with self._lock:
            self._require_open()
            return self._kept.find(keys, self._clock())

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
        try:
            with self._lock:
                if require_log and not (receipt and self._raw.holds(receipt.request_id)):
                    raise not_logged(receipt.request_id if receipt else "")
                self._put(originals, standings, receipt, batch)
        except StoreError as error:
            with self._lock:
                self._unrecorded += receipt is not None
            return _done(error)
        return _done(None)

    def _put(
        self,
        originals: Sequence[tuple[str, str]],
        standings: Sequence[Standing],
        receipt: Receipt | None,
        batch: Batch | None,
    ) -> None:
        self._require_open()
        now = self._clock()
        data = {sha: encoded(sha, text)[1] for sha, text in originals}
        needed = {standing.original for standing in standings if standing.original}
        needed |= originals_of(batch) if batch else set()
        for sha in sorted(needed):
            if sha not in data and sha not in self._originals:
                raise missing_original(sha)
        if receipt is not None:
            check_receipt(receipt)
        self._since_sweep += self._decisions.add(standings, batch, now)
        for sha, text in data.items():
            self._keep_original(sha, text, receipt, now)
        for sha in needed:
            self._use(sha, now)
        if receipt is not None:
            self._since_sweep += self._ledger.add_receipt(receipt)
        self._sweep_when_due()

    def _keep_original(self, sha: str, text: bytes, receipt: Receipt | None, now: float) -> None:
        if sha in self._originals:
            self._use(sha, now)
            return
        packed = pack(text)
        self._originals[sha] = _Original(packed, len(text), tool_of(receipt, sha), now)
        self._tombstones.pop(sha, None)
        self._originals_bytes += len(packed)
        self._since_sweep += len(packed)

    def add_outcome(self, outcome: Outcome) -> None:
        """See `Store.add_outcome`."""
        with self._lock:
            try:
                self._require_open()
                self._since_sweep += self._ledger.add_outcome(outcome, self._clock())
            except StoreError:
                self._unrecorded += 1

    def spent_on(self, day: str) -> Amount:
        """See `Store.spent_on`."""
        with self._lock:
            self._require_open()
            return self._ledger.spent_on(day)

    def log_event(
        self, request_id: str, at: float, direction: Direction, headers: Sequence[tuple[str, str]], body: bytes
    ) -> None:
        """See `Store.log_event`."""
        if not self._log_raw:
            return
        with self._lock:
            self._since_sweep += self._raw.add(RawEvent(request_id, at, direction, without_secrets(headers), body))
            self._sweep_when_due()

    def events(self, request_id: str) -> list[RawEvent]:
        """See `Store.events`."""
        with self._lock:
            self._require_open()
            return self._raw.events(request_id)

    def recall(self, sha: str) -> str:
        """See `Store.recall`."""
        digits = normal(sha)
        with self._lock:
            self._require_open()
            stored = [name for name in self._originals if name.startswith(digits)]
            expired = [stone for name, stone in self._tombstones.items() if name.startswith(digits)]
            name = choose(digits, stored, expired, also_check=IN_MEMORY)
            packed = self._originals[name].packed
            self._use(name, self._clock())
        return decoded(name, packed)

    def receipts(self, *, limit: int, lineage: str | None, before: float | None) -> list[LedgerEntry]:
        """See `Store.receipts`."""
        with self._lock:
            self._require_open()
            return self._ledger.entries(limit=limit, lineage=lineage, before=before)

    def receipt(self, request_id: str) -> LedgerEntry | None:
        """See `Store.receipt`."""
        with self._lock:
            self._require_open()
            return self._ledger.entry(request_id)

    def names_like(self, of: Named, beginning: str, *, limit: int) -> tuple[str, ...]:
        """See `Store.names_like`."""
        with self._lock:
            self._require_open()
            return self._ledger.names_like(of, beginning, limit=limit)

    def compactions(self, *, lineage: str | None, limit: int) -> list[LedgerEntry]:
        """See `Store.compactions`."""
        with self._lock:
            self._require_open()
            return self._ledger.compactions(lineage=lineage, limit=limit)

    def notes(self, scope: NoteScope) -> tuple[Note, ...]:
        """See `Store.notes`."""
        with self._lock:
            self._require_open()
            return self._notes.notes(scope)

    def put_note(self, scope: NoteScope, note: Note, *, now: float) -> None:
        """See `Store.put_note`; here nobody asks for its time."""
        with self._lock:
            self._require_open()
            self._notes.put(scope, note, most_bytes=self._bounds.notes_bytes)

    def remove_note(self, scope: NoteScope, path: str) -> bool:
        """See `Store.remove_note`."""
        with self._lock:
            self._require_open()
            return self._notes.remove(scope, path)

    def note_scopes(self) -> tuple[NoteScope, ...]:
        """See `Store.note_scopes`."""
        with self._lock:
            self._require_open()
            return self._notes.scopes()

    def lineages(self, *, limit: int) -> list[LineageSummary]:
        """See `Store.lineages`."""
        with self._lock:
            self._require_open()
            return self._ledger.lineages(limit=limit)

    def trace(self, lineage: str) -> Trace | None:
        """See `Store.trace`."""
        with self._lock:
            self._require_open()
            return self._ledger.trace(lineage)

    def session_lengths(self, *, harness: str | None, now: float, quiet_seconds: float) -> tuple[tuple[int, bool], ...]:
        """See `Store.session_lengths`."""
        with self._lock:
            self._require_open()
            return self._ledger.session_lengths(harness=harness, ended_before=now - quiet_seconds)

    def totals(self) -> Totals:
        """See `Store.totals`."""
        with self._lock:
            self._require_open()
            return self._ledger.totals(self._stored(), unrecorded=self._unrecorded)

    def _stored(self) -> Stored:
        return Stored(
            originals=Held(len(self._originals), self._originals_bytes),
            standings=self._decisions.kept,
            ledger=Held(self._ledger.rows, self._ledger.size_bytes),
            raw=self._raw.kept,
            notes=self._notes.kept,
            kept=self._kept.held,
            expired=len(self._tombstones),
        )

    def sweep(self, now: float) -> None:
        """See `Store.sweep`."""
        with self._lock:
            self._require_open()
            self._since_sweep = 0
            self._sweep_originals(now)
            self._decisions.sweep(now, self._bounds)
            self._notes.forget_summaries(self._ledger.sweep(now, self._bounds))
            self._raw.sweep(now, self._bounds)
            self._kept.sweep(now, self._bounds)

    def _sweep_originals(self, now: float) -> None:
        cutoff = now - self._bounds.originals_days * DAY_SECONDS
        for sha, original in sorted(self._originals.items(), key=lambda item: item[1].last_used):
            if original.last_used >= cutoff and self._originals_bytes <= self._bounds.originals_bytes:
                break
            del self._originals[sha]
            self._originals_bytes -= len(original.packed)
            self._tombstones[sha] = Tombstone(sha, now, original.tool, original.text_bytes)
        for sha in list(self._tombstones)[: max(0, len(self._tombstones) - self._bounds.tombstones)]:
            del self._tombstones[sha]

    def flush(self) -> None:
        """See `Store.flush`; here nothing ever waits."""

    def close(self) -> None:
        """See `Store.close`."""
        with self._lock:
            self._closed = True

    def _require_open(self) -> None:
        if self._closed:
            raise StoreError("the store in memory is closed: make a new one")

    def _use(self, sha: str, now: float) -> None:
        original = self._originals.get(sha)
        if original is not None:
            original.last_used = max(original.last_used, now)

    def _sweep_when_due(self) -> None:
        bounds = self._bounds
        smallest = min(
            bounds.originals_bytes, bounds.standings_bytes, bounds.ledger_bytes, bounds.raw_bytes, bounds.kept_bytes
        )
        if self._since_sweep > smallest // SWEEP_SHARE:
            self.sweep(self._clock())


def _done(error: StoreError | None) -> Future[None]:
    future: Future[None] = Future()
    future.set_running_or_notify_cancel()
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(error)
    return future
