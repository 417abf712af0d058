"""Drive a recorded run through the driver, request by request, as the gateway would press it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from coldpress.config.load import load
from coldpress.config.offload_settings import OffloadSettings
from coldpress.config.settings import Settings
from coldpress.config.summariser_settings import SummariserSettings
from coldpress.drive import Driver, Inbound
from coldpress.engine.budget import BudgetRule, Budgets
from coldpress.lab.rebuild import requests
from coldpress.model.errors import RecordingError
from coldpress.model.records import Line
from coldpress.model.trajectory import Trajectory, Turn
from coldpress.stores.memory import MemoryStore

_PATIENCE_SECONDS: Final = 3600.0
"""For one request: what a busy machine does not get done in time is no figure of ours."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request as the client wrote it and as it was sent, the decisions made on it, and the recorded turn."""

    received: bytes = field(repr=False)
    sent: bytes = field(repr=False)
    lines: tuple[Line, ...]
    turn: Turn = field(repr=False)


def default_settings() -> Settings:
    """Give the built-in settings with everything pressed, subscriptions too; no file and no variable is looked at.

    Prompts are not brought down to a budget: recorded ones fitted their windows. Who measures that sets `budgets`.
    """
    found = load(None, environ={}, directory=Path(__file__).parent, secrets="optional")
    return replace(as_replayed(found), budgets=Budgets(BudgetRule(stages=())))


def as_replayed(settings: Settings) -> Settings:
    """Let settings that are not off press everything, subscriptions too, however slow the machine is.

    Nobody is asked and nothing is logged: summaries are made by rules, single results are not summarised at all.
    """
    if settings.operation == "off":
        return settings
    alone = replace(settings, summariser=SummariserSettings(), offload=OffloadSettings(), require_raw_log=False)
    settings = replace(alone, store=replace(settings.store, raw_log=False))
    providers = tuple(replace(provider, operation="press") for provider in settings.providers)
    patient = replace(settings.limits, prepare_seconds=_PATIENCE_SECONDS)
    return replace(settings, operation="press", press_subscription=True, providers=providers, limits=patient)


def exchanges(
    trajectories: Sequence[Trajectory], settings: Settings
) -> Iterator[tuple[Trajectory, Iterator[Exchange]]]:
    """Press the trajectories of one recording, in order, through one driver over a store in memory.

    Each trajectory comes with its exchanges, made as they are asked for; finish them before the next one.
    The recorded replies are kept as they were: open-loop.

    Raises:
        RecordingError: while an exchange is made, where the driver passed it through for a reason of its own.
    """
    with MemoryStore() as store, closing(Driver(settings, store)) as driver, asyncio.Runner() as runner:
        for trajectory in trajectories:
            yield trajectory, _exchanges(trajectory, driver, runner)


def _exchanges(trajectory: Trajectory, driver: Driver, runner: asyncio.Runner) -> Iterator[Exchange]:
    own = trajectory.turns[trajectory.shared_turns :]
    for number, (turn, body) in enumerate(zip(own, requests(trajectory), strict=True)):
        name = f"{trajectory.name}/{number}"
        inbound = Inbound(name, float(number), "anthropic", "anthropic", body, None, {})
        prepared = runner.run(driver.prepare(inbound))
        failed = [note for note in prepared.receipt.notes if note.startswith("pass_through:")]
        if failed:
            raise RecordingError(f"request {name}: {failed[0]}; run it alone to see why, the log has the details")
        yield Exchange(body, prepared.body, prepared.receipt.lines, turn)
