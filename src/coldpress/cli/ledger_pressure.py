"""Lay out what was done about prompts that came up to the trigger, and what watchers found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from coldpress.cli.options import same_options
from coldpress.cli.output import UNKNOWN, print_table, printable, say_count, say_time, say_usd, talk
from coldpress.model.errors import UnknownOriginal
from coldpress.model.records import Finding, Pressure
from coldpress.stores.base import LedgerEntry, Store
from coldpress.stores.tally_pressure import APPLIED

_HEADS = ("received", "id", "what", "before", "after", "results", "messages")
"""What fits into 100 columns; the rest is in `ledger show` and in JSON."""

_RIGHT = frozenset({3, 4, 5, 6})
_SECONDS = ":00Z"


def pressure_facts(entry: LedgerEntry) -> tuple[tuple[str, str], ...]:
    """What one request has to tell of pressure and findings; nothing where there was neither."""
    pressure = entry.receipt.pressure
    facts = [] if pressure is None else [("pressure", _ruling(pressure)), ("taken out", _taken(pressure))]
    if pressure is not None and _asked(pressure):
        facts.append(("summary", _summary(pressure)))
    if told := findings_of(entry):
        facts.append(("findings", "; ".join(map(_finding, told))))
    return tuple(facts)


def findings_of(entry: LedgerEntry) -> tuple[Finding, ...]:
    """Findings of the request, then those of its reply."""
    return (*entry.receipt.findings, *(entry.outcome.findings if entry.outcome else ()))


def _ruling(pressure: Pressure) -> str:
    ruling = "applied" if pressure.reason in APPLIED else "declined"
    before, after = say_count(pressure.before_tokens), say_count(pressure.after_tokens)
    facts = [
        f"{ruling}: {pressure.reason}, {before} to {after} tokens",
        f"trigger {say_count(pressure.trigger_tokens)}, target {say_count(pressure.target_tokens)}, "
        f"window {say_count(pressure.window_tokens)}",
    ]
    if pressure.narrowed:
        facts.append("the keep zone was narrowed")
    if pressure.escalate:
        facts.append("escalate: split the work")
    return "; ".join(facts)


def _taken(pressure: Pressure) -> str:
    return (
        f"{say_count(pressure.cleared)} results cleared, {say_count(pressure.cleared_tokens)} tokens; "
        f"{say_count(pressure.summarised)} messages summarised, {say_count(pressure.summarised_tokens)} tokens"
    )


def _asked(pressure: Pressure) -> bool:
    return bool(pressure.summary or pressure.refused or pressure.summariser)


def _summary(pressure: Pressure) -> str:
    facts = [f"by {pressure.summariser or UNKNOWN}, {say_usd(pressure.summariser_usd)} USD"]
    if pressure.summary:
        facts.insert(0, f"generation {pressure.generation}, {say_count(pressure.dropped)} items dropped")
        facts.append(f"text {pressure.summary[:16]}")
    if pressure.refused:
        facts.append(f"refused: {', '.join(pressure.refused)}")
    return "; ".join(facts)


def _finding(finding: Finding) -> str:
    told = finding.kind + (f" in {finding.where}" if finding.where else "")
    if finding.messages:
        told += ", message " if len(finding.messages) == 1 else ", messages "
        told += f"{', '.join(f'm{number}' for number in finding.messages)}"
    return told + (f", {say_count(finding.tokens)} tokens" if finding.tokens is not None else "")


def summary_text(store: Store, entry: LedgerEntry) -> str:
    """Give the text of the summary that a request brought.

    Raises:
        UnknownOriginal: it brought none, or its text was never stored here.
        ExpiredOriginal: it was stored and has expired.
    """
    pressure = entry.receipt.pressure
    if pressure is None or not pressure.summary:
        raise UnknownOriginal(
            f"request {entry.receipt.request_id} brought no summary; coldpress ledger compactions{same_options()} "
            "shows which did"
        )
    return store.recall(pressure.summary)


def printable_lines(text: str) -> str:
    """Take out what could steer a terminal, line ends and tabs left: a summary quotes tools and users."""
    return "\n".join(printable(line.replace("\t", "    ")) for line in text.splitlines())


def compaction_object(entry: LedgerEntry) -> dict[str, object]:
    """Give one event as plain values under names that stay."""
    receipt = entry.receipt
    return {
        "request_id": receipt.request_id,
        "received_at": receipt.received_at,
        "provider": receipt.provider,
        "model": receipt.model,
        "lineage": receipt.lineage,
        "applied": receipt.pressure is not None and receipt.pressure.reason in APPLIED,
        "pressure": None if receipt.pressure is None else asdict(receipt.pressure),
        "findings": [asdict(finding) for finding in findings_of(entry)],
    }


def compaction_table(entries: Sequence[LedgerEntry]) -> None:
    """Print one row an event, and on stderr what the columns count."""
    rows = [_row(entry, entry.receipt.pressure) for entry in entries if entry.receipt.pressure is not None]
    print_table(_HEADS, rows, right=_RIGHT)
    talk("before, after: tokens of the prompt; results became one line, messages were summarised. Times are UTC.")
    if any(_is_marked(entry.receipt.pressure) for entry in entries):
        talk("!: escalate (split the work), or fewer turns were kept than asked for.")
    talk(f"One event in full: coldpress ledger show ID --summary{same_options()}")


def _is_marked(pressure: Pressure | None) -> bool:
    return pressure is not None and (pressure.escalate or pressure.narrowed)


def _row(entry: LedgerEntry, pressure: Pressure) -> tuple[str, ...]:
    return (
        say_time(entry.receipt.received_at)[: -len(_SECONDS)],
        entry.receipt.request_id,
        pressure.reason + (" !" if _is_marked(pressure) else ""),
        say_count(pressure.before_tokens),
        say_count(pressure.after_tokens),
        say_count(pressure.cleared),
        say_count(pressure.summarised),
    )
