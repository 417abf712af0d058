"""`coldpress lab sweep`: measure recordings x arms x prices x triggers x windows into a folder of Parquet files."""

from __future__ import annotations

from pathlib import Path

import click

from coldpress.cli.exits import FAILED, INTERRUPTED
from coldpress.cli.lab_options import (
    arm_option,
    arms_of,
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
from coldpress.lab.results import Backend


@click.command("sweep")
@paths_argument
@click.option(
    "--out", "folder", required=True, type=click.Path(path_type=Path), metavar="FOLDER", help="Where results are kept."
)
@arm_option("What to measure: a named arm, or a settings file; several times for several. Else every named arm.")
@prices_option
@click.option(
    "--trigger",
    "triggers",
    multiple=True,
    type=FiniteRange(min=0, min_open=True, max=1),
    metavar="SHARE",
    help="A budget's trigger, as a share of the window, in the place of each arm's own; several times for several.",
)
@click.option(
    "--window",
    "windows",
    multiple=True,
    type=FiniteRange(min=0, min_open=True),
    metavar="SIZE",
    help="A budget's window, in tokens or as a share of each recording's longest prompt; several times for several.",
)
@click.option(
    "--on",
    "backend",
    type=click.Choice(("processes", "dask", "ray")),
    default="processes",
    show_default=True,
    help="What runs it: processes of this machine, a Dask cluster, or a Ray cluster. Results are the same.",
)
@click.option("--address", metavar="ADDRESS", help="Of the Dask or Ray cluster. Else a local one is started.")
@jobs_option
@click.option(
    "--turns/--no-turns",
    default=True,
    help="Whether to keep a row for every request too, which the report's pictures are drawn from. By default it is.",
)
@json_option
def sweep(
    *,
    paths: tuple[Path, ...],
    folder: Path,
    arm_names: tuple[str, ...],
    tariff_names: tuple[str, ...],
    triggers: tuple[float, ...],
    windows: tuple[float, ...],
    backend: Backend,
    address: str | None,
    jobs: int | None,
    turns: bool,
    as_json: bool,
) -> None:
    """Measure recordings with every arm at all prices, into a folder of Parquet files.

    What is in the folder already, by content of the recording, arm, prices and version, is not measured again: a sweep
    that was stopped goes on where it was. Triggers and windows concern arms with a [budget]. For example `coldpress lab
    sweep ~/.claude/projects --out results --prices recorded --prices gpt-6.1-sol`, then `coldpress lab report results
    --out report.html`.
    """
    from coldpress.lab.arm_files import named_arms

    if address is not None and backend == "processes":
        raise click.BadParameter("processes have no address; give --on dask or --on ray", param_hint="--address")
    arms, tariffs = arms_of(arm_names or named_arms()), tariffs_of(tariff_names)
    where = paths_or_default(paths)
    check_writable(folder, "--out")
    with extra_needed(f"coldpress lab sweep --on {backend}"):
        from coldpress.cli.replay_run import How, choose, gather
        from coldpress.cli.replay_told import tell
        from coldpress.cli.replay_view import print_tables, skipped_lines, told_object

        chosen = choose(where)
        how = How(folder, jobs, backend, address, with_turns=turns, triggers=triggers, windows=windows)
        found = gather(chosen.paths, arms, tariffs, how)
        told = tell(found, arms, tariffs)
    if as_json:
        print_json(told_object(told))
    else:
        for line in skipped_lines(told, verbose=False):
            click.echo(line)
        print_tables(told)
    talk(f"kept in {folder}; for a report: coldpress lab report {folder} --out report.html")
    if found.interrupted or not found.bills:
        raise SystemExit(INTERRUPTED.code if found.interrupted else FAILED.code)
