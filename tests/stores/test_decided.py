"""What was decided on a request is found in one go, as each kind of decision is found by itself."""

from __future__ import annotations

from pathlib import Path

from stores.conftest import Open
from stores.samples import DAY, Clock, batch, key, pressed

from coldpress.model.edits import Standing
from coldpress.stores.base import Bounds, Decisions, Store
from coldpress.stores.sqlite import SqliteStore

MOST_NAMES = 450
"""More than fit one statement."""


def test_both_kinds_are_found_and_only_where_they_were_asked_for(store: Store) -> None:
    original, standing = pressed("text", "what it replaces")
    originals, made = batch("after", "a", "b")
    exact = Standing(key("after", -1), None)
    store.put([original, *originals], [standing, exact], None, made).result()
    keys, chains = [standing.key, exact.key, key("unknown")], [made.after, key("unknown").chain, standing.key.chain]
    assert store.decided(keys, chains) == Decisions({standing.key: standing, exact.key: exact}, {made.after: made})
    assert store.decided([standing.key], []) == Decisions({standing.key: standing}, {})
    assert store.decided([], [made.after]) == Decisions({}, {made.after: made})
    assert store.decided([key("text", 7)], [standing.key.chain]) == store.decided([], []) == Decisions({}, {})


def test_another_process_finds_what_the_file_holds_however_much_is_asked_for(tmp_path: Path, clock: Clock) -> None:
    standings = [Standing(key(f"text {number}"), None) for number in range(MOST_NAMES)]
    originals, made = batch("after", "a")
    with SqliteStore(tmp_path / "store.db", clock=clock) as ours, SqliteStore(tmp_path / "store.db") as theirs:
        keys, chains = [one.key for one in standings], [one.key.chain for one in standings] + [made.after]
        assert theirs.decided(keys, chains) == Decisions({}, {})
        ours.put(originals, standings, None, made).result()
        found = theirs.decided(keys, chains)
        assert found == Decisions({one.key: one for one in standings}, {made.after: made})
        assert (theirs.standing(keys), theirs.batches(chains)) == (found.standings, found.batches)


def test_what_is_on_its_way_to_the_file_is_found(open_store: Open) -> None:
    store = open_store()
    originals, made = batch("after", "a")
    exact = Standing(key("after", -1), None)
    store.put(originals, [exact], None, made)
    assert store.decided([exact.key], [made.after]) == Decisions({exact.key: exact}, {made.after: made})


def test_to_be_found_counts_as_a_use_of_both_kinds(open_store: Open, clock: Clock) -> None:
    store = open_store(bounds=Bounds(standings_days=10, originals_days=10))
    original, standing = pressed("text", "what it replaces")
    originals, made = batch("after", "a")
    store.put([original, *originals], [standing, Standing(key("unused"), None)], None, made).result()
    clock.now += 8 * DAY
    assert store.decided([standing.key], [made.after]) == Decisions({standing.key: standing}, {made.after: made})
    clock.now += 8 * DAY
    store.flush()
    store.sweep(clock.now)
    found = store.decided([standing.key, key("unused")], [made.after])
    assert found == Decisions({standing.key: standing}, {made.after: made})
    assert store.recall(original[0]) and store.recall(originals[0][0])
