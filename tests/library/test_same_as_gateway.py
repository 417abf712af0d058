"""The model sees through the library what it would see through the gateway, request by request."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from threading import Event, Thread
from typing import Any

import aiohttp
import anthropic
import openai
import pytest
from library.talk import ANTHROPIC_TOOLS, CHAT_TOOLS, anthropic_talk, chat_talk, log
from support import settings

from coldpress import Session
from coldpress.config import Settings
from coldpress.demo.play import play, recording_path
from coldpress.drive import Driver
from coldpress.engine.budget import BudgetRule, Budgets
from coldpress.engine.policy import DEFAULT_POLICY, with_source_age
from coldpress.gateway.serve import serving
from coldpress.gateway.settings import gateway_settings
from coldpress.lab.importers.recording import read_file
from coldpress.lab.rebuild import requests
from coldpress.stores.memory import MemoryStore
from coldpress.testing import Rules, Script, StrictUpstream

MODEL = "claude-opus-4-6"
CHAT_MODEL = "gpt-5-mini"
AGE = 5


@contextmanager
def gateway(upstream: StrictUpstream, found: Settings | None = None) -> Iterator[str]:
    """A gateway in front of an upstream, in a thread of its own."""
    found = found or settings()
    providers = tuple(
        replace(found.bare_path_provider(name), url=upstream.url) for name in ("anthropic", "openai_chat")
    )
    local = replace(found, host="127.0.0.1", port=0, providers=providers)
    ready, stop, loop, urls = Event(), asyncio.Event(), asyncio.new_event_loop(), list[str]()

    async def serve() -> None:
        with closing(Driver(local, MemoryStore())) as driver:
            async with serving(gateway_settings(local, control_port=0), driver) as ready_gateway:
                urls.append(ready_gateway.url)
                ready.set()
                await stop.wait()

    thread = Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    try:
        assert ready.wait(10)
        yield urls[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        loop.close()


@pytest.fixture
def upstream() -> Iterator[StrictUpstream]:
    with StrictUpstream(Script(), rules=Rules(check_signatures=False)) as found:
        yield found


def test_anthropic_sdk_through_the_gateway_and_the_session(upstream: StrictUpstream) -> None:
    with gateway(upstream) as url, Session(MODEL, settings=settings()) as session:
        client = anthropic.Anthropic(base_url=url, api_key="k", max_retries=0)
        for messages in anthropic_talk():
            client.messages.create(
                model=MODEL, max_tokens=100, system="Be brief.", tools=ANTHROPIC_TOOLS, messages=messages
            )
            shown = session.compact(messages, system="Be brief.", tools=ANTHROPIC_TOOLS)
            received = json.loads(upstream.inference[-1].request.body)
            assert json.loads(json.dumps(shown)) == received["messages"]
    assert any(mine is not theirs for mine, theirs in zip(shown, messages, strict=True)), "something was pressed"


def test_openai_sdk_through_the_gateway_and_the_session(upstream: StrictUpstream) -> None:
    with gateway(upstream) as url, Session(CHAT_MODEL, settings=settings()) as session:
        client = openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0)
        for messages in chat_talk():
            client.chat.completions.create(model=CHAT_MODEL, tools=CHAT_TOOLS, messages=messages)
            shown = session.compact(messages, tools=CHAT_TOOLS)
            received = json.loads(upstream.inference[-1].request.body)
            assert json.loads(json.dumps(shown)) == received["messages"]
    assert any(mine is not theirs for mine, theirs in zip(shown, messages, strict=True)), "something was pressed"


def test_the_same_body_gives_the_same_bytes(upstream: StrictUpstream) -> None:
    async def post(url: str, body: bytes) -> None:
        headers = {"x-api-key": "k", "anthropic-version": "2023-06-01", "content-type": "application/json"}
        async with (
            aiohttp.ClientSession() as client,
            client.post(f"{url}/v1/messages", data=body, headers=headers) as r,
        ):
            await r.read()
            assert r.status == 200

    with gateway(upstream) as url, Session(MODEL, settings=settings()) as session:
        for messages in anthropic_talk():
            asked = session._line.begin(
                messages, system="Be brief.", tools=ANTHROPIC_TOOLS, extra={"max_tokens": 100}, model=None
            )
            prepared = asked.future.result()
            asyncio.run(post(url, asked.body.data))
            assert upstream.inference[-1].request.body == prepared.body
            shown = session._line.end(asked, prepared, messages)
            assert json.loads(json.dumps(shown)) == json.loads(prepared.body)["messages"]
    assert prepared.changed


def test_a_compaction_is_the_same(upstream: StrictUpstream) -> None:
    """A conversation that outgrows a small window, seen by both, which learn from the same replies."""
    small = settings(budgets=Budgets(BudgetRule(window_tokens=12_000)))
    history: list[Any] = [{"role": "user", "content": "Balance the books. Never touch archive/."}]
    rebuilt = 0
    with gateway(upstream, small) as url, Session(MODEL, settings=small) as session:
        client = anthropic.Anthropic(base_url=url, api_key="k", max_retries=0)
        for number in range(30):
            reply = client.messages.create(model=MODEL, max_tokens=100, tools=ANTHROPIC_TOOLS, messages=history)
            shown = session.compact(history, tools=ANTHROPIC_TOOLS, extra={"max_tokens": 100})
            received = json.loads(upstream.inference[-1].request.body)
            assert json.loads(json.dumps(shown)) == received["messages"], number
            for message, source in zip(shown, shown.sources, strict=True):
                own = None if source is None else history[source]
                assert message is own or message != own
            assert shown[0] is history[0] and shown[-1] is history[-1]
            rebuilt += None in shown.sources
            session.observe(reply)
            use = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": f"day {number}"}}
            result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": log(f"day {number}", 60)}
            history += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    assert rebuilt > 5, "a summary stands in many of them"
    assert all(exchange.refusal is None for exchange in upstream.inference)


def test_a_recorded_session_is_cut_in_the_same_places() -> None:
    """With a pause in it: a batch of aged results goes, and replies teach both sides the same."""
    recording = read_file(recording_path())
    found: Settings = settings(policy=with_source_age(DEFAULT_POLICY, AGE), source_age=AGE, press_subscription=True)
    played = play(recording, found, MemoryStore(), operation="press", progress=lambda done, of: None)
    now = 0.0
    with Session(recording.trajectory.turns[0].model, settings=found, clock=lambda: now) as session:
        cuts: list[Any] = []
        for turn, body, one in zip(
            recording.trajectory.turns, requests(recording.trajectory, recording.head), played, strict=True
        ):
            now = turn.sent_at or now
            request = json.loads(body)
            messages = request.pop("messages")
            system, tools, model = (request.pop(name, None) for name in ("system", "tools", "model"))
            shown = session.compact(messages, system=system, tools=tools, model=model, extra=request)
            assert list(shown) == json.loads(one.received)["messages"]
            cuts.append((session.last and session.last.cut, one.receipt and one.receipt.cut))
            session.observe(one.usage)
    assert all(mine == theirs for mine, theirs in cuts)
    assert sum(mine is not None and mine.reason == "cold" for mine, _ in cuts) == 1
