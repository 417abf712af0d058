"""`coldpress lab tune`: write a settings file from one's own history, judged on recordings it was not chosen on."""

from __future__ import annotations

import functools
from pathlib import Path

import click

from coldpress.cli.lab_options import RECORDED, check_file, jobs_option, paths_argument, paths_or_default, tariffs_of
from coldpress.cli.options import FiniteRange, json_option
from coldpress.cli.output import print_json, talk
from coldpress.cli.progress import Progress
from coldpress.model.errors import ColdpressError


@click.command("tune")
@paths_argument
@click.option(
    "--out",
    "out",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE.toml",
    help="The settings file to write, such as coldpress.toml.",
)
@click.option(
    "--prices",
    "tariff_name",
    default=RECORDED,
    show_default=True,
    metavar="TARIFF",
    help="Prices and cache lifetimes to choose at; coldpress replay --help names them.",
)
@click.option(
    "--max-loss-pct",
    type=FiniteRange(min=0, max=100),
    default=1.0,
    show_default=True,
    metavar="PERCENT",
    help="Of edits that quote earlier results, how many may lose their text (upper end of the 95 % interval).",
)
@click.option("--seed", type=click.IntRange(min=0), default=166, show_default=True, help="Of the held-out split.")
@jobs_option
@click.option("--force", is_flag=True, help="Overwrite a file that is there.")
@json_option
def tune(
    *,
    paths: tuple[Path, ...],
    out: Path,
    tariff_name: str,
    max_loss_pct: float,
    seed: int,
    jobs: int | None,
    force: bool,
    as_json: bool,
) -> None:
    """Write a settings file from your own history, judged on recordings that it was not chosen on.

    Half of the recordings choose, the other half say what to expect: money, risk, and the sessions where it would have
    hurt. Nothing is sent. For example `coldpress lab tune ~/.claude/projects --out coldpress.toml`.
    """
    check_file(out, "--out", force=force)
    (tariff,), where = tariffs_of((tariff_name,)), paths_or_default(paths)
    from coldpress.cli.lab_tune_view import tuned_lines, tuned_object
    from coldpress.cli.replay_run import choose, spread
    from coldpress.lab import cells
    from coldpress.lab.tune import tune as choose_settings

    chosen = [path.absolute() for path in choose(where).paths]
    with Progress("tuning", of_what="replays") as progress:
        tuned = choose_settings(
            chosen,
            tariff,
            measure=cells.measure,
            max_loss_pct=max_loss_pct,
            seed=seed,
            progress=progress,
            spread=None if jobs == 1 else functools.partial(spread, jobs=jobs),
        )
    _write(out, tuned.settings_text, force=force)
    if as_json:
        print_json(tuned_object(tuned, out))
    else:
        for line in tuned_lines(tuned):
            click.echo(line)
    talk(f"written: {out}")


def _write(out: Path, text: str, *, force: bool) -> None:
    """Write the file; one that came to be there in the meantime stays."""
    try:
        with out.open("w" if force else "x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise ColdpressError(f"{out} cannot be written: {error.strerror}; name another file") from error
