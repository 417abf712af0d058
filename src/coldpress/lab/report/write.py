"""Write a report: one HTML file, and beside it a folder with its pictures, figures.json and figures.csv."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from coldpress.lab.report.source import Results
from coldpress.model.errors import ColdpressError

_OF_THE_EXTRA: Final = ("jinja2", "matplotlib", "numpy")


@dataclass(frozen=True, slots=True)
class Written:
    """The files that were written; `pngs` are the light ones, in the order of the page."""

    html: Path
    pngs: tuple[Path, ...]
    json: Path
    csv: Path


def write_report(results: Results, out: Path, *, beside: Path | None = None, example: str | None = None) -> Written:
    """Make a report of a sweep's results. The same results give the same bytes.

    Args:
        results: rows, and the conditions they were made under.
        out: the HTML file; pictures and figures go into the folder `<stem>-files` beside it. Both are overwritten.
        beside: a file of others' published figures, like `benchmarks/peers.json`.
        example: name of the recording whose cache is shown; one with many cuts is chosen where it is `None`.

    Raises:
        ConfigError: the file of others' figures is wrong, or there is no such recording.
        ColdpressError: a library is missing, or a file cannot be written; says what to do.
    """
    try:
        from coldpress.lab.report.data import as_csv, as_json  # noqa: PLC0415 - these need libraries of an extra
        from coldpress.lab.report.facts import gather  # noqa: PLC0415
        from coldpress.lab.report.page import page  # noqa: PLC0415
        from coldpress.lab.report.peers import read_peers  # noqa: PLC0415
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in _OF_THE_EXTRA:
            raise
        raise ColdpressError(
            f"a report needs {missing}, which is not installed; install it with: pip install 'coldpress[lab]'"
        ) from error
    facts = gather(results, read_peers(beside) if beside else None, example)
    made = page(facts)
    folder = out.with_name(f"{out.stem}-files")
    files = {
        out: made.html.encode(),
        folder / "figures.json": as_json(facts).encode(),
        folder / "figures.csv": as_csv(facts).encode(),
    }
    pngs = {folder / f"{one.name}.png": one.light for one in made.pictures}
    _write({**files, **pngs}, folder)
    return Written(out, tuple(pngs), folder / "figures.json", folder / "figures.csv")


def _write(files: dict[Path, bytes], folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, held in files.items():
            path.write_bytes(held)
    except OSError as error:
        raise ColdpressError(f"{error.filename or folder} cannot be written: {error.strerror or error}") from error
