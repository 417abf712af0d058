"""Write what one request decided: originals, standing edits, a receipt."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

import msgspec

from coldpress.model.edits import Standing
from coldpress.model.errors import StoreError
from coldpress.model.records import Receipt
from coldpress.stores.base import Views
from coldpress.stores.originals import encoded, missing_original, tool_of
from coldpress.stores.packing import pack
from coldpress.stores.sqlite_jobs import Job
from coldpress.stores.tally import Tally

# What a row takes beside its texts: columns, indexes, page slack.
STANDING_ROW_BYTES = 200
RECEIPT_ROW_BYTES = 500


@dataclass(slots=True, eq=False)
class PutJob(Job):
    """Originals, decisions and a receipt, all or none.

    `kept` holds, after `write`, the decisions that were the first for their key. `settled` is called before
    the future is done.
    """

    originals: Sequence[tuple[str, str]]
    standings: Sequence[Standing]
    receipt: Receipt | None
    now: float
    settled: Callable[[PutJob, StoreError | None], None]
    future: Future[None]
    kept: list[Standing] = field(default_factory=list)
    _encoded: list[tuple[bytes, bytes]] = field(default_factory=list)

    @property
    def urgent(self) -> bool:
        """Only a replacement is waited for: nothing else is sent on the strength of being stored."""
        return bool(self.originals) or any(standing.replacement is not None for standing in self.standings)

    @property
    def queued_bytes(self) -> int:
        """Memory it holds while it waits."""
        texts = sum(len(text) for _, text in self.originals)
        return 1000 + texts + sum(len(s.replacement or "") + len(s.recipe) for s in self.standings)

    def check(self) -> None:
        """Refuse a text that its name does not name."""
        self._encoded = [encoded(sha, text) for sha, text in self.originals]

    def write(self, connection: sqlite3.Connection) -> int:
        """Write originals before the decisions that need them."""
        self.kept = []  # a second attempt, after others spoilt the first transaction, starts anew
        added = sum(self._write_original(connection, sha, data) for sha, data in self._encoded)
        for standing in self.standings:
            added += self._write_standing(connection, standing)
        if self.receipt is not None:
            added += write_receipt(connection, self.receipt)
        return added

    def settle(self, error: StoreError | None) -> None:
        """Tell the store, then whoever waits."""
        self.settled(self, error)
        if error is None:
            self.future.set_result(None)
        else:
            self.future.set_exception(error)

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
        key, original = standing.key, bytes.fromhex(standing.original) or None
        if (
            original is not None
            and not connection.execute("SELECT 1 FROM originals WHERE sha = ?", (original,)).fetchone()
        ):
            raise missing_original(standing)
        replacement = None if standing.replacement is None else pack(standing.replacement.encode())
        recipe = pack(standing.recipe.encode()) if standing.recipe else None
        size = STANDING_ROW_BYTES + len(replacement or b"") + len(recipe or b"")
        row = connection.execute(
            "INSERT OR IGNORE INTO standings(chain, block, part, mode, original, replacement, recipe, size)"
            " VALUES(?,?,?,?,?,?,?,?)",
            (key.chain, key.block, key.part, standing.mode, original, replacement, recipe, size),
        )
        note_use(connection, key.chain, self.now)
        if row.rowcount == 0:
            return 0
        self.kept.append(standing)
        return size


def note_use(connection: sqlite3.Connection, chain: bytes, now: float) -> None:
    """Note that a message's decisions are in use."""
    connection.execute(
        "INSERT INTO chains VALUES(?,?)"
        " ON CONFLICT(chain) DO UPDATE SET last_used = max(last_used, excluded.last_used)",
        (chain, now),
    )


def write_receipt(connection: sqlite3.Connection, receipt: Receipt) -> int:
    """Write a receipt; the first of a request stays."""
    tally = Tally.of(receipt)
    lines = msgspec.json.encode(receipt.lines).decode()
    size = RECEIPT_ROW_BYTES + len(lines)
    row = connection.execute(
        "INSERT OR IGNORE INTO receipts VALUES(NULL,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
        (
            receipt.request_id,
            receipt.received_at,
            receipt.provider,
            receipt.format,
            receipt.model,
            receipt.lineage,
            receipt.harness_session,
            receipt.operation,
            receipt.messages,
            receipt.body_bytes,
            receipt.sent_bytes,
            receipt.reused,
            receipt.reused_bytes_saved,
            lines,
            msgspec.json.encode(receipt.notes).decode(),
            *_columns(tally.pressed),
            *_columns(tally.observed),
            tally.restored,
            size,
        ),
    )
    return size if row.rowcount else 0


def _columns(views: Views) -> tuple[int, ...]:
    return (
        views.count,
        views.bytes_before,
        views.bytes_after,
        views.tokens_before,
        views.tokens_after,
        views.uncounted,
    )
