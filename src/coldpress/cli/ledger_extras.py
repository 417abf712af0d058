"""Lay out what plugins, paid summaries of results, captured calls, a second provider and native steps brought."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from coldpress.cli.output import say_count, say_usd
from coldpress.model.native import Applied, NativeAsked
from coldpress.model.plugins import PluginNote
from coldpress.model.records import Capture, Failover, Offloaded
from coldpress.stores.base import LedgerEntry
from coldpress.stores.totals import Totals

Facts = tuple[tuple[str, str], ...]


def extra_facts(entry: LedgerEntry) -> Facts:
    """What one request has to tell of them; nothing where there was none."""
    receipt, outcome = entry.receipt, entry.outcome
    facts: list[tuple[str, str]] = []
    if receipt.offload is not None:
        facts.append(("summaries", _offload(receipt.offload)))
    notes = (*receipt.plugins, *(outcome.plugins if outcome is not None else ()))
    if notes:
        facts.append(("plugins", "; ".join(map(_plugin, notes))))
    if outcome is not None and outcome.captures:
        facts.append(("calls", _captures(outcome.captures)))
    if outcome is not None and outcome.failover is not None:
        facts.append(("failover", _failover(outcome.failover)))
    if receipt.native is not None:
        facts.append(("asked for", _asked(receipt.native)))
    if outcome is not None and outcome.applied:
        facts.append(("applied", "; ".join(map(_applied, outcome.applied))))
    return tuple(facts)


def _asked(native: NativeAsked) -> str:
    least = native.clear_at_least_tokens
    told = [", ".join(native.asked) or "nothing"]
    if least is not None:
        told.append(f"clearing {say_count(least)} tokens or more")
    if native.replaced_messages is not None:
        told.append(f"a summary for the first {say_count(native.replaced_messages)} messages")
    told += [f"no {one.primitive} ({one.why})" for one in native.declined]
    return "; ".join(told)


def _applied(step: Applied) -> str:
    counts = (
        (step.cleared_tokens, "tokens out"),
        (step.cleared_tool_uses, "calls"),
        (step.cleared_thinking_turns, "turns of reasoning"),
        (step.usage.prompt, "tokens in"),
        (step.usage.output, "out"),
    )
    told = ", ".join(f"{say_count(count)} {what}" for count, what in counts if count is not None)
    cost = "" if step.usd is None else f", {say_usd(step.usd)} USD"
    return f"{step.primitive}: {told or 'no counts'}{cost}"


def _failover(what: Failover) -> str:
    asked = f", asked for {what.model}" if what.model is not None else ""
    answered = f", answered {what.status}" if what.status is not None else ""
    return f"{what.why}: to {what.to} after {what.after}{asked}{answered}"


def _offload(asked: Offloaded) -> str:
    facts = [f"{asked.why or 'kept ones only'}: {say_count(asked.wanted)} wanted, {say_count(asked.reused)} reused"]
    if asked.calls:
        calls = "1 call" if asked.calls == 1 else f"{say_count(asked.calls)} calls"
        tokens = f"{say_count(asked.input_tokens)} tokens in, {say_count(asked.output_tokens)} out"
        facts.append(f"{calls}, {tokens}, {say_usd(asked.usd)} USD")
    if asked.refused:
        facts.append(f"refused: {_counted(asked.refused)}")
    return "; ".join(facts)


def _plugin(note: PluginNote) -> str:
    edits = "1 edit" if note.edits == 1 else f"{say_count(note.edits)} edits"
    told = f"{note.plugin} {note.hook}: {edits} in {1000 * note.seconds:,.1f} ms"
    if note.fault is None:
        return told
    return f"{told}, {note.fault}" + (f" ({note.detail})" if note.detail else "")


def _captures(captures: Iterable[Capture]) -> str:
    """Name each tool with what became of its calls, in the order of the reply."""
    tools: dict[str, list[Capture]] = {}
    for capture in captures:
        tools.setdefault(capture.tool, []).append(capture)
    return "; ".join(f"{tool}: {_tool(calls)}" for tool, calls in tools.items())


def _tool(calls: Iterable[Capture]) -> str:
    told = _counted(call.why for call in calls)
    restored = sum(call.restored for call in calls)
    return f"{told}, {restored} kept as the model wrote them" if restored else told


def _counted(words: Iterable[str]) -> str:
    return ", ".join(f"{count} {word}" for word, count in sorted(Counter(words).items()))


def extra_total_facts(totals: Totals) -> Facts:
    """What all requests have to tell of them; nothing where there was none."""
    facts: list[tuple[str, str]] = []
    asked = totals.summariser
    if asked.requests:
        cost = asked.cost
        spent = say_usd(cost.usd if cost.replies else None)
        facts.append(
            (
                "results summarised",
                f"{say_count(asked.wanted)} wanted on {say_count(asked.requests)} requests, "
                f"{say_count(asked.calls)} calls, {say_count(asked.reused)} reused, "
                f"{say_count(sum(count for _, count in asked.refused))} refused; "
                f"{spent} USD over {cost.replies:,} of {cost.replies + cost.unpriced:,} requests with a call",
            )
        )
    for tool, calls in totals.capture:
        said = calls.captured + calls.native
        facts.append((f"captured {tool}", f"{say_count(said)} of {say_count(calls.calls)} calls"))
    for name, plugin in totals.plugins:
        faults = ", ".join(f"{count} {word}" for word, count in plugin.faults)
        told = f"{say_count(plugin.edits)} edits in {say_count(plugin.runs)} runs, {plugin.seconds:,.3f} s"
        facts.append((f"plugin {name}", f"{told}; {faults}" if faults else told))
    return tuple(facts)
