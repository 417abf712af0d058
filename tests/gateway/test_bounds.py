"""What is too large, too much or too slow is refused at once, in the client's format, and costs no memory."""

from __future__ import annotations

import asyncio
import json

import pytest
import zstandard
from gateway.world import (
    ANTHROPIC_PATH,
    END,
    OPENAI_PATH,
    NotingDriver,
    Reply,
    Request,
    Wire,
    answering,
    chunk,
    ok,
    post,
    raw,
    run,
    world,
)

from coldpress.gateway.errors import Refused
from coldpress.gateway.limits import InFlight, Lease
from coldpress.gateway.settings import Limits

SMALL = Limits(body_bytes=1000, expanded_bytes=5000, in_flight_bytes=1500, client_seconds=0.2, shutdown_seconds=1)


def refused(path: str, request: bytes, limits: Limits = SMALL) -> Reply:
    """Send a request that must not reach the provider."""

    async def scenario() -> Reply:
        async with world(answering(ok()), limits=limits) as w:
            reply = await w.ask(request)
            assert w.upstream.connections == 0
            assert w.serving.gateway.counters.refused == 1
            await w.idle()  # the client's leaving ends the wait for what it may still send
            return reply

    return run(scenario())


@pytest.mark.parametrize(
    ("path", "error"),
    [
        pytest.param(ANTHROPIC_PATH, {"type": "request_too_large"}, id="anthropic"),
        pytest.param(
            OPENAI_PATH, {"type": "invalid_request_error", "code": "body_too_large", "param": None}, id="openai"
        ),
    ],
)
@pytest.mark.parametrize(
    ("headers", "body"),
    [
        pytest.param(["content-length: 1001"], b"x" * 1001, id="declared"),
        pytest.param(["content-length: 999999999999"], b"x", id="declared, and hardly sent"),
        pytest.param(["content-length: 999999999999", "expect: 100-continue"], b"", id="declared, waiting for leave"),
        pytest.param(["transfer-encoding: chunked"], chunk(b"x" * 600) * 2, id="in chunks, without an end"),
    ],
)
def test_a_body_over_the_bound(path: str, error: dict[str, object], headers: list[str], body: bytes) -> None:
    reply = refused(path, raw("POST", path, *headers) + body)
    said = json.loads(reply.body)["error"]
    text = said.pop("message")
    assert (reply.status, said) == (413, error)
    assert "1000 bytes (limits.body_bytes)" in text
    assert reply.header(b"connection") == b"close"


def test_a_client_that_waits_for_leave_is_refused_without_a_wait() -> None:
    async def scenario() -> None:
        async with world(answering(ok()), limits=SMALL) as w:
            wire = await w.client()
            await wire.send(raw("POST", ANTHROPIC_PATH, "content-length: 1001", "expect: 100-continue"))
            assert (await wire.reply()).status == 413
            async with asyncio.timeout(0.5):  # it will send nothing, so nothing is waited for
                await wire.closed_by_peer()
            wire.close()

    run(scenario())


def test_a_body_at_the_bound_is_served() -> None:
    async def scenario() -> None:
        async with world(answering(ok()), limits=SMALL) as w:
            assert (await w.ask(post(ANTHROPIC_PATH, b"x" * 1000))).status == 200

    run(scenario())


def test_a_client_that_sends_all_before_it_reads_still_gets_the_refusal() -> None:
    body = b"x" * 20_000_000

    async def scenario() -> Reply:
        async with world(answering(ok()), limits=SMALL) as w:
            return await w.ask(post(ANTHROPIC_PATH, body))

    assert run(scenario()).status == 413


def test_an_unread_body_has_no_bound() -> None:
    async def scenario() -> None:
        seen: list[Request] = []
        async with world(answering(ok(), seen), limits=SMALL) as w:
            assert (await w.ask(post("/v1/files", b"x" * 100_000))).status == 200
        assert len(seen[0].body) == 100_000

    run(scenario())


def test_a_body_that_expands_over_the_bound() -> None:
    bomb = zstandard.ZstdCompressor().compress(b"\0" * 50_000_000)[:1000]
    small = zstandard.ZstdCompressor().compress(b"\0" * 5001)
    for sent in (small, bomb):
        reply = refused(ANTHROPIC_PATH, post(ANTHROPIC_PATH, sent, "content-encoding: zstd"))
        assert reply.status == 413
        assert b"limits.expanded_body_bytes" in reply.body


@pytest.mark.parametrize(
    ("path", "kind"), [(ANTHROPIC_PATH, "overloaded_error"), (OPENAI_PATH, "server_error")], ids=["anthropic", "openai"]
)
def test_too_many_bytes_in_flight(path: str, kind: str) -> None:
    async def scenario() -> None:
        hold = asyncio.Event()
        driver = NotingDriver(hold=hold)
        async with world(answering(ok()), driver=driver, limits=SMALL) as w:
            first = await w.client()
            await first.send(post(path, b"x" * 1000))
            while not driver.inbound:
                await asyncio.sleep(0)
            reply = await w.ask(post(path, b"y" * 600))
            assert reply.status == 503
            assert reply.header(b"retry-after") == b"1"
            assert json.loads(reply.body)["error"]["type"] == kind
            hold.set()
            assert (await first.reply()).status == 200
            # What the first one held is free again.
            assert (await w.ask(post(path, b"y" * 600))).status == 200
            first.close()

    run(scenario())


def test_bytes_are_given_back_before_the_reply_has_streamed() -> None:
    async def scenario() -> None:
        async def handle(wire: Wire) -> None:
            await wire.request()
            await wire.send(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx")
            await wire.closed_by_peer()

        async with world(handle, limits=SMALL) as w:
            streaming = [await w.client() for _ in range(4)]
            for wire in streaming:
                await wire.send(post(ANTHROPIC_PATH, b"x" * 1000))
                first, _ = await wire.head()
                assert first.startswith("HTTP/1.1 200")
            for wire in streaming:
                wire.close()

    run(scenario())


def test_a_client_that_falls_silent_in_its_body() -> None:
    reply = refused(ANTHROPIC_PATH, raw("POST", ANTHROPIC_PATH, "content-length: 10") + b"x")
    assert reply.status == 408
    assert b"0.2 s" in reply.body


@pytest.mark.parametrize(
    "path", [pytest.param("/v1/models", id="relayed"), pytest.param(ANTHROPIC_PATH, id="inference")]
)
def test_a_client_that_waits_for_leave_gets_it(path: str) -> None:
    async def scenario() -> None:
        seen: list[Request] = []
        async with world(answering(ok(), seen)) as w:
            wire = await w.client()
            await wire.send(raw("POST", path, "content-length: 5", "expect: 100-continue"))
            assert (await wire.head())[0].startswith("HTTP/1.1 100")
            await wire.send(b"hello")
            assert (await wire.reply()).status == 200
            wire.close()
        assert seen[0].body == b"hello"
        assert seen[0].header("expect") is None

    run(scenario())


@pytest.mark.parametrize("path", ["/v1/realtime", ANTHROPIC_PATH, "/provider/up/v1/realtime?model=x"])
def test_a_websocket_is_refused(path: str, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        async with world(answering(ok())) as w:
            wire = await w.client()
            handshake = ("connection: keep-alive, Upgrade", "upgrade: WebSocket", "sec-websocket-version: 13")
            await wire.send(raw("GET", path, *handshake))
            reply = await wire.reply()
            assert reply.status == 426
            assert b"WebSockets are not relayed" in reply.body
            assert json.loads(reply.body)["error"]
            async with asyncio.timeout(1):
                await wire.closed_by_peer()
            assert w.upstream.connections == 0
            wire.close()

    run(scenario())
    assert [record for record in caplog.records if record.exc_info or record.name.startswith("uvicorn")] == []


def test_an_upgrade_to_anything_else_is_ignored_and_the_request_served() -> None:
    async def scenario() -> None:
        seen: list[Request] = []
        async with world(answering(ok(), seen)) as w:
            handshake = ("connection: Upgrade, HTTP2-Settings", "upgrade: h2c", "http2-settings: AAMAAABk")
            for request in (raw("GET", "/v1/models", *handshake), post(ANTHROPIC_PATH, b"{}", *handshake)):
                reply = await w.ask(request)
                assert (reply.status, reply.body) == (200, b'{"ok":true}')
                assert reply.header(b"connection") == b"close"
        assert [request.header("http2-settings") for request in seen] == [None, None]

    run(scenario())


def test_several_requests_sent_at_once_are_answered_in_order() -> None:
    async def echo(wire: Wire) -> None:
        while True:
            await wire.send(ok((await wire.request()).body))

    async def scenario() -> None:
        async with world(echo) as w:
            wire = await w.client()
            await wire.send(b"".join(post(ANTHROPIC_PATH, b"%d" % n) for n in range(3)))
            assert [(await wire.reply()).body for _ in range(3)] == [b"0", b"1", b"2"]
            await wire.send(post(ANTHROPIC_PATH, b"") + raw("POST", ANTHROPIC_PATH, "transfer-encoding: chunked") + END)
            assert [(await wire.reply()).status for _ in range(2)] == [200, 200]
            wire.close()

    run(scenario())


def test_a_lease_never_gives_back_more_than_it_took() -> None:
    in_flight = InFlight(100)
    lease, other = Lease(in_flight), Lease(in_flight)
    lease.grow_to(60)
    lease.grow_to(20)
    with pytest.raises(Refused):
        other.grow_to(41)
    other.grow_to(40)
    lease.release()
    lease.release()
    assert (in_flight.held_bytes, in_flight.peak_bytes) == (40, 100)
