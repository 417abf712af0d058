"""A file of the fourth schema opens and keeps everything; what a provider did by itself is written from then on."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

from stores.samples import NOON, outcome, receipt
from stores.test_migration_from_second import insert, outcome_row
from stores.test_migration_from_third import RECEIPTS, third_row

from coldpress.model.misses import Attribution
from coldpress.model.native import Applied, Declined, NativeAsked
from coldpress.model.usage import Usage
from coldpress.stores.sqlite import SqliteStore
from coldpress.stores.sqlite_schema import APPLICATION_ID
from coldpress.stores.sqlite_versions import MIGRATIONS


def old_file(path: Path) -> Path:
    made = sqlite3.connect(path, isolation_level=None)
    made.execute("PRAGMA auto_vacuum=INCREMENTAL")
    made.execute("PRAGMA journal_mode=WAL")
    for statements in MIGRATIONS[:4]:
        for statement in statements:
            made.execute(statement)
    made.execute(f"PRAGMA application_id={APPLICATION_ID}")
    made.execute("PRAGMA user_version=4")
    for kept in RECEIPTS:
        insert(made, "receipts", {**third_row(kept), "plugins": None, "offload": None})
        insert(made, "outcomes", {**outcome_row(outcome(kept.request_id)), "findings": None, "reported_usd": None})
    made.close()
    return path


def test_everything_is_kept_and_what_is_new_is_empty(tmp_path: Path) -> None:
    with SqliteStore(old_file(tmp_path / "old.db")) as store:
        for kept in RECEIPTS:
            entry = store.receipt(kept.request_id)
            assert entry is not None and (entry.receipt, entry.outcome) == (kept, outcome(kept.request_id))


def test_it_takes_what_is_new_and_keeps_it_over_a_restart(tmp_path: Path) -> None:
    path = old_file(tmp_path / "old.db")
    asked = NativeAsked(("clear_tool_uses",), (Declined("memory_tool", "unknown_client"),), 31_000)
    kept = replace(receipt("r3", at=NOON + 9), native=asked)
    applied = Applied("compact_threshold", usage=Usage(fresh=180_000, output=3_500), usd=0.98)
    ended = replace(
        outcome("r3"), applied=(applied,), attribution=Attribution("us", "edit", 900, 0.004), reply_id="msg_3"
    )
    with SqliteStore(path) as store:
        store.put([], [], kept).result()
        store.add_outcome(ended)
    with SqliteStore(path) as store:
        entry = store.receipt("r3")
        assert entry is not None and (entry.receipt, entry.outcome) == (kept, ended)


def test_a_process_of_the_fourth_schema_that_has_the_file_open_goes_on(tmp_path: Path) -> None:
    path = old_file(tmp_path / "old.db")
    older = sqlite3.connect(path, isolation_level=None)
    with SqliteStore(path) as store:
        late = receipt("late", at=NOON + 50)
        insert(older, "receipts", {**third_row(late), "plugins": None, "offload": None})
        entry = store.receipt("late")
        assert entry is not None and entry.receipt == late
    older.close()
