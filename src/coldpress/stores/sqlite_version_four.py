"""The statements that lead from the third schema to the fourth: kept texts, plugins, summaries, and sums by tool."""

from __future__ import annotations

from collections.abc import Iterable

from coldpress.model.records import Reason
from coldpress.stores.tally_decisions import (
    ELIGIBLE,
    FIRST_VIEWS,
    LATER,
    LATER_VIEWS,
    MOST_CHARACTERS,
    MOST_TOOLS,
    OTHER,
)


def _in(reasons: Iterable[Reason]) -> str:
    words = ",".join(f"'{reason}'" for reason in sorted(reasons))
    return f"reason IN ({words})"


_MADE = _in(FIRST_VIEWS | LATER_VIEWS)
_COUNTED = "tokens_before NOTNULL AND tokens_after NOTNULL"
_VIEWS = (
    ("count", "count(*)"),
    ("bytes_before", "sum(bytes_before)"),
    ("bytes_after", "sum(bytes_after)"),
    ("tokens_before", f"sum(tokens_before) FILTER (WHERE {_COUNTED})"),
    ("tokens_after", f"sum(tokens_after) FILTER (WHERE {_COUNTED})"),
    ("uncounted", f"count(*) FILTER (WHERE NOT ({_COUNTED}))"),
)


def _sum(name: str, value: str, source: str) -> str:
    """Begin a sum with what is still held; sums of nothing are left out."""
    return f"INSERT INTO sums SELECT * FROM (SELECT {name} AS name, {value} AS value FROM {source}) WHERE value <> 0"


_LINES = (
    f"""CREATE TEMP TABLE old_lines AS
         SELECT substr(json_extract(line.value, '$.tool'), 1, {MOST_CHARACTERS}) AS tool,
           json_extract(line.value, '$.mode') AS mode, json_extract(line.value, '$.reason') AS reason,
           json_extract(line.value, '$.bytes_before') AS bytes_before,
           json_extract(line.value, '$.bytes_after') AS bytes_after,
           json_extract(line.value, '$.tokens_before') AS tokens_before,
           json_extract(line.value, '$.tokens_after') AS tokens_after
         FROM receipts, json_each(receipts.lines) AS line""",
    f"""UPDATE old_lines SET tool = '{OTHER}' WHERE tool NOT IN
         (SELECT tool FROM old_lines GROUP BY tool ORDER BY min(rowid) LIMIT {MOST_TOOLS})""",
    _sum("'reason:' || reason", "count(*)", "old_lines GROUP BY reason"),
    _sum("'tool.lines:' || tool", "count(*)", "old_lines GROUP BY tool"),
    _sum("'looked_at'", "count(*)", f"old_lines WHERE NOT {_in(LATER)}"),
    _sum("'tool.looked_at:' || tool", "count(*)", f"old_lines WHERE NOT {_in(LATER)} GROUP BY tool"),
    _sum("'eligible'", "count(*)", f"old_lines WHERE {_in(ELIGIBLE)}"),
    _sum("'tool.eligible:' || tool", "count(*)", f"old_lines WHERE {_in(ELIGIBLE)} GROUP BY tool"),
    *(
        _sum(f"'{split}.{name}:' || {split}", value, f"old_lines WHERE {_MADE} GROUP BY {split}")
        for split in ("mode", "tool")
        for name, value in _VIEWS
    ),
    "DROP TABLE old_lines",
)

_CUTS = "receipts WHERE cut NOTNULL"
_REMOVED = "receipts WHERE removed_tokens NOTNULL AND prompt_tokens NOTNULL"
_RECEIPTS = (
    _sum("'provider:' || provider", "count(*)", "receipts GROUP BY provider"),
    _sum("'cuts'", "count(*)", _CUTS),
    _sum("'candidates'", "sum(json_extract(cut, '$.candidates'))", _CUTS),
    _sum("'removed.requests'", "count(*)", _REMOVED),
    _sum("'removed.tokens'", "sum(removed_tokens)", _REMOVED),
    _sum("'removed.prompt_tokens'", "sum(prompt_tokens)", _REMOVED),
)

VERSION_4 = (
    # The text stands apart, so that noting a use does not rewrite it.
    """CREATE TABLE kept(
         id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, kind TEXT NOT NULL, size INTEGER NOT NULL,
         used_at REAL NOT NULL)""",
    "CREATE TABLE kept_texts(id INTEGER PRIMARY KEY, packed BLOB NOT NULL)",
    "CREATE INDEX kept_by_use ON kept(used_at, id)",
    "INSERT INTO sizes VALUES('kept',0,0)",
    """CREATE TRIGGER kept_insert AFTER INSERT ON kept BEGIN
         UPDATE sizes SET row_count = row_count + 1, bytes = bytes + new.size WHERE part = 'kept';
       END""",
    """CREATE TRIGGER kept_delete AFTER DELETE ON kept BEGIN
         UPDATE sizes SET row_count = row_count - 1, bytes = bytes - old.size WHERE part = 'kept';
       END""",
    "ALTER TABLE receipts ADD COLUMN plugins TEXT",
    "ALTER TABLE receipts ADD COLUMN offload TEXT",
    "ALTER TABLE outcomes ADD COLUMN captures TEXT",
    "ALTER TABLE outcomes ADD COLUMN failover TEXT",
    "ALTER TABLE outcomes ADD COLUMN plugins TEXT",
    # This reason is given no more: results that it was told of stayed exact because of their rule.
    'UPDATE receipts SET lines = replace(lines, \'"reason":"mode_not_built"\', \'"reason":"exact_by_policy"\')'
    " WHERE instr(lines, '\"mode_not_built\"')",
    *_LINES,
    *_RECEIPTS,
)
