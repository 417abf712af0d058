"""The raw log comes first: nothing is durable that was decided on a request which the log does not hold."""

from __future__ import annotations

import signal
import sqlite3
from concurrent.futures import Future
from pathlib import Path

import pytest
from stores.conftest import Open
from stores.samples import DAY, NOON, Clock, batch, key, noise, pressed, rebuilt, receipt
from stores.test_sqlite import TESTS, Gate, start

from coldpress.model.edits import Standing
from coldpress.model.errors import StoreError, UnknownOriginal
from coldpress.stores.base import MIB, Bounds, Store
from coldpress.stores.sqlite import SqliteStore


def nothing_was_kept(store: Store) -> None:
    originals, decided = rebuilt("after", "one")
    assert store.batches([decided.after]) == {} and store.receipt("r") is None
    with pytest.raises(UnknownOriginal):
        store.recall(originals[0][0])


def test_what_is_decided_on_a_logged_request_is_kept(open_store: Open) -> None:
    store = open_store(raw_log=True)
    originals, decided = rebuilt("after", "one")
    store.log_event("r", NOON, "request", [], b"body")
    store.put(originals, [], receipt("r"), decided, require_log=True).result()
    assert store.batches([decided.after]) == {decided.after: decided}
    assert store.events("r")[0].body == b"body"


@pytest.mark.parametrize(
    ("raw_log", "logged"),
    [
        pytest.param(False, [("r", "request")], id="the raw log is off"),
        pytest.param(True, [], id="nothing was logged"),
        pytest.param(True, [("other", "request")], id="another request was logged"),
        pytest.param(True, [("r", "reply")], id="only a reply was logged"),
    ],
)
def test_where_the_log_does_not_hold_the_request_nothing_is_kept(
    open_store: Open, raw_log: bool, logged: list[tuple[str, str]]
) -> None:
    store = open_store(raw_log=raw_log)
    originals, decided = rebuilt("after", "one")
    for request_id, direction in logged:
        store.log_event(request_id, NOON, direction, [], b"body")  # type: ignore[arg-type]
    with pytest.raises(StoreError, match="the raw log does not hold request r, and it is required"):
        store.put(originals, [], receipt("r"), decided, require_log=True).result()
    nothing_was_kept(store)
    with pytest.raises(StoreError, match="send the text exact"):
        store.durable([], [decided.after]).result()
    store.put([], [], receipt("r")).result()
    assert store.receipt("r") is not None, "the receipt that says so is stored without asking for the log"


def test_a_put_that_requires_the_log_names_its_request(open_store: Open) -> None:
    store = open_store(raw_log=True)
    store.log_event("r", NOON, "request", [], b"body")
    originals, decided = rebuilt("after", "one")
    with pytest.raises(StoreError, match="required"):
        store.put(originals, [], None, decided, require_log=True).result()


def test_an_event_that_was_swept_is_not_held(open_store: Open, clock: Clock) -> None:
    store = open_store(raw_log=True, bounds=Bounds(raw_days=1))
    store.log_event("r", NOON, "request", [], b"body")
    store.flush()
    clock.now += 2 * DAY
    store.sweep(clock.now)
    originals, decided = rebuilt("after", "one")
    with pytest.raises(StoreError, match="required"):
        store.put(originals, [], receipt("r"), decided, require_log=True).result()


def put_on(store: Store, request_id: str) -> Future[None]:
    originals, decided = rebuilt(f"after {request_id}", f"text of {request_id}")
    return store.put(originals, [], receipt(request_id), decided, require_log=True)


def test_one_refused_for_want_of_its_log_does_not_spoil_others_of_its_commit(tmp_path: Path) -> None:
    gate = Gate()
    with SqliteStore(tmp_path / "s.db", raw_log=True, on_commit=gate) as store:
        store.put([], [Standing(key("first"), None)], None)
        assert gate.entered.wait(30)
        store.log_event("good", NOON, "request", [], b"body")
        bad, good = (put_on(store, name) for name in ("bad", "good"))
        gate.opened.set()
        assert isinstance(bad.exception(30), StoreError)
        good.result(30)
        assert store.receipt("good") is not None and store.receipt("bad") is None
        assert store.totals().unrecorded == 1


# --- the disk ---------------------------------------------------------------------------------


def test_an_event_that_found_no_room_on_the_disk_keeps_the_decision_out_though_that_would_fit(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with SqliteStore(path, raw_log=True, most_file_bytes=2 * MIB) as store:
        store.log_event("r", NOON, "request", [], noise("large", 8 * MIB).encode())
        store.flush()
        originals, decided = rebuilt("after", "one")
        with pytest.raises(StoreError, match="required"):
            store.put(originals, [], receipt("r"), decided, require_log=True).result(30)
        nothing_was_kept(store)
        assert store.totals().unrecorded == 2, "the event, and the receipt"
        store.put(originals, [], receipt("r"), decided).result(30)
        assert store.batches([decided.after]), "it would have fitted: only the log was in its way"


def test_an_event_and_a_decision_that_share_a_failed_commit_are_both_lost(tmp_path: Path) -> None:
    gate = Gate()
    with SqliteStore(tmp_path / "s.db", raw_log=True, most_file_bytes=2 * MIB, on_commit=gate) as store:
        store.put([], [Standing(key("first"), None)], None)
        assert gate.entered.wait(30)
        store.log_event("r", NOON, "request", [], noise("large", 8 * MIB).encode())
        originals, decided = rebuilt("after", "one")
        done = store.put(originals, [], receipt("r"), decided, require_log=True)
        gate.opened.set()
        with pytest.raises(StoreError, match="disk is full"):
            done.result(30)
        nothing_was_kept(store)


def test_an_event_that_the_queue_refused_keeps_the_decision_out(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "s.db", raw_log=True, queue_bytes=50_000) as store:
        store.log_event("r", NOON, "request", [], b"x" * 60_000)
        originals, decided = rebuilt("after", "one")
        with pytest.raises(StoreError, match="required"):
            store.put(originals, [], receipt("r"), decided, require_log=True).result(30)
        nothing_was_kept(store)


# --- order ------------------------------------------------------------------------------------


def test_nobody_ever_sees_a_decision_in_the_file_before_its_event(tmp_path: Path) -> None:
    """A second connection looks after every commit; without `require_log` the order of the queue is enough."""
    path, seen = tmp_path / "s.db", 0

    def look(_: int) -> None:
        nonlocal seen
        other = sqlite3.connect(path)
        receipts = {name for (name,) in other.execute("SELECT request_id FROM receipts")}
        logged = {name for (name,) in other.execute("SELECT request_id FROM raw_events")}
        other.close()
        assert receipts <= logged
        seen = max(seen, len(receipts))

    with SqliteStore(path, raw_log=True, on_commit=look) as store:
        for n in range(40):
            store.log_event(f"r{n}", NOON, "request", [], b"body %d" % n)
            original, decided = pressed(f"m{n}", f"text {n}")
            future = store.put([original], [decided], receipt(f"r{n}"), require_log=n % 2 == 0)
            if n % 5 == 0:
                future.result(30)
    assert seen == 40


CHILD = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from stores.samples import NOON, rebuilt, receipt
from coldpress.stores.sqlite import SqliteStore
store = SqliteStore(Path(sys.argv[1]), raw_log=True)
for n in range(10_000):
    store.log_event(f"r{n}", NOON, "request", [], b"body %d" % n)
    originals, decided = rebuilt(f"after {n}", f"text {n}")
    done = store.put(originals, [], receipt(f"r{n}"), decided, require_log=True)
    if n % 3 == 0:
        done.result()
        print(n, flush=True)
"""


def test_a_process_killed_at_any_moment_leaves_no_batch_without_its_raw_event(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    child = start(CHILD, path, TESTS)
    assert child.stdout is not None
    for text in child.stdout:
        if int(text) >= 30:
            break
    child.send_signal(signal.SIGKILL)
    confirmed = max([30, *(int(text) for text in child.stdout.read().split())])
    child.wait()
    child.stdout.close()
    with SqliteStore(path) as store:
        kept = [n for n in range(confirmed + 200) if store.batches([key(f"after {n}").chain])]
        assert kept[: confirmed + 1] == list(range(confirmed + 1)), "what was confirmed, and what was queued before it"
        for n in kept:
            (event,) = store.events(f"r{n}")
            assert event.body == b"body %d" % n
            assert store.receipt(f"r{n}") is not None


def test_an_ordinary_put_asks_for_no_log(store: Store) -> None:
    originals, decided = batch("after", "a")
    store.put(originals, [], receipt("r"), decided).result()
    assert store.batches([decided.after]) == {decided.after: decided}
