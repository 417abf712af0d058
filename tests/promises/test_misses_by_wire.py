"""Promise: each kind of miss is put down to who caused it on both wires that are diagnosed, asked for or not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest
from cases.agents import HEAD, MINUTE, Agent, Clock, ResponsesAgent, Scene, Turn, restarted
from missed import none_is_ours
from support import settings

from coldpress.engine.native import Native
from coldpress.engine.policy import DEFAULT_POLICY, Policy, Rule
from coldpress.model.misses import Attribution
from coldpress.stores.totals_misses import MissTotals
from coldpress.testing import Shell, StrictUpstream, task

KEPT = Policy((Rule("*", ("exact",)),))
AGED = Policy((Rule("bash*", ("mask",), age=2),))
ANTHROPIC, RESPONSES = "anthropic", "openai_responses"
BEFORE = 5
"""Turns before the one that is looked at."""

AnyAgent = Agent | ResponsesAgent


@dataclass
class Stage:
    """A scene whose upstream can be made to forget, and the agent in it."""

    scene: Scene
    agent: AnyAgent
    ahead: Clock

    @property
    def wire(self) -> str:
        """The format of the agent's requests."""
        return ANTHROPIC if isinstance(self.agent, Agent) else RESPONSES


def attribution(turn: Turn) -> Attribution | None:
    assert turn.entry.outcome is not None
    return turn.entry.outcome.attribution


def totals(stage: Stage) -> MissTotals:
    stage.scene.gate.store.flush()
    return stage.scene.gate.store.totals().misses


@contextmanager
def staged(wire: str, *, asks: bool, stream: bool, policy: Policy = KEPT) -> Iterator[Stage]:
    """Set the stage; `asks` has the gateway ask for diagnoses."""
    made, clock, ahead = settings(policy=policy, allow_thinking_loss=True), Clock(), Clock(0.0)
    rows = tuple(replace(row, native=Native(diagnostics=asks)) for row in made.providers)
    script = task(*(Shell(f"make part_{number}") for number in range(2 * BEFORE + 2)))
    provider = "anthropic" if wire == ANTHROPIC else "openai"
    with (
        StrictUpstream(script, clock=lambda: clock.now + ahead.now) as upstream,
        restarted(upstream, clock, settings=replace(made, providers=rows), provider=provider) as ready,
    ):
        agent: AnyAgent = Agent(ready, stream=stream, ttl="5m")
        if wire == RESPONSES:
            agent = ResponsesAgent(ready, stream=stream)
        yield Stage(ready, agent, ahead)


def pause(stage: Stage) -> None:
    stage.scene.clock.wait(90 * MINUTE)


def forget(stage: Stage) -> None:
    """Have the provider forget within the lifetime that it promises."""
    stage.ahead.wait(24 * 60 * MINUTE)


def another_model(stage: Stage) -> None:
    stage.agent.model = "claude-opus-4-8" if stage.wire == ANTHROPIC else "gpt-6-sol"


def another_tool(stage: Stage) -> None:
    tool: dict[str, Any] = {"name": "Bash", "description": "Runs a command."}
    if stage.wire == ANTHROPIC:
        stage.agent.top = {"tools": [{**tool, "input_schema": {"type": "object"}}]}
    else:
        stage.agent.top = {"tools": [{"type": "function", **tool, "parameters": {"type": "object"}}]}


def another_system(stage: Stage) -> None:
    stage.agent.top = {"system" if stage.wire == ANTHROPIC else "instructions": HEAD + "Be brief."}


def another_result(stage: Stage) -> None:
    """Write something else for what the first call came back with."""
    said = stage.agent.said
    if stage.wire == ANTHROPIC:
        said[2]["content"][0]["content"] = "interrupted"
    else:
        next(item for item in said if item.get("type") == "function_call_output")["output"] = "interrupted"


def another_first_message(stage: Stage) -> None:
    stage.agent.said[0] = {"role": "user", "content": "Find the other bug and repair it."}


KINDS = [
    pytest.param(pause, "time", "expired", False, id="TTL"),
    pytest.param(forget, "provider", "evicted", False, id="provider"),
    pytest.param(another_model, "client", "model", True, id="model"),
    pytest.param(another_tool, "client", "tools", True, id="tools"),
    pytest.param(another_system, "client", "system", True, id="system prompt"),
    pytest.param(another_result, "client", "messages", True, id="client edit"),
    pytest.param(another_first_message, "client", "messages", True, id="client edit of the first message"),
]
WIRES = pytest.mark.parametrize("wire", [ANTHROPIC, RESPONSES])
ASKS = pytest.mark.parametrize("asks", [False, True], ids=["not asked", "asked"])


@WIRES
@ASKS
@pytest.mark.parametrize(("how", "cause", "why", "told"), KINDS)
def test_every_kind_of_miss_is_put_down_to_who_caused_it(
    *, wire: str, asks: bool, how: Callable[[Stage], None], cause: str, why: str, told: bool
) -> None:
    with staged(wire, asks=asks, stream=asks) as stage:
        before = list(stage.agent.go(BEFORE))
        how(stage)
        missed, after = stage.agent.step(), stage.agent.step()
        misses = none_is_ours(stage.scene.gate.store)
        stats = stage.scene.stats()["misses"]
    found = attribution(missed)
    assert [attribution(turn) for turn in (*before, after)] == [None] * (BEFORE + 1)
    assert found is not None
    assert (found.cause, found.why, found.told) == (cause, why, told and asks)
    assert found.tokens is not None
    assert 1_024 < found.tokens <= before[-1].prompt - missed.read
    assert found.usd is not None
    assert found.usd > 0
    assert (misses.misses, misses.replies) == (1, BEFORE + 2)
    assert stats["caused_by_us"]["misses"] == 0
    assert stats["by_cause"][cause]["tokens"]["tokens"] == found.tokens


@WIRES
@ASKS
def test_an_edit_of_ours_that_pays_in_a_warm_cache_is_ours(wire: str, asks: bool) -> None:
    with staged(wire, asks=asks, stream=asks, policy=AGED) as stage:
        turns = stage.agent.go(2 * BEFORE)
        misses = totals(stage)
        with pytest.raises(AssertionError, match="us/edit"):
            none_is_ours(stage.scene.gate.store)
        stats = stage.scene.stats()["misses"]
    ours = [found for turn in turns if (found := attribution(turn)) is not None]
    assert {(found.cause, found.why, found.told) for found in ours} == {("us", "edit", asks)}
    assert all(found.tokens is not None and found.usd is not None and found.usd > 0 for found in ours)
    assert misses.caused_by_us.misses == len(ours) == stats["caused_by_us"]["misses"]
    assert misses.caused_by_us.tokens.tokens == sum(found.tokens or 0 for found in ours)


@WIRES
def test_what_we_press_at_first_sight_misses_nothing(wire: str) -> None:
    with staged(wire, asks=True, stream=True, policy=DEFAULT_POLICY) as stage:
        stage.agent.output = lambda command: "\n".join(f"{command}: {n % 3}" for n in range(900))
        turns = stage.agent.go(2 * BEFORE)
        misses = none_is_ours(stage.scene.gate.store)
    assert any(turn.body != turn.sent and b"coldpress" in turn.sent for turn in turns)
    assert [attribution(turn) for turn in turns] == [None] * len(turns)
    assert (misses.misses, misses.replies) == (0, len(turns))


PAUSE_SECONDS = 40 * MINUTE
"""Longer than OpenAI promises to keep a prefix, and shorter than it is believed to."""


def outlived(stage: Stage, longer: float = 0.0) -> None:
    """Pause; at the provider no time passes, so that it holds what it held."""
    stage.scene.clock.wait(PAUSE_SECONDS + longer)
    stage.ahead.wait(-PAUSE_SECONDS - longer)


def renamed(stage: Stage) -> None:
    """The client gives its tools other names each time, after a pause that the prefix outlives."""
    assert isinstance(stage.agent, ResponsesAgent)
    stage.agent.tools = (*stage.agent.tools, f"Grep{len(stage.agent.turns)}")


@pytest.mark.parametrize(
    ("how", "why", "belief"),
    [
        pytest.param(forget, {"provider/evicted"}, "idle", id="gone: longer pauses count as cold from then on"),
        pytest.param(
            renamed, {"client/tools"}, "within_lifetime", id="the client's: nothing is learned of the lifetime"
        ),
    ],
)
def test_belief_learns_from_what_the_provider_lost_and_not_from_what_the_client_changed(
    how: Callable[[Stage], None], why: set[str], belief: str
) -> None:
    with staged(RESPONSES, asks=True, stream=False) as stage:
        stage.agent.go(4)  # a shorter prompt would teach nothing
        for _ in range(2):
            outlived(stage)
            how(stage)
            stage.agent.go(2)
        outlived(stage, MINUTE)
        last = stage.agent.step()
        misses = none_is_ours(stage.scene.gate.store)
    assert {name for name, _ in misses.by_why} == why
    assert misses.misses == 2
    assert last.entry.receipt.belief is not None
    assert last.entry.receipt.belief.why == belief
