"""What the ledger keeps of compactions and findings: rows read back whole, sums that outlive them."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from stores.conftest import Open
from stores.samples import DAY, NOON, Clock, outcome, pressure, receipt

from coldpress.model.errors import StoreError
from coldpress.model.records import Cut, Finding, Pressure, PressureReason, Receipt
from coldpress.stores.amounts import Amount, Taken
from coldpress.stores.base import Bounds, Store
from coldpress.stores.totals import CompactionTotals

FULL = Pressure(
    "summarised", 100_000, 65_000, 45_000, 71_234, 44_321, 3, 9_000, 20, 17_913, 2, "ab" * 32, "a-model", 0.1 + 0.2, 4,
    ("empty", "too_long"), escalate=True, narrowed=True,
)  # fmt: skip
FOUND = (Finding("amnesia_loop", "Read", (3, 17), 1_200), Finding("head_reserialised", "tools"), Finding("drift"))


def under(request_id: str, found: Pressure | None, *, at: float = NOON, lineage: str = "lineage-1") -> Receipt:
    return replace(receipt(request_id, at=at, lineage=lineage), pressure=found)


def test_a_receipt_comes_back_with_its_pressure_and_findings(store: Store) -> None:
    assert all(getattr(FULL, field.name) != field.default for field in fields(Pressure)), "no value is a default"
    kept = [
        replace(under("full", FULL), findings=FOUND),
        under("declined", pressure("nothing_to_take")),
        under("unknown cost", pressure(summariser_usd=None)),
        replace(receipt("found"), findings=FOUND[:1]),
        receipt("bare"),
    ]
    for one in kept:
        store.put([], [], one)
    store.flush()
    for one in kept:
        entry = store.receipt(one.request_id)
        assert entry is not None and entry.receipt == one


def test_an_outcome_comes_back_with_its_findings_and_what_the_provider_charged(store: Store) -> None:
    kept = [replace(outcome("full"), findings=FOUND, reported_usd=0.1 + 0.2), outcome("bare")]
    for one in kept:
        store.put([], [], receipt(one.request_id))
        store.add_outcome(one)
    store.flush()
    for one in kept:
        entry = store.receipt(one.request_id)
        assert entry is not None and entry.outcome == one


def test_compactions_are_the_requests_at_the_trigger_applied_or_not_newest_first(store: Store) -> None:
    reasons: list[PressureReason | None] = ["masked", None, "no_gain", "summarised", None, "observe"]
    for n, reason in enumerate(reasons):
        found = pressure(reason) if reason else None
        store.put([], [], under(f"r{n}", found, at=NOON + n, lineage="even" if n % 2 == 0 else "odd"))
    store.add_outcome(outcome("r5"))
    store.flush()

    def read(limit: int, lineage: str | None) -> list[str]:
        return [entry.receipt.request_id for entry in store.compactions(lineage=lineage, limit=limit)]

    assert read(9, None) == ["r5", "r3", "r2", "r0"]
    assert read(2, None) == ["r5", "r3"]
    assert (read(9, "even"), read(9, "odd"), read(9, "none")) == (["r2", "r0"], ["r5", "r3"], [])
    assert read(0, None) == read(-1, None) == []
    assert store.compactions(lineage=None, limit=1) == store.receipts(limit=1, lineage=None, before=None)


def test_what_was_applied_is_summed_beside_its_denominators(store: Store) -> None:
    told = [
        pressure("masked", cleared=3),
        pressure(
            "summarised", cleared=1, summarised=4, summary="a", summariser="a-model", summariser_usd=0.25, dropped=2
        ),
        pressure("summarised", summarised=6, summary="b", summariser="structural", refused=["empty", "empty"]),
        pressure("summarised", summarised=1, summary="c", summariser="a-model", summariser_usd=None, escalate=True),
        pressure("masked_short", cleared=2, refused=["too_long"], summariser_usd=0.125),
    ]
    for n, one in enumerate(told):
        store.put([], [], under(f"r{n}", one))
    store.put([], [], receipt("below"))
    store.flush()
    assert store.totals().compactions == CompactionTotals(
        requests=5,
        applied=(("masked", 1), ("masked_short", 1), ("summarised", 3)),
        cleared=Taken(requests=3, count=6, tokens=6_000),
        summarised=Taken(requests=3, count=11, tokens=22_000),
        summaries=(("a-model", 2), ("structural", 1)),
        dropped_items=2,
        refused=(("empty", 2), ("too_long", 1)),
        escalations=1,
        summariser=Amount(0.375, 3, unpriced=1),
    )
    assert store.totals().compactions.compactions == 5


def test_what_was_only_weighed_takes_nothing_out_and_what_it_cost_is_told(store: Store) -> None:
    declined = replace(
        pressure("observe", cleared=3, summarised=9, summary="a", summariser="m", summariser_usd=0.5, dropped=3),
        narrowed=True,
        escalate=True,
        refused=("error_like",),
    )
    store.put([], [], under("r", declined)).result()
    found = store.totals().compactions
    assert (found.cleared, found.summarised, found.summaries, found.dropped_items) == (Taken(), Taken(), (), 0)
    assert (found.requests, found.compactions, found.declined) == (1, 0, (("observe", 1),))
    assert (found.escalations, found.narrowed, found.refused) == (1, 1, (("error_like", 1),))
    assert found.summariser == Amount(0.5, 1)


def test_findings_of_requests_and_of_replies_are_counted_by_kind(store: Store) -> None:
    store.put([], [], replace(receipt("r"), findings=(*FOUND, FOUND[0])))
    store.add_outcome(replace(outcome("r"), findings=(Finding("cached_tokens_dropped", tokens=5), FOUND[0])))
    store.flush()
    expected = (("amnesia_loop", 3), ("cached_tokens_dropped", 1), ("drift", 1), ("head_reserialised", 1))
    assert store.totals().findings == expected
    shown = store.totals().as_object()
    assert shown["findings"] == dict(expected)
    assert store.totals().as_object()["compactions"] == CompactionTotals().as_object()


def test_plain_values_have_counts_by_word_as_objects(store: Store) -> None:
    store.put([], [], under("r", FULL)).result()
    told = store.totals().as_object()["compactions"]
    assert told == {
        "requests": 1,
        "applied": {"summarised": 1},
        "declined": {},
        "cleared": {"requests": 1, "count": 3, "tokens": 9_000},
        "summarised": {"requests": 1, "count": 20, "tokens": 17_913},
        "summaries": {"a-model": 1},
        "dropped_items": 4,
        "refused": {"empty": 1, "too_long": 1},
        "escalations": 1,
        "narrowed": 1,
        "summariser": {"usd": 0.3, "replies": 1, "unpriced": 0},
        "compactions": 1,
    }


def test_a_request_told_twice_counts_once(store: Store) -> None:
    for _ in range(2):
        store.put([], [], replace(under("r", FULL), findings=FOUND))
        store.add_outcome(replace(outcome("r"), findings=FOUND))
    store.flush()
    totals = store.totals()
    assert (totals.compactions.requests, totals.compactions.cleared.count) == (1, 3)
    assert dict(totals.findings) == {"amnesia_loop": 2, "drift": 2, "head_reserialised": 2}


def test_sums_of_compactions_outlive_their_rows(open_store: Open, clock: Clock) -> None:
    store = open_store(bounds=Bounds(ledger_days=1))
    for n in range(4):
        store.put([], [], replace(under(f"r{n}", FULL, at=clock.now), findings=FOUND))
    store.flush()
    before = store.totals()
    clock.now += 2 * DAY
    store.sweep(clock.now)
    assert store.compactions(lineage=None, limit=9) == []
    after = store.totals()
    assert (after.compactions, after.findings) == (before.compactions, before.findings)
    assert after.compactions.summarised == Taken(4, 80, 4 * 17_913)


def test_a_cut_under_pressure_counts_as_applied(store: Store) -> None:
    store.put([], [], receipt("r", cut=Cut("pressure"))).result()
    assert store.totals().cuts_applied == (("pressure", 1),) and store.totals().cuts_declined == ()


@pytest.mark.parametrize(
    ("change", "name"),
    [
        pytest.param({"summariser_usd": float("nan")}, "summariser_usd is nan", id="no number"),
        pytest.param({"summariser_usd": float("inf")}, "summariser_usd is inf", id="infinite"),
        pytest.param({"summariser_usd": 1e9}, "summariser_usd", id="absurd money"),
        pytest.param({"cleared_tokens": 1 << 50}, "cleared_tokens", id="absurd tokens"),
        pytest.param({"summarised": 1 << 70}, "summarised", id="absurd messages"),
    ],
)
def test_numbers_that_would_spoil_sums_are_refused(store: Store, change: dict[str, float], name: str) -> None:
    with pytest.raises(StoreError, match=rf"receipt of r: pressure\.{name}"):
        store.put([], [], under("r", replace(FULL, **change))).result()  # type: ignore[arg-type]
    assert store.receipt("r") is None and store.totals().compactions == CompactionTotals()


def test_a_price_that_no_reply_can_have_is_not_recorded(store: Store) -> None:
    store.add_outcome(replace(outcome("r"), reported_usd=float("nan")))
    store.flush()
    assert (store.totals().usage.answered, store.totals().unrecorded) == (0, 1)
