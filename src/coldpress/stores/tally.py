"""Turn receipts and outcomes into numbers to add, and added numbers into totals."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from coldpress.model.errors import StoreError
from coldpress.model.records import Money, Outcome, Receipt
from coldpress.model.usage import Usage
from coldpress.stores.amounts import Bucket, Views
from coldpress.stores.sums import MOST_TOKENS, MOST_USD, NANO, Sums, amount_of, words
from coldpress.stores.tally_decisions import (
    FIRST_VIEWS,
    LATER_VIEWS,
    capture_sums,
    capture_totals,
    check_decisions,
    check_plugins,
    decision_sums,
    eligible_totals,
    offload_totals,
    plugin_sums,
    plugin_totals,
    removed_totals,
    tool_totals,
    views_by,
    views_of,
    views_of_lines,
)
from coldpress.stores.tally_misses import check_attribution, miss_sums, miss_totals
from coldpress.stores.tally_native import applied_sums, asked_sums, check_applied, native_totals
from coldpress.stores.tally_pressure import check_pressure, compaction_totals, finding_sums, pressure_sums
from coldpress.stores.totals import MoneyTotals, Stored, Totals, UsageTotals

BUCKETS = ("fresh", "read", "write_short", "write_long", "output", "reasoning")
FIGURES = ("bill", "gross", "rewrite", "summariser", "net")
APPLIED = frozenset({"pays", "cold", "pressure", "on_demand", "ordered"})


@dataclass(frozen=True, slots=True)
class Tally:
    """One receipt in numbers."""

    pressed: Views
    aged: Views
    observed: Views
    restored: int

    @staticmethod
    def of(receipt: Receipt) -> Tally:
        """Count the lines of a receipt."""
        return Tally(
            pressed=views_of_lines(line for line in receipt.lines if line.reason in FIRST_VIEWS),
            aged=views_of_lines(line for line in receipt.lines if line.reason in LATER_VIEWS),
            observed=views_of_lines(line for line in receipt.lines if line.reason == "observe"),
            restored=sum(line.reason == "restored" for line in receipt.lines),
        )


def receipt_sums(receipt: Receipt, tally: Tally) -> dict[str, int]:
    """What a receipt adds to the sums, without zeros."""
    sums = {
        "requests": 1,
        f"operation:{receipt.operation}": 1,
        "body_bytes": receipt.body_bytes,
        "sent_bytes": receipt.sent_bytes,
        "reuses": receipt.reused,
        "reused_bytes_saved": receipt.reused_bytes_saved,
        "restorations": tally.restored,
        **_view_sums("pressed", tally.pressed),
        **_view_sums("aged", tally.aged),
        **_view_sums("observed", tally.observed),
        **decision_sums(receipt),
    }
    if receipt.cut is not None:
        sums[f"cut:{receipt.cut.reason}"] = 1
    if receipt.pressure is not None:
        sums |= pressure_sums(receipt.pressure)
    if receipt.findings:
        sums |= finding_sums(receipt.findings)
    if receipt.native is not None:
        sums |= asked_sums(receipt.native)
    return {name: value for name, value in sums.items() if value}


def _view_sums(name: str, views: Views) -> dict[str, int]:
    return {f"{name}.{row.name}": getattr(views, row.name) for row in fields(Views)} if views.count else {}


def outcome_sums(outcome: Outcome) -> dict[str, int]:
    """What an outcome adds to the sums, without zeros but for counts beside them.

    Raises:
        StoreError: a count or an amount is one that no reply can hold.
    """
    _check_reported(outcome)
    check_plugins(outcome.plugins, f"outcome of {outcome.request_id}")
    if outcome.attribution is not None:
        check_attribution(outcome.attribution, outcome.request_id)
    check_applied(outcome.applied, outcome.request_id)
    good = answered(outcome)
    sums = {
        f"ended:{outcome.ended}": 1,
        "answered": int(good),
        "unknown": int(good and not outcome.usage.known),
        "edits_noticed": int(outcome.edits_noticed),
    }
    for name, count in zip(BUCKETS, tokens_of(outcome), strict=True):
        if count is not None:
            sums |= {f"{name}.tokens": count, f"{name}.replies": 1}
    for name, amount in zip(FIGURES, nano_usd_of(outcome), strict=True):
        if amount is not None:
            sums |= {f"{name}.nano_usd": amount, f"{name}.replies": 1}
        elif good or (name == "summariser" and outcome.money is not None and name in outcome.money.unpriced):
            sums[f"{name}.unpriced"] = 1
    if outcome.findings:
        sums |= finding_sums(outcome.findings)
    if outcome.attribution is not None:
        sums |= miss_sums(outcome.attribution)
    sums |= applied_sums(outcome.applied)
    if outcome.captures:
        sums |= capture_sums(outcome.captures)
    if outcome.plugins:
        sums |= plugin_sums(outcome.plugins)
    return {name: value for name, value in sums.items() if value}


def _check_reported(outcome: Outcome) -> None:
    told = outcome.reported_usd
    if told is not None and not abs(told) < MOST_USD:
        raise StoreError(f"outcome of {outcome.request_id}: reported_usd is {told}, which no request can cost")


def tokens_of(outcome: Outcome) -> tuple[int | None, ...]:
    """Token counts of an outcome in the order of `BUCKETS`.

    Raises:
        StoreError: a count anywhere in the outcome is negative or absurd.
    """
    more = {"context": outcome.context_tokens, "missed": outcome.miss.tokens if outcome.miss else None}
    for model, usage in outcome.others:
        more |= {f"{model} {name}": count for name, count in zip(BUCKETS, _counts(usage), strict=True)}
    counts = _counts(outcome.usage)
    for name, count in (*zip(BUCKETS, counts, strict=True), *more.items()):
        if count is not None and not 0 <= count < MOST_TOKENS:
            raise StoreError(f"outcome of {outcome.request_id}: {name} is {count} tokens, which no reply can hold")
    return counts


def _counts(usage: Usage) -> tuple[int | None, ...]:
    return usage.fresh, usage.read, usage.write_short, usage.write_long, usage.output, usage.reasoning


def nano_usd_of(outcome: Outcome) -> tuple[int | None, ...]:
    """Amounts of an outcome in billionths of a dollar, in the order of `FIGURES`; `None` where unknown.

    Raises:
        StoreError: an amount is not finite or absurd.
    """
    money = outcome.money if outcome.money is not None else _NO_MONEY
    # A request that failed cost no summary, unless one was paid for: it is not among those that might have.
    counts = outcome.money is not None and (answered(outcome) or money.summariser_usd > 0)
    spent = money.summariser_usd if counts and "summariser" not in money.unpriced else None
    amounts = (money.bill_usd, money.gross_usd, money.rewrite_usd, spent)
    for name, amount in zip(FIGURES, amounts, strict=False):
        if amount is not None and not abs(amount) < MOST_USD:  # also where it is not a number
            raise StoreError(f"outcome of {outcome.request_id}: {name} is {amount} USD, which no request can cost")
    bill, gross, rewrite, summariser = (None if amount is None else round(amount * NANO) for amount in amounts)
    if gross is None or rewrite is None or "summariser" in money.unpriced:
        return bill, gross, rewrite, summariser, None
    return bill, gross, rewrite, summariser, gross - rewrite - (summariser or 0)


_NO_MONEY = Money()


def check_receipt(receipt: Receipt) -> None:
    """Refuse numbers that could not be read back.

    Raises:
        StoreError: a forecast or a time is not finite, or a count is absurd.
    """
    belief, cut = receipt.belief, receipt.cut
    numbers = {
        "belief.idle_seconds": belief.idle_seconds if belief else None,
        "belief.lifetime_seconds": belief.lifetime_seconds if belief else None,
        "cut.requests": cut.requests if cut else None,
        "cut.net_usd": cut.net_usd if cut else None,
        "cut.summariser_usd": cut.summariser_usd if cut else None,
    }
    for name, number in numbers.items():
        if number is not None and not math.isfinite(number):
            raise StoreError(f"receipt of {receipt.request_id}: {name} is {number}; give a finite number, or None")
    if receipt.pressure is not None:
        check_pressure(receipt.pressure, receipt.request_id)
    check_decisions(receipt)


def answered(outcome: Outcome) -> bool:
    """Whether the provider answered with success, so that usage was to be expected."""
    return outcome.status is not None and 200 <= outcome.status < 300


def totals_of(sums: Sums, *, since: float | None, stored: Stored, unrecorded: int) -> Totals:
    """Lay sums out under their names."""
    cuts = words(sums, "cut")
    first_sight, aged = views_of(sums, "pressed"), views_of(sums, "aged")
    return Totals(
        since=since,
        requests=sums.get("requests", 0),
        lineages=sums.get("lineages", 0),
        operations=words(sums, "operation"),
        providers=words(sums, "provider"),
        transformations=first_sight + aged,
        first_sight=first_sight,
        aged=aged,
        by_mode=views_by(sums, "mode"),
        by_tool=tool_totals(sums),
        restorations=sums.get("restorations", 0),
        reuses=sums.get("reuses", 0),
        reused_bytes_saved=sums.get("reused_bytes_saved", 0),
        would_press=views_of(sums, "observed"),
        removed=removed_totals(sums),
        eligible=eligible_totals(sums),
        results=words(sums, "reason"),
        cuts_applied=tuple(pair for pair in cuts if pair[0] in APPLIED),
        cuts_declined=tuple(pair for pair in cuts if pair[0] not in APPLIED),
        body_bytes=sums.get("body_bytes", 0),
        sent_bytes=sums.get("sent_bytes", 0),
        ended=words(sums, "ended"),
        edits_noticed=sums.get("edits_noticed", 0),
        usage=UsageTotals(
            sums.get("answered", 0),
            sums.get("unknown", 0),
            *(Bucket(sums.get(f"{name}.tokens", 0), sums.get(f"{name}.replies", 0)) for name in BUCKETS),
        ),
        money=MoneyTotals(*(amount_of(sums, name) for name in FIGURES)),
        compactions=compaction_totals(sums),
        summariser=offload_totals(sums),
        capture=capture_totals(sums),
        plugins=plugin_totals(sums),
        findings=words(sums, "finding"),
        misses=miss_totals(sums),
        native=native_totals(sums),
        stored=stored,
        unrecorded=unrecorded,
    )
