"""The gateway as an ASGI application: the steps every request goes through."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping

from coldpress.gateway.asgi import RawHeaders, Receive, Scope, Send
from coldpress.gateway.client import Client
from coldpress.gateway.errors import ClientGone, Refused, UpstreamFailed, error_body
from coldpress.gateway.headers import RequestHeaders, sort_request_headers
from coldpress.gateway.limits import InFlight
from coldpress.gateway.passthrough import Passthrough
from coldpress.gateway.relay import Driver, InferenceRelay
from coldpress.gateway.routes import Route, Routes, dialect_of
from coldpress.gateway.settings import GatewaySettings
from coldpress.gateway.stats import Counters, Pages
from coldpress.gateway.upstream import Upstream, proxies_for
from coldpress.gateway.web_pages import refuse_web_page
from coldpress.wire.registry import FormatName

log = logging.getLogger(__name__)

_JSON = (b"content-type", b"application/json")


class Gateway:
    """One gateway: an application for the data port, and one for the control port.

    Args:
        settings: where things go, and the bounds.
        driver: who decides.
        environ: the process's environment, for the HTTP proxy of each provider.
        own_pages: whether the data port answers `/health` and `/stats` too; only where nobody else can reach it.
        clock: when requests come, in seconds since 1970.
    """

    def __init__(
        self,
        settings: GatewaySettings,
        driver: Driver,
        *,
        environ: Mapping[str, str],
        own_pages: bool,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.counters = Counters()
        self._driver = driver
        in_flight = InFlight(settings.limits.in_flight_bytes)
        self._pages = Pages(self.counters, in_flight, driver.stats)
        self._own_pages = own_pages
        self._routes = Routes(settings)
        self._upstream = Upstream(settings.limits, proxies_for(settings.providers, environ))
        self._passthrough = Passthrough(self._upstream, counters=self.counters)
        self._inference = InferenceRelay(
            driver, self._upstream, limits=settings.limits, in_flight=in_flight, counters=self.counters, clock=clock
        )

    async def open(self) -> None:
        """Make ready to send. Call it inside the event loop that will serve."""
        await self._upstream.open()

    async def close(self) -> None:
        """Stop what goes on in the background, and close every connection to a provider."""
        await self._driver.give_up()
        await self._upstream.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request of the data port."""
        headers = sort_request_headers(scope["headers"])
        # A client that offered an upgrade may send what our HTTP parser will no longer read as requests.
        client = Client(receive, send, asked=b"expect" in headers.noted, last=b"upgrade" in headers.noted)
        page = await self._pages.find(scope["method"], scope["raw_path"]) if self._own_pages else None
        if page is not None:
            await _answer(client, 200, page)
            return
        self.counters.requests += 1
        self.counters.active += 1
        try:
            await self._serve(client, scope, headers)
        finally:
            self.counters.active -= 1

    async def control(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request of the control port."""
        client = Client(receive, send, asked=False, last=False)
        page = await self._pages.find(scope["method"], scope["raw_path"])
        if page is None:
            await _answer(client, 404, b'{"error":"coldpress: this port answers GET /health and GET /stats"}')
        else:
            await _answer(client, 200, page)

    async def _serve(self, client: Client, scope: Scope, headers: RequestHeaders) -> None:
        route: Route | None = None
        try:
            _refuse_websocket(headers)
            route = self._routes.find(scope, headers)
            refuse_web_page(headers, route.provider, only_this_machine=self._own_pages)
            await self._carry(client, scope, headers, route)
        except ClientGone:
            self.counters.client_gone += 1
        except Refused as refused:
            self._count(refused, route)
            await _refuse(client, refused, route.dialect if route is not None else dialect_of(scope, headers))
        except asyncio.CancelledError:
            # The server stops and has waited long enough. This is the top of the task, so nobody waits for the news.
            log.info("exchange cut short by a stop")
            if not client.started:
                stopping = Refused(503, "shutting_down", "coldpress: the gateway is stopping")
                await _refuse(client, stopping, dialect_of(scope, headers))

    async def _carry(self, client: Client, scope: Scope, headers: RequestHeaders, route: Route) -> None:
        operation = route.asked or route.provider.operation
        if route.format is None or operation == "off":
            self.counters.relayed += 1
            await self._passthrough.carry(client, scope["method"], headers, route)
        else:
            self.counters.inference += 1
            await self._inference.carry(client, headers, route, route.format)

    def _count(self, refused: Refused, route: Route | None) -> None:
        provider = route.provider.name if route is not None else ""
        if isinstance(refused, UpstreamFailed):
            self.counters.upstream_failed += 1
        else:
            self.counters.refused += 1
        log.info("request refused", extra={"status": refused.status, "code": refused.code, "provider": provider})


def _refuse_websocket(headers: RequestHeaders) -> None:
    if headers.noted.get(b"upgrade", b"").lower() == b"websocket":
        raise Refused(
            426,
            "websocket_unsupported",
            "coldpress: WebSockets are not relayed; use the HTTP form of this API (streaming works)",
        )


async def _refuse(client: Client, refused: Refused, dialect: FormatName) -> None:
    body = error_body(dialect, refused.status, refused.code, refused.message)
    headers: RawHeaders = [_JSON, (b"x-should-retry", b"true" if refused.status in (502, 503, 504) else b"false")]
    if refused.status == 503:
        headers.append((b"retry-after", b"1"))
    if refused.status == 426:
        headers += [(b"upgrade", b"HTTP/1.1"), (b"connection", b"upgrade")]
    await client.answer(refused.status, headers, body)


async def _answer(client: Client, status: int, body: bytes) -> None:
    while client.more:
        await client.next_part()
    await client.answer(status, [_JSON], body)
