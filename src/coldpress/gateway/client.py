"""The client's half of one exchange: its body, its leaving, and what we send it."""

from __future__ import annotations

import asyncio
from types import TracebackType

from coldpress.gateway.asgi import RawHeaders, Receive, Received, Send
from coldpress.gateway.errors import ClientGone

_LINGER_SECONDS = 2.0
_LINGER_BYTES = 64 * 1024 * 1024


class Client:
    """One request's client, over ASGI.

    Use it as a context manager (`with client:`) around everything that must stop when the client leaves: its
    leaving cancels the task inside, and the block then raises `ClientGone`. Watching begins with `watch`, when the
    body has been read, because only then does the server tell of nothing but leaving.

    Attributes:
        gone: the client has closed its connection.
        started: status and headers have been sent.
        more: the body has not been read to its end.
        asked: the client holds its body back until it is read (`expect: 100-continue`).
        last: the connection ends with this exchange.
        tail: the last bytes sent, for whoever must end a broken stream.
    """

    __slots__ = ("_receive", "_send", "_task", "_watcher", "asked", "gone", "last", "more", "started", "tail")

    def __init__(self, receive: Receive, send: Send, *, asked: bool, last: bool) -> None:
        self._receive = receive
        self._send = send
        self._task: asyncio.Task[object] | None = None
        self._watcher: asyncio.Task[Received] | None = None
        self.gone = False
        self.started = False
        self.more = True
        self.asked = asked
        self.last = last
        self.tail = b""

    def __enter__(self) -> Client:
        self._task = asyncio.current_task()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stop_watching()
        if self.gone and self._task is not None and isinstance(error, asyncio.CancelledError):
            self._task.uncancel()
            self._task = None
            raise ClientGone("the client closed its connection") from None
        self._task = None

    def watch(self) -> None:
        """Cancel the task inside `with client:` as soon as the client leaves. The body must have been read."""
        if self._task is not None and self._watcher is None:
            self._watcher = asyncio.ensure_future(self._next())
            self._watcher.add_done_callback(self._left)

    async def noticed(self) -> None:
        """Give way until a client that has left before `watch` is noticed."""
        # One turn of the event loop for the server to tell, one for us to hear of it.
        for _ in range(2):
            await asyncio.sleep(0)

    async def next_part(self) -> bytes:
        """Wait for the next piece of the body, maybe empty; `more` says whether another follows.

        Raises:
            ClientGone: the client left before its body was complete.
        """
        self.asked = False
        message = await self._receive()
        if message["type"] == "http.disconnect":
            self.gone = True
            raise ClientGone("the client closed its connection in the middle of its request")
        self.more = message.get("more_body", False)
        return message.get("body", b"")

    async def start(self, status: int, headers: RawHeaders) -> None:
        """Send status and headers."""
        self.started = True
        if self.last:
            headers.append((b"connection", b"close"))
        await self._send({"type": "http.response.start", "status": status, "headers": headers})

    async def send(self, chunk: bytes) -> None:
        """Send a piece of the body; waits while the client reads too slowly."""
        self.tail = chunk[-4:] if len(chunk) >= 4 else (self.tail + chunk)[-4:]
        await self._send({"type": "http.response.body", "body": chunk, "more_body": True})

    async def finish(self, chunk: bytes = b"") -> None:
        """Send the last piece."""
        await self._send({"type": "http.response.body", "body": chunk, "more_body": False})

    async def answer(self, status: int, headers: RawHeaders, body: bytes) -> None:
        """Send a whole answer of our own.

        A client still sending may not read before it has sent; so what it sends is taken and thrown away for a
        short while, and then the connection is closed.
        """
        headers.append((b"content-length", str(len(body)).encode()))
        if self.more:
            self.last = True
        if self.asked or not self.more:
            await self.start(status, headers)
            await self.finish(body)
            return
        await self.start(status, headers)
        await self.send(body)
        await self._drain()
        await self.finish()

    async def _drain(self) -> None:
        taken = 0
        try:
            async with asyncio.timeout(_LINGER_SECONDS):
                while self.more and taken < _LINGER_BYTES:
                    taken += len(await self.next_part())
        except (TimeoutError, ClientGone):
            return

    async def _next(self) -> Received:
        return await self._receive()

    def _left(self, watcher: asyncio.Task[Received]) -> None:
        if watcher.cancelled() or watcher is not self._watcher:
            return
        self._watcher = None
        self.gone = True
        if self._task is not None:
            self._task.cancel()

    def _stop_watching(self) -> None:
        watcher, self._watcher = self._watcher, None
        if watcher is not None:
            watcher.cancel()
