"""The statements that make the database and bring one of an earlier schema up to date."""

from __future__ import annotations

from coldpress.stores.sqlite_version_four import VERSION_4
from coldpress.stores.tally import BUCKETS, FIGURES

# Counting by trigger cannot drift, also where two processes write.
_COUNT = """
CREATE TRIGGER {table}_{event} AFTER {event} ON {table} BEGIN
  UPDATE sizes SET row_count = row_count {sign} 1, bytes = bytes {sign} {row}.size WHERE part = '{part}';
END
"""


def _counted(table: str, part: str) -> tuple[str, ...]:
    return (
        _COUNT.format(table=table, event="insert", sign="+", row="new", part=part),
        _COUNT.format(table=table, event="delete", sign="-", row="old", part=part),
    )


_VERSION_1 = (
    "CREATE TABLE sizes(part TEXT PRIMARY KEY, row_count INTEGER NOT NULL, bytes INTEGER NOT NULL) WITHOUT ROWID",
    "INSERT INTO sizes VALUES('originals',0,0),('standings',0,0),('ledger',0,0),('raw',0,0),('tombstones',0,0)",
    # The text stands apart, so that noting a use does not rewrite it.
    """CREATE TABLE originals(
         id INTEGER PRIMARY KEY, sha BLOB NOT NULL UNIQUE, text_bytes INTEGER NOT NULL, size INTEGER NOT NULL,
         tool TEXT NOT NULL, last_used REAL NOT NULL)""",
    "CREATE TABLE original_texts(id INTEGER PRIMARY KEY, packed BLOB NOT NULL)",
    "CREATE INDEX originals_by_use ON originals(last_used, id)",
    """CREATE TABLE tombstones(
         sha BLOB PRIMARY KEY, expired_at REAL NOT NULL, tool TEXT NOT NULL, text_bytes INTEGER NOT NULL,
         size INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID""",
    "CREATE INDEX tombstones_by_age ON tombstones(expired_at)",
    # A use is noted for the message, not for each of its texts.
    "CREATE TABLE chains(chain BLOB PRIMARY KEY, last_used REAL NOT NULL) WITHOUT ROWID",
    "CREATE INDEX chains_by_use ON chains(last_used)",
    """CREATE TABLE standings(
         id INTEGER PRIMARY KEY, chain BLOB NOT NULL, block INTEGER NOT NULL, part INTEGER NOT NULL,
         mode TEXT NOT NULL, original BLOB, replacement BLOB, recipe BLOB, size INTEGER NOT NULL,
         UNIQUE(chain, block, part))""",
    """CREATE TABLE receipts(
         id INTEGER PRIMARY KEY, request_id TEXT NOT NULL UNIQUE, received_at REAL NOT NULL, provider TEXT NOT NULL,
         format TEXT NOT NULL, model TEXT, lineage TEXT NOT NULL, harness_session TEXT, operation TEXT NOT NULL,
         messages INTEGER NOT NULL, body_bytes INTEGER NOT NULL, sent_bytes INTEGER NOT NULL, reused INTEGER NOT NULL,
         reused_bytes_saved INTEGER NOT NULL, lines TEXT NOT NULL, notes TEXT NOT NULL,
         pressed INTEGER NOT NULL, pressed_before INTEGER NOT NULL, pressed_after INTEGER NOT NULL,
         pressed_tokens_before INTEGER NOT NULL, pressed_tokens_after INTEGER NOT NULL,
         pressed_uncounted INTEGER NOT NULL,
         observed INTEGER NOT NULL, observed_before INTEGER NOT NULL, observed_after INTEGER NOT NULL,
         observed_tokens_before INTEGER NOT NULL, observed_tokens_after INTEGER NOT NULL,
         observed_uncounted INTEGER NOT NULL, restored INTEGER NOT NULL, size INTEGER NOT NULL)""",
    "CREATE INDEX receipts_by_age ON receipts(received_at, id)",
    "CREATE INDEX receipts_by_lineage ON receipts(lineage, received_at, id)",
    """CREATE TABLE outcomes(
         id INTEGER PRIMARY KEY, request_id TEXT NOT NULL UNIQUE, noted_at REAL NOT NULL, status INTEGER,
         ended TEXT NOT NULL, duration_seconds REAL NOT NULL, fresh INTEGER, read INTEGER, write_short INTEGER,
         write_long INTEGER, output INTEGER, reasoning INTEGER, size INTEGER NOT NULL)""",
    "CREATE INDEX outcomes_by_age ON outcomes(noted_at)",
    """CREATE TABLE raw_bodies(
         id INTEGER PRIMARY KEY, sha BLOB NOT NULL UNIQUE, packed BLOB NOT NULL, size INTEGER NOT NULL)""",
    """CREATE TABLE raw_events(
         id INTEGER PRIMARY KEY, request_id TEXT NOT NULL, at REAL NOT NULL, direction TEXT NOT NULL,
         headers TEXT NOT NULL, body INTEGER NOT NULL, size INTEGER NOT NULL)""",
    "CREATE INDEX raw_events_by_request ON raw_events(request_id)",
    "CREATE INDEX raw_events_by_age ON raw_events(at, id)",
    "CREATE INDEX raw_events_by_body ON raw_events(body)",
    *_counted("originals", "originals"),
    *_counted("tombstones", "tombstones"),
    *_counted("standings", "standings"),
    *_counted("receipts", "ledger"),
    *_counted("outcomes", "ledger"),
    *_counted("raw_bodies", "raw"),
    *_counted("raw_events", "raw"),
)

# What the first schema still holds is where the sums begin. Sums of nothing are left out, counts beside them too.
_RECEIPT_SUMS = (
    ("requests", "count(*)"),
    ("body_bytes", "sum(body_bytes)"),
    ("sent_bytes", "sum(sent_bytes)"),
    ("reuses", "sum(reused)"),
    ("reused_bytes_saved", "sum(reused_bytes_saved)"),
    ("restorations", "sum(restored)"),
    ("lineages", "count(DISTINCT nullif(lineage, ''))"),
    *(
        (f"{views}.{ours}", f"sum({views}{theirs})")
        for views in ("pressed", "observed")
        for ours, theirs in (
            ("count", ""),
            ("bytes_before", "_before"),
            ("bytes_after", "_after"),
            ("tokens_before", "_tokens_before"),
            ("tokens_after", "_tokens_after"),
            ("uncounted", "_uncounted"),
        )
    ),
)
_GOOD = "status BETWEEN 200 AND 299"
_OUTCOME_SUMS = (
    ("answered", f"count(*) FILTER (WHERE {_GOOD})"),
    ("unknown", f"count(*) FILTER (WHERE {_GOOD} AND fresh IS NULL)"),
    *((f"{figure}.unpriced", f"count(*) FILTER (WHERE {_GOOD})") for figure in FIGURES),
    *((f"{bucket}.tokens", f"sum({bucket})") for bucket in BUCKETS),
    *((f"{bucket}.replies", f"count({bucket})") for bucket in BUCKETS),
)


def _summed(table: str, sums: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    return tuple(
        f"INSERT INTO sums SELECT '{name}', value FROM (SELECT {what} AS value FROM {table}) WHERE value <> 0"
        for name, what in sums
    )


_VERSION_2 = (
    "ALTER TABLE standings ADD COLUMN saved_tokens INTEGER",
    # Decisions taken together are only read together: one row, whose use is noted in `chains` as that of the others.
    """CREATE TABLE batches(
         id INTEGER PRIMARY KEY, after BLOB NOT NULL UNIQUE, packed BLOB NOT NULL, decisions INTEGER NOT NULL,
         size INTEGER NOT NULL)""",
    """CREATE TRIGGER batches_insert AFTER INSERT ON batches BEGIN
         UPDATE sizes SET row_count = row_count + new.decisions, bytes = bytes + new.size WHERE part = 'standings';
       END""",
    """CREATE TRIGGER batches_delete AFTER DELETE ON batches BEGIN
         UPDATE sizes SET row_count = row_count - old.decisions, bytes = bytes - old.size WHERE part = 'standings';
       END""",
    "ALTER TABLE receipts ADD COLUMN harness TEXT",
    "ALTER TABLE receipts ADD COLUMN prompt_tokens INTEGER",
    "ALTER TABLE receipts ADD COLUMN removed_tokens INTEGER",
    "ALTER TABLE receipts ADD COLUMN belief TEXT",
    "ALTER TABLE receipts ADD COLUMN cut TEXT",
    "ALTER TABLE receipts ADD COLUMN aged INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE outcomes ADD COLUMN others TEXT",
    "ALTER TABLE outcomes ADD COLUMN context_tokens INTEGER",
    "ALTER TABLE outcomes ADD COLUMN miss TEXT",
    "ALTER TABLE outcomes ADD COLUMN transformations TEXT",
    "ALTER TABLE outcomes ADD COLUMN money TEXT",
    "ALTER TABLE outcomes ADD COLUMN bill_nano_usd INTEGER",
    "ALTER TABLE outcomes ADD COLUMN net_nano_usd INTEGER",
    "ALTER TABLE outcomes ADD COLUMN edits_noticed INTEGER NOT NULL DEFAULT 0",
    # One row a conversation: its length outlives the expiry of its first receipts.
    """CREATE TABLE lineages(
         lineage TEXT PRIMARY KEY, harness TEXT, first_at REAL NOT NULL, last_at REAL NOT NULL,
         requests INTEGER NOT NULL, edits_noticed INTEGER NOT NULL) WITHOUT ROWID""",
    "CREATE INDEX lineages_by_age ON lineages(last_at, lineage)",
    "CREATE INDEX lineages_by_harness ON lineages(harness, last_at, lineage)",
    """INSERT INTO lineages SELECT lineage, NULL, min(received_at), max(received_at), count(*), 0
         FROM receipts WHERE lineage <> '' GROUP BY lineage""",
    # Kept with each row in one transaction, and never taken from: no sweep and no restart changes what was summed.
    # The column has no type, so that a time stays a time.
    "CREATE TABLE sums(name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID",
    *_summed("receipts", _RECEIPT_SUMS),
    *_summed("outcomes", _OUTCOME_SUMS),
    "INSERT INTO sums SELECT 'operation:' || operation, count(*) FROM receipts GROUP BY operation",
    "INSERT INTO sums SELECT 'ended:' || ended, count(*) FROM outcomes GROUP BY ended",
    "INSERT INTO sums SELECT 'since', value FROM (SELECT min(received_at) AS value FROM receipts) WHERE value NOT NULL",
)

_VERSION_3 = (
    "ALTER TABLE receipts ADD COLUMN pressure TEXT",
    "ALTER TABLE receipts ADD COLUMN findings TEXT",
    "ALTER TABLE outcomes ADD COLUMN findings TEXT",
    "ALTER TABLE outcomes ADD COLUMN reported_usd REAL",
    # Few requests of many come up to the trigger.
    "CREATE INDEX receipts_under_pressure ON receipts(received_at, id) WHERE pressure IS NOT NULL",
    """CREATE TABLE notes(
         id INTEGER PRIMARY KEY, scope TEXT NOT NULL, path TEXT NOT NULL, source TEXT NOT NULL, packed BLOB NOT NULL,
         noted_at REAL NOT NULL, size INTEGER NOT NULL, UNIQUE(scope, path))""",
    "INSERT INTO sizes VALUES('notes',0,0)",
    *_counted("notes", "notes"),
)

_VERSION_5 = (
    "ALTER TABLE receipts ADD COLUMN native TEXT",
    "ALTER TABLE outcomes ADD COLUMN applied TEXT",
    "ALTER TABLE outcomes ADD COLUMN attribution TEXT",
    "ALTER TABLE outcomes ADD COLUMN reply_id TEXT",
)

_VERSION_6 = ("ALTER TABLE outcomes ADD COLUMN stop TEXT",)

MIGRATIONS: tuple[tuple[str, ...], ...] = (_VERSION_1, _VERSION_2, _VERSION_3, VERSION_4, _VERSION_5, _VERSION_6)
"""Statements that lead from each schema version to the next, from an empty file on."""
