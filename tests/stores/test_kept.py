"""Kept texts, in every store: the first of a name stays, is found at once and again after a restart, and is swept."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stores.conftest import Open
from stores.samples import DAY, Clock, noise
from stores.test_sqlite import damage

from coldpress.model.errors import StoreError
from coldpress.model.kept import Kept
from coldpress.stores.amounts import Held
from coldpress.stores.base import MIB, Bounds, Store
from coldpress.stores.memory import MemoryStore
from coldpress.stores.sqlite import SqliteStore

KIB = 1024


def named(name: str) -> bytes:
    return hashlib.sha256(name.encode()).digest()


def call(name: str, text: str = '{"intent":"why"}') -> Kept:
    return Kept(named(name), "call", text)


def test_what_is_kept_is_found_at_once_and_once_it_is_stored(store: Store) -> None:
    texts = [call("a", "\0\r\n\U0001f9ca"), Kept(named("b"), "view", "a summary"), call("c", "x" * 100_000)]
    store.keep(texts)
    wanted = [kept.key for kept in texts] + [named("nobody's")]
    expected = {kept.key: kept for kept in texts}
    assert store.kept(wanted) == expected
    store.flush()
    assert store.kept(wanted) == expected
    assert store.kept([]) == {}
    assert store.totals().stored.kept.rows == 3


def test_the_first_text_of_a_name_stays(store: Store) -> None:
    store.keep([call("a", "first"), call("a", "second of one call")])
    store.keep([call("a", "while the first is queued"), call("b", "other")])
    store.flush()
    store.keep([Kept(named("a"), "view", "after it is stored")])
    store.flush()
    assert store.kept([named("a"), named("b")]) == {named("a"): call("a", "first"), named("b"): call("b", "other")}
    assert store.totals().stored.kept.rows == 2
    assert store.totals().unrecorded == 0


def test_many_names_are_found_in_one_question(store: Store) -> None:
    texts = [call(f"n{n}", f"text {n}") for n in range(501)]
    store.keep(texts)
    store.flush()
    assert store.kept([kept.key for kept in texts]) == {kept.key: kept for kept in texts}


def test_a_text_that_is_not_unicode_is_counted_and_costs_the_others_nothing(store: Store) -> None:
    store.keep([call("a", "\ud800"), call("b", "good")])
    assert store.kept([named("a"), named("b")]) == {named("b"): call("b", "good")}
    store.flush()
    assert (store.totals().stored.kept.rows, store.totals().unrecorded) == (1, 1)


def test_a_closed_store_keeps_nothing_in_silence_and_finds_nothing_loudly(store: Store) -> None:
    store.close()
    store.keep([call("a")])
    with pytest.raises(StoreError, match="closed"):
        store.kept([named("a")])


def test_kept_texts_expire_by_days_since_their_last_use(open_store: Open, clock: Clock) -> None:
    store = open_store(bounds=Bounds(kept_days=3))
    store.keep([call("old"), call("found later"), call("kept again")])
    store.flush()
    clock.now += 2 * DAY
    store.kept([named("found later")])
    store.keep([call("kept again")])
    store.flush()
    clock.now += 2 * DAY
    store.sweep(clock.now)
    assert set(store.kept([named("old"), named("found later"), named("kept again")])) == {
        named("found later"),
        named("kept again"),
    }
    assert store.totals().stored.kept.rows == 2
    clock.now += 4 * DAY
    store.sweep(clock.now)
    assert store.kept([named("found later")]) == {}
    assert store.totals().stored.kept == Held(0, 0)
    store.keep([call("old", "a new first text")])
    assert store.kept([named("old")]) == {named("old"): call("old", "a new first text")}


def test_kept_texts_expire_by_bytes_the_least_recently_used_first(open_store: Open, clock: Clock) -> None:
    store = open_store(bounds=Bounds(kept_bytes=64 * KIB))
    for n in range(12):
        store.keep([call(f"n{n}", noise(f"n{n}", 20 * KIB))])
        clock.now += 60
    store.flush()
    store.sweep(clock.now)
    left = [n for n in range(12) if store.kept([named(f"n{n}")])]
    assert 0 < len(left) < 12 and left == list(range(12 - len(left), 12))
    assert store.totals().stored.kept.size_bytes <= 64 * KIB


def test_kept_texts_are_swept_under_load_without_being_asked(open_store: Open, clock: Clock) -> None:
    store = open_store(bounds=Bounds(kept_bytes=256 * KIB))
    for n in range(60):
        store.keep([call(f"n{n}", noise(f"n{n}", 20 * KIB))])
        clock.now += 1
        store.flush()
    assert store.totals().stored.kept.size_bytes <= 512 * KIB


def test_threads_that_keep_the_same_names_agree_on_one_text(store: Store) -> None:
    def work(thread: int) -> dict[bytes, Kept]:
        for n in range(30):
            store.keep([call(f"n{n}", f"of {thread}")])
        return store.kept([named(f"n{n}") for n in range(30)])

    with ThreadPoolExecutor(6) as threads:
        seen = list(threads.map(work, range(6)))
    store.flush()
    final = store.kept([named(f"n{n}") for n in range(30)])
    assert len(final) == 30 and all(one == final for one in seen)


STEPS = st.lists(st.lists(st.tuples(st.sampled_from("abcd"), st.text(max_size=9)), max_size=4), max_size=9)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_both_stores_are_a_dictionary_that_keeps_the_first(
    tmp_path_factory: pytest.TempPathFactory, steps: list[list[tuple[str, str]]]
) -> None:
    model: dict[bytes, Kept] = {}
    keys = [named(name) for name in "abcd"]
    path = tmp_path_factory.mktemp("law") / "store.db"
    with SqliteStore(path, linger_seconds=0) as file, MemoryStore() as memory:
        for step in steps:
            texts = [call(name, text) for name, text in step if text.isprintable()]
            for kept in texts:
                model.setdefault(kept.key, kept)
            for store in (file, memory):
                store.keep(texts)
                assert store.kept(keys) == model
        file.flush()
        assert file.kept(keys) == model
        assert file.totals().stored.kept == memory.totals().stored.kept


# --- the file ---------------------------------------------------------------------------------


def test_kept_texts_outlive_the_process(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with SqliteStore(path) as store:
        store.keep([call("a", "text")])
    with SqliteStore(path) as store:
        store.keep([call("a", "of the next process")])
        assert store.kept([named("a")]) == {named("a"): call("a", "text")}


def test_the_text_of_another_process_that_was_first_in_the_file_holds(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with SqliteStore(path, linger_seconds=30) as ours, SqliteStore(path) as theirs:
        theirs.keep([call("a", "theirs")])
        theirs.flush()
        ours.keep([call("a", "ours"), call("b", "ours")])
        assert ours.kept([named("a"), named("b")]) == {named("a"): call("a", "theirs"), named("b"): call("b", "ours")}
        ours.flush()
        for store in (ours, theirs):
            assert store.kept([named("a")]) == {named("a"): call("a", "theirs")}


def test_what_the_disk_has_no_room_for_is_counted_and_no_longer_found(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "s.db", most_file_bytes=1 * MIB) as store:
        store.keep([call("a", "small")])
        store.flush()
        store.keep([call("b", noise("b", 4 * MIB)), call("c", "in the same job")])
        store.flush()
        assert store.kept([named("a"), named("b"), named("c")]) == {named("a"): call("a", "small")}
        assert store.totals().unrecorded == 2


def test_more_than_may_be_queued_is_counted_and_not_raised(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "s.db", queue_bytes=10 * KIB) as store:
        store.keep([call("a", "x" * 20 * KIB)])
        assert store.kept([named("a")]) == {}
        assert store.totals().unrecorded == 1


@pytest.mark.parametrize(
    "statement",
    [
        pytest.param("UPDATE kept_texts SET packed = x'00'", id="text"),
        pytest.param("DELETE FROM kept_texts", id="no text"),
        pytest.param("UPDATE kept SET kind = 'other'", id="kind"),
    ],
)
def test_a_damaged_text_is_an_error_never_another_text(tmp_path: Path, statement: str) -> None:
    path = tmp_path / "s.db"
    with SqliteStore(path) as store:
        store.keep([call("a")])
    damage(path, statement)
    with SqliteStore(path) as store, pytest.raises(StoreError, match=r"kept text .* is damaged"):
        store.kept([named("a")])
