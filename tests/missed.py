"""What is asked of runs through a gateway with default settings: no cache was missed because of us."""

from __future__ import annotations

from coldpress.stores.base import Store
from coldpress.stores.totals_misses import MissTotals


def none_is_ours(store: Store) -> MissTotals:
    """Fail where a miss is our doing, and say what it was; gives all misses."""
    store.flush()
    found = store.totals().misses
    ours = {why: count for why, count in found.by_why if why.startswith("us/")}
    assert not ours, ours
    assert found.caused_by_us.misses == 0
    return found
