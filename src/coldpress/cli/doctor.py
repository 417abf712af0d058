"""`coldpress doctor`: say what goes wrong with conversations of late, and what to do about it."""

from __future__ import annotations

import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from coldpress.cli.open_store import opened
from coldpress.cli.options import FiniteRange, config_option, json_option, load_for_reading, store_option
from coldpress.cli.output import print_json, printable, say_count, say_time, warn
from coldpress.cli.reach import Reach, reach, stranded_clients
from coldpress.cli.symptoms import Symptom, symptoms
from coldpress.config.settings import Settings
from coldpress.stores.base import DAY_SECONDS, LedgerEntry


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What doctor says, over `requests` of the last days; `above_trigger` of them came up to their trigger."""

    gateway: Reach
    days: float
    requests: int
    above_trigger: int
    found: tuple[Symptom, ...]
    warnings: tuple[str, ...]


@click.command("doctor")
@config_option
@store_option
@click.option("--days", type=FiniteRange(min=0, min_open=True), default=7.0, show_default=True, help="How far back.")
@click.option("--limit", type=click.IntRange(min=1), default=5_000, show_default=True, help="Requests to look at most.")
@json_option
def command(*, config_path: Path | None, store_path: Path | None, days: float, limit: int, as_json: bool) -> None:
    """Say what goes wrong with conversations of late, and what to do.

    Read from the ledger: calls made again because their result was taken away, prohibitions that got lost, caches that
    were broken, prompts that cannot be made small enough. Nothing of it holds text of a conversation. Warnings go to
    stderr, or into the JSON.
    """
    settings = load_for_reading(config_path, store_path)
    entries = _entries(settings, since=time.time() - days * DAY_SECONDS, limit=limit)
    found = reach(settings)
    diagnosis = Diagnosis(
        gateway=found,
        days=days,
        requests=len(entries),
        above_trigger=sum(entry.receipt.pressure is not None for entry in entries),
        found=symptoms(entries),
        warnings=(*settings.warnings, *stranded_clients(found, os.environ)),
    )
    if as_json:
        print_json(_as_object(diagnosis))
        return
    click.echo(_as_text(diagnosis))
    for warning in diagnosis.warnings:
        warn(warning)


def _entries(settings: Settings, *, since: float, limit: int) -> list[LedgerEntry]:
    """Read the newest requests; none where nothing was ever stored."""
    if not settings.store.path.exists():
        return []
    with opened(settings) as store:
        listed = store.receipts(limit=limit, lineage=None, before=None)
    return [entry for entry in listed if entry.receipt.received_at >= since]


def _as_object(diagnosis: Diagnosis) -> dict[str, object]:
    return {
        "gateway": asdict(diagnosis.gateway),
        "days": diagnosis.days,
        "requests": diagnosis.requests,
        "above_trigger": diagnosis.above_trigger,
        "found": [
            {**asdict(symptom), "words": dict(symptom.words), **asdict(symptom.advice)} for symptom in diagnosis.found
        ],
        "warnings": list(diagnosis.warnings),
    }


def _as_text(diagnosis: Diagnosis) -> str:
    gateway = diagnosis.gateway
    answers = "answers" if gateway.running else f"does not answer ({gateway.why})"
    lines = [
        f"gateway   {gateway.url} {answers}",
        f"requests  {say_count(diagnosis.requests)} in {diagnosis.days:g} days, "
        f"{say_count(diagnosis.above_trigger)} of them above the trigger",
    ]
    for symptom in diagnosis.found:
        tokens = "" if symptom.tokens is None else f", {say_count(symptom.tokens)} tokens"
        newest = f"newest {printable(symptom.newest_request)} at {say_time(symptom.newest_at)}"
        times = f"{say_count(symptom.count)} on {say_count(symptom.requests)} of the requests{tokens}"
        lines += [
            "",
            f"{symptom.kind}: {times}; {newest}",
            f"  what    {symptom.advice.meaning}",
            f"  to do   {symptom.advice.remedy}",
        ]
        if symptom.words:
            lines.append(f"  words   {', '.join(f'{printable(word)} {times:,}' for word, times in symptom.words)}")
    if not diagnosis.found:
        lines += ["", "Nothing was found." if diagnosis.requests else "There are no requests to judge by."]
    return "\n".join(lines)
