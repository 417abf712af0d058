"""Lay out ledger entries for people, and give them as plain values under names that stay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from coldpress.cli.bill import Bill
from coldpress.cli.output import UNKNOWN, print_table, printable, say_count, say_time, say_usd, table_lines, talk
from coldpress.model.records import Line
from coldpress.stores.base import LedgerEntry, LineageSummary

_SHA_SHOWN = 16
_LIST_HEADS = (
    "received",
    "id",
    "provider",
    "model",
    "operation",
    "pressed",
    "reused",
    "bytes in",
    "bytes sent",
    "fresh",
    "read",
    "written",
    "output",
    "USD",
    "ended",
)
_LIST_RIGHT = frozenset(range(5, 14))
_LIST_SPARE = (
    "provider", "operation", "output", "fresh", "written", "read", "reused", "model", "bytes in", "USD",
)  # fmt: skip
_LINE_HEADS = ("tool", "kind", "rule", "mode", "reason", "bytes", "sent", "original")


def entry_object(entry: LedgerEntry, bill: Bill) -> dict[str, object]:
    """Give an entry as plain values: the receipt's and outcome's own names, and what it cost."""
    return {
        **asdict(entry.receipt),
        "outcome": asdict(entry.outcome) if entry.outcome else None,
        "cost_usd": bill.cost_usd,
        "unpriced": list(bill.missing),
        "prices": bill.prices,
    }


def conversation_object(lineage: LineageSummary) -> dict[str, object]:
    """Give a conversation as plain values."""
    return asdict(lineage)


def list_table(entries: Sequence[tuple[LedgerEntry, Bill]]) -> None:
    """Print one row a request, and on stderr what the columns count."""
    print_table(_LIST_HEADS, [_row(entry, bill) for entry, bill in entries], right=_LIST_RIGHT, spare=_LIST_SPARE)
    talk("fresh, read, written, output: tokens, as the provider reported them. Times are UTC.")
    talk("One request in full: coldpress ledger show ID")


def conversation_table(lineages: Sequence[LineageSummary]) -> None:
    """Print one row a conversation."""
    print_table(
        ("last request", "lineage", "first request", "requests", "pressed", "reused", "harness session"),
        [
            (
                say_time(lineage.last_at),
                lineage.lineage,
                say_time(lineage.first_at),
                say_count(lineage.requests),
                say_count(lineage.pressed),
                say_count(lineage.reused),
                lineage.harness_session or UNKNOWN,
            )
            for lineage in lineages
        ],
        right=frozenset({3, 4, 5}),
    )


def entry_text(entry: LedgerEntry, bill: Bill) -> str:
    """Lay one request out over several lines."""
    receipt, outcome = entry.receipt, entry.outcome
    facts = [
        ("id", receipt.request_id),
        ("received", say_time(receipt.received_at)),
        ("provider", f"{receipt.provider} ({receipt.format})"),
        ("model", receipt.model or UNKNOWN),
        ("lineage", receipt.lineage),
        ("harness session", receipt.harness_session or UNKNOWN),
        ("operation", receipt.operation),
        ("messages", say_count(receipt.messages)),
        ("body", f"{say_count(receipt.body_bytes)} bytes came, {say_count(receipt.sent_bytes)} were sent"),
        (
            "reused",
            f"{say_count(receipt.reused)} standing {'edit' if receipt.reused == 1 else 'edits'}, "
            f"{say_count(receipt.reused_bytes_saved)} bytes smaller",
        ),
        ("notes", ", ".join(receipt.notes) or "none"),
        ("ended", _ended(entry)),
        ("took", f"{outcome.duration_seconds:.3f} s" if outcome else UNKNOWN),
        ("tokens", _tokens(entry)),
        ("cost", _cost(bill)),
    ]
    width = max(len(name) for name, _ in facts)
    told = [f"{name.ljust(width)}  {printable(value)}" for name, value in facts]
    if not receipt.lines:
        return "\n".join([*told, "", "No tool result was new on this request."])
    rows = [_line_row(line) for line in receipt.lines]
    return "\n".join([*told, "", *table_lines(_LINE_HEADS, rows, right=frozenset({5, 6}))])


def _row(entry: LedgerEntry, bill: Bill) -> tuple[str, ...]:
    receipt = entry.receipt
    usage = entry.outcome.usage if entry.outcome else None
    return (
        say_time(receipt.received_at),
        receipt.request_id,
        receipt.provider,
        receipt.model or UNKNOWN,
        receipt.operation,
        say_count(sum(line.reason == "pressed" for line in receipt.lines)),
        say_count(receipt.reused),
        say_count(receipt.body_bytes),
        say_count(receipt.sent_bytes),
        say_count(usage.fresh if usage else None),
        say_count(usage.read if usage else None),
        _written(entry),
        say_count(usage.output if usage else None),
        say_usd(bill.cost_usd),
        _ended(entry),
    )


def _written(entry: LedgerEntry) -> str:
    usage = entry.outcome.usage if entry.outcome else None
    if usage is None or (usage.write_short is None and usage.write_long is None):
        return UNKNOWN
    return say_count((usage.write_short or 0) + (usage.write_long or 0))


def _ended(entry: LedgerEntry) -> str:
    if entry.outcome is None:
        return "running or never told"
    status = "no answer" if entry.outcome.status is None else str(entry.outcome.status)
    return f"{status} {entry.outcome.ended}"


def _tokens(entry: LedgerEntry) -> str:
    usage = entry.outcome.usage if entry.outcome else None
    if usage is None:
        return UNKNOWN
    parts = (
        ("fresh", usage.fresh),
        ("read", usage.read),
        ("written", usage.write_short),
        ("written for an hour or more", usage.write_long),
        ("output", usage.output),
    )
    return ", ".join(f"{say_count(count)} {name}" for name, count in parts)


def _cost(bill: Bill) -> str:
    if bill.cost_usd is None:
        return f"{UNKNOWN}: no {', no '.join(bill.missing)}"
    return f"{say_usd(bill.cost_usd)} USD ({bill.prices})"


def _line_row(line: Line) -> tuple[str, ...]:
    return (
        line.tool,
        line.kind,
        line.rule,
        line.mode,
        line.reason,
        say_count(line.bytes_before),
        say_count(line.bytes_after),
        line.original[:_SHA_SHOWN],
    )
