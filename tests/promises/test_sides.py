"""What the settings have us put beside a client's own fields arrives with its headers, and only where they say so."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from cases.agents import Agent, ResponsesAgent, scene
from support import settings

from coldpress.config import Settings
from coldpress.config.warmth_keys import WarmthKeys
from coldpress.engine.native import Native
from coldpress.model.records import Operation
from coldpress.testing import Script, Shell, task

DIAGNOSED = Native(diagnostics=True)
DIAGNOSIS_BETA = "cache-diagnosis-2026-04-07"


def script() -> Script:
    return task(*(Shell(f"make part_{number}") for number in range(9)))


def using(native: Native = Native(), *, marks: bool = False, operation: Operation = "press") -> Settings:  # noqa: B008
    found = settings(operation)
    rows = (replace(row, native=native, warmth=WarmthKeys(marks=marks)) for row in found.providers)
    return replace(found, providers=tuple(rows))


def sent(turns: list[Any]) -> list[dict[str, Any]]:
    return [json.loads(turn.sent) for turn in turns]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_openai_says_why_the_tools_cost_the_cache(stream: bool) -> None:
    with scene(script(), provider="openai", settings=using(DIAGNOSED)) as stage:
        agent = ResponsesAgent(stage, stream=stream)
        agent.go(3)
        agent.tools = ("Bash", "Read", "Grep")
        turns = agent.go(2)
    compared = [body.get("prompt_cache_options", {}).get("comparison_response_id") for body in sent(turns)]
    named = [turn.entry.outcome.reply_id for turn in turns if turn.entry.outcome]
    assert compared == [None, *named[:-1]]
    missed = turns[3].entry.outcome
    assert missed is not None
    assert missed.attribution is not None
    assert (missed.attribution.cause, missed.attribution.told) == ("client", True)
    assert turns[4].entry.outcome is not None
    assert turns[4].entry.outcome.attribution is None


@pytest.mark.parametrize("client", ["", "context-1m-2025-08-07"], ids=["no beta", "a beta of the client's"])
def test_anthropic_is_asked_with_the_header_that_goes_with_it(client: str) -> None:
    headers = {"anthropic-beta": client} if client else {}
    with scene(script(), settings=using(DIAGNOSED)) as stage:
        turns = Agent(stage, headers=headers).go(3)
    asked = [body["diagnostics"]["previous_message_id"] for body in sent(turns)]
    assert asked == [None, *(turn.entry.outcome.reply_id for turn in turns[:-1] if turn.entry.outcome)]
    for turn in turns:
        words = (turn.exchange.request.header("anthropic-beta") or "").split(",")
        assert words == [word for word in (client, DIAGNOSIS_BETA) if word]
        assert turn.entry.receipt.native is not None
        assert turn.entry.receipt.native.asked == ("diagnostics",)


@pytest.mark.parametrize("operation", ["observe", "drain"])
def test_nothing_is_put_beside_where_nothing_may_change(operation: Operation) -> None:
    with scene(script(), settings=using(DIAGNOSED, marks=True, operation=operation)) as stage:
        agent = Agent(stage)
        turn = agent.step()
    assert turn.body == turn.sent
    assert not turn.exchange.request.header("anthropic-beta")


def test_nothing_is_put_beside_by_default() -> None:
    with scene(script()) as stage:
        turns = Agent(stage).go(3)
    assert all(turn.body == turn.sent for turn in turns)
    assert all(turn.entry.receipt.native is None for turn in turns)


class Unmarked(Agent):
    """An agent that marks its system prompt and nothing among its messages."""

    def _marked(self) -> list[dict[str, Any]]:
        return self.said


@pytest.mark.parametrize("marks", [False, True], ids=["off", "on"])
def test_a_mark_where_the_client_sets_none_has_the_history_read(marks: bool) -> None:
    with scene(script(), settings=using(marks=marks)) as stage:
        turns = Unmarked(stage).go(6)
    assert [body.get("cache_control") for body in sent(turns)] == [
        {"type": "ephemeral", "ttl": "1h"} if marks else None
    ] * 6
    heads = turns[1].read
    assert (turns[-1].read > heads) is marks
