"""`coldpress lab report`: make one HTML file of the results that a sweep has left in a folder."""

from __future__ import annotations

from pathlib import Path

import click

from coldpress.cli.lab_options import check_report, extra_needed
from coldpress.cli.output import talk


@click.command("report")
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False), metavar="FOLDER")
@click.option(
    "--out",
    "out",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE.html",
    help="The file to write; pictures, figures.json and figures.csv go into the folder FILE-files beside it.",
)
@click.option(
    "--beside",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE.json",
    help="Figures that others have published, to be drawn beside these.",
)
@click.option(
    "--example",
    metavar="RECORDING",
    help="Name of the recording whose cache is shown request by request: its file's, without ending.",
)
@click.option(
    "--force", is_flag=True, help="Overwrite what is there: the file, and pictures and figures of their names."
)
def report(*, folder: Path, out: Path, beside: Path | None, example: str | None, force: bool) -> None:
    """Make one HTML file of the results that `coldpress lab sweep` or `replay --keep` has left in FOLDER.

    It needs no script, no server and no network, and says what was compared, on what, how sure it is, and what is
    simulated. For example `coldpress lab report results --out report.html`.
    """
    check_report(out, "--out", force=force)
    with extra_needed("coldpress lab report"):
        from coldpress.cli.results_folder import ResultsFolder
        from coldpress.lab.report import write_report

        written = write_report(ResultsFolder(folder), out, beside=beside, example=example)
    talk(f"report: {written.html}; pictures and figures are in {written.json.parent}")
