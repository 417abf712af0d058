"""A file of the third schema opens, keeps everything, and its receipts begin the sums that the fourth tells apart."""

from __future__ import annotations

import sqlite3
from dataclasses import asdict, replace
from pathlib import Path

import msgspec
import pytest
from stores.samples import NOON, line, outcome, receipt
from stores.test_migration_from_second import insert, outcome_row, receipt_row, text_of

from coldpress.model.kept import Kept
from coldpress.model.plugins import PluginNote
from coldpress.model.records import Capture, Cut, Finding, Line, Offloaded, Receipt
from coldpress.stores.memory import MemoryStore
from coldpress.stores.sqlite import SqliteStore
from coldpress.stores.sqlite_schema import APPLICATION_ID
from coldpress.stores.sqlite_versions import MIGRATIONS
from coldpress.stores.tally_decisions import MOST_TOOLS, OTHER

LINES = (
    line(),
    line("Grep", reason="aged"),
    line("Grep", reason="exact_by_policy", tokens=False),
    replace(line("T" * 150, tokens=False), mode="lossless"),
    line("WebFetch", reason="restored"),
)
CUT = Cut("waiting", candidates=7)
RECEIPTS = (
    replace(receipt("r1", lines=LINES, cut=CUT), prompt_tokens=900, removed_tokens=100),
    replace(receipt("r2", at=NOON + 5, lineage="b"), findings=(Finding("drift", "plan", (1,)),)),
)


def third_row(kept: Receipt, lines: tuple[Line, ...] = ()) -> dict[str, object]:
    """The row that the third schema's code wrote."""
    told = receipt_row(replace(kept, lines=lines or kept.lines))
    return {**told, "pressure": text_of(kept.pressure), "findings": text_of(kept.findings or None)}


def old_file(path: Path, receipts: tuple[Receipt, ...], *, reason: str | None = None) -> Path:
    made = sqlite3.connect(path, isolation_level=None)
    begin = ("PRAGMA auto_vacuum=INCREMENTAL", "PRAGMA journal_mode=WAL")
    for statement in (*begin, *MIGRATIONS[0], *MIGRATIONS[1], *MIGRATIONS[2]):
        made.execute(statement)
    made.execute(f"PRAGMA application_id={APPLICATION_ID}")
    made.execute("PRAGMA user_version=3")
    for kept in receipts:
        insert(made, "receipts", third_row(kept))
        insert(made, "outcomes", {**outcome_row(outcome(kept.request_id)), "findings": None, "reported_usd": None})
    if reason is not None:
        made.execute("UPDATE receipts SET lines = replace(lines, 'exact_by_policy', ?)", (reason,))
    made.close()
    return path


def test_everything_is_kept_and_what_is_new_is_empty(tmp_path: Path) -> None:
    with SqliteStore(old_file(tmp_path / "old.db", RECEIPTS)) as store:
        for kept in RECEIPTS:
            entry = store.receipt(kept.request_id)
            assert entry is not None and (entry.receipt, entry.outcome) == (kept, outcome(kept.request_id))
        assert store.kept([b"k" * 32]) == {}
        assert store.totals().stored.kept.rows == 0


def test_the_sums_it_tells_apart_begin_with_what_is_still_held(tmp_path: Path) -> None:
    told = MemoryStore()
    for kept in RECEIPTS:
        told.put([], [], kept)
    new = told.totals()
    with SqliteStore(old_file(tmp_path / "old.db", RECEIPTS)) as store:
        old = store.totals()
    assert (old.by_mode, old.by_tool, old.results) == (new.by_mode, new.by_tool, new.results)
    assert (old.removed, old.eligible, old.providers) == (new.removed, new.eligible, new.providers)
    assert len(old.by_tool) == 4 and old.eligible.candidates == 7 and old.removed.tokens == 100


def test_tools_beyond_what_the_sums_name_are_summed_up_as_other(tmp_path: Path) -> None:
    lines = [line(f"tool {n}") for n in range(MOST_TOOLS + 9)]
    with SqliteStore(old_file(tmp_path / "old.db", (receipt("r", lines=lines),))) as store:
        tools = dict(store.totals().by_tool)
    assert len(tools) == MOST_TOOLS + 1
    assert (tools[OTHER].looked_at, tools["tool 0"].looked_at) == (9, 1)


def test_a_reason_that_is_given_no_more_can_still_be_read(tmp_path: Path) -> None:
    with SqliteStore(old_file(tmp_path / "old.db", RECEIPTS, reason="mode_not_built")) as store:
        entry = store.receipt("r1")
        assert entry is not None and entry.receipt == RECEIPTS[0]
        assert dict(store.totals().results)["exact_by_policy"] == 1


def test_it_takes_what_is_new_and_keeps_it_over_a_restart(tmp_path: Path) -> None:
    path = old_file(tmp_path / "old.db", RECEIPTS)
    notes = (PluginNote("pii", "before_request", 0.25, 1), PluginNote("own", "on_tool_call", 0.5, 0, "slow", "0.5 s"))
    kept = replace(receipt("r3"), plugins=notes, offload=Offloaded(2, 1, 1, ("too_long",), 900, 80, None, "applied"))
    ended = replace(outcome("r3"), captures=(Capture("Bash", "captured", restored=True), Capture("Read", "native")))
    with SqliteStore(path) as store:
        store.put([], [], kept).result()
        store.add_outcome(ended)
        store.keep([Kept(b"k" * 32, "view", "text")])
    other = sqlite3.connect(path)
    assert other.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
    assert other.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    other.close()
    with SqliteStore(path) as store:
        entry = store.receipt("r3")
        assert entry is not None and (entry.receipt, entry.outcome) == (kept, ended)
        assert store.kept([b"k" * 32]) == {b"k" * 32: Kept(b"k" * 32, "view", "text")}


def test_a_process_of_the_third_schema_that_has_the_file_open_goes_on(tmp_path: Path) -> None:
    """An upgrade under a running gateway: the older one writes its own columns, and both are read."""
    path = old_file(tmp_path / "old.db", RECEIPTS)
    older = sqlite3.connect(path, isolation_level=None)
    with SqliteStore(path) as store:
        late = receipt("late", at=NOON + 50)
        insert(older, "receipts", third_row(late))
        entry = store.receipt("late")
        assert entry is not None and entry.receipt == late
    older.close()


def test_a_crash_in_the_middle_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = old_file(tmp_path / "old.db", RECEIPTS)
    broken = (*MIGRATIONS[:3], (*MIGRATIONS[3], "INSERT INTO no_such_table VALUES(1)"))
    monkeypatch.setattr("coldpress.stores.sqlite_schema.MIGRATIONS", broken)
    with pytest.raises(Exception, match="no_such_table"):
        SqliteStore(path)
    monkeypatch.undo()
    other = sqlite3.connect(path)
    assert other.execute("PRAGMA user_version").fetchone() == (3,)
    assert other.execute("SELECT count(*) FROM sums").fetchone() == (0,)
    other.close()
    with SqliteStore(path) as store:
        assert dict(store.totals().results)["aged"] == 1


def test_the_rows_are_those_of_the_schema() -> None:
    """What `asdict` tells of a line is what the statements of the migration ask for."""
    told = msgspec.json.decode(msgspec.json.encode(line()))
    assert set(asdict(line())) == set(told) >= {"tool", "mode", "reason", "bytes_before", "tokens_after"}
