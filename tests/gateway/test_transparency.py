"""What is not ours to change crosses the gateway unchanged, in both directions."""

from __future__ import annotations

import asyncio

import pytest
from gateway.world import (
    ANTHROPIC_PATH,
    END,
    OPENAI_PATH,
    NotingDriver,
    Request,
    Wire,
    answering,
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

from coldpress.gateway.settings import Provider

UNREAD = "/v1/models"


@pytest.mark.parametrize(
    ("sent", "target"),
    [
        pytest.param("/v1/files/a%2Fb%20c", "/v1/files/a%2Fb%20c", id="escapes stay escaped"),
        pytest.param("/v1/x/../y/./z", "/v1/x/../y/./z", id="dot segments are the upstream's to resolve"),
        pytest.param("/v1/x/%2e%2e/y", "/v1/x/%2e%2e/y", id="escaped dots stay escaped"),
        pytest.param("/v1//double", "/v1//double", id="double slashes stay"),
        pytest.param("/v1/x?a=%20&b=c+d&a='|", "/v1/x?a=%20&b=c+d&a='|", id="the query goes on as it is"),
        pytest.param("/provider/up/v1/models?x=1", "/v1/models?x=1", id="the provider prefix is taken off"),
        pytest.param("/provider/up/", "/", id="the root of a provider"),
        pytest.param("/provider/up/provider/up/x", "/provider/up/x", id="only one prefix is taken off"),
        pytest.param("/v1/messages/count_tokens?beta=true", "/v1/messages/count_tokens?beta=true", id="count_tokens"),
    ],
)
def test_target(sent: str, target: str) -> None:
    async def scenario() -> None:
        seen: list[Request] = []
        async with world(answering(ok(), seen)) as w:
            reply = await w.ask(raw("GET", sent))
        assert reply.status == 200
        assert seen[0].target == target

    run(scenario())


@pytest.mark.parametrize("path", [pytest.param(UNREAD, id="relayed"), pytest.param(ANTHROPIC_PATH, id="inference")])
def test_request_headers_go_on_and_hop_by_hop_ones_do_not(path: str) -> None:
    async def scenario() -> Request:
        seen: list[Request] = []
        async with world(answering(ok(), seen)) as w:
            await w.ask(
                post(
                    path,
                    b"{}",
                    "anthropic-beta: a",
                    "anthropic-beta: b",
                    "authorization: Bearer k",
                    "x-empty:",
                    "x-utf8: caf\u00c3\u00a9",  # the two UTF-8 bytes of an accented e
                    "content-type: application/json",
                    "connection: keep-alive, x-private",
                    "x-private: 1",
                    "keep-alive: timeout=5",
                    "te: trailers",
                    "proxy-authorization: Basic x",
                    "x-coldpress-mode: observe",
                    "x-coldpress-anything: 1",
                )
            )
        return seen[0]

    request = run(scenario())
    names = [name.lower() for name, _ in request.headers]
    assert request.all("anthropic-beta") == ["a", "b"]
    assert request.header("authorization") == "Bearer k"
    assert request.header("x-empty") == ""
    assert request.header("x-utf8") == "caf\u00c3\u00a9"
    assert request.header("content-length") == "2"
    assert (request.header("host") or "").startswith("127.0.0.1:")
    for gone in ("connection", "x-private", "keep-alive", "te", "proxy-authorization"):
        assert gone not in names
    assert not [name for name in names if name.startswith("x-coldpress")]
    # nothing is made up: no user-agent, no accept, no cookie
    assert sorted(set(names) - {"accept-encoding"}) == [
        "anthropic-beta", "authorization", "content-length", "content-type", "host", "x-empty", "x-utf8",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param(UNREAD, "gzip, br", id="an unread reply may stay compressed"),
        pytest.param(ANTHROPIC_PATH, "identity", id="a reply we read along must not be compressed"),
        pytest.param(OPENAI_PATH, "identity", id="the same for chat completions"),
    ],
)
def test_accept_encoding(path: str, expected: str) -> None:
    async def scenario() -> Request:
        seen: list[Request] = []
        async with world(answering(ok(), seen)) as w:
            await w.ask(post(path, b"{}", "accept-encoding: gzip, br"))
        return seen[0]

    assert run(scenario()).all("accept-encoding") == [expected]


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_method_and_body_of_an_unread_request(method: str) -> None:
    body = bytes(range(256)) * 300

    async def scenario() -> Request:
        seen: list[Request] = []
        async with world(answering(ok(), seen)) as w:
            reply = await w.ask(raw(method, UNREAD, f"content-length: {len(body)}") + body)
            assert reply.body == b'{"ok":true}'
        return seen[0]

    request = run(scenario())
    assert (request.method, request.body) == (method, body)
    assert request.header("content-length") == str(len(body))


@pytest.mark.parametrize("path", [pytest.param(UNREAD, id="relayed"), pytest.param(ANTHROPIC_PATH, id="inference")])
def test_a_chunked_request_body_arrives_whole(path: str) -> None:
    pieces = [b'{"a":', b'"' + b"x" * 70_000 + b'"', b"}"]

    async def scenario() -> Request:
        seen: list[Request] = []
        async with world(answering(ok(), seen)) as w:
            body = b"".join(chunk(piece) for piece in pieces) + END
            reply = await w.ask(raw("POST", path, "transfer-encoding: chunked") + body)
            assert reply.status == 200
        return seen[0]

    assert run(scenario()).body == b"".join(pieces)


@pytest.mark.parametrize("path", [pytest.param(UNREAD, id="relayed"), pytest.param(ANTHROPIC_PATH, id="inference")])
@pytest.mark.parametrize("status", [200, 201, 226, 299, 302, 307, 400, 401, 404, 418, 429, 500, 503, 529, 599])
def test_status_headers_and_body_of_a_reply(path: str, status: int) -> None:
    raw_reply = (
        f"HTTP/1.1 {status} Odd\r\nretry-after: 7\r\nlocation: /elsewhere\r\nx-l: caf\xe9\r\nx-dup: 1\r\nx-dup: 2\r\n"
        "set-cookie: a=1; Path=/\r\nset-cookie: b=2\r\nserver: theirs\r\ndate: then\r\nconnection: x-hop\r\n"
        "x-hop: 1\r\n"
        "keep-alive: timeout=1\r\ncontent-type: text/plain\r\ncontent-length: 5\r\n\r\nhello"
    ).encode("latin-1")

    async def scenario() -> None:
        async with world(answering(raw_reply)) as w:
            reply = await w.ask(post(path, b"{}"))
        assert (reply.status, reply.body, reply.complete) == (status, b"hello", True)
        assert reply.all(b"set-cookie") == [b"a=1; Path=/", b"b=2"]
        assert reply.all(b"x-dup") == [b"1", b"2"]
        assert reply.header(b"x-l") == b"caf\xe9"
        assert reply.header(b"retry-after") == b"7"
        assert reply.header(b"location") == b"/elsewhere"
        assert reply.all(b"server") == [b"theirs"]
        assert reply.all(b"date") == [b"then"]
        assert reply.header(b"x-hop") is None
        assert reply.header(b"keep-alive") is None

    run(scenario())


@pytest.mark.parametrize(
    "upstream_reply",
    [
        pytest.param(b"HTTP/1.1 204 No Content\r\nx-a: 1\r\n\r\n", id="204"),
        pytest.param(b"HTTP/1.1 304 Not Modified\r\ncontent-length: 10\r\nx-a: 1\r\n\r\n", id="304 with a length"),
    ],
)
def test_replies_without_a_body_leave_the_connection_usable(upstream_reply: bytes) -> None:
    async def scenario() -> None:
        async with world(answering(upstream_reply)) as w:
            wire = await w.client()
            for _ in range(2):
                await wire.send(raw("GET", UNREAD))
                reply = await wire.reply()
                assert reply.status in (204, 304)
                assert reply.header(b"x-a") == b"1"
            wire.close()

    run(scenario())


def test_head_keeps_the_length_and_has_no_body() -> None:
    async def scenario() -> None:
        seen: list[Request] = []
        async with world(answering(b"HTTP/1.1 200 OK\r\ncontent-length: 1234\r\n\r\n", seen)) as w:
            wire = await w.client()
            for _ in range(2):
                await wire.send(raw("HEAD", "/"))
                reply = await wire.reply(head_only=True)
                assert (reply.status, reply.header(b"content-length")) == (200, b"1234")
            wire.close()
        assert [r.method for r in seen] == ["HEAD", "HEAD"]

    run(scenario())


@pytest.mark.parametrize(
    "upstream_reply",
    [
        pytest.param(
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n" + ok(b"hi"), id="1xx before it"
        ),
        pytest.param(
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntrailer: x-t\r\n\r\n"
            + chunk(b"h")
            + chunk(b"i")
            + b"0\r\nx-t: 1\r\n\r\n",
            id="trailers after it",
        ),
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\nhi", id="a body that ends with the connection"),
        pytest.param(b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nhi", id="HTTP/1.0"),
    ],
)
def test_framing_of_a_reply(upstream_reply: bytes) -> None:
    async def scenario() -> None:
        async with world(closing(upstream_reply)) as w:
            for path in (UNREAD, ANTHROPIC_PATH):
                reply = await w.ask(post(path, b"{}"))
                assert (reply.status, reply.body, reply.complete) == (200, b"hi", True)
                assert reply.header(b"link") is None

    run(scenario())


def test_a_compressed_reply_goes_on_compressed_with_its_header() -> None:
    body = b"\x1f\x8b not really gzip"

    async def scenario() -> None:
        async with world(answering(ok(body, "content-encoding: gzip"))) as w:
            for path in (UNREAD, ANTHROPIC_PATH):
                reply = await w.ask(post(path, b"{}"))
                assert reply.body == body
                assert reply.header(b"content-encoding") == b"gzip"

    run(scenario())


def test_cookies_are_not_kept_between_requests() -> None:
    async def scenario() -> None:
        seen: list[Request] = []
        async with upstream(answering(ok(b"{}", "set-cookie: session=1; Path=/"), seen)) as up:
            # By name: cookie jars do not keep cookies of a bare address anyway.
            provider = Provider("up", f"http://localhost:{up.port}")
            async with gateway((provider,), NotingDriver()) as ready:
                wire = Wire(*await asyncio.open_connection("127.0.0.1", ready.port))
                for _ in range(2):
                    await wire.send(raw("GET", UNREAD))
                    assert (await wire.reply()).header(b"set-cookie") == b"session=1; Path=/"
                wire.close()
        assert [request.header("cookie") for request in seen] == [None, None]

    run(scenario())


def test_a_redirect_is_relayed_and_not_followed() -> None:
    async def scenario() -> None:
        seen: list[Request] = []
        reply_bytes = b"HTTP/1.1 308 Moved\r\nlocation: /v1/other\r\ncontent-length: 0\r\n\r\n"
        async with world(answering(reply_bytes, seen)) as w:
            reply = await w.ask(post(ANTHROPIC_PATH, b"{}"))
        assert (reply.status, len(seen)) == (308, 1)

    run(scenario())


def test_connections_to_the_provider_are_used_again() -> None:
    async def scenario() -> None:
        async with world(answering(ok())) as w:
            for path in (UNREAD, ANTHROPIC_PATH) * 5:
                await w.ask(post(path, b"{}"))
            assert w.upstream.connections == 1

    run(scenario())


def test_a_large_body_crosses_both_ways_unchanged() -> None:
    body = bytes(i * 31 % 251 for i in range(9_000_000))

    async def scenario() -> None:
        seen: list[Request] = []
        async with world(answering(ok(body), seen)) as w:
            for path in (UNREAD, ANTHROPIC_PATH):
                assert (await w.ask(post(path, body))).body == body
        assert [request.body == body for request in seen] == [True, True]

    run(scenario())


def test_many_exchanges_at_one_time_do_not_mix() -> None:
    async def echo(wire: Wire) -> None:
        while True:
            request = await wire.request()
            await wire.send(ok(request.body + (request.header("x-n") or "").encode()))

    async def scenario() -> None:
        async with world(echo) as w:

            async def one(n: int) -> bytes:
                return (await w.ask(post(ANTHROPIC_PATH, b"b%d" % n * 500, f"x-n: {n}"))).body

            replies = await asyncio.gather(*(one(n) for n in range(60)))
        assert replies == [b"b%d" % n * 500 + str(n).encode() for n in range(60)]

    run(scenario())
