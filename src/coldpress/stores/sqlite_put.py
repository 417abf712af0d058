"""Write what one request decided: originals, standing edits, a batch, a receipt."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from coldpress.model.edits import Batch, Standing
from coldpress.model.errors import StoreError
from coldpress.model.records import Receipt
from coldpress.stores.batches import decisions_of, originals_of, packed_batch, text_length
from coldpress.stores.originals import encoded, missing_original, not_logged, tool_of
from coldpress.stores.packing import pack
from coldpress.stores.sqlite_jobs import Job
from coldpress.stores.sqlite_ledger import write_receipt
from coldpress.stores.tally import check_receipt

# What a row takes beside its texts: columns, indexes, page slack.
STANDING_ROW_BYTES = 200


@dataclass(slots=True, eq=False)
class PutJob(Job):
    """Originals, decisions, a batch and a receipt, all or none.

    `kept` and `kept_batch` hold, after `write`, the decisions that were the first for their key, and the batch where
    it was the first at its message. `settled` is called before the future is done.
    """

    originals: Sequence[tuple[str, str]]
    standings: Sequence[Standing]
    receipt: Receipt | None
    batch: Batch | None
    require_log: bool
    now: float
    settled: Callable[[PutJob, StoreError | None], None]
    future: Future[None]
    kept: list[Standing] = field(default_factory=list)
    kept_batch: Batch | None = None
    _encoded: list[tuple[bytes, bytes]] = field(default_factory=list)
    _packed: bytes = b""
    _added: dict[str, int] = field(default_factory=dict)

    @property
    def urgent(self) -> bool:
        """Only a replacement is waited for: nothing else is sent on the strength of being stored."""
        return (
            bool(self.originals)
            or self.batch is not None
            or any(standing.replacement is not None for standing in self.standings)
        )

    @property
    def queued_bytes(self) -> int:
        """Memory it holds while it waits."""
        texts = sum(len(text) for _, text in self.originals)
        decided = sum(len(s.replacement or "") + len(s.recipe) for s in self.standings)
        return 1000 + texts + decided + (text_length(self.batch) if self.batch else 0)

    def check(self) -> None:
        """Refuse a text that its name does not name, and what could not be read back."""
        self._encoded = [encoded(sha, text) for sha, text in self.originals]
        if self.batch is not None:
            self._packed = packed_batch(self.batch)
        if self.receipt is not None:
            check_receipt(self.receipt)

    def write(self, connection: sqlite3.Connection) -> int:
        """Write originals before the decisions that need them."""
        # A second attempt, after others spoilt the first transaction, starts anew.
        self.kept, self.kept_batch, self._added = [], None, {}
        if self.require_log:
            self._require_logged(connection)
        added = sum(self._write_original(connection, sha, data) for sha, data in self._encoded)
        for standing in self.standings:
            added += self._write_standing(connection, standing)
        if self.batch is not None:
            added += self._write_batch(connection, self.batch)
        if self.receipt is not None:
            size, self._added = write_receipt(connection, self.receipt)
            added += size
        return added

    @property
    def sums(self) -> Mapping[str, int]:
        """Those of the receipt."""
        return self._added

    def settle(self, error: StoreError | None) -> None:
        """Tell the store, then whoever waits."""
        self.settled(self, error)
        if error is None:
            self.future.set_result(None)
        else:
            self.future.set_exception(error)

    def _require_logged(self, connection: sqlite3.Connection) -> None:
        """Refuse what was decided on a request that the raw log does not hold: it was to be written before this."""
        request_id = self.receipt.request_id if self.receipt else ""
        asked = "SELECT 1 FROM raw_events WHERE request_id = ? AND direction = 'request'"
        if not connection.execute(asked, (request_id,)).fetchone():
            raise not_logged(request_id)

    def _write_original(self, connection: sqlite3.Connection, sha: bytes, data: bytes) -> int:
        known = connection.execute("UPDATE originals SET last_used = max(last_used, ?) WHERE sha = ?", (self.now, sha))
        if known.rowcount:
            return 0
        packed = pack(data)
        row = connection.execute(
            "INSERT INTO originals(sha, text_bytes, size, tool, last_used) VALUES(?,?,?,?,?)",
            (sha, len(data), len(packed), tool_of(self.receipt, sha.hex()), self.now),
        )
        connection.execute("INSERT INTO original_texts VALUES(?,?)", (row.lastrowid, packed))
        connection.execute("DELETE FROM tombstones WHERE sha = ?", (sha,))
        return len(packed)

    def _write_standing(self, connection: sqlite3.Connection, standing: Standing) -> int:
        key = standing.key
        original = _used_original(connection, standing.original, self.now) if standing.original else None
        replacement = None if standing.replacement is None else pack(standing.replacement.encode())
        recipe = pack(standing.recipe.encode()) if standing.recipe else None
        size = STANDING_ROW_BYTES + len(replacement or b"") + len(recipe or b"")
        row = connection.execute(
            "INSERT OR IGNORE INTO standings"
            "(chain, block, part, mode, original, replacement, recipe, size, saved_tokens) VALUES(?,?,?,?,?,?,?,?,?)",
            (key.chain, key.block, key.part, standing.mode, original, replacement, recipe, size, standing.saved_tokens),
        )
        note_use(connection, key.chain, self.now)
        if row.rowcount == 0:
            return 0
        self.kept.append(standing)
        return size

    def _write_batch(self, connection: sqlite3.Connection, batch: Batch) -> int:
        for sha in sorted(originals_of(batch)):
            _used_original(connection, sha, self.now)
        size = STANDING_ROW_BYTES + len(self._packed)
        row = connection.execute(
            "INSERT OR IGNORE INTO batches(after, packed, decisions, size) VALUES(?,?,?,?)",
            (batch.after, self._packed, decisions_of(batch), size),
        )
        note_use(connection, batch.after, self.now)
        if row.rowcount == 0:
            return 0
        self.kept_batch = batch
        return size


def _used_original(connection: sqlite3.Connection, sha: str, now: float) -> bytes:
    """Note the use of what a decision replaces and give its SHA-256; raises where it is not stored."""
    original = bytes.fromhex(sha)
    row = connection.execute("SELECT last_used FROM originals WHERE sha = ?", (original,)).fetchone()
    if row is None:
        raise missing_original(sha)
    if row[0] < now:  # most come along with their decision, and are noted already
        connection.execute("UPDATE originals SET last_used = ? WHERE sha = ?", (now, original))
    return original


def note_use(connection: sqlite3.Connection, chain: bytes, now: float) -> None:
    """Note that a message's decisions are in use."""
    connection.execute(
        "INSERT INTO chains VALUES(?,?)"
        " ON CONFLICT(chain) DO UPDATE SET last_used = max(last_used, excluded.last_used)",
        (chain, now),
    )
