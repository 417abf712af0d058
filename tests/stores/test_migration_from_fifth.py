"""A file of the fifth schema opens and keeps everything; why the model stopped is written from then on."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

from stores.conftest import Open
from stores.samples import NOON, outcome, receipt
from stores.test_migration_from_second import insert, outcome_row
from stores.test_migration_from_third import RECEIPTS, third_row

from coldpress.stores.base import Store
from coldpress.stores.sqlite import SqliteStore
from coldpress.stores.sqlite_schema import APPLICATION_ID
from coldpress.stores.sqlite_versions import MIGRATIONS

LATER = {"plugins": None, "offload": None, "native": None}


def old_file(path: Path) -> Path:
    made = sqlite3.connect(path, isolation_level=None)
    made.execute("PRAGMA auto_vacuum=INCREMENTAL")
    made.execute("PRAGMA journal_mode=WAL")
    for statements in MIGRATIONS[:5]:
        for statement in statements:
            made.execute(statement)
    made.execute(f"PRAGMA application_id={APPLICATION_ID}")
    made.execute("PRAGMA user_version=5")
    for kept in RECEIPTS:
        insert(made, "receipts", {**third_row(kept), **LATER})
        insert(made, "outcomes", {**outcome_row(outcome(kept.request_id)), "reply_id": "msg_1"})
    made.close()
    return path


def test_everything_is_kept_and_why_it_stopped_is_unknown(tmp_path: Path) -> None:
    with SqliteStore(old_file(tmp_path / "old.db")) as store:
        for kept in RECEIPTS:
            entry = store.receipt(kept.request_id)
            assert entry is not None and entry.outcome is not None
            assert (entry.receipt, entry.outcome) == (kept, replace(outcome(kept.request_id), reply_id="msg_1"))
            assert entry.outcome.stop is None


def test_it_takes_what_is_new_and_keeps_it_over_a_restart(tmp_path: Path) -> None:
    path = old_file(tmp_path / "old.db")
    ended = replace(outcome("r3"), stop="incomplete:max_output_tokens")
    with SqliteStore(path) as store:
        store.put([], [], receipt("r3", at=NOON + 9)).result()
        store.add_outcome(ended)
    with SqliteStore(path) as store:
        entry = store.receipt("r3")
        assert entry is not None and entry.outcome == ended


def test_a_process_of_the_fifth_schema_that_has_the_file_open_goes_on(tmp_path: Path) -> None:
    path = old_file(tmp_path / "old.db")
    older = sqlite3.connect(path, isolation_level=None)
    with SqliteStore(path) as store:
        insert(older, "receipts", {**third_row(receipt("late", at=NOON + 50)), **LATER})
        insert(older, "outcomes", {**outcome_row(outcome("late")), "reply_id": "msg_2"})
        entry = store.receipt("late")
        assert entry is not None and entry.outcome == replace(outcome("late"), reply_id="msg_2")
    older.close()


def test_every_store_gives_back_why_the_model_stopped(open_store: Open) -> None:
    store: Store = open_store()
    for name, word in (("said", "blockReason:SAFETY"), ("unsaid", None)):
        store.put([], [], receipt(name)).result()
        store.add_outcome(replace(outcome(name), stop=word))
        store.flush()
        entry = store.receipt(name)
        assert entry is not None and entry.outcome is not None
        assert entry.outcome.stop == word
