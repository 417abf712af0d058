"""Carry one inference exchange: read the body, let the driver decide, send, relay the reply, report how it ended."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from coldpress.drive import Inbound, Prepared
from coldpress.gateway.asgi import RawHeaders
from coldpress.gateway.client import Client
from coldpress.gateway.errors import ClientGone, UpstreamBroken, UpstreamFailed
from coldpress.gateway.headers import REQUEST_ID_HEADER, RequestHeaders, inference_headers, with_own_key
from coldpress.gateway.limits import InFlight, Lease, read_body, too_large
from coldpress.gateway.reply import SideReader, end_broken, pass_body, side_reader, start_reply
from coldpress.gateway.routes import Route
from coldpress.gateway.settings import Limits
from coldpress.gateway.stats import Counters
from coldpress.gateway.upstream import Call, Reply, Upstream
from coldpress.model.errors import BodyTooLarge
from coldpress.model.records import Outcome, Receipt
from coldpress.wire.encoding import UnknownEncoding, decode_body
from coldpress.wire.registry import FormatName
from coldpress.wire.sse import TapResult

log = logging.getLogger(__name__)

Ended = Literal["complete", "client_gone", "upstream_failed", "upstream_broken", "error_event"]

_LONG_SECONDS = 0.25
"""A client may have left, where deciding took longer than this."""


class Driver(Protocol):
    """What the gateway asks of the decisions' side."""

    async def prepare(self, inbound: Inbound) -> Prepared:
        """Decide what to send. Never raises for reasons of its own; may be cancelled when it takes too long."""

    def finish(self, outcome: Outcome) -> None:
        """Take note of how a request ended that `prepare` has seen."""

    @property
    def wants_replies(self) -> bool:
        """Whether `log_reply` keeps anything."""

    def log_reply(self, request_id: str, headers: Sequence[tuple[str, str]], body: bytes) -> None:
        """Keep a reply as it came, as far as it came."""

    def stats(self) -> dict[str, object]:
        """Counts for `/stats`."""

    @property
    def patience_seconds(self) -> float:
        """How much longer than its time budget `prepare` may take; 0 where nothing is waited for."""

    async def give_up(self) -> None:
        """Stop what goes on in the background; the gateway ends."""


class _Exchange:
    """One exchange: what it is given, and what is known of it so far; becomes its `Outcome`.

    Attributes:
        seen: the driver has seen the request and will want to know how it ended.
        received_at: in seconds since 1970.
    """

    __slots__ = (
        "began_at", "client", "ended", "format", "headers", "lease", "reader", "receipt", "received_at",
        "reply_headers", "request_id", "route", "seen", "status",
    )  # fmt: skip

    def __init__(
        self,
        client: Client,
        headers: RequestHeaders,
        route: Route,
        *,
        format_name: FormatName,
        lease: Lease,
        received_at: float,
    ) -> None:
        self.client = client
        self.headers = headers
        self.route = route
        self.format: FormatName = format_name
        self.lease = lease
        # Ids sort by time; the random part keeps two gateways apart.
        self.request_id = f"{int(received_at * 1000):011x}{os.urandom(5).hex()}"
        self.received_at = received_at
        self.began_at = time.monotonic()
        self.seen = False
        self.receipt: Receipt | None = None
        self.status: int | None = None
        self.ended: Ended = "upstream_broken"
        self.reader: SideReader | None = None
        self.reply_headers: RawHeaders = []

    def outcome(self) -> Outcome:
        read = (self.reader.end() if self.reader is not None else None) or TapResult()
        ended = self.ended
        # An error under an error status is a whole answer; only behind a good one is it an event of its own.
        if ended == "complete" and self.status == 200 and read.error_event:
            ended = "error_event"
        return Outcome(
            request_id=self.request_id,
            status=self.status,
            ended=ended,
            duration_seconds=time.monotonic() - self.began_at,
            usage=read.usage,
            others=read.others,
            context_tokens=read.context_tokens,
            miss=read.miss,
            transformations=read.transformations,
            reported_usd=read.reported_usd,
            overflow=self.reader.overflow() if self.reader is not None else None,
        )


class InferenceRelay:
    """Carries inference exchanges of one gateway."""

    def __init__(
        self,
        driver: Driver,
        upstream: Upstream,
        *,
        limits: Limits,
        in_flight: InFlight,
        counters: Counters,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._driver = driver
        self._upstream = upstream
        self._limits = limits
        self._in_flight = in_flight
        self._counters = counters
        self._clock = clock

    async def carry(self, client: Client, headers: RequestHeaders, route: Route, format_name: FormatName) -> None:
        """Carry one exchange from the first byte of its body to the last of its reply.

        Raises:
            Refused: the body is too large or too slow, or there are too many of them.
            UpstreamFailed: no answer came; nothing has been sent to the client.
            ClientGone: nobody is there any more.
        """
        exchange = _Exchange(
            client,
            headers,
            route,
            format_name=format_name,
            lease=Lease(self._in_flight),
            received_at=self._clock(),
        )
        try:
            # Nested, so that no name here keeps the body alive while the reply streams.
            await self._converse(exchange, await self._decide(exchange, await self._receive(exchange)))
        finally:
            exchange.lease.release()
            if exchange.seen:
                self._report(exchange)

    async def _receive(self, exchange: _Exchange) -> bytes:
        raw = await read_body(exchange.client, exchange.headers.declared_bytes, exchange.lease, self._limits)
        self._counters.request_bytes += len(raw)
        return raw

    async def _decide(self, exchange: _Exchange, raw: bytes) -> Call:
        """Let the driver choose the body. Where it changes nothing, cannot read it or is slow, the client's goes on."""
        try:
            body = await self._decoded(raw, exchange.headers.encoding)
        except UnknownEncoding:
            self._counters.unreadable_encoding += 1
            log.info("body went on unread", extra={"request_id": exchange.request_id, "reason": "encoding"})
            return _call(exchange, raw, body_changed=False)
        if body is not raw:
            exchange.lease.grow_to(len(raw) + len(body))
        exchange.seen = True
        prepared = await self._prepare(exchange, body)
        exchange.receipt = prepared.receipt if prepared is not None else None
        if prepared is None or not prepared.changed:
            return _call(exchange, raw, body_changed=False)
        return _call(exchange, prepared.body, body_changed=True)

    async def _prepare(self, exchange: _Exchange, body: bytes) -> Prepared | None:
        """Ask the driver; `None` where it takes too long."""
        inbound = Inbound(
            request_id=exchange.request_id,
            received_at=exchange.received_at,
            provider=exchange.route.provider.name,
            format=exchange.format,
            body=body,
            operation=exchange.route.asked,
            headers=exchange.headers.shareable(),
            task=exchange.headers.task,
        )
        try:
            async with asyncio.timeout(self._limits.prepare_seconds + self._driver.patience_seconds):
                return await self._driver.prepare(inbound)
        except TimeoutError:
            self._counters.over_budget += 1
            log.warning("preparing took too long", extra={"request_id": exchange.request_id, "bytes": len(body)})
            return None

    async def _decoded(self, raw: bytes, encoding: str | None) -> bytes:
        if encoding is None:
            return raw
        limit = self._limits.expanded_bytes
        try:
            # In a thread: a few compressed bytes may take long to expand, and no stream should wait for that.
            return await asyncio.to_thread(decode_body, raw, encoding, limit_bytes=limit)
        except BodyTooLarge as error:
            raise too_large("the request body expands to more", limit, "expanded_body_bytes") from error

    async def _converse(self, exchange: _Exchange, call: Call) -> None:
        """Send the request and relay its reply, for as long as the client is there."""
        try:
            with exchange.client as client:
                client.watch()
                if time.monotonic() - exchange.began_at > _LONG_SECONDS:
                    await client.noticed()  # a summary was waited for; nobody may be there to pay for an answer
                reply = await self._upstream.send(call)
                del call
                exchange.lease.release()
                try:
                    await self._relay_reply(exchange, reply)
                except UpstreamBroken as error:
                    self._counters.upstream_broken += 1
                    await end_broken(client, reply, exchange.route.dialect, error)
                finally:
                    reply.close()
        except ClientGone:
            exchange.ended = "client_gone"
            raise
        except UpstreamFailed:
            exchange.ended = "upstream_failed"
            raise

    async def _relay_reply(self, exchange: _Exchange, reply: Reply) -> None:
        exchange.status = reply.status
        keep_bytes = self._limits.expanded_bytes if self._driver.wants_replies else 0
        exchange.reader = side_reader(reply, exchange.format, self._counters, keep_bytes=keep_bytes)
        exchange.reply_headers = reply.headers
        own = [(REQUEST_ID_HEADER, exchange.request_id.encode())]
        await start_reply(exchange.client, reply, exchange.route.provider.name, extra=own)
        await pass_body(exchange.client, reply, self._counters, exchange.reader.feed)
        exchange.ended = "complete"

    def _report(self, exchange: _Exchange) -> None:
        outcome = exchange.outcome()
        if outcome.ended == "error_event":
            self._counters.error_events += 1
        level = logging.WARNING if outcome.ended in ("upstream_broken", "upstream_failed") else logging.INFO
        if log.isEnabledFor(level):
            log.log(level, "exchange ended", extra=_facts(exchange, outcome))
        if exchange.reader is not None and exchange.reader.kept:
            readable = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in exchange.reply_headers]
            self._driver.log_reply(exchange.request_id, readable, bytes(exchange.reader.kept))
        self._driver.finish(outcome)


def _facts(exchange: _Exchange, outcome: Outcome) -> dict[str, object]:
    """What an operator wants to know of an exchange."""
    found: dict[str, object] = {
        "request_id": outcome.request_id,
        "provider": exchange.route.provider.name,
        "status": outcome.status,
        "ended": outcome.ended,
        "seconds": round(outcome.duration_seconds, 3),
    }
    if exchange.receipt is not None:
        receipt = exchange.receipt
        pressed = sum(line.reason in ("pressed", "restored") for line in receipt.lines)
        found |= {"operation": receipt.operation, "pressed": pressed, "reused": receipt.reused}
        found |= {"body_bytes": receipt.body_bytes, "sent_bytes": receipt.sent_bytes}
    return found


def _call(exchange: _Exchange, body: bytes, *, body_changed: bool) -> Call:
    provider = exchange.route.provider
    forward = inference_headers(exchange.headers.forward, body_changed=body_changed)
    if provider.api_key is not None:
        forward = with_own_key(forward, provider.api_key, exchange.route.dialect)
    return Call(provider.name, "POST", exchange.route.url, forward, body)
