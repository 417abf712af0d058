"""Sums of what providers were asked to do by themselves stand beside the requests they are taken over."""

from __future__ import annotations

from dataclasses import replace
from math import nan

import pytest
from stores.samples import applied, native, outcome, receipt

from coldpress.model.native import Applied
from coldpress.model.usage import Usage
from coldpress.stores.amounts import Amount, Bucket
from coldpress.stores.base import Store
from coldpress.stores.totals_native import AppliedTotals, NativeTotals


def test_nothing_is_summed_up_where_nothing_was_asked(store: Store) -> None:
    store.put([], [], receipt("r"))
    store.add_outcome(outcome("r"))
    store.flush()
    assert store.totals().native == NativeTotals()


def test_asked_declined_and_applied_are_summed_up(store: Store) -> None:
    unpriced = Applied("compact_threshold", usage=Usage(fresh=5, read=0, write_short=0, output=7))
    for name, steps in (("a", applied()), ("b", (*applied(), unpriced)), ("c", (Applied("compaction"),))):
        store.put([], [], replace(receipt(name), native=native()))
        store.add_outcome(replace(outcome(name), applied=steps))
    store.flush()
    assert store.totals().native == NativeTotals(
        requests=3,
        asked=(("clear_tool_uses", 3), ("diagnostics", 3)),
        declined=(("compaction/client", 3),),
        applied=(
            ("clear_tool_uses", AppliedTotals(2, Bucket(18_000, 2))),
            ("compact_threshold", AppliedTotals(3, cost=Amount(0.25, 2, 1))),
            ("compaction", AppliedTotals(1)),
        ),
    )


@pytest.mark.parametrize(
    "step",
    [
        Applied("clear_tool_uses", -1),
        Applied("clear_tool_uses", 1, 1 << 50),
        Applied("compact_threshold", usage=Usage(fresh=-3)),
        Applied("compact_threshold", usd=nan),
    ],
)
def test_absurd_numbers_are_not_recorded_and_that_is_told(store: Store, step: Applied) -> None:
    store.add_outcome(replace(outcome("r"), applied=(step,)))
    store.flush()
    assert (store.totals().native, store.totals().unrecorded) == (NativeTotals(), 1)
