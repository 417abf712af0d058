"""When a provider fails, the client learns what happened, in its own format, and never takes half for whole."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import ssl
from pathlib import Path

import pytest
from gateway.world import (
    ANTHROPIC_PATH,
    END,
    OPENAI_PATH,
    SSE_HEAD,
    Handler,
    NotingDriver,
    Reply,
    Wire,
    chunk,
    closing,
    gateway,
    ok,
    post,
    raw,
    run,
    upstream,
    world,
)

from coldpress.gateway.serve import Serving
from coldpress.gateway.settings import Limits, Provider

UNREAD = "/v1/models"
HERE = Path(__file__).parent


async def ask(ready: Serving, raw_request: bytes) -> Reply:
    wire = Wire(*await asyncio.open_connection("127.0.0.1", ready.port))
    await wire.send(raw_request)
    reply = await wire.reply()
    wire.close()
    return reply


def message(reply: Reply, path: str, status: int, kind: str, code: str) -> str:
    """Check an error's shape for the client of this path and give its message."""
    body = json.loads(reply.body)
    assert reply.status == status
    assert reply.header(b"content-type") == b"application/json"
    if path == ANTHROPIC_PATH:
        assert body["type"] == "error"
        assert set(body["error"]) == {"type", "message"}
    else:
        assert set(body["error"]) == {"message", "type", "code", "param"}
        assert body["error"]["code"] == code
    assert body["error"]["type"] == kind
    return str(body["error"]["message"])


@pytest.mark.parametrize("path", [ANTHROPIC_PATH, OPENAI_PATH, UNREAD])
@pytest.mark.parametrize(
    ("url", "place", "what"),
    [
        pytest.param("http://127.0.0.1:1", "127.0.0.1:1", "Connection refused", id="refused"),
        pytest.param("http://me:sk-secret@127.0.0.1:1/v1", "127.0.0.1:1", "Connection refused", id="with credentials"),
        pytest.param("http://[::1]:1", "[::1]:1", "could not be reached", id="IPv6"),
        pytest.param("http://nowhere.invalid", "nowhere.invalid:80", "host name was not found", id="no such host"),
        pytest.param("https://nowhere.invalid", "nowhere.invalid:443", "host name was not found", id="no host, TLS"),
    ],
)
def test_a_provider_that_cannot_be_reached(
    path: str, url: str, place: str, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    driver = NotingDriver()

    async def scenario() -> Reply:
        async with gateway((Provider("up", url),), driver) as ready:
            reply = await ask(ready, post(f"{path}?key=sk-secret", b"{}", "x-api-key: sk-secret"))
            assert ready.gateway.counters.upstream_failed == 1
            return reply

    reply = run(scenario())
    kind = "api_error" if path == ANTHROPIC_PATH else "server_error"
    text = message(reply, path, 502, kind, "upstream_unreachable")
    assert f"provider 'up' at {place} could" in text
    assert what in text
    assert "providers.up.url" in text, "it says what now"
    assert "sk-secret" not in text + caplog.text
    assert [o.ended for o in driver.outcomes] == ([] if path == UNREAD else ["upstream_failed"])
    assert all(o.status is None for o in driver.outcomes)


def test_a_provider_that_does_not_accept_connections() -> None:
    async def scenario() -> Reply:
        with (
            socket.create_server(("127.0.0.1", 0), backlog=0) as full,
            socket.socket() as first,
            socket.socket() as second,
        ):
            # Two connections nobody accepts fill the queue; the kernel answers no further one.
            for waiting in (first, second):
                waiting.setblocking(False)
                waiting.connect_ex(full.getsockname())
            limits = Limits(connect_seconds=0.3, shutdown_seconds=1)
            url = f"http://127.0.0.1:{full.getsockname()[1]}"
            async with gateway((Provider("up", url),), NotingDriver(), limits=limits) as ready:
                return await ask(ready, post(ANTHROPIC_PATH, b"{}"))

    text = message(run(scenario()), ANTHROPIC_PATH, 504, "timeout_error", "")
    assert "within 0.3 s" in text


async def _silent(wire: Wire) -> None:
    await wire.request()
    await wire.closed_by_peer()


async def _hangs_up(wire: Wire) -> None:
    await wire.request()


@pytest.mark.parametrize(
    ("handler", "status", "what"),
    [
        pytest.param(_silent, 504, "sent nothing for 0.2 s", id="silence"),
        pytest.param(_hangs_up, 502, "closed the connection before it answered", id="hangs up"),
        pytest.param(closing(b"HTTP/1.1 2"), 502, "closed the connection before it answered", id="half a status line"),
        pytest.param(closing(b"SSH-2.0-x\r\n\r\n"), 502, "not HTTP", id="another protocol"),
        pytest.param(closing(b"HTTP/1.1 799 Z\r\ncontent-length: 0\r\n\r\n"), 502, "status 799", id="odd status"),
        pytest.param(
            closing(b"HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n"), 502, "status 101", id="101"
        ),
    ],
)
@pytest.mark.parametrize("path", [ANTHROPIC_PATH, OPENAI_PATH, UNREAD])
def test_a_provider_that_gives_no_answer(path: str, handler: Handler, status: int, what: str) -> None:
    async def scenario() -> Reply:
        async with world(handler, limits=Limits(idle_seconds=0.2, shutdown_seconds=1)) as w:
            return await w.ask(post(path, b"{}"))

    kinds = {ANTHROPIC_PATH: {502: "api_error", 504: "timeout_error"}}
    kind = kinds.get(path, {}).get(status, "server_error")
    code = "upstream_timeout" if status == 504 else "upstream_unreachable"
    assert what in message(run(scenario()), path, status, kind, code)


@pytest.mark.parametrize(
    ("trusted", "status", "what"),
    [
        pytest.param(False, 502, "certificate was refused", id="unknown authority"),
        pytest.param(True, 200, "", id="an authority that SSL_CERT_FILE adds"),
    ],
)
def test_tls_is_verified(trusted: bool, status: int, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(HERE / "tls" / "cert.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(HERE / "tls" / "cert.pem", HERE / "tls" / "key.pem")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        wire = Wire(reader, writer)
        await wire.request()
        await wire.send(ok())
        writer.close()

    async def scenario() -> Reply:
        server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
        url = f"https://localhost:{server.sockets[0].getsockname()[1]}"
        async with server, gateway((Provider("up", url),), NotingDriver()) as ready:
            return await ask(ready, post(ANTHROPIC_PATH, b"{}"))

    reply = run(scenario())
    assert reply.status == status
    assert what in reply.body.decode()


def test_tls_against_a_server_that_speaks_plain_http() -> None:
    async def plain(wire: Wire) -> None:
        await wire.reader.read(1)
        await wire.send(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")

    async def scenario() -> Reply:
        async with upstream(plain) as up:
            url = f"https://127.0.0.1:{up.port}"
            async with gateway((Provider("up", url),), NotingDriver()) as ready:
                return await ask(ready, post(OPENAI_PATH, b"{}"))

    reply = run(scenario())
    assert reply.status == 502
    assert "TLS" in reply.body.decode()


EVENT = b'data: {"a":1}\n\n'


@pytest.mark.parametrize(
    ("path", "sent", "expected"),
    [
        pytest.param(ANTHROPIC_PATH, b"event: x\n" + EVENT, b"event: error\ndata: {", id="anthropic, between events"),
        pytest.param(ANTHROPIC_PATH, EVENT + b'data: {"b', b"\nevent: error\ndata: {", id="anthropic, in an event"),
        pytest.param(ANTHROPIC_PATH, b"", b"event: error\ndata: {", id="anthropic, before the first event"),
        pytest.param(OPENAI_PATH, EVENT, b'data: {"error"', id="openai, between events"),
        pytest.param(OPENAI_PATH, EVENT + b'data: {"b', b'\n\ndata: {"error"', id="openai, in an event"),
        pytest.param(UNREAD, EVENT, b'data: {"error"', id="unread"),
    ],
)
@pytest.mark.parametrize("silence", [False, True], ids=["closed", "fell silent"])
def test_a_stream_that_breaks_ends_with_one_error_event(path: str, sent: bytes, expected: bytes, silence: bool) -> None:
    driver = NotingDriver()

    async def handle(wire: Wire) -> None:
        await wire.request()
        await wire.send(SSE_HEAD + (chunk(sent) if sent else b""))
        if silence:
            await wire.closed_by_peer()

    async def scenario() -> Reply:
        async with world(handle, driver=driver, limits=Limits(idle_seconds=0.2, shutdown_seconds=1)) as w:
            reply = await w.ask(post(path, b'{"stream":true}'))
            assert w.serving.gateway.counters.upstream_broken == 1
            return reply

    reply = run(scenario())
    assert reply.status == 200
    assert reply.body.startswith(sent + expected)
    assert reply.body.endswith(b"}\n\n")
    assert b"'up' " in reply.body
    assert reply.body.count(b"event: error") == (1 if path == ANTHROPIC_PATH else 0)
    assert reply.complete
    assert [(o.status, o.ended) for o in driver.outcomes] == ([] if path == UNREAD else [(200, "upstream_broken")])


@pytest.mark.parametrize("path", [ANTHROPIC_PATH, UNREAD])
@pytest.mark.parametrize(
    "reply_bytes",
    [
        pytest.param(b'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"half":', id="with a length"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
            + chunk(b'{"half":'),
            id="chunked",
        ),
        pytest.param(
            b'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 100\r\n\r\n{"half":',
            id="an event stream with a length",
        ),
        pytest.param(
            SSE_HEAD.replace(b"\r\n\r\n", b"\r\ncontent-encoding: gzip\r\n\r\n") + chunk(b'{"half":'),
            id="a compressed event stream",
        ),
    ],
)
def test_a_body_that_breaks_is_seen_to_be_broken(path: str, reply_bytes: bytes) -> None:
    async def scenario() -> Reply:
        async with world(closing(reply_bytes)) as w:
            return await w.ask(post(path, b"{}"))

    reply = run(scenario())
    assert (reply.status, reply.body, reply.complete) == (200, b'{"half":', False)


def test_a_gateway_that_stops_cancels_what_runs_too_long(caplog: pytest.LogCaptureFixture) -> None:
    driver = NotingDriver()

    async def scenario() -> None:
        asked, cancelled = asyncio.Event(), asyncio.Event()

        async def handle(wire: Wire) -> None:
            await wire.request()
            await wire.send(SSE_HEAD + chunk(EVENT))
            asked.set()
            await wire.closed_by_peer()
            cancelled.set()

        async with upstream(handle) as up:
            async with gateway((Provider("up", f"http://127.0.0.1:{up.port}"),), driver) as ready:
                wire = Wire(*await asyncio.open_connection("127.0.0.1", ready.port))
                await wire.send(post(ANTHROPIC_PATH, b"{}"))
                await asked.wait()
            await cancelled.wait()
        wire.close()

    run(scenario())
    assert [(o.status, o.ended) for o in driver.outcomes] == [(200, "upstream_broken")]
    assert not [record for record in caplog.records if record.exc_info]


def test_a_gateway_that_stops_says_so_where_no_answer_has_begun() -> None:
    async def scenario() -> Reply:
        asked = asyncio.Event()

        async def handle(wire: Wire) -> None:
            await wire.request()
            asked.set()
            await wire.closed_by_peer()

        async with upstream(handle) as up:
            async with gateway((Provider("up", f"http://127.0.0.1:{up.port}"),), NotingDriver()) as ready:
                wire = Wire(*await asyncio.open_connection("127.0.0.1", ready.port))
                await wire.send(post(OPENAI_PATH, b"{}"))
                await asked.wait()
            return await wire.reply()

    assert "stopping" in message(run(scenario()), OPENAI_PATH, 503, "server_error", "shutting_down")


def test_a_gateway_that_stops_lets_running_exchanges_end() -> None:
    async def scenario() -> None:
        asked, go_on = asyncio.Event(), asyncio.Event()

        async def handle(wire: Wire) -> None:
            await wire.request()
            asked.set()
            await go_on.wait()
            await wire.send(ok(b"whole"))

        async with upstream(handle) as up:
            async with gateway((Provider("up", f"http://127.0.0.1:{up.port}"),), NotingDriver()) as ready:
                wire = Wire(*await asyncio.open_connection("127.0.0.1", ready.port))
                await wire.send(post(ANTHROPIC_PATH, b"{}"))
                await asked.wait()
                asyncio.get_running_loop().call_later(0.2, go_on.set)
            reply = await wire.reply()
            wire.close()
        assert (reply.body, reply.complete) == (b"whole", True)

    run(scenario())


def test_head_of_a_provider_that_cannot_be_reached() -> None:
    async def scenario() -> None:
        async with gateway((Provider("up", "http://127.0.0.1:1"),), NotingDriver()) as ready:
            wire = Wire(*await asyncio.open_connection("127.0.0.1", ready.port))
            await wire.send(raw("HEAD", "/"))
            assert (await wire.reply(head_only=True)).status == 502
            wire.close()

    run(scenario())


def test_end_marks_the_end() -> None:
    """The world's own reader tells a whole chunked body from one that stops: the tests above stand on it."""

    async def scenario() -> None:
        for tail, complete in ((END, True), (b"", False)):
            async with upstream(closing(SSE_HEAD + chunk(EVENT) + tail)) as up:
                wire = Wire(*await asyncio.open_connection("127.0.0.1", up.port))
                await wire.send(post("/", b""))
                reply = await wire.reply()
                wire.close()
                assert (reply.body, reply.complete) == (EVENT, complete)

    run(scenario())
