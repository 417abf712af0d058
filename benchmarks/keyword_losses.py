"""Compare views by keywords with heads and tails over recorded sessions: bytes removed, identifiers lost, speed.

    python benchmarks/keyword_losses.py FOLDER [FOLDER...] [--json] [--plot FILE]

Reads recordings of Claude Code, pi and mini-swe-agent. Open-loop: the recorded agents saw every result exact, and the
views were made beside them. Nothing is sent anywhere.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from coldpress.lab.importers.any import read_file
from coldpress.lab.keyword_losses import ARMS, KINDS, MIN_BYTES, TOLD_ARMS, Arm, Sample, samples
from coldpress.lab.stats import SEED, Interval, share_interval
from coldpress.model.errors import RecordingError

"""Of the intervals, which draw whole recordings."""

MIN_NEEDED = 100
"""Kinds of results with fewer identifiers that were needed later are not drawn."""

Groups = list[tuple[Sample, ...]]
"""The samples of each recording."""

NAMES: dict[Arm, str] = {
    "keyword": "keyword",
    "fallback": "keyword, without prose",
    "same_bytes": "head and tail, same bytes",
    "same_bytes_by_file": "head and tail, by file",
    "deterministic": "deterministic",
    "native": "the call's reason alone",
    "native_same_bytes": "head and tail of its bytes",
    "inferred": "inferred without it",
    "inferred_same_bytes": "head and tail of its bytes",
    "unguided": "no guidance",
}


def say(text: str) -> None:
    """Tell how far the work is, apart from results."""
    print(text, file=sys.stderr, flush=True)


def recordings(folders: Sequence[Path]) -> tuple[Groups, int]:
    """Give the samples of every recording that can be read, and how many could not."""
    found: Groups = []
    left_out = 0
    files = sorted(
        path for folder in folders for path in folder.iterdir() if path.suffix in (".json", ".jsonl", ".traj")
    )
    for number, file in enumerate(files, 1):
        try:
            imported = read_file(file)
        except RecordingError as error:
            left_out += 1
            say(f"left out: {error}")
            continue
        found.append(tuple(s for one in imported.trajectories for s in samples(one, time.process_time)))
        say(f"{number} of {len(files)}")
    return found, left_out


def share(groups: Groups, part: Callable[[Sample], float], whole: Callable[[Sample], float]) -> Interval | None:
    """Give a sum over a sum with its interval, recordings without any samples left out."""
    pairs = [(sum(map(part, group)), sum(map(whole, group))) for group in groups if group]
    return share_interval(pairs, seed=SEED)


def chosen(groups: Groups, keep: Callable[[Sample], bool]) -> Groups:
    return [tuple(filter(keep, group)) for group in groups]


def removed(arm: Arm) -> Callable[[Sample], float]:
    return lambda sample: sample.bytes - sample.effects[arm].bytes if arm in sample.effects else 0


def lost(arm: Arm) -> Callable[[Sample], float]:
    return lambda sample: sample.effects[arm].lost if arm in sample.effects else 0


def needed(sample: Sample) -> float:
    return sample.needed


def size(sample: Sample) -> float:
    return sample.bytes


def row(name: str, groups: Groups, arm: Arm) -> dict[str, object]:
    """Give one line: an arm over some results, those without a view of it counted as left exact."""
    every = [sample for group in groups for sample in group]
    return {
        "results_of": name,
        "arm": arm,
        "results": len(every),
        "views": sum(arm in sample.effects for sample in every),
        "bytes": sum(sample.bytes for sample in every),
        "removed": _plain(share(groups, removed(arm), size)),
        "needed": sum(sample.needed for sample in every),
        "only_here": sum(sample.only_here for sample in every),
        "lost": sum(map(lost(arm), every)),
        "lost_share": _plain(share(groups, lost(arm), needed)),
        "quoted": sum(sample.quoted for sample in every),
        "quoted_only_here": sum(sample.quoted_only_here for sample in every),
        "quoted_lost": sum(sample.effects[arm].lines_lost for sample in every if arm in sample.effects),
        # The mode `deterministic` writes hits anew, below their file, so there is nothing to compare its lines with.
        "moved": None
        if arm == "deterministic"
        else sum(sample.effects[arm].moved for sample in every if arm in sample.effects),
    }


def tables(groups: Groups) -> dict[str, object]:
    """Count over all results, those with a view by keywords, each kind, and each tool and kind."""
    both = chosen(groups, lambda sample: "keyword" in sample.effects)
    sets: list[tuple[str, Groups]] = [("all", groups), ("with a view by keywords", both)]
    sets += [(kind, chosen(groups, lambda s, k=kind: s.kind == k)) for kind in KINDS]
    tools = sorted({(sample.tool, sample.kind) for group in groups for sample in group})
    sets += [
        (f"{tool}, {kind}", chosen(groups, lambda s, w=(tool, kind): (s.tool, s.kind) == w)) for tool, kind in tools
    ]
    every = [sample for group in groups for sample in group]
    seconds = sum(sample.seconds for sample in every)
    return {
        "rows": [row(name, kept, arm) for name, kept in sets for arm in ARMS],
        **told_tables(groups),
        "outcomes": dict(sorted(Counter(sample.outcome for sample in every).items())),
        "outcomes_by_kind": {
            kind: dict(sorted(Counter(s.outcome for s in every if s.kind == kind).items())) for kind in KINDS
        },
        "keyword_less_same_bytes": {
            name: _plain(share(kept, lambda s: lost("keyword")(s) - lost("same_bytes")(s), needed))
            for name, kept in sets[1:5]
        },
        "keyword_less_same_bytes_by_file": {
            name: _plain(share(kept, lambda s: lost("keyword")(s) - lost("same_bytes_by_file")(s), needed))
            for name, kept in sets[1:5]
        },
        "keyword_less_fallback": {
            name: _plain(share(kept, lambda s: lost("keyword")(s) - lost("fallback")(s), needed))
            for name, kept in sets[:1]
        },
        "mb_per_second": sum(sample.bytes for sample in every) / 1e6 / seconds if seconds else None,
    }


def told_tables(groups: Groups) -> dict[str, object]:
    """Compare the reason that a call gives itself with what can be inferred without it, over calls that give one."""
    told = chosen(groups, lambda sample: sample.told)
    kinds = [(f"told, {kind}", chosen(told, lambda s, k=kind: s.kind == k)) for kind in KINDS]
    pairs: list[tuple[Arm, Arm]] = [
        ("native", "inferred"),
        ("native", "native_same_bytes"),
        ("inferred", "inferred_same_bytes"),
        ("keyword", "inferred"),
    ]
    differences = {}
    for one, other in pairs:
        differences[f"{one}_less_{other}"] = {
            "lost": _plain(share(told, lambda s, a=one, b=other: lost(a)(s) - lost(b)(s), needed)),
            "removed": _plain(share(told, lambda s, a=one, b=other: removed(a)(s) - removed(b)(s), size)),
        }
    return {
        "told_rows": [row(name, kept, arm) for name, kept in [("told", told), *kinds] for arm in TOLD_ARMS],
        "told_recordings": sum(map(bool, told)),
        "told_recordings_with_losses": sum(any(s.only_here for s in group) for group in told),
        "told_differences": differences,
    }


def _plain(interval: Interval | None) -> dict[str, float] | None:
    return None if interval is None else asdict(interval)


def line(found: dict[str, object]) -> str:
    """Write one row."""
    counts = f"{found['results']:>5,} {found['views']:>5,} {found['bytes']:>10,}  {_percent(found['removed'])}"
    losses = f"{found['needed']:>6,} {found['only_here']:>5,} {found['lost']:>4,.0f}  {_percent(found['lost_share'])}"
    quotes = f"{found['quoted']:>6,} {found['quoted_only_here']:>4,} {found['quoted_lost']:>4,}"
    return f"{found['results_of']!s:<24} {NAMES[found['arm']]:<25} {counts}  {losses} {quotes} {_count(found['moved'])}"


def _count(value: object) -> str:
    return f"{'-' if value is None else value:>5}"


def _percent(interval: object) -> str:
    if not isinstance(interval, dict):
        return f"{'-':>22}"
    return f"{interval['value']:>6.1%} [{interval['low']:>5.1%}, {interval['high']:>5.1%}]"


def plot(found: dict[str, object], file: Path) -> None:
    """Draw bytes removed against identifiers lost, one point an arm and kind."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - an extra of its own
    except ImportError:
        say("no plot: matplotlib is not installed")
        return
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for arm, sign in zip(ARMS, "os^vD", strict=True):
        rows = [
            one
            for one in found["rows"]
            if one["arm"] == arm and one["needed"] >= MIN_NEEDED and one["results_of"] in ("all", *KINDS)
        ]
        points = [
            (one["removed"]["value"], one["lost_share"]["value"], one["results_of"])
            for one in rows
            if one["lost_share"]
        ]
        axes.plot([100 * x for x, _, _ in points], [100 * y for _, y, _ in points], sign, label=NAMES[arm])
        for x, y, name in points:
            axes.annotate(str(name), (100 * x, 100 * y), textcoords="offset points", xytext=(5, 3), fontsize=7)
    axes.set_xlabel("bytes removed, % of the results")
    axes.set_ylabel("later-needed identifiers lost, %")
    axes.set_title("Views of large results, open-loop", fontsize=10)
    axes.legend(fontsize=8)
    figure.savefig(file)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, count, print."""
    reader = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    reader.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="holds recordings")
    reader.add_argument("--json", action="store_true", help="print one JSON object")
    reader.add_argument("--plot", type=Path, metavar="FILE", help="draw bytes removed against identifiers lost")
    options = reader.parse_args(arguments)
    missing = [str(folder) for folder in options.folders if not folder.is_dir()]
    if missing:
        reader.error(f"no such folder: {', '.join(missing)}")
    groups, left_out = recordings(options.folders)
    about = {
        "results": f"searches, logs, listings of {MIN_BYTES:,} bytes or more that may go, two replies behind them",
        "kind of figure": "open-loop: recorded agents saw every result exact",
        "intervals": f"95 %, percentile bootstrap over {sum(map(bool, groups))} recordings with such, seed {SEED}",
        "recordings": f"{len(groups)} read, {left_out} of no known kind",
        "coldpress": version("coldpress"),
    }
    found = tables(groups)
    if options.plot is not None:
        plot(found, options.plot)
    if options.json:
        print(json.dumps({**about, **found}, indent=1))
        return
    print("\n".join(f"{key}: {value}" for key, value in about.items()))
    print(
        f"{'':<50} {'all':>5} {'views':>5} {'bytes':>10}  {'removed':^22}  {'needed':>6} {'only':>5} {'lost':>4}  "
        f"{'lost of needed':^22} {'quoted':>6} {'only':>4} {'lost':>4} {'moved':>5}"
    )
    print("\n".join(line(one) for one in (*found["rows"], *found["told_rows"]) if one["results"]))
    print(f"told: {found['told_recordings']} recordings, {found['told_recordings_with_losses']} with something to lose")
    for name, differences in found["told_differences"].items():
        print(f"told, {name}: " + ", ".join(f"{key} {_percent(one)}" for key, one in differences.items()))
    for key in ("outcomes", "outcomes_by_kind"):
        print(f"{key}: {json.dumps(found[key])}")
    for key in ("keyword_less_same_bytes", "keyword_less_same_bytes_by_file", "keyword_less_fallback"):
        for name, interval in found[key].items():
            print(f"{key}, {name}: {_percent(interval)}")
    print(f"keyword, processor time: {found['mb_per_second']:.1f} MB/s")


if __name__ == "__main__":
    main()
