"""What the tests of the summariser share: settings for a scripted endpoint, a question, a clock moved by waits only."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from coldpress.config.secret import Secret
from coldpress.config.summariser_settings import SummariserSettings
from coldpress.drive.summariser import Summariser
from coldpress.drive.summariser_ask import Ask, Declined, Written
from coldpress.measure.rates import Prices, Rates
from coldpress.wire.registry import FormatName

T = TypeVar("T")
Kind = Literal["openai", "anthropic"]
KINDS: tuple[Kind, ...] = ("anthropic", "openai")
MODELS = {"anthropic": "claude-sonnet-4-5", "openai": "gpt-5-mini"}
FORMATS: dict[str, FormatName] = {"anthropic": "anthropic", "openai": "openai_chat"}
PATHS = {"anthropic": "/v1/messages", "openai": "/v1/chat/completions"}
KEY = "sk-a-key-nobody-may-see"
RATES = Rates(3.0, 0.3, 3.75, 6.0, 15.0, "settings", "undated")
LINE = "The parser reads config.toml and stops at line 42 with an unknown key."


@dataclass
class Clock:
    """Seconds that pass only where somebody waits."""

    now: float = 1_000_000.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


def settings(kind: Kind, url: str, **more: object) -> SummariserSettings:
    made = SummariserSettings(
        kind=kind,
        endpoint=url + PATHS[kind],
        model=MODELS[kind],
        needs_key=True,
        api_key=Secret("SUMMARY_KEY", KEY),
        pricing=(Prices(MODELS[kind], ((0, RATES),)),),
        rest_seconds=300.0,
        timeout_seconds=20.0,
    )
    return replace(made, **more)  # type: ignore[arg-type]


def transcript(messages: int) -> tuple[str, ...]:
    """Texts of some 1,100 characters; a longer transcript begins with the shorter one."""
    return tuple(f"[m{number}] tool result\n" + f"{LINE}\n" * 15 for number in range(1, messages + 1))


def ask(messages: int = 3, **more: object) -> Ask:
    return Ask("Summarise what happened.", transcript(messages), "Write the summary now.", **more)  # type: ignore[arg-type]


def run(scenario: Coroutine[object, object, T]) -> T:
    async def bounded() -> T:
        async with asyncio.timeout(20):
            return await scenario

    return asyncio.run(bounded())


def summarise(made: SummariserSettings, *asks: Ask, clock: Clock | None = None) -> list[Written | Declined]:
    """Ask one after another, on one summariser."""
    clock = clock or Clock()

    async def scenario() -> list[Written | Declined]:
        async with Summariser(made, clock=clock, ticks=clock, sleep=clock.sleep) as summariser:
            return [await summariser.summarise(one) for one in asks]

    return run(scenario())
