"""Lay out one request of the ledger over one screen: belief and prediction beside what was reported."""

from __future__ import annotations

from coldpress.cli.bill import Bill
from coldpress.cli.ledger_extras import extra_facts
from coldpress.cli.ledger_pressure import pressure_facts
from coldpress.cli.ledger_view import say_ended
from coldpress.cli.output import UNKNOWN, printable, say_count, say_time, say_usd, table_lines
from coldpress.model.misses import Attribution
from coldpress.model.records import Cut, Line, Outcome, Reason, Receipt
from coldpress.stores.base import LedgerEntry
from coldpress.stores.tally import APPLIED
from coldpress.stores.tally_decisions import FIRST_VIEWS, LATER_VIEWS

_SHA_SHOWN = 16
_LINE_HEADS = ("tool", "kind", "rule", "mode", "reason", "bytes", "sent", "original")


def entry_text(entry: LedgerEntry, bill: Bill) -> str:
    """Lay one request out over several lines."""
    receipt = entry.receipt
    facts = (
        *_request_facts(receipt),
        *_decision_facts(receipt),
        *pressure_facts(entry),
        *extra_facts(entry),
        *_reply_facts(entry, bill),
    )
    width = max(len(name) for name, _ in facts)
    told = [f"{name.ljust(width)}  {printable(value)}" for name, value in facts]
    if not receipt.lines:
        return "\n".join([*told, "", "No tool result was decided on with this request."])
    rows = [_line_row(line) for line in receipt.lines]
    return "\n".join([*told, "", *table_lines(_LINE_HEADS, rows, right=frozenset({5, 6}))])


def _request_facts(receipt: Receipt) -> tuple[tuple[str, str], ...]:
    return (
        ("id", receipt.request_id),
        ("received", say_time(receipt.received_at)),
        ("provider", f"{receipt.provider} ({receipt.format})"),
        ("model", receipt.model or UNKNOWN),
        ("lineage", receipt.lineage),
        ("harness", f"{receipt.harness or UNKNOWN}, session {receipt.harness_session or UNKNOWN}"),
        ("operation", receipt.operation),
        ("messages", say_count(receipt.messages)),
        ("body", f"{say_count(receipt.body_bytes)} bytes came, {say_count(receipt.sent_bytes)} were sent"),
        ("prompt", _prompt(receipt)),
    )


def _prompt(receipt: Receipt) -> str:
    sent, removed = f"{say_count(receipt.prompt_tokens)} tokens sent", receipt.removed_tokens
    if removed is not None and removed < 0:  # a plugin may put a longer text in place of a result
        return f"{sent}, {say_count(-removed)} more than came"
    return f"{sent}, {say_count(removed)} left out"


def _decision_facts(receipt: Receipt) -> tuple[tuple[str, str], ...]:
    edits = "standing edit" if receipt.reused == 1 else "standing edits"
    return (
        ("pressed", f"{_count(receipt, FIRST_VIEWS)} new results, {_count(receipt, LATER_VIEWS)} seen before"),
        ("reused", f"{say_count(receipt.reused)} {edits}, {say_count(receipt.reused_bytes_saved)} bytes smaller"),
        ("cache", _belief(receipt)),
        ("cut", _cut(receipt.cut)),
        ("notes", ", ".join(receipt.notes) or "none"),
    )


def _reply_facts(entry: LedgerEntry, bill: Bill) -> tuple[tuple[str, str], ...]:
    outcome = entry.outcome
    facts = [
        ("ended", say_ended(entry)),
        ("stop", (outcome.stop if outcome else None) or UNKNOWN),
        ("took", f"{outcome.duration_seconds:.3f} s" if outcome else UNKNOWN),
        ("tokens", _tokens(outcome)),
        ("read", _read(entry)),
    ]
    if outcome is not None and outcome.others:
        steps = [
            f"{model}: {say_count(usage.prompt)} in, {say_count(usage.output)} out" for model, usage in outcome.others
        ]
        facts.append(("other models", "; ".join(steps)))
    if outcome is not None and outcome.miss is not None:
        facts.append(("missed", f"{outcome.miss.reason}, {say_count(outcome.miss.tokens)} tokens"))
    if outcome is not None and outcome.attribution is not None:
        facts.append(("missed by", _missed_by(outcome.attribution)))
    if outcome is not None and outcome.transformations:
        facts.append(("reasoning", ", ".join(outcome.transformations)))
    return (*facts, ("cost", _cost(bill)), ("saved", _saved(outcome)))


def _missed_by(found: Attribution) -> str:
    """Say who is to answer for what was not read."""
    told = "the provider says so" if found.told else "as it follows from what was sent"
    return f"{found.cause} ({found.why}), {say_count(found.tokens)} tokens, {say_usd(found.usd)} USD, {told}"


def _count(receipt: Receipt, reasons: frozenset[Reason]) -> str:
    return say_count(sum(line.reason in reasons for line in receipt.lines))


def _belief(receipt: Receipt) -> str:
    belief = receipt.belief
    if belief is None:
        return UNKNOWN
    idle, lifetime = _seconds(belief.idle_seconds), _seconds(belief.lifetime_seconds)
    return f"believed {belief.state}: {belief.why}, idle for {idle}, held for {lifetime}"


def _seconds(seconds: float | None) -> str:
    return UNKNOWN if seconds is None else f"{seconds:,.0f} s"


def _cut(cut: Cut | None) -> str:
    if cut is None:
        return "not considered"
    ruling = "applied" if cut.reason in APPLIED else "declined"
    if not cut.candidates:
        return f"{ruling}: {cut.reason}"
    requests = UNKNOWN if cut.requests is None else f"{cut.requests:,.1f}"
    what = f"{cut.applied} of {cut.candidates} results"
    if cut.reason == "on_demand":
        what = "a summary for the older part"
    elif cut.reason == "pressure":
        what = say_count(cut.applied) + (" edit" if cut.applied == 1 else " edits")  # a summary counts as one
    facts = [
        f"{ruling}: {cut.reason}, {what}",
        f"{say_count(cut.removed_tokens)} tokens out, {say_count(cut.rewrite_tokens)} written again",
        f"{requests} requests to come, net {say_usd(cut.net_usd)} USD expected",
    ]
    if cut.prices:
        facts.append(cut.prices)
    if cut.mark:
        facts.append("with a cache mark of ours")
    return "; ".join(facts)


def _read(entry: LedgerEntry) -> str:
    """Set what the provider reported beside what it was believed to read."""
    belief, outcome = entry.receipt.belief, entry.outcome
    expected = belief.read_tokens if belief else None
    reported = outcome.usage.read if outcome else None
    told = f"{say_count(expected)} tokens expected, {say_count(reported)} reported"
    if expected is None or reported is None:
        return told
    return f"{told}, {reported - expected:+,}"


def _tokens(outcome: Outcome | None) -> str:
    if outcome is None:
        return UNKNOWN
    usage = outcome.usage
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
    return f"{say_usd(bill.cost_usd)} USD ({bill.prices or 'prices unknown'})"


def _saved(outcome: Outcome | None) -> str:
    money = outcome.money if outcome else None
    if money is None:
        return UNKNOWN
    parts = (("gross", money.gross_usd), ("rewrite", money.rewrite_usd), ("summariser", money.summariser_usd))
    told = ", ".join(f"{name} {say_usd(amount)}" for name, amount in parts)
    missing = f" (no {', no '.join(money.unpriced)})" if money.unpriced else ""
    return f"{say_usd(money.net_usd)} USD net: {told}{missing}"


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
