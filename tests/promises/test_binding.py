"""Reasoning that is bound to what stands before it lives through thirty turns; an edit that breaks it is caught."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bodies import changed_literals
from cases.agents import MINUTE, Agent, Json, ResponsesAgent, Scene, Turn, file_or_output, restarted, scene
from support import settings

from coldpress.stores.sqlite import SqliteStore
from coldpress.testing import Rules, Script, Shell, task

TURNS = 30
CONTROLS = {"anthropic-beta": "thinking-binding-controls-2026-08-01"}
THINKING: Json = {"thinking": {"type": "adaptive"}}
STRICT = Rules(bind_thinking=True, bind_reasoning=True)
CLAUDE, GPT = "claude-opus-5-5", "gpt-5.6-sol"


def script() -> Script:
    return task(*(Shell(f"make part_{number}") for number in range(TURNS + 5)), thinking=True)


def output(command: str) -> str:
    """Every third output is so large that it is pressed when it is first seen."""
    made = file_or_output(command)
    return "\n".join(f"{made}\n{n}" for n in range(4)) if int(command.rpartition("_")[2]) % 3 == 0 else made


def agent_of(stage: Scene, model: str, *, stream: bool) -> Agent | ResponsesAgent:
    if model == GPT:
        return ResponsesAgent(stage, model=model, stream=stream, output=output)
    return Agent(stage, model=model, stream=stream, output=output, top=THINKING, headers=CONTROLS)


def changed(turn: Turn) -> list[tuple[str, str]]:
    return changed_literals(turn.body, turn.sent, turn.entry.receipt.format)


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def stream(request: pytest.FixtureRequest) -> Iterator[Any]:
    yield request.param


@pytest.mark.parametrize("model", [CLAUDE, GPT])
def test_thirty_turns_with_bound_reasoning_lose_none_of_it(model: str, stream: bool) -> None:
    with scene(script(), rules=STRICT, provider="openai" if model == GPT else "anthropic") as stage:
        agent = agent_of(stage, model, stream=stream)
        agent.go(TURNS // 2)
        stage.clock.wait(90 * MINUTE)
        turns = agent.go(TURNS // 2)
        stats = stage.stats()
    assert len(turns) == TURNS
    assert [turn.exchange.refusal for turn in turns] == [None] * TURNS
    assert {turn.entry.outcome.transformations for turn in turns if turn.entry.outcome} == {()}
    edits = [len(changed(turn)) for turn in turns]
    assert edits == [(number + 2) // 3 for number in range(TURNS)]
    assert {turn.cut for turn in turns} <= {None, "binding_model"}
    assert (stats["aged"]["count"], stats["edits_noticed"]) == (0, 0)
    assert stats["misses"]["caused_by_us"]["misses"] == 0


def test_a_forced_edit_is_refused_and_that_stops_new_ones(stream: bool, caplog: pytest.LogCaptureFixture) -> None:
    """Asked to accept the loss, on an account where nothing may be lost: the provider refuses the request."""
    with scene(script(), rules=STRICT, settings=settings(allow_thinking_loss=True)) as stage:
        agent = agent_of(stage, CLAUDE, stream=stream)
        assert isinstance(agent, Agent)
        agent.go(12)
        stage.clock.wait(90 * MINUTE)
        with caplog.at_level(logging.ERROR, logger="coldpress"):
            refused = agent.fail()
        again = agent.step()
        stats = stage.stats()
    assert refused.cut == "cold"
    assert refused.exchange.refusal is not None
    assert "bound to a different conversation" in refused.exchange.refusal
    assert refused.entry.outcome is not None
    assert refused.entry.outcome.transformations == ("thinking_refused:prefix_binding_mismatch",)
    assert [record.levelname for record in caplog.records if "no new edits" in record.getMessage()] == ["ERROR"]
    assert stats["edits_noticed"] >= 1
    assert "stopped" in again.entry.receipt.notes


@pytest.mark.parametrize("store", [None, "file"], ids=["goes on", "restarted"])
def test_what_was_refused_is_taken_back_and_the_conversation_goes_on(
    stream: bool, store: str | None, tmp_path: Path
) -> None:
    """What a model saw pressed stays pressed; what it saw whole, and we took away later, comes back whole."""
    forced, kept = settings(allow_thinking_loss=True), SqliteStore(tmp_path / "store.sqlite3") if store else None
    with scene(script(), rules=STRICT, settings=forced, store=kept) as stage:
        agent = agent_of(stage, CLAUDE, stream=stream)
        assert isinstance(agent, Agent)
        accepted = agent.go(12)[-1]
        stage.clock.wait(90 * MINUTE)
        refused = agent.fail()
        if kept is None:
            turns = agent.go(6)[-6:]
        else:
            with restarted(stage.upstream, stage.clock, settings=forced, store=kept) as anew:
                agent.scene = anew
                turns = agent.go(6)[-6:]
    if kept is not None:
        kept.close()
    assert len(changed(refused)) > len(changed(accepted)) > 0
    assert [turn.exchange.refusal for turn in turns] == [None] * 6
    assert {turn.entry.outcome.transformations for turn in turns if turn.entry.outcome} == {()}
    for turn in turns:
        assert changed(turn) == changed(accepted), "nothing new is pressed there any more"
        assert "stopped" in turn.entry.receipt.notes


def test_a_forced_edit_that_withholds_reasoning_stops_new_ones(stream: bool) -> None:
    """OpenAI leaves such reasoning out and says so: what stands stays, and nothing is added."""
    forced = settings(allow_thinking_loss=True)
    with scene(script(), rules=STRICT, provider="openai", settings=forced) as stage:
        agent = agent_of(stage, GPT, stream=stream)
        agent.go(14)
        stage.clock.wait(90 * MINUTE)
        told = agent.go(1)[-1]
        later = agent.go(6)[-6:]
    assert told.cut == "cold"
    assert told.exchange.refusal is None
    assert told.entry.outcome is not None
    assert told.entry.outcome.edits_noticed, told.entry.outcome.transformations
    before = changed(told)
    for turn in later:
        assert "stopped" in turn.entry.receipt.notes
        assert changed(turn) == before
