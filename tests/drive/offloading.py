"""What the tests of the cheaper model share: settings for a scripted endpoint, results, an upstream that is held."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import cast

from drive.asking import FORMATS, KEY, PATHS, RATES, Clock, Kind, run

from coldpress.config.offload_settings import OffloadSettings
from coldpress.config.secret import Secret
from coldpress.drive.offload import Failed, Made, Offload, Wanted
from coldpress.engine.offload_prompt import identity
from coldpress.measure.rates import Prices
from coldpress.model.identity import EditKey
from coldpress.stores.base import Store
from coldpress.stores.memory import MemoryStore
from coldpress.testing import Delivery, Say, Script, Turn

MODEL = "small-model"
ANSWER = "parse is defined at src/parse.py:42 and called at src/main.py:118."
USUAL = Script(closing=Turn((Say(ANSWER),)))


def settings(kind: Kind, url: str, **more: object) -> OffloadSettings:
    made = OffloadSettings(
        enabled=True,
        provider="cheap",
        model=MODEL,
        format=FORMATS[kind],
        endpoint=url + PATHS[kind],
        api_key=Secret("CHEAP_KEY", KEY),
        pricing=(Prices(MODEL, ((0, RATES),)),),
    )
    return replace(made, **more)  # type: ignore[arg-type]


def text(number: int = 0, lines: int = 60) -> str:
    """A search result of some 3,000 bytes in which the answer stands."""
    head = f"src/parse.py:42:def parse(text: str) -> Tree:\nsrc/main.py:118:    tree = parse(text_{number})\n"
    return head + "".join(f"src/other/mod_{n}.py:{n}:    parse_nothing_of_interest()\n" for n in range(lines))


def wanted(number: int = 0, **more: object) -> Wanted:
    """A summary of result `number`; two of one number are the same question."""
    one = Wanted(
        EditKey(bytes(32), 0, number), b"", "grep", '{"pattern": "parse"}', text(number), "where parse is used"
    )
    one = replace(one, **more)  # type: ignore[arg-type]
    name = identity(
        tool=one.tool,
        arguments=one.arguments,
        text=one.text,
        guidance=one.guidance,
        model=MODEL,
        max_tokens=512,
    )
    return replace(one, identity=name)


@asynccontextmanager
async def opened(
    made: OffloadSettings, store: Store | None = None, clock: Clock | None = None
) -> AsyncIterator[Offload]:
    clock = clock or Clock()
    offload = Offload(made, store or MemoryStore(), clock=clock, ticks=clock, sleep=clock.sleep)
    try:
        yield offload
    finally:
        await offload.close()


def ask_in_turn(
    made: OffloadSettings, *asked: Wanted, store: Store | None = None, clock: Clock | None = None
) -> list[Made | Failed]:
    """Ask one after another, in one process."""

    async def scenario() -> list[Made | Failed]:
        async with opened(made, store, clock) as offload:
            return [(await offload.ask([one]))[one.identity] for one in asked]

    return run(scenario())


def made(got: Made | Failed) -> Made:
    assert isinstance(got, Made), got
    return got


def failed(got: Made | Failed) -> Failed:
    assert isinstance(got, Failed), got
    return got


class Held:
    """An upstream's `sleep` that lasts until the test says so."""

    script = replace(USUAL, delivery=Delivery(first_byte_delay_seconds=1.0))

    def __init__(self) -> None:
        self._free = threading.Event()
        self._came = threading.Semaphore(0)

    async def sleep(self, seconds: float) -> None:
        self._came.release()
        await asyncio.to_thread(self._free.wait, 15)

    async def came(self, questions: int = 1) -> None:
        """Wait until so many more questions are there."""
        for _ in range(questions):
            assert await asyncio.to_thread(self._came.acquire, timeout=15)

    def let_go(self) -> None:
        self._free.set()


def chat_text(body: object) -> str:
    """All text of a request, on either wire."""
    messages = cast(dict[str, list[dict[str, object]]], body)["messages"]
    content = messages[-1]["content"]
    if isinstance(content, str):
        return content
    return "\n".join(str(block["text"]) for block in cast(list[dict[str, object]], content))
