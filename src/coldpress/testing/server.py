"""Serve an ASGI application from a thread on a free loopback port, with a way to cut a connection."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import socket
import threading
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

Scope = MutableMapping[str, Any]  # the three shapes of ASGI, which has no types of its own
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]

_START_SECONDS = 10
_STOP_SECONDS = 5
_GRACE_SECONDS = 1
_TICK_SECONDS = 0.1
_LOOK_SECONDS = 0.001


class _CuttableProtocol(HttpToolsProtocol):
    """Hand the transport to the application: no ASGI message can end a connection without an answer."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.app_state = {**self.app_state, "transport": transport}


class _ReadyServer(uvicorn.Server):
    """uvicorn's server, less the fifth of a second that it pauses while it stops: a test run stops hundreds."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = threading.Event()
        self._stopping = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._loop = asyncio.get_running_loop()
        self.ready.set()

    async def main_loop(self) -> None:
        for tick in itertools.count():
            if await self.on_tick(tick):
                return
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), _TICK_SECONDS)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for listening in (*self.servers, *(sockets or ())):
            listening.close()
        state = self.server_state
        for connection in list(state.connections):
            connection.shutdown()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_GRACE_SECONDS):
                while state.connections or state.tasks:
                    await asyncio.sleep(_LOOK_SECONDS)
        for task in list(state.tasks):
            task.cancel()

    def stop(self) -> None:
        """Begin to stop; may be called from any thread."""
        self.should_exit = True
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended by itself
                self._loop.call_soon_threadsafe(self._stopping.set)


class LoopbackServer:
    """One application on `127.0.0.1`, from `start` to `stop`."""

    def __init__(self, app: AsgiApp, *, port: int = 0) -> None:
        self._app = app
        self._port = port
        self._server: _ReadyServer | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """Where it listens, without a slash at the end."""
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Listen, and return once connections are served.

        Raises:
            RuntimeError: it did not come up; the port is most likely taken.
        """
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self._port))
        self._port = listener.getsockname()[1]
        config = uvicorn.Config(
            self._app,
            http=_CuttableProtocol,
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            access_log=False,
            server_header=False,
        )
        self._server = _ReadyServer(config)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [listener]}, name="strict-upstream", daemon=True
        )
        self._thread.start()
        if not self._server.ready.wait(_START_SECONDS):
            raise RuntimeError(f"the upstream did not start on {self.url} within {_START_SECONDS} seconds")

    def stop(self) -> None:
        """Stop listening and wait for the thread to end."""
        if self._server is not None and self._thread is not None:
            self._server.stop()
            self._thread.join(_STOP_SECONDS)
        self._server = self._thread = None


def cut_connection(scope: Scope) -> None:
    """Close the connection of a request at once; what was already sent still arrives."""
    scope["state"]["transport"].close()


def closed_port_url() -> str:
    """Give the address of a loopback port that nobody listens on: connecting to it is refused."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"
