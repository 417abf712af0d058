"""On-demand summaries keep out of what others do, pay by the gate's own sums, and stand for whole leading messages."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from bodies import conversation
from engine.test_native import HEAD, MESSAGES, PRICES

from coldpress.engine.gate import Terms
from coldpress.engine.native import Asking, Native
from coldpress.engine.on_demand import Sum, objection, stands, stops, why_not, without_summaries, write
from coldpress.engine.plan import placed_batch
from coldpress.engine.session import Session
from coldpress.measure.rates import Unpriced
from coldpress.model.conversation import Conversation
from coldpress.model.edits import Batch
from coldpress.wire.span import splice

NATIVE = Native(compact_on_demand_tokens=100_000)
BINDING = replace(MESSAGES, model="claude-opus-5-5")
TERMS = Terms(routes=(PRICES,), requests=60.0, state="warm")
BLOCK = '{"role":"assistant","content":[{"type":"compaction","content":"All of it.","signature":"s"}]}'


@pytest.mark.parametrize(
    ("asking", "native", "why"),
    [
        (MESSAGES, NATIVE, None),
        (BINDING, NATIVE, None),
        (replace(MESSAGES, format="openai_chat"), NATIVE, "format"),
        (replace(MESSAGES, first_party=False), NATIVE, "provider"),
        (replace(MESSAGES, fields=HEAD | {"thread"}), NATIVE, "thread"),
        (replace(MESSAGES, stateful=True), NATIVE, "stateful"),
        (replace(MESSAGES, fields=HEAD | {"context_management"}), NATIVE, "client"),
        (replace(MESSAGES, fields=HEAD | {"compaction"}), NATIVE, "client"),
        (replace(MESSAGES, replays=True), NATIVE, "client"),
        (MESSAGES, replace(NATIVE, clear_tool_uses=True), "edits"),
        (MESSAGES, replace(NATIVE, compact_threshold_tokens=150_000), "edits"),
        (replace(MESSAGES, model="claude-haiku-4-5"), NATIVE, "model"),
        (replace(MESSAGES, model=None), NATIVE, "model"),
        (replace(MESSAGES, routes=Unpriced(("x",))), NATIVE, "no_price"),
        (replace(MESSAGES, routes=(PRICES, PRICES)), NATIVE, "failover"),
    ],
)
def test_it_says_what_speaks_against_it(asking: Asking, native: Native, why: str | None) -> None:
    assert why_not(native, asking, may_send=True) == why


def test_nothing_is_asked_where_nobody_can_send_it() -> None:
    assert why_not(NATIVE, MESSAGES, may_send=False) == "provider"


def test_it_pays_by_what_is_read_less_against_what_is_written_and_what_it_costs() -> None:
    tokens = Sum(head=10_000, summarised=140_000, prompt=150_000)
    # 126,000 tokens at 0.5 over 60 requests are 3.78; 14,000 written at 6.25 for 0.5 are 0.08.
    assert objection(tokens, TERMS, usd=0.2) is None
    assert objection(tokens, TERMS, usd=3.9) == "never_pays"
    assert objection(tokens, replace(TERMS, requests=1.0), usd=0.2) == "never_pays"
    assert objection(Sum(10_000, 13_000, 150_000), TERMS, usd=0.0) == "never_pays"
    assert objection(tokens, replace(TERMS, routes=Unpriced(("x",))), usd=0.2) == "no_price"


def turns(count: int) -> Conversation:
    listed: list[dict[str, object]] = [{"role": "user", "content": "Do it."}]
    for n in range(count):
        call = {"type": "tool_use", "id": f"t{n}", "name": "Bash", "input": {"command": f"make {n}"}}
        listed += [
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"t{n}", "content": f"made {n}"}]},
        ]
    return conversation(json.dumps({"model": "claude-opus-5-5", "messages": listed}).encode())


def session(found: Conversation) -> Session:
    replies = (index for index, message in enumerate(found.messages) if message.role == "assistant")
    return Session.of((), (), (), tuple(replies), b"")


def test_what_goes_ends_on_a_finished_turn_and_more_stays_at_each_step() -> None:
    found = turns(30)
    assert list(stops(found, session(found), floor=0)) == [49, 37, 13]
    for stop in stops(found, session(found), floor=0):
        assert found.messages[stop].role == "assistant"
        assert found.messages[stop - 1].results
    few = turns(6)
    assert list(stops(few, session(few), floor=0)) == []


def test_the_block_takes_the_place_of_exactly_these_messages() -> None:
    found = turns(10)
    before = session(found)
    written = write(found, before, 9, message=BLOCK, text="All of it.", tokens=500)
    at = {message.chain: index for index, message in enumerate(found.messages)}
    batch = placed_batch(found, at, Batch(found.messages[-1].chain, (), written.rebuild), len(found.messages) - 1)
    after = before.with_aged((batch,))
    assert stands(after)
    assert not stands(before)
    sent = splice(found.body, after.splices)
    assert json.loads(sent)["messages"] == [json.loads(BLOCK), *json.loads(found.body)["messages"][9:]]
    assert sent.endswith(found.body[found.messages[9].span.start :])
    assert len(written.rebuild.covered) == 9
    assert {sha for sha, _ in written.originals} >= set(written.rebuild.covered)
    # A further one stands for more, and without them all of it goes again.
    assert all(stop > 9 for stop in stops(found, after, floor=0, keep_turns=2))
    assert splice(found.body, without_summaries(after).splices) == found.body
    assert without_summaries(before) is before
    other = turns(3)
    gone = placed_batch(
        other,
        {message.chain: index for index, message in enumerate(other.messages)},
        Batch(b"", (), written.rebuild),
        len(other.messages) - 1,
    )
    assert gone.rebuild is None
