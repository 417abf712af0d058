"""Promise: a provider's summary on demand stands for the older part of a conversation, and its client never notices."""

from __future__ import annotations

import itertools
import json
import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from cases.agents import Agent, Clock, Json, Scene, Turn, file_or_output, restarted, scene
from cases.compacting import short, writes
from support import settings as built_in

from coldpress.config import Settings
from coldpress.engine.budget import BudgetRule, Budgets
from coldpress.engine.native import Native
from coldpress.model.records import Operation
from coldpress.stores.base import LedgerEntry
from coldpress.stores.sqlite import SqliteStore
from coldpress.testing import Asked, Exchange, HttpError, Rules, Say, Script, Shell, StrictUpstream, task
from coldpress.testing import Turn as Answer

TURNS = 30
TOKENS = 30_000
KEPT = 6
PATIENCE_SECONDS = 20.0
BINDING, OTHER = "claude-opus-5-5", "claude-sonnet-4-6"
CONTROLS = {"anthropic-beta": "thinking-binding-controls-2026-08-01"}
THINKING: Json = {"thinking": {"type": "adaptive"}}
STRICT = Rules(bind_thinking=True, bind_reasoning=True)
ON_DEMAND = "compact-2026-09-04"
_MARK = re.compile(r'"cache_control":\{[^{}]*\},?|,"cache_control":\{[^{}]*\}')


def using(tokens: int = TOKENS, *, operation: Operation = "press", native: Native | None = None) -> Settings:
    """Settings that ask for summaries; so many requests are expected that one pays."""
    found = built_in(operation, expected_applications=200)
    asked = native or Native(compact_on_demand_tokens=tokens)
    return replace(found, providers=tuple(replace(row, native=asked) for row in found.providers))


def script(answer: Callable[[Asked], Answer | None] | None = None, steps: int = TURNS + 10) -> Script:
    made = task(*(Shell(f"make part_{number}") for number in range(steps)), thinking=True)
    return replace(made, answer=answer)


def agent_of(stage: Scene, *, stream: bool = False) -> Agent:
    return Agent(stage, model=BINDING, stream=stream, output=file_or_output, top=THINKING, headers=CONTROLS)


def own(stage: Scene) -> list[LedgerEntry]:
    """The requests of ours for a summary, as the ledger has them, oldest first."""
    stage.gate.store.flush()
    rows = stage.gate.store.receipts(limit=200, lineage=None, before=None)
    return [row for row in reversed(rows) if "compact_on_demand" in row.receipt.notes and row.outcome is not None]


def awaited(agent: Agent, before: int) -> None:
    """Wait until the request that follows a long prompt is answered, and the gateway has what it says."""
    until = time.monotonic() + PATIENCE_SECONDS
    while len(own(agent.scene)) == before and time.monotonic() < until:
        time.sleep(0.005)
    assert len(own(agent.scene)) > before
    time.sleep(0.05)  # the summary is noted in the same step of the event loop that wrote the entry down


def go(agent: Agent, turns: int) -> list[Turn]:
    """Take so many turns; after one whose prompt is long, the answer to ours is waited for; gives these turns."""
    for _ in range(turns):
        before = len(own(agent.scene))
        (*_, turn) = agent.go(1)
        if turn.prompt >= TOKENS:
            awaited(agent, before)
    return agent.turns[-turns:]


def elements(body: bytes) -> list[str]:
    """The messages of a body as they are written, without cache marks, which move on."""
    decoder, text = json.JSONDecoder(), body.decode()
    at, found = text.index('"messages":[') + len('"messages":['), []
    while text[at] != "]":
        _, end = decoder.raw_decode(text, at)
        found.append(_MARK.sub("", text[at:end]))
        at = end + (text[end] == ",")
    return found


def is_swapped(body: bytes) -> bool:
    return '"type":"compaction"' in elements(body)[0]


def has_summary(asked: Asked) -> bool:
    listed = asked.body["messages"]
    return isinstance(listed, list) and "'type': 'compaction'" in str(listed[0])


def bills_agree(exchanges: list[Exchange], entries: list[LedgerEntry]) -> None:
    """Fail where the ledger's bill is another than the upstream's own in any bucket, of any request."""
    told = sorted(str(row.outcome.usage) for row in entries if row.outcome is not None and row.outcome.status == 200)
    assert told == sorted(str(one.usage) for one in exchanges if one.usage is not None)
    assert all(row.outcome is not None and row.outcome.money is not None for row in entries)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_thirty_turns_with_bound_reasoning(stream: bool) -> None:
    with scene(script(), rules=STRICT, settings=using()) as stage:
        turns = go(agent_of(stage, stream=stream), TURNS)
        (asked,) = own(stage)
        rows = stage.gate.store.receipts(limit=200, lineage=None, before=None)
        stats = stage.stats()
    assert [one.refusal for one in stage.upstream.inference] == [None] * (TURNS + 1)
    assert {turn.entry.outcome.transformations for turn in turns if turn.entry.outcome} == {()}
    swapped = [turn for turn in turns if is_swapped(turn.sent)]
    before = turns[: -len(swapped)]
    assert swapped == turns[len(before) :]
    assert len(before) > KEPT
    summary = next(one for one in stage.upstream.inference if "compaction" in one.request.json)
    stop = len(elements(summary.request.body))
    assert asked.receipt.messages == stop
    # Ours is the request that was sent, to the byte, less what stays.
    assert elements(summary.request.body) == elements(before[-1].sent)[:stop]
    head, _, _ = before[-1].sent.partition(b'"messages"')
    assert summary.request.body.startswith(head) or stream
    assert summary.request.json.get("stream") is not True
    # Kept turns go as the client wrote them, and the block always as it came.
    blocks = {elements(turn.sent)[0] for turn in swapped}
    assert len(blocks) == 1
    for turn in swapped:
        assert elements(turn.sent)[1:] == elements(turn.body)[stop:]
        assert ON_DEMAND in (turn.exchange.request.header("anthropic-beta") or "")
        assert turn.entry.receipt.native is not None
        assert turn.entry.receipt.native.asked == ("compact_on_demand",)
    # What is rebuilt is read from the cache by every request behind the first.
    for earlier, later in itertools.pairwise(swapped):
        assert later.read == earlier.prompt
    assert asked.outcome is not None and (asked.outcome.usage.read or 0) > 0.6 * before[-1].prompt
    assert asked.outcome.usage.fresh == 120  # of the server's own prompt; all else was read
    bills_agree(stage.upstream.inference, rows)
    assert swapped[0].entry.receipt.cut is not None
    grown = before[-1].prompt - before[-2].prompt
    freed = swapped[0].entry.receipt.cut.removed_tokens
    assert freed == pytest.approx(before[-1].prompt + grown - swapped[0].prompt, rel=0.15)
    assert stats["native"]["asked"] == {"compact_on_demand": len(swapped) + 1}
    assert stats["native"]["applied"]["compact_on_demand"]["steps"] == 1


def test_a_summary_is_summarised_with_what_came_behind_it() -> None:
    tokens = 20_000
    with scene(script(), rules=STRICT, settings=using(tokens)) as stage:
        turns = go_on(agent_of(stage), TURNS + 5)
        asked = own(stage)
    assert [one.refusal for one in stage.upstream.inference] == [None] * (TURNS + 5 + len(asked))
    assert len(asked) >= 2
    summaries = [one.request.body for one in stage.upstream.inference if "compaction" in one.request.json]
    assert [is_swapped(body) for body in summaries] == [False] + [True] * (len(asked) - 1)
    blocks = [elements(turn.sent)[0] for turn in turns if is_swapped(turn.sent)]
    assert len(dict.fromkeys(blocks)) == len(asked)
    assert all(turn.sent.count(b'"type":"compaction"') <= 1 for turn in turns)


@pytest.mark.parametrize("operation", ["press", "drain", "observe"])
def test_after_a_restart_the_block_is_used_on(tmp_path: Path, operation: Operation) -> None:
    """While draining what stands goes on and nothing is asked for anew; where it is only observed all goes exact."""
    clock = Clock()
    with StrictUpstream(script(), rules=STRICT, clock=clock) as upstream:
        with (
            SqliteStore(tmp_path / "db", clock=clock) as store,
            restarted(upstream, clock, settings=using(), store=store) as stage,
        ):
            agent = agent_of(stage)
            before = go(agent, 22)
        said, sent = agent.said, len(upstream.inference)
        with (
            SqliteStore(tmp_path / "db", clock=clock) as store,
            restarted(upstream, clock, settings=using(operation=operation), store=store) as stage,
        ):
            agent = agent_of(stage)
            agent.said = said
            after = agent.go(3)
    assert is_swapped(before[-1].sent)
    assert [one.refusal for one in upstream.inference] == [None] * (sent + 3)
    if operation == "observe":
        assert [turn.sent == turn.body for turn in after] == [True] * 3
    else:
        assert {elements(turn.sent)[0] for turn in after} == {elements(before[-1].sent)[0]}
        assert after[0].read == before[-1].prompt


def fails(asked: Asked) -> Answer | None:
    return Answer((Say("no"),), fault=HttpError(500)) if "compaction" in asked.body else None


def test_where_no_summary_comes_the_client_is_served_as_it_was() -> None:
    with scene(script(fails), rules=STRICT, settings=using()) as stage:
        turns = go_on(agent_of(stage), TURNS)
        asked = own(stage)
    assert [turn.sent == turn.body for turn in turns] == [True] * TURNS
    assert all(turn.read == earlier.prompt for earlier, turn in itertools.pairwise(turns))
    assert [row.outcome.status for row in asked if row.outcome is not None] == [500] * len(asked)
    assert all("compact_on_demand:failed" in row.receipt.notes for row in asked)
    told = [turn.entry.receipt.native for turn in turns]
    failed = [native is not None and [one.why for one in native.declined] == ["failed"] for native in told]
    assert sum(failed) >= 1
    # The next try comes when the prompt has grown by a quarter of the setting, not on every request.
    first = next(turn.prompt for turn in turns if turn.prompt >= TOKENS)
    assert len(asked) == 1 + int((turns[-1].prompt - first) // (TOKENS // 4))


def go_on(agent: Agent, turns: int) -> list[Turn]:
    """Take so many turns, each of which leaves time for whatever follows it."""
    for _ in range(turns):
        agent.go(1)
        time.sleep(0.05)
    return agent.turns


@pytest.mark.parametrize("restart", [False, True], ids=["goes on", "restarted"])
def test_a_refused_block_is_given_up_for_good(tmp_path: Path, restart: bool) -> None:
    def refuses(asked: Asked) -> Answer | None:
        return Answer((Say("no"),), fault=HttpError(400, message="no such block")) if has_summary(asked) else None

    clock = Clock()
    with StrictUpstream(script(refuses), rules=STRICT, clock=clock) as upstream:
        with (
            SqliteStore(tmp_path / "db", clock=clock) as store,
            restarted(upstream, clock, settings=using(), store=store) as stage,
        ):
            agent = agent_of(stage)
            go(agent, 19)
            refused = agent.fail()
            if not restart:
                after = agent.go(3)[-3:]
        if restart:
            said = agent.said
            with (
                SqliteStore(tmp_path / "db", clock=clock) as store,
                restarted(upstream, clock, settings=using(), store=store) as stage,
            ):
                agent = agent_of(stage)
                agent.said = said
                after = agent.go(3)[-3:]
    assert is_swapped(refused.sent)
    assert [turn.sent == turn.body for turn in after] == [True] * 3
    assert [turn.exchange.refusal for turn in after] == [None] * 3


def test_a_client_that_goes_back_gets_its_whole_history() -> None:
    with scene(script(), rules=STRICT, settings=using()) as stage:
        agent = agent_of(stage)
        go(agent, 22)
        assert is_swapped(agent.turns[-1].sent)
        agent.said = agent.said[:9]
        (back,) = agent.go(1)[-1:]
        agent.said[2]["content"][0]["text"] = "Something else."
        agent.said = [*agent.said[:1], {"role": "user", "content": "Start anew."}]
        (other,) = agent.go(1)[-1:]
    assert back.sent == back.body
    assert other.sent == other.body
    assert [one.refusal for one in stage.upstream.inference] == [None] * 25


def test_another_model_gets_its_whole_history_and_the_first_one_the_block() -> None:
    with scene(script(), settings=using()) as stage:
        agent = agent_of(stage)
        go(agent, 22)
        agent.model, agent.top = "claude-haiku-4-5", {}
        (other,) = agent.go(1)[-1:]
    assert is_swapped(agent.turns[-2].sent)
    assert not is_swapped(other.sent)
    assert ON_DEMAND not in (other.exchange.request.header("anthropic-beta") or "")
    assert other.exchange.refusal is None


def test_no_summary_of_ours_is_made_beside_the_providers() -> None:
    """Under a budget that would compact the conversation by itself, where the provider's second summary fails."""

    def fails_later(asked: Asked) -> Answer | None:
        return fails(asked) if has_summary(asked) else None

    budget = BudgetRule(window_tokens=60_000, trigger=0.45, target=0.3, urgent=0.9, keep_turns=6)
    found = replace(using(18_000), budgets=Budgets(budget))
    with scene(replace(writes(TURNS, 150), progress=None, answer=fails_later), settings=found) as stage:
        turns = go_on(Agent(stage, model=OTHER, output=short), TURNS - 1)
        asked = own(stage)
    assert len(asked) >= 2
    assert [one.refusal for one in stage.upstream.inference if "compaction" not in one.request.json] == [None] * 29
    swapped = [turn for turn in turns if is_swapped(turn.sent)]
    assert turns[-1] in swapped
    told = [turn.entry.receipt.pressure for turn in turns if turn.entry.receipt.pressure is not None]
    assert {one.reason for one in told} == {"on_demand"}


@pytest.mark.parametrize(
    ("native", "top", "why"),
    [
        (Native(compact_on_demand_tokens=TOKENS, clear_thinking=True), {}, "edits"),
        (Native(compact_on_demand_tokens=TOKENS), {"extra_body": {"context_management": {"edits": []}}}, "client"),
    ],
)
def test_it_keeps_out_of_what_others_do(native: Native, top: Json, why: str) -> None:
    with scene(script(), settings=using(native=native)) as stage:
        agent = agent_of(stage)
        agent.top = THINKING | top
        agent.headers = {"anthropic-beta": "context-management-2025-06-27," + CONTROLS["anthropic-beta"]}
        turns = go_on(agent, 22)
        assert own(stage) == []
    for turn in turns:
        assert turn.entry.receipt.native is not None
        told = {one.primitive: one.why for one in turn.entry.receipt.native.declined}
        assert told["compact_on_demand"] == why
