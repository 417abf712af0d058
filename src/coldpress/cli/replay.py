"""`coldpress replay`: say from recorded sessions what was paid, what each policy would have paid, and what to try."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from coldpress.cli.exits import INTERRUPTED, USAGE
from coldpress.cli.lab_options import (
    arm_option,
    arms_of,
    check_report,
    check_writable,
    extra_needed,
    jobs_option,
    paths_argument,
    paths_or_default,
    prices_option,
    tariffs_of,
)
from coldpress.cli.options import FiniteRange, json_option
from coldpress.cli.output import print_json, talk

if TYPE_CHECKING:
    from coldpress.cli.replay_run import Chosen
    from coldpress.cli.replay_told import Told

FIRST_ARMS: Final = (
    "control",
    "first-sight",
    "coldpress",
    "coldpress-source-20",
    "mask-10",
    "oracle",
    "oracle-source-20",
)
"""What is replayed where nothing else is asked for. Each of the two ways to treat file reads has its own oracle: what
masks reads can be cheaper than whoever knows everything and may not."""


@click.command("replay")
@paths_argument
@prices_option
@arm_option(
    "What to replay: a named arm, or a settings file; several times for several. Else "
    f"{', '.join(FIRST_ARMS[:-1])} and {FIRST_ARMS[-1]}."
)
@click.option("--all-arms", is_flag=True, help="Every named arm, and those of --arm.")
@click.option(
    "--since", "since_days", type=FiniteRange(min=0), metavar="DAYS", help="Only files written in the last days."
)
@click.option("--limit", type=click.IntRange(min=1), help="At most this many files: the newest.")
@click.option("--largest", is_flag=True, help="Let --limit take the largest files.")
@jobs_option
@click.option("--verbose", is_flag=True, help="List every file that was skipped, with the reason.")
@click.option(
    "--report",
    "report_file",
    type=click.Path(path_type=Path),
    metavar="FILE.html",
    help="Write the report too: one HTML file; pictures and figures go into the folder FILE-files beside it.",
)
@click.option(
    "--force", is_flag=True, help="Let --report overwrite what is there: the file, and pictures and figures beside it."
)
@click.option(
    "--keep",
    "folder",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Keep results there as Parquet, with a row for every request; what is there already is not worked out again.",
)
@json_option
def command(
    *,
    paths: tuple[Path, ...],
    tariff_names: tuple[str, ...],
    arm_names: tuple[str, ...],
    all_arms: bool,
    since_days: float | None,
    limit: int | None,
    largest: bool,
    jobs: int | None,
    verbose: bool,
    report_file: Path | None,
    force: bool,
    folder: Path | None,
    as_json: bool,
) -> None:
    """Replay recorded sessions: what was paid, what each policy would have paid, and the setting to try.

    PATH is a file or a folder of recordings, ~/.claude/projects where none is given: sessions of Claude Code, Codex, pi
    and others, as `coldpress lab import` knows them. Nothing is sent, no key is needed, and nothing leaves the machine.
    Nothing is written either, but for --report and --keep. Ctrl-C prints what was found until then.

    For example `coldpress replay`, or `coldpress replay ~/.claude/projects --limit 50 --arm mine.toml`.

    Bills are simulated, open-loop and of input alone: recorded replies stay as they were.
    """
    named = _names(arm_names, all_arms=all_arms)
    arms, tariffs = arms_of(named), tariffs_of(tariff_names)
    where = paths_or_default(paths)
    if report_file is not None:
        check_report(report_file, "--report", force=force)
    if folder is not None:
        check_writable(folder, "--keep")
    with extra_needed("coldpress replay"), ExitStack() as ends:
        from coldpress.cli.replay_run import How, choose, gather
        from coldpress.cli.replay_told import tell

        chosen = choose(where, since_days=since_days, limit=limit, largest=largest)
        _refuse_none(chosen, where)
        kept = folder
        if report_file is not None and kept is None:
            kept = Path(ends.enter_context(tempfile.TemporaryDirectory(prefix="coldpress-replay-")))
        found = gather(chosen.paths, arms, tariffs, How(kept, jobs, with_turns=kept is not None))
        _print(tell(found, arms, tariffs), as_json=as_json, verbose=verbose)
        if report_file is not None and kept is not None and found.bills:
            from coldpress.cli.results_folder import ResultsFolder
            from coldpress.lab.report import write_report

            write_report(ResultsFolder(kept), report_file)
            talk(f"report: {report_file}")
    if found.interrupted:
        raise SystemExit(INTERRUPTED.code)
    if not found.bills:
        talk(f"Error: no recordings in {_places(where)}: none of the files could be replayed, for the reasons given")
        raise SystemExit(USAGE.code)


def _names(arm_names: tuple[str, ...], *, all_arms: bool) -> tuple[str, ...]:
    if not all_arms:
        return arm_names or FIRST_ARMS
    from coldpress.lab.arm_files import named_arms

    return (*named_arms(), *arm_names)


def _refuse_none(chosen: Chosen, where: tuple[Path, ...]) -> None:
    if chosen.paths:
        return
    places = _places(where)
    found = len(chosen.found.paths)
    if found:
        raise click.BadParameter(
            f"none of the {found:,} files in {places} was written in these days; give more days",
            param_hint="--since",
        )
    raise click.UsageError(f"no recordings in {places}: there is no file of one; name another file or folder")


def _places(where: tuple[Path, ...]) -> str:
    return ", ".join(str(path) for path in where)


def _print(told: Told, *, as_json: bool, verbose: bool) -> None:
    from coldpress.cli.replay_view import end_lines, head_lines, print_tables, told_object

    if as_json:
        print_json(told_object(told))
        return
    for line in head_lines(told, verbose=verbose):
        click.echo(line)
    if not told.sessions:
        return
    print_tables(told)
    click.echo()
    for line in end_lines(told):
        click.echo(line)
