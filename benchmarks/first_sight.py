"""Measure what pressing at first sight saves over recorded Claude Code sessions, and what of it is needed later.

    python benchmarks/first_sight.py FOLDER [FOLDER...] [--json] [--numbering tab]

Every request is rebuilt and goes through the driver with the built-in settings, its store in memory. Figures are for
each folder and for all together. Open-loop: recorded replies stay as they were. Nothing is sent anywhere.
Tokens are counted on the scale of o200k: exactly where the package quicktok is installed, else estimated.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import json
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path

from coldpress.lab.first_sight import SessionFigures, measure
from coldpress.lab.first_sight_summary import WRITE_TO_READ, Loss, Summary, summarise
from coldpress.lab.importers.claude_code import read_file
from coldpress.lab.pressed import default_settings, exchanges
from coldpress.lab.stats import RESAMPLES, SEED, Interval
from coldpress.measure.tokens import estimate
from coldpress.model.trajectory import Trajectory

_ARROW = re.compile(r'((?<=\\n)|(?<=")) *(\d+)→')


def say(text: str) -> None:
    """Tell how far the work is, apart from results."""
    print(text, file=sys.stderr, flush=True)


def counter() -> tuple[str, Callable[[str], int]]:
    """Give the best counter at hand and its name. Texts are counted once each."""
    try:
        encoding = importlib.import_module("quicktok").get_encoding("o200k_base")
    except ImportError:
        return "o200k, estimated by coldpress.measure.tokens", functools.cache(estimate)
    name = f"o200k, exact, by quicktok-v1 {version('quicktok-v1')}"
    return name, functools.cache(lambda text: len(encoding.encode_ordinary(text)))


def with_tabs(trajectory: Trajectory) -> Trajectory:
    """Number read lines as newer versions of Claude Code do: no padding, and a tab for the arrow."""
    turns = tuple(
        replace(turn, added=tuple(_ARROW.sub(r"\2\\t", message) for message in turn.added)) for turn in trajectory.turns
    )
    return replace(trajectory, turns=turns)


def measured(folder: Path, count: Callable[[str], int], numbering: str) -> Iterator[SessionFigures]:
    """Measure the sessions of one folder."""
    files = sorted(folder.glob("*.jsonl"))
    for number, file in enumerate(files, 1):
        trajectories: Iterable[Trajectory] = read_file(file).trajectories
        if numbering == "tab":
            trajectories = map(with_tabs, trajectories)
        yield measure(file.stem, exchanges(tuple(trajectories), default_settings()), count)
        say(f"{folder.name}: {number} of {len(files)}")


def percent(interval: Interval | None) -> str:
    """Write a share and its interval."""
    if interval is None:
        return "unknown"
    return f"{interval.value:.2%} [{interval.low:.2%}, {interval.high:.2%}]"


def loss_row(name: str, loss: Loss) -> str:
    """Write one kind of loss with its denominator."""
    bound = f"none found: at most {loss.most_if_none:.2%} were they independent" if loss.most_if_none else ""
    return f"  {name:<58} {loss.lost:>5} of {loss.of:>6}  {bound or percent(loss.share)}"


def table(name: str, found: Summary) -> str:
    """Write the figures of one set of sessions for a person."""
    heads = {"messages": "messages only", "rebuilt": "whole request, rebuilt head", "recorded": "whole, recorded size"}
    ratios = "".join(f"  {f'bill at {ratio:g} (simulated)':>24}" for ratio in WRITE_TO_READ)
    rows = [
        f"\n{name}, open-loop: {found.sessions} sessions, {found.conversations} conversations,"
        f" {found.requests} requests",
        f"  {'input tokens over all requests':<28} {'without':>12} {'with':>12}  {'saved':>24}{ratios}",
    ]
    for saving in found.savings:
        bills = "".join(f"  {percent(bill):>24}" for bill in saving.bill)
        dropped = f"  ({saving.dropped} sessions dropped: head unknown)" if saving.dropped else ""
        rows.append(
            f"  {heads[saving.scope]:<28} {saving.without:>12,.0f} {saving.pressed:>12,.0f}"
            f"  {percent(saving.saved):>24}{bills}{dropped}"
        )
    rows.append(f"  {'tool':<14} {'mode':<18} {'pressed':>7} {'of':>6} {'saved once':>11} {'re-sent':>12} {'share':>7}")
    rows += [
        f"  {row.tool:<14} {row.mode:<18} {row.results:>7} {row.of:>6} {row.saved_once:>11,} {row.saved_resent:>12,}"
        f" {row.share:>7.1%}"
        for row in found.rows
    ]
    rows += [
        f"  later edits: {found.edits}, of them quoting a tool result: {found.edits_of_results}",
        loss_row("edits whose text stood nowhere in one piece any more", found.broken_edits),
        loss_row("edits of which a line of 40 characters or more was gone", found.edits_with_a_line_lost),
        loss_row("lines of 40 or more quoted by any call that were gone", found.quoted_lines_lost),
    ]
    return "\n".join(rows)


def main() -> None:
    """Read the command line, measure, print."""
    reader = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    reader.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="holds Claude Code's session files")
    reader.add_argument("--json", action="store_true", help="print one JSON object")
    reader.add_argument(
        "--numbering",
        choices=("recorded", "tab"),
        default="recorded",
        help="tab: as newer versions of Claude Code number the lines of a read (default: %(default)s)",
    )
    options = reader.parse_args()
    empty = [str(folder) for folder in options.folders if not any(folder.glob("*.jsonl"))]
    if empty:
        reader.error(f"no session files (*.jsonl) in {', '.join(empty)}")
    began = time.perf_counter()
    tokens, count = counter()
    groups = {folder.name: tuple(measured(folder, count, options.numbering)) for folder in options.folders}
    say(f"measured in {time.perf_counter() - began:.0f} s; drawing intervals")
    if len(groups) > 1:
        groups["together"] = sum(groups.values(), ())
    about = {
        "loop": "open",
        "tokens": tokens,
        "numbering": options.numbering,
        "interval": f"95 %, percentile bootstrap over sessions, {RESAMPLES} resamples, seed {SEED}",
        "bill": "simulated, open-loop: a prefix cache that never runs cold, in prices of one read token",
        "coldpress": version("coldpress"),
    }
    found = {name: summarise(sessions) for name, sessions in groups.items()}
    if options.json:
        figures = {name: asdict(summary) for name, summary in found.items()}
        print(json.dumps({**about, "write_to_read": WRITE_TO_READ, "figures": figures}, indent=1))
        return
    print("\n".join(f"{key}: {value}" for key, value in about.items()))
    print("\n".join(table(name, summary) for name, summary in found.items()))


if __name__ == "__main__":
    main()
