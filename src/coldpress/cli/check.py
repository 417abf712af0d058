"""`coldpress check`: say what would happen to tools' results and to long prompts, and whether the settings hold."""

from __future__ import annotations

import os
import time
from pathlib import Path

import click

from coldpress.cli.check_budget import Asker, budgets_of
from coldpress.cli.check_limits import limit_warnings
from coldpress.cli.check_now import happens_now
from coldpress.cli.check_view import Report, print_report, report_object, under_operation
from coldpress.cli.check_warnings import budget_warnings, plugin_warnings, summariser_warnings
from coldpress.cli.ledger_tools import tools_in_ledger
from coldpress.cli.open_store import check_store
from coldpress.cli.options import config_option, json_option, load_for_reading, store_option
from coldpress.cli.output import print_json, warn
from coldpress.cli.reach import reach, stranded_clients
from coldpress.cli.request_file import explain_file
from coldpress.engine.catalogue_data import KIND_OF_NAME
from coldpress.engine.explain import outlooks

TYPICAL_TOOLS = (
    "Read",
    "Edit",
    "Bash",
    "Grep",
    "Glob",
    "WebFetch",
    "TodoWrite",
    "Task",
    "mcp__server__tool",
    "some_other_tool",
)


@click.command("check")
@click.argument("tools", nargs=-1)
@config_option
@store_option
@click.option("--all", "every", is_flag=True, help="Every tool name that coldpress knows.")
@click.option(
    "--file",
    "request_file",
    type=click.Path(dir_okay=False, exists=True, path_type=Path),
    help="A request body (JSON): say it for every tool result in it, as if it had come turn by turn.",
)
@click.option(
    "--model",
    "models",
    multiple=True,
    help="A model: say how long its prompts may be and what is done about them. May be given several times.",
)
@click.option("--task", metavar="NAME", help="A class of task, as rows of [[budgets]] name it.")
@click.option("--harness", metavar="NAME", help="A client's product name, as rows of [[budgets]] name it.")
@json_option
def command(
    *,
    tools: tuple[str, ...],
    models: tuple[str, ...],
    config_path: Path | None,
    store_path: Path | None,
    every: bool,
    request_file: Path | None,
    task: str | None,
    harness: str | None,
    as_json: bool,
) -> None:
    """Say what would happen to tools' results and to long prompts, and why.

    TOOLS are names as agents call them; a shell's may carry a command line: 'Bash(git diff)'. Without names: the
    providers, the tools in the ledger, or some typical ones where it is empty, and the models in the ledger lately with
    their budgets, of the task and client that --task and --harness name. With a request file: also how long it is, and
    what would be done about that now. Nothing is sent. Warnings go to stderr, or into the JSON.
    """
    settings = load_for_reading(config_path, store_path)
    check_store(settings)
    names = tools or (tuple(sorted(KIND_OF_NAME)) if every else ())
    asked = bool(names or request_file or models)
    if not asked:
        names = tools_in_ledger(settings) or TYPICAL_TOOLS
    found = reach(settings)
    explained = explain_file(request_file, settings.policy) if request_file else None
    conversation = explained.conversation if explained else None
    asker = Asker(harness, task)
    own = conversation.head.model if conversation is not None else None
    wanted = (*models, *((own,) if own else ()))
    budgets = budgets_of(settings, wanted, asker) if wanted or not asked else ()
    of_file = next((one for one in budgets if one.model == own), None)
    report = Report(
        settings=settings,
        reach=found,
        outlooks=tuple(
            under_operation(outlook, settings) for name in names for outlook in outlooks(name, settings.policy)
        ),
        results=explained,
        budgets=budgets,
        now=happens_now(conversation, of_file, settings, asker) if conversation is not None else None,
        asked=asked,
        warnings=(
            *settings.warnings,
            *plugin_warnings(settings),
            *budget_warnings(budgets),
            *summariser_warnings(settings, now=time.time()),
            *limit_warnings(settings, budgets, now=time.time()),
            *stranded_clients(found, os.environ),
        ),
    )
    if as_json:
        print_json(report_object(report))
        return
    print_report(report)
    for warning in report.warnings:
        warn(warning)
