"""A file of the first schema opens, keeps everything, and its sums go on from there."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest
from stores.samples import NOON, batch, key, line, outcome, pressed, receipt

from coldpress.model.edits import Standing
from coldpress.model.records import Receipt
from coldpress.model.usage import Usage
from coldpress.stores.amounts import Amount
from coldpress.stores.base import Store
from coldpress.stores.memory import MemoryStore
from coldpress.stores.packing import pack
from coldpress.stores.sqlite import SqliteStore
from coldpress.stores.sqlite_schema import APPLICATION_ID
from coldpress.stores.sqlite_versions import MIGRATIONS

RECEIPTS = [
    receipt("r1", at=NOON, lineage="a", session="s", lines=[line(), line(tokens=False)]),
    receipt("r2", at=NOON + 5, lineage="a", lines=[line(reason="restored")], reused=2),
    receipt("r3", at=NOON + 1, lineage="b", operation="observe", lines=[line(reason="observe")]),
    receipt("r4", at=NOON + 9, lineage=""),
]
OUTCOMES = [
    outcome("r1", Usage(fresh=10, read=90, output=5)),
    outcome("r2", Usage(fresh=1, write_short=7, write_long=0, output=2, reasoning=1)),
    outcome("r3"),
    outcome("r4", status=529),
]
ORIGINAL, STANDING = pressed("old", "an old text", "old view")


def old_receipt(kept: Receipt) -> tuple[object, ...]:
    """The row that the first schema's code wrote, its sums worked out by hand from `line()`."""
    views = {
        "r1": (2, 2000, 800, 250, 100, 1, 0, 0, 0, 0, 0, 0, 0),
        "r2": (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1),
        "r3": (0, 0, 0, 0, 0, 0, 1, 1000, 400, 250, 100, 0, 0),
        "r4": (0,) * 13,
    }[kept.request_id]
    lines, notes = msgspec.json.encode(kept.lines).decode(), msgspec.json.encode(kept.notes).decode()
    return (
        *(kept.request_id, kept.received_at, kept.provider, kept.format, kept.model, kept.lineage),
        *(kept.harness_session, kept.operation, kept.messages, kept.body_bytes, kept.sent_bytes, kept.reused),
        *(kept.reused_bytes_saved, lines, notes, *views, 500 + len(lines)),
    )


@pytest.fixture
def old_file(tmp_path: Path) -> Path:
    """A file as the first schema's code left it."""
    path = tmp_path / "old.db"
    made = sqlite3.connect(path, isolation_level=None)
    for statement in ("PRAGMA auto_vacuum=INCREMENTAL", "PRAGMA journal_mode=WAL", *MIGRATIONS[0]):
        made.execute(statement)
    made.execute(f"PRAGMA application_id={APPLICATION_ID}")
    made.execute("PRAGMA user_version=1")
    text = ORIGINAL[1].encode()
    sha = bytes.fromhex(ORIGINAL[0])
    made.execute("INSERT INTO originals VALUES(1,?,?,?,'Bash',?)", (sha, len(text), len(pack(text)), NOON))
    made.execute("INSERT INTO original_texts VALUES(1,?)", (pack(text),))
    made.execute("INSERT INTO chains VALUES(?,?)", (STANDING.key.chain, NOON))
    made.execute(
        "INSERT INTO standings(chain, block, part, mode, original, replacement, size) VALUES(?,0,0,?,?,?,300)",
        (STANDING.key.chain, STANDING.mode, sha, pack(b"old view")),
    )
    for kept in RECEIPTS:
        row = old_receipt(kept)
        made.execute(f"INSERT INTO receipts VALUES(NULL,{','.join('?' * len(row))})", row)
    for ended in OUTCOMES:
        usage = ended.usage
        tokens = (usage.fresh, usage.read, usage.write_short, usage.write_long, usage.output, usage.reasoning)
        values = (ended.request_id, NOON, ended.status, ended.ended, ended.duration_seconds, *tokens, 150)
        made.execute(f"INSERT INTO outcomes VALUES(NULL,{','.join('?' * len(values))})", values)
    made.close()
    return path


def told(store: Store) -> Store:
    for kept in RECEIPTS:
        store.put([], [], kept)
    for ended in OUTCOMES:
        store.add_outcome(ended)
    return store


def test_everything_in_a_file_of_the_first_schema_is_kept(old_file: Path) -> None:
    with SqliteStore(old_file) as store:
        assert store.recall(ORIGINAL[0]) == ORIGINAL[1]
        assert store.standing([STANDING.key]) == {STANDING.key: STANDING}
        for kept, ended in zip(RECEIPTS, OUTCOMES, strict=True):
            entry = store.receipt(kept.request_id)
            assert entry is not None and (entry.receipt, entry.outcome) == (kept, ended)


def test_its_sums_and_conversations_are_those_of_a_store_that_was_told_the_same(old_file: Path) -> None:
    told_now = told(MemoryStore())
    with SqliteStore(old_file) as store:
        old, new = store.totals(), told_now.totals()
        ignored = {"stored": new.stored}
        assert {**old.as_object(), **ignored} == {**new.as_object(), **ignored}
        assert (old.requests, old.lineages, old.money.bill) == (4, 2, Amount(0.0, 0, unpriced=3))
        assert store.lineages(limit=9) == told_now.lineages(limit=9)
        assert store.trace("a") == told_now.trace("a")
        lengths = store.session_lengths(harness=None, now=NOON + 20, quiet_seconds=15)
        assert lengths == ((2, False), (1, True))


def test_it_takes_what_is_new_and_keeps_it_over_a_restart(old_file: Path) -> None:
    originals, decided = batch("after", "x")
    more = Standing(key("new"), "view", "mask", ORIGINAL[0], "", 12)
    with SqliteStore(old_file) as store:
        store.put(originals, [more], receipt("r5", lineage="a", harness="cli"), decided).result()
    other = sqlite3.connect(old_file)
    assert other.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
    assert other.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    other.close()
    with SqliteStore(old_file) as store:
        assert store.batches([decided.after]) == {decided.after: decided}
        assert store.standing([more.key, STANDING.key]) == {more.key: more, STANDING.key: STANDING}
        assert store.totals().requests == 5
        trace = store.trace("a")
        assert trace is not None and trace.requests == 3


def test_several_that_open_it_at_once_bring_it_up_to_date_once(old_file: Path) -> None:
    def open_and_count(_: int) -> int:
        with SqliteStore(old_file, busy_seconds=30) as store:
            return store.totals().requests

    with ThreadPoolExecutor(6) as threads:
        assert list(threads.map(open_and_count, range(6))) == [4] * 6


def test_a_crash_in_the_middle_of_bringing_it_up_to_date_leaves_the_old_file(
    old_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = (MIGRATIONS[0], (*MIGRATIONS[1], "INSERT INTO no_such_table VALUES(1)"))
    monkeypatch.setattr("coldpress.stores.sqlite_schema.MIGRATIONS", broken)
    with pytest.raises(Exception, match="no_such_table"):
        SqliteStore(old_file)
    monkeypatch.undo()
    other = sqlite3.connect(old_file)
    assert other.execute("PRAGMA user_version").fetchone() == (1,)
    assert other.execute("SELECT count(*) FROM sqlite_master WHERE name = 'batches'").fetchone() == (0,)
    other.close()
    with SqliteStore(old_file) as store:
        assert store.totals().requests == 4
