"""Agents that outgrow a small window, with a second strict upstream as the summariser, which can be held back."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from cases.agents import Agent, ChatAgent, Scene, Turn, scene
from support import settings as built_in

from coldpress.config import Settings
from coldpress.config.summariser_settings import SummariserSettings
from coldpress.engine.budget import BudgetRule, Budgets
from coldpress.measure.rates import Prices, Rates
from coldpress.model.records import Pressure
from coldpress.stores.base import Store
from coldpress.testing import (
    Delivery,
    Exchange,
    Read,
    Rules,
    Say,
    Script,
    Shell,
    StrictUpstream,
    said_steps,
    summariser,
    task,
)
from coldpress.testing import Turn as Answer

Wire = Literal["anthropic", "openai"]
WIRES: tuple[Wire, ...] = ("anthropic", "openai")
WINDOW = 24_000
BUDGET = BudgetRule(window_tokens=WINDOW, trigger=0.65, target=0.45, urgent=0.9, keep_turns=4)
URGENT_AT_ONCE = replace(BUDGET, trigger=0.7, urgent=0.7)
"""Every summary is waited for."""

TRIGGER, TARGET, URGENT = (round(WINDOW * share) for share in (0.65, 0.45, 0.9))
STEPS = 40
MODEL = "example-small"
CHEAP = Rates(0.02, 0.002, 0.02, None, 0.1, "settings", "undated")
PATHS = {"openai": "/v1/chat/completions", "anthropic": "/v1/messages"}
PATIENCE_SECONDS = 10.0
SUMMARY = summariser({"artifacts": r"\w+/part_\d+\.txt", "decisions": r"Step \d+ of \d+\."})
"""A summariser that names every report, and every step, with quotations that hold."""


def bulk(name: str, lines: int = 60) -> str:
    """A text of some 1,300 tokens, no two alike."""
    return "\n".join(f"{name} line {n:03}: object {n * 7919 % 10_007} of part {n % 13}" for n in range(lines))


def writes(steps: int = STEPS, lines: int = 60) -> Script:
    """A task whose bulk stands in the arguments of calls, where no mask reaches."""
    return saying(task(*(Shell(f"cat > reports/part_{n}.txt\n{bulk(f'r{n}', lines)}") for n in range(steps))))


def reads(steps: int = STEPS) -> Script:
    """A task whose bulk stands in results that can be had again."""
    return saying(task(*(Read(f"src/part_{n}.py") for n in range(steps))))


def saying(script: Script) -> Script:
    """The same script for conversations of which messages may be gone."""
    return replace(script, progress=said_steps)


def short(asked: str) -> str:
    """The result of a call whose arguments are the bulk."""
    return f"written: {asked.splitlines()[0]}"


def long(asked: str) -> str:
    """The result of a call that reads much."""
    return bulk(asked)


@dataclass
class Held:
    """A summariser that answers when it is let, and says when it was asked."""

    upstream: StrictUpstream
    asked: threading.Event = field(default_factory=threading.Event)
    free: threading.Event = field(default_factory=threading.Event)

    async def wait(self, _seconds: float) -> None:
        """Stand in for the upstream's own waiting."""
        self.asked.set()
        while not self.free.is_set():
            await asyncio.sleep(0.002)

    @property
    def questions(self) -> list[Exchange]:
        """What it was asked."""
        return self.upstream.inference

    @property
    def texts(self) -> list[str]:
        """The questions as text."""
        return [spoken(exchange.request.json) for exchange in self.questions]


@contextmanager
def summarising(script: Script = SUMMARY, *, held: bool = False, rules: Rules | None = None) -> Iterator[Held]:
    """Run a summariser; `held` has every answer wait until `free` is set."""
    delivery = Delivery(first_byte_delay_seconds=1.0) if held else script.delivery
    shown = replace(script, delivery=delivery, closing=replace(script.closing, delivery=delivery))
    waiting: list[Held] = []

    async def sleep(seconds: float) -> None:
        await waiting[0].wait(seconds)

    with StrictUpstream(shown, rules=rules, sleep=sleep) as upstream:
        waiting.append(Held(upstream))
        try:
            yield waiting[0]
        finally:
            waiting[0].free.set()


def asking(url: str, *, kind: Wire = "openai", path: str | None = None, **more: Any) -> SummariserSettings:
    """Settings of a summariser: cheap, quick to give up, one attempt."""
    made = SummariserSettings(
        kind=kind,
        endpoint=url + (path or PATHS[kind]),
        model=MODEL,
        pricing=(Prices(MODEL, ((0, CHEAP),)),),
        timeout_seconds=PATIENCE_SECONDS,
        attempts=1,
        max_output_tokens=2_000,
    )
    return replace(made, **more)


def settings(asks: SummariserSettings | None = None, budget: BudgetRule = BUDGET, **more: Any) -> Settings:
    """Settings with a small window, and a forecast of so many requests that a cheap summary pays."""
    changes: dict[str, Any] = {"budgets": Budgets(budget), "expected_applications": 400.0} | more
    return built_in(**({"summariser": asks} if asks is not None else {}) | changes)


@contextmanager
def small(
    script: Script,
    found: Settings,
    *,
    wire: Wire = "anthropic",
    store: Store | None = None,
    rules: Rules | None = None,
) -> Iterator[Scene]:
    """Set the stage: a gateway in front of an upstream whose window is small."""
    with scene(script, rules=rules or Rules(window_tokens=WINDOW), settings=found, store=store, provider=wire) as stage:
        yield stage


def agent(stage: Scene, wire: Wire, **more: Any) -> Agent | ChatAgent:
    """An agent on a wire, whose results are short."""
    made = {"output": short} | more
    return Agent(stage, **made) if wire == "anthropic" else ChatAgent(stage, **made)


def until(one: Agent | ChatAgent, reason: str, *, most: int = STEPS) -> Turn:
    """Take turns until the receipt's pressure gives this reason."""
    for _ in range(most):
        turn = one.go(1)[-1]
        if turn.entry.receipt.pressure is not None and turn.entry.receipt.pressure.reason == reason:
            return turn
    raise AssertionError(f"no {reason} in {most} turns: {[reasons(turn) for turn in one.turns]}")


def settled(stage: Scene) -> None:
    """Wait until no summary is being written any more."""
    driver = stage.gate.driver
    assert driver is not None
    models = driver._weighing._compaction._models
    assert models is not None
    until_at = time.monotonic() + PATIENCE_SECONDS
    while models._preparations._running:
        assert time.monotonic() < until_at, "a summary is still being written"
        time.sleep(0.001)


def pressure(turn: Turn) -> Pressure:
    """What came of a prompt above the trigger; fails where it was below."""
    assert turn.entry.receipt.pressure is not None
    return turn.entry.receipt.pressure


def reasons(turn: Turn) -> str:
    """The reason of a turn's pressure, empty below the trigger."""
    return turn.entry.receipt.pressure.reason if turn.entry.receipt.pressure else ""


def accepted(turns: Sequence[Turn]) -> None:
    """The upstream refused nothing: no prompt too long, calls and results pair, no text is empty."""
    assert [turn.exchange.refusal for turn in turns] == [None] * len(turns)


def spoken(body: Mapping[str, Any]) -> str:
    """Every text of a request, in order."""
    found: list[str] = []

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            for item in value.values():
                walk(item)
        elif isinstance(value, list):
            for item in value:
                walk(item)
        elif isinstance(value, str):
            found.append(value)

    walk(body.get("system"))
    walk(body.get("messages"))
    return "\n".join(found)


def summary_text(stage: Scene, turn: Turn) -> str:
    """The text of notes and summary that a turn brought, out of the store."""
    return stage.gate.store.recall(pressure(turn).summary)


def literal(text: str, body: bytes) -> bytes:
    """A text as it stands inside a body."""
    forms = [json.dumps(text, ensure_ascii=only)[1:-1].encode() for only in (False, True)]
    return next(form for form in forms if form in body)


def once(text: str) -> Script:
    """A summariser that always answers the same."""
    return Script(closing=Answer((Say(text),)))
