"""A second provider in the place of one that fails: when it is asked, what it learns, whose answer the client gets."""

from __future__ import annotations

import gzip
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import pytest
from gateway.test_serve import get
from gateway.world import (
    ANTHROPIC_PATH,
    END,
    OPENAI_PATH,
    SSE_HEAD,
    NotingDriver,
    Reply,
    Wire,
    World,
    answering,
    chunk,
    gateway,
    ok,
    post,
    run,
    upstream,
)

from coldpress.config.secret import Secret
from coldpress.drive import Inbound, Prepared
from coldpress.gateway.failover import STATUSES
from coldpress.gateway.settings import Limits, Provider
from coldpress.model.conversation import Span
from coldpress.model.records import Failover, FailoverWhy

FIRST_KEY = "sk-first-0123456789abcdef"
SECOND_KEY = "sk-second-fedcba9876543210"
BODY = b'{ "model" : "m-1",\t"n": 1.0, "messages":[{"role":"user","content":"hi"}]}'
GOOD = ok(b'{"from":"second"}', "set-cookie: session=of-the-second")
FORMATS = pytest.mark.parametrize("path", [ANTHROPIC_PATH, OPENAI_PATH], ids=["messages", "chat"])


def failing(status: int, *headers: str) -> bytes:
    body = b'{"error":{"message":"the first one fails"}}'
    lines = [f"HTTP/1.1 {status} No", "content-type: application/json", f"content-length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@dataclass
class Taps:
    """Every byte that an upstream received, and what it answers with, if it does not close the connection."""

    reply: bytes
    received: bytearray = field(default_factory=bytearray)
    closes: bool = False

    async def __call__(self, wire: Wire) -> None:
        while True:
            head = await wire.reader.readuntil(b"\r\n\r\n")
            self.received += head
            length = next(
                int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")
            )
            while length:
                part = await wire.reader.read(length)
                self.received += part
                length -= len(part)
            if self.closes:
                return
            await wire.send(self.reply)

    @property
    def requests(self) -> int:
        return bytes(self.received).count(b"POST ")

    @property
    def body(self) -> bytes:
        return bytes(self.received).partition(b"\r\n\r\n")[2]


@dataclass
class Pair:
    world: World
    first: Taps
    second: Taps

    async def ask(self, path: str = ANTHROPIC_PATH, body: bytes = BODY, *headers: str) -> Reply:
        reply = await self.world.ask(post(path, body, *headers))
        await self.world.idle()
        return reply

    @property
    def driver(self) -> NotingDriver:
        return self.world.driver

    @property
    def failover(self) -> Failover | None:
        (outcome,) = self.driver.outcomes
        return outcome.failover


@asynccontextmanager
async def pair(
    first_says: bytes,
    second_says: bytes = GOOD,
    *,
    driver: NotingDriver | None = None,
    limits: Limits | None = None,
    own: dict[str, object] | None = None,
    other: dict[str, object] | None = None,
) -> AsyncIterator[Pair]:
    driver = driver or NotingDriver()
    first, second = Taps(first_says), Taps(second_says)
    async with upstream(first) as up, upstream(second) as beside:
        own = {"failover": "beside", "api_key": Secret("FIRST", FIRST_KEY), **(own or {})}
        other = {"api_key": Secret("SECOND", SECOND_KEY), **(other or {})}
        providers = (
            Provider("up", f"http://127.0.0.1:{up.port}", **own),  # type: ignore[arg-type]
            Provider("beside", f"http://127.0.0.1:{beside.port}/base", **other),  # type: ignore[arg-type]
        )
        async with gateway(providers, driver, limits=limits) as ready:
            yield Pair(World(ready, up, driver), first, second)


def play(scenario: Callable[[Pair], Awaitable[None]], *given: bytes, **more: object) -> None:
    async def whole() -> None:
        async with pair(*given, **more) as both:  # type: ignore[arg-type]
            await scenario(both)

    run(whole())


@FORMATS
@pytest.mark.parametrize("status", sorted(STATUSES))
def test_the_second_one_serves_what_the_first_one_does_not(path: str, status: int) -> None:
    async def scenario(both: Pair) -> None:
        reply = await both.ask(path)
        assert (reply.status, reply.body) == (200, b'{"from":"second"}')
        assert (both.first.requests, both.second.requests) == (1, 1)
        assert both.second.body == BODY, "byte for byte"
        assert bytes(both.second.received).startswith(f"POST /base{path} HTTP/1.1\r\n".encode())
        assert both.failover == Failover("beside", str(status), "served", "m-1", 200)
        assert both.driver.outcomes[0].status == 200

    play(scenario, failing(status))


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 408, 413, 422, 501])
def test_what_is_about_the_request_itself_is_asked_of_nobody_else(status: int) -> None:
    async def scenario(both: Pair) -> None:
        assert (await both.ask()).status == status
        assert (both.second.requests, both.failover) == (0, None)

    play(scenario, failing(status))


LEAKS = (
    f"authorization: Bearer {FIRST_KEY}",
    f"x-api-key: {FIRST_KEY}",
    f"api-key: {FIRST_KEY}",
    f"x-goog-api-key: {FIRST_KEY}",
    f"cookie: session={FIRST_KEY}",
    f"proxy-authorization: Basic {FIRST_KEY}",
    f"openai-organization: {FIRST_KEY}",
    f"x-token-of-a-gateway-nobody-knows: {FIRST_KEY}",
    f"x-coldpress-task: {FIRST_KEY}",
    f"referer: https://llm.example.com/?key={FIRST_KEY}",
)


@FORMATS
@pytest.mark.parametrize("keys", ["of the client", "of both providers"])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_nothing_that_opens_the_first_one_reaches_the_second(path: str, keys: str, stream: bool) -> None:
    streamed = SSE_HEAD + chunk(b'data: {"from":"second"}\n\n') + END

    async def scenario(both: Pair) -> None:
        query = f"?beta=true&key={FIRST_KEY}&api_key={FIRST_KEY}"
        kept = (
            "anthropic-version: 2023-06-01",
            "anthropic-beta: b-1",
            "content-type: application/json",
            "user-agent: a/1",
        )
        reply = await both.ask(path + query, BODY, *LEAKS, *kept)
        assert reply.status == 200 and b"second" in reply.body
        received = bytes(both.second.received)
        assert FIRST_KEY.encode() in bytes(both.first.received), "the first one has it"
        assert FIRST_KEY.encode() not in received
        assert b"0123456789abcdef" not in received
        assert f"POST /base{path}?beta=true HTTP".encode() in received
        for header in kept:
            assert header.encode() in received
        own = f"x-api-key: {SECOND_KEY}" if path == ANTHROPIC_PATH else f"authorization: Bearer {SECOND_KEY}"
        assert own.lower().encode() in received.lower()
        assert received.count(SECOND_KEY.encode()) == 1
        assert SECOND_KEY.encode() not in bytes(both.first.received) + reply.body
        assert reply.header(b"set-cookie") is None, "the client would send it to the first one"

    own = {"api_key": Secret("FIRST", FIRST_KEY) if keys == "of both providers" else None}
    play(scenario, failing(529), streamed if stream else GOOD, own=own)


def test_a_second_one_on_this_machine_without_a_key_gets_none() -> None:
    async def scenario(both: Pair) -> None:
        assert (await both.ask(ANTHROPIC_PATH, BODY, *LEAKS)).status == 200
        received = bytes(both.second.received).lower()
        assert FIRST_KEY.encode() not in received
        assert not [name for name in (b"authorization", b"x-api-key", b"cookie") if name in received]

    play(scenario, failing(500), other={"api_key": None})


def test_no_connection_fails_over() -> None:
    async def scenario() -> None:
        second, driver = Taps(GOOD), NotingDriver()
        async with upstream(second) as beside:
            providers = (
                Provider("up", "http://127.0.0.1:1", failover="beside"),
                Provider("beside", f"http://127.0.0.1:{beside.port}"),
            )
            async with gateway(providers, driver) as ready:
                w = World(ready, beside, driver)
                reply = await w.ask(post(OPENAI_PATH, BODY))
                await w.idle()
        assert (reply.status, reply.body) == (200, b'{"from":"second"}')
        assert driver.outcomes[0].failover == Failover("beside", "upstream_unreachable", "served", "m-1", 200)

    run(scenario())


def test_an_answer_that_has_begun_is_not_failed_over() -> None:
    async def breaking(wire: Wire) -> None:
        await wire.request()
        await wire.send(SSE_HEAD + chunk(b'data: {"n":1}\n\n'))

    async def scenario() -> None:
        second, driver = Taps(GOOD), NotingDriver()
        async with upstream(breaking) as up, upstream(second) as beside:
            providers = (
                Provider("up", f"http://127.0.0.1:{up.port}", failover="beside"),
                Provider("beside", f"http://127.0.0.1:{beside.port}"),
            )
            async with gateway(providers, driver) as ready:
                w = World(ready, up, driver)
                reply = await w.ask(post(OPENAI_PATH, BODY))
                await w.idle()
        assert reply.body.startswith(b'data: {"n":1}') and b"upstream_broken" in reply.body
        assert (second.requests, driver.outcomes[0].failover) == (0, None)

    run(scenario())


@pytest.mark.parametrize(
    ("second", "why", "status"),
    [
        pytest.param(failing(429, "retry-after: 99"), "refused", 429, id="it is limited too"),
        pytest.param(failing(401), "refused", 401, id="its key is wrong"),
        pytest.param(b"", "no_answer", None, id="it gives no answer"),
    ],
)
def test_where_both_fail_the_client_gets_the_first_ones_answer(
    second: bytes, why: FailoverWhy, status: int | None
) -> None:
    async def scenario() -> None:
        async with pair(failing(429, "retry-after: 7"), second) as both:
            if not second:
                both.second.closes = True
            reply = await both.ask()
            assert (reply.status, reply.header(b"retry-after")) == (429, b"7")
            assert b"the first one fails" in reply.body
            assert both.failover == Failover("beside", "429", why, "m-1", status)
            assert both.driver.outcomes[0].status == 429
            assert (both.first.requests, both.second.requests) == (1, 1), "each is asked once"

    run(scenario())


def test_where_neither_answers_the_client_is_told_of_the_first() -> None:
    async def scenario() -> None:
        driver = NotingDriver()
        providers = (Provider("up", "http://127.0.0.1:1", failover="beside"), Provider("beside", "http://127.0.0.1:2"))
        async with upstream(answering(GOOD)) as any_one, gateway(providers, driver) as ready:
            w = World(ready, any_one, driver)
            reply = await w.ask(post(ANTHROPIC_PATH, BODY))
            await w.idle()
        assert reply.status == 502
        assert b"'up'" in reply.body and b"beside" not in reply.body
        assert driver.outcomes[0].ended == "upstream_failed"
        assert driver.outcomes[0].failover == Failover("beside", "upstream_unreachable", "no_answer", "m-1")

    run(scenario())


@pytest.mark.parametrize(
    ("unpriced", "why"),
    [
        pytest.param({("up", "m-1")}, "unpriced", id="at the first"),
        pytest.param({("beside", "m-1")}, "unpriced", id="at the second"),
    ],
)
def test_without_both_prices_nothing_fails_over(unpriced: set[tuple[str, str | None]], why: FailoverWhy) -> None:
    async def scenario(both: Pair) -> None:
        assert (await both.ask()).status == 503
        assert (both.second.requests, both.failover) == (0, Failover("beside", "503", why))

    play(scenario, failing(503), driver=NotingDriver(unpriced=unpriced))


@pytest.mark.parametrize(
    ("body", "own", "other", "why"),
    [
        pytest.param(b"not json", {}, {}, "unknown_model", id="unreadable"),
        pytest.param(b'{"messages":[]}', {}, {}, "unknown_model", id="no model"),
        pytest.param(BODY, {}, {"formats": ("openai_chat",)}, "other_format", id="another wire format"),
    ],
)
def test_what_cannot_go_to_the_second_one_is_not_sent(
    body: bytes, own: dict[str, object], other: dict[str, object], why: FailoverWhy
) -> None:
    async def scenario(both: Pair) -> None:
        assert (await both.ask(ANTHROPIC_PATH, body)).status == 500
        assert (both.second.requests, both.failover) == (0, Failover("beside", "500", why))

    play(scenario, failing(500), own=own, other=other)


def test_what_a_subscription_pays_for_is_not_sent_to_where_it_costs() -> None:
    class Subscribed(NotingDriver):
        async def prepare(self, inbound: Inbound) -> Prepared:
            prepared = await super().prepare(inbound)
            return replace(prepared, receipt=replace(prepared.receipt, notes=("subscription",)))

    async def scenario(both: Pair) -> None:
        assert (await both.ask()).status == 429
        assert both.failover == Failover("beside", "429", "subscription")

    play(scenario, failing(429), driver=Subscribed())


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "compressed"])
def test_another_models_name_is_the_only_byte_that_changes(packed: bool) -> None:
    async def scenario(both: Pair) -> None:
        headers = ("content-encoding: gzip",) if packed else ()
        reply = await both.ask(ANTHROPIC_PATH, gzip.compress(BODY) if packed else BODY, *headers)
        assert reply.status == 200
        assert both.second.body == BODY.replace(b'"m-1"', b'"vendor/\xc3\xa4"')
        assert b"content-encoding" not in bytes(both.second.received)
        assert both.failover == Failover("beside", "500", "served", "vendor/ä", 200)

    play(scenario, failing(500), own={"failover_model": "vendor/ä"})


def test_a_compressed_body_goes_on_as_it_came() -> None:
    body = gzip.compress(BODY)

    async def scenario(both: Pair) -> None:
        assert (await both.ask(ANTHROPIC_PATH, body, "content-encoding: gzip")).status == 200
        assert both.second.body == body
        assert b"content-encoding: gzip" in bytes(both.second.received).lower()

    play(scenario, failing(500))


def test_a_pressed_body_goes_to_the_second_one_as_it_went_to_the_first() -> None:
    small = b'{"model":"m-1","messages":[]}'

    async def scenario(both: Pair) -> None:
        assert (await both.ask()).status == 200
        assert both.first.body == both.second.body == small

    play(scenario, failing(500), driver=NotingDriver(rewrite=lambda _: small))


def test_the_second_ones_own_limits_hold() -> None:
    async def scenario(both: Pair) -> None:
        assert (await both.ask()).status == 200
        assert (await both.ask()).status == 503
        assert both.driver.outcomes[1].failover == Failover("beside", "503", "busy")
        assert both.second.requests == 1

    play(scenario, failing(503), other={"rpm": 1})


def test_every_place_is_free_afterwards_and_the_page_counts() -> None:
    async def scenario(both: Pair) -> None:
        for _ in range(3):
            assert (await both.ask()).status == 200
        stats = json.loads((await get(both.world.serving.control_port, "/stats")).body)
        assert stats["failover"] == {"served": 3}
        assert stats["limits"]["waiting"] == 0
        metrics = (await get(both.world.serving.control_port, "/metrics")).body
        assert b'coldpress_failover_total{why="served"} 3.0' in metrics

    one = {"concurrency": 1}
    limits = Limits(concurrency=1, wait_seconds=0, shutdown_seconds=1)
    play(scenario, failing(503), own=one, other=one, limits=limits)


def test_the_second_ones_key_goes_with_no_request_of_a_web_page() -> None:
    async def scenario(both: Pair) -> None:
        reply = await both.ask(ANTHROPIC_PATH, BODY, "origin: https://evil.example")
        assert reply.status == 403
        assert (both.first.requests, both.second.requests) == (0, 0)

    play(scenario, failing(500), own={"api_key": None})


@pytest.mark.parametrize("model", [None, "m-2"], ids=["the same model", "another model"])
def test_what_only_the_first_one_is_asked_for_does_not_reach_the_second(model: str | None) -> None:
    """A provider refuses fields and headers that it does not know."""
    asked = b',"context_management":{"edits":[]}'
    tool = b'{"type":"memory_20250818","name":"memory"}'
    plain = b'{ "model" : "m-1",\t"tools":[%s], "messages":[{"role":"user","content":"pressed"}] }'
    sent = (plain % tool)[:-1] + asked + b"}"
    places = tuple(Span(at, at + len(part)) for part in (tool, asked) for at in (sent.index(part),))

    class Adding(NotingDriver):
        async def prepare(self, inbound: Inbound) -> Prepared:
            return replace(await super().prepare(inbound), betas=("ours-1", "theirs-1"), added=places)

    async def scenario(both: Pair) -> None:
        reply = await both.ask(
            ANTHROPIC_PATH, gzip.compress(BODY), "content-encoding: gzip", "anthropic-beta: theirs-1"
        )
        assert reply.status == 200
        assert both.first.body == sent
        assert b"anthropic-beta: theirs-1,ours-1\r\n" in bytes(both.first.received)
        assert both.second.body == (plain % b"").replace(b"m-1", (model or "m-1").encode())
        head = bytes(both.second.received).partition(b"\r\n\r\n")[0]
        assert b"anthropic-beta: theirs-1\r\n" in head
        assert b"content-encoding" not in head

    play(scenario, failing(529), driver=Adding(rewrite=lambda _: sent), own={"failover_model": model})
