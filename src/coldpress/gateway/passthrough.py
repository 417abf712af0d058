"""Carry an exchange that is not read: body and reply stream through, neither is held."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator

from coldpress.gateway.client import Client
from coldpress.gateway.errors import ClientGone, UpstreamBroken, UpstreamFailed
from coldpress.gateway.headers import RequestHeaders, with_own_key
from coldpress.gateway.reply import end_broken, pass_body, start_reply
from coldpress.gateway.routes import Route
from coldpress.gateway.stats import Counters
from coldpress.gateway.upstream import Call, Upstream

log = logging.getLogger(__name__)


class Passthrough:
    """Carries unread exchanges of one gateway."""

    def __init__(self, upstream: Upstream, *, counters: Counters) -> None:
        self._upstream = upstream
        self._counters = counters

    async def carry(self, client: Client, method: str, headers: RequestHeaders, route: Route) -> None:
        """Carry one exchange.

        Raises:
            UpstreamFailed: no answer came; nothing has been sent to the client.
            ClientGone: nobody is there any more.
        """
        forward = headers.forward
        if route.provider.api_key is not None:
            forward = with_own_key(forward, route.provider.api_key, route.dialect)
        with client:
            if headers.has_body:
                length = headers.declared_bytes
                call = Call(route.provider.name, method, route.sent_url, forward, _upload(client), length)
            else:
                await _no_body(client)
                call = Call(route.provider.name, method, route.sent_url, forward, None)
            try:
                reply = await self._upstream.send(call)
            except UpstreamFailed:
                # The upload runs in the pool's own task: where the client left, it ends there as a failed sending.
                if client.gone:
                    raise ClientGone("the client closed its connection in the middle of its request") from None
                raise
            try:
                await start_reply(client, reply.status, reply.headers, route.provider.name, extra=[])
                await pass_body(client, reply, self._counters, None)
            except UpstreamBroken as error:
                if client.gone:
                    raise ClientGone("the client closed its connection in the middle of its request") from None
                self._counters.upstream_broken += 1
                log.warning("upstream gave no whole answer", extra={"provider": route.provider.name})
                await end_broken(client, reply.headers, route.dialect, error)
            finally:
                reply.close()


async def _upload(client: Client) -> AsyncIterator[bytes]:
    """The client's body as it comes. Nothing is taken from the client until the provider has room for it."""
    while client.more:
        part = await client.next_part()
        if part:
            yield part
    client.watch()


async def _no_body(client: Client) -> None:
    """Take the server's empty body event, so that what follows can only be the client's leaving."""
    while client.more:
        await client.next_part()
    client.watch()
