"""A client that summarises its own conversation: exact where that fits the window, as it stands where it does not."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from bodies import changed_literals, without_marks
from cases.agents import MINUTE, Agent, ChatAgent, Turn, file_or_output, scene
from cases.compacting import (
    BUDGET,
    URGENT,
    WINDOW,
    WIRES,
    Wire,
    agent,
    literal,
    pressure,
    reasons,
    settings,
    small,
    spoken,
    summary_text,
    until,
    writes,
)

from coldpress.config import Settings
from coldpress.model.records import Operation
from coldpress.testing import Asked, Rules, Say, Script, Shell, task
from coldpress.testing import Turn as Answer

FORBIDS = (
    "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.\n\n"
    "Your task is to create a detailed summary of the conversation so far."
)
"""Claude Code's words, which come with its tools; the others send none."""

SUMMARISED = "The bug is in the parser."
STRUCTURAL = settings()


def answer(asked: Asked) -> Answer | None:
    """Summarise where the client asks for it."""
    return Answer((Say(SUMMARISED),)) if FORBIDS in spoken(asked.body) else None


def compact(one: Agent | ChatAgent) -> Turn:
    """Ask for a summary of everything, as the client's own command does."""
    one.said.append({"role": "user", "content": FORBIDS})
    turn = one.go(1)[-1]
    assert "client_compaction" in turn.entry.receipt.notes
    return turn


@pytest.mark.parametrize("wire", WIRES)
def test_over_the_window_it_goes_with_everything_that_stands_and_nothing_new(wire: Wire) -> None:
    with small(replace(writes(), answer=answer), STRUCTURAL, wire=wire) as stage:
        one = agent(stage, wire)
        until(one, "summarised")
        last = one.go(14)[-1]
        turn = compact(one)
        used = [before for before in one.turns if reasons(before) == "summarised"][-1]
        text = summary_text(stage, used)
    assert turn.exchange.refusal is None
    assert SUMMARISED in json.dumps(one.said[-1])
    found = turn.entry.receipt
    assert pressure(turn).reason == "client_compacts"
    assert pressure(turn).before_tokens >= URGENT > pressure(turn).after_tokens
    assert (found.operation, found.lines) == ("drain", ())
    needle = literal(text, turn.sent)
    assert without_marks(turn.sent).partition(needle)[0] == without_marks(last.sent).partition(needle)[0]
    assert turn.read >= last.prompt - 128, "and what the provider holds is read"


@pytest.mark.parametrize("wire", WIRES)
def test_without_coldpress_the_same_request_is_too_long(wire: Wire) -> None:
    with small(replace(writes(), answer=answer), STRUCTURAL, wire=wire) as stage:
        one = agent(stage, wire)
        until(one, "summarised")
        one.go(14)
        turn = compact(one)
    with small(Script(), replace(STRUCTURAL, operation="off"), wire=wire) as stage:
        path = "/v1/messages" if wire == "anthropic" else "/v1/chat/completions"
        reply = stage.gate.post(path, turn.body)
    assert reply.status == 400
    assert b"prompt is too long" in reply.body or b"maximum context length" in reply.body


@pytest.mark.parametrize("wire", WIRES)
def test_where_it_fits_it_goes_exact_although_something_stands(wire: Wire) -> None:
    """Right behind a summary the whole history is still less than the window."""
    with small(
        replace(writes(), answer=answer), settings(budget=replace(BUDGET, trigger=0.5, target=0.4)), wire=wire
    ) as stage:
        one = agent(stage, wire)
        until(one, "summarised")
        turn = compact(one)
        following = one.go(1)[-1]
    assert turn.exchange.refusal is None
    assert turn.sent == turn.body
    assert turn.entry.receipt.pressure is None
    assert following.sent != following.body, "what stands stands again"


def test_masks_of_a_cold_point_go_with_it_too_where_it_would_be_too_long() -> None:
    script = replace(task(*(Shell(f"make part_{number}") for number in range(20))), answer=answer)
    budget = replace(BUDGET, window_tokens=26_000, stages=())
    with scene(script, rules=Rules(window_tokens=26_000), settings=settings(budget=budget)) as stage:
        one = Agent(stage, output=file_or_output)
        one.go(12)
        stage.clock.wait(62 * MINUTE)
        cold = one.go(4)[12]
        turn = compact(one)
    assert cold.cut == "cold"
    assert turn.exchange.refusal is None
    changed = changed_literals(turn.body, turn.sent)
    assert changed == changed_literals(cold.body, cold.sent) != []


@pytest.mark.parametrize("operation", ["observe", "off"])
def test_only_where_something_may_be_changed(operation: Operation) -> None:
    with small(replace(writes(), answer=answer), STRUCTURAL, rules=Rules()) as stage:
        one = Agent(stage, output=lambda asked: "ok")
        until(one, "summarised")
        one.go(14)
        one.headers = {"x-coldpress-mode": operation}
        one.said.append({"role": "user", "content": FORBIDS})
        one.step()
    sent = stage.upstream.inference[-1].request.body
    assert sent == (one.turns[-1].body)


def test_a_window_that_nobody_knows_leaves_it_exact() -> None:
    found: Settings = settings(budget=replace(BUDGET, window_tokens=None))
    with small(replace(writes(), answer=answer), found, rules=Rules(window_tokens=10 * WINDOW)) as stage:
        one = Agent(stage, model="nobody-knows-1", output=lambda asked: "ok")
        one.go(30)
        turn = compact(one)
    assert turn.sent == turn.body
    assert turn.entry.receipt.pressure is None
