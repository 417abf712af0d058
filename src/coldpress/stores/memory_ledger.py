"""Keep receipts and outcomes in memory, and sum them up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec

from coldpress.model.records import Outcome, Receipt
from coldpress.stores.amounts import Amount
from coldpress.stores.base import DAY_SECONDS, MOST_LENGTHS, Bounds, LedgerEntry, LineageSummary, Named, Trace
from coldpress.stores.spending import day_amount, day_sums
from coldpress.stores.sums import amount
from coldpress.stores.tally import FIGURES, Tally, answered, nano_usd_of, outcome_sums, receipt_sums, totals_of
from coldpress.stores.tally_decisions import bounded
from coldpress.stores.totals import Stored, Totals

# What an entry takes beside its texts, for the bounds.
ROW_BYTES = 200


@dataclass(slots=True)
class _Lineage:
    """A conversation, whatever of its receipts has expired."""

    first_at: float
    last_at: float
    harness: str | None = None
    requests: int = 0
    edits_noticed: bool = False


class MemoryLedger:
    """Not safe to share between threads: its owner holds a lock."""

    def __init__(self) -> None:
        self._receipts: dict[str, tuple[Receipt, int]] = {}
        self._outcomes: dict[str, tuple[Outcome, float]] = {}
        self._lineages: dict[str, _Lineage] = {}
        self._sums: Counter[str] = Counter()
        self._since: float | None = None
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
        self._add(receipt_sums(receipt, Tally.of(receipt)))
        self._since = receipt.received_at if self._since is None else min(self._since, receipt.received_at)
        if receipt.lineage:
            self._extend_lineage(receipt)
        return size

    def _add(self, sums: Mapping[str, int]) -> None:
        self._sums.update(bounded(sums, lambda beginning: [name for name in self._sums if name.startswith(beginning)]))

    def _extend_lineage(self, receipt: Receipt) -> None:
        at = receipt.received_at
        lineage = self._lineages.get(receipt.lineage)
        if lineage is None:
            lineage = self._lineages[receipt.lineage] = _Lineage(at, at)
            self._sums["lineages"] += 1
        lineage.first_at, lineage.last_at = min(lineage.first_at, at), max(lineage.last_at, at)
        lineage.harness = receipt.harness if receipt.harness is not None else lineage.harness
        lineage.requests += 1
        outcome = self._outcomes.get(receipt.request_id)
        lineage.edits_noticed |= outcome is not None and outcome[0].edits_noticed

    def add_outcome(self, outcome: Outcome, now: float) -> int:
        """Keep an outcome, the first of a request; return the bytes added.

        Raises:
            StoreError: a count or an amount that no reply can hold.
        """
        sums = outcome_sums(outcome) | day_sums(outcome, now)
        if outcome.request_id in self._outcomes:
            return 0
        self._outcomes[outcome.request_id] = (outcome, now)
        self.size_bytes += ROW_BYTES
        self._add(sums)
        found = self._receipts.get(outcome.request_id)
        if outcome.edits_noticed and found is not None and found[0].lineage:
            self._lineages[found[0].lineage].edits_noticed = True
        return ROW_BYTES

    def spent_on(self, day: str) -> Amount:
        """What the requests of a UTC day cost."""
        return day_amount(self._sums, day)

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

    def names_like(self, of: Named, beginning: str, *, limit: int) -> tuple[str, ...]:
        """Names that begin like this, in their order."""
        names = self._receipts if of == "request" else self._lineages
        return tuple(sorted(name for name in names if name.startswith(beginning))[: max(0, limit)])

    def compactions(self, *, lineage: str | None, limit: int) -> list[LedgerEntry]:
        """Entries of requests whose prompt came up to the trigger, newest first."""
        every = self.entries(limit=len(self._receipts), lineage=lineage, before=None)
        return [entry for entry in every if entry.receipt.pressure is not None][: max(0, limit)]

    def _with_outcome(self, receipt: Receipt) -> LedgerEntry:
        outcome = self._outcomes.get(receipt.request_id)
        return LedgerEntry(receipt, outcome[0] if outcome else None)

    def lineages(self, *, limit: int) -> list[LineageSummary]:
        """Conversations, the most recently active first."""
        newest = sorted(self._lineages.items(), key=lambda item: (-item[1].last_at, item[0]))[: max(0, limit)]
        groups: dict[str, list[Receipt]] = {name: [] for name, _ in newest}
        for receipt, _ in self._receipts.values():
            if receipt.lineage in groups:
                groups[receipt.lineage].append(receipt)
        return [self._summary(name, lineage, groups[name]) for name, lineage in newest]

    def _summary(self, name: str, lineage: _Lineage, receipts: list[Receipt]) -> LineageSummary:
        tallies = [Tally.of(receipt) for receipt in receipts]
        outcomes = [self._outcomes[r.request_id][0] for r in receipts if r.request_id in self._outcomes]
        return LineageSummary(
            lineage=name,
            harness_session=max((r.harness_session for r in receipts if r.harness_session is not None), default=None),
            first_at=lineage.first_at,
            last_at=lineage.last_at,
            requests=lineage.requests,
            pressed=sum(tally.pressed.count for tally in tallies),
            aged=sum(tally.aged.count for tally in tallies),
            reused=sum(receipt.reused for receipt in receipts),
            bill=_amount(outcomes, "bill"),
            net=_amount(outcomes, "net"),
        )

    def trace(self, lineage: str) -> Trace | None:
        """Where a conversation stands."""
        known = self._lineages.get(lineage)
        newest = self.entries(limit=1, lineage=lineage, before=None)
        if known is None or not newest:
            return None
        receipt, outcome = newest[0].receipt, newest[0].outcome
        return Trace(
            first_at=known.first_at,
            last_at=known.last_at,
            provider=receipt.provider,
            model=receipt.model,
            requests=known.requests,
            prompt_tokens=receipt.prompt_tokens,
            last_usage=outcome.usage if outcome else None,
            context_tokens=outcome.context_tokens if outcome else None,
            transformations_seen=known.edits_noticed,
            reply_id=outcome.reply_id if outcome else None,
        )

    def session_lengths(self, *, harness: str | None, ended_before: float) -> tuple[tuple[int, bool], ...]:
        """Requests of each conversation, and whether its last one is older than a time."""
        fitting = [(n, one) for n, one in self._lineages.items() if harness is None or one.harness == harness]
        fitting.sort(key=lambda item: (-item[1].last_at, item[0]))
        return tuple((one.requests, one.last_at < ended_before) for _, one in fitting[:MOST_LENGTHS])

    def totals(self, stored: Stored, *, unrecorded: int) -> Totals:
        """The sums of all that was ever added."""
        return totals_of(self._sums, since=self._since, stored=stored, unrecorded=unrecorded)

    def sweep(self, now: float, bounds: Bounds) -> frozenset[str]:
        """Remove the oldest receipts with their outcomes, and old outcomes whose receipt never came.

        Returns:
            The conversations of which nothing is left.
        """
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
        left = {receipt.lineage for receipt, _ in self._receipts.values()}
        gone = self._lineages.keys() - left
        self._lineages = {name: lineage for name, lineage in self._lineages.items() if name in left}
        return frozenset(gone)


def _amount(outcomes: Iterable[Outcome], figure: str) -> Amount:
    place = FIGURES.index(figure)
    amounts = [(nano_usd_of(outcome)[place], answered(outcome)) for outcome in outcomes]
    known = [nano for nano, _ in amounts if nano is not None]
    return amount(sum(known), replies=len(known), unpriced=sum(nano is None and good for nano, good in amounts))
