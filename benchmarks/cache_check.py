"""Compare the simulated prefix cache with the usage that recorded runs report, session by session.

    python benchmarks/cache_check.py FOLDER [FOLDER...] [--json] [--plot FILE]

Reads recordings of Claude Code, pi and mini-swe-agent. Given are the text, the times and the size of every prompt;
foretold is how much of it is read, written and fresh, and what that costs. Nothing is sent anywhere.
"""

from __future__ import annotations

import argparse
import functools
import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from coldpress.lab.cache_check import Check, Compared, Session, check_session, together
from coldpress.lab.cache_clients import CLIENTS
from coldpress.lab.cache_losses import (
    bill_error_interval,
    expected_bills,
    held_out_bills,
    losses,
    rate_interval,
)
from coldpress.lab.importers.any import kind_of, read_file
from coldpress.lab.stats import SEED, Interval
from coldpress.measure.tokens import estimate

BUCKETS = ("read", "write_short", "write_long", "fresh")
TOGETHER = "together"
WORST = 25
"""Requests that are listed."""
"""Of the intervals, which draw whole sessions."""


def say(text: str) -> None:
    """Tell how far the work is, apart from results."""
    print(text, file=sys.stderr, flush=True)


def sessions(folder: Path) -> Iterator[Session]:
    """Check every recording of a folder whose client is known."""
    count = functools.cache(estimate)
    files = sorted(path for path in folder.iterdir() if path.suffix in (".json", ".jsonl"))
    for number, file in enumerate(files, 1):
        client = CLIENTS.get(kind_of(file))
        if client is None:
            say(f"{file.name}: left out, what its client does with the cache is not known")
            continue
        yield check_session(file.stem, read_file(file).trajectories, client, count)
        say(f"{folder.name}: {number} of {len(files)}")


def percent(share: float | None) -> str:
    """Write a signed share."""
    return "unknown" if share is None else f"{share:+.2%}"


def pair(found: tuple[int, int]) -> str:
    """Write reported and simulated tokens."""
    return f"{found[0]:>11,} {found[1]:>11,}"


def session_row(session: Session) -> str:
    """Write one session."""
    tokens = "  ".join(pair(session.tokens(bucket)) for bucket in BUCKETS)
    return (
        f"{session.name[:26]:<26} {len(session.scored):>5}  {tokens}"
        f"  {percent(session.read_error):>8} {percent(session.bill_error):>8}"
    )


def request_row(name: str, request: Compared) -> str:
    """Write one request whose read is far off."""
    notes = ", ".join(request.notes) or "-"
    return (
        f"{name[:26]:<26} {request.chain[-8:]:>8} {request.turn:>5} {request.reported.prompt or 0:>9,}"
        f" {request.reported.read or 0:>9,} {request.simulated.read or 0:>9,}  {notes}"
    )


def table(name: str, check: Check) -> str:
    """Write the figures of one set of sessions for a person."""
    heads = "  ".join(f"{bucket:>11} {'simulated':>11}" for bucket in BUCKETS)
    reported, simulated = check.bills_usd
    errors = check.read_errors
    spread = ", ".join(f"{errors[int(share * (len(errors) - 1))]:.2%}" for share in (0.75, 0.9, 1.0)) if errors else "-"
    middle = "unknown" if check.median_read_error is None else f"{check.median_read_error:.2%}"
    lost = sum(request.lost for request in check.scored)
    lived = sum(request.lived_on for request in check.scored)
    rows = [
        f"\n{name}: {len(check.sessions)} sessions, {len(check.scored)} requests foretold, {check.unpriced} unpriced",
        f"{'session':<26} {'req.':>5}  {heads}  {'read':>8} {'bill':>8}",
        *(session_row(session) for session in check.sessions),
        f"{'together':<26} {len(check.scored):>5}  " + "  ".join(pair(check.tokens(bucket)) for bucket in BUCKETS),
        f"error in read tokens of a session, without its sign: median {middle}, 75th, 90th, 100th percentile {spread}",
        f"input bill: reported {reported:.2f} USD, simulated {simulated:.2f} USD, {percent(check.bill_error)}",
        f"  {lost} requests read less than half of a prefix that should have been warm, {lived} more than twice what"
        f" should have been left; without them {percent(check.plain_bill_error)}",
        *losses_text(check),
        "worst requests:",
        f"{'session':<26} {'chain':>8} {'turn':>5} {'prompt':>9} {'read':>9} {'simulated':>9}  known of it",
    ]
    worst = sorted(
        ((session.name, request) for session in check.sessions for request in session.notable),
        key=lambda found: -abs(found[1].read_error),
    )
    return "\n".join([*rows, *(request_row(*found) for found in worst[:WORST])])


def rates(check: Check) -> dict[str, Interval | None]:
    """Give the rate of losses of each provider, fitted on all sessions of this set."""
    providers = sorted({session.provider for session in check.sessions})
    return {p: rate_interval([s for s in check.sessions if s.provider == p], seed=SEED) for p in providers}


def bill_errors(check: Check) -> dict[str, Interval | None]:
    """Give the error of the whole bill by the rules alone, and with losses whose rate is fitted on other sessions."""
    number = len(check.sessions)
    found = {"rules alone": [expected_bills(session, 0.0) for session in check.sessions]}
    if number > 1:
        found["with losses, one session left out"] = list(held_out_bills(check.sessions, folds=number))
        found["with losses, one half left out"] = list(held_out_bills(check.sessions, folds=2))
    return {name: bill_error_interval(bills, seed=SEED) for name, bills in found.items()}


def interval(found: Interval | None) -> str:
    """Write a share with its interval; with one session there is none."""
    if found is None:
        return "unknown"
    if found.sessions == 1:
        return f"{found.value:+.2%} (1 session, no interval)"
    return f"{found.value:+.2%} ({found.low:+.2%} to {found.high:+.2%}, {found.sessions} sessions)"


def losses_text(check: Check) -> list[str]:
    """Write the bill's error and the rates of losses."""
    counts = {p: losses([s for s in check.sessions if s.provider == p]) for p in rates(check)}
    return [
        *(f"error of the bill, {name}: {interval(found)}" for name, found in bill_errors(check).items()),
        *(
            f"fitted: of {counts[p].warm} warm prefixes of {p} {counts[p].lost} were lost, {interval(found)}"
            for p, found in rates(check).items()
        ),
    ]


def as_json(check: Check) -> dict[str, object]:
    """Give the figures for a program."""
    return {
        "requests": len(check.scored),
        "unpriced": check.unpriced,
        "bills_usd": check.bills_usd,
        "bill_error": check.bill_error,
        "bill_error_without_lost": check.plain_bill_error,
        "bill_error_intervals": {name: found and asdict(found) for name, found in bill_errors(check).items()},
        "loss_rates": {name: found and asdict(found) for name, found in rates(check).items()},
        "median_read_error": check.median_read_error,
        "tokens": {bucket: check.tokens(bucket) for bucket in BUCKETS},
        "sessions": [
            {
                "name": session.name,
                "requests": len(session.scored),
                "read_error": session.read_error,
                "bill_error": session.bill_error,
                "tokens": {bucket: session.tokens(bucket) for bucket in BUCKETS},
                "notable": [asdict(request) for request in session.notable],
            }
            for session in check.sessions
        ],
    }


def draw(path: Path, checks: dict[str, Check]) -> None:
    """Draw each session's error in read tokens, its simulated bill over the reported one, and every request's read."""
    # Read late: only a caller who wants a picture needs the package.
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(15, 4), layout="constrained")
    left, right, each = figure.subplots(1, 3)
    groups = {name: check for name, check in checks.items() if name != TOGETHER}
    for name, check in groups.items():
        errors = [100 * error for error in check.read_errors]
        left.plot([(i + 1) / len(errors) for i in range(len(errors))], errors, marker=".", label=name)
        bills = [together([session]).bills_usd for session in check.sessions]
        right.scatter([bill for bill, _ in bills], [bill for _, bill in bills], s=14, label=name)
    left.set(xlabel="share of sessions", ylabel="error in read tokens, %", yscale="symlog")
    for name, check in groups.items():
        reads = [(request.reported.read or 0, request.simulated.read or 0) for request in check.scored]
        each.scatter([one / 1000 for one, _ in reads], [two / 1000 for _, two in reads], s=4, label=name)
    each.set(xlabel="reported read of a request, thousand tokens", ylabel="simulated")
    top = max((bill for check in groups.values() for bill in check.bills_usd), default=1.0)
    right.plot([0.01, top], [0.01, top], color="0.6", linewidth=0.8)
    right.set(xlabel="reported input bill, USD", ylabel="simulated input bill, USD", xscale="log", yscale="log")
    left.legend()
    figure.savefig(path)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, check, print."""
    reader = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    reader.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="holds recordings")
    reader.add_argument("--json", action="store_true", help="print one JSON object")
    reader.add_argument("--plot", type=Path, metavar="FILE", help="draw the errors; needs matplotlib")
    options = reader.parse_args(arguments)
    missing = [str(folder) for folder in options.folders if not folder.is_dir()]
    if missing:
        reader.error(f"no such folder: {', '.join(missing)}")
    began = time.perf_counter()
    found = {folder.name: tuple(sessions(folder)) for folder in options.folders}
    say(f"checked in {time.perf_counter() - began:.0f} s")
    if len(found) > 1:
        found[TOGETHER] = sum(found.values(), ())
    checks = {name: together(group) for name, group in found.items() if group}
    if options.plot is not None:
        draw(options.plot, checks)
    about = {
        "given": "text, times and whole size of every prompt",
        "prices": f"genai-prices {version('genai-prices')}, at the time of each request; input only",
        "coldpress": version("coldpress"),
    }
    if options.json:
        print(json.dumps({**about, "figures": {name: as_json(check) for name, check in checks.items()}}, indent=1))
        return
    print("\n".join(f"{key}: {value}" for key, value in about.items()))
    print("\n".join(table(name, check) for name, check in checks.items()))


if __name__ == "__main__":
    main()
