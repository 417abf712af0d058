"""Relay requests with uvicorn and pyreqwest and look at nothing: what such HTTP layers cost without any body work.

python relay.py PORT UPSTREAM_PORT
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from typing import Any

import uvicorn
from pyreqwest.client import Client, ClientBuilder

NOT_FORWARDED = {b"host", b"content-length", b"connection", b"accept-encoding", b"transfer-encoding", b"expect"}
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


class Relay:
    """The ASGI application."""

    def __init__(self, upstream: str) -> None:
        self._upstream = upstream
        self._client: Client | None = None

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        parts, more = list[bytes](), True
        while more:
            message = await receive()
            parts.append(message.get("body", b""))
            more = message.get("more_body", False)
        headers = {k.decode("latin-1"): v.decode("latin-1") for k, v in scope["headers"] if k not in NOT_FORWARDED}
        call = self._connected().request(scope["method"], self._upstream + scope["path"]).headers(headers)
        if parts != [b""]:
            call = call.body_bytes(b"".join(parts))
        # At its default this limit holds a streamed answer back until 64 KiB of it have come.
        async with call.streamed_read_buffer_limit(0).build_streamed() as reply:
            kind = reply.get_header("content-type") or "application/json"
            await send(
                {"type": "http.response.start", "status": reply.status, "headers": [(b"content-type", kind.encode())]}
            )
            while (chunk := await reply.body_reader.read_chunk()) is not None:
                await send({"type": "http.response.body", "body": chunk.to_bytes(), "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    def _connected(self) -> Client:
        if self._client is None:
            plain = ClientBuilder().gzip(False).brotli(False).deflate(False).zstd(False)
            self._client = plain.no_proxy().tcp_nodelay(True).build()
        return self._client


if __name__ == "__main__":
    uvicorn.run(
        Relay(f"http://127.0.0.1:{int(sys.argv[2])}"),
        host="127.0.0.1",
        port=int(sys.argv[1]),
        loop="uvloop",
        http="httptools",
        lifespan="off",
        access_log=False,
        log_level="warning",
    )
