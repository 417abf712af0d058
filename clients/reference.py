"""Run OMP through every arm of the reference experiment, against a strict scripted upstream, and print what came of it.

    python clients/reference.py                          all arms; installs OMP from npm where it is missing (1.5 GB)
    python clients/reference.py --only deterministic     some of them
    python clients/reference.py --settings FOLDER        with other files of the same names
    python clients/reference.py --json                   one JSON object

Needs what clients/run.py needs. Exit code 0: every arm did what its settings say, and the ledger and `/stats` tell so;
1: one did not, or OMP could not be installed; 2: wrong options.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from catalogue import OMP
from install import InstallFailed, installed
from processes import TrialFailed
from reference_arms import Arm, Run, run_arm
from reference_check import problems
from reference_task import MODEL
from run import CACHE
from table import table

SETTINGS = Path(__file__).resolve().parent / "reference_settings"
DETERMINISTIC, MODEL_GATED = "deterministic-arm.json", "model-gated-arm.json"
NAMES = ("control", "deterministic", "model-gated", "model-gated-reads-in-full")
HEADS = (
    "arm",
    "as it has to be",
    "requests",
    "pressed",
    "applied",
    "bytes removed",
    "reasons told",
    "summaries",
    "USD",
)


def arms(settings: Path, folder: Path) -> tuple[Arm, ...]:
    """Name the arms, in order.

    Control runs the deterministic arm's file in `observe`: the same decisions, and no byte of a request changes. The
    last arm's file differs from the model-gated one in one price: reads from the cache cost what other input costs.
    """
    deterministic, gated = settings.absolute() / DETERMINISTIC, settings.absolute() / MODEL_GATED
    content = json.loads(gated.read_text(encoding="utf-8"))
    prices = content["providers"]["deepseek"]["pricing"][MODEL]
    prices["cache_read_usd_per_mtok"] = prices["input_usd_per_mtok"]
    in_full = folder / "reads-in-full.json"
    in_full.write_text(json.dumps(content, indent=1), encoding="utf-8")
    return (
        Arm("control", deterministic, ("--operation", "observe"), presses=False, cut="observe"),
        Arm("deterministic", deterministic, grep="keyword", cut="ordered"),
        Arm("model-gated", gated, cut="does_not_pay", summaries="preflight:does_not_pay"),
        Arm("model-gated-reads-in-full", in_full, grep="model", cut="pays", summaries="applied"),
    )


def main(arguments: Sequence[str]) -> int:
    """Run the chosen arms one after the other."""
    options = _options(arguments)
    folder = options.keep or Path(tempfile.mkdtemp(prefix="coldpress-reference-"))
    folder.mkdir(parents=True, exist_ok=True)
    found: dict[str, Run] = {}
    wrong: dict[str, list[str]] = {}
    for arm in arms(options.settings, folder):
        if options.only and arm.name not in options.only.split(","):
            continue
        try:
            package = installed(OMP, options.dir)
            print(f"{arm.name} ...", file=sys.stderr, flush=True)
            (folder / arm.name).mkdir()
            found[arm.name] = run_arm(arm, package, folder / arm.name, timeout_seconds=options.timeout)
            wrong[arm.name] = problems(arm, found[arm.name])
        except (InstallFailed, TrialFailed) as error:
            wrong[arm.name] = [str(error)]
    failed = {name: told for name, told in wrong.items() if told}
    if options.json:
        print(json.dumps({"arms": {name: run.stats for name, run in found.items()}, "problems": failed}, indent=1))
    else:
        print(table([HEADS, *(_row(name, run, wrong[name]) for name, run in found.items())]))
        for name, told in failed.items():
            print("\n".join(f"{name}: {problem}" for problem in told))
    if options.keep is None and not failed:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        print(f"homes, workspaces and stores are in {folder}", file=sys.stderr)
    return 1 if failed else 0


def _row(name: str, run: Run, told: Sequence[str]) -> tuple[str, ...]:
    stats = run.stats
    capture = stats["capture"].values()
    return (
        name,
        "NO" if told else "yes",
        str(len(run.sent)),
        str(stats["transformations"]["count"]),
        str(stats["applications"]),
        f"{stats['bytes_removed']['transformations']:,}",
        f"{sum(one['captured'] for one in capture)} of {sum(one['calls'] for one in capture)}",
        f"{stats['summariser']['calls']} of {stats['summariser']['wanted']} wanted",
        "unknown" if run.bill_usd is None else f"{run.bill_usd:.6f}",
    )


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    about = __doc__.splitlines()[0] if __doc__ else None
    parser = argparse.ArgumentParser(prog="clients/reference.py", description=about)
    parser.add_argument("--only", metavar="NAMES", help=f"of {', '.join(NAMES)}")
    parser.add_argument("--settings", type=Path, default=SETTINGS, metavar="FOLDER", help=f"where {DETERMINISTIC} is")
    parser.add_argument("--dir", type=Path, default=CACHE, metavar="FOLDER", help=f"where OMP is installed ({CACHE})")
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="where homes, workspaces and stores go; must be new"
    )
    parser.add_argument("--timeout", type=float, default=180.0, metavar="SECONDS", help="for each arm (180)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    unknown = set((options.only or "").split(",")) - {*NAMES, ""}
    if unknown:
        parser.error(f"no arm is called {', '.join(sorted(unknown))}; see --help")
    return options


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
