"""The gateway as an ASGI application: the steps every request goes through."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping

from coldpress.gateway.asgi import RawHeaders, Receive, Scope, Send
from coldpress.gateway.client import Client
from coldpress.gateway.entrance import Entrance, admission_of
from coldpress.gateway.errors import ClientGone, Limited, Refused, UpstreamFailed, error_body
from coldpress.gateway.failover import Failovers
from coldpress.gateway.headers import RequestHeaders, sort_request_headers
from coldpress.gateway.limits import InFlight
from coldpress.gateway.passthrough import Passthrough
from coldpress.gateway.relay import Driver, InferenceRelay
from coldpress.gateway.routes import Route, Routes, counts_tokens, dialect_of
from coldpress.gateway.settings import GatewaySettings
from coldpress.gateway.spend_cap import Budget, SpendCap
from coldpress.gateway.stats import Counters, Page, Pages
from coldpress.gateway.upstream import Upstream, proxies_for
from coldpress.gateway.web_pages import refuse_web_page
from coldpress.wire.registry import FormatName

log = logging.getLogger(__name__)

_JSON = (b"content-type", b"application/json")
_NO_PAGE = Page("application/json", b'{"error":"coldpress: this port answers GET /health, /stats and /metrics"}')


class Gateway:
    """One gateway: an application for the data port, and one for the control port.

    Args:
        settings: where things go, and the bounds.
        driver: who decides.
        environ: the process's environment, for the HTTP proxy of each provider.
        own_pages: whether the data port answers our own pages too; only where nobody else can reach it.
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
        limits = settings.limits
        in_flight = InFlight(limits.in_flight_bytes)
        self._own_pages = own_pages
        self._routes = Routes(settings)
        self._upstream = Upstream(limits, proxies_for(settings.providers, environ))
        admission = admission_of(settings)
        budget = Budget(limits.daily_usd, limits.unpriced) if limits.daily_usd is not None else None
        self._entrance = Entrance(admission, SpendCap(budget, driver, clock=clock))
        self._failovers = Failovers(
            settings.providers,
            self._upstream,
            admission=admission,
            prices=driver,
            expanded_bytes=limits.expanded_bytes,
        )
        self._pages = Pages(self.counters, in_flight, driver.stats, self._limiting)
        self._passthrough = Passthrough(self._upstream, counters=self.counters)
        self._inference = InferenceRelay(
            driver,
            limits=limits,
            in_flight=in_flight,
            counters=self.counters,
            entrance=self._entrance,
            failovers=self._failovers,
            upstream=self._upstream,
            clock=clock,
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
            await _answer(client, 404, _NO_PAGE)
        else:
            await _answer(client, 200, page)

    async def _serve(self, client: Client, scope: Scope, headers: RequestHeaders) -> None:
        route: Route | None = None
        try:
            _refuse_websocket(headers)
            route = self._routes.find(scope, headers)
            for provider in self._routes.may_serve(route):
                refuse_web_page(headers, provider, only_this_machine=self._own_pages)
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
        if counts_tokens(route) and operation != "off" and self._driver.screens != "no":
            self.counters.inference += 1
            await self._inference.carry(client, headers, route, "anthropic", asks="count")
        elif route.format is None or operation == "off":
            self.counters.relayed += 1
            await self._relay(client, scope["method"], headers, route)
        else:
            self.counters.inference += 1
            await self._inference.carry(client, headers, route, route.format)

    async def _relay(self, client: Client, method: str, headers: RequestHeaders, route: Route) -> None:
        """Relay a request unread; the limits hold for it where it asks a model."""
        if route.format is None:
            await self._passthrough.carry(client, method, headers, route)
            return
        place = await self._entrance.admit(client, route.provider.name, None, route.address)
        try:
            await self._passthrough.carry(client, method, headers, route)
        finally:
            place.release()

    def _limiting(self) -> dict[str, object]:
        """What `/stats` tells of limits and failover; blocking."""
        return {"limits": self._entrance.told(), "failover": dict(sorted(self._failovers.counts.items()))}

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
    again = refused.again if isinstance(refused, Limited) else refused.status in (502, 503, 504)
    headers: RawHeaders = [_JSON, (b"x-should-retry", b"true" if again else b"false")]
    if isinstance(refused, Limited) and refused.retry_after_seconds is not None:
        headers.append((b"retry-after", str(refused.retry_after_seconds).encode()))
    elif refused.status == 503:
        headers.append((b"retry-after", b"1"))
    if refused.status == 426:
        headers += [(b"upgrade", b"HTTP/1.1"), (b"connection", b"upgrade")]
    await client.answer(refused.status, headers, body)


async def _answer(client: Client, status: int, page: Page) -> None:
    while client.more:
        await client.next_part()
    await client.answer(status, [(b"content-type", page.content_type.encode())], page.body)
