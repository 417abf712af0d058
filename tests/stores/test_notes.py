"""Notes, in every store: durable on return, seen at once, the last one to write wins, never swept."""

from __future__ import annotations

import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stores.conftest import Open
from stores.samples import DAY, NOON, Clock, noise, receipt
from stores.test_sqlite import TESTS, damage, start

from coldpress.model.errors import StoreError
from coldpress.model.notes import Note, NoteScope, scope_of_lineage
from coldpress.stores.base import MIB, Bounds, Store
from coldpress.stores.memory import MemoryStore
from coldpress.stores.sqlite import SqliteStore

KIB = 1024
OURS, THEIRS = NoteScope("project:ours"), NoteScope("lineage:theirs")


def note(path: str, text: str = "text") -> Note:
    return Note(path, text, "user")


def test_notes_are_read_by_path_and_by_whose_they_are(store: Store) -> None:
    made = [
        Note("plan.md", "one", "agent"),
        Note("facts/ids.md", "", "summary"),
        Note("a\u00e9.md", "\0\r\n\U0001f9ca", "user"),
    ]
    for one in made:
        store.put_note(OURS, one, now=NOON)
    store.put_note(THEIRS, note("plan.md", "theirs"), now=NOON)
    assert store.notes(OURS) == (made[2], made[1], made[0])
    assert store.notes(THEIRS) == (note("plan.md", "theirs"),)
    assert store.notes(NoteScope("project:nobody")) == ()
    assert store.note_scopes() == (THEIRS, OURS)


def test_a_note_takes_the_place_of_the_one_under_its_path(store: Store) -> None:
    for text, source in (("one", "user"), ("two", "agent"), ("three", "summary")):
        store.put_note(OURS, Note("plan.md", text, source), now=NOON)  # type: ignore[arg-type]
    assert store.notes(OURS) == (Note("plan.md", "three", "summary"),)
    assert store.totals().stored.notes.rows == 1


def test_a_note_is_removed_once_and_its_room_is_free_again(store: Store) -> None:
    store.put_note(OURS, note("plan.md"), now=NOON)
    assert store.remove_note(THEIRS, "plan.md") is False and store.remove_note(OURS, "other.md") is False
    assert store.remove_note(OURS, "plan.md") is True
    assert store.remove_note(OURS, "plan.md") is False
    assert (store.notes(OURS), store.note_scopes()) == ((), ())
    assert store.totals().stored.notes == type(store.totals().stored.notes)(0, 0)


def test_a_note_that_does_not_fit_is_refused_by_name_and_nothing_goes_for_it(open_store: Open) -> None:
    store = open_store(bounds=Bounds(notes_bytes=8 * KIB))
    store.put_note(OURS, note("first.md", noise("first", 8 * KIB)), now=NOON)
    with pytest.raises(StoreError, match=r"notes are full: second\.md .*notes_bytes is 8192.*Remove notes.*raise"):
        store.put_note(THEIRS, note("second.md", noise("second", 8 * KIB)), now=NOON)
    with pytest.raises(StoreError, match=r"notes are full: first\.md"):
        store.put_note(OURS, note("first.md", noise("longer", 20 * KIB)), now=NOON)
    assert store.notes(OURS) == (note("first.md", noise("first", 8 * KIB)),)
    assert store.note_scopes() == (OURS,)
    store.put_note(OURS, note("first.md", "short"), now=NOON)
    store.put_note(THEIRS, note("second.md", noise("second", 8 * KIB)), now=NOON)
    assert store.totals().stored.notes.rows == 2 and store.totals().stored.notes.size_bytes <= 8 * KIB


def test_where_the_bound_was_lowered_a_note_may_still_shrink_and_none_may_grow(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with SqliteStore(path) as store:
        store.put_note(OURS, note("long.md", noise("long", 20 * KIB)), now=NOON)
    with SqliteStore(path, bounds=Bounds(notes_bytes=4 * KIB)) as store:
        store.put_note(OURS, note("long.md", noise("long", 15 * KIB)), now=NOON)
        with pytest.raises(StoreError, match="full"):
            store.put_note(OURS, note("long.md", noise("long", 16 * KIB)), now=NOON)
        assert store.notes(OURS) == (note("long.md", noise("long", 15 * KIB)),)


def test_no_sweep_takes_a_note(open_store: Open, clock: Clock) -> None:
    store = open_store(bounds=Bounds(originals_days=1, standings_days=1, ledger_days=1, ledger_bytes=0))
    store.put_note(OURS, note("plan.md"), now=NOON)
    clock.now += 1000 * DAY
    store.sweep(clock.now)
    assert store.notes(OURS) == (note("plan.md"),)


def test_what_summaries_noted_of_a_conversation_goes_with_the_last_of_its_entries(
    open_store: Open, clock: Clock
) -> None:
    store = open_store(bounds=Bounds(ledger_days=1))
    said = (Note("by-agent.md", "text", "agent"), Note("by-user.md", "text", "user"))
    for lineage, at in (("old", NOON), ("new", NOON + 10 * DAY)):
        for one in (*said, Note("summary.md", "text", "summary")):
            store.put_note(scope_of_lineage(lineage), one, now=at)
        store.put((), (), receipt(f"of {lineage}", at=at, lineage=lineage)).result()
    clock.now = NOON + 10 * DAY
    store.sweep(clock.now)
    assert store.notes(scope_of_lineage("old")) == said
    assert len(store.notes(scope_of_lineage("new"))) == 3


@pytest.mark.parametrize("one", [note("\ud800"), note("a.md", "\ud800")], ids=["path", "text"])
def test_a_note_that_is_not_unicode_is_refused(store: Store, one: Note) -> None:
    with pytest.raises(StoreError, match="lone surrogate"):
        store.put_note(OURS, one, now=NOON)
    assert store.note_scopes() == ()


def test_a_closed_store_takes_and_gives_no_note(store: Store) -> None:
    store.close()
    for use in (
        lambda: store.put_note(OURS, note("a.md"), now=NOON),
        lambda: store.remove_note(OURS, "a.md"),
        lambda: store.notes(OURS),
        store.note_scopes,
    ):
        with pytest.raises(StoreError, match="closed"):
            use()


def test_threads_that_write_at_once_lose_no_note(store: Store) -> None:
    def work(thread: int) -> None:
        for n in range(15):
            store.put_note(OURS, note(f"{thread}/{n}.md", f"{thread} {n}"), now=NOON)
            assert note(f"{thread}/{n}.md", f"{thread} {n}") in store.notes(OURS)
            if n % 3 == 0:
                assert store.remove_note(OURS, f"{thread}/{n}.md")

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(work, range(6)))
    assert len(store.notes(OURS)) == store.totals().stored.notes.rows == 60


STEPS = st.lists(
    st.tuples(
        st.sampled_from([OURS, THEIRS]),
        st.sampled_from("abc"),
        st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
    ),
    max_size=20,
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_notes_are_a_dictionary_that_both_stores_and_every_process_agree_on(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[NoteScope, str, str | None]]
) -> None:
    path = tmp_path_factory.mktemp("law") / "store.db"
    model: dict[tuple[NoteScope, str], str] = {}
    with SqliteStore(path) as file, MemoryStore() as memory, SqliteStore(path) as other:
        for scope, name, text in steps:
            for store in (file, memory):
                if text is not None:
                    store.put_note(scope, note(name, text), now=NOON)
                else:
                    assert store.remove_note(scope, name) is ((scope, name) in model)
            if text is not None:
                model[scope, name] = text
            else:
                model.pop((scope, name), None)
            for store in (file, memory, other):
                assert store.note_scopes() == tuple(sorted({whose for whose, _ in model}))
                for whose in (OURS, THEIRS):
                    expected = [note(path, model[s, path]) for s, path in sorted(model) if s == whose]
                    assert store.notes(whose) == tuple(expected)
        assert file.totals().stored.notes == memory.totals().stored.notes == other.totals().stored.notes


# --- the file ---------------------------------------------------------------------------------

CHILD = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from coldpress.model.notes import Note, NoteScope, scope_of_lineage
from coldpress.stores.sqlite import SqliteStore
store = SqliteStore(Path(sys.argv[1]))
for n in range(10_000):
    store.put_note(NoteScope("project:ours"), Note("count.md", str(n), "agent"), now=float(n))
    print(n, flush=True)
"""


def test_a_process_killed_in_the_middle_has_lost_no_note_that_was_confirmed(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
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
        (kept,) = store.notes(OURS)
        assert int(kept.text) in (confirmed, confirmed + 1)
        assert store.totals().stored.notes.rows == 1


RIVAL = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from coldpress.model.notes import Note, NoteScope, scope_of_lineage
from coldpress.stores.sqlite import SqliteStore
me = sys.argv[3]
print("ready", flush=True)
sys.stdin.readline()
with SqliteStore(Path(sys.argv[1]), busy_seconds=60) as store:
    for n in range(20):
        store.put_note(NoteScope("project:ours"), Note("shared.md", f"{me} {n}", "agent"), now=float(n))
        store.put_note(NoteScope("project:ours"), Note(f"{me}/{n}.md", f"{me} {n}", "agent"), now=float(n))
"""


def test_processes_that_write_at_once_keep_every_note_and_the_last_of_each_path(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    names = ("one", "two", "three")
    children = [start(RIVAL, path, TESTS, me, stdin=subprocess.PIPE) for me in names]
    for child in children:
        assert child.stdout is not None and child.stdout.readline() == "ready\n"
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    for child in children:
        child.communicate(timeout=120)
    assert [child.returncode for child in children] == [0, 0, 0]
    with SqliteStore(path) as store:
        texts = {one.path: one.text for one in store.notes(OURS)}
    assert texts.pop("shared.md") in {f"{me} 19" for me in names}
    assert texts == {f"{me}/{n}.md": f"{me} {n}" for me in names for n in range(20)}


def test_a_note_for_which_the_disk_has_no_room_is_refused_and_the_old_one_stays(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "s.db", most_file_bytes=1 * MIB) as store:
        store.put_note(OURS, note("plan.md", "old"), now=NOON)
        with pytest.raises(StoreError, match="disk is full"):
            store.put_note(OURS, note("plan.md", noise("new", 4 * MIB)), now=NOON)
        assert store.notes(OURS) == (note("plan.md", "old"),)


@pytest.mark.parametrize(
    "statement",
    [
        pytest.param("UPDATE notes SET packed = x'00'", id="text"),
        pytest.param("UPDATE notes SET source = 'nobody'", id="source"),
    ],
)
def test_a_damaged_note_is_an_error_never_another_text(tmp_path: Path, statement: str) -> None:
    with SqliteStore(tmp_path / "s.db") as store:
        store.put_note(OURS, note("plan.md"), now=NOON)
        damage(tmp_path / "s.db", statement)
        with pytest.raises(StoreError, match=r"note plan\.md is damaged"):
            store.notes(OURS)
