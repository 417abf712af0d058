"""Where nobody could write what stands in the place of messages, results alone become smaller under pressure."""

from __future__ import annotations

import asyncio
import json

import pytest
from bodies import changed_literals
from cases import talk
from cases.agents import ResponsesAgent, scene
from compacting import faultless, growing, prose, windowed
from drive.asking import settings as summariser_settings
from strategies import Step, gemini_contents, gemini_request, responses_items, responses_request
from support import pressing

from coldpress.config import Settings
from coldpress.drive import Prepared
from coldpress.drive.exchange import Inbound
from coldpress.measure.rates import Prices, Rates
from coldpress.testing import Rules, Say, Script, Shell, StrictUpstream, Turn, task
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


def prepared(name: FormatName, requests: list[bytes], found_settings: Settings | None = None) -> list[Prepared]:
    address = Address("house-model", True) if name == "gemini" else Address()

    async def run() -> list[Prepared]:
        found = []
        for number, body in enumerate(requests):
            at = 1_800_000_000.0 + 30 * number
            inbound = Inbound(f"r{number}", at, "house", name, body, None, {}, address=address)
            found.append(await press.driver.prepare(inbound))
        return found

    with pressing(found_settings or windowed(WINDOW_TOKENS)) as press, faultless():
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


@pytest.mark.parametrize("name", ["openai_responses", "gemini"])
def test_no_model_is_asked_for_a_summary_that_nobody_could_write(name: FormatName) -> None:
    free = Prices("gpt-5-mini", ((0, Rates(0.0, 0.0, 0.0, 0.0, 0.0, "settings", "undated")),))
    with StrictUpstream(Script(answer=lambda asked: Turn((Say("never"),)))) as upstream:
        asking = windowed(WINDOW_TOKENS, summariser=summariser_settings("openai", upstream.url, pricing=(free,)))
        found = prepared(name, bodies(name), asking)
        assert not upstream.exchanges
        prepared("openai_chat", growing("openai_chat", [prose(n, 300) for n in range(TURNS)]), asking)
        assert upstream.exchanges, "where it can be written, it is asked for"
    pressures = [one.receipt.pressure for one in found if one.receipt.pressure]
    assert {pressure.reason for pressure in pressures} <= {"masked", "masked_short", "no_gain", "nothing_to_take"}
    assert any(pressure.reason == "masked_short" for pressure in pressures)
    assert all(not pressure.refused and not pressure.summariser_usd for pressure in pressures)


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
