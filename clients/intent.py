"""Run real clients with the plugin `intent` on, off and inferring, and print what each of them came to see of it.

    python clients/intent.py                   every client; installs what is missing from npm and PyPI
    python clients/intent.py --only pi,omp     some of them
    python clients/intent.py --json            one JSON object

Needs what `clients/run.py` needs, whose clients and folders it shares. Exit code 0: every client did its work and never
met the field, and the upstream was shown what the model wrote; 1: one did not, or could not be installed; 2: wrong
options.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from catalogue import CLIENTS, Client
from install import InstallFailed, installed
from intent_check import cached_share, executed, identical, infer_problems, prefixes, problems, restored, tool_tokens
from intent_trial import replayed, run_mode
from processes import TrialFailed
from run import CACHE
from table import table

HEADS = (
    "client",
    "wire",
    "as it has to be",
    "calls made",
    "reasons",
    "told again",
    "tools",
    "tokens a tool",
    "prefix off",
    "prefix on",
    "cached off",
    "cached on",
    "infer identical",
    "seconds",
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one client did in its three runs.

    Attributes:
        client, wire: which.
        calls: calls that the client was asked to make with the plugin on, but for one that ends its task.
        executed: of these, how many came back with what they have to give.
        captured: calls of which `/stats` knows the reason.
        asked: calls that were to say one.
        restored: earlier calls that the upstream was shown as the model wrote them, over all requests.
        history: earlier calls that the client had got otherwise, over all requests.
        tools: tools of the last request.
        tool_tokens: what the plugins added to one, on average, estimated.
        pairs: requests that followed another.
        kept_off, kept_on: of these, how many began with the messages of the one before, without and with the plugin.
        cached_off, cached_on: share of all prompt tokens that the upstream read from its cache.
        infer_requests: requests of the run that infers reasons.
        infer_identical: of these, how many reached the upstream as they do without plugins.
        seconds: how long the client took, over the three runs.
        problems: what is not as it has to be.
    """

    client: str
    wire: str
    calls: int
    executed: int
    captured: int
    asked: int
    restored: int
    history: int
    tools: int
    tool_tokens: int
    pairs: int
    kept_off: int
    kept_on: int
    cached_off: float
    cached_on: float
    infer_requests: int
    infer_identical: int
    seconds: float
    problems: tuple[str, ...]


def main(arguments: Sequence[str]) -> int:
    """Run the chosen clients one after the other."""
    options = _options(arguments)
    chosen = [client for client in CLIENTS if not options.only or client.name in options.only.split(",")]
    outcomes, wrong = list[Outcome](), dict[str, Sequence[str]]()
    folder = options.keep or Path(tempfile.mkdtemp(prefix="coldpress-intent-"))
    for client in chosen:
        try:
            package = installed(client.package, options.dir)
            print(f"{client.name} ...", file=sys.stderr, flush=True)
            outcomes.append(run_client_modes(client, package, folder / client.name, timeout_seconds=options.timeout))
        except (InstallFailed, TrialFailed) as error:
            wrong[client.name] = [str(error)]
    wrong |= {outcome.client: outcome.problems for outcome in outcomes if outcome.problems}
    if options.json:
        print(json.dumps({"clients": [asdict(outcome) for outcome in outcomes], "problems": wrong}, indent=1))
    else:
        print(table([HEADS, *(_row(outcome) for outcome in outcomes)]))
        for name, told in wrong.items():
            print("\n".join(f"{name}: {problem}" for problem in told))
        print(f"{len(chosen) - len(wrong)} of {len(chosen)} clients did as they have to, and never met the field")
    if options.keep is None and not wrong:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        print(f"homes, workspaces and traces are in {folder}", file=sys.stderr)
    return 1 if wrong else 0


def run_client_modes(client: Client, package: Path, folder: Path, *, timeout_seconds: float) -> Outcome:
    """Run a client without the plugin, with it, and with it inferring, and compare the three.

    Raises:
        TrialFailed: coldpress did not start or did not answer.
    """
    runs = {}
    for mode in ("off", "capture", "infer"):
        (folder / mode).mkdir(parents=True)
        runs[mode] = run_mode(client, package, folder / mode, mode, timeout_seconds=timeout_seconds)
    off, on, infer = runs["off"], runs["capture"], runs["infer"]
    for mode, run in runs.items():
        if not run.sent:
            raise TrialFailed(f"{mode}: no request reached the upstream; {run.ended or 'the client ended well'}")
    without = replayed(infer, client, folder / "replayed")
    capture = on.stats["capture"].values()
    told, history = restored(client.wire, on)
    kept_off, kept_on = prefixes(client.wire, off), prefixes(client.wire, on)
    return Outcome(
        client=client.name,
        wire=client.wire,
        calls=sum(bool(call.shows) for call in on.written),
        executed=executed(client.wire, on),
        captured=sum(row["captured"] for row in capture),
        asked=sum(row["calls"] for row in capture),
        restored=told,
        history=history,
        tools=len(on.heard[-1].tools),
        tool_tokens=tool_tokens(client.wire, on),
        pairs=len(kept_on),
        kept_off=sum(kept_off),
        kept_on=sum(kept_on),
        cached_off=round(cached_share(off), 4),
        cached_on=round(cached_share(on), 4),
        infer_requests=len(infer.sent),
        infer_identical=identical(infer, without),
        seconds=round(off.seconds + on.seconds + infer.seconds, 1),
        problems=(*problems(client, on, off), *infer_problems(client, infer, without)),
    )


def _row(o: Outcome) -> tuple[str, ...]:
    return (
        o.client, o.wire, "NO" if o.problems else "yes", f"{o.executed} of {o.calls}", f"{o.captured} of {o.asked}",
        f"{o.restored} of {o.history}", str(o.tools), str(o.tool_tokens), f"{o.kept_off} of {o.pairs}",
        f"{o.kept_on} of {o.pairs}", f"{o.cached_off:.1%}", f"{o.cached_on:.1%}",
        f"{o.infer_identical} of {o.infer_requests}", str(o.seconds),
    )  # fmt: skip


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    about = __doc__.splitlines()[0] if __doc__ else None
    parser = argparse.ArgumentParser(prog="clients/intent.py", description=about)
    parser.add_argument("--only", metavar="NAMES", help=f"of {', '.join(client.name for client in CLIENTS)}")
    parser.add_argument(
        "--dir", type=Path, default=CACHE, metavar="FOLDER", help=f"where clients are installed ({CACHE})"
    )
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="where homes, workspaces and traces go; must be new"
    )
    parser.add_argument("--timeout", type=float, default=180.0, metavar="SECONDS", help="for each run (180)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    unknown = set((options.only or "").split(",")) - {client.name for client in CLIENTS} - {""}
    if unknown:
        parser.error(f"no client is called {', '.join(sorted(unknown))}; see --help")
    return options


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
