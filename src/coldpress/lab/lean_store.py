"""Keep in memory what decisions rest on, and no books: a replay has the receipts in hand and asks for no sums."""

from __future__ import annotations

from coldpress.model.records import Outcome, Receipt
from coldpress.stores.memory import MemoryStore
from coldpress.stores.memory_ledger import MemoryLedger


class LeanStore(MemoryStore):
    """A store in memory whose ledger knows no more than how long conversations were, for forecasts.

    Originals, standing edits, batches and marks are kept as ever.
    """

    def __init__(self) -> None:
        super().__init__()
        self._ledger = _Lengths()


class _Lengths(MemoryLedger):
    """Takes receipts and outcomes, and keeps none."""

    def add_receipt(self, receipt: Receipt) -> int:
        if receipt.lineage:
            self._extend_lineage(receipt)
        return 0

    def add_outcome(self, outcome: Outcome, now: float) -> int:
        return 0
