"""Run real clients through coldpress against a strict scripted upstream, and print what came of it.

    python clients/run.py                      every client; installs what is missing from npm and PyPI
    python clients/run.py --only pi,opencode   some of them
    python clients/run.py --json               one JSON object

Needs coldpress installed in this Python, node and npm, git, and on the first run the network. The clients themselves
talk to loopback only, with keys that are none, each with a home and a workspace of its own. Exit code 0: every client
finished as it has to; 1: one did not, or could not be installed; 2: wrong options.
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

from catalogue import CLIENTS, Client
from install import InstallFailed, installed
from processes import TrialFailed
from table import table
from trial import Outcome, run_trial

CACHE = Path.home() / ".cache" / "coldpress-clients"
HEADS = (
    "client",
    "wire",
    "finished",
    "requests",
    "streamed",
    "refused",
    "pressed",
    "saved bytes",
    "recalled",
    "seconds",
)


def main(arguments: Sequence[str]) -> int:
    """Run the chosen clients one after the other."""
    options = _options(arguments)
    chosen = [client for client in CLIENTS if not options.only or client.name in options.only.split(",")]
    outcomes, failures = [], dict[str, str]()
    folder = options.keep or Path(tempfile.mkdtemp(prefix="coldpress-clients-"))
    for client in chosen:
        try:
            outcomes.append(_run(client, options.dir, folder / client.name, options.timeout))
        except (InstallFailed, TrialFailed) as error:
            failures[client.name] = str(error)
            print(f"{client.name}: {error}", file=sys.stderr, flush=True)
    problems = {outcome.client: outcome.problem for outcome in outcomes if outcome.problem} | failures
    if options.json:
        print(json.dumps({"clients": [asdict(outcome) for outcome in outcomes], "problems": problems}, indent=1))
    else:
        print(_table(outcomes))
        for name, problem in problems.items():
            print(f"{name}: {problem}")
        print(f"{len(chosen) - len(problems)} of {len(chosen)} clients finished as they have to")
    if options.keep is None and not problems:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        print(f"homes, workspaces and traces are in {folder}", file=sys.stderr)
    return 1 if problems else 0


def _run(client: Client, cache: Path, folder: Path, timeout_seconds: float) -> Outcome:
    package = installed(client.package, cache)
    print(f"{client.name} ...", file=sys.stderr, flush=True)
    folder.mkdir(parents=True)
    return run_trial(client, package, folder, timeout_seconds=timeout_seconds)


def _table(outcomes: Sequence[Outcome]) -> str:
    rows = [HEADS] + [
        (
            o.client, o.wire, "yes" if o.finished else "NO", str(o.requests), str(o.streamed), str(o.refused),
            str(o.pressed), str(o.saved_bytes), f"{o.recalled} of {o.pressed}", str(o.seconds),
        )
        for o in outcomes
    ]  # fmt: skip
    return table(rows)


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="clients/run.py", description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", metavar="NAMES", help=f"of {', '.join(client.name for client in CLIENTS)}")
    parser.add_argument(
        "--dir", type=Path, default=CACHE, metavar="FOLDER", help=f"where clients are installed ({CACHE})"
    )
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="where homes, workspaces and traces go; must be new"
    )
    parser.add_argument("--timeout", type=float, default=180.0, metavar="SECONDS", help="for each client (180)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    unknown = set((options.only or "").split(",")) - {client.name for client in CLIENTS} - {""}
    if unknown:
        parser.error(f"no client is called {', '.join(sorted(unknown))}; see --help")
    return options


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
