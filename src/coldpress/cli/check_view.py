"""Lay out what `coldpress check` found, for people and for programs."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Final

import click

from coldpress.cli.check_budget import ModelBudget, budget_object, compaction_object
from coldpress.cli.check_budget_view import print_budgets, print_now
from coldpress.cli.check_now import Now
from coldpress.cli.output import print_table, say_count
from coldpress.cli.reach import Reach
from coldpress.cli.request_file import Explained
from coldpress.config.settings import Provider, Settings
from coldpress.engine.explain import WHAT_MODES_DO, Outlook
from coldpress.model.records import Operation

_WITHOUT_PRESSING: Final[dict[Operation, str]] = {
    "drain": "nothing new is made smaller; what was decided earlier holds",
    "observe": "only written down is what would be done",
    "off": "nothing is changed",
}


@dataclass(frozen=True, slots=True)
class Report:
    """Everything `check` says.

    Attributes:
        results: of a request file, `None` where none was given.
        budgets: of models that were named, or of those in the ledger.
        now: what would be done about the length of the request file, `None` where none was given.
        asked: tools were named, or a request file was given; people then see no more than they asked for.
    """

    settings: Settings
    reach: Reach
    outlooks: tuple[Outlook, ...]
    results: Explained | None
    warnings: tuple[str, ...]
    budgets: tuple[ModelBudget, ...] = ()
    now: Now | None = None
    asked: bool = False


def under_operation(outlook: Outlook, settings: Settings) -> Outlook:
    """Take back what a rule promises where no provider's requests are pressed."""
    unpressed = _unpressed(settings)
    if unpressed is None or not outlook.may_shrink:
        return outlook
    return replace(outlook, may_shrink=False, why=f"{unpressed} (the rule allows {outlook.why})")


def _unpressed(settings: Settings) -> str | None:
    """Say why nothing is pressed; `None` where at least one provider's requests are."""
    operations = dict.fromkeys(provider.operation for provider in settings.providers)
    if "press" in operations:
        return None
    return ", ".join(f"operation {operation}: {_WITHOUT_PRESSING[operation]}" for operation in operations)


def report_object(report: Report) -> dict[str, object]:
    """Give a report as plain values under names that stay."""
    settings = report.settings
    found: dict[str, object] = {
        "settings": settings.source,
        "operation": settings.operation,
        "press_subscription": settings.press_subscription,
        "default_policy": settings.default_policy,
        "store": str(settings.store.path),
        "gateway": asdict(report.reach),
        "providers": [_provider_object(provider) for provider in settings.providers],
        "tools": [asdict(outlook) for outlook in report.outlooks],
        "budgets": [budget_object(budget) for budget in report.budgets],
        "compaction": compaction_object(settings),
        "warnings": list(report.warnings),
    }
    if report.results is not None:
        found["results"] = [{"number": number, **asdict(line)} for number, line in report.results.lines]
        found["results_without_line"] = report.results.without_line
    if report.now is not None:
        found["request"] = asdict(report.now)
    return found


def print_report(report: Report) -> None:
    """Print a report as a few facts and tables."""
    settings = report.settings
    answers = "answers"
    if not report.reach.running:
        answers = f"does not answer ({report.reach.why}); it runs while coldpress serve does"
    subscription = "pressed too" if settings.press_subscription else "only observed"
    click.echo(f"settings   {settings.source}")
    click.echo(f"gateway    {report.reach.url} {answers}")
    click.echo(f"operation  {settings.operation}; Claude subscription traffic is {subscription}")
    click.echo(f"store      {settings.store.path}")
    if not report.asked:
        click.echo("")
        _print_providers(settings)
    if report.outlooks:
        click.echo("")
        _print_outlooks(report.outlooks)
    if report.results is not None:
        click.echo("")
        _print_results(report.results)
        unpressed = _unpressed(settings)
        if unpressed is not None:
            click.echo(f"These are the sizes of operation press. Now it is {unpressed}.")
    if report.budgets:
        click.echo("")
        print_budgets(report.budgets, settings)
    if report.now is not None:
        click.echo("")
        print_now(report.now)


def _print_outlooks(outlooks: tuple[Outlook, ...]) -> None:
    print_table(
        ("tool", "kind", "rule", "modes", "what may be done"),
        [
            (
                outlook.tool,
                outlook.kind,
                outlook.rule,
                ", ".join(outlook.modes),
                f"{'may shrink' if outlook.may_shrink else 'exact'}: {outlook.why}",
            )
            for outlook in outlooks
        ],
        spare=("modes", "rule"),
    )
    click.echo("")
    for mode, what in WHAT_MODES_DO.items():
        click.echo(f"{mode}: {what}")
    click.echo("Failed results, and views that gain too little, stay exact whatever the rule says.")


def _print_providers(settings: Settings) -> None:
    bare = settings.default_provider
    bare_paths = (("anthropic", bare.anthropic), ("openai", bare.openai), ("gemini", bare.gemini))
    print_table(
        ("provider", "url", "reads", "operation", "API key", "bare paths"),
        [
            (
                provider.name,
                provider.url,
                ", ".join(provider.formats),
                provider.operation,
                provider.api_key.name if provider.api_key else "the client's",
                ", ".join(name for name, chosen in bare_paths if chosen == provider.name),
            )
            for provider in settings.providers
        ],
    )


def _print_results(results: Explained) -> None:
    if not results.lines:
        click.echo("No tool result in the file is long enough to be made smaller; all would be sent as they are.")
        return
    click.echo("What is done with each tool result when a model first sees it; # is its place among all of them.")
    print_table(
        ("#", "tool", "kind", "rule", "mode", "reason", "bytes", "at first sight"),
        [
            (
                str(number),
                line.tool,
                line.kind,
                line.rule,
                line.mode,
                line.reason,
                say_count(line.bytes_before),
                say_count(line.bytes_after),
            )
            for number, line in results.lines
        ],
        right=frozenset({0, 6, 7}),
        spare=("rule", "kind"),
    )
    before = sum(line.bytes_before for _, line in results.lines)
    after = sum(line.bytes_after for _, line in results.lines)
    click.echo(f"together {before:,} bytes, {after:,} would be sent at first sight; what happens later is said below")
    if results.without_line:
        click.echo(f"{results.without_line:,} of {results.results:,} results are too small to decide on and not listed")


def _provider_object(provider: Provider) -> dict[str, object]:
    return {
        "name": provider.name,
        "url": provider.url,
        "formats": list(provider.formats),
        "operation": provider.operation,
        "api_key_env": provider.api_key.name if provider.api_key else None,
        "priced_models": [priced.model for priced in provider.pricing],
    }
