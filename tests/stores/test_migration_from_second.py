"""A file of the second schema opens, keeps everything, and takes compactions and notes from then on."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path

import msgspec
import pytest
from stores.samples import NOON, batch, line, outcome, pressure, rebuilt, receipt

from coldpress.model.notes import Note, NoteScope
from coldpress.model.records import Belief, Cut, Finding, Miss, Money, Outcome, Receipt
from coldpress.model.usage import Usage
from coldpress.stores.memory import MemoryStore
from coldpress.stores.packing import pack
from coldpress.stores.sqlite import SqliteStore
from coldpress.stores.sqlite_schema import APPLICATION_ID
from coldpress.stores.sqlite_versions import MIGRATIONS

CUT = Cut("cold", 3, 2, 20_000, 0, 17.5, 0.25, "prices of today")
RECEIPTS = [
    replace(receipt("r1", lines=[line()], harness="cli", cut=CUT), prompt_tokens=900, belief=Belief("cold", "idle")),
    receipt("r2", at=NOON + 5, lineage="b", session="s"),
]
OUTCOMES = [
    replace(outcome("r1", Usage(fresh=10, read=90, output=5)), money=Money(0.5, 0.25, 0.125, 0.0, "p")),
    replace(
        outcome("r2"), miss=Miss("tools_changed", 4), transformations=("dropped",), others=(("m", Usage(fresh=1)),)
    ),
]
ORIGINALS, DECIDED = batch("after", "one \U0001f9ca", "two")
LATER = ("pressure", "findings", "plugins", "offload", "native")
"""Fields of a receipt that later schemas brought."""
OURS = NoteScope("project:ours")


def text_of(value: object) -> str | None:
    return None if value is None else msgspec.json.encode(value).decode()


def receipt_row(kept: Receipt) -> dict[str, object]:
    """The row that the second schema's code wrote: the receipt's fields, and views counted from `line()`."""
    row = {name: value for name, value in asdict(kept).items() if name not in LATER}
    texts = {name: text_of(getattr(kept, name)) for name in ("lines", "notes", "belief", "cut")}
    new = len(kept.lines)
    views = (new, 1000 * new, 400 * new, 250 * new, 100 * new, 0)
    names = ("", "_before", "_after", "_tokens_before", "_tokens_after", "_uncounted")
    pressed = {f"pressed{name}": count for name, count in zip(names, views, strict=True)}
    observed = {f"observed{name}": 0 for name in names}
    return {**row, **texts, **pressed, **observed, "aged": 0, "restored": 0, "size": 700}


def outcome_row(ended: Outcome) -> dict[str, object]:
    usage, money = asdict(ended.usage), ended.money
    facts = ("request_id", "status", "ended", "duration_seconds", "context_tokens")
    texts = {name: text_of(getattr(ended, name) or None) for name in ("others", "miss", "transformations", "money")}
    bill = None if money is None else round((money.bill_usd or 0) * 1e9)
    net = None if money is None else round((money.net_usd or 0) * 1e9)
    told = {name: getattr(ended, name) for name in facts}
    sums = {"bill_nano_usd": bill, "net_nano_usd": net, "edits_noticed": int(ended.edits_noticed)}
    return {**told, **usage, **texts, **sums, "noted_at": NOON, "size": 250}


def insert(made: sqlite3.Connection, table: str, row: Mapping[str, object]) -> None:
    places = ",".join("?" * len(row))
    made.execute(f"INSERT INTO {table}({','.join(row)}) VALUES({places})", tuple(row.values()))  # type: ignore[arg-type]


@pytest.fixture
def old_file(tmp_path: Path) -> Path:
    """A file as the second schema's code left it."""
    path = tmp_path / "old.db"
    made = sqlite3.connect(path, isolation_level=None)
    for statement in ("PRAGMA auto_vacuum=INCREMENTAL", "PRAGMA journal_mode=WAL", *MIGRATIONS[0], *MIGRATIONS[1]):
        made.execute(statement)
    made.execute(f"PRAGMA application_id={APPLICATION_ID}")
    made.execute("PRAGMA user_version=2")
    for n, (sha, text) in enumerate(ORIGINALS):
        data = text.encode()
        row = (n, bytes.fromhex(sha), len(data), len(pack(data)), "Bash", NOON)
        made.execute("INSERT INTO originals VALUES(?,?,?,?,?,?)", row)
        made.execute("INSERT INTO original_texts VALUES(?,?)", (n, pack(data)))
    made.execute("INSERT INTO chains VALUES(?,?)", (DECIDED.after, NOON))
    packed = pack(msgspec.json.encode(DECIDED.standings))
    made.execute("INSERT INTO batches VALUES(NULL,?,?,2,?)", (DECIDED.after, packed, 200 + len(packed)))
    for kept in RECEIPTS:
        insert(made, "receipts", receipt_row(kept))
        facts = (kept.lineage, kept.harness, kept.received_at, kept.received_at)
        made.execute("INSERT INTO lineages VALUES(?,?,?,?,1,0)", facts)
    for ended in OUTCOMES:
        insert(made, "outcomes", outcome_row(ended))
    made.execute("INSERT INTO sums VALUES('since',?),('requests',1000),('lineages',400)", (NOON - 9,))
    made.execute("INSERT INTO sums VALUES('cut:cold',70),('bill.nano_usd',5000000000),('bill.replies',900)")
    made.close()
    return path


def test_everything_in_a_file_of_the_second_schema_is_kept(old_file: Path) -> None:
    with SqliteStore(old_file) as store:
        assert store.batches([DECIDED.after]) == {DECIDED.after: DECIDED}
        assert [store.recall(sha) for sha, _ in ORIGINALS] == [text for _, text in ORIGINALS]
        for kept, ended in zip(RECEIPTS, OUTCOMES, strict=True):
            entry = store.receipt(kept.request_id)
            assert entry is not None and (entry.receipt, entry.outcome) == (kept, ended)
        assert store.compactions(lineage=None, limit=9) == [] == list(store.note_scopes())


def test_its_sums_go_on_from_where_they_were(old_file: Path) -> None:
    with SqliteStore(old_file) as store:
        store.put([], [], replace(receipt("r3", cut=CUT), pressure=pressure(cleared=2))).result()
        totals = store.totals()
        assert (totals.since, totals.requests, totals.lineages) == (NOON - 9, 1001, 400)
        assert (totals.cuts_applied, totals.money.bill.usd) == ((("cold", 71),), 5.0)
        assert (totals.compactions.requests, totals.compactions.cleared.tokens) == (1, 2000)
        assert (totals.stored.ledger.rows, totals.stored.standings.rows, totals.stored.notes.rows) == (5, 2, 0)


def test_it_takes_what_is_new_and_keeps_it_over_a_restart(old_file: Path) -> None:
    originals, decided = rebuilt("later", "three")
    kept = replace(receipt("r3"), pressure=pressure(), findings=(Finding("drift", "plan", (1,)),))
    ended = replace(outcome("r3"), findings=(Finding("amnesia_loop", "Read"),), reported_usd=0.125)
    with SqliteStore(old_file) as store, MemoryStore() as memory:
        for each in (store, memory):
            each.put(originals, [], kept, decided).result()
            each.add_outcome(ended)
            each.put_note(OURS, Note("plan.md", "text", "user"), now=NOON)
            each.flush()
        assert store.compactions(lineage=None, limit=9) == memory.compactions(lineage=None, limit=9)
    other = sqlite3.connect(old_file)
    assert other.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
    assert other.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    other.close()
    with SqliteStore(old_file) as store:
        assert store.batches([decided.after, DECIDED.after]) == {decided.after: decided, DECIDED.after: DECIDED}
        entry = store.receipt("r3")
        assert entry is not None and (entry.receipt, entry.outcome) == (kept, ended)
        assert store.notes(OURS) == (Note("plan.md", "text", "user"),)
        assert store.totals().stored.notes.rows == 1


def test_several_that_open_it_at_once_bring_it_up_to_date_once(old_file: Path) -> None:
    def open_and_count(n: int) -> int:
        with SqliteStore(old_file, busy_seconds=30) as store:
            store.put_note(OURS, Note(f"{n}.md", "text", "user"), now=NOON)
            return store.totals().requests

    with ThreadPoolExecutor(6) as threads:
        assert list(threads.map(open_and_count, range(6))) == [1000] * 6
    with SqliteStore(old_file) as store:
        assert len(store.notes(OURS)) == store.totals().stored.notes.rows == 6


def test_a_crash_in_the_middle_leaves_the_old_file(old_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = (*MIGRATIONS[:2], (*MIGRATIONS[2], "INSERT INTO no_such_table VALUES(1)"))
    monkeypatch.setattr("coldpress.stores.sqlite_schema.MIGRATIONS", broken)
    with pytest.raises(Exception, match="no_such_table"):
        SqliteStore(old_file)
    monkeypatch.undo()
    other = sqlite3.connect(old_file)
    assert other.execute("PRAGMA user_version").fetchone() == (2,)
    assert other.execute("SELECT count(*) FROM sqlite_master WHERE name = 'notes'").fetchone() == (0,)
    other.close()
    with SqliteStore(old_file) as store:
        assert store.batches([DECIDED.after]) == {DECIDED.after: DECIDED}


def test_a_process_of_the_second_schema_that_has_the_file_open_goes_on(old_file: Path) -> None:
    """An upgrade under a running gateway: the older one writes its own columns, and both are read."""
    older = sqlite3.connect(old_file, isolation_level=None)
    with SqliteStore(old_file) as store:
        late = receipt("late", at=NOON + 50)
        insert(older, "receipts", receipt_row(late))
        entry = store.receipt("late")
        assert entry is not None and entry.receipt == late
    older.close()
