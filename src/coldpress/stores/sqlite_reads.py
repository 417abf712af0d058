"""The questions asked of the database about decisions, originals and the raw log, each a function of a connection."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache

import msgspec

from coldpress.model.edits import Batch, Standing
from coldpress.model.errors import StoreError
from coldpress.model.identity import EditKey
from coldpress.stores.addresses import Tombstone
from coldpress.stores.amounts import Held
from coldpress.stores.base import Direction, RawEvent
from coldpress.stores.batches import unpacked_batch
from coldpress.stores.originals import decoded
from coldpress.stores.packing import REPAIR, unpack, unpack_text
from coldpress.stores.totals import Stored

# SQLite takes 32,766 parameters; smaller statements are prepared once and found again.
CHUNK = 200
ROOMS = (1, 2, 4, 16, CHUNK)
MOST_MATCHES = 6

_pairs = msgspec.json.Decoder(tuple[tuple[str, str], ...])


@dataclass(frozen=True, slots=True)
class InFile:
    """Decisions in the file, each with the time of its last use."""

    standings: list[tuple[Standing, float]] = field(default_factory=list)
    batches: list[tuple[Batch, float]] = field(default_factory=list)


def decisions(connection: sqlite3.Connection, texts: Collection[bytes], messages: Collection[bytes]) -> InFile:
    """All decisions on the texts of some messages, and the batches decided at some.

    The use of either is noted in one table, which is asked first: most messages have no decision at all, and then one
    statement is all there is to run. What is stored or swept behind it might as well have been so later or earlier.
    """
    used: dict[object, float] = {
        chain: _time(last)
        for chain, last in looked_up(
            connection,
            "SELECT c.chain, c.last_used FROM wanted CROSS JOIN chains c USING(chain)",
            dict.fromkeys((*texts, *messages)),
        )
    }
    if not used:
        return InFile()
    rows = looked_up(
        connection,
        "SELECT s.chain, s.block, s.part, s.replacement, s.mode, s.original, s.recipe, s.saved_tokens"
        " FROM wanted CROSS JOIN standings s USING(chain)",
        [chain for chain in texts if chain in used],
    )
    packed = looked_up(
        connection,
        "SELECT b.after, b.packed FROM wanted CROSS JOIN batches b ON b.after = wanted.chain",
        [chain for chain in dict.fromkeys(messages) if chain in used],
    )
    return InFile(
        [(_standing(row), used[row[0]]) for row in rows],
        [(_batch(after, literal), used[after]) for after, literal in packed],
    )


def _batch(after: object, packed: object) -> Batch:
    assert isinstance(after, bytes) and isinstance(packed, bytes)
    return unpacked_batch(after, packed)


def _time(used: object) -> float:
    assert isinstance(used, float)
    return used


def looked_up(connection: sqlite3.Connection, question: str, chains: Iterable[bytes]) -> list[Sequence[object]]:
    """Ask about the rows of `wanted(chain)`."""
    wanted = list(chains)
    rows: list[Sequence[object]] = []
    for start in range(0, len(wanted), CHUNK):
        chunk = wanted[start : start + CHUNK]
        # Padded to one of a few lengths, so that there are few statements to prepare.
        room = next(size for size in ROOMS if size >= len(chunk))
        chunk += [b""] * (room - len(chunk))
        rows += connection.execute(_asked(question, room), chunk)
    return rows


@cache
def _asked(question: str, room: int) -> str:
    """Put a table of parameters before a question: SQLite would first sort what stands in `IN (...)`."""
    return f"WITH wanted(chain) AS (VALUES {','.join(['(?)'] * room)}) {question}"


def _standing(row: Sequence[object]) -> Standing:
    chain, block, part, replacement, mode, original, recipe, saved_tokens = row
    assert isinstance(chain, bytes) and isinstance(block, int) and isinstance(part, int)
    what = "a stored standing edit"
    return Standing(
        key=EditKey(chain, block, part),
        replacement=unpack_text(replacement, what=what) if isinstance(replacement, bytes) else None,
        mode=str(mode),
        original=original.hex() if isinstance(original, bytes) else "",
        recipe=unpack_text(recipe, what=what) if isinstance(recipe, bytes) else "",
        saved_tokens=saved_tokens if isinstance(saved_tokens, int) else None,
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


def stored(connection: sqlite3.Connection) -> Stored:
    """What each part holds."""
    parts = {
        part: Held(rows, size) for part, rows, size in connection.execute("SELECT part, row_count, bytes FROM sizes")
    }
    return Stored(
        parts["originals"],
        parts["standings"],
        parts["ledger"],
        parts["raw"],
        parts["notes"],
        parts["kept"],
        expired=parts["tombstones"].rows,
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
