"""Promise: summaries are not bought again and again where they are of little use, and none that was paid is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import pytest
from cases.talk import text
from compacting import Step, faultless, prose, request, run, windowed, written
from drive.asking import settings

from coldpress.config import Settings
from coldpress.drive import Driver, Inbound
from coldpress.drive.orders import MOST_USELESS
from coldpress.measure.rates import Prices, Rates
from coldpress.measure.tokens import estimate
from coldpress.model.records import Outcome, Pressure
from coldpress.model.usage import Usage
from coldpress.stores.memory import MemoryStore
from coldpress.testing import Say, Script, StrictUpstream, Turn, summariser

CHEAP = Rates(0.1, 0.01, 0.1, 0.1, 0.4, "settings", "undated")
CAREFUL = summariser({"constraints": r"Go on with \d+|Never use \w+"})


def answering(words: str) -> Script:
    return Script(answer=lambda asked: Turn((Say(words),)))


def judged(url: str, window_tokens: int) -> Settings:
    asked = settings("openai", url, pricing=(Prices("gpt-5-mini", ((0, CHEAP),)),))
    return windowed(window_tokens, summariser=asked, expected_applications=200.0)


@dataclass
class Client:
    """Sends requests through one driver; every summary that was begun has ended before the next request."""

    driver: Driver
    pressures: list[Pressure] = field(default_factory=list)
    sent: int = 0

    async def send(self, body: bytes) -> Pressure | None:
        self.sent += 1
        inbound = Inbound(f"q{self.sent}", 1_000.0 + 5 * self.sent, "anthropic", "anthropic", body, None, {})
        prepared = await self.driver.prepare(inbound)
        tokens = estimate(prepared.body.decode())
        usage = Usage(fresh=10, read=max(0, tokens - 10), output=50)
        self.driver.finish(Outcome(inbound.request_id, 200, "complete", 1.0, usage))
        begun = [one for one in asyncio.all_tasks() if one.get_name() == "preparation"]
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*begun)
        if prepared.receipt.pressure is not None:
            self.pressures.append(prepared.receipt.pressure)
        return prepared.receipt.pressure

    @property
    def summariser_usd(self) -> float:
        return sum(pressure.summariser_usd or 0.0 for pressure in self.pressures)


def sent(found: Settings, bodies: Sequence[bytes]) -> Client:
    async def go() -> Client:
        client = Client(Driver(found, MemoryStore()))
        try:
            for body in bodies:
                await client.send(body)
        finally:
            await client.driver.give_up()
            client.driver.close()
        return client

    with faultless():
        return asyncio.run(go())


def filled(steps: Sequence[Step], head: str, since: int) -> list[bytes]:
    listed = (written("anthropic", steps[:n]) for n in range(since, len(steps) + 1))
    return [request("anthropic", ms, model="claude-sonnet-4-6", system=[text(head)]) for ms in listed]


BELOW_URGENT = filled(
    [prose(n, 120) for n in range(44)],
    "\n".join(f"Rule {n}: module {n} is described in docs/m{n}.md and is team {n % 7}'s." for n in range(1500)),
    since=2,
)
"""A head of some 34,000 tokens: in a window of 60,000 a summary frees too little for long."""

URGENT = filled(
    [run(n, 12, reply=f"Never use r{n} " + "w " * 60) for n in range(50)], "tool guide line; " * 9_000, since=12
)
"""A head that alone comes near the urgent share of 40,000."""


@pytest.mark.parametrize(
    "script", [CAREFUL, answering("Here is a nice summary."), answering("{}")], ids=["a summary", "no JSON", "empty"]
)
@pytest.mark.parametrize(
    ("bodies", "window_tokens"), [(BELOW_URGENT, 60_000), (URGENT, 40_000)], ids=["below", "urgent"]
)
def test_few_are_bought_where_little_comes_of_them(script: Script, bodies: Sequence[bytes], window_tokens: int) -> None:
    with StrictUpstream(script) as upstream:
        client = sent(judged(upstream.url, window_tokens), bodies)
        calls = len(upstream.exchanges)

    applied = sum(pressure.reason == "summarised" for pressure in client.pressures)
    # So many in vain in a row, then one that is used or a compaction by rules, and so on.
    assert 0 < calls <= MOST_USELESS * (applied + 1)


def test_forks_that_share_a_first_reply_keep_each_others_summaries() -> None:
    common = [prose(n, 300) for n in range(5)]
    steps = {tag: common + [prose(1_000 * tag + n, 300) for n in range(40)] for tag in (1, 2, 3)}
    bodies = [
        request("anthropic", written("anthropic", steps[tag][:n]), model="claude-sonnet-4-6")
        for n in range(2, 40)
        for tag in steps
    ]
    with StrictUpstream(CAREFUL) as upstream:
        client = sent(judged(upstream.url, 60_000), bodies)
        calls = len(upstream.exchanges)

    used = [pressure for pressure in client.pressures if pressure.reason == "summarised"]
    assert len(used) >= len(steps)
    assert {pressure.summariser for pressure in used} == {"gpt-5-mini"}
    assert not any(pressure.refused for pressure in client.pressures)
    assert len(used) <= calls <= len(used) + len(steps)  # the last ones are still to be used
