"""Run real agents on a task that outgrows a small window: without coldpress, with masks, and with summaries.

    python clients/overflow.py                             mini-swe-agent and pi, every arm
    python clients/overflow.py --only pi --arms direct,mask
    python clients/overflow.py --json                      one JSON object

Needs what `clients/run.py` needs, whose clients and folders it shares. Exit code 0: every run ended as its arm has to;
1: one did not, or a client could not be installed; 2: wrong options.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from catalogue import CLIENTS
from install import InstallFailed, installed
from overflow_trial import MODEL, Arm, Outcome, run_arm
from processes import TrialFailed
from run import CACHE
from table import table

USUAL = "mini-swe-agent-chat,pi"
HEADS = (
    "arm",
    "client",
    "wire",
    "finished",
    "requests",
    "largest prompt",
    "refused",
    "cleared",
    "summarised",
    "summaries",
    "seconds",
)
_BUDGET = "\n[budget]\nwindow_tokens = {window}\n"
"""The braces are filled in by `run_arm`."""
_MASKS = _BUDGET + 'stages = ["mask"]\n'
_STRUCTURAL = _BUDGET + '\n[summariser]\nkind = "structural"\n'
_MODEL = f"""{_BUDGET}
[summariser]
kind = "openai"
url = "{{summaries}}"
model = "{MODEL}"
max_output_tokens = 1024

[summariser.pricing."{MODEL}"]
input_usd_per_mtok = 0.02
output_usd_per_mtok = 0.1
cache_read_usd_per_mtok = 0.002

[providers.openai.pricing."fake-model"]
input_usd_per_mtok = 3.0
output_usd_per_mtok = 15.0
cache_read_usd_per_mtok = 0.3
"""
"""The prices let the gate pay for summaries; it declines where the agent's own tokens have none or cost less."""

ARMS: tuple[Arm, ...] = (
    Arm("direct", "results", settings=None, finishes=False),
    Arm("no-budget", "results", settings="", finishes=False),
    Arm("mask", "results", settings=_MASKS, finishes=True, clears=True),
    Arm("direct-arguments", "arguments", settings=None, finishes=False),
    Arm("mask-arguments", "arguments", settings=_MASKS, finishes=False),
    Arm("model", "arguments", settings=_MODEL, finishes=True, summarises=True, model=True),
    Arm("structural", "arguments", settings=_STRUCTURAL, finishes=True, summarises=True),
)


def main(arguments: Sequence[str]) -> int:
    """Run the chosen clients through the chosen arms, one run after the other."""
    options = _options(arguments)
    chosen = [client for client in CLIENTS if client.name in options.only.split(",")]
    arms = [arm for arm in ARMS if not options.arms or arm.name in options.arms.split(",")]
    outcomes, failures = list[Outcome](), dict[str, str]()
    folder = options.keep or Path(tempfile.mkdtemp(prefix="coldpress-overflow-"))
    for client in chosen:
        for arm in arms:
            name = f"{client.name}, {arm.name}"
            print(f"{name} ...", file=sys.stderr, flush=True)
            try:
                package = installed(client.package, options.dir)
                own = folder / client.name / arm.name
                own.mkdir(parents=True)
                outcomes.append(run_arm(arm, client, package, own, timeout_seconds=options.timeout))
            except (InstallFailed, TrialFailed) as error:
                failures[name] = str(error)
    problems = {f"{o.client}, {o.arm}": o.problem for o in outcomes if o.problem} | failures
    if options.json:
        print(json.dumps({"runs": [asdict(outcome) for outcome in outcomes], "problems": problems}, indent=1))
    else:
        print(table([HEADS, *(_row(outcome) for outcome in outcomes)]))
        for name, problem in problems.items():
            print(f"{name}: {problem}")
        runs = len(chosen) * len(arms)
        print(f"{runs - len(problems)} of {runs} runs ended as they have to")
    if options.keep is None and not problems:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        print(f"homes, workspaces and traces are in {folder}", file=sys.stderr)
    return 1 if problems else 0


def _row(outcome: Outcome) -> tuple[str, ...]:
    numbers = (
        outcome.requests, outcome.largest_tokens, outcome.overflowed + outcome.refused, outcome.cleared,
        outcome.summarised, outcome.summaries, outcome.seconds,
    )  # fmt: skip
    ended = "yes" if outcome.finished else "overflow" if outcome.overflowed else "NO"
    return (outcome.arm, outcome.client, outcome.wire, ended, *map(str, numbers))


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="clients/overflow.py", description=__doc__.splitlines()[0] if __doc__ else None
    )
    names = {"only": [client.name for client in CLIENTS], "arms": [arm.name for arm in ARMS]}
    parser.add_argument("--only", metavar="CLIENTS", default=USUAL, help=f"of {', '.join(names['only'])} ({USUAL})")
    parser.add_argument("--arms", metavar="ARMS", default="", help=f"of {', '.join(names['arms'])} (all)")
    parser.add_argument(
        "--dir", type=Path, default=CACHE, metavar="FOLDER", help=f"where clients are installed ({CACHE})"
    )
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="where homes, workspaces and traces go; must be new"
    )
    parser.add_argument("--timeout", type=float, default=180.0, metavar="SECONDS", help="for each run (180)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    for option, known in names.items():
        unknown = set(getattr(options, option).split(",")) - set(known) - {""}
        if unknown:
            parser.error(f"--{option}: there is no {', '.join(sorted(unknown))}; see --help")
    return options


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
