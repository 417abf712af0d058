"""Lay out for people how long prompts may be and what is done about them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import click

from coldpress.cli.check_budget import ModelBudget, SummariserView, WindowSource, summariser_view
from coldpress.cli.check_now import Now
from coldpress.cli.output import print_table, printable, say_count, say_time
from coldpress.config.settings import Settings

_SOURCES: Final[dict[WindowSource, str]] = {
    "rule": "a rule",
    "settings": "the settings",
    "learned": "a refusal",
    "price_data": "the price data",
    "unknown": "nobody",
}


def print_budgets(budgets: Sequence[ModelBudget], settings: Settings) -> None:
    """Print a table of budgets, and what there is to know beside it."""
    print_table(
        ("model", "window", "by word of", "trigger", "target", "urgent", "keep turns", "stages"),
        [_row(found) for found in budgets],
        right=frozenset({1, 3, 4, 5, 6}),
        spare=("stages", "keep turns"),
    )
    click.echo("")
    for found in budgets:
        for line in _remarks(found, settings):
            click.echo(f"{printable(found.model)}: {line}")
    click.echo(f"summaries  {_summaries(summariser_view(settings))}")
    project = settings.notes.project
    whose = (
        "each conversation's own" if project is None else f"project {printable(project)}, and each conversation's own"
    )
    click.echo(f"notes      {whose}; {'shown in prompts' if settings.notes.show else 'kept, not shown'}")
    if settings.require_raw_log and not settings.store.raw_log:
        click.echo("raw log    required and not kept (store.raw_log = false): nothing is compacted")


def _row(found: ModelBudget) -> tuple[str, ...]:
    budget = found.budget
    if budget is None:
        return (found.model, say_count(None), _SOURCES[found.source], "-", "-", "-", "-", "-")
    return (
        found.model,
        say_count(budget.window_tokens),
        _SOURCES[found.source],
        say_count(budget.trigger_tokens),
        say_count(budget.target_tokens),
        say_count(budget.urgent_tokens),
        str(budget.keep_turns),
        ", ".join(budget.stages) or "none",
    )


def _remarks(found: ModelBudget, settings: Settings) -> list[str]:
    said = []
    if found.budget is None:
        said.append(
            "nobody says how long a prompt may be, so nothing is compacted until the provider refuses one and names "
            "its window; budget.window_tokens says it beforehand"
        )
    if found.source == "learned" and found.learned_at is not None:
        said.append(
            f"{printable(found.provider)} refused a prompt at {say_time(found.learned_at)} and named this window; a "
            "gateway that was started later learns it from the next refusal"
        )
    if found.other_rules:
        places = ", ".join(f"budgets[{place}]" for place in found.other_rules)
        said.append(f"other values may hold for the clients and tasks of {places}; --harness and --task try them")
    if found.binds and not settings.allow_thinking_loss:
        said.append(
            "its reasoning is bound to the text before it, so nothing goes from in front of the last reasoning; where "
            "that leaves too little, use the provider's own compaction, or accept the loss (allow_thinking_loss = true)"
        )
    elif found.binds:
        said.append("its reasoning is bound to the text before it and is lost where that changes (allow_thinking_loss)")
    return said


def _summaries(view: SummariserView) -> str:
    if view.kind == "structural":
        return "by rules, without a model"
    price = "price known" if view.priced else "price unknown, so it is not asked: see summariser.pricing"
    key = {"none": "no key", "found": "key found", "missing": "its key is missing"}[view.key]
    return f"by {printable(view.model)} ({view.kind}), {view.timeout_seconds:g} s at the most; {price}; {key}"


def print_now(now: Now) -> None:
    """Print what would happen to a request."""
    limits = "" if now.trigger_tokens is None else f" (trigger {now.trigger_tokens:,}, urgent {now.urgent_tokens:,})"
    click.echo(
        f"{printable(now.model or 'no model')}: {now.messages:,} messages, about {now.prompt_tokens:,} tokens{limits}"
    )
    click.echo(f"now: {_what(now)}")


def _what(now: Now) -> str:
    match now.verdict:
        case "window_unknown":
            return "nothing is compacted, since nobody says how long a prompt may be"
        case "below_trigger":
            return "below the trigger, so nothing is compacted"
        case "not_compacted":
            return f"nothing would be compacted: {now.reason}"
        case "compacted":
            said = [f"would mask {now.masked:,} results"] if now.masked else []
            if now.first_message is not None:
                said.append(f"would summarise messages {now.first_message} to {now.last_message}")
            return f"{' and '.join(said)}; about {say_count(now.after_tokens)} tokens would be left"
