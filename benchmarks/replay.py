"""Replay recorded Claude Code sessions through the driver, a simulated provider behind it, and bill them both ways.

    python benchmarks/replay.py FOLDER [FOLDER...] [--tariff NAME] [--source-age N|exact] [--first-sight] [--json]

Simulated and open-loop: recorded replies and times stay as they were, the cache is a model, nothing is sent anywhere.
The driver is the gateway's own, and is told what the provider would report. Beside its bill stand the client's own,
what `coldpress.lab.schedules` foretold for the same rule, and what the ledger says was saved. Without `--tariff` and
`--source-age` all of them are replayed, some 15 seconds each for 3,000 requests.
"""

from __future__ import annotations

import argparse
import functools
import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from coldpress.lab import arms
from coldpress.lab.importers.claude_code import read_file
from coldpress.lab.recorded import Recorded
from coldpress.lab.replay import Replay, remember
from coldpress.lab.replay_report import Bill, Summary, bill_of, foretell
from coldpress.lab.replay_service import STRUCTURE_TOKENS, Service, settings_of
from coldpress.lab.stats import RESAMPLES, SEED
from coldpress.lab.tariffs import TARIFFS
from coldpress.measure.tokens import estimate
from coldpress.model.trajectory import Trajectory
from coldpress.stores.memory import MemoryStore

PROVIDERS = {
    "claude": "anthropic",
    "gpt": "openai",
    "deepseek": "deepseek",
    "reference": "deepseek",
    "server": "none",
}
"""Who serves a tariff, by the first word of its name."""

SOURCE_AGES: tuple[int | None, ...] = (5, 20, None)


@dataclass(frozen=True, slots=True)
class Recording:
    """A session file, and the requests that each of its conversations made."""

    name: str
    trajectories: tuple[Trajectory, ...]

    @property
    def lengths(self) -> list[int]:
        """Requests of each conversation."""
        return [trajectory.requests for trajectory in self.trajectories]


def say(text: str) -> None:
    """Tell how far the work is, apart from results."""
    print(text, file=sys.stderr, flush=True)


def age_of(text: str) -> int | None:
    """Read an age from the command line."""
    if text == "exact":
        return None
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no age; give turns, 1 or more, or exact")
    return int(text)


def service_of(name: str, given: argparse.Namespace) -> Service:
    """Give the provider of a tariff."""
    provider = PROVIDERS[name.split("-", maxsplit=1)[0].split(" ", maxsplit=1)[0]]
    if given.as_schedules:
        return Service(TARIFFS[name](), provider, lives_from="request", structure_tokens=0)
    return Service(TARIFFS[name](), provider)


def bills(
    recordings: Sequence[Recording], service: Service, source_age: int | None, given: argparse.Namespace
) -> Iterator[Bill]:
    """Replay every recording, each with a store of its own."""
    for recording in recordings:
        replay = Replay(Recorded(recording.name, recording.trajectories, functools.cache(estimate)), service)
        settings = settings_of(
            service,
            source_age=source_age,
            first_sight=given.first_sight,
            keep_thinking=given.keep_thinking,
            models=replay.models,
        )
        store = MemoryStore()
        if given.survival:
            remember(store, [n for other in recordings if other is not recording for n in other.lengths])
        arm = arms.ours(arms.fixed(settings.expected_applications))
        foretold = foretell(replay.layouts, service.tariff, source_age=source_age, arm=arm)
        yield bill_of(recording.name, replay.run(settings, store=store), foretold)


def row(name: str, source_age: int | None, found: Summary) -> str:
    """Write one configuration for a person."""
    control, ours, saved, used = (
        found.total_usd("control_usd"),
        found.total_usd("ours_usd"),
        found.saved,
        found.evidence,
    )
    share = "unknown" if saved is None else f"{saved.value:7.2%} [{saved.low:6.2%}, {saved.high:6.2%}]"
    books = found.total_usd("books_usd")
    cuts = ", ".join(f"{reason} {count}" for reason, count in sorted(found.cuts.items()))
    beliefs = ", ".join(f"{belief} {count}" for belief, count in sorted(found.beliefs.items()))
    return (
        f"{name:<23} {source_age or 'exact':>5} {control:>9.3f} {ours:>9.3f} {share:>25} {found.foretold:>8.2%}"
        f" {books:>8.3f} of {control - ours:>7.3f}  {used.edits_lost:>3} of {used.edits_of_results} of {used.edits}\n"
        f"    cuts: {cuts or 'none'}\n    believed: {beliefs}"
    )


def figures(name: str, source_age: int | None, found: Summary) -> dict[str, object]:
    """Give one configuration as JSON values."""
    saved, used = found.saved, found.evidence
    return {
        "tariff": name,
        "source_age": source_age,
        "requests": found.requests,
        "control_usd": found.total_usd("control_usd"),
        "ours_usd": found.total_usd("ours_usd"),
        "saved": None if saved is None else [saved.value, saved.low, saved.high],
        "foretold": found.foretold,
        "books_usd": found.total_usd("books_usd"),
        "requests_without_books": found.total_usd("unpriced"),
        "edits": used.edits,
        "edits_of_results": used.edits_of_results,
        "edits_lost": used.edits_lost,
        "cuts": dict(found.cuts),
        "beliefs": dict(found.beliefs),
        "recordings": {
            bill.recording: {
                "requests": bill.requests,
                "control_usd": bill.control_usd,
                "ours_usd": bill.ours_usd,
                "books_usd": bill.books_usd,
                "foretold_control_usd": bill.foretold.control_usd,
                "foretold_usd": bill.foretold.ours_usd,
            }
            for bill in found.bills
        },
    }


def options() -> argparse.Namespace:
    """Read the command line."""
    reader = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    reader.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="holds Claude Code's session files")
    reader.add_argument("--tariff", action="append", choices=tuple(TARIFFS), help="may be given several times")
    reader.add_argument("--source-age", action="append", type=age_of, metavar="N|exact", help="likewise")
    reader.add_argument("--first-sight", action="store_true", help="press at first sight too, not only aged results")
    reader.add_argument("--keep-thinking", action="store_true", help="spare results before reasoning bound to them")
    reader.add_argument("--survival", action="store_true", help="let the store know the lengths of the other sessions")
    reader.add_argument(
        "--as-schedules", action="store_true", help="count texts alone and lifetimes from the request, as schedules do"
    )
    reader.add_argument("--json", action="store_true", help="print one JSON object")
    given = reader.parse_args()
    empty = [str(folder) for folder in given.folders if not any(folder.glob("*.jsonl"))]
    if empty:
        reader.error(f"no session files (*.jsonl) in {', '.join(empty)}")
    return given


def main() -> None:
    """Read, replay, print."""
    given = options()
    files = [file for folder in given.folders for file in sorted(folder.glob("*.jsonl"))]
    recordings = [Recording(file.stem, tuple(read_file(file).trajectories)) for file in files]
    about = {
        "loop": "open; bills are simulated, input only",
        "pressed": "at first sight and aged" if given.first_sight else "aged results only",
        "thinking": "kept where it is bound" if given.keep_thinking else "may be lost (allow_thinking_loss)",
        "forecast": "survival curve of the other sessions" if given.survival else "expected_applications",
        "structure_tokens": 0 if given.as_schedules else STRUCTURE_TOKENS,
        "lives_from": "request" if given.as_schedules else "reply",
        "interval": f"95 %, percentile bootstrap over recordings, {RESAMPLES} resamples, seed {SEED}",
        "coldpress": version("coldpress"),
    }
    if not given.json:
        print("\n".join(f"{key}: {value}" for key, value in about.items()))
        print(
            "tariff, source age, control and ours in USD, saved, foretold, books, edits lost of those quoting results"
        )
    found = []
    for name in given.tariff or TARIFFS:
        service = service_of(name, given)
        for source_age in given.source_age or SOURCE_AGES:
            began = time.perf_counter()
            summary = Summary(tuple(bills(recordings, service, source_age, given)))
            say(f"{name}, {source_age or 'exact'}: {time.perf_counter() - began:.0f} s")
            found.append(figures(name, source_age, summary))
            if not given.json:
                print(row(name, source_age, summary), flush=True)
    if given.json:
        print(json.dumps({**about, "replays": found}, indent=1))


if __name__ == "__main__":
    main()
