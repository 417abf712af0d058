"""Promise: each miss at a real upstream is put down to who caused it, and with default settings none is ours."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import aiohttp
import pytest
from cases.talk import TOOLS, log, result
from missed import none_is_ours
from promises.test_lab_and_gateway import EAGER, arm
from provider import LATER, SOON, START, Json, growing, step
from support import settings
from wired import HEADERS, ROOMY, recorded_in, set_up, through_a_gateway

from coldpress.config import Settings
from coldpress.demo.play import recording_path
from coldpress.drive import Driver
from coldpress.engine.policy import Policy, Rule
from coldpress.gateway.serve import serving
from coldpress.gateway.settings import gateway_settings
from coldpress.model.misses import Attribution
from coldpress.model.records import Miss
from coldpress.stores.base import Store
from coldpress.stores.memory import MemoryStore
from coldpress.testing import Asked, Say, Script, StrictUpstream, Turn
from coldpress.testing.script import Aside

CLAUDE = "claude-sonnet-4-6"
ORDERED = Policy((Rule("read*", ("source",), age=2, ungated=True),))
KEPT = Policy((Rule("*", ("exact",)),))


@dataclass(frozen=True)
class Sent:
    """One request: its body, how long after the one before it comes, and how much more time passes upstream.

    `told` is what the upstream says of the miss where it is asked; `restart` that a new gateway gets it, on the same
    store.
    """

    body: bytes
    pause: float = SOON
    upstream_pause: float = 0.0
    told: Miss | None = None
    restart: bool = False


class World:
    """A strict upstream and a gateway on one store, each on a clock of its own."""

    def __init__(self, using: Settings) -> None:
        self.using, self.store = using, MemoryStore()
        self.now, self.ahead = START, 0.0
        self.told: Miss | None = None

    def send(self, listed: Sequence[Sent]) -> list[Attribution | None]:
        """Send requests one after the other; gives what was made of each."""
        script = Script(answer=self._answer)
        with StrictUpstream(script, rules=ROOMY, clock=lambda: self.now + self.ahead) as upstream:
            providers = tuple(replace(one, url=upstream.url, api_key=None) for one in self.using.providers)
            local = replace(self.using, host="127.0.0.1", port=0, providers=providers)
            parts: list[list[Sent]] = [[]]
            for one in listed:
                parts = [*parts, []] if one.restart else parts
                parts[-1].append(one)
            names: list[str] = []
            for part in parts:
                with closing(Driver(local, self.store, clock=lambda: self.now)) as driver:
                    names += asyncio.run(self._send(part, local, driver))
        self.store.flush()
        return [self._found(name) for name in names]

    async def _send(self, listed: Sequence[Sent], local: Settings, driver: Driver) -> list[str]:
        names = []
        async with (
            serving(gateway_settings(local, control_port=0), driver, clock=lambda: self.now) as gateway,
            aiohttp.ClientSession() as client,
        ):
            for one in listed:
                self.now, self.ahead, self.told = self.now + one.pause, self.ahead + one.upstream_pause, one.told
                asks = {"anthropic-beta": DIAGNOSIS_BETA} if b'"diagnostics"' in one.body else {}
                sent = client.post(f"{gateway.url}/v1/messages", data=one.body, headers=HEADERS | asks)
                async with sent as response:
                    answer = await response.read()
                    assert response.status == 200, answer[:300]
                    names.append(response.headers["x-coldpress-request"])
        return names

    def _answer(self, asked: Asked) -> Turn:
        return Turn((Say("."),), aside=Aside(miss=self.told))

    def _found(self, name: str) -> Attribution | None:
        entry = self.store.receipt(name)
        assert entry is not None
        assert entry.outcome is not None
        return entry.outcome.attribution


DIAGNOSIS_BETA = "cache-diagnosis-2026-04-07"
STEPS = [step(n, log(f"n{n}", 60)) for n in range(7)]


def conversation(*, asks: bool = False, how: Callable[[Json], None] | None = None, **last: Any) -> list[Sent]:
    """A conversation whose last request is the one that is looked at."""
    bodies = growing(STEPS, model=CLAUDE, **({"diagnostics": {"previous_message_id": None}} if asks else {}))
    read = json.loads(bodies[-1])
    if how is not None:
        how(read)
    return [*map(Sent, bodies[:-1]), Sent(json.dumps(read, separators=(",", ":")).encode(), **last)]


def another_model(body: Json) -> None:
    body["model"] = "claude-opus-4-8"


def another_tool(body: Json) -> None:
    body["tools"][0]["description"] = "Runs a command."


def another_system(body: Json) -> None:
    body["system"][0]["text"] += " Be brief."


def another_choice(body: Json) -> None:
    body["tool_choice"] = {"type": "tool", "name": TOOLS[0]}


def another_result(body: Json) -> None:
    body["messages"][2]["content"][0] = result("t0", log("another", 10))


KINDS = [
    pytest.param(conversation(pause=LATER), "time", "expired", id="TTL"),
    pytest.param(conversation(how=another_model), "client", "model", id="model"),
    pytest.param(conversation(how=another_tool), "client", "tools", id="tools"),
    pytest.param(conversation(how=another_system), "client", "system", id="system prompt"),
    pytest.param(conversation(how=another_choice), "client", "settings", id="choice of tools"),
    pytest.param(conversation(how=another_result), "client", "messages", id="client edit"),
    pytest.param(conversation(upstream_pause=LATER), "provider", "evicted", id="provider"),
    pytest.param(conversation(upstream_pause=LATER, restart=True), "unknown", "untold", id="after a restart"),
    pytest.param(conversation(pause=LATER, restart=True), "time", "expired", id="a pause with a restart in it"),
]


@pytest.mark.parametrize(("listed", "cause", "why"), KINDS)
def test_every_kind_of_miss_is_put_down_to_who_caused_it(listed: list[Sent], cause: str, why: str) -> None:
    world = World(settings(policy=KEPT))
    *before, found = world.send(listed)
    assert before == [None] * len(before)
    assert found is not None
    assert (found.cause, found.why, found.told) == (cause, why, False)
    assert found.tokens is not None
    assert found.tokens > 1_024
    assert found.usd is not None
    assert found.usd > 0
    assert none_is_ours(world.store).misses == 1


def reads() -> list[Json]:
    """Two reads of one file, of which the second covers the first, and a few words."""
    texts = ("".join(f"{n:6}\tvalue_{n} = compute({n}, 'a.py')\n" for n in range(1, lines)) for lines in (120, 240))
    two = [step(n, text, tool="Read", file_path="a.py") for n, text in enumerate(texts)]
    return [*two, *(step(n, f"done {n}") for n in range(2, 6))]


def test_our_edit_in_a_warm_cache_is_ours() -> None:
    world = World(settings(policy=ORDERED))
    found = world.send([Sent(body) for body in growing(reads(), model=CLAUDE)])
    (ours,) = (one for one in found if one is not None)
    assert (ours.cause, ours.why) == ("us", "edit")
    totals = world.store.totals().misses
    assert (totals.caused_by_us.misses, totals.replies) == (1, len(found))
    assert totals.caused_by_us.tokens.tokens == ours.tokens
    with pytest.raises(AssertionError, match="us/edit"):
        none_is_ours(world.store)


def test_our_edit_in_a_cache_that_has_gone_is_times() -> None:
    world = World(settings(policy=ORDERED))
    bodies = growing(reads(), model=CLAUDE)
    found = world.send([Sent(body, LATER if n == 4 else SOON) for n, body in enumerate(bodies)])
    assert [one.why for one in found if one is not None and one.cause == "us"] == ["edit"]
    late = [Sent(body, LATER if n == 3 else SOON) for n, body in enumerate(bodies)]
    world = World(settings(policy=ORDERED))
    causes = [one and one.cause for one in world.send(late)]
    assert causes == [None, None, None, "time", None, None, None]


@pytest.mark.parametrize(
    ("told", "how", "pause", "cause", "why"),
    [
        pytest.param(Miss("tools_changed", 7_000), another_tool, 0.0, "client", "tools", id="tools"),
        pytest.param(Miss("messages_changed", 7_000), another_result, 0.0, "client", "messages", id="messages"),
        pytest.param(Miss("model_changed", 7_000), another_model, 0.0, "client", "model", id="model"),
        pytest.param(Miss("unavailable"), another_choice, 0.0, "client", "settings", id="choice of tools"),
        pytest.param(Miss("previous_message_not_found"), None, LATER, "provider", "evicted", id="not found"),
    ],
)
def test_what_the_upstream_tells_is_believed(
    told: Miss, how: Callable[[Json], None] | None, pause: float, cause: str, why: str
) -> None:
    world = World(settings(policy=KEPT))
    found = world.send(conversation(asks=True, how=how, told=told, upstream_pause=pause))[-1]
    assert found is not None
    assert (found.cause, found.why, found.told) == (cause, why, told.tokens is not None)
    assert told.tokens in (None, found.tokens)


def test_no_miss_is_ours_in_a_recorded_session_with_default_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    store = run("coldpress", monkeypatch)
    found = none_is_ours(store)
    assert dict(found.by_why).keys() == {"time/expired"}
    assert found.replies > 10
    assert store.totals().applications


def test_what_pays_in_a_warm_cache_is_ours_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under settings that ask for more than the defaults do; it is told with what it cost."""
    found = run(EAGER.name, monkeypatch).totals().misses.caused_by_us
    assert found.misses
    assert found.tokens.tokens > 1_024
    assert found.cost.usd > 0


def run(name: str, monkeypatch: pytest.MonkeyPatch) -> Store:
    """Send the demo's recording through a gateway, to an upstream with caches of its own."""
    recorded, store = recorded_in(recording_path()), MemoryStore()
    service, chosen = set_up(recorded, arm(name))
    through_a_gateway(list(recorded.steps(service)), chosen, store, monkeypatch)
    return store
