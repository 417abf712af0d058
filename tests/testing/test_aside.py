"""The strict upstream tells of steps, misses and transformations in the provider's shape, to those who asked."""

from __future__ import annotations

from typing import Any

import pytest
from anthropic.types.beta import BetaMessage
from testing.wires import Json, messages, post, user

from coldpress.model.records import Miss
from coldpress.model.usage import Usage
from coldpress.testing import Aside, Say, Script, Step, StrictUpstream, Turn

DIAGNOSIS = "cache-diagnosis-2026-04-07"
CONTROLS = {"anthropic-beta": f"thinking-binding-controls-2026-08-01,{DIAGNOSIS}"}
COMPACTION = Step("compaction", Usage(fresh=180_000, output=3500))
ADVICE = Step("advisor_message", Usage(fresh=823, output=1612), "claude-opus-5")
LOOP = Step("message", Usage(fresh=10, read=20, output=40))


def told(aside: Aside, *, headers: dict[str, str] | None = None, **more: Any) -> Json:
    with StrictUpstream(Script(closing=Turn((Say("hi"),), aside=aside))) as upstream:
        reply = post(upstream.url, "/v1/messages", messages(user("go"), **more), headers)
        assert reply.status == 200, reply.body
        return reply.json


def test_totals_leave_out_compaction_and_other_models() -> None:
    plain, stepped = told(Aside()), told(Aside((LOOP, COMPACTION, ADVICE)))
    assert "iterations" not in plain["usage"]
    listed = stepped["usage"]["iterations"]
    assert [step["type"] for step in listed] == ["message", "compaction", "advisor_message", "message"]
    assert listed[2]["model"] == "claude-opus-5"
    for field in ("input_tokens", "output_tokens", "cache_read_input_tokens"):
        executed = sum(step[field] for step in listed if step["type"] == "message")
        assert stepped["usage"][field] == executed
    assert listed[3]["input_tokens"] == plain["usage"]["input_tokens"]


def test_a_fallback_names_the_reply_and_ends_the_steps() -> None:
    reply = told(Aside(served_by="claude-opus-4-8"))
    assert reply["model"] == "claude-opus-4-8"
    declined, served = reply["usage"]["iterations"]
    assert (declined["type"], declined["output_tokens"]) == ("message", 0)
    assert (served["type"], served["model"]) == ("fallback_message", "claude-opus-4-8")


def test_a_stream_begins_with_the_first_step_and_ends_with_all() -> None:
    with StrictUpstream(Script(closing=Turn((Say("hi"),), aside=Aside((LOOP, COMPACTION))))) as upstream:
        events = post(upstream.url, "/v1/messages", messages(user("go"), stream=True)).events
        billed = upstream.exchanges[-1].usage
    opening = events[0]["message"]["usage"]
    assert (opening["input_tokens"], opening["cache_read_input_tokens"]) == (10, 20)
    assert "iterations" not in opening
    closing = next(event["usage"] for event in events if event["type"] == "message_delta")
    assert len(closing["iterations"]) == 3
    assert "cache_creation" not in closing
    assert billed is not None
    assert billed.prompt == sum(
        step["input_tokens"] + step["cache_read_input_tokens"] for step in closing["iterations"]
    )


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        pytest.param({"diagnostics": {"previous_message_id": "msg_1"}}, True, id="asked"),
        pytest.param({}, False, id="not asked"),
    ],
)
def test_a_miss_is_told_to_those_who_ask(more: Json, expected: bool) -> None:
    reply = told(Aside(miss=Miss("tools_changed", 512)), headers={"anthropic-beta": DIAGNOSIS}, **more)
    reason = {"cache_miss_reason": {"type": "tools_changed", "cache_missed_input_tokens": 512}}
    assert reply.get("diagnostics") == (reason if expected else None)


def test_scripted_transformations_are_told_with_the_beta_alone() -> None:
    aside = Aside(transformations=(("thinking_dropped", "model_binding_mismatch"),))
    assert "input_transformations" not in told(aside)
    (entry,) = told(aside, headers=CONTROLS)["input_transformations"]
    assert (entry["type"], entry["reason"]) == ("thinking_dropped", "model_binding_mismatch")


def test_the_official_types_take_it_all() -> None:
    aside = Aside(
        (LOOP, COMPACTION, ADVICE),
        served_by="claude-opus-4-8",
        miss=Miss("previous_message_not_found"),
        transformations=(("thinking_mismatch_allowed", "prefix_binding_mismatch"),),
    )
    reply = told(aside, headers=CONTROLS, diagnostics={"previous_message_id": None})
    parsed = BetaMessage.model_validate(reply)
    assert parsed.usage.iterations is not None
    kinds = [type(step).__name__ for step in parsed.usage.iterations]
    assert kinds == [
        "BetaMessageIterationUsage",
        "BetaCompactionIterationUsage",
        "BetaAdvisorMessageIterationUsage",
        "BetaMessageIterationUsage",
        "BetaFallbackMessageIterationUsage",
    ]
    assert parsed.diagnostics is not None
    assert type(parsed.diagnostics.cache_miss_reason).__name__ == "BetaCacheMissPreviousMessageNotFound"
    assert parsed.input_transformations is not None
    assert type(parsed.input_transformations[0]).__name__ == "BetaThinkingMismatchAllowedInputTransformation"
