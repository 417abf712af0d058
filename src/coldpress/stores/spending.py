"""What the requests of one day cost: kept with the other sums, so that telling it takes no look at the ledger itself.

A request counts on the UTC day on which it ended, with what summaries cost that its receipt tells of. A store of an
earlier version has nothing of the day on which it was brought up to date.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime

from coldpress.model.errors import StoreError
from coldpress.model.records import Outcome
from coldpress.stores.amounts import Amount
from coldpress.stores.sums import Sums, amount
from coldpress.stores.tally import answered, nano_usd_of

_NANO_USD, _REPLIES, _UNPRICED = "day.nano_usd", "day.replies", "day.unpriced"


def day_of(at: float) -> str:
    """Name the UTC day of a time in seconds since 1970.

    >>> day_of(0.0)
    '1970-01-01'
    """
    return datetime.fromtimestamp(at, UTC).date().isoformat()


def day_sums(outcome: Outcome, at: float) -> dict[str, int]:
    """What a request adds to its day.

    It counts as unpriced where it was answered, or its client left before it was, and part of its cost is not known.

    Args:
        outcome: with its money.
        at: when it ended, in seconds since 1970.

    Raises:
        StoreError: an amount is one that no request can cost.
    """
    bill, _, _, summariser, _ = nano_usd_of(outcome)
    has_lost_summary = outcome.money is not None and "summariser" in outcome.money.unpriced
    may_be_billed = answered(outcome) or (outcome.status is None and outcome.ended == "client_gone")
    is_unknown = has_lost_summary or (bill is None and may_be_billed)
    known = (bill or 0) + (summariser or 0)
    sums = {_UNPRICED: int(is_unknown), _REPLIES: int(bill is not None and not is_unknown), _NANO_USD: known}
    day = day_of(at)
    return {f"{name}:{day}": value for name, value in sums.items() if value}


def day_names(day: str) -> tuple[str, ...]:
    """Name the sums of a day."""
    return tuple(f"{name}:{day}" for name in (_NANO_USD, _REPLIES, _UNPRICED))


def day_amount(sums: Sums, day: str) -> Amount:
    """Lay the sums of a day out."""
    nano_usd, replies, unpriced = (sums.get(name, 0) for name in day_names(day))
    return amount(nano_usd, replies=replies, unpriced=unpriced)


class Unsettled:
    """What requests cost that are not on disk yet, or never will be; safe to use from any thread."""

    def __init__(self) -> None:
        self._sums: Counter[str] = Counter()
        self._lock = threading.Lock()

    def add(self, outcome: Outcome, at: float) -> Mapping[str, int]:
        """Count a request until `settle` is called with what this gives."""
        try:
            added = day_sums(outcome, at)
        except StoreError:
            added = {f"{_UNPRICED}:{day_of(at)}": 1}  # it will be refused: what it cost is not known
        with self._lock:
            self._sums.update(added)
        return added

    def settle(self, added: Mapping[str, int]) -> None:
        """Let go of a request that is on disk."""
        with self._lock:
            self._sums.subtract(added)
            for name in added:
                if not self._sums[name]:
                    del self._sums[name]

    def sums(self, day: str) -> dict[str, int]:
        """Give the sums of a day."""
        with self._lock:
            return {name: self._sums[name] for name in day_names(day) if name in self._sums}
