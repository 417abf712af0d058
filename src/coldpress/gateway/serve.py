"""Listen, serve, and stop gracefully: one process, one event loop, two ports."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from dataclasses import dataclass

import uvicorn

from coldpress.gateway.app import Gateway
from coldpress.gateway.asgi import Receive, Scope, Send
from coldpress.gateway.memory import collect_when_idle, keep_freed_memory, spare_old_objects
from coldpress.gateway.relay import Driver
from coldpress.gateway.settings import GatewaySettings, Limits
from coldpress.model.errors import ConfigError

log = logging.getLogger(__name__)

# Longer than clients keep theirs, so that a client never finds a connection closed under it.
_KEEP_ALIVE_SECONDS = 75
_BACKLOG = 2048
_SWITCH_SECONDS = 0.0005

App = Callable[[Scope, Receive, Send], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Serving:
    """A gateway that serves.

    Attributes:
        host: address of the data port.
        port: the data port.
        control_host: address of the control port, always loopback.
        control_port: port of `/health`, `/stats` and `/metrics`.
        gateway: the application, for its counters.
    """

    host: str
    port: int
    control_host: str
    control_port: int
    gateway: Gateway

    @property
    def url(self) -> str:
        """Where clients point, without a trailing slash."""
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


@contextlib.asynccontextmanager
async def serving(
    settings: GatewaySettings, driver: Driver, *, clock: Callable[[], float] = time.time
) -> AsyncIterator[Serving]:
    """Serve inside a `async with` block, on the running event loop, and stop gracefully at its end.

    Args:
        settings: where to listen and send.
        driver: who decides.
        clock: when requests come, in seconds since 1970.

    Raises:
        ConfigError: a port cannot be listened on.
    """
    with contextlib.ExitStack() as open_sockets:
        data = open_sockets.enter_context(_listen(settings.host, settings.port, "port"))
        host, port = data.getsockname()[:2]
        control_host = host if ipaddress.ip_address(host).is_loopback else "127.0.0.1"
        control = open_sockets.enter_context(_listen(control_host, _control_port(settings, port), "control_port"))
        gateway = Gateway(settings, driver, environ=os.environ, own_pages=host == control_host, clock=clock)
        await gateway.open()
        servers = (_server(gateway, settings.limits), _server(gateway.control, settings.limits))
        tasks = [
            asyncio.ensure_future(server.serve([sock])) for server, sock in zip(servers, (data, control), strict=True)
        ]
        try:
            await asyncio.gather(*(server.ready.wait() for server in servers))
            yield Serving(host, port, control_host, control.getsockname()[1], gateway)
        finally:
            for server in servers:
                server.stop()
            await driver.give_up()  # an exchange that waits for a summary goes on without
            await asyncio.gather(*tasks)
            await gateway.close()


def run(settings: GatewaySettings, driver: Driver, *, told: Callable[[Serving], None]) -> None:
    """Serve until the process is asked to stop (SIGINT or SIGTERM); blocks.

    Args:
        settings: where to listen and send.
        driver: who decides.
        told: called once the ports are open, to tell people.

    Raises:
        ConfigError: a port cannot be listened on.
    """
    keep_freed_memory()
    # Large bodies are read in a thread; the event loop must not wait the usual 5 ms for its turn beside it.
    sys.setswitchinterval(_SWITCH_SECONDS)
    if sys.platform == "win32":
        asyncio.run(_until_signalled(settings, driver, told))
    else:
        import uvloop  # noqa: PLC0415  not there on Windows

        uvloop.run(_until_signalled(settings, driver, told))


async def _until_signalled(settings: GatewaySettings, driver: Driver, told: Callable[[Serving], None]) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for signum in (signal.SIGINT, signal.SIGTERM):
        if sys.platform == "win32":
            signal.signal(signum, lambda *_: loop.call_soon_threadsafe(stopped.set))
        else:
            loop.add_signal_handler(signum, stopped.set)
    async with serving(settings, driver) as ready:
        spare_old_objects()
        tidying = asyncio.create_task(collect_when_idle(lambda: ready.gateway.counters.active))
        told(ready)
        await stopped.wait()
        tidying.cancel()
        log.info("stopping", extra={"active": ready.gateway.counters.active})


class _Server(uvicorn.Server):
    """uvicorn's server without its polling and its signal handlers: we tell it when to stop.

    Attributes:
        ready: the port is open.
    """

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()
        self._stopped = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    async def main_loop(self) -> None:
        await self.on_tick(0)
        await self._stopped.wait()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield

    def stop(self) -> None:
        self.should_exit = True
        self._stopped.set()


class _Told(logging.Filter):
    """Drops what uvicorn says of things that we have dealt with and told of ourselves."""

    _OURS = (
        "ASGI callable returned without completing response.",  # how a reply that broke off is left without its end
        "Unsupported upgrade request.",  # answered with 426, or served without the upgrade
        "No supported WebSocket library detected.",
    )

    def filter(self, record: logging.LogRecord) -> bool:
        return not str(record.msg).startswith(self._OURS)


_TOLD = _Told()


def _server(app: App, limits: Limits) -> _Server:
    logging.getLogger("uvicorn.error").addFilter(_TOLD)
    return _Server(
        uvicorn.Config(
            app,
            http="httptools",
            ws="none",
            lifespan="off",
            interface="asgi3",
            access_log=False,
            log_config=None,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            backlog=_BACKLOG,
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=max(1, round(limits.shutdown_seconds)),
        )
    )


def _control_port(settings: GatewaySettings, port: int) -> int:
    if settings.control_port is not None:
        return settings.control_port
    return 0 if settings.port == 0 else port + 1


def _listen(host: str, port: int, key: str) -> socket.socket:
    try:
        return socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=_BACKLOG
        )
    except OSError as error:
        raise ConfigError(
            f"{key}: cannot listen on {host} port {port}: {os.strerror(error.errno) if error.errno else error}; "
            "stop what listens there, or choose another port"
        ) from error
