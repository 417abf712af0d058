"""T: where a model binds its reasoning, nothing in front of it is edited; and what a provider tells of it is heeded."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from bodies import changed_literals
from cases.agents import MINUTE, Agent, Json, file_or_output, restarted, scene
from support import settings

from coldpress.config import Settings
from coldpress.stores.sqlite import SqliteStore
from coldpress.testing import Aside, Rules, Say, Script, Shell, Think, Turn, task

BINDING = "claude-opus-5-5"
CONTROLS = {"anthropic-beta": "thinking-binding-controls-2026-08-01"}
THINKING: Json = {"thinking": {"type": "adaptive"}}
LARGE = 3
STEPS = (Shell(f"make part_{number}") for number in range(18))
SCRIPT = task(*STEPS, thinking=True)
STRICT = Rules(bind_thinking=True)


def output(command: str) -> str:
    """One output is so large that it is pressed when it is first seen; the others are not."""
    made = file_or_output(command)
    return "\n".join(f"{made}\n{line}" for line in range(4)) if command.endswith(f"_{LARGE}") else made


def agent_of(stage: object, **more: object) -> Agent:
    return Agent(stage, model=BINDING, output=output, top=THINKING, headers=CONTROLS, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_a_binding_model_gets_edits_at_first_sight_and_no_others_even_in_a_cold_cache(stream: bool) -> None:
    with scene(SCRIPT, rules=STRICT) as stage:
        agent = agent_of(stage, stream=stream)
        agent.go(12)
        stage.clock.wait(62 * MINUTE)
        cold = agent.go(4)[12]
        stats = stage.stats()
    assert [turn.exchange.refusal for turn in agent.turns] == [None] * 16
    assert cold.entry.receipt.belief is not None
    assert (cold.entry.receipt.belief.state, cold.read) == ("cold", 0)
    assert cold.cut == "binding_model"
    assert {turn.cut for turn in agent.turns} == {None, "binding_model"}
    changed = [changed_literals(turn.body, turn.sent) for turn in agent.turns]
    assert [len(edits) for edits in changed] == [0] * (LARGE + 1) + [1] * (16 - LARGE - 1)
    assert all(edits == changed[-1] for edits in changed[LARGE + 1 :])
    assert (stats["transformations"]["count"], stats["aged"]["count"], stats["edits_noticed"]) == (1, 0, 0)
    assert {turn.entry.outcome.transformations for turn in agent.turns if turn.entry.outcome} == {()}


def test_the_upstream_would_have_refused_the_edit_that_is_not_made() -> None:
    """The same conversation with a model that is not known to bind: this upstream refuses what it is sent."""
    with scene(SCRIPT, rules=STRICT) as stage:
        agent = agent_of(stage)
        agent.model = "claude-opus-4-8"
        agent.go(12)
        stage.clock.wait(62 * MINUTE)
        refused = agent.fail()
    assert refused.cut == "cold"
    assert refused.exchange.refusal is not None
    assert "bound to a different conversation" in refused.exchange.refusal


def test_a_user_may_accept_the_loss() -> None:
    with scene(SCRIPT, rules=STRICT, settings=settings(allow_thinking_loss=True)) as stage:
        agent = agent_of(stage)
        agent.top = {"thinking": {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}}
        agent.go(12)
        stage.clock.wait(62 * MINUTE)
        turn = agent.step()
        stats = stage.stats()
    assert turn.exchange.refusal is None
    assert turn.cut == "cold"
    assert turn.entry.outcome is not None
    assert set(turn.entry.outcome.transformations) == {"thinking_dropped:prefix_binding_mismatch"}
    assert stats["edits_noticed"] == 1


NOTICED_AT = 12
TOLD = Aside(transformations=(("thinking_mismatch_allowed", "prefix_binding_mismatch"),))


def noticing() -> Script:
    """A model that is not known to bind, whose provider tells once that reasoning no longer fits."""
    turns = list(SCRIPT.turns)
    turns[NOTICED_AT] = Turn(turns[NOTICED_AT].parts, aside=TOLD)
    return Script(turns=tuple(turns))


def unbound(stage: object, **more: object) -> Agent:
    return Agent(stage, output=output, headers=CONTROLS, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("restart", [False, True], ids=["while it runs", "after a restart"])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_reasoning_that_no_longer_fits_stops_new_edits_loudly(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, stream: bool, restart: bool
) -> None:
    found: Settings = settings()
    with SqliteStore(tmp_path / "s.sqlite3") as store, scene(noticing(), settings=found, store=store) as stage:
        agent = unbound(stage, stream=stream)
        agent.go(NOTICED_AT)
        stage.clock.wait(62 * MINUTE)
        with caplog.at_level(logging.ERROR, logger="coldpress"):
            told = agent.go(1)[-1]
        before = changed_literals(told.body, told.sent)
        stage.clock.wait(62 * MINUTE)
        if restart:
            with restarted(stage.upstream, stage.clock, settings=found, store=store) as again:
                agent.scene = again
                later = agent.go(4)[NOTICED_AT + 1 :]
                stats = again.stats()
        else:
            later = agent.go(4)[NOTICED_AT + 1 :]
            stats = stage.stats()
    assert told.cut == "cold"
    assert told.entry.outcome is not None
    assert told.entry.outcome.transformations == ("thinking_mismatch_allowed:prefix_binding_mismatch",)
    (loud,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert "no new edits in this conversation" in loud.getMessage()
    assert vars(loud)["request"] == told.entry.receipt.request_id
    for turn in later:
        assert changed_literals(turn.body, turn.sent) == before, "what stands stays, nothing is added"
        assert "stopped" in turn.entry.receipt.notes
    assert later[0].entry.receipt.belief is not None
    assert (later[0].entry.receipt.belief.state, later[0].cut) == ("cold", "stopped"), "it would have been free"
    assert stats["edits_noticed"] == 1
    assert stats["cuts_declined"]["stopped"] == 1


def test_other_conversations_go_on_after_one_was_stopped() -> None:
    with scene(noticing()) as stage:
        agent = unbound(stage)
        agent.go(NOTICED_AT)
        stage.clock.wait(62 * MINUTE)
        agent.go(1)
        other = unbound(stage)
        other.said = [{"role": "user", "content": "Another task altogether."}]
        other.go(11)
        stage.clock.wait(62 * MINUTE)
        turn = other.step()
    assert turn.cut == "cold"


@pytest.mark.parametrize("reason", ["model_mismatch", "organization_mismatch", "turn_boundary"])
def test_reasoning_dropped_for_another_reason_stops_nothing(reason: str) -> None:
    turns = list(SCRIPT.turns)
    turns[5] = Turn(turns[5].parts, aside=Aside(transformations=(("thinking_dropped", reason),)))
    with scene(
        Script(
            turns=tuple(turns),
            closing=Turn(
                (Say("done"), Think("well")),
            ),
        )
    ) as stage:
        agent = unbound(stage)
        agent.go(11)
        stage.clock.wait(62 * MINUTE)
        turn = agent.step()
        stats = stage.stats()
    assert turn.cut == "cold"
    assert stats["edits_noticed"] == 0
    assert agent.turns[5].entry.outcome is not None
    assert agent.turns[5].entry.outcome.transformations == (f"thinking_dropped:{reason}",)
