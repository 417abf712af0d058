"""The world around the gateway, made of real sockets: raw upstreams, raw clients, a driver that takes notes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar

import uvloop

from coldpress.drive import Inbound, Prepared
from coldpress.drive.exchange import CallsOnTheWay
from coldpress.gateway.serve import Serving, serving
from coldpress.gateway.settings import GatewaySettings, Limits, Provider
from coldpress.model.records import Outcome, Receipt
from coldpress.stores.amounts import Amount

T = TypeVar("T")
PATIENCE_SECONDS = 20.0

ANTHROPIC_PATH = "/v1/messages"
OPENAI_PATH = "/v1/chat/completions"


def run(scenario: Coroutine[object, object, T]) -> T:
    """Play a scenario on the event loop that the gateway uses in earnest."""

    async def bounded() -> T:
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await scenario

    return uvloop.run(bounded())


@dataclass
class Request:
    """A request as it stood on the wire."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes = b""

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name), None)

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key.lower() == name]


@dataclass
class Reply:
    """A reply as it stood on the wire. `complete` is false where the connection closed before its end."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes
    complete: bool

    def header(self, name: bytes) -> bytes | None:
        return next((value for key, value in self.headers if key.lower() == name), None)

    def all(self, name: bytes) -> list[bytes]:
        return [value for key, value in self.headers if key.lower() == name]


class Wire:
    """One connection, either end."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def head(self) -> tuple[str, list[tuple[bytes, bytes]]]:
        raw = await self.reader.readuntil(b"\r\n\r\n")
        first, *lines = raw[:-4].split(b"\r\n")
        pairs = [line.partition(b":") for line in lines]
        return first.decode("latin-1"), [(name, value.strip()) for name, _, value in pairs]

    async def request(self) -> Request:
        """Read one request, body and all."""
        first, headers = await self.head()
        method, target, _ = first.split(" ")
        request = Request(method, target, [(k.decode("latin-1"), v.decode("latin-1")) for k, v in headers])
        if "chunked" in (request.header("transfer-encoding") or ""):
            request.body = b"".join([chunk async for chunk in self.chunks()])
        else:
            request.body = await self.reader.readexactly(int(request.header("content-length") or 0))
        return request

    async def chunks(self) -> AsyncIterator[bytes]:
        while size := int((await self.reader.readuntil(b"\r\n"))[:-2], 16):
            yield (await self.reader.readexactly(size + 2))[:-2]
        await self.reader.readexactly(2)

    async def reply(self, *, head_only: bool = False) -> Reply:
        """Read one reply; a body that stops early is returned as far as it came."""
        first, headers = await self.head()
        reply = Reply(int(first.split(" ")[1]), headers, b"", complete=True)
        if head_only or reply.status in (204, 304):
            return reply
        try:
            if b"chunked" in (reply.header(b"transfer-encoding") or b""):
                async for chunk in self.chunks():
                    reply.body += chunk
            elif (length := reply.header(b"content-length")) is not None:
                reply.body = await self.reader.readexactly(int(length))
            else:
                reply.body = await self.reader.read()
        except asyncio.IncompleteReadError as error:
            reply.body += error.partial
            reply.complete = False
        return reply

    async def closed_by_peer(self) -> None:
        """Wait until the other side closes."""
        with contextlib.suppress(ConnectionError):
            while await self.reader.read(65536):
                pass

    def close(self) -> None:
        self.writer.close()


Handler = Callable[[Wire], Awaitable[None]]


@dataclass
class Upstream:
    """A server that runs a handler for every connection and counts them."""

    port: int
    connections: int = 0
    faults: list[BaseException] = field(default_factory=list)


@contextlib.asynccontextmanager
async def upstream(handler: Handler) -> AsyncIterator[Upstream]:
    made = Upstream(0)
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        made.connections += 1
        try:
            await handler(Wire(reader, writer))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        except Exception as error:  # a mistake in a test must show in the test
            made.faults.append(error)
        finally:
            writer.close()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(serve(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        server.close()
        assert not made.faults, made.faults


@dataclass
class NotingDriver:
    """A driver that notes what it is asked and changes bodies as it is told.

    Attributes:
        rewrite: makes the body to send, `None` for the client's own.
        hold: prepare waits for it where it is set.
        replies: the raw log of replies, where it is on.
        calls: what the calls of every reply pass through.
        spend: what today's requests have cost so far.
        unpriced: models without a price, by provider.
    """

    rewrite: Callable[[bytes], bytes] | None = None
    hold: asyncio.Event | None = None
    replies: list[tuple[str, dict[str, str], bytes]] | None = None
    calls: CallsOnTheWay | None = None
    spend: Amount = field(default_factory=Amount)
    unpriced: set[tuple[str, str | None]] = field(default_factory=set)
    inbound: list[Inbound] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    finished: asyncio.Event = field(default_factory=asyncio.Event)

    async def prepare(self, inbound: Inbound) -> Prepared:
        self.inbound.append(inbound)
        if self.hold is not None:
            await self.hold.wait()
        body = self.rewrite(inbound.body) if self.rewrite is not None else inbound.body
        receipt = Receipt(
            request_id=inbound.request_id,
            received_at=inbound.received_at,
            provider=inbound.provider,
            format=inbound.format,
            model=None,
            lineage="",
            harness_session=None,
            operation="press",
            messages=0,
            body_bytes=len(inbound.body),
            sent_bytes=len(body),
        )
        return Prepared(body, body is not inbound.body, receipt, stream=False, calls=self.calls)

    async def screen(self, inbound: Inbound, *, keep: bool = True) -> Inbound:
        return inbound

    @property
    def screens(self) -> Literal["no", "open", "closed"]:
        return "no"

    @property
    def wants_replies(self) -> bool:
        return self.replies is not None

    def log_reply(self, request_id: str, headers: Sequence[tuple[str, str]], body: bytes) -> None:
        assert self.replies is not None
        self.replies.append((request_id, dict(headers), body))

    def finish(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)
        self.finished.set()

    def stats(self) -> dict[str, object]:
        return {"prepared": len(self.inbound)}

    def spent(self, at: float) -> Amount:
        return self.spend

    def is_priced(self, provider: str, model: str | None, at: float) -> bool:
        return (provider, model) not in self.unpriced

    @property
    def patience_seconds(self) -> float:
        return 0.0

    async def give_up(self) -> None:
        """Nothing goes on in the background."""


@dataclass
class World:
    """A gateway between a client and an upstream called `up`."""

    serving: Serving
    upstream: Upstream
    driver: NotingDriver

    async def client(self) -> Wire:
        return Wire(*await asyncio.open_connection("127.0.0.1", self.serving.port))

    async def ask(self, raw: bytes, *, head_only: bool = False) -> Reply:
        """Send one raw request on a connection of its own and read the reply."""
        wire = await self.client()
        try:
            await wire.send(raw)
            return await wire.reply(head_only=head_only)
        finally:
            wire.close()

    async def idle(self) -> None:
        """Wait until nothing runs any more."""
        async with asyncio.timeout(1):
            while self.serving.gateway.counters.active:
                await asyncio.sleep(0)


@contextlib.asynccontextmanager
async def world(
    handler: Handler,
    *,
    driver: NotingDriver | None = None,
    limits: Limits | None = None,
    **provider: object,
) -> AsyncIterator[World]:
    """Set up a gateway whose only provider `up` is served by `handler`; bare paths go there too."""
    driver = driver or NotingDriver()
    async with upstream(handler) as up:
        only = Provider("up", f"http://127.0.0.1:{up.port}", **provider)  # type: ignore[arg-type]
        async with gateway((only,), driver, limits=limits) as ready:
            yield World(ready, up, driver)


@contextlib.asynccontextmanager
async def gateway(
    providers: tuple[Provider, ...], driver: NotingDriver, *, limits: Limits | None = None
) -> AsyncIterator[Serving]:
    settings = GatewaySettings(
        host="127.0.0.1",
        port=0,
        providers=providers,
        default_anthropic=providers[0].name,
        default_openai=providers[0].name,
        limits=limits or Limits(shutdown_seconds=1.0),
    )
    async with serving(settings, driver) as ready:
        yield ready


def post(path: str, body: bytes, *headers: str) -> bytes:
    """A raw POST with a length."""
    return raw("POST", path, *headers, f"content-length: {len(body)}") + body


def raw(method: str, path: str, *headers: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "host: gateway.test", *headers]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"


def ok(body: bytes = b'{"ok":true}', *headers: str, content_type: str = "application/json") -> bytes:
    """A raw 200 with a length."""
    lines = ["HTTP/1.1 200 OK", f"content-type: {content_type}", f"content-length: {len(body)}", *headers]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


SSE_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


END = b"0\r\n\r\n"


def answering(reply: bytes, seen: list[Request] | None = None) -> Handler:
    """Answer every request on a connection with the same bytes, and note what was asked."""

    async def handle(wire: Wire) -> None:
        while True:
            request = await wire.request()
            if seen is not None:
                seen.append(request)
            await wire.send(reply)

    return handle


def closing(reply: bytes) -> Handler:
    """Answer one request with these bytes and close the connection."""

    async def handle(wire: Wire) -> None:
        await wire.request()
        await wire.send(reply)

    return handle
