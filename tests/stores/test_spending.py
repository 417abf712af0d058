"""What the requests of a day cost: told at once, kept over restarts, and never less than what is known."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
from stores.conftest import Open
from stores.samples import DAY, Clock, outcome, receipt

from coldpress.model.records import Failover, Money, Outcome
from coldpress.model.usage import Usage
from coldpress.stores.amounts import Amount
from coldpress.stores.base import Store
from coldpress.stores.spending import day_of
from coldpress.stores.sqlite import SqliteStore

MIDNIGHT = 1_800_057_600.0
TODAY, TOMORROW = "2027-01-15", "2027-01-16"


def paid(name: str, bill: float | None, summaries: float = 0.0, *, unpriced: tuple[str, ...] = ()) -> Outcome:
    money = Money(bill_usd=bill, summariser_usd=summaries, unpriced=unpriced)
    return replace(outcome(name, Usage(fresh=10, output=1)), money=money)


def test_a_day_is_utc() -> None:
    assert (day_of(MIDNIGHT - 0.001), day_of(MIDNIGHT)) == (TODAY, TOMORROW)


def test_each_request_counts_on_the_day_on_which_it_ended(tmp_path: Path) -> None:
    clock = Clock(MIDNIGHT - 1)
    with SqliteStore(tmp_path / "s", clock=clock) as store:
        store.add_outcome(paid("1", 0.25))
        store.flush()
        clock.now = MIDNIGHT
        store.add_outcome(paid("2", 0.5))
        store.flush()
        assert store.spent_on(TODAY) == Amount(0.25, 1, 0)
        assert store.spent_on(TOMORROW) == Amount(0.5, 1, 0)
        assert store.spent_on("2027-01-17") == Amount()


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        pytest.param([paid("1", 0.25, 0.125), paid("2", 1.0)], Amount(1.375, 2, 0), id="bills and summaries"),
        pytest.param([paid("1", 0.25), paid("2", None)], Amount(0.25, 1, 1), id="an unknown bill is not zero"),
        pytest.param([paid("1", None, 0.5)], Amount(0.5, 0, 1), id="its summaries are known all the same"),
        pytest.param([paid("1", 0.25, unpriced=("summariser",))], Amount(0.25, 0, 1), id="an unknown summary"),
        pytest.param([replace(outcome("1"), money=None)], Amount(0.0, 0, 1), id="nobody worked it out"),
        pytest.param([replace(paid("1", None), status=529)], Amount(), id="a refusal costs nothing"),
        pytest.param(
            [replace(paid("1", None), status=None, ended="client_gone")], Amount(0.0, 0, 1), id="who left may be billed"
        ),
        pytest.param([replace(paid("1", None), status=None, ended="upstream_failed")], Amount(), id="no answer"),
        pytest.param([paid("1", 0.25), paid("1", 0.75)], Amount(0.25, 1, 0), id="told twice"),
    ],
)
def test_what_is_known_is_summed_and_the_rest_is_counted(
    store: Store, clock: Clock, told: list[Outcome], expected: Amount
) -> None:
    for one in told:
        store.add_outcome(one)
    store.flush()
    assert store.spent_on(day_of(clock())) == expected


def test_it_survives_a_restart_and_the_sweep(tmp_path: Path) -> None:
    clock = Clock(MIDNIGHT - 7200)
    for number in range(3):
        with SqliteStore(tmp_path / "s", clock=clock) as store:
            store.put([], [], receipt(str(number)))
            store.add_outcome(paid(str(number), 0.5))
    with SqliteStore(tmp_path / "s", clock=clock) as store:
        assert store.spent_on(TODAY) == Amount(1.5, 3, 0)
        store.sweep(MIDNIGHT + 400 * DAY)
        assert store.receipts(limit=9, lineage=None, before=None) == []
        assert store.spent_on(TODAY) == Amount(1.5, 3, 0)


def test_what_is_not_on_disk_yet_counts_already(tmp_path: Path) -> None:
    clock, go_on = Clock(MIDNIGHT - 7200), threading.Event()

    def hold(_: int) -> None:
        assert go_on.wait(5)

    with SqliteStore(tmp_path / "s", clock=clock, on_commit=hold) as store:
        for number in range(1, 6):
            store.add_outcome(paid(str(number), 0.5))
        assert store.spent_on(TODAY).usd >= 2.5
        go_on.set()
        store.flush()
        assert store.spent_on(TODAY) == Amount(2.5, 5, 0)


@pytest.mark.parametrize("kind", ["full", "absurd"])
def test_what_could_not_be_stored_was_paid_all_the_same(tmp_path: Path, kind: Literal["full", "absurd"]) -> None:
    clock = Clock(MIDNIGHT - 7200)
    with SqliteStore(tmp_path / "s", clock=clock, most_file_bytes=1 if kind == "full" else None) as store:
        if kind == "full":
            store.add_outcome(replace(paid("1", 0.5), transformations=("x" * 3_000_000,)))
            expected = Amount(0.5, 1, 0)
        else:
            store.add_outcome(paid("1", 1e12))
            expected = Amount(0.0, 0, 1)
        store.flush()
        assert store.totals().unrecorded == 1
        assert store.spent_on(TODAY) == expected


def test_two_processes_that_share_a_store_see_one_sum(tmp_path: Path) -> None:
    clock = Clock(MIDNIGHT - 7200)
    with SqliteStore(tmp_path / "s", clock=clock) as one, SqliteStore(tmp_path / "s", clock=clock) as other:
        one.add_outcome(paid("1", 0.5))
        other.add_outcome(paid("2", 0.25))
        one.flush()
        other.flush()
        assert one.spent_on(TODAY) == other.spent_on(TODAY) == Amount(0.75, 2, 0)


def test_failover_comes_back_from_the_ledger(open_store: Open) -> None:
    kept = Failover("other", "429", "refused", "vendor/model", 503)
    with open_store() as store:
        store.put([], [], receipt("r"))
        store.add_outcome(replace(outcome("r"), failover=kept))
        store.put([], [], receipt("bare"))
        store.add_outcome(outcome("bare"))
        store.flush()
        found = [entry.outcome for entry in (store.receipt("r"), store.receipt("bare")) if entry is not None]
    assert [one.failover for one in found if one is not None] == [kept, None]
