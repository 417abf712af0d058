"""Bytes move when they come, nobody is read faster than the other side can take, and nobody works for nobody."""

from __future__ import annotations

import asyncio
import socket

import pytest
from gateway.world import (
    ANTHROPIC_PATH,
    END,
    OPENAI_PATH,
    SSE_HEAD,
    NotingDriver,
    Wire,
    chunk,
    ok,
    post,
    raw,
    run,
    world,
)

UNREAD = "/v1/models"
BOTH = [pytest.param(UNREAD, id="relayed"), pytest.param(ANTHROPIC_PATH, id="inference")]

LEAVING = [
    pytest.param(raw("GET", UNREAD), False, id="relayed, without a body"),
    pytest.param(post(UNREAD, b"{}"), False, id="relayed"),
    pytest.param(post(ANTHROPIC_PATH, b"{}"), True, id="inference"),
]

PIECE = b"x" * 65536
# What the kernel and the gateway's own small buffers may take before everything stands still.
BUFFERS_BYTES = 24 * 1024 * 1024
STANDSTILL_SECONDS = 0.4


@pytest.mark.parametrize("path", BOTH)
def test_each_event_goes_out_before_the_next_is_in(path: str) -> None:
    events = [b"data: %d\n\n" % n for n in range(5)]

    async def scenario() -> None:
        read = asyncio.Event()

        async def handle(wire: Wire) -> None:
            await wire.request()
            await wire.send(SSE_HEAD)
            for event in events:
                await wire.send(chunk(event))
                # The next event is not even written before the client holds this one.
                await read.wait()
                read.clear()
            await wire.send(END)

        async with world(handle) as w:
            wire = await w.client()
            await wire.send(post(path, b"{}"))
            await wire.head()
            got = []
            async for piece in wire.chunks():
                got.append(piece)
                read.set()
            wire.close()
        assert got == events

    run(scenario())


@pytest.mark.parametrize("path", BOTH)
def test_the_head_goes_out_before_any_body_is_in(path: str) -> None:
    async def scenario() -> None:
        seen = asyncio.Event()

        async def handle(wire: Wire) -> None:
            await wire.request()
            await wire.send(SSE_HEAD)
            await seen.wait()
            await wire.send(END)

        async with world(handle) as w:
            wire = await w.client()
            await wire.send(post(path, b"{}"))
            first, _ = await wire.head()
            seen.set()
            assert first.startswith("HTTP/1.1 200")
            wire.close()

    run(scenario())


@pytest.mark.parametrize("path", BOTH)
def test_a_client_that_stops_reading_stops_the_provider(path: str) -> None:
    total = 256 * 1024 * 1024

    async def scenario() -> None:
        written = 0
        standstill = asyncio.Event()

        async def handle(wire: Wire) -> None:
            nonlocal written
            await wire.request()
            await wire.send(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % total)
            while written < total:
                wire.writer.write(PIECE)
                try:
                    await asyncio.wait_for(wire.writer.drain(), STANDSTILL_SECONDS)
                except TimeoutError:
                    standstill.set()
                    await wire.writer.drain()
                written += len(PIECE)
            standstill.set()

        async with world(handle) as w:
            wire = await w.client()
            await wire.send(post(path, b"{}"))
            await standstill.wait()
            held = written
            wire.writer.transport.abort()
        assert 0 < held < BUFFERS_BYTES

    run(scenario())


def test_a_client_that_reads_slowly_still_gets_every_byte() -> None:
    body = bytes(n % 251 for n in range(20_000_000))

    async def scenario() -> None:
        async def handle(wire: Wire) -> None:
            await wire.request()
            await wire.send(ok(body))

        async with world(handle) as w:
            sock = socket.socket()
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32 * 1024)
            sock.setblocking(False)
            loop = asyncio.get_running_loop()
            await loop.sock_connect(sock, ("127.0.0.1", w.serving.port))
            wire = Wire(*await asyncio.open_connection(sock=sock, limit=8192))
            await wire.send(post(ANTHROPIC_PATH, b"{}"))
            assert (await wire.reply()).body == body
            wire.close()

    run(scenario())


def test_a_provider_that_stops_reading_stops_an_unread_upload() -> None:
    total = 256 * 1024 * 1024

    async def scenario() -> None:
        async def handle(wire: Wire) -> None:
            await wire.head()
            await asyncio.Event().wait()

        async with world(handle) as w:
            wire = await w.client()
            await wire.send(raw("POST", UNREAD, f"content-length: {total}"))
            written = 0
            while written < total:
                wire.writer.write(PIECE)
                try:
                    await asyncio.wait_for(wire.writer.drain(), STANDSTILL_SECONDS)
                except TimeoutError:
                    break
                written += len(PIECE)
            wire.writer.transport.abort()
        assert 0 < written < BUFFERS_BYTES

    run(scenario())


def test_an_unread_upload_reaches_the_provider_piece_by_piece() -> None:
    async def scenario() -> None:
        arrived: asyncio.Queue[bytes] = asyncio.Queue()

        async def handle(wire: Wire) -> None:
            await wire.head()
            async for piece in wire.chunks():
                await arrived.put(piece)
            await wire.send(ok())

        async with world(handle) as w:
            wire = await w.client()
            await wire.send(raw("POST", UNREAD, "transfer-encoding: chunked"))
            for piece in (b"one", b"two", b"three"):
                await wire.send(chunk(piece))
                # The next piece is not sent before the provider holds this one.
                assert await arrived.get() == piece
            await wire.send(END)
            assert (await wire.reply()).status == 200
            wire.close()

    run(scenario())


@pytest.mark.parametrize(("request_", "read"), LEAVING)
def test_a_client_that_leaves_before_the_first_byte_cancels_the_provider(request_: bytes, read: bool) -> None:
    async def scenario() -> NotingDriver:
        asked, cancelled = asyncio.Event(), asyncio.Event()

        async def handle(wire: Wire) -> None:
            await wire.request()
            asked.set()
            await wire.closed_by_peer()
            cancelled.set()

        async with world(handle) as w:
            wire = await w.client()
            await wire.send(request_)
            await asked.wait()
            wire.close()
            async with asyncio.timeout(1):
                await cancelled.wait()
                if read:
                    await w.driver.finished.wait()
            assert w.serving.gateway.counters.client_gone == 1
            assert w.serving.gateway.counters.active == 0
            return w.driver

    driver = run(scenario())
    if read:
        assert [(o.status, o.ended) for o in driver.outcomes] == [(None, "client_gone")]


@pytest.mark.parametrize(("request_", "read"), LEAVING)
def test_a_client_that_leaves_in_the_middle_of_a_stream_cancels_the_provider(request_: bytes, read: bool) -> None:
    async def scenario() -> NotingDriver:
        cancelled = asyncio.Event()

        async def handle(wire: Wire) -> None:
            await wire.request()
            await wire.send(SSE_HEAD + chunk(b"data: 1\n\n"))
            await wire.closed_by_peer()
            cancelled.set()

        async with world(handle) as w:
            wire = await w.client()
            await wire.send(request_)
            await wire.head()
            await anext(wire.chunks())
            wire.close()
            async with asyncio.timeout(1):
                await cancelled.wait()
                if read:
                    await w.driver.finished.wait()
            assert w.serving.gateway.counters.client_gone == 1
            return w.driver

    driver = run(scenario())
    if read:
        assert [(o.status, o.ended) for o in driver.outcomes] == [(200, "client_gone")]


def test_a_client_that_leaves_while_it_does_not_read_cancels_the_provider() -> None:
    async def scenario() -> None:
        cancelled = asyncio.Event()
        stuck = asyncio.Event()

        async def handle(wire: Wire) -> None:
            await wire.request()
            await wire.send(b"HTTP/1.1 200 OK\r\n\r\n")
            try:
                while True:
                    wire.writer.write(PIECE)
                    try:
                        await asyncio.wait_for(wire.writer.drain(), STANDSTILL_SECONDS)
                    except TimeoutError:
                        stuck.set()
                        await wire.writer.drain()
            except ConnectionError:
                cancelled.set()

        async with world(handle) as w:
            wire = await w.client()
            await wire.send(post(OPENAI_PATH, b"{}"))
            await stuck.wait()
            wire.writer.transport.abort()
            async with asyncio.timeout(2):
                await cancelled.wait()
                await w.driver.finished.wait()
        assert w.driver.outcomes[0].ended == "client_gone"

    run(scenario())


def test_a_client_that_leaves_in_the_middle_of_an_unread_upload_cancels_the_provider() -> None:
    async def scenario() -> None:
        begun, cancelled = asyncio.Event(), asyncio.Event()

        async def handle(wire: Wire) -> None:
            await wire.head()
            await wire.reader.readexactly(5)
            begun.set()
            await wire.closed_by_peer()
            cancelled.set()

        async with world(handle) as w:
            wire = await w.client()
            await wire.send(raw("POST", UNREAD, "content-length: 10") + b"12345")
            await begun.wait()
            wire.close()
            async with asyncio.timeout(1):
                await cancelled.wait()
            assert w.serving.gateway.counters.client_gone == 1
            assert w.serving.gateway.counters.upstream_failed == 0

    run(scenario())


def test_a_client_that_leaves_in_the_middle_of_its_body_reaches_nobody() -> None:
    async def scenario() -> None:
        async def handle(wire: Wire) -> None:
            raise AssertionError("no half request may reach the provider")

        async with world(handle) as w:
            wire = await w.client()
            await wire.send(raw("POST", ANTHROPIC_PATH, "content-length: 10") + b"12345")
            wire.close()
            # The next exchange is served after the first one's end was noticed.
            counters = w.serving.gateway.counters
            async with asyncio.timeout(1):
                while not counters.client_gone:
                    await asyncio.sleep(0)
            assert (counters.active, w.upstream.connections, w.driver.inbound) == (0, 0, [])

    run(scenario())


def test_an_answer_before_the_end_of_an_upload_is_relayed() -> None:
    async def scenario() -> None:
        async def handle(wire: Wire) -> None:
            await wire.head()
            await wire.send(b"HTTP/1.1 401 No\r\ncontent-length: 2\r\n\r\nno")

        async with world(handle) as w:
            wire = await w.client()
            await wire.send(raw("POST", UNREAD, "content-length: 1000000") + b"x")
            reply = await wire.reply()
            assert (reply.status, reply.body) == (401, b"no")
            wire.close()

    run(scenario())
