"""Three faults of the system that the reference experiment ran on, each through the gateway as it showed there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from cases.agents import Json
from cases.reference import (
    GREP,
    GREP_TURN,
    READS_IN_FULL,
    REQUESTS,
    SUMMARISER,
    Arm,
    play,
    reference_file,
    settings_file,
    source,
    stage,
)

from coldpress.engine.markers import MARK
from coldpress.testing import Asked, Call, Say, Script, Turn
from coldpress.testing.chat_wire import CacheFields

PRESSED_TURN = GREP_TURN + 1


# An uncached candidate was counted as a reuse: a view that was made just now looked as if it had cost nothing.


@pytest.mark.parametrize("arm", ["deterministic", "model_gated"])
def test_a_view_made_now_is_a_transformation_and_a_reuse_only_when_it_is_sent_again(arm: Arm, tmp_path: Path) -> None:
    played = play(settings_file(tmp_path, reference_file(arm, pro=READS_IN_FULL)), stream=True)
    receipts = [entry.receipt for entry in played.entries]
    made = receipts[PRESSED_TURN]
    assert [line.reason for line in made.lines if line.tool == "grep"] == ["exposed"]
    assert made.reused == 1, "the web search alone stood before"
    assert [receipt.reused for receipt in receipts[PRESSED_TURN + 1 :]] == [2] * (REQUESTS - PRESSED_TURN - 1)
    assert (played.stats["aged"]["count"], played.stats["transformations"]["count"]) == (1, 2)
    assert played.stats["reuses"] == sum(receipt.reused for receipt in receipts)
    offloads = [receipt.offload for receipt in receipts if receipt.offload]
    paid = [(one.calls, one.reused) for one in offloads]
    assert paid == ([(1, 0)] if arm == "model_gated" else [])
    assert (played.stats["summariser"]["calls"], played.stats["summariser"]["reused"]) == (len(paid), 0)


def test_a_summary_from_the_store_costs_nothing_and_is_a_transformation_of_the_conversation_it_is_new_to(
    tmp_path: Path,
) -> None:
    file = settings_file(tmp_path, reference_file("model_gated", pro=READS_IN_FULL))
    with stage(file) as (agent, scene):
        agent.run()
        first, agent.sent = agent.sent, []
        agent.said = [agent.said[0], {"role": "user", "content": "Once more: where is the retry budget set?"}]
        second = agent.run()
        entries = [scene.ended(one.request_id).receipt for one in second]
        stats = scene.stats()
    assert len(agent.asked(SUMMARISER)) == 1
    assert second[-1].shown("grep") == first[-1].shown("grep"), "the same bytes"
    made = entries[PRESSED_TURN]
    assert (made.reused, [line.mode for line in made.lines if line.reason == "exposed"]) == (1, ["model"])
    assert made.offload is not None
    assert (made.offload.calls, made.offload.reused, made.offload.usd, made.offload.why) == (0, 1, 0.0, "applied")
    assert (stats["by_mode"]["model"]["count"], stats["summariser"]["calls"], stats["summariser"]["reused"]) == (
        2,
        1,
        1,
    )


# DeepSeek's two fields for the cache were not looked for, so that everything seemed to be read fresh.


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("cache_fields", ["usual", "own"])
def test_deepseek_s_own_fields_are_read_as_cached_tokens(
    cache_fields: CacheFields, stream: bool, tmp_path: Path
) -> None:
    played = play(settings_file(tmp_path, reference_file("model_gated")), stream=stream, cache_fields=cache_fields)
    outcomes = [entry.outcome for entry in played.entries]
    found = [(outcome.usage.read, outcome.usage.fresh) for outcome in outcomes if outcome]
    assert found == [(one.usage.read, one.usage.fresh) for one in played.sent]
    reads = [one.usage.read or 0 for one in played.sent]
    assert played.stats["usage"]["read"] == {"tokens": sum(reads), "replies": REQUESTS}
    assert sum(reads) > 0
    assert played.stats["summariser"]["came_of"] == {"preflight:does_not_pay": REQUESTS - PRESSED_TURN}


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
def test_where_nothing_is_said_of_the_cache_nothing_is_spent_and_nothing_is_zero(stream: bool, tmp_path: Path) -> None:
    file = settings_file(tmp_path, reference_file("model_gated", pro=READS_IN_FULL))
    played = play(file, stream=stream, cache_fields="none")
    assert all(one.usage.read for one in played.sent[1:]), "there was a cache all the same"
    assert {entry.outcome.usage.read for entry in played.entries if entry.outcome} == {None}
    assert played.stats["usage"]["read"] == {"tokens": 0, "replies": 0}
    cuts = [entry.receipt.cut.reason for entry in played.entries if entry.receipt.cut]
    assert set(cuts) == {"unknown_usage"}
    assert len(cuts) == REQUESTS - PRESSED_TURN
    assert played.stats["summariser"]["calls"] == len(played.summaries) == 0
    assert played.sent[-1].shown("grep") == [GREP]


# Where reads had become markers, the model fetched other parts of the files until its requests ran out.

FILES = ("budget.py", "client.py")
LOOKED_AT = 40
MOST_REQUESTS = 40
SOURCE_RULE: Mapping[str, object] = {"match": "read*", "mode": "source", "age": 2}


def a_model_that_looks_again(plan: tuple[Call, ...]) -> Script:
    """Follow a plan, but fetch another part of a file as long as a marker stands in the place of a part of it."""

    def answer(asked: Asked) -> Turn:
        done, hidden, looked = 0, "", 0
        messages: Any = asked.body["messages"]
        made = [call for message in messages for call in message.get("tool_calls", ())]
        calls = {call["id"]: json.loads(call["function"]["arguments"]) for call in made}
        for message in messages:
            if message["role"] == "tool":
                arguments = calls[message["tool_call_id"]]
                is_planned = arguments.get("offset", 1) < 1_000
                done, looked = done + is_planned, looked + (not is_planned)
                if MARK in message["content"]:
                    hidden = arguments["path"]
        if hidden:
            other = Call("read", {"path": hidden, "offset": 1_000 + 10 * looked, "limit": 10}, "Look for the rest")
            return Turn((Say(f"Where is the rest of {hidden}?"), other))
        if done < len(plan):
            return Turn((Say(f"Step {done + 1}."), plan[done]))
        return Turn((Say("All is read."),))

    return Script(answer=answer)


def shown_part(tool: str, arguments: Mapping[str, object]) -> str:
    """What the reading tool gives: a part of a file."""
    first, lines = arguments.get("offset", 1), arguments.get("limit", 60)
    assert isinstance(first, int)
    assert isinstance(lines, int)
    return source(str(arguments["path"]), lines, first)


def read(path: str, lines: int, first: int = 1) -> Call:
    """A planned read."""
    return Call("read", {"path": path, "offset": first, "limit": lines}, f"Read {path}")


@pytest.mark.parametrize("rounds", [1, 3], ids=["one file twice", "both files, again and again"])
def test_a_model_that_reads_on_as_long_as_a_marker_stands_comes_to_its_end(rounds: int, tmp_path: Path) -> None:
    content = reference_file("deterministic")
    content["plugins"]["config"]["keyword_compactor"]["tool_policies"] = [SOURCE_RULE]
    once = [part for path in FILES[:rounds] for part in (read(path, LOOKED_AT), read(path, 2 * LOOKED_AT))]
    rest = [read(f"other_{n}.py", 20) for n in range(4)]
    plan = (*once, *rest) * rounds
    with stage(settings_file(tmp_path, content), a_model_that_looks_again(plan), done=shown_part) as (agent, scene):
        sent = agent.run(most=len(plan) + MOST_REQUESTS)
        stats = scene.stats()
        entries = [scene.ended(one.request_id).receipt for one in sent]
    extra = len(sent) - len(plan) - 1
    pressed = sum(line.mode == "source" for receipt in entries for line in receipt.lines)
    assert pressed > 0, "else there would be nothing to look for"
    assert stats["restorations"] > 0
    assert 0 < extra <= 2 * pressed, "each marker sent the model away once or twice, and no more"
    assert not any(MARK in text for text in sent[-1].shown("read")), "in the end all reads are exact"
    assert sent[-1].shown("read") == results_of(agent.said)


def results_of(said: list[Json]) -> list[str]:
    """What the agent's tools gave back."""
    return [message["content"] for message in said if message["role"] == "tool"]
