"""Keep in memory what decisions rest on, and no ledger: a replay has the receipts in hand and asks for no sums."""

from __future__ import annotations

from coldpress.model.records import Outcome, Receipt
from coldpress.stores.memory import MemoryStore
from coldpress.stores.memory_ledger import MemoryLedger


class LeanStore(MemoryStore):
    """A store in memory whose ledger stays empty; originals, standing edits, batches and marks are kept as ever."""

    def __init__(self) -> None:
        super().__init__()
        self._ledger = _NoLedger()


class _NoLedger(MemoryLedger):
    """Takes receipts and outcomes, and keeps none."""

    def add_receipt(self, receipt: Receipt) -> int:
        return 0

    def add_outcome(self, outcome: Outcome, now: float) -> int:
        return 0
