"""`coldpress doctor`: say what goes wrong with conversations of late, and what to do about it."""

from __future__ import annotations

import functools
import os
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import click

from coldpress.cli.bill import Biller
from coldpress.cli.mark_waste import MEANING, REMEDY, Waste, wastes
from coldpress.cli.open_store import opened
from coldpress.cli.options import FiniteRange, config_option, json_option, load_for_reading, store_option
from coldpress.cli.output import print_json, printable, say_count, say_time, say_usd, warn
from coldpress.cli.reach import Reach, reach, stranded_clients
from coldpress.cli.symptoms import Symptom, symptoms
from coldpress.config.settings import Settings
from coldpress.measure.prices import Prices, Unpriced
from coldpress.model.records import Receipt
from coldpress.stores.base import DAY_SECONDS, LedgerEntry


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What doctor says, over `requests` of the last days; `above_trigger` of them came up to their trigger."""

    gateway: Reach
    days: float
    requests: int
    above_trigger: int
    found: tuple[Symptom, ...]
    wasted: tuple[Waste, ...]
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
    were broken, prompts that cannot be made small enough, and by estimate what clients' cache marks waste. Nothing of
    it holds text of a conversation. Warnings go to stderr, or into the JSON.
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
        wasted=wastes(entries, functools.partial(_prices, Biller(settings))),
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


def _prices(biller: Biller, receipt: Receipt) -> Prices | Unpriced:
    at = datetime.fromtimestamp(receipt.received_at, tz=UTC)
    return biller.prices(receipt.provider, receipt.model or "", at)


def _as_object(diagnosis: Diagnosis) -> dict[str, object]:
    return {
        "gateway": asdict(diagnosis.gateway),
        "days": diagnosis.days,
        "requests": diagnosis.requests,
        "above_trigger": diagnosis.above_trigger,
        "found": [
            {**asdict(symptom), "words": dict(symptom.words), **asdict(symptom.advice)} for symptom in diagnosis.found
        ],
        "wasted": [
            {**asdict(waste), "meaning": MEANING[waste.kind], "remedy": REMEDY[waste.kind]}
            for waste in diagnosis.wasted
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
    for waste in diagnosis.wasted:
        worth = "no price is known" if waste.usd is None else f"{say_usd(waste.usd)} by estimate"
        lines += [
            "",
            f"{waste.kind}: {say_count(waste.tokens)} tokens, {worth}; {printable(waste.harness or 'a client')} at "
            f"{printable(waste.model)}, {say_count(waste.requests)} requests in {say_count(waste.conversations)} "
            "conversations",
            f"  what    {MEANING[waste.kind]}",
            f"  to do   {REMEDY[waste.kind]}",
        ]
    if not diagnosis.found and not diagnosis.wasted:
        lines += ["", "Nothing was found." if diagnosis.requests else "There are no requests to judge by."]
    return "\n".join(lines)
