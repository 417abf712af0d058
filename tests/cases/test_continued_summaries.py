"""A summary asked for in the agent's own conversation: it reads the agent's cache, and is never made of a summary."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from cases.agents import Clock, restarted
from cases.compacting import (
    MODEL,
    SUMMARY,
    URGENT_AT_ONCE,
    WINDOW,
    WIRES,
    Wire,
    accepted,
    agent,
    asking,
    pressure,
    settings,
    spoken,
    summary_text,
    until,
    writes,
)

from coldpress.testing import Asked, Rules, Say, StrictUpstream
from coldpress.testing import Turn as Answer

MOST_OF_THE_QUESTION = 1_500
"""Tokens of the instruction, of the list of the messages, and of the request."""


def answer(asked: Asked) -> Answer | None:
    """Answer questions for a summary, in either form, and leave everything else to the script."""
    said = spoken(asked.body)
    if "The messages of the part, by their numbers:" in said:
        found = re.findall(r"^m(\d+): assistant: (Step \d+ of \d+\.)", said, re.MULTILINE)
        items = [{"message": int(number), "text": step, "quotes": [step]} for number, step in found]
        return Answer((Say(json.dumps({"decisions": items})),))
    if "=== request ===" in said and SUMMARY.answer is not None:
        return SUMMARY.answer(asked)
    return None


@pytest.mark.parametrize("wire", WIRES)
def test_it_reads_the_agents_cache_and_the_next_one_is_made_of_originals(wire: Wire) -> None:
    clock, script = Clock(), replace(writes(), answer=answer)
    with StrictUpstream(script, rules=Rules(window_tokens=WINDOW), clock=clock) as upstream:
        found = settings(asking(upstream.url, kind=wire, prefix="conversation"), URGENT_AT_ONCE)
        with restarted(upstream, clock, settings=found, provider=wire) as stage:
            one = agent(stage, wire)
            first, second = until(one, "summarised"), until(one, "summarised")
            text = summary_text(stage, first)
    accepted(one.turns)
    own = {turn.exchange.request_id for turn in one.turns}
    asked = [exchange for exchange in upstream.inference if exchange.request_id not in own]
    assert [exchange.refusal for exchange in asked] == [None, None]
    assert [exchange.request.json["model"] for exchange in asked] == [one.model, MODEL]
    assert [pressure(turn).summariser for turn in (first, second)] == [one.model, MODEL]
    assert [pressure(turn).generation for turn in (first, second)] == [1, 2]

    before, usage = one.turns[one.turns.index(first) - 1], asked[0].usage
    assert usage is not None
    assert usage.read is not None
    assert usage.prompt is not None
    assert usage.read > 0.75 * before.prompt
    assert usage.prompt - usage.read < MOST_OF_THE_QUESTION, "all of the agent's own bytes are read"

    assert text not in spoken(asked[1].request.json)
    assert "cat > reports/part_0.txt" in spoken(asked[1].request.json)
