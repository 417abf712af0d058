"""Replay recorded sessions in artificial windows and compare ways to keep to them: bill, validity, evidence loss.

    python benchmarks/compaction.py FOLDER [FOLDER...] [--tariff NAME] [--window PERCENT] [--arm NAME] [--json]

Simulated and open-loop: recorded replies and times stay as they were, the cache is a model, nothing is sent anywhere
and no model is asked (summaries are written by rules). A window is a share of the longest prompt of its recording. The
control sends what the client wrote, however long that is. Without options every arm is played at three windows and two
tariffs: for nine sessions of 140 to 290 requests that takes half an hour.
"""

from __future__ import annotations

import argparse
import functools
import json
import platform
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import about
from replay import service_of

from coldpress.lab.compaction import ARMS, NO_BUDGET, Played, Recording, peak_tokens, play
from coldpress.lab.compaction_report import Case, events_table, groups, over_table, pairs_table, table
from coldpress.lab.importers.any import read_file
from coldpress.lab.replay_service import Service
from coldpress.lab.stats import RESAMPLES, SEED, Interval
from coldpress.lab.tariffs import TARIFFS
from coldpress.measure.tokens import estimate
from coldpress.model.errors import RecordingError
from coldpress.testing.anthropic_rules import check_messages_request

TARIFF_NAMES = ("claude-opus-4-6", "deepseek-v4-pro")
WINDOWS = (40, 60, 80)
LEAST_REQUESTS = 40
"""Shorter recordings are mostly head: nothing between task and newest turns can go."""


def say(text: str) -> None:
    """Tell how far the work is, apart from results."""
    print(text, file=sys.stderr, flush=True)


def objection(body: bytes) -> str | None:
    """Say what the strict stand-in of the provider would refuse."""
    refusal = check_messages_request(json.loads(body))
    return None if refusal is None else refusal.message


def percent(text: str) -> int:
    """Read a window from the command line."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no window; give percent of the longest prompt, 1 or more")
    return int(text)


def recordings(files: Sequence[Path], service: Service, least_requests: int) -> Iterator[Recording]:
    """Read every file that holds enough requests of one conversation."""
    for file in files:
        try:
            imported = read_file(file)
        except RecordingError as error:
            say(f"left out: {error}")
            continue
        longest = max((one.requests for one in imported.trajectories), default=0)
        if longest < least_requests:
            say(f"left out: {file.name}, {longest} requests")
            continue
        count = functools.cache(estimate)
        yield Recording(file.stem, tuple(imported.trajectories), service, count, objection, imported.head)


def cases(files: Sequence[Path], given: argparse.Namespace) -> Iterator[Case]:
    """Play everything that is asked for."""
    for tariff in given.tariff or TARIFF_NAMES:
        service = service_of(tariff, argparse.Namespace(as_schedules=False))
        for recording in recordings(files, service, given.least_requests):
            began, peak = time.perf_counter(), peak_tokens(recording)
            yield Case(tariff, None, play(recording, NO_BUDGET, None))
            for window in given.window or WINDOWS:
                for name in given.arm or ARMS:
                    yield Case(tariff, window / 100, play(recording, ARMS[name], round(peak * window / 100)))
            say(f"{tariff}, {recording.name}, longest prompt {peak:,}: {time.perf_counter() - began:.0f} s")


def conditions(found: Sequence[Case], given: argparse.Namespace) -> dict[str, object]:
    """Say what the numbers were made with."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "command": " ".join(("python benchmarks/compaction.py", *_options(given))),
        "machine": about.machine(),
        "python": platform.python_version(),
        "coldpress": about.software(Path())["coldpress"],
        "loop": "open; simulated, input only; summaries by rules, no model asked",
        "recordings": len({case.played.recording for case in found}),
        "requests": sum(
            case.played.requests for case in found if case.share is None and case.tariff == found[0].tariff
        ),
        "budget": "trigger 65 %, target 45 %, urgent 90 % of the window, 6 turns kept, at least 10 % freed",
        "settings": "first sight and aged results on, reads aged by no rule, allow_thinking_loss",
        "interval": f"95 %, percentile bootstrap over recordings, {RESAMPLES:,} resamples, seed {SEED}",
    }


def _options(given: argparse.Namespace) -> Iterator[str]:
    yield "FOLDER..."
    for name in ("tariff", "window", "arm"):
        yield from (f"--{name} {value}" for value in getattr(given, name) or ())
    if given.least_requests != LEAST_REQUESTS:
        yield f"--least-requests {given.least_requests}"


def as_json(found: Sequence[Case]) -> list[dict[str, object]]:
    """Give groups with their intervals and every pair, as JSON values."""
    rows: list[dict[str, object]] = []
    for group in groups(found):
        shares = ("saved", "shorter", "edits_lost", "identifiers_lost")
        rows.append(
            {
                "tariff": group.tariff,
                "window_share": group.share,
                "arm": group.arm,
                **{name: _plain(getattr(group, name)) for name in shares},
                "reasons": dict(group.reasons),
                "findings": dict(group.findings),
                "recordings": [_figures(one) for one in group.played],
            }
        )
    return rows


def _figures(one: Played) -> dict[str, object]:
    return {**asdict(one), "findings": dict(one.findings)}


def _plain(interval: Interval | None) -> dict[str, float] | None:
    return None if interval is None else asdict(interval)


def page(found: Sequence[Case], said: dict[str, object]) -> Iterator[str]:
    """Write everything as Markdown."""
    yield "# Compaction in artificial windows\n"
    yield from (f"- {key}: {value}" for key, value in said.items())
    summed = groups(found)
    yield "\n## Arms\n"
    yield from table(summed)
    yield "\n## Above the trigger\n"
    yield from events_table(summed)
    yield "\n## Requests above the window, with summaries\n"
    yield from over_table(found)
    yield "\n## Pairs\n"
    yield from pairs_table(found)


def options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    reader = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    reader.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="holds recordings")
    reader.add_argument("--tariff", action="append", choices=tuple(TARIFFS), help="may be given several times")
    reader.add_argument(
        "--window", action="append", type=percent, metavar="PERCENT", help="of the longest prompt of each recording"
    )
    reader.add_argument("--arm", action="append", choices=tuple(ARMS), help="likewise; the control is always there")
    reader.add_argument(
        "--least-requests",
        type=int,
        default=LEAST_REQUESTS,
        metavar="N",
        help="leave shorter recordings out (%(default)s)",
    )
    reader.add_argument("--json", action="store_true", help="print one JSON object with every event and every pair")
    given = reader.parse_args(arguments)
    missing = [str(folder) for folder in given.folders if not folder.is_dir()]
    if missing:
        reader.error(f"no such folder: {', '.join(missing)}")
    return given


def main(arguments: Sequence[str] | None = None) -> None:
    """Read, play, print."""
    given = options(arguments)
    files = sorted(path for folder in given.folders for path in folder.iterdir() if path.suffix in (".json", ".jsonl"))
    found = list(cases(files, given))
    if not found:
        raise SystemExit(f"no recording with {given.least_requests} requests or more; see --least-requests")
    said = conditions(found, given)
    if given.json:
        print(json.dumps({**said, "groups": as_json(found)}, indent=1))
    else:
        print("\n".join(page(found, said)))


if __name__ == "__main__":
    main()
