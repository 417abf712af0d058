"""What the ledger keeps of money, beliefs and conversations, and sums that only grow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stores.conftest import Open
from stores.samples import DAY, NOON, Clock, line, outcome, receipt

from coldpress.model.errors import StoreError
from coldpress.model.records import Belief, Cut, CutReason, Miss, Money, Outcome, Receipt
from coldpress.model.usage import Usage
from coldpress.stores.amounts import Amount, Views
from coldpress.stores.base import Bounds, Store
from coldpress.stores.memory import MemoryStore
from coldpress.stores.sqlite import SqliteStore
from coldpress.stores.totals import Totals

FULL = Money(0.5, 0.2, 0.05, 0.01, "genai-prices for 2026-07-21", ())


def test_a_receipt_comes_back_with_its_belief_and_prediction(store: Store) -> None:
    kept = replace(
        receipt("r", lines=[line(reason="aged")], harness="claude-cli"),
        prompt_tokens=120_000,
        removed_tokens=0,
        belief=Belief("cold", "idle", 412.25, 300.0, 0),
        cut=Cut("cold", 3, 2, 20_000, 0, 17.5, 0.1 + 0.2, "prices of today", 0.001, mark=True),
    )
    bare = receipt("bare")
    unsure = replace(receipt("unsure"), belief=Belief("unknown", "restarted"), cut=Cut("unknown_cache"))
    for one in (kept, bare, unsure):
        store.put([], [], one)
    store.flush()
    for one in (kept, bare, unsure):
        entry = store.receipt(one.request_id)
        assert entry is not None and entry.receipt == one


def test_an_outcome_comes_back_with_all_it_says(store: Store) -> None:
    full = Outcome(
        "full",
        200,
        "complete",
        2.5,
        Usage(fresh=10, read=90, output=5),
        others=(("another-model", Usage(fresh=7, output=0)), ("third", Usage())),
        context_tokens=105,
        miss=Miss("tools_changed", 4000),
        transformations=("thinking_dropped:prefix_binding_mismatch",),
        money=replace(FULL, unpriced=("cache_write",), bill_usd=1 / 3),
    )
    bare = outcome("bare")
    told = Outcome("told", 200, "complete", 1.0, miss=Miss("unknown"), money=Money(unpriced=("model",)))
    for one in (full, bare, told):
        store.put([], [], receipt(one.request_id))
        store.add_outcome(one)
    store.flush()
    for one in (full, bare, told):
        entry = store.receipt(one.request_id)
        assert entry is not None and entry.outcome == one


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(Outcome("bad", 200, "complete", 1.0, money=replace(FULL, bill_usd=float("nan"))), id="no number"),
        pytest.param(Outcome("bad", 200, "complete", 1.0, money=replace(FULL, gross_usd=-1e9)), id="absurd money"),
        pytest.param(Outcome("bad", 200, "complete", 1.0, context_tokens=-1), id="negative context"),
        pytest.param(Outcome("bad", 200, "complete", 1.0, miss=Miss("x", 1 << 50)), id="absurd miss"),
        pytest.param(Outcome("bad", 200, "complete", 1.0, others=(("m", Usage(read=-2)),)), id="negative step"),
    ],
)
def test_what_no_reply_can_hold_is_not_recorded_and_that_is_told(store: Store, bad: Outcome) -> None:
    store.add_outcome(bad)
    store.flush()
    assert (store.totals().usage.answered, store.totals().unrecorded) == (0, 1)


def test_a_receipt_with_a_forecast_that_is_no_number_is_refused(store: Store) -> None:
    with pytest.raises(StoreError, match=r"cut\.requests is inf"):
        store.put([], [], receipt("r", cut=Cut("waiting", requests=float("inf")))).result()
    assert store.receipt("r") is None


# --- sums -------------------------------------------------------------------------------------


def test_each_amount_stands_beside_the_replies_it_was_taken_over(store: Store) -> None:
    monies = {
        "all known": FULL,
        "no rewrite": Money(0.25, 0.5, None, 0.0, "p", ("cache_write",)),
        "only a summary": Money(None, None, None, 0.02, "", ("usage",)),
        "nobody worked it out": None,
    }
    for name, money in monies.items():
        store.add_outcome(replace(outcome(name), money=money))
    store.add_outcome(replace(outcome("failed", status=529), money=None))
    store.add_outcome(replace(outcome("gone", status=None), money=Money(summariser_usd=0.07)))
    store.flush()
    money = store.totals().money
    assert money.bill == Amount(0.75, 2, unpriced=2)
    assert money.gross == Amount(0.7, 2, unpriced=2)
    assert money.rewrite == Amount(0.05, 1, unpriced=3)
    assert money.summariser == Amount(0.1, 4, unpriced=1)
    assert money.net == Amount(0.14, 1, unpriced=3)


def test_new_views_aged_views_reuses_and_applications_are_apart(store: Store) -> None:
    store.put([], [], receipt("1", lines=[line(), line(reason="aged"), line(reason="aged", tokens=False)], reused=3))
    store.put([], [], receipt("2", lines=[line(reason="restored"), line(reason="exact_by_policy")]))
    store.flush()
    totals = store.totals()
    assert totals.first_sight == Views(1, 1000, 400, 250, 100)
    assert totals.transformations == Views(3, 3000, 1200, 500, 200, uncounted=1)
    assert totals.aged == Views(2, 2000, 800, 250, 100, uncounted=1)
    assert (totals.restorations, totals.reuses, totals.applications) == (1, 3, 7)
    assert store.lineages(limit=1)[0].aged == 2


def test_cuts_are_counted_by_reason_applied_and_declined_apart(store: Store) -> None:
    reasons: list[CutReason | None] = ["cold", "waiting", "pays", "cold", "unpriced", "waiting", None, "observe"]
    for n, reason in enumerate(reasons):
        store.put([], [], receipt(f"r{n}", cut=None if reason is None else Cut(reason)))
    store.flush()
    totals = store.totals()
    assert totals.cuts_applied == (("cold", 2), ("pays", 1))
    assert totals.cuts_declined == (("observe", 1), ("unpriced", 1), ("waiting", 2))
    shown = totals.as_object()
    assert shown["cuts_applied"] == {"cold": 2, "pays": 1} and shown["applications"] == 0


def test_a_request_told_twice_counts_once(store: Store) -> None:
    for _ in range(2):
        store.put([], [], receipt("r", lines=[line()], reused=1, cut=Cut("cold")))
        store.add_outcome(replace(outcome("r", Usage(fresh=5)), money=FULL))
    store.flush()
    totals = store.totals()
    assert (totals.requests, totals.transformations.count, totals.reuses) == (1, 1, 1)
    assert (totals.money.bill.replies, totals.usage.fresh.tokens, dict(totals.cuts_applied)) == (1, 5, {"cold": 1})


MONEY = st.none() | st.builds(
    Money,
    bill_usd=st.none() | st.floats(0, 100),
    gross_usd=st.none() | st.floats(0, 100),
    rewrite_usd=st.none() | st.floats(0, 100),
    summariser_usd=st.floats(0, 1),
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("receipt"), st.integers(0, 9), st.sampled_from("abc"), st.integers(0, 3)),
        st.tuples(st.just("outcome"), st.integers(0, 9), MONEY, st.sampled_from([200, 529, None])),
        st.tuples(st.just("sweep"), st.floats(0, 6)),
        st.tuples(st.just("restart")),
    ),
    max_size=25,
)


def growing(totals: Totals) -> Iterator[float]:
    """Every sum that an unfriendly eye could see fall; gross and rewrite are never negative here."""
    yield from (totals.requests, totals.lineages, totals.reuses, totals.body_bytes, totals.sent_bytes)
    yield from (totals.transformations.count, totals.aged.count, totals.applications, totals.usage.answered)
    money = totals.money
    for amount in (money.bill, money.gross, money.rewrite, money.summariser):
        yield from (amount.usd, amount.replies, amount.unpriced)
    yield from (money.net.replies, sum(n for _, n in totals.ended), sum(n for _, n in totals.operations))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_no_sweep_and_no_restart_makes_a_sum_fall_and_both_stores_agree(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[object, ...]]
) -> None:
    path, clock = tmp_path_factory.mktemp("law") / "store.db", Clock()
    bounds = Bounds(ledger_days=2)

    def open_file() -> SqliteStore:
        return SqliteStore(path, clock=clock, bounds=bounds)

    file, memory = open_file(), MemoryStore(clock=clock, bounds=bounds)
    before = list(growing(file.totals()))
    for step in steps:
        clock.now += DAY / 10
        match step:
            case ["receipt", int(n), str(lineage), int(views)]:
                one = receipt(f"r{n}", at=clock.now, lineage=lineage, lines=[line()] * views, reused=views)
                for store in (file, memory):
                    store.put([], [], one)
            case ["outcome", int(n), money, status]:
                assert money is None or isinstance(money, Money)
                assert status is None or isinstance(status, int)
                for store in (file, memory):
                    store.add_outcome(replace(outcome(f"r{n}", Usage(fresh=n), status=status), money=money))
            case ["sweep", float(days)]:
                clock.now += days * DAY
                for store in (file, memory):
                    store.sweep(clock.now)
            case _:
                file.close()
                file = open_file()
        file.flush()
        after = list(growing(file.totals()))
        assert all(new >= old for old, new in zip(before, after, strict=True))
        before = after
    ours, theirs = file.totals().as_object(), memory.totals().as_object()
    assert {**ours, "stored": None} == {**theirs, "stored": None}
    assert file.lineages(limit=9) == memory.lineages(limit=9)
    assert [file.trace(name) for name in "abc"] == [memory.trace(name) for name in "abc"]
    lengths = [s.session_lengths(harness=None, now=clock.now, quiet_seconds=DAY) for s in (file, memory)]
    assert lengths[0] == lengths[1]
    file.close()


def test_sums_do_not_depend_on_what_expired_first(open_store: Open, clock: Clock) -> None:
    store = open_store(bounds=Bounds(ledger_days=1))
    for n in range(30):
        store.put([], [], receipt(f"r{n}", at=clock.now, lineage=f"l{n}", lines=[line()]))
        store.add_outcome(replace(outcome(f"r{n}", Usage(fresh=1)), money=replace(FULL, bill_usd=0.1)))
        clock.now += DAY / 2
        store.flush()
        store.sweep(clock.now)
    totals = store.totals()
    assert store.receipt("r0") is None and len(store.receipts(limit=99, lineage=None, before=None)) < 5
    assert (totals.since, totals.requests, totals.lineages, totals.usage.fresh.tokens) == (NOON, 30, 30, 30)
    assert totals.money.bill == Amount(3.0, 30), "thirty tenths are three, in whatever order"


# --- conversations ----------------------------------------------------------------------------


def test_a_trace_tells_the_newest_request_with_its_outcome(store: Store) -> None:
    store.put([], [], receipt("1", at=NOON, lineage="a"))
    store.put([], [], replace(receipt("2", at=NOON + 60, lineage="a"), model="newer", prompt_tokens=777))
    store.put([], [], receipt("other", at=NOON + 99, lineage="b"))
    store.add_outcome(outcome("1", Usage(fresh=1)))
    store.flush()
    trace = store.trace("a")
    assert trace is not None and trace.last_usage is None
    assert (trace.first_at, trace.last_at, trace.provider, trace.model) == (NOON, NOON + 60, "anthropic", "newer")
    assert (trace.requests, trace.prompt_tokens, trace.transformations_seen) == (2, 777, False)
    store.add_outcome(replace(outcome("2", Usage(read=9, fresh=1)), context_tokens=11))
    store.add_outcome(outcome("other"))
    store.flush()
    trace = store.trace("a")
    assert trace is not None and (trace.last_usage, trace.context_tokens) == (Usage(read=9, fresh=1), 11)
    other = store.trace("b")
    assert other is not None and other.last_usage == Usage(), "an outcome without usage is not the same as none"
    assert store.trace("never") is None


def test_requests_that_were_never_read_belong_to_no_conversation(store: Store) -> None:
    store.put([], [], receipt("r", lineage=""))
    store.flush()
    assert store.trace("") is None and store.lineages(limit=5) == []
    assert store.session_lengths(harness=None, now=NOON, quiet_seconds=1) == ()
    assert (store.totals().requests, store.totals().lineages) == (1, 0)


@pytest.mark.parametrize(
    ("word", "seen"),
    [
        pytest.param("thinking_dropped:prefix_binding_mismatch", True, id="Anthropic, after an edit"),
        pytest.param("reasoning:prefix_mismatch", True, id="OpenAI, after an edit"),
        pytest.param("thinking_dropped", True, id="a drop without a reason may be ours"),
        pytest.param("thinking_mismatch_allowed:prefix_binding_mismatch", True, id="would be dropped elsewhere"),
        pytest.param("reasoning:turn_boundary", False, id="a turn that is over"),
        pytest.param("thinking_dropped:model_binding_mismatch", False, id="another model"),
        pytest.param("reasoning:organization_mismatch", False, id="another account"),
    ],
)
@pytest.mark.parametrize("first", ["outcome", "receipt"])
@pytest.mark.parametrize("place", ["1", "2"])
def test_dropped_reasoning_is_remembered_for_the_conversation(
    store: Store, word: str, seen: bool, place: str, first: str
) -> None:
    steps: list[Callable[[], object]] = [
        lambda: store.put([], [], receipt(place, lineage="a")),
        lambda: store.add_outcome(replace(outcome(place), transformations=(word,))),
    ]
    if place == "2":
        store.put([], [], receipt("1", lineage="a"))
    for step in steps if first == "receipt" else reversed(steps):
        step()
    store.put([], [], receipt("3", at=NOON + 1, lineage="a"))
    store.put([], [], receipt("4", lineage="b"))
    store.add_outcome(outcome("3"))
    store.flush()
    for lineage, expected in (("a", seen), ("b", False)):
        trace = store.trace(lineage)
        assert trace is not None and trace.transformations_seen is expected
    assert store.totals().edits_noticed == int(seen)


def test_a_conversation_keeps_its_length_and_stop_when_its_first_receipts_expire(
    open_store: Open, clock: Clock
) -> None:
    store = open_store(bounds=Bounds(ledger_days=2))
    for n in range(8):
        store.put([], [], receipt(f"r{n}", at=clock.now, lineage="a"))
        told = ("thinking_dropped:prefix_binding_mismatch",) if n == 0 else ()
        store.add_outcome(replace(outcome(f"r{n}"), transformations=told))
        clock.now += DAY
    store.flush()
    store.sweep(clock.now)
    assert len(store.receipts(limit=9, lineage="a", before=None)) == 2
    trace = store.trace("a")
    assert trace is not None and (trace.requests, trace.first_at, trace.transformations_seen) == (8, NOON, True)
    assert store.session_lengths(harness=None, now=clock.now, quiet_seconds=2 * DAY) == ((8, False),)
    store.sweep(clock.now + 9 * DAY)
    assert store.trace("a") is None and store.lineages(limit=5) == []
    assert store.session_lengths(harness=None, now=clock.now, quiet_seconds=1) == ()


def test_session_lengths_are_by_harness_newest_first_and_say_who_has_ended(store: Store) -> None:
    def talk(lineage: str, *times: float, harness: str | None) -> None:
        for n, at in enumerate(times):
            store.put([], [], receipt(f"{lineage}{n}", at=NOON + at, lineage=lineage, harness=harness))

    talk("a", 0, 10, 20, harness="claude-cli")
    talk("b", 5, 100, harness="claude-cli")
    talk("c", 50, harness="pi")
    talk("d", 60, harness=None)
    store.put([], [], receipt("late", at=NOON + 15, lineage="a"))  # a request that does not name its harness
    store.flush()
    assert store.session_lengths(harness="claude-cli", now=NOON + 110, quiet_seconds=90) == ((2, False), (4, False))
    assert store.session_lengths(harness="claude-cli", now=NOON + 110.5, quiet_seconds=90) == ((2, False), (4, True))
    assert store.session_lengths(harness="pi", now=NOON, quiet_seconds=1) == ((1, False),)
    assert [n for n, _ in store.session_lengths(harness=None, now=NOON, quiet_seconds=1)] == [2, 1, 1, 4]
    assert store.session_lengths(harness="none", now=NOON, quiet_seconds=1) == ()


def test_session_lengths_are_bounded_to_the_newest(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("memory_ledger", "sqlite_ledger_reads"):
        monkeypatch.setattr(f"coldpress.stores.{module}.MOST_LENGTHS", 3)
    for n in range(5):
        for m in range(n + 1):
            store.put([], [], receipt(f"{n}/{m}", at=NOON + n, lineage=f"l{n}"))
    store.flush()
    assert [count for count, _ in store.session_lengths(harness=None, now=NOON, quiet_seconds=1)] == [5, 4, 3]


def test_the_money_of_a_conversation_stands_beside_its_replies(store: Store) -> None:
    for n, money in enumerate([FULL, replace(FULL, rewrite_usd=None), None]):
        store.put([], [], receipt(f"r{n}", lineage="a"))
        store.add_outcome(replace(outcome(f"r{n}"), money=money))
    store.put([], [], receipt("other", lineage="b"))
    store.flush()
    one, other = store.lineages(limit=5)
    assert (one.lineage, one.bill, one.net) == ("a", Amount(1.0, 2, unpriced=1), Amount(0.14, 1, unpriced=2))
    assert (other.bill, other.net) == (Amount(), Amount())


def test_a_file_read_by_another_process_tells_the_same(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with SqliteStore(path) as one, SqliteStore(path) as two:
        kept: list[Receipt] = [receipt(f"r{n}", at=NOON + n, lineage="a", harness="cli") for n in range(4)]
        for n, each in enumerate(kept):
            (one, two)[n % 2].put([], [], each)
            (two, one)[n % 2].add_outcome(replace(outcome(f"r{n}"), money=FULL))
        one.flush()
        two.flush()
        assert one.totals().money == two.totals().money
        assert one.totals().money.net == Amount(0.56, 4)
        assert one.trace("a") == two.trace("a")
        assert one.session_lengths(harness="cli", now=NOON, quiet_seconds=1) == ((4, False),)
