"""A client changes its system prompt in the middle of a conversation: what was learned of it goes on."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest
from cases.talk import Json, assistant, log, messages, result, use, user
from support import Press, pressing

from coldpress.drive import Inbound
from coldpress.model.records import Outcome, Receipt
from coldpress.model.usage import Usage

MODEL = "claude-opus-4-6"


def body(turns: int, system: str, **top: object) -> bytes:
    said: list[Json] = [user("go")]
    for n in range(turns):
        said += [assistant(use(f"t{n}")), user(result(f"t{n}", log(str(n), 60)))]
    return messages(*said, model=MODEL, system=[{"type": "text", "text": system}], **top)


def send(press: Press, number: int, raw: bytes, **outcome: object) -> Receipt:
    """Send a request ten seconds after the one before, and hear what a provider with a warm cache would say."""

    async def run() -> Receipt:
        inbound = Inbound(f"r{number}", 1.8e9 + 10 * number, "anthropic", "anthropic", raw, None, {})
        return (await press.driver.prepare(inbound)).receipt

    receipt = asyncio.run(run())
    usage = Usage(fresh=0, read=len(raw) // 4 if number else 0, write_short=1_000, output=10)
    done = Outcome(f"r{number}", 200, "complete", 1.0, usage)
    press.driver.finish(replace(done, **outcome))  # type: ignore[arg-type]
    return receipt


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"system": "You are an agent. Be brief."}, id="other words"),
        pytest.param({"system": "You are an agent. Today is 2026-12-01."}, id="another date"),
        pytest.param(
            {"system": "You are an agent.", "tools": [{"name": "Bash", "input_schema": {}}]}, id="other tools"
        ),
        pytest.param({"system": "You are an agent.", "model": "claude-opus-4-5"}, id="another model"),
        pytest.param({"system": "You are an agent.", "tool_choice": {"type": "any"}}, id="another choice of tools"),
        pytest.param(
            {"system": "You are an agent.", "thinking": {"type": "enabled", "budget_tokens": 2000}}, id="thinking"
        ),
    ],
)
def test_a_changed_head_is_a_cold_point_that_is_used_at_once(changed: dict[str, object]) -> None:
    with pressing() as press:
        for turn in range(12):
            send(press, turn, body(turn, "You are an agent."))
        system = str(changed.pop("system"))
        raw = body(12, system)
        if changed:
            raw = json.dumps({**json.loads(raw), **changed}, separators=(",", ":")).encode()
        receipt = send(press, 12, raw)
    assert receipt.belief is not None
    assert receipt.belief.state == "cold"
    assert receipt.cut is not None
    assert (receipt.cut.reason, receipt.cut.applied > 0) == ("cold", True)


def test_saying_what_holds_anyway_is_no_change() -> None:
    with pressing() as press:
        for turn in range(12):
            send(press, turn, body(turn, "You are an agent."))
        receipt = send(press, 12, body(12, "You are an agent.", tool_choice={"type": "auto"}))
    assert receipt.belief is not None
    assert receipt.belief.state == "warm"


def test_a_stop_holds_behind_a_changed_system_prompt() -> None:
    with pressing() as press:
        for turn in range(12):
            told = ("thinking_dropped:prefix_binding_mismatch",) if turn == 11 else ()
            send(press, turn, body(turn, "You are an agent."), transformations=told)
        receipt = send(press, 12, body(12, "You are an agent. Be brief."))
    assert "stopped" in receipt.notes
    assert receipt.cut is not None
    assert (receipt.cut.reason, receipt.cut.applied) == ("stopped", 0)
