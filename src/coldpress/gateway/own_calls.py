"""Ask a client's provider something of our own: at the client's address, with its headers and its credentials.

What authorises the client stands in memory for as long as somebody may still ask, and nowhere else.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Final

from coldpress.drive.exchange import OwnReply
from coldpress.gateway.errors import UpstreamBroken, UpstreamFailed
from coldpress.gateway.headers import RequestHeaders, header, inference_headers, with_betas, with_own_key
from coldpress.gateway.routes import Route
from coldpress.gateway.upstream import Call, Reply, Upstream
from coldpress.model.errors import BodyTooLarge
from coldpress.wire.encoding import UnknownEncoding, decode_body

log = logging.getLogger(__name__)

MOST_REPLY_BYTES: Final = 4 << 20
"""A summary, or a count: nothing that we ask for is longer."""


class OwnCalls:
    """Asks for one client.

    Args:
        route: where its request went.
        headers: of its request.
        upstream: the connections.
    """

    __slots__ = ("_headers", "_route", "_upstream")

    def __init__(self, route: Route, headers: RequestHeaders, upstream: Upstream) -> None:
        self._route = route
        self._headers = headers
        self._upstream = upstream

    async def __call__(self, body: bytes, *, betas: Sequence[str], timeout_seconds: float) -> OwnReply | None:
        """Send a body and wait for the whole answer; `None` where none came in time, or it is too long."""
        try:
            async with asyncio.timeout(timeout_seconds):
                reply = await self._upstream.send(self._call(body, betas))
                return await _whole(reply)
        except (TimeoutError, UpstreamFailed, UpstreamBroken) as error:
            log.info(
                "a request of ours was not answered",
                extra={"provider": self._route.provider.name, "why": type(error).__name__},
            )
            return None

    def _call(self, body: bytes, betas: Sequence[str]) -> Call:
        provider = self._route.provider
        forward = with_betas(inference_headers(self._headers.forward, body_changed=True), betas)
        if provider.api_key is not None:
            forward = with_own_key(forward, provider.api_key, self._route.dialect)
        return Call(provider.name, "POST", self._route.sent_url, forward, body)


async def _whole(reply: Reply) -> OwnReply | None:
    """Take the body of a reply; `None` where it is longer than anything we ask for, or cannot be unpacked."""
    try:
        parts: list[bytes] = []
        while chunk := await reply.next_chunk():
            parts.append(chunk)
            if sum(map(len, parts)) > MOST_REPLY_BYTES:
                return None
        encoding = header(reply.headers, b"content-encoding") or None
        return OwnReply(reply.status, decode_body(b"".join(parts), encoding, limit_bytes=MOST_REPLY_BYTES))
    except (UnknownEncoding, BodyTooLarge):
        return None
    finally:
        reply.close()
