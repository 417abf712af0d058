"""What a provider bills and tells is in the outcome, whatever the wire, and nothing that it did not tell."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest
from gateway.world import ANTHROPIC_PATH, OPENAI_PATH, NotingDriver, Wire, answering, gateway, ok, post, run, world

from coldpress.gateway.settings import Provider
from coldpress.model.records import Miss, Outcome
from coldpress.model.usage import Usage
from coldpress.testing import Aside, Delivery, Rules, Say, Script, Step, StrictUpstream, Turn

TEXT = "The quick brown fox jumps over the lazy dog. " * 200
MARKED = {"type": "text", "text": TEXT, "cache_control": {"type": "ephemeral", "ttl": "1h"}}
ASKING = "anthropic-beta: thinking-binding-controls-2026-08-01"
COMPACTION = Step("compaction", Usage(fresh=5000, read=175000, write_short=0, write_long=0, output=300))
LOOP = Step("message", Usage(fresh=10, read=20, write_short=30, write_long=0, output=40))
ADVICE = Step("advisor_message", Usage(fresh=823, read=0, write_short=0, write_long=0, output=1612), "claude-opus-5")


def messages(*, stream: bool) -> Mapping[str, Any]:
    return {
        "model": "claude-sonnet-4-5",
        "max_tokens": 100,
        "stream": stream,
        "messages": [{"role": "user", "content": [MARKED]}],
        "diagnostics": {"previous_message_id": None},
    }


def chat(*, stream: bool) -> Mapping[str, Any]:
    options = {"stream_options": {"include_usage": True}} if stream else {}
    return {"model": "m", "stream": stream, "messages": [{"role": "user", "content": TEXT}], **options}


def outcome_of(upstream: StrictUpstream, path: str, body: Mapping[str, Any], *headers: str) -> Outcome:
    """Send one request through a gateway and give its outcome."""
    driver = NotingDriver()

    async def scenario() -> None:
        async with gateway((Provider("up", upstream.url),), driver) as serving:
            wire = Wire(*await asyncio.open_connection("127.0.0.1", serving.port))
            asking = "anthropic-beta: cache-diagnosis-2026-04-07"
            given = ("anthropic-version: 2023-06-01", asking, "content-type: application/json", *headers)
            await wire.send(post(path, json.dumps(body).encode(), *given))
            reply = await wire.reply()
            assert reply.status == 200, reply.body
            await driver.finished.wait()
            wire.close()

    run(scenario())
    (outcome,) = driver.outcomes
    return outcome


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(
    "aside",
    [
        pytest.param(Aside(), id="one step"),
        pytest.param(Aside((LOOP,)), id="a server-side tool loop"),
        pytest.param(Aside((COMPACTION,)), id="a compaction"),
        pytest.param(Aside((LOOP, ADVICE, COMPACTION, ADVICE)), id="an advisor and a compaction"),
    ],
)
def test_what_is_billed_is_in_the_outcome(aside: Aside, stream: bool) -> None:
    script = Script(closing=Turn((Say("word " * 100),), aside=aside))
    with StrictUpstream(script) as upstream:
        outcome = outcome_of(upstream, ANTHROPIC_PATH, messages(stream=stream))
        billed = upstream.exchanges[-1]
    assert billed.usage is not None
    for bucket in ("fresh", "read", "write_short", "write_long", "output"):
        assert getattr(outcome.usage, bucket) == (getattr(billed.usage, bucket) or 0), bucket
    assert [(model, part.prompt, part.output) for model, part in outcome.others] == [
        (model, part.prompt, part.output) for model, part in billed.others
    ]
    before = sum(step.usage.prompt or 0 for step in aside.steps if step.model is None)
    assert outcome.context_tokens == (billed.usage.prompt or 0) - before
    assert outcome.context_tokens > 1500


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_a_fallback_is_billed_in_its_own_name(stream: bool) -> None:
    script = Script(closing=Turn((Say("word " * 100),), aside=Aside(served_by="claude-opus-4-8")))
    with StrictUpstream(script) as upstream:
        outcome = outcome_of(upstream, ANTHROPIC_PATH, messages(stream=stream))
        billed = upstream.exchanges[-1]
    assert billed.usage is not None
    assert (outcome.usage.prompt, outcome.usage.output) == (billed.usage.prompt, 0)
    ((model, part),) = outcome.others
    assert model == "claude-opus-4-8"
    assert part.output == dict(billed.others)[model].output
    assert outcome.context_tokens == part.prompt


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_what_the_provider_tells_beside_usage_is_in_the_outcome(stream: bool) -> None:
    told = Aside(
        miss=Miss("messages_changed", 4321), transformations=(("thinking_dropped", "prefix_binding_mismatch"),)
    )
    with StrictUpstream(Script(closing=Turn((Say("hi"),), aside=told))) as upstream:
        outcome = outcome_of(upstream, ANTHROPIC_PATH, messages(stream=stream), ASKING)
        plain = outcome_of(upstream, ANTHROPIC_PATH, {**messages(stream=stream), "diagnostics": None})
    assert outcome.miss == Miss("messages_changed", 4321)
    assert outcome.transformations == ("thinking_dropped:prefix_binding_mismatch",)
    assert outcome.edits_noticed
    assert (plain.miss, plain.transformations) == (None, ())


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("dialect", ["openai", "deepseek"])
def test_chat_usage_is_in_the_outcome(dialect: Any, stream: bool) -> None:
    with StrictUpstream(rules=Rules(dialect=dialect)) as upstream:
        outcome_of(upstream, OPENAI_PATH, chat(stream=stream))
        outcome = outcome_of(upstream, OPENAI_PATH, chat(stream=stream))
        billed = upstream.exchanges[-1].usage
    assert billed is not None
    assert (outcome.usage.fresh, outcome.usage.read) == (billed.fresh, billed.read)
    assert (billed.read or 0) > 1000
    assert outcome.context_tokens == billed.prompt


def test_real_money_is_in_the_outcome() -> None:
    driver = NotingDriver()
    body = b'{"id":"gen-1","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":3,"cost":0.0125}}'

    async def scenario() -> None:
        async with world(answering(ok(body)), driver=driver) as w:
            await w.ask(post(OPENAI_PATH, b"{}"))

    run(scenario())
    assert driver.outcomes[0].reported_usd == pytest.approx(0.0125)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("delivery", [Delivery(gzip=True), Delivery(omit_usage=True)], ids=["gzip", "no usage"])
def test_what_cannot_be_read_is_unknown(delivery: Delivery, stream: bool) -> None:
    with StrictUpstream(Script(closing=Turn((Say("hi"),), delivery=delivery))) as upstream:
        outcome = outcome_of(upstream, ANTHROPIC_PATH, messages(stream=stream))
    assert outcome.usage == Usage()
    assert (outcome.others, outcome.context_tokens, outcome.reported_usd, outcome.miss) == ((), None, None, None)
