"""Promise: on the Gemini wire nothing is refused, no signature is lost, and bills are the provider's own."""

from __future__ import annotations

import json
from typing import Any

import pytest
from cases.agents import HEAD, MINUTE, Turn, scene
from cases.gemini_agent import GeminiAgent
from compacting import windowed
from google.genai import errors
from missed import none_is_ours
from support import settings

from coldpress.engine.policy import Policy, Rule
from coldpress.testing import Rules, Shell, task

STREAMS = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
TURNS = 30
FIRST_SIGHT = Policy((Rule("*", ("deterministic",), first_pass=True),))
"""Nothing is changed that was sent before. Gemini is not known to bind signatures to a prefix; here it does."""


def long_output(command: str) -> str:
    return "\n".join(f"{command} step {n:03}: built object {n * 7919 % 10_007}" for n in range(500))


def signatures(body: bytes) -> list[Any]:
    """Every signed part of a request, with the signature."""
    contents = json.loads(body)["contents"]
    return [part for content in contents for part in content["parts"] if "thoughtSignature" in part]


def check_bills(turns: list[Turn]) -> None:
    for turn in turns:
        billed, outcome = turn.exchange.usage, turn.entry.outcome
        assert billed is not None
        assert outcome is not None
        read = outcome.usage
        assert (read.prompt, read.read or 0, read.output, read.reasoning or 0) == (
            billed.prompt,
            billed.read,
            billed.output,
            billed.reasoning,
        )


@STREAMS
def test_thirty_signed_turns_are_pressed_at_first_sight_and_never_refused(stream: bool) -> None:
    script = task(*(Shell(f"make part_{number}") for number in range(TURNS)), thinking=True)
    rules = Rules(bind_thinking=True, window_tokens=2_000_000)
    with scene(script, rules=rules, provider="gemini", settings=settings(policy=FIRST_SIGHT)) as stage:
        turns = GeminiAgent(stage, stream=stream, output=long_output).go(TURNS + 1)
    assert [turn.exchange.refusal for turn in turns] == [None] * (TURNS + 1)
    assert sum(turn.entry.receipt.reused for turn in turns) > TURNS
    for turn in turns:
        assert signatures(turn.sent) == signatures(turn.body)
    assert len(signatures(turns[-1].sent)) >= TURNS
    assert len(turns[-1].sent) < len(turns[-1].body) / 2
    assert turns[-1].read > 0
    check_bills(turns)
    none_is_ours(stage.gate.store)


@STREAMS
def test_parallel_calls_of_one_name_keep_their_answers(stream: bool) -> None:
    script = task(*((Shell(f"make a{n}"), Shell(f"make b{n}"), Shell(f"make c{n}")) for n in range(5)), thinking=True)
    with scene(script, rules=Rules(bind_thinking=True), provider="gemini", settings=settings()) as stage:
        turns = GeminiAgent(stage, stream=stream, output=long_output).go(6)
    assert [turn.exchange.refusal for turn in turns] == [None] * 6
    contents = json.loads(turns[-1].sent)["contents"]
    for content in contents:
        answers = [part["functionResponse"] for part in content["parts"] if "functionResponse" in part]
        asked = [answer["response"]["output"].split(" step")[0].split()[-1] for answer in answers]
        assert [name[0] for name in asked] == ["a", "b", "c"][: len(asked)]
    assert turns[-1].entry.receipt.reused > 0
    check_bills(turns)


@STREAMS
def test_an_agent_on_gemini_outlives_its_window(stream: bool) -> None:
    window = 24_000
    script = task(*(Shell(f"make part_{number}") for number in range(40)))
    with scene(script, rules=Rules(window_tokens=window), provider="gemini", settings=windowed(window)) as stage:
        agent = GeminiAgent(stage, stream=stream)
        turns = agent.go(40)
    assert [turn.exchange.refusal for turn in turns] == [None] * 40
    assert len(json.dumps(agent.said)) / 4 > 1.5 * window, "without us it would not have fitted"


def test_aged_results_are_masked_when_the_cache_is_cold_and_the_bill_stays_right() -> None:
    aged = settings(policy=Policy((Rule("*", ("mask",), age=2),)))
    script = task(*(Shell(f"make part_{number}") for number in range(12)), thinking=True)
    with scene(script, provider="gemini", settings=aged) as stage:
        agent = GeminiAgent(stage)
        agent.go(8)
        stage.clock.wait(600 * MINUTE)
        turns = agent.go(3)
    assert [turn.exchange.refusal for turn in turns] == [None] * 11
    assert len(turns[8].sent) < len(turns[8].body) - len(HEAD)
    check_bills(turns)
    none_is_ours(stage.gate.store)


@STREAMS
def test_should_gemini_ever_bind_an_aged_edit_is_refused_once_and_taken_back(stream: bool) -> None:
    """Its API is not known to bind signatures to what stands before them; this upstream does."""
    aged = settings(policy=Policy((Rule("*", ("mask",), age=2),)))
    script = task(*(Shell(f"make part_{number}") for number in range(14)), thinking=True)
    with scene(script, rules=Rules(bind_thinking=True), provider="gemini", settings=aged) as stage:
        agent = GeminiAgent(stage, stream=stream)
        with pytest.raises(errors.ClientError, match="bound to a different conversation"):
            agent.go(14)
        refused = stage.upstream.inference[-1]
        turns = agent.go(5)[-5:]
    assert refused.refusal is not None
    assert [turn.exchange.refusal for turn in turns] == [None] * 5
    assert all(turn.sent == turn.body and "stopped" in turn.entry.receipt.notes for turn in turns)
    check_bills(turns)
