"""Count what crosses the gateway, and answer `/health`, `/stats` and `/metrics` with it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field, fields

import msgspec

from coldpress import __version__
from coldpress.gateway.limits import InFlight

_JSON = "application/json"


@dataclass(slots=True)
class Counters:
    """Since start. One event loop writes them, so plain numbers do.

    Attributes:
        requests: all that reached the gateway, its own pages aside.
        inference: read, decided on and sent.
        relayed: sent on unread.
        refused: answered by us with an error, no provider asked.
        active: exchanges running now.
        request_bytes: bodies of inference requests as sent by clients.
        reply_bytes: bodies of all replies as sent by providers.
        client_gone: clients that left before their reply was complete.
        upstream_failed: no answer came.
        upstream_broken: an answer broke off.
        error_events: an error came inside a stream that began well.
        over_budget: preparing took too long, so the client's own bytes went on.
        unreadable_encoding: the body could not be decoded, so it went on unread.
        tap_faults: reading usage off a reply failed; the reply itself went on.
        filtered_replies: their tool calls were turned back into what the client expects.
        filter_faults: a tool call, or a whole reply, could not be turned back; it went on.
    """

    requests: int = 0
    inference: int = 0
    relayed: int = 0
    refused: int = 0
    active: int = 0
    request_bytes: int = 0
    reply_bytes: int = 0
    client_gone: int = 0
    upstream_failed: int = 0
    upstream_broken: int = 0
    error_events: int = 0
    over_budget: int = 0
    unreadable_encoding: int = 0
    tap_faults: int = 0
    filtered_replies: int = 0
    filter_faults: int = 0


@dataclass(frozen=True, slots=True)
class Page:
    """One of our pages, ready to send."""

    content_type: str
    body: bytes


@dataclass(slots=True)
class Pages:
    """The gateway's own pages.

    Attributes:
        counters: of the transport.
        in_flight: of request bodies.
        deciding: what the driver tells of its decisions.
        limiting: what is told of limits and failover, by name; may block.
        started_at: on the monotonic clock.
    """

    counters: Counters
    in_flight: InFlight
    deciding: Callable[[], dict[str, object]]
    limiting: Callable[[], dict[str, object]]
    started_at: float = field(default_factory=time.monotonic)

    async def find(self, method: str, path: bytes) -> Page | None:
        """One of our pages, `None` where this is not one of them."""
        if method not in ("GET", "HEAD"):
            return None
        if path == b"/health":
            return Page(_JSON, msgspec.json.encode(self._health()))
        if path == b"/stats":
            return await asyncio.to_thread(self._stats_page)  # sums up the ledger on disk
        if path == b"/metrics":
            return await asyncio.to_thread(self._metrics_page)
        return None

    def _stats_page(self) -> Page:
        return Page(_JSON, msgspec.json.encode(self._stats()))

    def _metrics_page(self) -> Page:
        from coldpress.gateway import metrics  # noqa: PLC0415  its library takes long to load, and few ask

        return Page(metrics.CONTENT_TYPE, metrics.Metrics(self._stats).text())

    def _health(self) -> dict[str, object]:
        uptime = round(time.monotonic() - self.started_at, 3)
        return {"ok": True, "version": __version__, "uptime_seconds": uptime}

    def _stats(self) -> dict[str, object]:
        transport = {row.name: getattr(self.counters, row.name) for row in fields(self.counters)}
        transport["in_flight_bytes"] = self.in_flight.held_bytes
        transport["in_flight_peak_bytes"] = self.in_flight.peak_bytes
        return {**self._health(), "transport": transport, **self.limiting(), "decisions": self.deciding()}
