"""What is asked of runs through a gateway: no cache was missed because of us, or none without a reason to."""

from __future__ import annotations

from typing import Final

from coldpress.model.records import Receipt
from coldpress.stores.base import Store
from coldpress.stores.totals_misses import MissTotals

_CUTS: Final = frozenset({"pays", "on_demand", "pressure", "ordered"})
_COMPACTIONS: Final = frozenset({"masked", "summarised", "masked_short"})
_MOST_ENTRIES: Final = 10_000


def none_is_ours(store: Store) -> MissTotals:
    """Fail where a miss is our doing, and say what it was; gives all misses."""
    store.flush()
    found = store.totals().misses
    ours = {why: count for why, count in found.by_why if why.startswith("us/")}
    assert not ours, ours
    assert found.caused_by_us.misses == 0
    return found


def none_is_ours_unasked(store: Store) -> None:
    """Fail where a miss is our doing and no receipt tells of a decision to send otherwise what was cached.

    Such a decision stands on the request itself, or on one before it that nobody answered.
    """
    store.flush()
    entries = store.receipts(limit=_MOST_ENTRIES, lineage=None, before=None)
    ours, decided = dict[str, str](), set[str]()
    for entry in reversed(entries):
        receipt, outcome = entry.receipt, entry.outcome
        if _is_decided(receipt):
            decided.add(receipt.lineage)
        found = outcome.attribution if outcome is not None else None
        if found is not None and found.cause == "us" and receipt.lineage not in decided:
            ours[receipt.request_id] = f"{found.cause}/{found.why}"
        if outcome is not None and outcome.ended == "complete":
            decided.discard(receipt.lineage)
    assert not ours, ours


def _is_decided(receipt: Receipt) -> bool:
    cut, pressure = receipt.cut, receipt.pressure
    return (
        (cut is not None and cut.applied > 0 and cut.reason in _CUTS)
        or (pressure is not None and pressure.reason in _COMPACTIONS)
        # What a client summarises goes as it came, and so does what it wants to be let alone.
        or "client_compaction" in receipt.notes
        or receipt.operation in ("observe", "off")
    )
