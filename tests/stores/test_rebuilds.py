"""Messages that went for ever: stored whole with their batch, never without their originals, read back as they were."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stores.conftest import Open
from stores.samples import DAY, Clock, batch, key, noise, rebuilt, receipt

from coldpress.model.edits import Batch, Rebuild, Standing
from coldpress.model.errors import ExpiredOriginal, StoreError, UnknownOriginal
from coldpress.model.identity import EditKey, original_sha
from coldpress.model.summary import Item, Summary
from coldpress.stores.base import Bounds, Store
from coldpress.stores.batches import packed_batch, unpacked_batch
from coldpress.stores.packing import pack, unpack
from coldpress.stores.recent import recent_batches
from coldpress.stores.sqlite import SqliteStore

KIB = 1024
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
CHAIN = st.binary(min_size=32, max_size=32)
SHA = st.binary(min_size=32, max_size=32).map(bytes.hex)
COUNT = st.integers(0, 1 << 40)
ITEMS = st.lists(st.builds(Item, TEXT, st.integers(1, 10_000), st.lists(TEXT, max_size=2).map(tuple)), max_size=2)
SUMMARY = st.builds(Summary, *([ITEMS.map(tuple)] * 8))
REBUILD = st.builds(
    Rebuild, CHAIN, CHAIN, TEXT, st.none() | SUMMARY, COUNT, st.lists(SHA, max_size=3).map(tuple), COUNT, COUNT, TEXT
)
STANDING = st.builds(
    Standing, st.builds(EditKey, CHAIN, COUNT, COUNT), st.none() | TEXT, TEXT, SHA, TEXT, st.none() | COUNT
)


@settings(max_examples=300, deadline=None)
@given(st.builds(Batch, CHAIN, st.lists(STANDING, max_size=3).map(tuple), st.none() | REBUILD))
def test_a_packed_batch_is_read_back_as_it_was(decided: Batch) -> None:
    assert unpacked_batch(decided.after, packed_batch(decided)) == decided


def test_a_batch_as_the_second_schema_wrote_it_is_read_and_written_so_still() -> None:
    """A list of decisions and nothing else: an older coldpress beside this one reads those without a rebuild."""
    _, decided = batch("after", "a", "b")
    written = msgspec.json.encode(decided.standings)
    assert unpacked_batch(decided.after, pack(written)) == decided
    assert unpack(packed_batch(decided), what="it") == written


@pytest.mark.parametrize("written", [b"{}", b'{"standings":[]}', b'{"standings":[],"rebuild":null}', b"7", b"[{}]"])
def test_what_is_no_batch_is_damaged_never_an_empty_one(written: bytes) -> None:
    with pytest.raises(StoreError, match="damaged"):
        unpacked_batch(key("after").chain, pack(written))


def test_a_rebuild_comes_back_whole_with_the_messages_that_went(store: Store) -> None:
    texts = ['{"role":"user","content":"a\\u0000\\ud83e\\uddca"}', "{ }", '{"x":"e\u0301 \u00e9 \U0010ffff"}']
    originals, decided = rebuilt("after", *texts, literal='{"role":"user","content":"\u2028 \U0001f9ca"},{"a": 1.0}')
    (aged,), view = batch("ignored", "aged")
    decided = replace(decided, standings=view.standings)
    store.put([*originals, aged], [], receipt("r"), decided).result()
    assert store.batches([decided.after]) == {decided.after: decided}
    assert decided.rebuild is not None and [store.recall(sha) for sha in decided.rebuild.covered] == texts
    assert store.totals().stored.standings.rows == 2, "a view and a rebuild"


def test_a_rebuild_stands_after_a_restart(tmp_path: Path) -> None:
    originals, decided = rebuilt("after", "one", "two")
    with SqliteStore(tmp_path / "s.db") as store:
        store.put(originals, [], receipt("r"), decided).result()
    with SqliteStore(tmp_path / "s.db") as store:
        assert store.batches([decided.after]) == {decided.after: decided}
        assert [store.recall(sha) for sha, _ in originals] == ["one", "two"]


@pytest.mark.parametrize("left_out", [0, 1, 2])
def test_a_rebuild_without_one_of_its_messages_is_refused_with_the_whole_put(store: Store, left_out: int) -> None:
    originals, decided = rebuilt("after", "one", "two", "three")
    some = [pair for n, pair in enumerate(originals) if n != left_out]
    with pytest.raises(StoreError, match=f"{originals[left_out][0][:16]} of an edit is not stored"):
        store.put(some, [], receipt("r"), decided).result()
    assert store.batches([decided.after]) == {} and store.receipt("r") is None
    with pytest.raises(UnknownOriginal):
        store.recall(some[0][0])
    store.put([originals[left_out]], [], None).result()
    store.put(some, [], receipt("r"), decided).result()
    assert store.batches([decided.after]) == {decided.after: decided}, "put before it is as good as along with it"


def test_the_first_rebuild_at_a_message_stays(store: Store) -> None:
    (originals, first), (_, second) = rebuilt("after", "one"), rebuilt("after", "one", literal='{"role":"other"}')
    store.put(originals, [], None, first).result()
    store.put(originals, [], None, second).result()
    assert store.batches([first.after]) == {first.after: first}


@pytest.mark.parametrize("where", ["literal", "summary", "summariser"])
def test_a_rebuild_that_is_not_unicode_is_refused_with_the_whole_put(store: Store, where: str) -> None:
    originals, decided = rebuilt("after", "one")
    assert decided.rebuild is not None
    bad = Summary(plan=(Item("\ud800", 1),)) if where == "summary" else "\ud800"
    decided = replace(decided, rebuild=replace(decided.rebuild, **{where: bad}))
    with pytest.raises(StoreError, match="lone surrogate"):
        store.put(originals, [], receipt("r"), decided).result()
    assert store.batches([decided.after]) == {} and store.receipt("r") is None


@pytest.mark.parametrize("use", ["found for a request", "waited for"])
def test_messages_that_went_are_kept_as_long_as_their_rebuild_is_used(open_store: Open, clock: Clock, use: str) -> None:
    store = open_store(bounds=Bounds(standings_days=3, originals_days=3))
    made = {name: rebuilt(name, f"{name} 1", f"{name} 2") for name in ("used", "forgotten")}
    for originals, decided in made.values():
        store.put(originals, [], None, decided).result()
    for _ in range(4):
        clock.now += 2 * DAY
        if use == "found for a request":
            assert store.batches([made["used"][1].after])
        else:
            store.durable([], [made["used"][1].after]).result()
        store.flush()
        store.sweep(clock.now)
    assert [store.recall(sha) for sha, _ in made["used"][0]] == ["used 1", "used 2"]
    assert store.batches([made["forgotten"][1].after]) == {}
    for sha, _ in made["forgotten"][0]:
        with pytest.raises(ExpiredOriginal):
            store.recall(sha)


@pytest.mark.parametrize("kind", ["rebuild", "batch", "standing edit"])
def test_an_original_that_was_stored_long_ago_counts_as_used_by_what_is_decided_now(
    open_store: Open, clock: Clock, kind: str
) -> None:
    store = open_store(bounds=Bounds(originals_days=3))
    originals, decided = rebuilt("after", "old") if kind == "rebuild" else batch("after", "old")
    store.put(originals, [], None).result()
    clock.now += 2 * DAY
    if kind == "standing edit":
        store.put([], decided.standings, None).result()
    else:
        store.put([], [], None, decided).result()
    clock.now += 2 * DAY
    store.sweep(clock.now)
    assert store.recall(originals[0][0]) == originals[0][1]


def test_a_rebuild_counts_for_the_bytes_of_standing_edits(open_store: Open, clock: Clock) -> None:
    store = open_store(bounds=Bounds(standings_bytes=32 * KIB))
    for n in range(20):
        originals, decided = rebuilt(f"m{n}", f"text {n}", literal=noise(f"{n}", 8 * KIB))
        store.put(originals, [], None, decided).result()
        clock.now += 60
    store.sweep(clock.now)
    found = [bool(store.batches([key(f"m{n}").chain])) for n in range(20)]
    assert found == sorted(found) and 2 < sum(found) < 12
    stored = store.totals().stored.standings
    assert stored.size_bytes <= 32 * KIB and stored.rows == sum(found)


def test_memory_for_recent_batches_counts_their_literals_and_summaries() -> None:
    recent = recent_batches(64 * KIB)
    for n in range(40):
        _, decided = rebuilt(f"m{n}", "text", literal=noise(f"{n}", 4 * KIB))
        recent.add([(decided.after, decided)], used=0.0)
    held = recent.look_up([key(f"m{n}").chain for n in range(40)], now=0.0).found.values()
    literals = sum(sys.getsizeof(decided.rebuild.literal) for decided in held if decided.rebuild)
    assert 4 * KIB <= literals <= recent.size_bytes <= 64 * KIB


def test_what_does_not_fit_in_the_queue_counts_a_rebuild(tmp_path: Path) -> None:
    originals, decided = rebuilt("after", "text", literal=noise("literal", 60_000))
    with SqliteStore(tmp_path / "s.db", queue_bytes=50_000) as store:
        with pytest.raises(StoreError, match="does not keep up"):
            store.put(originals, [], None, decided).result(30)
        assert store.batches([decided.after]) == {}


def test_a_name_that_is_no_sha_is_refused_and_spoils_nobody_else(store: Store) -> None:
    originals, decided = rebuilt("after", "text")
    assert decided.rebuild is not None
    bad = replace(decided, rebuild=replace(decided.rebuild, covered=("not hexadecimal",)))
    good_originals, good = rebuilt("other", "good")
    futures = [store.put(originals, [], None, bad), store.put(good_originals, [], None, good)]
    with pytest.raises(StoreError):
        futures[0].result()
    futures[1].result()
    assert store.batches([bad.after, good.after]) == {good.after: good}
    assert original_sha("good") == good_originals[0][0]
