"""The questions asked of the database, each a function of a connection."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from coldpress.model.edits import Standing
from coldpress.model.errors import StoreError
from coldpress.model.identity import EditKey
from coldpress.model.records import Line, Outcome, Receipt
from coldpress.model.usage import Usage
from coldpress.stores.addresses import Tombstone
from coldpress.stores.base import (
    Bucket,
    Direction,
    Kept,
    LedgerEntry,
    LineageSummary,
    RawEvent,
    Stored,
    Totals,
    UsageTotals,
    Views,
)
from coldpress.stores.originals import decoded
from coldpress.stores.packing import REPAIR, unpack, unpack_text
from coldpress.stores.tally import BUCKETS

# SQLite takes 32,766 parameters; smaller statements are prepared once and found again.
CHUNK = 200
MOST_MATCHES = 6

_RECEIPT: Final = (
    "r.request_id, r.received_at, r.provider, r.format, r.model, r.lineage, r.harness_session, r.operation, r.messages,"
    " r.body_bytes, r.sent_bytes, r.lines, r.reused, r.reused_bytes_saved, r.notes"
)
_OUTCOME: Final = (
    "o.request_id, o.status, o.ended, o.duration_seconds, o.fresh, o.read, o.write_short, o.write_long, o.output,"
    " o.reasoning"
)
_ENTRY: Final = f"SELECT {_RECEIPT}, {_OUTCOME} FROM receipts r LEFT JOIN outcomes o USING(request_id)"
_RECEIPT_COLUMNS: Final = 15
_lines = msgspec.json.Decoder(tuple[Line, ...])
_words = msgspec.json.Decoder(tuple[str, ...])
_pairs = msgspec.json.Decoder(tuple[tuple[str, str], ...])


def standings(connection: sqlite3.Connection, chains: Iterable[bytes]) -> list[tuple[Standing, float]]:
    """All decisions of these messages, each with the time of its last use."""
    wanted = list(chains)
    found: list[tuple[Standing, float]] = []
    for start in range(0, len(wanted), CHUNK):
        chunk = wanted[start : start + CHUNK]
        # Padded to one length, so that there is one statement to prepare.
        chunk += [b""] * (CHUNK - len(chunk)) if len(chunk) > 1 else []
        marks = ",".join("?" * len(chunk))
        rows = connection.execute(
            "SELECT s.chain, s.block, s.part, s.replacement, s.mode, s.original, s.recipe, c.last_used"
            f" FROM standings s JOIN chains c USING(chain) WHERE s.chain IN ({marks})",
            chunk,
        )
        found += [(_standing(row), float(row[7])) for row in rows]
    return found


def _standing(row: Sequence[object]) -> Standing:
    chain, block, part, replacement, mode, original, recipe, _ = row
    assert isinstance(chain, bytes) and isinstance(block, int) and isinstance(part, int)
    what = "a stored standing edit"
    return Standing(
        key=EditKey(chain, block, part),
        replacement=unpack_text(replacement, what=what) if isinstance(replacement, bytes) else None,
        mode=str(mode),
        original=original.hex() if isinstance(original, bytes) else "",
        recipe=unpack_text(recipe, what=what) if isinstance(recipe, bytes) else "",
    )


def matches(connection: sqlite3.Connection, low: bytes, high: bytes) -> tuple[list[str], list[Tombstone]]:
    """Names of stored originals, and expired ones, between two SHA-256 (a few of them)."""
    stored = connection.execute(
        "SELECT sha FROM originals WHERE sha BETWEEN ? AND ? LIMIT ?", (low, high, MOST_MATCHES)
    )
    expired = connection.execute(
        "SELECT sha, expired_at, tool, text_bytes FROM tombstones WHERE sha BETWEEN ? AND ? LIMIT ?",
        (low, high, MOST_MATCHES),
    )
    return [row[0].hex() for row in stored], [Tombstone(row[0].hex(), row[1], row[2], row[3]) for row in expired]


def original(connection: sqlite3.Connection, sha: str) -> tuple[str, float]:
    """Return a stored text and the time of its last use.

    Raises:
        StoreError: what is stored is not the text of this name any more.
    """
    row = connection.execute(
        "SELECT t.packed, o.last_used FROM originals o LEFT JOIN original_texts t USING(id) WHERE o.sha = ?",
        (bytes.fromhex(sha),),
    ).fetchone()
    if row is None or row[0] is None:
        raise StoreError(f"original {sha[:16]} is damaged: its text is missing. {REPAIR}")
    return decoded(sha, row[0]), float(row[1])


def entries(
    connection: sqlite3.Connection, *, limit: int, lineage: str | None, before: float | None
) -> list[LedgerEntry]:
    """Ledger entries, newest first."""
    conditions: list[str] = []
    values: list[str | float | int] = []
    if lineage is not None:
        conditions.append("r.lineage = ?")
        values.append(lineage)
    if before is not None:
        conditions.append("r.received_at < ?")
        values.append(before)
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    rows = connection.execute(
        f"{_ENTRY}{where} ORDER BY r.received_at DESC, r.id DESC LIMIT ?", (*values, max(0, limit))
    )
    return [_entry(row) for row in rows]


def entry(connection: sqlite3.Connection, request_id: str) -> LedgerEntry | None:
    """One request's entry."""
    row = connection.execute(f"{_ENTRY} WHERE r.request_id = ?", (request_id,)).fetchone()
    return None if row is None else _entry(row)


def _entry(row: Sequence[object]) -> LedgerEntry:
    # SQLite hands out untyped columns: their types are checked here, once.
    fields = dict(zip(Receipt.__dataclass_fields__, row, strict=False))
    fields["lines"] = _lines.decode(str(fields["lines"]))
    fields["notes"] = _words.decode(str(fields["notes"]))
    receipt = msgspec.convert(fields, Receipt)
    request_id, status, ended, duration, *tokens = row[_RECEIPT_COLUMNS:]
    if request_id is None:
        return LedgerEntry(receipt, None)
    usage = msgspec.convert(dict(zip(BUCKETS, tokens, strict=True)), Usage)
    outcome = {"request_id": request_id, "status": status, "ended": ended, "duration_seconds": duration, "usage": usage}
    return LedgerEntry(receipt, msgspec.convert(outcome, Outcome))


def lineages(connection: sqlite3.Connection, *, limit: int) -> list[LineageSummary]:
    """Conversations, the most recently active first."""
    rows = connection.execute(
        "SELECT lineage, max(harness_session), min(received_at), max(received_at), count(*), sum(pressed), sum(reused)"
        " FROM receipts GROUP BY lineage ORDER BY max(received_at) DESC, lineage LIMIT ?",
        (max(0, limit),),
    )
    return [LineageSummary(*row) for row in rows]


def totals(connection: sqlite3.Connection, *, unrecorded: int) -> Totals:
    """Sums over the ledger."""
    (since, requests, lineage_count, restored, reused, saved, body, sent, *views) = connection.execute(
        "SELECT min(received_at), count(*), count(DISTINCT lineage), ifnull(sum(restored),0), ifnull(sum(reused),0),"
        " ifnull(sum(reused_bytes_saved),0), ifnull(sum(body_bytes),0), ifnull(sum(sent_bytes),0),"
        + ",".join(
            f" ifnull(sum({name}),0), ifnull(sum({name}_before),0), ifnull(sum({name}_after),0),"
            f" ifnull(sum({name}_tokens_before),0), ifnull(sum({name}_tokens_after),0), ifnull(sum({name}_uncounted),0)"
            for name in ("pressed", "observed")
        )
        + " FROM receipts"
    ).fetchone()
    return Totals(
        since=since,
        requests=requests,
        lineages=lineage_count,
        operations=_counts(connection, "receipts", "operation"),
        transformations=Views(*views[:6]),
        restorations=restored,
        reuses=reused,
        reused_bytes_saved=saved,
        would_press=Views(*views[6:]),
        body_bytes=body,
        sent_bytes=sent,
        ended=_counts(connection, "outcomes", "ended"),
        usage=_usage(connection),
        stored=stored(connection),
        unrecorded=unrecorded,
    )


def _counts(connection: sqlite3.Connection, table: str, column: str) -> tuple[tuple[str, int], ...]:
    rows = connection.execute(f"SELECT {column}, count(*) FROM {table} GROUP BY {column} ORDER BY {column}")
    return tuple((str(name), int(count)) for name, count in rows)


def _usage(connection: sqlite3.Connection) -> UsageTotals:
    good = "status BETWEEN 200 AND 299"
    sums = ", ".join(f"ifnull(sum({name}),0), count({name})" for name in BUCKETS)
    answered, unknown, *pairs = connection.execute(
        f"SELECT count(*) FILTER (WHERE {good}), count(*) FILTER (WHERE {good} AND fresh IS NULL), {sums} FROM outcomes"
    ).fetchone()
    return UsageTotals(answered, unknown, *(Bucket(*pairs[i : i + 2]) for i in range(0, len(pairs), 2)))


def stored(connection: sqlite3.Connection) -> Stored:
    """What each part holds."""
    parts = {
        part: Kept(rows, size) for part, rows, size in connection.execute("SELECT part, row_count, bytes FROM sizes")
    }
    return Stored(
        parts["originals"], parts["standings"], parts["ledger"], parts["raw"], expired=parts["tombstones"].rows
    )


def events(connection: sqlite3.Connection, request_id: str) -> list[RawEvent]:
    """Raw events of one request, oldest first."""
    rows = connection.execute(
        "SELECT e.at, e.direction, e.headers, b.packed FROM raw_events e JOIN raw_bodies b ON b.id = e.body"
        " WHERE e.request_id = ? ORDER BY e.at, e.id",
        (request_id,),
    )
    return [_event(request_id, row) for row in rows]


def _event(request_id: str, row: tuple[float, Direction, str, bytes]) -> RawEvent:
    at, direction, headers, packed = row
    body = unpack(packed, what=f"the logged {direction} of {request_id}")
    return RawEvent(request_id, at, direction, _pairs.decode(headers), body)


def damaged(error: msgspec.MsgspecError) -> StoreError:
    """Say that a ledger row cannot be read."""
    return StoreError(f"a stored ledger entry is damaged ({error}); move the file away, and a new one is made")
