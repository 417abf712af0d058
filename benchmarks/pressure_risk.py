"""Count how often results that could be cleared under pressure are needed again, over recorded sessions.

    python benchmarks/pressure_risk.py FOLDER [FOLDER...] [--json]

Reads recordings of Claude Code, pi and mini-swe-agent; the table in `coldpress.engine.pressure_data` is made so.
Open-loop: the recorded agents saw every result exact. Nothing is sent anywhere.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import get_args

from coldpress.engine.need import Why
from coldpress.engine.pressure_data import AGES
from coldpress.lab.importers.any import read_file
from coldpress.lab.pressure_risk import MIN_BYTES, Sample, samples
from coldpress.lab.stats import SEED, Interval, share_interval
from coldpress.model.errors import RecordingError

"""Of the intervals, which draw whole recordings."""
ALL = "all"


def say(text: str) -> None:
    """Tell how far the work is, apart from results."""
    print(text, file=sys.stderr, flush=True)


def recordings(folders: Sequence[Path]) -> list[tuple[Sample, ...]]:
    """Give the samples of every recording that can be read."""
    found = []
    files = sorted(path for folder in folders for path in folder.iterdir() if path.suffix in (".json", ".jsonl"))
    for number, file in enumerate(files, 1):
        try:
            imported = read_file(file)
        except RecordingError as error:
            say(f"left out: {error}")
            continue
        found.append(tuple(sample for one in imported.trajectories for sample in samples(one, AGES)))
        say(f"{number} of {len(files)}")
    return found


def share(
    found: list[tuple[Sample, ...]], chosen: Callable[[Sample], bool], hit: Callable[[Sample], bool]
) -> Interval | None:
    """Give the share of hits among the chosen samples, recordings without any left out."""
    pairs = [(sum(map(hit, kept)), len(kept)) for group in found if (kept := [s for s in group if chosen(s)])]
    return share_interval(pairs, seed=SEED)


def rows(found: list[tuple[Sample, ...]]) -> list[dict[str, object]]:
    """Give one row for every reason and age, and one for all ages of a reason together."""
    table: list[dict[str, object]] = []
    for why, is_source in product(get_args(Why), (True, False)):
        for age in (*AGES, None):

            def chosen(sample: Sample, at: tuple[str, bool, int | None] = (why, is_source, age)) -> bool:
                return (sample.why, sample.is_source) == at[:2] and at[2] in (None, sample.age)

            kept = [sample for group in found for sample in group if chosen(sample)]
            table.append(
                {
                    "why": why,
                    "kind": "source" if is_source else "output",
                    "age": ALL if age is None else age,
                    "results": len(kept),
                    "bytes": sum(sample.bytes for sample in kept),
                    "quoted": sum(sample.quoted for sample in kept),
                    "needed": sum(sample.needed for sample in kept),
                    "quoted_share": _plain(share(found, chosen, lambda sample: sample.quoted)),
                    "needed_share": _plain(share(found, chosen, lambda sample: sample.needed)),
                }
            )
    return table


def _plain(interval: Interval | None) -> dict[str, float] | None:
    return None if interval is None else asdict(interval)


def line(row: dict[str, object]) -> str:
    """Write one row."""
    shares = "  ".join(_percent(row[name]) for name in ("quoted_share", "needed_share"))
    counts = f"{row['results']:>8,} {row['bytes']:>11,} {row['needed']:>7,}"
    return f"{row['why']:<12} {row['kind']:<6} {row['age']:>4} {counts}  {shares}"


def _percent(interval: object) -> str:
    if not isinstance(interval, dict):
        return f"{'-':>24}"
    return f"{interval['value']:>7.1%} [{interval['low']:>5.1%}, {interval['high']:>6.1%}]"


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, count, print."""
    reader = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    reader.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="holds recordings")
    reader.add_argument("--json", action="store_true", help="print one JSON object")
    options = reader.parse_args(arguments)
    missing = [str(folder) for folder in options.folders if not folder.is_dir()]
    if missing:
        reader.error(f"no such folder: {', '.join(missing)}")
    found = recordings(options.folders)
    about = {
        "results": f"of {MIN_BYTES:,} bytes or more that need not stay exact, each once at every age that it reaches",
        "intervals": f"95 %, percentile bootstrap over {len(found)} recordings, seed {SEED}",
        "coldpress": version("coldpress"),
    }
    table = rows(found)
    if options.json:
        print(json.dumps({**about, "rows": table}, indent=1))
        return
    print("\n".join(f"{key}: {value}" for key, value in about.items()))
    shares = f"{'quoted later':^24}  {'needed later':^24}"
    print(f"{'why':<12} {'kind':<6} {'age':>4} {'results':>8} {'bytes':>11} {'needed':>7}  {shares}")
    print("\n".join(line(row) for row in table if row["results"]))


if __name__ == "__main__":
    main()
