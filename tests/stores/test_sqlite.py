"""What the file store promises beyond the contract: durability, group commits, other processes, trouble."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from pathlib import Path

import pytest
from stores.samples import DAY, NOON, Clock, key, line, noise, outcome, pressed, receipt

from coldpress.model.edits import Standing
from coldpress.model.errors import StoreError, UnknownOriginal
from coldpress.model.identity import original_sha
from coldpress.stores.base import MIB, Bounds
from coldpress.stores.sqlite import SqliteStore
from coldpress.stores.sqlite_schema import _bring_up_to_date, connect
from coldpress.stores.sqlite_versions import MIGRATIONS

KIB = 1024
TESTS = Path(__file__).resolve().parents[1]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new folder" / "deeper" / "store.db"


class Gate:
    """Hold the writer after its first commit until it is opened, and note how many jobs each commit held."""

    def __init__(self) -> None:
        self.commits: list[int] = []
        self.entered = threading.Event()
        self.opened = threading.Event()

    def __call__(self, jobs: int) -> None:
        self.commits.append(jobs)
        if len(self.commits) == 1:
            self.entered.set()
            assert self.opened.wait(30)


# --- durability -------------------------------------------------------------------------------


def test_what_is_done_is_in_the_file_for_everybody(path: Path) -> None:
    original, decided = pressed("a", "text")
    with SqliteStore(path) as store:
        store.put([original], [decided], receipt("r")).result()
        other = sqlite3.connect(path)
        counts = [
            other.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in ("originals", "original_texts", "standings", "receipts")
        ]
        other.close()
    assert counts == [1, 1, 1, 1]


CHILD = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from stores.samples import pressed, receipt
from coldpress.stores.sqlite import SqliteStore
store = SqliteStore(Path(sys.argv[1]))
for n in range(10_000):
    original, decided = pressed(f"m{n}", f"text {n}")
    store.put([original], [decided], receipt(f"r{n}")).result()
    print(n, flush=True)
"""


def start(code: str, *arguments: object, stdin: int | None = None) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, text=True)


def test_a_process_killed_in_the_middle_has_lost_nothing_that_was_confirmed(path: Path) -> None:
    child = start(CHILD, path, TESTS)
    assert child.stdout is not None
    confirmed = -1
    for text in child.stdout:
        confirmed = int(text)
        if confirmed >= 25:
            break
    child.send_signal(signal.SIGKILL)
    confirmed = max([confirmed, *(int(text) for text in child.stdout.read().split())])
    child.wait()
    child.stdout.close()
    with SqliteStore(path) as store:
        for n in range(confirmed + 1):
            original, decided = pressed(f"m{n}", f"text {n}")
            assert store.recall(original[0]) == f"text {n}"
            assert store.standing([decided.key]) == {decided.key: decided}
            assert store.receipt(f"r{n}") is not None


def test_a_decision_stands_after_a_restart(path: Path) -> None:
    (original, first), (_, second) = pressed("a", "text", "first"), pressed("a", "text", "second")
    with SqliteStore(path) as store:
        store.put([original], [first], None).result()
    with SqliteStore(path) as store:
        store.put([original], [second], None).result()
        assert store.standing([key("a")]) == {key("a"): first}


def test_closing_stores_what_is_queued(path: Path) -> None:
    gate = Gate()
    store = SqliteStore(path, on_commit=gate, raw_log=True)
    store.put([pressed("first", "first")[0]], [], None)
    assert gate.entered.wait(30)
    done = [store.put([pressed(f"m{n}", f"{n}")[0]], [pressed(f"m{n}", f"{n}")[1]], None) for n in range(20)]
    store.add_outcome(outcome("r"))
    store.log_event("r", NOON, "request", [], b"body")
    gate.opened.set()
    store.close()
    assert all(future.done() and future.exception() is None for future in done)
    with SqliteStore(path) as again:
        assert again.totals().stored.standings.rows == 20
        assert again.totals().usage.answered == 1
        assert len(again.events("r")) == 1


def test_files_are_for_their_owner_only_and_existing_folders_are_left_alone(path: Path, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    with SqliteStore(path) as store:
        store.put([pressed("a", "text")[0]], [], None).result()
        modes = {entry.name: stat.S_IMODE(entry.stat().st_mode) for entry in path.parent.iterdir()}
        assert set(modes) == {"store.db", "store.db-wal", "store.db-shm"}
        assert set(modes.values()) == {0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == stat.S_IMODE(path.parent.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


# --- group commit -----------------------------------------------------------------------------


def test_what_is_queued_together_is_committed_together(path: Path) -> None:
    gate = Gate()
    with SqliteStore(path, on_commit=gate) as store:
        store.put([], [Standing(key("first"), None)], None)
        assert gate.entered.wait(30)
        done = [store.put([], [Standing(key(f"m{n}"), None)], receipt(f"r{n}")) for n in range(50)]
        gate.opened.set()
        wait_for(done)
        store.flush()
    assert gate.commits == [1, 50]


def test_rows_that_nobody_waits_for_share_a_commit(path: Path) -> None:
    gate = Gate()
    with SqliteStore(path, on_commit=gate) as store:
        store.put([], [Standing(key("first"), None)], None)
        assert gate.entered.wait(30)
        for n in range(150):
            store.add_outcome(outcome(f"r{n}"))
        gate.opened.set()
        store.flush()
        assert sum(gate.commits) == 151 and len(gate.commits) <= 3
        assert store.totals().usage.answered == 150


def test_only_rows_that_nobody_waits_for_linger(path: Path) -> None:
    commits: list[int] = []
    with SqliteStore(path, linger_seconds=3600, on_commit=commits.append) as store:
        store.add_outcome(outcome("r"))
        store.put([], [], receipt("r"))
        store.put([], [Standing(key("exact"), None)], None)
        assert commits == []
        text, name = "some text", original_sha("some text")
        store.put([(name, text)], [Standing(key("a"), "a view", "deterministic", name)], None).result(30)
        assert store.totals().usage.answered == store.totals().requests == 1
        for n in range(250):
            store.add_outcome(outcome(f"many {n}"))
        store.flush()
    assert commits[0] == 4 and sum(commits) == 254


def test_originals_are_never_committed_after_the_decisions_that_need_them(path: Path) -> None:
    """A reader that looks all the time never sees a decision whose original is not there."""
    stop = threading.Event()
    orphans: list[int] = []

    def watch() -> None:
        other = sqlite3.connect(path)
        while not stop.is_set():
            orphans.append(
                other.execute(
                    "SELECT count(*) FROM standings WHERE original NOT IN (SELECT sha FROM originals)"
                ).fetchone()[0]
            )
        other.close()

    with SqliteStore(path) as store, ThreadPoolExecutor(1) as threads:
        watching = threads.submit(watch)
        futures = []
        for n in range(200):
            original, decided = pressed(f"m{n}", f"text {n}")
            if n % 2:
                store.put([original], [], None)
                futures.append(store.put([], [decided], None))
            else:
                futures.append(store.put([original], [decided], None))
        wait_for(futures)
        stop.set()
        watching.result()
    assert len(orphans) > 1 and set(orphans) == {0}


def test_what_is_queued_is_seen_before_it_is_durable(path: Path) -> None:
    gate = Gate()
    with SqliteStore(path, on_commit=gate) as store:
        store.put([], [Standing(key("first"), None)], None)
        assert gate.entered.wait(30)
        original, decided = pressed("a", "queued text")
        _, rival = pressed("a", "queued text", "rival")
        done, late = store.put([original], [decided], None), store.put([original], [rival], None)
        assert store.standing([key("a")]) == {key("a"): decided}
        assert store.recall(original[0][:12]) == "queued text"
        durable = store.durable([key("a")])
        assert not done.done() and not durable.done()
        gate.opened.set()
        durable.result(30)
        assert done.done()
        late.result(30)
        assert store.standing([key("a")]) == {key("a"): decided}


def test_a_decision_in_the_file_beats_one_in_the_queue(path: Path) -> None:
    gate = Gate()
    original, first = pressed("a", "text", "first")
    with SqliteStore(path, on_commit=gate, cache_bytes=0) as store:
        store.put([original], [first], None)
        assert gate.entered.wait(30)
        store.put([original], [pressed("a", "text", "second")[1]], None)
        assert store.standing([key("a")]) == {key("a"): first}
        gate.opened.set()


def test_a_put_cannot_be_cancelled_by_whoever_waits_for_it(path: Path) -> None:
    with SqliteStore(path) as store:
        done = store.put([], [Standing(key("a"), None)], None)
        assert not done.cancel()
        done.result(30)


def test_one_wrong_put_fails_alone(path: Path) -> None:
    gate = Gate()
    with SqliteStore(path, on_commit=gate) as store:
        store.put([], [Standing(key("first"), None)], None)
        assert gate.entered.wait(30)
        good = [store.put([], [Standing(key(f"m{n}"), None)], None) for n in range(3)]
        wrong = [
            store.put([("0" * 64, "text")], [], None),
            store.put([], [Standing(key("x"), "view", "m", "no hexadecimal")], None),
            store.put([], [Standing(key("y"), "\ud800", "m")], None),
            store.put([], [Standing(key("z", block=1 << 70), None)], None),
            store.put([], [], receipt("\ud800")),
        ]
        gate.opened.set()
        for future in good:
            future.result(30)
        for future in wrong:
            assert isinstance(future.exception(30), StoreError)
        assert store.standing([key("m0"), key("x")]) == {key("m0"): Standing(key("m0"), None)}
        assert store.totals().unrecorded == 1


def test_what_does_not_fit_in_the_queue_is_refused_and_counted(path: Path) -> None:
    gate = Gate()
    with SqliteStore(path, on_commit=gate, queue_bytes=100_000, raw_log=True) as store:
        store.put([], [Standing(key("first"), None)], None)
        assert gate.entered.wait(30)
        for n in range(10):
            store.log_event(f"r{n}", NOON, "request", [], noise(f"{n}", 30_000).encode())
        with pytest.raises(StoreError, match="does not keep up"):
            store.put([pressed("a", noise("a", 60_000))[0]], [], None).result(30)
        assert store.standing([key("a")]) == {}
        gate.opened.set()
        store.flush()
        assert store.totals().unrecorded == 7
        store.put([pressed("a", noise("a", 60_000))[0]], [], None).result(30)


# --- several processes ------------------------------------------------------------------------

RIVAL = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from stores.samples import key, pressed, receipt
from coldpress.stores.sqlite import SqliteStore
me = sys.argv[3]
print("ready", flush=True)
sys.stdin.readline()
with SqliteStore(Path(sys.argv[1])) as store:
    for n in range(30):
        original, mine = pressed(f"m{n}", f"text {n}", f"view of {me}")
        store.put([original], [mine], receipt(f"{me}/{n}")).result()
        print(store.standing([key(f"m{n}")])[key(f"m{n}")].replacement, flush=True)
"""


def test_processes_that_start_at_once_on_a_new_file_agree_on_every_decision(path: Path) -> None:
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
        assert [store.standing([key(f"m{n}")])[key(f"m{n}")].replacement for n in range(30)] == answers[0]


def test_a_file_that_another_process_makes_meanwhile_is_not_taken_for_a_foreign_one(path: Path) -> None:
    path.parent.mkdir(parents=True)
    looking = connect(path, busy_seconds=5)
    others: list[str] = []

    def meanwhile(statement: str) -> None:
        if "user_version" in statement and not others:
            others.append(statement)
            with contextlib.suppress(StoreError):  # it may have to wait for us, and give up
                SqliteStore(path, busy_seconds=0.05).close()

    looking.set_trace_callback(meanwhile)
    _bring_up_to_date(looking, path, deadline=time.monotonic() + 5)
    looking.close()
    assert others
    with SqliteStore(path) as store:
        assert store.totals().requests == 0


def test_a_decision_of_another_process_is_found_and_not_replaced(path: Path) -> None:
    original, theirs = pressed("a", "text", "theirs")
    _, ours = pressed("a", "text", "ours")
    with SqliteStore(path) as one, SqliteStore(path) as two:
        assert one.standing([key("a")]) == {}
        two.put([original], [theirs], None).result()
        one.put([original], [ours], None).result()
        assert one.standing([key("a")]) == two.standing([key("a")]) == {key("a"): theirs}


# --- trouble ----------------------------------------------------------------------------------


def test_a_full_disk_fails_the_future_and_what_fits_later_is_stored(path: Path) -> None:
    original, decided = pressed("big", noise("big", 2 * MIB))
    with SqliteStore(path, most_file_bytes=1 * MIB) as store:
        future = store.put([original], [decided], receipt("big"))
        with pytest.raises(StoreError, match="disk is full"):
            future.result(30)
        assert store.standing([decided.key]) == {}
        with pytest.raises(StoreError, match="send the text exact"):
            store.durable([decided.key]).result(30)
        with pytest.raises(UnknownOriginal):
            store.recall(original[0])
        small, decided = pressed("small", "fits")
        store.put([small], [decided], receipt("small")).result(30)
        assert store.recall(small[0]) == "fits"
        assert store.totals().unrecorded == 1


def test_a_decision_seen_in_the_queue_is_not_durable_when_its_put_fails(path: Path) -> None:
    gate = Gate()
    with SqliteStore(path, most_file_bytes=1 * MIB, on_commit=gate) as store:
        store.put([], [Standing(key("first"), None)], None)
        assert gate.entered.wait(30)
        original, decided = pressed("big", noise("big", 2 * MIB))
        store.put([original], [decided], None)
        assert store.standing([decided.key]) == {decided.key: decided}
        other = Standing(key("other"), None)
        store.put([], [other], None)
        durable = store.durable([other.key, decided.key])
        gate.opened.set()
        with pytest.raises(StoreError, match="disk is full"):
            durable.result(30)


def test_a_file_locked_by_another_process_fails_the_future_and_works_again_afterwards(path: Path) -> None:
    with SqliteStore(path, busy_seconds=0.01) as store:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="another process"):
            store.put([], [Standing(key("a"), None)], None).result(30)
        with pytest.raises(StoreError, match="another process"):
            store.sweep(NOON)
        assert store.standing([key("a")]) == {}
        other.execute("ROLLBACK")
        other.close()
        store.put([], [Standing(key("a"), None)], None).result(30)


READ_ONLY = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from stores.samples import key, pressed
from coldpress.model.errors import StoreError
from coldpress.stores.sqlite import SqliteStore
store = SqliteStore(Path(sys.argv[1]), busy_seconds=0.1)
original, decided = pressed("a", "text")
print(store.recall(original[0]), len(store.standing([key("a")])), flush=True)
for _ in range(2):
    print(store.put([], [pressed("b", "text")[1]], None).exception(30), flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX permissions")
def test_a_file_that_may_only_be_read_can_be_read_and_says_why_it_cannot_be_written() -> None:
    original, decided = pressed("a", "text")
    # Root may write anything, so the child becomes nobody, whom pytest's own folders would not let pass.
    drop = "import os; os.setuid(65534)\n" if os.geteuid() == 0 else ""
    code = "import stores.samples, coldpress.stores.sqlite\n" + drop + READ_ONLY
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        path = Path(folder) / "store.db"
        with SqliteStore(path) as store:
            store.put([original], [decided], None).result()
            for entry in Path(folder).iterdir():
                entry.chmod(0o444)
            Path(folder).chmod(0o555)
            child = subprocess.run(
                [sys.executable, "-c", code, path, TESTS],
                capture_output=True,
                text=True,
                check=False,
                env={**os.environ, "PYTHONPATH": str(TESTS)},
            )
            Path(folder).chmod(0o755)
    lines = child.stdout.splitlines()
    assert lines[:1] == ["text 1"], child.stderr
    assert all("check the permissions" in text for text in lines[1:]) and len(lines) == 3


def test_a_file_removed_while_in_use_is_noticed(path: Path) -> None:
    with SqliteStore(path) as store:
        path.unlink()
        with pytest.raises(StoreError, match="removed or replaced"):
            store.put([], [Standing(key("a"), None)], None).result(30)


def damage(path: Path, statement: str, *values: object) -> None:
    other = sqlite3.connect(path, isolation_level=None)
    assert other.execute(statement, values).rowcount == 1
    other.close()


@pytest.mark.parametrize(
    ("statement", "values"),
    [
        pytest.param("UPDATE original_texts SET packed = substr(packed, 1, length(packed) - 5)", (), id="cut off"),
        pytest.param("UPDATE original_texts SET packed = ?", (b"nothing of the kind",), id="not compressed data"),
        pytest.param("UPDATE original_texts SET packed = ?", (b"",), id="empty"),
        pytest.param("DELETE FROM original_texts", (), id="gone"),
        pytest.param(
            "UPDATE original_texts SET packed = ?",
            (bytes.fromhex("28b52ffd00012100007a5a5a5a"),),
            id="another text",
        ),
    ],
)
def test_a_damaged_original_is_an_error_never_another_text(
    path: Path, statement: str, values: tuple[bytes, ...]
) -> None:
    original, _ = pressed("a", "the text")
    with SqliteStore(path) as store:
        store.put([original], [], None).result()
        damage(path, statement, *values)
        with pytest.raises(StoreError, match="damaged"):
            store.recall(original[0])


def test_a_damaged_decision_is_an_error_never_another_text(path: Path) -> None:
    original, decided = pressed("a", "the text", noise("view", 500))
    with SqliteStore(path) as store:
        store.put([original], [decided], None).result()
    damage(path, "UPDATE standings SET replacement = substr(replacement, 1, 40) || x'00' || substr(replacement, 42)")
    with SqliteStore(path) as store, pytest.raises(StoreError, match="damaged"):
        store.standing([key("a")])


def test_a_damaged_ledger_row_is_an_error(path: Path) -> None:
    with SqliteStore(path) as store:
        store.put([], [], receipt("r")).result()
        damage(path, "UPDATE receipts SET lines = '[{'")
        with pytest.raises(StoreError, match="damaged"):
            store.receipt("r")


def spoilt(path: Path, *, from_share: float) -> None:
    """Make a file of fifty originals and overwrite it from some place on."""
    with SqliteStore(path) as store:
        for n in range(50):
            store.put([pressed(f"m{n}", noise(f"{n}", 8 * KIB))[0]], [], None)
    data = bytearray(path.read_bytes())
    begin = int(len(data) * from_share)
    data[begin:] = b"\xa5" * (len(data) - begin)
    path.write_bytes(data)


def test_a_file_that_is_damaged_all_over_cannot_be_opened_and_says_what_to_do(path: Path) -> None:
    spoilt(path, from_share=0.02)
    with pytest.raises(StoreError, match=r"damaged: move it away"):
        SqliteStore(path)


def test_a_half_damaged_file_gives_errors_never_another_text_and_the_writer_lives(path: Path) -> None:
    spoilt(path, from_share=0.7)  # behind the roots of the tables, which take a page each
    wrong = 0
    with SqliteStore(path) as store:
        for n in range(50):
            text = noise(f"{n}", 8 * KIB)
            try:
                assert store.recall(original_sha(text)) == text
            except StoreError:
                wrong += 1
        assert 10 < wrong < 50
        for n in range(3):
            original, decided = pressed(f"new {n}", f"text {n}")
            error = store.put([original], [decided], None).exception(30)
            assert error is None or isinstance(error, StoreError)


# --- opening ----------------------------------------------------------------------------------


def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("my notes\n" * 1000)
    with pytest.raises(StoreError, match=r"not a database.*name another file"):
        SqliteStore(path)
    assert path.read_text() == "my notes\n" * 1000


def test_a_database_of_another_program_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "theirs.db"
    theirs = sqlite3.connect(path)
    theirs.execute("CREATE TABLE t(x)")
    theirs.commit()
    theirs.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="another program"):
        SqliteStore(path)
    assert path.read_bytes() == before


def test_a_file_of_a_newer_version_is_refused(path: Path) -> None:
    SqliteStore(path).close()
    other = sqlite3.connect(path)
    other.execute(f"PRAGMA user_version={len(MIGRATIONS) + 1}")
    other.close()
    with pytest.raises(StoreError, match=r"newer coldpress.*upgrade"):
        SqliteStore(path)


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is a folder"):
        SqliteStore(tmp_path)


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"store .*store\.db"):
        SqliteStore(tmp_path / "file" / "store.db")


def test_a_reader_may_insist_that_the_file_exists(path: Path) -> None:
    with pytest.raises(StoreError, match="no store at"):
        SqliteStore(path, must_exist=True)
    assert not path.parent.exists()
    SqliteStore(path).close()
    SqliteStore(path, must_exist=True).close()


# --- size -------------------------------------------------------------------------------------


def test_memory_and_file_stop_growing_under_many_requests(tmp_path: Path) -> None:
    """10,000 requests and 200 MB of originals, scaled down, and the bounds more."""
    path, clock = tmp_path / "store.db", Clock()
    bounds = Bounds(originals_bytes=512 * KIB, standings_bytes=64 * KIB, ledger_bytes=128 * KIB, tombstones=100)
    sizes: list[int] = []
    with SqliteStore(path, bounds=bounds, clock=clock, cache_bytes=64 * KIB) as store:
        for n in range(400):
            original, decided = pressed(f"m{n}", noise(f"{n}", 20 * KIB), noise(f"view {n}", KIB))
            store.put([original], [decided], receipt(f"r{n}", at=clock.now, lines=[line()] * 5)).result()
            store.add_outcome(outcome(f"r{n}"))
            clock.now += 60
            sizes.append(path.stat().st_size)
            assert store._decisions.recent.size_bytes <= 64 * KIB
        store.sweep(clock.now)
        stored = store.totals().stored
        assert store._queued.waiting([key(f"m{n}") for n in range(400)], []).keys == frozenset()
        assert (path.parent / "store.db-wal").stat().st_size < 8 * MIB
    assert stored.expired == 100
    assert stored.originals.size_bytes <= bounds.originals_bytes
    assert max(sizes[200:]) <= max(sizes[:200]) * 1.05
    assert path.stat().st_size < 2 * MIB


def test_lower_bounds_give_space_back_to_the_file_system(path: Path) -> None:
    clock = Clock()
    with SqliteStore(path, clock=clock) as store:
        store.put([pressed(f"m{n}", noise(f"{n}", 64 * KIB))[0] for n in range(450)], [], None).result()
    large = path.stat().st_size
    with SqliteStore(path, clock=clock, bounds=Bounds(originals_bytes=MIB)) as store:
        store.sweep(clock.now)
    assert large > 14 * MIB and path.stat().st_size < 8 * MIB


def test_writers_are_served_while_a_sweep_runs(path: Path) -> None:
    """A sweep is many short transactions: a put that comes in its middle is not kept until its end."""
    clock = Clock()
    order: list[str] = []
    with SqliteStore(path, clock=clock, bounds=Bounds(originals_days=1)) as store:
        texts = [f"text {n}" for n in range(3000)]
        store.put([(original_sha(text), text) for text in texts], [], None).result()
        swept: Future[None] = store._writer.sweep(clock.now + 3 * DAY)
        swept.add_done_callback(lambda _: order.append("sweep"))
        done = store.put([], [Standing(key("a"), None)], None)
        done.add_done_callback(lambda _: order.append("put"))
        swept.result(60)
        done.result(60)
        assert store.totals().stored.expired == 3000
    assert order == ["put", "sweep"]
