"""Keep receipts and outcomes in memory, and sum them up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec

from coldpress.model.records import Outcome, Receipt
from coldpress.stores.base import DAY_SECONDS, Bounds, LedgerEntry, LineageSummary, Stored, Totals
from coldpress.stores.tally import Tally, add_usage, add_views, tokens_of

# What an entry takes beside its texts, for the bounds.
ROW_BYTES = 200


class MemoryLedger:
    """Not safe to share between threads: its owner holds a lock."""

    def __init__(self) -> None:
        self._receipts: dict[str, tuple[Receipt, int]] = {}
        self._outcomes: dict[str, tuple[Outcome, float]] = {}
        self.size_bytes = 0

    @property
    def rows(self) -> int:
        """Receipts and outcomes held."""
        return len(self._receipts) + len(self._outcomes)

    def add_receipt(self, receipt: Receipt) -> int:
        """Keep a receipt, the first of a request; return the bytes added."""
        if receipt.request_id in self._receipts:
            return 0
        size = ROW_BYTES + len(msgspec.json.encode(receipt))
        self._receipts[receipt.request_id] = (receipt, size)
        self.size_bytes += size
        return size

    def add_outcome(self, outcome: Outcome, now: float) -> int:
        """Keep an outcome, the first of a request; return the bytes added.

        Raises:
            StoreError: a count that no reply can hold.
        """
        tokens_of(outcome)
        if outcome.request_id in self._outcomes:
            return 0
        self._outcomes[outcome.request_id] = (outcome, now)
        self.size_bytes += ROW_BYTES
        return ROW_BYTES

    def entry(self, request_id: str) -> LedgerEntry | None:
        """One request's entry."""
        found = self._receipts.get(request_id)
        return None if found is None else self._with_outcome(found[0])

    def entries(self, *, limit: int, lineage: str | None, before: float | None) -> list[LedgerEntry]:
        """Entries, newest first."""
        fitting = [
            receipt
            for receipt, _ in reversed(self._receipts.values())
            if (lineage is None or receipt.lineage == lineage) and (before is None or receipt.received_at < before)
        ]
        fitting.sort(key=lambda receipt: -receipt.received_at)
        return [self._with_outcome(receipt) for receipt in fitting[: max(0, limit)]]

    def _with_outcome(self, receipt: Receipt) -> LedgerEntry:
        outcome = self._outcomes.get(receipt.request_id)
        return LedgerEntry(receipt, outcome[0] if outcome else None)

    def lineages(self, *, limit: int) -> list[LineageSummary]:
        """Conversations, the most recently active first."""
        groups: dict[str, list[Receipt]] = {}
        for receipt, _ in self._receipts.values():
            groups.setdefault(receipt.lineage, []).append(receipt)
        summaries = [
            LineageSummary(
                lineage,
                max((r.harness_session for r in group if r.harness_session is not None), default=None),
                min(r.received_at for r in group),
                max(r.received_at for r in group),
                len(group),
                sum(Tally.of(r).pressed.count for r in group),
                sum(r.reused for r in group),
            )
            for lineage, group in groups.items()
        ]
        return sorted(summaries, key=lambda s: (-s.last_at, s.lineage))[: max(0, limit)]

    def totals(self, stored: Stored, *, unrecorded: int) -> Totals:
        """Sums over the ledger."""
        receipts = [receipt for receipt, _ in self._receipts.values()]
        outcomes = [outcome for outcome, _ in self._outcomes.values()]
        tallies = [Tally.of(receipt) for receipt in receipts]
        return Totals(
            since=min((receipt.received_at for receipt in receipts), default=None),
            requests=len(receipts),
            lineages=len({receipt.lineage for receipt in receipts}),
            operations=_counts(receipt.operation for receipt in receipts),
            transformations=add_views(tally.pressed for tally in tallies),
            restorations=sum(tally.restored for tally in tallies),
            reuses=sum(receipt.reused for receipt in receipts),
            reused_bytes_saved=sum(receipt.reused_bytes_saved for receipt in receipts),
            would_press=add_views(tally.observed for tally in tallies),
            body_bytes=sum(receipt.body_bytes for receipt in receipts),
            sent_bytes=sum(receipt.sent_bytes for receipt in receipts),
            ended=_counts(outcome.ended for outcome in outcomes),
            usage=add_usage(outcomes),
            stored=stored,
            unrecorded=unrecorded,
        )

    def sweep(self, now: float, bounds: Bounds) -> None:
        """Remove the oldest receipts with their outcomes, and old outcomes whose receipt never came."""
        cutoff = now - bounds.ledger_days * DAY_SECONDS
        for request_id, (receipt, size) in sorted(self._receipts.items(), key=lambda item: item[1][0].received_at):
            if receipt.received_at >= cutoff and self.size_bytes <= bounds.ledger_bytes:
                break
            del self._receipts[request_id]
            self.size_bytes -= size + (ROW_BYTES if self._outcomes.pop(request_id, None) else 0)
        for request_id, (_, noted_at) in sorted(self._outcomes.items(), key=lambda item: item[1][1]):
            if noted_at >= cutoff and self.size_bytes <= bounds.ledger_bytes:
                break
            if request_id not in self._receipts:
                del self._outcomes[request_id]
                self.size_bytes -= ROW_BYTES


def _counts(words: Iterable[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(Counter(words).items()))
