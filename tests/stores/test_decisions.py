"""The sums over single decisions, in every store: what is transformed and applied, refused, captured, and by whom."""

from __future__ import annotations

from dataclasses import replace

import pytest
from stores.samples import line, outcome, receipt

from coldpress.model.plugins import PluginNote
from coldpress.model.records import Capture, Cut, Offloaded, Receipt
from coldpress.stores.amounts import Amount, Bucket, Views
from coldpress.stores.base import Store
from coldpress.stores.tally_decisions import MOST_TOOLS, OTHER
from coldpress.stores.totals import Totals
from coldpress.stores.totals_decisions import (
    CaptureTotals,
    Eligible,
    OffloadTotals,
    PluginTotals,
    Removed,
    ToolTotals,
)

ONE = Views(1, 1000, 400, 250, 100)


def told(store: Store, *receipts: Receipt) -> Totals:
    for kept in receipts:
        store.put([], [], kept)
    store.flush()
    return store.totals()


def test_every_way_to_a_smaller_view_is_a_transformation_split_by_mode_and_tool(store: Store) -> None:
    lines = [
        replace(line("Grep", reason="exposed"), mode="keyword"),
        replace(line("Grep", reason="aged"), mode="mask"),
        line("web_search", reason="pressed"),
        line("read", reason="plugin"),
        line("read", reason="redacted", tokens=False),
        line("read", reason="restored"),
        line("read", reason="observe"),
    ]
    totals = told(store, receipt("r", lines=lines, reused=4))
    assert (totals.first_sight.count, totals.aged, totals.transformations.count) == (3, ONE + ONE, 5)
    assert totals.applications == 5 + 1 + 4
    assert dict(totals.by_mode) == {"keyword": ONE, "mask": ONE, "deterministic": totals.first_sight}
    assert dict(totals.by_tool) == {
        "Grep": ToolTotals(0, 0, ONE + ONE),
        "web_search": ToolTotals(1, 1, ONE),
        "read": ToolTotals(2, 2, Views(2, 2000, 800, 250, 100, uncounted=1)),
    }
    assert sum((views for _, views in totals.by_mode), Views()) == totals.transformations
    assert sum((tool.views for _, tool in totals.by_tool), Views()) == totals.transformations


def test_what_views_and_applications_removed_is_apart_and_each_beside_its_denominator(store: Store) -> None:
    first = replace(receipt("1", lines=[line(), line(tokens=False)], reused=2), prompt_tokens=1000, removed_tokens=300)
    uncounted = receipt("2", lines=[line(reason="restored")], reused=3)
    again = replace(receipt("3"), prompt_tokens=2000, removed_tokens=300)
    totals = told(store, first, uncounted, again)
    assert totals.removed == Removed(600, 3000, requests=2)
    shown = totals.as_object()
    assert shown["bytes_removed"] == {"transformations": 1200, "applications": 1200 + 5 * 600}
    assert shown["tokens_removed"] == {
        "transformations": {"tokens": 150, "views": 1},
        "applications": {"tokens": 600, "prompt_tokens": 3000, "requests": 2},
    }
    assert "removed" not in shown and "results" not in shown


def test_eligible_counts_each_result_once_when_it_was_first_seen(store: Store) -> None:
    seen = ("pressed", "observe", "drain", "gain_too_small", "no_match", "not_exposed", "plugin")
    not_allowed = ("exact_by_policy", "too_small", "failed_result", "protected_kind", "already_pressed", "unpaired")
    later = ("aged", "exposed", "restored", "redacted")
    lines = [line(reason=reason) for reason in (*seen, *not_allowed, *later)]
    totals = told(
        store,
        receipt("1", lines=lines, cut=Cut("waiting", candidates=3)),
        receipt("2", cut=Cut("ordered", candidates=3, applied=2)),
        receipt("3"),
    )
    assert totals.eligible == Eligible(7, 13, candidates=6, cuts=2)
    assert dict(totals.by_tool)["Bash"].eligible == 7
    assert dict(totals.results) == dict.fromkeys((*seen, *not_allowed, *later), 1)
    assert (totals.cuts_applied, totals.cuts_declined) == ((("ordered", 1),), (("waiting", 1),))
    reasons = totals.as_object()["reasons"]
    assert reasons == {"results": dict(totals.results), "cuts": {"ordered": 1, "waiting": 1}}


def test_summaries_of_results_are_summed_beside_who_told(store: Store) -> None:
    asked = (
        Offloaded(3, 2, 1, ("too_long", "no_answer"), 900, 80, 0.25, "applied"),
        Offloaded(2, 1, 0, ("too_long",), None, 20, None, "final_gate:does_not_pay"),
        Offloaded(4, 0, 0, (), 0, 0, 0.0, "preflight:does_not_pay"),
        Offloaded(1, 0, 1, why="applied"),
    )
    totals = told(store, receipt("without"), *(replace(receipt(f"r{n}"), offload=one) for n, one in enumerate(asked)))
    assert totals.summariser == OffloadTotals(
        requests=4,
        wanted=10,
        calls=3,
        reused=2,
        refused=(("no_answer", 1), ("too_long", 2)),
        input_tokens=Bucket(900, 1),
        output_tokens=Bucket(100, 2),
        cost=Amount(0.25, 1, unpriced=1),
        came_of=(("applied", 2), ("final_gate:does_not_pay", 1), ("preflight:does_not_pay", 1)),
    )
    shown = totals.as_object()["summariser"]
    assert isinstance(shown, dict) and shown["refused"] == {"no_answer": 1, "too_long": 2}


def test_captures_are_counted_by_tool(store: Store) -> None:
    calls = (Capture("Bash", "captured", restored=True), Capture("Bash", "absent"), Capture("Read", "not_text"))
    store.add_outcome(replace(outcome("1"), captures=calls))
    store.add_outcome(replace(outcome("2"), captures=(Capture("Bash", "native"), Capture("Bash", "unreadable"))))
    store.add_outcome(replace(outcome("2"), captures=calls))  # told twice: the first holds
    store.flush()
    totals = store.totals()
    assert dict(totals.capture) == {
        "Bash": CaptureTotals(4, captured=1, native=1, absent=1, unreadable=1, restored=1),
        "Read": CaptureTotals(1, not_text=1),
    }


def test_plugins_are_summed_by_name_with_their_faults(store: Store) -> None:
    notes = (
        PluginNote("pii", "before_request", 0.25, 2),
        PluginNote("pii", "on_tool_call", 0.5, 0, "slow"),
        PluginNote("their:own", "before_request", 1.5, 1, "failed", "KeyError"),
    )
    totals = told(store, replace(receipt("1"), plugins=notes), replace(receipt("2"), plugins=notes[:2]))
    assert dict(totals.plugins) == {
        "pii": PluginTotals(4, 1.5, 4, (("slow", 2),)),
        "their:own": PluginTotals(1, 1.5, 1, (("failed", 1),)),
    }
    shown = totals.as_object()["plugins"]
    assert isinstance(shown, dict) and shown["pii"]["faults"] == {"slow": 2}


def test_all_of_it_comes_back_as_it_was(store: Store) -> None:
    kept = replace(
        receipt("r"), plugins=(PluginNote("p", "h", 0.1, 3, "refused", "x"),), offload=Offloaded(1, why="unpriced")
    )
    ended = replace(outcome("r"), captures=(Capture("Bash", "left"),))
    store.put([], [], kept)
    store.add_outcome(ended)
    store.flush()
    entry = store.receipt("r")
    assert entry is not None and (entry.receipt, entry.outcome) == (kept, ended)


def test_tools_beyond_what_the_sums_name_are_summed_up_as_other(store: Store) -> None:
    store.put([], [], receipt("first", lines=[line("Bash")]))
    store.flush()
    for half in range(2):
        lines = [line(f"tool {half} {n}") for n in range(MOST_TOOLS)]
        store.put([], [], receipt(f"r{half}", lines=[*lines, line("Bash"), line("Bash" * 99)]))
        store.add_outcome(replace(outcome(f"r{half}"), captures=tuple(Capture(one.tool, "absent") for one in lines)))
        store.flush()
    totals = store.totals()
    tools, calls = dict(totals.by_tool), dict(totals.capture)
    assert len(tools) == len(calls) == MOST_TOOLS + 1
    assert (tools["Bash"].looked_at, tools[OTHER].looked_at) == (3, 203)
    assert sum((tool.views for tool in tools.values()), Views()) == totals.transformations
    assert calls[OTHER] == CaptureTotals(MOST_TOOLS, absent=MOST_TOOLS)


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(replace(receipt("r"), plugins=(PluginNote("p", "h", float("nan")),)), id="time is no number"),
        pytest.param(replace(receipt("r"), plugins=(PluginNote("p", "h", 1.0, -1),)), id="edits below zero"),
        pytest.param(replace(receipt("r"), offload=Offloaded(1 << 50)), id="absurd count"),
        pytest.param(replace(receipt("r"), offload=Offloaded(1, usd=float("inf"))), id="endless cost"),
    ],
)
def test_numbers_that_would_spoil_the_sums_are_refused(store: Store, wrong: Receipt) -> None:
    failed = store.put([], [], wrong)
    with pytest.raises(Exception, match="receipt of r"):
        failed.result()
    assert store.totals().requests == 0
