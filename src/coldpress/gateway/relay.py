"""Carry one inference exchange: read the body, let the driver decide, send, relay the reply, report how it ended."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from coldpress.drive import Inbound, Prepared
from coldpress.gateway.client import Client
from coldpress.gateway.entrance import Entrance
from coldpress.gateway.errors import ClientGone, Refused, UpstreamBroken, UpstreamFailed
from coldpress.gateway.exchange import Exchange
from coldpress.gateway.failover import Failovers
from coldpress.gateway.filtering import filtered_body, pass_filtered
from coldpress.gateway.headers import (
    REQUEST_ID_HEADER,
    RequestHeaders,
    inference_headers,
    with_betas,
    with_own_key,
    without_body_facts,
    without_cookies,
)
from coldpress.gateway.limits import InFlight, Lease, read_body, too_large
from coldpress.gateway.own_calls import OwnCalls
from coldpress.gateway.reply import end_broken, pass_body, side_reader, start_reply
from coldpress.gateway.routes import Route
from coldpress.gateway.settings import Limits
from coldpress.gateway.stats import Counters
from coldpress.gateway.upstream import Call, Reply, Upstream
from coldpress.model.errors import BodyTooLarge, Withheld
from coldpress.model.records import Outcome
from coldpress.stores.amounts import Amount
from coldpress.wire.encoding import UnknownEncoding, decode_body
from coldpress.wire.registry import FormatName

log = logging.getLogger(__name__)

_LONG_SECONDS = 0.25
"""A client may have left, where deciding took longer than this."""

_UNREADABLE = (
    "coldpress: pii cannot look through this request, since its content-encoding is not known; send it in another, or "
    'set plugins.config.pii.on_failure = "open"'
)


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

    def spent(self, at: float) -> Amount:
        """Say what the requests cost that ended on the UTC day of a time. Blocking; may raise `StoreError`."""

    def is_priced(self, provider: str, model: str | None, at: float) -> bool:
        """Whether a model has a price at a provider. Blocking at first."""

    async def screen(self, inbound: Inbound, *, keep: bool = True) -> Inbound:
        """Give a request without what may not leave, `keep` false where no model is asked; may raise `Withheld`."""

    @property
    def screens(self) -> Literal["no", "open", "closed"]:
        """Whether requests are looked through, and whether one goes on that cannot be."""

    @property
    def patience_seconds(self) -> float:
        """How much longer than its time budget `prepare` may take; 0 where nothing is waited for."""

    async def give_up(self) -> None:
        """Stop what goes on in the background; the gateway ends."""


class InferenceRelay:
    """Carries inference exchanges of one gateway."""

    def __init__(
        self,
        driver: Driver,
        *,
        limits: Limits,
        in_flight: InFlight,
        counters: Counters,
        entrance: Entrance,
        failovers: Failovers,
        upstream: Upstream,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._driver = driver
        self._entrance = entrance
        self._failovers = failovers
        self._upstream = upstream
        self._limits = limits
        self._in_flight = in_flight
        self._counters = counters
        self._clock = clock

    async def carry(
        self,
        client: Client,
        headers: RequestHeaders,
        route: Route,
        format_name: FormatName,
        *,
        asks: Literal["model", "count"] = "model",
    ) -> None:
        """Carry one exchange from the first byte of its body to the last of its reply.

        Where it `asks` for a count of tokens no decision is taken on it, but nothing leaves with it that may not.

        Raises:
            Refused: the body is too large or too slow, or there are too many of them, or it may not go.
            UpstreamFailed: no answer came; nothing has been sent to the client.
            ClientGone: nobody is there any more.
        """
        exchange = Exchange(
            client,
            headers,
            route,
            format_name=format_name,
            lease=Lease(self._in_flight),
            received_at=self._clock(),
        )
        try:
            # Nested, so that no name here keeps the body alive while the reply streams.
            await self._converse(exchange, await self._decide(exchange, await self._receive(exchange), asks))
        finally:
            exchange.place.release()
            exchange.lease.release()
            if exchange.seen:
                self._report(exchange)

    async def _receive(self, exchange: Exchange) -> bytes:
        raw = await read_body(exchange.client, exchange.headers.declared_bytes, exchange.lease, self._limits)
        self._counters.request_bytes += len(raw)
        return raw

    async def _decide(self, exchange: Exchange, raw: bytes, asks: Literal["model", "count"]) -> Call:
        """Let the driver choose the body. Where it changes nothing, cannot read it or is slow, the client's goes on."""
        try:
            body = await self._decoded(raw, exchange.headers.encoding)
        except UnknownEncoding:
            self._counters.unreadable_encoding += 1
            if self._driver.screens == "closed":
                raise Refused(400, "not_screened", _UNREADABLE) from None
            await self._admit(exchange, None, asks)
            log.info("body went on unread", extra={"request_id": exchange.request_id, "reason": "encoding"})
            return _call(exchange, raw, body_changed=False)
        if body is not raw:
            exchange.lease.grow_to(len(raw) + len(body))
        await self._admit(exchange, body, asks)
        inbound = await self._screened(self._inbound(exchange, body), asks)
        exchange.seen = asks == "model"
        prepared = await self._prepare(exchange, inbound) if exchange.seen else None
        if prepared is None:
            changed = inbound.body is not body
            return _call(exchange, inbound.body if changed else raw, body_changed=changed)
        exchange.receipt, exchange.calls, exchange.added = prepared.receipt, prepared.calls, prepared.added
        if not prepared.changed:
            return _call(exchange, raw, body_changed=False)
        return _call(exchange, prepared.body, body_changed=True, betas=prepared.betas)

    async def _admit(self, exchange: Exchange, body: bytes | None, asks: Literal["model", "count"]) -> None:
        """Have it wait until the limits let it in; raises `Refused` where they do not. Counting costs nothing."""
        exchange.may_fail_over = asks == "model"
        if asks == "count":
            return
        exchange.place = await self._entrance.admit(
            exchange.client, exchange.route.provider.name, body, exchange.route.address
        )
        if exchange.place.waited:
            exchange.restart(self._clock())

    def _inbound(self, exchange: Exchange, body: bytes) -> Inbound:
        return Inbound(
            request_id=exchange.request_id,
            received_at=exchange.received_at,
            provider=exchange.route.provider.name,
            format=exchange.format,
            body=body,
            operation=exchange.route.asked,
            headers=exchange.headers.shareable(),
            task=exchange.headers.task,
            address=exchange.route.address,
            ask=OwnCalls(exchange.route, exchange.headers, self._upstream),
        )

    async def _screened(self, inbound: Inbound, asks: Literal["model", "count"]) -> Inbound:
        """Have what may not leave taken out; raises `Refused` where the request may not leave at all."""
        try:
            return await self._driver.screen(inbound, keep=asks == "model")
        except Withheld as withheld:
            if withheld.sensitive:
                raise Refused(400, "sensitive_content", str(withheld)) from None
            raise Refused(400, "not_screened", str(withheld)) from None

    async def _prepare(self, exchange: Exchange, inbound: Inbound) -> Prepared | None:
        """Ask the driver; `None` where it takes too long."""
        try:
            async with asyncio.timeout(self._limits.prepare_seconds + self._driver.patience_seconds):
                return await self._driver.prepare(inbound)
        except TimeoutError:
            self._counters.over_budget += 1
            log.warning(
                "preparing took too long", extra={"request_id": exchange.request_id, "bytes": len(inbound.body)}
            )
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

    async def _converse(self, exchange: Exchange, call: Call) -> None:
        """Send the request and relay its reply, for as long as the client is there."""
        try:
            with exchange.client as client:
                client.watch()
                if time.monotonic() - exchange.began_at > _LONG_SECONDS:
                    await client.noticed()  # a summary was waited for; nobody may be there to pay for an answer
                reply = await self._failovers.send(exchange, call)
                del call
                exchange.lease.release()
                try:
                    await self._relay_reply(exchange, reply)
                except UpstreamBroken as error:
                    self._counters.upstream_broken += 1
                    await end_broken(client, exchange.sent_headers, exchange.route.dialect, error)
                finally:
                    reply.close()
        except ClientGone:
            exchange.ended = "client_gone"
            raise
        except UpstreamFailed:
            exchange.ended = "upstream_failed"
            raise

    async def _relay_reply(self, exchange: Exchange, reply: Reply) -> None:
        exchange.status = reply.status
        keep_bytes = self._limits.expanded_bytes if self._driver.wants_replies else 0
        exchange.reader = side_reader(
            reply, exchange.format, self._counters, keep_bytes=keep_bytes, names_calls=exchange.calls is not None
        )
        mine = exchange.failover is None or not exchange.failover.served
        exchange.reply_headers = exchange.sent_headers = reply.headers if mine else without_cookies(reply.headers)
        if exchange.calls is not None:
            exchange.filtered = filtered_body(reply, exchange.format, exchange.calls, self._counters)
        own = [(REQUEST_ID_HEADER, exchange.request_id.encode())]
        name, client, look = exchange.served_by, exchange.client, exchange.reader.feed
        if exchange.filtered is None:
            await start_reply(client, reply.status, exchange.sent_headers, name, extra=own)
            await pass_body(client, reply, self._counters, look)
        else:
            exchange.sent_headers = without_body_facts(exchange.sent_headers)
            await start_reply(client, reply.status, exchange.sent_headers, name, extra=own)
            await pass_filtered(client, reply, exchange.filtered, self._counters, look)
        exchange.ended = "complete"

    def _report(self, exchange: Exchange) -> None:
        outcome = exchange.outcome()
        if outcome.ended == "error_event":
            self._counters.error_events += 1
        level = logging.WARNING if outcome.ended in ("upstream_broken", "upstream_failed") else logging.INFO
        if log.isEnabledFor(level):
            log.log(level, "exchange ended", extra=_facts(exchange, outcome))
        if exchange.reader is not None and exchange.reader.kept:
            readable = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in exchange.reply_headers]
            self._driver.log_reply(exchange.request_id, readable, bytes(exchange.reader.kept))
        if exchange.filtered is not None and exchange.filtered.faults:
            self._counters.filter_faults += exchange.filtered.faults
            log.warning("calls could not be filtered", extra={"request_id": exchange.request_id})
        if exchange.calls is not None:
            exchange.calls.taken(exchange.called)
        self._driver.finish(outcome)


def _facts(exchange: Exchange, outcome: Outcome) -> dict[str, object]:
    """What an operator wants to know of an exchange."""
    found: dict[str, object] = {
        "request_id": outcome.request_id,
        "provider": exchange.served_by,
        "status": outcome.status,
        "ended": outcome.ended,
        "stop": outcome.stop,
        "seconds": round(outcome.duration_seconds, 3),
    }
    if exchange.receipt is not None:
        receipt = exchange.receipt
        pressed = sum(line.reason in ("pressed", "restored") for line in receipt.lines)
        found |= {"operation": receipt.operation, "pressed": pressed, "reused": receipt.reused}
        found |= {"body_bytes": receipt.body_bytes, "sent_bytes": receipt.sent_bytes}
    return found


def _call(exchange: Exchange, body: bytes, *, body_changed: bool, betas: Sequence[str] = ()) -> Call:
    provider = exchange.route.provider
    forward = with_betas(inference_headers(exchange.headers.forward, body_changed=body_changed), betas)
    if provider.api_key is not None:
        forward = with_own_key(forward, provider.api_key, exchange.route.dialect)
    return Call(provider.name, "POST", exchange.route.sent_url, forward, body)
