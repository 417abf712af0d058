"""Lay out the ledger's tables for people, and give its entries as plain values under names that stay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from coldpress.cli.bill import Bill, Biller
from coldpress.cli.options import same_options
from coldpress.cli.output import UNKNOWN, print_table, say_count, say_time, say_usd, talk
from coldpress.model.records import Outcome
from coldpress.stores.amounts import Amount
from coldpress.stores.base import LedgerEntry, LineageSummary
from coldpress.stores.tally_decisions import FIRST_VIEWS, LATER_VIEWS

_LIST_HEADS = (
    "received",
    "id",
    "provider",
    "model",
    "operation",
    "pressed",
    "aged",
    "reused",
    "bytes in",
    "bytes sent",
    "fresh",
    "read",
    "expected",
    "written",
    "output",
    "USD",
    "saved USD",
    "ended",
)
_CONVERSATION_HEADS = (
    "last request",
    "lineage",
    "first request",
    "requests",
    "pressed",
    "aged",
    "reused",
    "USD",
    "saved USD",
    "harness session",
)
_LIST_RIGHT = frozenset(range(5, 17))
_LIST_SPARE = (
    "provider", "operation", "output", "fresh", "written", "expected", "aged", "reused", "model", "bytes in", "read",
    "USD", "saved USD",
)  # fmt: skip


def entry_object(entry: LedgerEntry, bill: Bill) -> dict[str, object]:
    """Give an entry as plain values: the receipt's and outcome's own names, and what it cost."""
    return {
        **asdict(entry.receipt),
        "outcome": _outcome_object(entry.outcome) if entry.outcome else None,
        "cost_usd": bill.cost_usd,
        "unpriced": list(bill.missing),
        "prices": bill.prices,
        "net_usd": net_usd(entry),
    }


def _outcome_object(outcome: Outcome) -> dict[str, object]:
    """Give what the ledger keeps of an outcome: an overflow is one of its findings."""
    found = asdict(outcome)
    del found["overflow"]
    return found


def bill_of(entry: LedgerEntry, biller: Biller) -> Bill:
    """Give what was written down when the request ended; where nothing was, what the tokens cost by today's prices."""
    money = entry.outcome.money if entry.outcome else None
    if money is not None and money.bill_usd is not None:
        return Bill(money.bill_usd, (), money.prices or None)
    return biller.bill(entry)


def net_usd(entry: LedgerEntry) -> float | None:
    """What our edits saved on a request, in USD; `None` where nobody could tell."""
    money = entry.outcome.money if entry.outcome else None
    return money.net_usd if money is not None else None


def conversation_object(lineage: LineageSummary) -> dict[str, object]:
    """Give a conversation as plain values."""
    return asdict(lineage)


def list_table(entries: Sequence[tuple[LedgerEntry, Bill]]) -> None:
    """Print one row a request, and on stderr what the columns count."""
    print_table(_LIST_HEADS, [_row(entry, bill) for entry, bill in entries], right=_LIST_RIGHT, spare=_LIST_SPARE)
    talk("fresh, read, written, output: tokens, as the provider reported them; expected: what it was believed to read.")
    talk("saved USD: gross, less rewrite, less summariser, against the same request without our edits. Times are UTC.")
    talk(f"One request in full: coldpress ledger show ID{same_options()}")


def conversation_table(lineages: Sequence[LineageSummary]) -> None:
    """Print one row a conversation."""
    print_table(
        _CONVERSATION_HEADS,
        [
            (
                say_time(lineage.last_at),
                lineage.lineage,
                say_time(lineage.first_at),
                say_count(lineage.requests),
                say_count(lineage.pressed),
                say_count(lineage.aged),
                say_count(lineage.reused),
                say_amount(lineage.bill),
                say_amount(lineage.net),
                lineage.harness_session or UNKNOWN,
            )
            for lineage in lineages
        ],
        right=frozenset(range(3, 9)),
        spare=("first request", "harness session", "aged", "reused"),
    )
    talk("USD, saved USD: over the replies in brackets, of all that were answered.")


def say_amount(amount: Amount) -> str:
    """Write a sum with the replies it was taken over, of those it could have been; without any it is unknown.

    >>> say_amount(Amount(0.5, 3, unpriced=1)), say_amount(Amount(0.0, 0, unpriced=2))
    ('0.500000 (3 of 4)', 'unknown')
    """
    if not amount.replies:
        return UNKNOWN
    return f"{say_usd(amount.usd)} ({amount.replies:,} of {amount.replies + amount.unpriced:,})"


def _row(entry: LedgerEntry, bill: Bill) -> tuple[str, ...]:
    receipt = entry.receipt
    usage = entry.outcome.usage if entry.outcome else None
    return (
        say_time(receipt.received_at),
        receipt.request_id,
        receipt.provider,
        receipt.model or UNKNOWN,
        receipt.operation,
        say_count(sum(line.reason in FIRST_VIEWS for line in receipt.lines)),
        say_count(sum(line.reason in LATER_VIEWS for line in receipt.lines)),
        say_count(receipt.reused),
        say_count(receipt.body_bytes),
        say_count(receipt.sent_bytes),
        say_count(usage.fresh if usage else None),
        say_count(usage.read if usage else None),
        say_count(receipt.belief.read_tokens if receipt.belief else None),
        _written(entry),
        say_count(usage.output if usage else None),
        say_usd(bill.cost_usd),
        say_usd(net_usd(entry)),
        say_ended(entry),
    )


def _written(entry: LedgerEntry) -> str:
    usage = entry.outcome.usage if entry.outcome else None
    if usage is None or (usage.write_short is None and usage.write_long is None):
        return UNKNOWN
    return say_count((usage.write_short or 0) + (usage.write_long or 0))


def say_ended(entry: LedgerEntry) -> str:
    """Write how a request ended."""
    if entry.outcome is None:
        return "running or never told"
    status = "no answer" if entry.outcome.status is None else str(entry.outcome.status)
    return f"{status} {entry.outcome.ended}"
