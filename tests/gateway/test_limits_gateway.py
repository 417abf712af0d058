"""Concurrency and requests a minute as clients meet them: who waits, what a refusal says, what is not limited."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anthropic
import openai
import pytest
from gateway.test_sdks import served
from gateway.test_serve import get
from gateway.world import (
    ANTHROPIC_PATH,
    END,
    OPENAI_PATH,
    SSE_HEAD,
    NotingDriver,
    Request,
    Wire,
    World,
    answering,
    chunk,
    ok,
    post,
    raw,
    run,
    world,
)

from coldpress.gateway.settings import Limits

BODY = b'{"model":"m","messages":[]}'


def limits(**given: object) -> Limits:
    return Limits(shutdown_seconds=1.0, **given)  # type: ignore[arg-type]


@dataclass
class Slow:
    """An upstream that begins a stream for each request and ends it when told to."""

    came: list[Request] = field(default_factory=list)
    ends: list[asyncio.Event] = field(default_factory=list)
    arrived: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def __call__(self, wire: Wire) -> None:
        while True:
            request = await wire.request()
            end = asyncio.Event()
            self.came.append(request)
            self.ends.append(end)
            async with self.arrived:
                self.arrived.notify_all()
            await wire.send(SSE_HEAD + chunk(b"data: {}\n\n"))
            await end.wait()
            await wire.send(END)

    async def holds(self, count: int) -> None:
        """Wait until so many have come."""
        async with self.arrived, asyncio.timeout(5):
            await self.arrived.wait_for(lambda: len(self.came) >= count)


@asynccontextmanager
async def slow_world(**given: object) -> AsyncIterator[tuple[World, Slow]]:
    slow = Slow()
    provider = {key: given.pop(key) for key in ("concurrency_here", "rpm_here", "operation") if key in given}
    own = {key.removesuffix("_here"): value for key, value in provider.items()}
    async with world(slow, limits=limits(**given), **own) as w:
        yield w, slow


async def told(w: World) -> dict[str, object]:
    found: dict[str, object] = json.loads((await get(w.serving.control_port, "/stats")).body)["limits"]
    return found


async def waiting(w: World, count: int) -> None:
    """Wait until so many requests wait."""
    async with asyncio.timeout(5):
        while (await told(w))["waiting"] != count:
            await asyncio.sleep(0)


async def asking(w: World, path: str = ANTHROPIC_PATH, body: bytes = BODY) -> Wire:
    wire = await w.client()
    await wire.send(post(path, body))
    return wire


@pytest.mark.parametrize("key", ["concurrency", "concurrency_here"], ids=["of all", "of the provider"])
def test_a_place_is_held_until_the_reply_has_ended(key: str) -> None:
    async def scenario() -> None:
        async with slow_world(**{key: 1}) as (w, slow):
            first = await asking(w)
            await slow.holds(1)
            second = await asking(w, body=BODY.replace(b'"m"', b'"2"'))
            await waiting(w, 1)
            third = await asking(w, body=BODY.replace(b'"m"', b'"3"'))
            await waiting(w, 2)
            assert len(slow.came) == 1, "the first one's reply has begun and not ended"
            assert len(w.driver.inbound) == 1, "nothing is decided before there is a place"
            for number, wire in enumerate((first, second, third)):
                await slow.holds(number + 1)
                slow.ends[number].set()
                assert (await wire.reply()).complete
            assert [json.loads(request.body)["model"] for request in slow.came] == ["m", "2", "3"]
            await w.idle()
            assert {key: (await told(w))[key] for key in ("waiting", "waited", "refused")} == {
                "waiting": 0,
                "waited": 2,
                "refused": {},
            }

    run(scenario())


def test_a_client_that_leaves_while_it_waits_leaves_the_queue() -> None:
    async def scenario() -> None:
        async with slow_world(concurrency=1) as (w, slow):
            first = await asking(w)
            await slow.holds(1)
            second = await asking(w)
            await waiting(w, 1)
            third = await asking(w)
            await waiting(w, 2)
            second.close()
            await waiting(w, 1)
            assert w.serving.gateway.counters.client_gone == 1
            slow.ends[0].set()
            await first.reply()
            await slow.holds(2)
            slow.ends[1].set()
            assert (await third.reply()).complete
            await w.idle()
            assert (len(slow.came), len(w.driver.inbound)) == (2, 2)

    run(scenario())


def test_a_client_that_leaves_in_the_middle_of_its_reply_makes_room() -> None:
    async def scenario() -> None:
        async with slow_world(concurrency=1) as (w, slow):
            first = await asking(w)
            await slow.holds(1)
            await first.head()
            second = await asking(w)
            await waiting(w, 1)
            first.close()
            await slow.holds(2)
            slow.ends[1].set()
            assert (await second.reply()).complete

    run(scenario())


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param(ANTHROPIC_PATH, {"type": "error", "error": {"type": "rate_limit_error"}}, id="messages"),
        pytest.param(
            OPENAI_PATH, {"error": {"type": "rate_limit_error", "code": "rate_limited", "param": None}}, id="chat"
        ),
    ],
)
def test_over_rpm_the_refusal_says_when_in_the_clients_format(path: str, expected: dict[str, dict[str, str]]) -> None:
    async def scenario() -> None:
        async with world(answering(ok()), limits=limits(rpm=2, wait_seconds=5)) as w:
            for _ in range(2):
                assert (await w.ask(post(path, BODY))).status == 200
            reply = await w.ask(post(path, BODY))
            assert (reply.status, reply.header(b"x-should-retry")) == (429, b"true")
            assert 55 <= int(reply.header(b"retry-after") or b"0") <= 60
            body = json.loads(reply.body)
            message = body["error"].pop("message")
            assert body == expected
            assert message.startswith("coldpress: ") and "limits.rpm" in message
            assert len(w.driver.inbound) == 2, "what is refused is no request of the ledger's"
            assert (await told(w))["refused"] == {"rate_limited": 1}
            assert w.serving.gateway.counters.refused == 1

    run(scenario())


def test_without_a_place_the_refusal_comes_after_the_wait() -> None:
    async def scenario() -> None:
        async with slow_world(concurrency=1, wait_seconds=0.05) as (w, slow):
            first = await asking(w)
            await slow.holds(1)
            reply = await (await asking(w)).reply()
            assert (reply.status, reply.header(b"retry-after"), reply.header(b"x-should-retry")) == (429, b"1", b"true")
            assert b"limits.concurrency" in reply.body
            slow.ends[0].set()
            assert (await first.reply()).complete

    run(scenario())


@pytest.mark.parametrize("kind", ["anthropic", "openai"])
def test_the_sdks_take_the_refusal_for_a_rate_limit_and_would_try_again(kind: str) -> None:
    bounds = limits(rpm=1, wait_seconds=0)
    with served(None, answering(ok(b"{}")), limits=bounds) as url:
        if kind == "anthropic":
            client = anthropic.Anthropic(base_url=url, api_key="k", max_retries=0)
            client.messages.create(model="m", max_tokens=1, messages=[{"role": "user", "content": "x"}])
            with pytest.raises(anthropic.RateLimitError) as caught:
                client.messages.create(model="m", max_tokens=1, messages=[{"role": "user", "content": "x"}])
            assert client._should_retry(caught.value.response)
        else:
            chat = openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0)
            chat.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}])
            with pytest.raises(openai.RateLimitError) as refused:
                chat.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}])
            assert refused.value.code == "rate_limited"
            assert chat._should_retry(refused.value.response)


def test_requests_that_ask_no_model_are_not_limited_and_unread_ones_that_do_are() -> None:
    async def scenario() -> None:
        async with world(answering(ok()), limits=limits(rpm=1, wait_seconds=0)) as w:
            off = post(ANTHROPIC_PATH, BODY, "x-coldpress-mode: off")
            assert (await w.ask(off)).status == 200
            for _ in range(3):
                assert (await w.ask(raw("GET", "/v1/models"))).status == 200
                assert (await w.ask(post("/v1/messages/count_tokens", BODY))).status == 200
            assert (await w.ask(off)).status == 429
            assert (await w.ask(post(ANTHROPIC_PATH, BODY))).status == 429

    run(scenario())


def test_a_wait_is_no_time_that_a_prompt_lay_in_a_cache() -> None:
    """What is believed of a cache goes by when the request went on, not by when it came to wait."""

    async def scenario() -> None:
        slow, driver = Slow(), NotingDriver()
        async with world(slow, driver=driver, limits=limits(concurrency=1)) as w:
            first = await asking(w)
            await slow.holds(1)
            second = await asking(w)
            await waiting(w, 1)
            ended_at = time.time()
            slow.ends[0].set()
            await slow.holds(2)
            slow.ends[1].set()
            assert (await first.reply()).complete and (await second.reply()).complete
            await w.idle()
        assert driver.inbound[0].received_at < ended_at <= driver.inbound[1].received_at
        assert driver.outcomes[1].duration_seconds <= time.time() - ended_at

    run(scenario())
