"""What the settings pay for keeps a prompt in the provider's cache, as often as they allow and not once more."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
from cases.agents import Agent, Clock, Scene
from cases.through import gateway
from support import settings as built_in

from coldpress.config import Settings
from coldpress.config.warmth_keys import WarmthKeys
from coldpress.model.usage import Usage
from coldpress.stores.memory import MemoryStore
from coldpress.testing import Script, StrictUpstream
from coldpress.testing.script import Call, Say, Turn

PATIENCE_SECONDS = 10.0
LEAD_SECONDS = 30.0
"""So long before five minutes are over they begin anew."""


def settings(**keys: object) -> Settings:
    found = built_in()
    warmth = WarmthKeys(**keys)  # type: ignore[arg-type]
    return replace(found, providers=tuple(replace(row, warmth=warmth) for row in found.providers))


@dataclass
class Sleeper:
    """Waits for seconds of a clock that is moved from outside, and says how often it has begun to."""

    clock: Clock
    begun: int = 0

    async def __call__(self, seconds: float) -> None:
        until = self.clock() + seconds
        self.begun += 1
        while self.clock() < until:
            await asyncio.sleep(0.002)


def wait_for(found: Callable[[], bool]) -> bool:
    """Whether something comes about soon."""
    until = time.monotonic() + PATIENCE_SECONDS
    while not found():
        if time.monotonic() > until:
            return False
        time.sleep(0.002)
    return True


def idle_for(scene: Scene, sleeper: Sleeper, minutes: float, *, refreshes: int) -> None:
    """Let time pass, in steps that leave the refreshes time to be answered."""
    before, ended = len(scene.upstream.inference), scene.clock() + minutes * 60
    for number in range(refreshes):
        assert wait_for(lambda wanted=number + 1: sleeper.begun >= wanted)
        scene.clock.wait(300.0 - LEAD_SECONDS)
        assert wait_for(lambda wanted=before + number + 1: len(scene.upstream.inference) >= wanted)
        assert wait_for(lambda wanted=number + 1: len(refresh_rows(scene)) >= wanted)
    scene.clock.wait(ended - scene.clock())
    time.sleep(0.1)  # nothing more is sent
    assert len(scene.upstream.inference) == before + refreshes


def refresh_rows(scene: Scene) -> list[Usage]:
    scene.gate.store.flush()
    rows = scene.gate.store.receipts(limit=50, lineage=None, before=None)
    return [row.outcome.usage for row in rows if "keep_warm" in row.receipt.notes and row.outcome is not None]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(
    ("seconds", "minutes", "refreshes", "held"),
    [
        pytest.param(None, 12.0, 0, False, id="off"),
        pytest.param(900.0, 12.0, 2, True, id="until the client is back"),
        pytest.param(300.0, 12.0, 1, False, id="not beyond the deadline"),
    ],
)
def test_an_idle_conversation_is_read_again_before_it_is_forgotten(
    seconds: float | None, minutes: float, refreshes: int, held: bool, stream: bool
) -> None:
    clock = Clock()
    sleeper = Sleeper(clock)
    script = Script([Turn((Call("Bash", {"command": "make"}),)), Turn((Say("done"),))])
    with (
        StrictUpstream(script, clock=clock) as upstream,
        gateway(
            upstream.url,
            settings(keep_warm_seconds=seconds),
            store=MemoryStore(clock=clock),
            name="anthropic",
            clock=clock,
            sleep=sleeper,
        ) as gate,
    ):
        scene = Scene(gate, upstream, clock)
        agent = Agent(scene, ttl="5m", stream=stream)
        first = agent.step()
        idle_for(scene, sleeper, minutes, refreshes=refreshes)
        last = agent.step()
    assert (last.read > 0) is held
    sent = upstream.inference[1:-1]
    assert [exchange.refusal for exchange in sent] == [None] * refreshes
    for exchange in sent:
        asked, as_sent = json.loads(exchange.request.body), json.loads(first.sent)
        assert asked == as_sent | {"max_tokens": 0} | ({"stream": False} if stream else {})
        assert exchange.usage is not None
        assert (exchange.usage.read or 0) > 0
        assert exchange.usage.write_short == 0
    assert refresh_rows(scene) == [exchange.usage for exchange in reversed(sent)]
