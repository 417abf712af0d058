"""Batches in the file: durable, seen while queued, agreed on between processes, never another text."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
from pathlib import Path

import pytest
from stores.samples import DAY, Clock, batch, key, noise, receipt
from stores.test_sqlite import TESTS, Gate, damage, start

from coldpress.model.edits import Standing
from coldpress.model.errors import StoreError
from coldpress.stores.base import MIB, Bounds
from coldpress.stores.sqlite import SqliteStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def test_a_batch_stands_after_a_restart_and_after_the_file_was_compacted(path: Path) -> None:
    (originals, first), (_, second) = batch("after", "a", view="first"), batch("after", "a", view="second")
    with SqliteStore(path) as store:
        store.put(originals, [], receipt("r"), first).result()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("VACUUM")
    other.close()
    with SqliteStore(path) as store:
        store.put(originals, [], None, second).result()
        assert store.batches([first.after]) == {first.after: first}
        assert store.recall(originals[0][0]) == originals[0][1]
        assert store.totals().requests == 1


def test_a_batch_is_seen_before_it_is_durable_and_the_first_in_the_queue_holds(path: Path) -> None:
    gate = Gate()
    (originals, decided), (_, rival) = batch("after", "a", view="first"), batch("after", "a", view="rival")
    with SqliteStore(path, on_commit=gate) as store:
        store.put([], [Standing(key("first"), None)], None)
        assert gate.entered.wait(30)
        done, late = store.put(originals, [], None, decided), store.put(originals, [], None, rival)
        assert store.batches([decided.after]) == {decided.after: decided}
        durable = store.durable([], [decided.after])
        assert not done.done() and not durable.done()
        gate.opened.set()
        durable.result(30)
        late.result(30)
        assert done.done()
        assert store.batches([decided.after]) == {decided.after: decided}


def test_a_batch_is_waited_for_at_once_and_not_kept_for_company(path: Path) -> None:
    commits: list[int] = []
    with SqliteStore(path, linger_seconds=3600, on_commit=commits.append) as store:
        originals, decided = batch("before", "a")
        store.put(originals, [], None).result(30)
        store.put([], [], None, decided).result(30)
    assert commits == [1, 1]


def test_a_batch_seen_in_the_queue_is_not_durable_when_its_put_fails(path: Path) -> None:
    gate = Gate()
    with SqliteStore(path, most_file_bytes=1 * MIB, on_commit=gate) as store:
        store.put([], [Standing(key("first"), None)], None)
        assert gate.entered.wait(30)
        originals, decided = batch("after", "a", view=noise("view", 2 * MIB))
        store.put(originals, [], None, decided)
        assert store.batches([decided.after])
        durable = store.durable([], [decided.after])
        gate.opened.set()
        with pytest.raises(StoreError, match="disk is full"):
            durable.result(30)
        assert store.batches([decided.after]) == {}
        with pytest.raises(StoreError, match="send the text exact"):
            store.durable([], [decided.after]).result(30)


def test_what_does_not_fit_in_the_queue_counts_the_views_of_a_batch(path: Path) -> None:
    originals, decided = batch("after", "a", view=noise("view", 60_000))
    with SqliteStore(path, queue_bytes=50_000) as store:
        with pytest.raises(StoreError, match="does not keep up"):
            store.put(originals, [], None, decided).result(30)
        assert store.batches([decided.after]) == {}


def test_two_stores_on_one_file_that_decide_at_once_hold_the_same_batch(path: Path) -> None:
    """Both have looked and found nothing; the one that commits first wins, and the other is told so."""
    originals, ours = batch("after", "a", view="ours")
    _, theirs = batch("after", "a", "b", view="theirs")
    with SqliteStore(path) as one, SqliteStore(path) as two:
        assert one.batches([ours.after]) == two.batches([ours.after]) == {}
        futures = [one.put(originals, [], None, ours), two.put(batch("after", "a", "b")[0], [], None, theirs)]
        for future in futures:
            future.result(30)
        held = one.batches([ours.after])
        assert held == two.batches([ours.after])
        assert held[ours.after] in (ours, theirs)
        for store in (one, two):
            store.durable([], [ours.after]).result(30)


def test_a_batch_that_another_process_stored_beats_the_one_in_our_queue(path: Path) -> None:
    gate = Gate()
    (originals, ours), (_, theirs) = batch("after", "a", view="ours"), batch("after", "a", view="theirs")
    with SqliteStore(path, on_commit=gate) as one, SqliteStore(path) as two:
        one.put([], [Standing(key("first"), None)], None)
        assert gate.entered.wait(30)
        two.put(originals, [], None, theirs).result(30)
        done = one.put(originals, [], None, ours)
        assert one.batches([ours.after]) == {ours.after: theirs}
        gate.opened.set()
        done.result(30)
        assert one.batches([ours.after]) == {ours.after: theirs}


RIVAL = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from stores.samples import batch, receipt
from coldpress.stores.sqlite import SqliteStore
me = sys.argv[3]
print("ready", flush=True)
sys.stdin.readline()
with SqliteStore(Path(sys.argv[1])) as store:
    for n in range(30):
        originals, mine = batch(f"after {n}", f"m{n}", view=f"view of {me}")
        store.batches([mine.after])
        store.put(originals, [], receipt(f"{me}/{n}"), mine).result()
        print(store.batches([mine.after])[mine.after].standings[0].replacement, flush=True)
"""


def test_processes_that_decide_at_once_agree_on_every_batch(path: Path) -> None:
    children = [start(RIVAL, path, TESTS, me, stdin=subprocess.PIPE) for me in ("one", "two", "three")]
    for child in children:
        assert child.stdout is not None and child.stdout.readline() == "ready\n"
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    answers = [child.communicate(timeout=120)[0].splitlines() for child in children]
    assert [child.returncode for child in children] == [0, 0, 0]
    assert answers[0] == answers[1] == answers[2] and len(answers[0]) == 30
    with SqliteStore(path) as store:
        assert store.totals().requests == 90
        assert store.totals().stored.standings.rows == 30


CHILD = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from stores.samples import batch, receipt
from coldpress.stores.sqlite import SqliteStore
store = SqliteStore(Path(sys.argv[1]))
for n in range(10_000):
    originals, decided = batch(f"after {n}", f"m{n}")
    store.put(originals, [], receipt(f"r{n}"), decided).result()
    print(n, flush=True)
"""


def test_a_process_killed_in_the_middle_has_lost_no_batch_that_was_confirmed_and_its_sums_are_whole(
    path: Path,
) -> None:
    child = start(CHILD, path, TESTS)
    assert child.stdout is not None
    for text in child.stdout:
        if int(text) >= 25:
            break
    child.send_signal(signal.SIGKILL)
    confirmed = max([25, *(int(text) for text in child.stdout.read().split())])
    child.wait()
    child.stdout.close()
    with SqliteStore(path) as store:
        for n in range(confirmed + 1):
            originals, decided = batch(f"after {n}", f"m{n}")
            assert store.batches([decided.after]) == {decided.after: decided}
            assert store.recall(originals[0][0]) == originals[0][1]
        rows = len(store.receipts(limit=100_000, lineage=None, before=None))
        assert store.totals().requests == rows >= confirmed + 1
        trace = store.trace("lineage-1")
        assert trace is not None and trace.requests == rows


@pytest.mark.parametrize(
    ("statement", "values"),
    [
        pytest.param("UPDATE batches SET packed = substr(packed, 1, length(packed) - 5)", (), id="cut off"),
        pytest.param("UPDATE batches SET packed = ?", (b"nothing of the kind",), id="not compressed data"),
        pytest.param("UPDATE batches SET packed = ?", (bytes.fromhex("28b52ffd00012100007a5a5a5a"),), id="other data"),
    ],
)
def test_a_damaged_batch_is_an_error_never_another_text(path: Path, statement: str, values: tuple[bytes, ...]) -> None:
    originals, decided = batch("after", "a")
    with SqliteStore(path) as store:
        store.put(originals, [], None, decided).result()
    damage(path, statement, *values)
    with SqliteStore(path) as store, pytest.raises(StoreError, match="damaged"):
        store.batches([decided.after])


def test_damaged_sums_are_an_error(path: Path) -> None:
    with SqliteStore(path) as store:
        store.put([], [], receipt("r")).result()
        damage(path, "UPDATE sums SET value = 'many' WHERE name = 'requests'")
        with pytest.raises(StoreError, match="damaged"):
            store.totals()


def test_a_batch_in_use_is_read_once_and_its_use_is_noted_once_in_a_while(path: Path) -> None:
    clock = Clock()
    commits: list[int] = []
    originals, decided = batch("after", "a")
    with SqliteStore(path, clock=clock, bounds=Bounds(standings_days=3), on_commit=commits.append) as store:
        store.put(originals, [], None, decided).result()
        for _ in range(20):
            assert store.batches([decided.after])
        store.flush()
        assert commits == [1]
        clock.now += DAY
        for _ in range(20):
            assert store.batches([decided.after])
        store.flush()
        assert commits == [1, 1]
        clock.now += 4 * DAY
        store.sweep(clock.now)
        assert store.batches([decided.after]) == {}, "swept from the file and from memory"
