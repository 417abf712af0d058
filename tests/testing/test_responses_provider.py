"""The Responses wire of the strict upstream: its cache and bills, what it stores, its window and its diagnosis."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from testing.wires import RESPONSES_TOOLS, Json, exchange, outputs, post, responses, user

from coldpress.measure.cache import Piece, PrefixCache
from coldpress.measure.cache_rules import OPENAI_MARKS, OPENAI_STEPS
from coldpress.testing import Rules, Shell, StrictUpstream, task
from coldpress.testing.responses_meter import ResponsesMeter, tokens_of
from coldpress.testing.responses_view import input_items

PATH = "/v1/responses"
LONG = "a sentence that the model has to read. " * 400
STEPS = task(*(Shell(f"cat {number}.txt") for number in range(4)), thinking=True)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def ask(upstream: StrictUpstream, *items: Json, **more: Any) -> Json:
    reply = post(upstream.url, PATH, responses(*items, **more))
    assert reply.status == 200, reply.body
    return reply.json


def cached(reply: Json) -> tuple[int, int]:
    details = reply["usage"]["input_tokens_details"]
    return details["cached_tokens"], details["cache_write_tokens"]


def pieces_of(body: Json) -> list[Piece]:
    return ResponsesMeter(Clock()).pieces(body, input_items(body), lambda item: "")


@pytest.mark.parametrize("model", ["gpt-5.6-sol", "gpt-5.3-codex"])
def test_bills_are_those_of_the_cache_simulator(model: str) -> None:
    """A growing conversation, its pieces sent to a cache that sets the provider's own mark by itself."""
    rules = OPENAI_MARKS if "5.6" in model else OPENAI_STEPS
    simulated = PrefixCache(rules)
    said = [user(LONG)]
    with StrictUpstream() as upstream:
        for number in range(4):
            body = responses(*said, model=model)
            reply = ask(upstream, *said, model=model)
            bare = [replace(piece, mark=None) for piece in pieces_of(body)]
            expected = simulated.send(bare, scope=b"any", now=0.0)
            billed = upstream.exchanges[-1].usage
            assert billed is not None
            assert (billed.fresh, billed.read, billed.write_short) == (
                expected.fresh,
                expected.read,
                expected.write_short or 0,
            )
            assert reply["usage"]["input_tokens"] == tokens_of(bare) == billed.prompt
            assert reply["usage"]["total_tokens"] == billed.prompt + (billed.output or 0)
            assert cached(reply) == (billed.read, billed.write_short)
            assert (cached(reply)[0] > 0) == (number > 0)
            said += [*reply["output"], user(f"and {number}? {LONG}")]


def test_an_entry_is_read_until_its_time_is_over() -> None:
    clock = Clock()
    with StrictUpstream(clock=clock) as upstream:
        first = cached(ask(upstream, user(LONG)))
        clock.now = 29 * 60
        again = cached(ask(upstream, user(LONG)))
        clock.now += 31 * 60
        late = cached(ask(upstream, user(LONG)))
        ask(upstream, user(LONG), prompt_cache_options={"ttl": "12h"}, prompt_cache_key="k")
        clock.now += 11 * 3600
        kept = cached(ask(upstream, user(LONG), prompt_cache_key="k"))
    assert first == late
    assert first[0] == 0
    assert again == (first[1], 0)
    assert kept == again


def test_the_longer_life_is_told_apart() -> None:
    with StrictUpstream() as upstream:
        usage = ask(upstream, user(LONG), prompt_cache_options={"ttl": "12h"})["usage"]
    details = usage["input_tokens_details"]
    assert details["cache_write_tokens_details"] == {
        "ttl_30m_tokens": 0,
        "ttl_12h_tokens": details["cache_write_tokens"],
    }
    assert details["cache_write_tokens"] == usage["input_tokens"]


def test_explicit_marks() -> None:
    marked = {"type": "input_text", "text": LONG, "prompt_cache_breakpoint": {"mode": "explicit"}}
    options = {"prompt_cache_options": {"mode": "explicit"}}
    with StrictUpstream() as upstream:
        bare = ask(upstream, user(LONG), **options)
        assert cached(bare) == (0, 0)
        one = ask(upstream, {"role": "user", "content": [marked]}, user("one"), **options)
        two = ask(upstream, {"role": "user", "content": [marked]}, user("two"), **options)
        assert cached(one)[0] == 0
        assert cached(two) == (cached(one)[1], 0)
        # Five marks and the one at the end: the latest three of the five are written, and nothing is refused.
        many = [{"role": "user", "content": [{**marked, "text": f"{number} {LONG}"}]} for number in range(5)]
        ask(upstream, *many)
        assert cached(ask(upstream, many[0], user("x"), **options))[0] == 0
        assert cached(ask(upstream, *many[:3], user("x"), **options))[0] > 0


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"prompt_cache_key": "other"}, id="another cache key"),
        pytest.param({"model": "gpt-6.1-sol"}, id="another model"),
        pytest.param({"reasoning": {"effort": "high"}}, id="another effort"),
        pytest.param({"text": {"verbosity": "low"}}, id="another verbosity"),
    ],
)
def test_what_costs_the_whole_cache(more: Json) -> None:
    with StrictUpstream() as upstream:
        ask(upstream, user(LONG))
        assert cached(ask(upstream, user(LONG)))[0] > 0
        assert cached(ask(upstream, user(LONG), **more))[0] == 0


@pytest.mark.parametrize(
    ("earlier", "later", "reason"),
    [
        pytest.param({}, {"model": "gpt-6.1-sol"}, "model_changed", id="model"),
        pytest.param({"prompt_cache_key": "a"}, {"prompt_cache_key": "b"}, "prompt_cache_key_changed", id="cache key"),
        pytest.param({}, {"tools": []}, "tools_changed", id="tools"),
        pytest.param({}, {"reasoning": {"effort": "high"}}, "reasoning_effort_changed", id="effort"),
        pytest.param({}, {"text": {"verbosity": "low"}}, "verbosity_changed", id="verbosity"),
        pytest.param({}, {"text": {"format": {"type": "json_object"}}}, "text_format_changed", id="format"),
        pytest.param({}, {"service_tier": "flex"}, "service_tier_changed", id="tier"),
        pytest.param({}, {"instructions": "Be brief."}, "input_changed", id="instructions"),
    ],
)
def test_why_a_cache_was_missed(earlier: Json, later: Json, reason: str) -> None:
    with StrictUpstream() as upstream:
        compared = ask(upstream, user(LONG), **earlier)["id"]
        options = {"prompt_cache_options": {"comparison_response_id": compared}}
        reply = ask(upstream, user(LONG), **{**earlier, **later}, **options)
    told = reply["prompt_cache_diagnostics"]
    assert (told["type"], told["reason"]) == ("cache_miss", reason)
    assert told["cache_missed_tokens"] + told["comparison_reusable_tokens"] == reply["usage"]["input_tokens"]
    assert cached(reply)[0] == 0


def test_a_changed_item_names_what_can_still_be_used() -> None:
    with StrictUpstream() as upstream:
        compared = ask(upstream, user(LONG), user("second " + LONG))
        options = {"prompt_cache_options": {"comparison_response_id": compared["id"]}}
        same = ask(upstream, user(LONG), user("second " + LONG), user("third"), **options)
        other = ask(upstream, user(LONG), user("2nd " + LONG), **options)
        unknown = ask(upstream, user(LONG), prompt_cache_options={"comparison_response_id": "resp_x"})
        silent = ask(upstream, user(LONG))
    assert same["prompt_cache_diagnostics"] == {"type": "cache_hit"}
    told = other["prompt_cache_diagnostics"]
    assert told["reason"] == "input_changed"
    shared = tokens_of(pieces_of(responses(user(LONG))))
    assert told["comparison_reusable_tokens"] == shared
    assert told["cache_missed_tokens"] == other["usage"]["input_tokens"] - shared
    assert unknown["prompt_cache_diagnostics"] == {"type": "comparison_response_not_found"}
    assert "prompt_cache_diagnostics" not in silent


def test_a_compaction_and_a_lapse_are_diagnosed() -> None:
    clock = Clock()
    with StrictUpstream(clock=clock) as upstream:
        first = ask(upstream, user(LONG))
        item = ask(upstream, user(LONG), {"type": "compaction_trigger"})["output"][0]
        options = {"prompt_cache_options": {"comparison_response_id": first["id"]}}
        compacted = ask(upstream, item, user("on"), **options)
        clock.now = 3600.0
        lapsed = ask(upstream, user(LONG), **options)
    assert compacted["prompt_cache_diagnostics"]["reason"] == "context_compacted"
    assert lapsed["prompt_cache_diagnostics"] == {"type": "unavailable"}


def test_the_server_keeps_the_history_unless_told_not_to() -> None:
    with StrictUpstream(STEPS) as upstream:
        first = ask(upstream, user("go"), store=True)
        results = outputs(first["output"], LONG)
        second = ask(upstream, *results, store=True, previous_response_id=first["id"])
        whole = ask(upstream, user("go"), *first["output"], *results)
        assert second["usage"]["input_tokens"] == whole["usage"]["input_tokens"]
        assert "Step 2" in second["output"][1]["content"][0]["text"]
        missing = post(upstream.url, PATH, responses(*results, previous_response_id=whole["id"]))
        assert missing.status == 400
        assert missing.json["error"]["code"] == "previous_response_not_found"
        named = [{"type": "item_reference", "id": item["id"]} for item in first["output"]]
        assert ask(upstream, user("go"), *named, *results, store=True)["usage"] == {
            **whole["usage"],
            "input_tokens_details": {"cached_tokens": whole["usage"]["input_tokens"], "cache_write_tokens": 0}
            | {"cache_write_tokens_details": {"ttl_30m_tokens": 0, "ttl_12h_tokens": 0}},
        }
        open_call = post(upstream.url, PATH, responses(user("x"), previous_response_id=first["id"]))
        assert "No tool output found for function call" in open_call.json["error"]["message"]


def test_instructions_are_not_inherited() -> None:
    with StrictUpstream() as upstream:
        first = ask(upstream, user("x"), store=True, instructions=LONG)
        second = ask(upstream, user("y"), previous_response_id=first["id"])
    assert second["usage"]["input_tokens"] < first["usage"]["input_tokens"] / 10


def test_the_window() -> None:
    said = [user("one " + LONG), user("two")]
    with StrictUpstream(rules=Rules(window_tokens=2000)) as upstream:
        reply = post(upstream.url, PATH, responses(*said))
        assert reply.status == 400
        assert reply.json["error"]["code"] == "context_length_exceeded"
        assert upstream.exchanges[-1].usage is None
        cut = ask(upstream, *said, truncation="auto")
        assert cut["usage"]["input_tokens"] == ask(upstream, user("two"))["usage"]["input_tokens"]
        call = {"type": "function_call", "call_id": "a", "name": "bash", "arguments": "{}"}
        result = {"type": "function_call_output", "call_id": "a", "output": LONG}
        both = ask(upstream, user("one"), call, result, user("two"), truncation="auto")
        assert both["usage"]["input_tokens"] == cut["usage"]["input_tokens"]


def test_counting_agrees_with_the_bill() -> None:
    body = responses(user(LONG), instructions="Be brief.")
    with StrictUpstream() as upstream:
        counted = post(upstream.url, PATH + "/input_tokens", body).json
        reply = ask(upstream, user(LONG), instructions="Be brief.")
        assert counted == {"object": "response.input_tokens", "input_tokens": reply["usage"]["input_tokens"]}
        assert [one.number for one in upstream.exchanges] == [None, 0]


def test_a_prewarmed_prompt_is_written_and_not_answered() -> None:
    with StrictUpstream() as upstream:
        warmed = ask(upstream, user(LONG), prompt_cache_options={"prewarm": True})
        assert warmed["output"] == []
        assert warmed["usage"]["output_tokens"] == 0
        assert cached(ask(upstream, user(LONG)))[0] == cached(warmed)[1] > 0


def test_a_picture_is_not_counted_by_its_base64() -> None:
    picture = {"type": "input_image", "image_url": "data:image/png;base64," + "A" * 400_000}
    with StrictUpstream() as upstream:
        assert ask(upstream, {"role": "user", "content": [picture]})["usage"]["input_tokens"] < 2000


def test_sockets_are_turned_away_at_once() -> None:
    headers = {
        "connection": "Upgrade",
        "upgrade": "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": "eA==",
    }
    with StrictUpstream() as upstream:
        assert exchange(upstream.url, "GET", PATH, headers=headers).status == 426
        assert exchange(upstream.url, "GET", PATH).status == 404
        assert ask(upstream, user("x"))["status"] == "completed"


@pytest.mark.parametrize("padded", [True, False])
def test_events_are_in_order_and_add_up(padded: bool) -> None:
    options: Json = {} if padded else {"stream_options": {"include_obfuscation": False}}
    with StrictUpstream(STEPS) as upstream:
        asked = responses(user("go"), stream=True, reasoning={"summary": "auto"}, **options)
        reply = post(upstream.url, PATH, asked)
    events = reply.events
    assert b"[DONE]" not in reply.body
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert [event["type"] for event in events[:2]] == ["response.created", "response.in_progress"]
    final = events[-1]["response"]
    assert events[-1]["type"] == "response.completed"
    assert [e["item"] for e in events if e["type"] == "response.output_item.done"] == final["output"]
    texts = "".join(e["delta"] for e in events if e["type"] == "response.output_text.delta")
    assert texts == final["output"][1]["content"][0]["text"]
    arguments = "".join(e["delta"] for e in events if e["type"] == "response.function_call_arguments.delta")
    assert arguments == final["output"][2]["arguments"]
    deltas = [event for event in events if event["type"].endswith(".delta")]
    assert all(("obfuscation" in delta) == padded for delta in deltas)
    assert final["tools"] == RESPONSES_TOOLS
