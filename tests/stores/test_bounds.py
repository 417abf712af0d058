"""Stores stay within their bounds, the least recently used goes first, and expiry is told."""

from __future__ import annotations

import pytest
from stores.conftest import Open
from stores.samples import DAY, Clock, key, line, noise, outcome, pressed, receipt

from coldpress.model.edits import Standing
from coldpress.model.errors import AmbiguousOriginal, ConfigError, ExpiredOriginal, UnknownOriginal
from coldpress.model.identity import original_sha
from coldpress.stores.base import Bounds, Store

KIB = 1024


def fill(store: Store, clock: Clock, count: int, *, size_bytes: int = 20 * KIB) -> list[str]:
    """Put so many originals with a decision each, a day apart, and return their names, the oldest first."""
    names = []
    for n in range(count):
        original, decided = pressed(f"m{n}", noise(f"text {n}", size_bytes))
        store.put([original], [decided], receipt(f"r{n}", at=clock.now, lines=[line("Bash", original=original[0])]))
        names.append(original[0])
        clock.now += DAY
    store.flush()
    return names


def kept(store: Store, names: list[str]) -> list[int]:
    """Which of these can be recalled; all others must say that they expired."""
    indexes = []
    for n, sha in enumerate(names):
        try:
            assert original_sha(store.recall(sha)) == sha
        except ExpiredOriginal:
            continue
        indexes.append(n)
    return indexes


def test_originals_expire_by_days_since_their_last_use(open_store: Open, clock: Clock) -> None:
    store = open_store(bounds=Bounds(originals_days=3))
    names = fill(store, clock, 6)  # the oldest is six days old now, the newest one day
    store.sweep(clock.now)
    assert kept(store, names) == [3, 4, 5]


def test_originals_expire_by_bytes_the_oldest_first(open_store: Open, clock: Clock) -> None:
    store = open_store(bounds=Bounds(originals_bytes=64 * KIB))
    names = fill(store, clock, 12)
    store.sweep(clock.now)
    left = kept(store, names)
    assert 0 < len(left) < 12 and left == list(range(12 - len(left), 12))
    assert store.totals().stored.originals.size_bytes <= 64 * KIB


def test_an_expired_original_says_when_and_how_to_get_it_again(open_store: Open, clock: Clock) -> None:
    store = open_store(bounds=Bounds(originals_days=1))
    original, _ = pressed("a", "x" * 1234)
    store.put([original], [], receipt("r", lines=[line("WebFetch", original=original[0])])).result()
    clock.now += 2 * DAY
    store.sweep(clock.now)
    for digits in (original[0], original[0][:8]):
        with pytest.raises(ExpiredOriginal) as told:
            store.recall(digits)
        message = str(told.value)
        assert "2027-01-17 08:00 UTC" in message and "run the WebFetch call" in message and "1234 bytes" in message
    assert store.totals().stored.expired == 1


def test_an_expired_original_that_is_put_again_is_there_again(open_store: Open, clock: Clock) -> None:
    store = open_store(bounds=Bounds(originals_days=1))
    original, _ = pressed("a", "text")
    store.put([original], [], None).result()
    clock.now += 2 * DAY
    store.sweep(clock.now)
    store.put([original], [], None).result()
    assert store.recall(original[0]) == "text"
    assert store.totals().stored.expired == 0


def test_a_beginning_that_fits_an_expired_and_a_stored_original_is_ambiguous(open_store: Open, clock: Clock) -> None:
    store = open_store(bounds=Bounds(originals_days=1))
    first, second = "coldpress 3792", "coldpress 60500"  # both names begin with 12349f4e
    store.put([(original_sha(first), first)], [], None).result()
    clock.now += 2 * DAY
    store.sweep(clock.now)
    store.put([(original_sha(second), second)], [], None).result()
    with pytest.raises(AmbiguousOriginal, match="expired"):
        store.recall("12349f4e")
    assert store.recall(original_sha(second)) == second


def test_names_of_expired_originals_are_bounded_too(open_store: Open, clock: Clock) -> None:
    store = open_store(bounds=Bounds(originals_days=0.5, tombstones=3))
    names = fill(store, clock, 2)
    store.sweep(clock.now)
    names += fill_more(store, clock, 4)
    store.sweep(clock.now)
    assert store.totals().stored.expired == 3
    with pytest.raises(UnknownOriginal):
        store.recall(names[0])


def fill_more(store: Store, clock: Clock, count: int) -> list[str]:
    texts = [f"more {n}" for n in range(count)]
    store.put([(original_sha(text), text) for text in texts], [], None).result()
    clock.now += DAY
    return [original_sha(text) for text in texts]


@pytest.mark.parametrize("use", ["found for a request", "recalled", "put again"])
def test_what_is_used_outlives_what_is_not(open_store: Open, clock: Clock, use: str) -> None:
    store = open_store(bounds=Bounds(originals_days=5))
    names = fill(store, clock, 12)
    if use == "found for a request":
        assert store.standing([key("m2")])
    elif use == "recalled":
        store.recall(names[2])
    else:
        store.put([(names[2], noise("text 2", 20 * KIB))], [], None)
    store.flush()
    store.sweep(clock.now)
    assert kept(store, names) == [2, 7, 8, 9, 10, 11]


def test_a_long_conversation_keeps_its_first_original_while_others_come_and_go(open_store: Open, clock: Clock) -> None:
    store = open_store(bounds=Bounds(originals_bytes=64 * KIB))
    original, decided = pressed("first", noise("first", 20 * KIB))
    store.put([original], [decided], None)
    for n in range(30):
        store.put([pressed(f"other {n}", noise(f"other {n}", 20 * KIB))[0]], [], None)
        assert store.standing([decided.key]) == {decided.key: decided}
        clock.now += 3600
        store.flush()
        store.sweep(clock.now)
    assert store.recall(original[0]) == original[1]
    assert store.totals().stored.expired > 20


def test_decisions_expire_by_days_since_their_last_use_and_are_forgotten_everywhere(
    open_store: Open, clock: Clock
) -> None:
    store = open_store(bounds=Bounds(standings_days=3))
    fill(store, clock, 6)
    assert len(store.standing([key("m0")])) == 1
    store.flush()
    store.sweep(clock.now)
    assert [n for n in range(6) if store.standing([key(f"m{n}")])] == [0, 3, 4, 5]


def test_decisions_expire_by_bytes_whole_messages_at_a_time(open_store: Open, clock: Clock) -> None:
    store = open_store(bounds=Bounds(standings_bytes=8 * KIB))
    for n in range(100):
        store.put([], [Standing(key(f"m{n}", block), None) for block in range(2)], None)
        clock.now += DAY / 24
    store.flush()
    store.sweep(clock.now)
    assert store.totals().stored.standings.size_bytes <= 8 * KIB
    found = [len(store.standing([key(f"m{n}", 0), key(f"m{n}", 1)])) for n in range(100)]
    assert set(found) == {0, 2} and found == sorted(found)


def test_the_ledger_expires_by_days_with_its_outcomes(open_store: Open, clock: Clock) -> None:
    store = open_store(bounds=Bounds(ledger_days=3))
    for n in range(6):
        store.put([], [], receipt(f"r{n}", at=clock.now))
        store.add_outcome(outcome(f"r{n}"))
        clock.now += DAY
    store.flush()
    store.sweep(clock.now)
    entries = store.receipts(limit=9, lineage=None, before=None)
    assert [entry.receipt.request_id for entry in entries] == ["r5", "r4", "r3"]
    assert store.totals().stored.ledger.rows == 6


def test_outcomes_whose_receipt_never_came_expire_too(open_store: Open, clock: Clock) -> None:
    store = open_store(bounds=Bounds(ledger_days=3))
    store.add_outcome(outcome("lonely"))
    clock.now += 4 * DAY
    store.add_outcome(outcome("new"))
    store.flush()
    store.sweep(clock.now)
    assert store.totals().stored.ledger.rows == 1


def test_the_ledger_expires_by_bytes(open_store: Open, clock: Clock) -> None:
    store = open_store(bounds=Bounds(ledger_bytes=20 * KIB))
    for n in range(100):
        store.put([], [], receipt(f"r{n}", at=clock.now + n, lines=[line()] * 3))
        store.add_outcome(outcome(f"r{n}"))
    store.flush()
    store.sweep(clock.now)
    kept = store.totals().stored.ledger
    entries = store.receipts(limit=100, lineage=None, before=None)
    assert 0 < len(entries) < 50 and kept.size_bytes <= 20 * KIB
    assert [entry.receipt.request_id for entry in entries] == [f"r{n}" for n in range(99, 99 - len(entries), -1)]
    assert kept.rows == 2 * len(entries)


def test_the_raw_log_expires_by_days_and_by_bytes_and_a_shared_body_stays(open_store: Open, clock: Clock) -> None:
    store = open_store(raw_log=True, bounds=Bounds(raw_days=3, raw_bytes=64 * KIB))
    shared = b"the same in all"
    for n in range(12):
        store.log_event(f"r{n}", clock.now, "request", [], noise(f"{n}", 20 * KIB).encode())
        store.log_event(f"r{n}", clock.now, "reply", [], shared)
        clock.now += DAY / 24
    store.flush()
    store.sweep(clock.now)
    assert store.totals().stored.raw.size_bytes <= 64 * KIB
    left = [n for n in range(12) if store.events(f"r{n}")]
    assert left and left[0] > 0
    assert store.events("r11")[1].body == shared
    store.sweep(clock.now + 4 * DAY)
    assert store.totals().stored.raw == type(store.totals().stored.raw)(0, 0)


def test_a_sweep_within_bounds_removes_nothing(open_store: Open, clock: Clock) -> None:
    store = open_store(raw_log=True)
    names = fill(store, clock, 5)
    store.log_event("r", clock.now, "request", [], b"body")
    store.flush()
    before = store.totals()
    store.sweep(clock.now)
    assert store.totals() == before and kept(store, names) == [0, 1, 2, 3, 4]


def test_bounds_hold_under_load_though_nobody_calls_sweep(open_store: Open, clock: Clock) -> None:
    bounds = Bounds(originals_bytes=1024 * KIB, standings_bytes=256 * KIB, ledger_bytes=256 * KIB)
    store = open_store(bounds=bounds)
    largest = 0
    for n in range(400):
        original, decided = pressed(f"m{n}", noise(f"{n}", 20 * KIB), view=noise(f"view {n}", 4 * KIB))
        store.put([original], [decided], receipt(f"r{n}", at=clock.now, lines=[line()] * 10)).result()
        clock.now += 60
        largest = max(largest, store.totals().stored.originals.size_bytes)
    store.flush()
    # A sixteenth may be written before a sweep begins, and some more while it runs.
    assert 900 * KIB < largest < 1024 * KIB * 5 // 4
    stored = store.totals().stored
    for part, limit in ((stored.originals, 1024), (stored.standings, 256), (stored.ledger, 256)):
        assert part.size_bytes < limit * KIB * 5 // 4
    assert stored.expired > 200
    assert store.standing([key("m399")])


def test_a_negative_bound_is_refused() -> None:
    with pytest.raises(ConfigError, match="raw_days is -1"):
        Bounds(raw_days=-1)
