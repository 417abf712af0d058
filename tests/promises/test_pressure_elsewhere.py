"""Where nobody could write what stands in the place of messages, results alone become smaller under pressure."""

from __future__ import annotations

import asyncio
import json

import pytest
from bodies import changed_literals
from cases import talk
from cases.agents import ResponsesAgent, scene
from compacting import faultless, windowed
from strategies import Step, gemini_contents, gemini_request, responses_items, responses_request
from support import pressing

from coldpress.drive import Prepared
from coldpress.drive.exchange import Inbound
from coldpress.testing import Rules, Shell, task
from coldpress.wire.registry import Address, FormatName

WINDOW_TOKENS = 24_000
TURNS = 40


def steps() -> list[Step]:
    """Two calls with long results, then a turn of prose, again and again."""
    prose = " ".join(f"word{n}" for n in range(300))
    return [
        Step(prose=prose, calls=[] if n % 3 == 2 else [("Bash", talk.log(f"n{n}", 60), False)], failed=False, odd=None)
        for n in range(TURNS)
    ]


def bodies(name: FormatName) -> list[bytes]:
    listed = steps()
    if name == "gemini":
        return [json.dumps(gemini_request(gemini_contents(listed[:n]))).encode() for n in range(1, TURNS + 1)]
    found = []
    for n in range(1, TURNS + 1):
        items = [item for item in responses_items(listed[:n]) if item.get("type") != "item_of_the_future"]
        found.append(json.dumps(responses_request(items, model="house-model")).encode())
    return found


def prepared(name: FormatName, requests: list[bytes]) -> list[Prepared]:
    address = Address("house-model", True) if name == "gemini" else Address()

    async def run() -> list[Prepared]:
        found = []
        for number, body in enumerate(requests):
            at = 1_800_000_000.0 + 30 * number
            inbound = Inbound(f"r{number}", at, "house", name, body, None, {}, address=address)
            found.append(await press.driver.prepare(inbound))
        return found

    with pressing(windowed(WINDOW_TOKENS)) as press, faultless():
        return asyncio.run(run())


@pytest.mark.parametrize("name", ["openai_responses", "gemini"])
def test_results_are_cleared_and_no_message_goes(name: FormatName) -> None:
    requests = bodies(name)
    found = prepared(name, requests)
    cleared = 0
    for body, sent in zip(requests, found, strict=True):
        assert sent.receipt.notes == ()
        cleared = max(cleared, len(changed_literals(body, sent.body, name)))
        reason = sent.receipt.pressure.reason if sent.receipt.pressure else None
        assert reason in (None, "masked", "masked_short", "no_gain", "nothing_to_take")
    assert cleared > 15
    assert any(sent.receipt.pressure and sent.receipt.pressure.reason == "masked_short" for sent in found)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_an_agent_on_responses_outlives_its_window(stream: bool) -> None:
    script = task(*(Shell(f"make part_{number}") for number in range(TURNS)))
    rules = Rules(window_tokens=WINDOW_TOKENS)
    with scene(script, rules=rules, provider="openai", settings=windowed(WINDOW_TOKENS)) as stage:
        agent = ResponsesAgent(stage, stream=stream, model="gpt-5.3-codex")
        turns = agent.go(TURNS)
    assert [turn.exchange.refusal for turn in turns] == [None] * TURNS
    exact = sum(len(str(item.get("output", ""))) for item in agent.said) / 4
    assert exact > 1.5 * WINDOW_TOKENS, "without us it would not have fitted"
