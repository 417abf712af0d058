"""What the ledger keeps of missed caches, of what a provider did by itself, and of its names for replies."""

from __future__ import annotations

from dataclasses import replace
from math import nan
from pathlib import Path

import pytest
from stores.samples import DAY, NOON, Clock, applied, attribution, native, outcome, receipt

from coldpress.model.misses import Attribution
from coldpress.model.usage import Usage
from coldpress.stores.amounts import Amount, Bucket
from coldpress.stores.base import Bounds, Store
from coldpress.stores.memory import MemoryStore
from coldpress.stores.sqlite import SqliteStore
from coldpress.stores.totals_misses import CauseTotals, MissTotals

READ = Usage(fresh=10, read=20_000, output=5)
MISSES = [
    attribution("us", "edit", 4_000, 0.25),
    attribution("us", "summary", 6_000, None),
    attribution("client", "tools", None, None),
    attribution("time", "expired", 9_000, 0.5),
    None,
]


def filled(store: Store) -> None:
    for n, missed in enumerate(MISSES):
        store.put([], [], receipt(f"r{n}", at=NOON + n))
        store.add_outcome(replace(outcome(f"r{n}", READ), attribution=missed))
    store.put([], [], receipt("silent", at=NOON + 9))
    store.add_outcome(outcome("silent"))
    store.flush()


TOTALS = MissTotals(
    replies=5,
    by_cause=(
        ("client", CauseTotals(1, Bucket(), Amount(unpriced=1))),
        ("time", CauseTotals(1, Bucket(9_000, 1), Amount(0.5, 1))),
        ("us", CauseTotals(2, Bucket(10_000, 2), Amount(0.25, 1, 1))),
    ),
    by_why=(("client/tools", 1), ("time/expired", 1), ("us/edit", 1), ("us/summary", 1)),
)


def test_an_entry_comes_back_with_what_was_missed_and_what_the_provider_did(store: Store) -> None:
    kept = [
        (
            replace(receipt("full"), native=native()),
            replace(outcome("full", READ), attribution=MISSES[0], applied=applied(), reply_id="msg_01"),
        ),
        (receipt("bare"), outcome("bare")),
    ]
    for one, ended in kept:
        store.put([], [], one)
        store.add_outcome(ended)
    store.flush()
    for one, ended in kept:
        entry = store.receipt(one.request_id)
        assert entry is not None
        assert (entry.receipt, entry.outcome) == (one, ended)


def test_misses_are_summed_up_by_cause_beside_the_replies_that_report_reads(store: Store) -> None:
    filled(store)
    found = store.totals().misses
    assert found == TOTALS
    assert (found.misses, found.caused_by_us) == (4, TOTALS.by_cause[2][1])
    assert MissTotals().caused_by_us == CauseTotals()


def test_an_outcome_that_is_told_twice_counts_once(store: Store) -> None:
    filled(store)
    store.add_outcome(replace(outcome("r0", READ), attribution=MISSES[0]))
    store.flush()
    assert store.totals().misses == TOTALS


def test_sums_outlive_a_restart_and_the_rows(tmp_path: Path) -> None:
    clock = Clock()
    with SqliteStore(tmp_path / "s", clock=clock) as store:
        filled(store)
    with SqliteStore(tmp_path / "s", clock=clock, bounds=Bounds(ledger_days=1)) as store:
        store.sweep(NOON + 400 * DAY)
        assert store.receipt("r0") is None
        assert store.totals().misses == TOTALS


def test_what_is_told_to_people_has_each_cause_and_ours_by_itself() -> None:
    store = MemoryStore()
    filled(store)
    told = store.totals().as_object()["misses"]
    assert isinstance(told, dict)
    assert (told["replies"], told["misses"]) == (5, 4)
    assert told["caused_by_us"] == told["by_cause"]["us"]
    assert told["caused_by_us"]["cost"] == {"usd": 0.25, "replies": 1, "unpriced": 1}
    empty = MemoryStore().totals().as_object()["misses"]
    assert isinstance(empty, dict)
    assert (empty["replies"], empty["caused_by_us"]["misses"]) == (0, 0)


@pytest.mark.parametrize(
    "missed",
    [
        pytest.param(Attribution("us", "edit", -1), id="fewer tokens than none"),
        pytest.param(Attribution("us", "edit", 1 << 41), id="more tokens than a reply can hold"),
        pytest.param(Attribution("us", "edit", 1, nan), id="no amount"),
        pytest.param(Attribution("us", "edit", 1, 1e9), id="an absurd amount"),
    ],
)
def test_absurd_numbers_are_not_recorded_and_that_is_told(store: Store, missed: Attribution) -> None:
    store.add_outcome(replace(outcome("r"), attribution=missed))
    store.flush()
    assert (store.totals().misses, store.totals().unrecorded) == (MissTotals(), 1)


def test_a_trace_names_the_newest_reply(store: Store) -> None:
    for n, name in enumerate(("msg_01", "msg_02")):
        store.put([], [], receipt(f"r{n}", at=NOON + n))
        store.add_outcome(replace(outcome(f"r{n}"), reply_id=name))
    store.flush()
    trace = store.trace("lineage-1")
    assert trace is not None
    assert trace.reply_id == "msg_02"
    store.put([], [], receipt("r9", at=NOON + 9))
    store.flush()
    trace = store.trace("lineage-1")
    assert trace is not None
    assert trace.reply_id is None
