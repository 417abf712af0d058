"""Bring the database back within its bounds, in steps small enough that nobody waits for one."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from coldpress.model.notes import scope_of_lineage
from coldpress.stores.base import DAY_SECONDS, Bounds

STEP_ROWS = 100
# Free pages are kept for the next rows; only a large surplus is given back to the file system.
SPARE_PAGES = 1024
STEP_PAGES = 512


@dataclass(frozen=True, slots=True)
class Swept:
    """How a step ended: whether it stopped at its limit with more to do, and what is gone.

    `gone` names the messages whose decisions went, and kept texts.
    """

    more: bool
    gone: frozenset[bytes] = frozenset()


Step = Callable[[sqlite3.Connection, float, Bounds], Swept]


def _excess(connection: sqlite3.Connection, part: str, limit_bytes: int) -> int:
    row = connection.execute("SELECT bytes FROM sizes WHERE part = ?", (part,)).fetchone()
    return int(row[0]) - limit_bytes


def over_bounds(connection: sqlite3.Connection, bounds: Bounds) -> bool:
    """Whether any part holds more bytes than it may."""
    limits = {
        "originals": bounds.originals_bytes,
        "standings": bounds.standings_bytes,
        "ledger": bounds.ledger_bytes,
        "raw": bounds.raw_bytes,
        "kept": bounds.kept_bytes,
    }
    return any(_excess(connection, part, limit) > 0 for part, limit in limits.items())


def _doomed(rows: Iterable[tuple[int, int, float]], *, cutoff: float, excess: int) -> list[int]:
    """Pick from rows of (id, bytes, last use), oldest first: all before the cutoff, and until the excess is gone."""
    ids: list[int] = []
    for row_id, size, used in rows:
        if used >= cutoff and excess <= 0:
            break
        ids.append(row_id)
        excess -= size
    return ids


def sweep_originals(connection: sqlite3.Connection, now: float, bounds: Bounds) -> Swept:
    """Remove the least recently used originals, and remember their names."""
    ids = _doomed(
        connection.execute("SELECT id, size, last_used FROM originals ORDER BY last_used, id LIMIT ?", (STEP_ROWS,)),
        cutoff=now - bounds.originals_days * DAY_SECONDS,
        excess=_excess(connection, "originals", bounds.originals_bytes),
    )
    for row_id in ids:
        connection.execute(
            "INSERT OR IGNORE INTO tombstones(sha, expired_at, tool, text_bytes)"
            " SELECT sha, ?, tool, text_bytes FROM originals WHERE id = ?",
            (now, row_id),
        )
        connection.execute("DELETE FROM original_texts WHERE id = ?", (row_id,))
        connection.execute("DELETE FROM originals WHERE id = ?", (row_id,))
    return Swept(len(ids) == STEP_ROWS)


def sweep_standings(connection: sqlite3.Connection, now: float, bounds: Bounds) -> Swept:
    """Remove the decisions and batches of the least recently used messages."""
    cutoff = now - bounds.standings_days * DAY_SECONDS
    excess = _excess(connection, "standings", bounds.standings_bytes)
    chains: list[bytes] = []
    for chain, used in connection.execute(
        "SELECT chain, last_used FROM chains ORDER BY last_used, chain LIMIT ?", (STEP_ROWS,)
    ).fetchall():
        if used >= cutoff and excess <= 0:
            break
        sizes = connection.execute(
            "SELECT ifnull(sum(size), 0) + ifnull((SELECT size FROM batches WHERE after = :chain), 0)"
            " FROM standings WHERE chain = :chain",
            {"chain": chain},
        ).fetchone()
        excess -= int(sizes[0])
        connection.execute("DELETE FROM standings WHERE chain = ?", (chain,))
        connection.execute("DELETE FROM batches WHERE after = ?", (chain,))
        connection.execute("DELETE FROM chains WHERE chain = ?", (chain,))
        chains.append(bytes(chain))
    return Swept(len(chains) == STEP_ROWS, frozenset(chains))


def sweep_kept(connection: sqlite3.Connection, now: float, bounds: Bounds) -> Swept:
    """Remove the least recently used kept texts."""
    ids = _doomed(
        connection.execute("SELECT id, size, used_at FROM kept ORDER BY used_at, id LIMIT ?", (STEP_ROWS,)),
        cutoff=now - bounds.kept_days * DAY_SECONDS,
        excess=_excess(connection, "kept", bounds.kept_bytes),
    )
    gone: set[bytes] = set()
    for row_id in ids:
        gone.update(bytes(key) for (key,) in connection.execute("SELECT key FROM kept WHERE id = ?", (row_id,)))
        connection.execute("DELETE FROM kept_texts WHERE id = ?", (row_id,))
        connection.execute("DELETE FROM kept WHERE id = ?", (row_id,))
    return Swept(len(ids) == STEP_ROWS, frozenset(gone))


def sweep_receipts(connection: sqlite3.Connection, now: float, bounds: Bounds) -> Swept:
    """Remove the oldest receipts with their outcomes."""
    ids = _doomed(
        connection.execute("SELECT id, size, received_at FROM receipts ORDER BY received_at, id LIMIT ?", (STEP_ROWS,)),
        cutoff=now - bounds.ledger_days * DAY_SECONDS,
        excess=_excess(connection, "ledger", bounds.ledger_bytes),
    )
    for row_id in ids:
        connection.execute(
            "DELETE FROM outcomes WHERE request_id = (SELECT request_id FROM receipts WHERE id = ?)", (row_id,)
        )
        connection.execute("DELETE FROM receipts WHERE id = ?", (row_id,))
    return Swept(len(ids) == STEP_ROWS)


def sweep_outcomes(connection: sqlite3.Connection, now: float, bounds: Bounds) -> Swept:
    """Remove old outcomes whose receipt never came."""
    lonely = connection.execute(
        "SELECT id, size, noted_at FROM (SELECT * FROM outcomes ORDER BY noted_at, id LIMIT ?) AS oldest"
        " WHERE NOT EXISTS (SELECT 1 FROM receipts WHERE receipts.request_id = oldest.request_id)"
        " ORDER BY noted_at, id",
        (STEP_ROWS,),
    )
    ids = _doomed(
        lonely,
        cutoff=now - bounds.ledger_days * DAY_SECONDS,
        excess=_excess(connection, "ledger", bounds.ledger_bytes),
    )
    connection.executemany("DELETE FROM outcomes WHERE id = ?", [(row_id,) for row_id in ids])
    return Swept(len(ids) == STEP_ROWS)


def sweep_lineages(connection: sqlite3.Connection, _now: float, _bounds: Bounds) -> Swept:
    """Remove conversations of which no receipt is left, and what summaries left in their notes.

    Receipts go oldest first, so where the newest of a conversation is left, so is that of every later one.
    """
    gone = connection.execute(
        "SELECT lineage FROM (SELECT lineage, last_at FROM lineages ORDER BY last_at, lineage LIMIT ?) AS oldest"
        " WHERE NOT EXISTS (SELECT 1 FROM receipts WHERE receipts.lineage = oldest.lineage)",
        (STEP_ROWS,),
    ).fetchall()
    connection.executemany("DELETE FROM lineages WHERE lineage = ?", gone)
    scopes = [(scope_of_lineage(str(lineage)),) for (lineage,) in gone]
    connection.executemany("DELETE FROM notes WHERE scope = ? AND source = 'summary'", scopes)
    return Swept(len(gone) == STEP_ROWS)


def sweep_raw(connection: sqlite3.Connection, now: float, bounds: Bounds) -> Swept:
    """Remove the oldest raw events, and bodies that no event holds any more."""
    cutoff = now - bounds.raw_days * DAY_SECONDS
    removed = 0
    for event, body, at in connection.execute(
        "SELECT id, body, at FROM raw_events ORDER BY at, id LIMIT ?", (STEP_ROWS,)
    ).fetchall():
        # A body may be shared, so what removing an event frees is only known afterwards.
        if at >= cutoff and _excess(connection, "raw", bounds.raw_bytes) <= 0:
            break
        connection.execute("DELETE FROM raw_events WHERE id = ?", (event,))
        connection.execute(
            "DELETE FROM raw_bodies WHERE id = ? AND NOT EXISTS (SELECT 1 FROM raw_events WHERE body = ?)", (body, body)
        )
        removed += 1
    return Swept(removed == STEP_ROWS)


def sweep_tombstones(connection: sqlite3.Connection, _now: float, bounds: Bounds) -> Swept:
    """Forget the names of the originals that expired first."""
    count = int(connection.execute("SELECT row_count FROM sizes WHERE part = 'tombstones'").fetchone()[0])
    surplus = max(0, min(STEP_ROWS, count - bounds.tombstones))
    removed = connection.execute(
        "DELETE FROM tombstones WHERE sha IN (SELECT sha FROM tombstones ORDER BY expired_at, sha LIMIT ?)", (surplus,)
    )
    return Swept(removed.rowcount == STEP_ROWS)


def shrink(connection: sqlite3.Connection, _now: float, _bounds: Bounds) -> Swept:
    """Give a surplus of free pages back to the file system."""
    free = int(connection.execute("PRAGMA freelist_count").fetchone()[0])
    pages = int(connection.execute("PRAGMA page_count").fetchone()[0])
    spare = max(SPARE_PAGES, pages // 8)
    if free <= spare:
        return Swept(more=False)
    # Only a statement that is run to its end frees all the pages asked for.
    connection.execute(f"PRAGMA incremental_vacuum({min(STEP_PAGES, free - spare)})").fetchall()
    return Swept(free - spare > STEP_PAGES)


STEPS: tuple[Step, ...] = (
    sweep_originals,
    sweep_standings,
    sweep_kept,
    sweep_receipts,
    sweep_outcomes,
    sweep_lineages,
    sweep_raw,
    sweep_tombstones,
    shrink,
)
"""In this order, each repeated while it stops at its limit. Until it finds nothing would be never, under load."""
