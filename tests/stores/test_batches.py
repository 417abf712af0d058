"""Decisions taken together, in every store: the first at a message stays, with its originals, until it expires."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stores.conftest import Open
from stores.samples import DAY, Clock, batch, key, noise, pressed, receipt

from coldpress.model.edits import Batch, Standing
from coldpress.model.errors import StoreError, UnknownOriginal
from coldpress.model.identity import EditKey, original_sha
from coldpress.stores.base import Bounds, Store
from coldpress.stores.memory import MemoryStore
from coldpress.stores.sqlite import SqliteStore

KIB = 1024


def test_a_batch_comes_back_as_it_was_and_messages_without_one_are_left_out(store: Store) -> None:
    texts = ["one\0\r\n", "two \U0001f9ca", ""]
    standings = (
        Standing(EditKey(key("m").chain, 3, 1), "view \x1b\u2028", "mask", original_sha(texts[0]), "", 17),
        Standing(EditKey(key("n").chain, 0, 0), "", "deterministic", original_sha(texts[1]), '{"a": 1}', 0),
        Standing(EditKey(key("n").chain, 0, 1), "v", "mask", original_sha(texts[2]), "", None),
    )
    decided = Batch(key("after").chain, standings)
    store.put([(original_sha(text), text) for text in texts], [], receipt("r"), decided).result()
    assert store.batches([key("m").chain, decided.after, key("n").chain]) == {decided.after: decided}
    assert store.batches([]) == store.batches([b"", key("m").chain]) == {}
    assert store.standing([s.key for s in standings]) == {}, "a batch holds only where its message is"
    assert [store.recall(original_sha(text)) for text in texts] == texts


def test_saved_tokens_of_a_decision_are_kept_and_unknown_is_not_zero(store: Store) -> None:
    (original, _) = pressed("a", "text")
    decided = [Standing(key(f"{n}"), "view", "mask", original[0], "", n) for n in (None, 0, 7)]
    store.put([original], decided, None).result()
    assert [store.standing([one.key])[one.key].saved_tokens for one in decided] == [None, 0, 7]


def test_the_first_batch_at_a_message_stays_and_the_later_put_keeps_the_rest(store: Store) -> None:
    (first_originals, first), (originals, second) = (
        batch("after", "a", view="first"),
        batch("after", "b", view="second"),
    )
    store.put(first_originals, [], None, first).result()
    store.put(originals, [Standing(key("new"), None)], receipt("r"), second).result()
    assert store.batches([first.after]) == {first.after: first}
    assert store.recall(originals[0][0]) == "text of b"
    assert store.receipt("r") is not None and store.standing([key("new")])


def test_many_threads_agree_on_one_batch(store: Store) -> None:
    start = threading.Barrier(8)

    def decide(n: int) -> Batch:
        originals, mine = batch("after", "a", "b", view=f"view {n}")
        start.wait()
        store.put(originals, [], receipt(f"r{n}"), mine).result()
        return store.batches([mine.after])[mine.after]

    with ThreadPoolExecutor(8) as threads:
        assert len(set(threads.map(decide, range(8)))) == 1
    assert store.totals().requests == 8
    assert store.totals().stored.standings.rows == 2


def test_a_batch_without_one_of_its_originals_is_refused_with_the_whole_put(store: Store) -> None:
    originals, decided = batch("after", "a", "b")
    with pytest.raises(StoreError, match="put it along"):
        store.put(originals[:1], [Standing(key("new"), None)], receipt("r"), decided).result()
    assert store.batches([decided.after]) == {} == store.standing([key("new")])
    assert store.receipt("r") is None
    with pytest.raises(UnknownOriginal):
        store.recall(originals[0][0])
    store.put(originals, [], None, decided).result()
    assert store.batches([decided.after]) == {decided.after: decided}


def test_a_batch_that_is_not_unicode_is_refused_with_the_whole_put(store: Store) -> None:
    decided = Batch(key("after").chain, (Standing(key("a"), "\ud800", "mask"),))
    with pytest.raises(StoreError, match="lone surrogate"):
        store.put([], [], receipt("r"), decided).result()
    assert store.batches([decided.after]) == {} and store.receipt("r") is None


def test_durable_waits_for_batches_too_and_refuses_what_was_not_kept(store: Store) -> None:
    originals, decided = batch("after", "a")
    store.put(originals, [], None, decided)
    store.durable([], [decided.after]).result()
    with pytest.raises(StoreError, match="send the text exact"):
        store.durable([], [decided.after, key("never").chain]).result()
    with pytest.raises(StoreError, match="send the text exact"):
        store.durable([key("never")], [decided.after]).result()


def test_one_batch_is_found_among_thousands_of_messages(store: Store) -> None:
    made = [batch(f"m{n}", f"a{n}") for n in (3, 700, 2999)]
    for originals, decided in made:
        store.put(originals, [], None, decided).result()
    chains = [key(f"m{n}").chain for n in range(3000)]
    assert store.batches(chains) == {decided.after: decided for _, decided in made}


@pytest.mark.parametrize("size", [1, 2, 8, 9, 199, 200, 201, 401])
def test_every_number_of_messages_is_looked_up_whole(store: Store, size: int) -> None:
    originals, decided = batch("last", "a")
    store.put(originals, [], None, decided).result()
    chains = [key(f"m{n}").chain for n in range(size - 1)] + [decided.after]
    assert list(store.batches(chains)) == [decided.after]


# --- bounds -----------------------------------------------------------------------------------


@pytest.mark.parametrize("use", ["found for a request", "waited for"])
def test_batches_expire_by_days_since_their_last_use_with_the_originals_they_need(
    open_store: Open, clock: Clock, use: str
) -> None:
    store = open_store(bounds=Bounds(standings_days=3, originals_days=3))
    made = [batch(f"m{n}", f"a{n}") for n in range(6)]
    for originals, decided in made:
        store.put(originals, [], None, decided).result()
        clock.now += DAY
    if use == "found for a request":
        assert store.batches([made[0][1].after])
    else:
        store.durable([], [made[0][1].after]).result()
    store.flush()
    store.sweep(clock.now)
    assert [n for n, (_, decided) in enumerate(made) if store.batches([decided.after])] == [0, 3, 4, 5]
    assert store.recall(made[0][0][0][0]) == "text of a0"
    assert store.totals().stored.standings.rows == 4


def test_batches_share_the_bytes_of_standing_edits_the_least_recently_used_goes_first(
    open_store: Open, clock: Clock
) -> None:
    store = open_store(bounds=Bounds(standings_bytes=24 * KIB))
    for n in range(40):
        if n % 2:
            originals, decided = batch(f"m{n}", f"a{n}", view=noise(f"{n}", 2 * KIB))
            store.put(originals, [], None, decided).result()
        else:
            original, standing = pressed(f"m{n}", f"text {n}", noise(f"{n}", 2 * KIB))
            store.put([original], [standing], None).result()
        clock.now += 3600
    store.sweep(clock.now)
    found = [bool(store.batches([key(f"m{n}").chain]) or store.standing([key(f"m{n}")])) for n in range(40)]
    assert found == sorted(found) and 5 < sum(found) < 30
    stored = store.totals().stored.standings
    assert stored.size_bytes <= 24 * KIB and stored.rows == sum(found)
    store.sweep(clock.now + 100 * DAY)
    assert store.totals().stored.standings == type(stored)(0, 0)


def test_a_batch_and_the_decisions_of_its_message_expire_together(open_store: Open, clock: Clock) -> None:
    store = open_store(bounds=Bounds(standings_days=3))
    originals, decided = batch("m", "a")
    store.put(originals, [Standing(key("m"), None)], None, decided).result()
    for _ in range(3):
        clock.now += 2 * DAY
        assert store.batches([decided.after])
        store.flush()
        store.sweep(clock.now)
    assert store.standing([key("m")])
    clock.now += 4 * DAY
    store.flush()
    store.sweep(clock.now)
    assert store.standing([key("m")]) == {} == store.batches([decided.after])
    assert store.totals().stored.standings.rows == 0


# --- law --------------------------------------------------------------------------------------

NAMES = st.sampled_from("abcde")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("standing"), NAMES, st.sampled_from(["one", "two", None])),
        st.tuples(st.just("batch"), NAMES, st.lists(NAMES, max_size=3, unique=True), st.sampled_from(["one", "two"])),
        st.tuples(st.just("reopen")),
        st.tuples(st.just("flush")),
    ),
    max_size=15,
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_whatever_is_put_in_whatever_order_the_first_decision_is_found_everywhere(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[object, ...]]
) -> None:
    """The model is two dictionaries with `setdefault`; a file is also looked at through another process's eyes."""
    path = tmp_path_factory.mktemp("law") / "store.db"
    file, memory, other = SqliteStore(path), MemoryStore(), SqliteStore(path)
    standings: dict[EditKey, Standing] = {}
    batches: dict[bytes, Batch] = {}
    chains = [key(name).chain for name in "abcde"]
    for step in steps:
        match step:
            case ["standing", str(name), view]:
                original, decided = pressed(name, f"text of {name}", str(view))
                decided = decided if view is not None else Standing(key(name), None)
                standings.setdefault(decided.key, decided)
                for store in (file, memory):
                    store.put([original], [decided], None)
            case ["batch", str(after), list(names), str(view)]:
                originals, together = batch(after, *names, view=view)
                batches.setdefault(together.after, together)
                for store in (file, memory):
                    store.put(originals, [], None, together)
            case ["reopen"]:
                file.close()
                file = SqliteStore(path)
            case _:
                file.flush()
        for store in (file, memory):
            assert store.batches(chains) == batches
            assert store.standing([key(name) for name in "abcde"]) == standings
    file.durable(list(standings), list(batches)).result()
    assert other.batches(chains) == batches
    assert file.totals().stored.standings.rows == memory.totals().stored.standings.rows
    for store in (file, memory, other):
        store.close()
