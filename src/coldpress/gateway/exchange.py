"""Hold what is known of one inference exchange while it runs, and say how it ended."""

from __future__ import annotations

import os
import time
from typing import Literal

from coldpress.drive.exchange import CallsOnTheWay
from coldpress.gateway.admission import Place
from coldpress.gateway.asgi import RawHeaders
from coldpress.gateway.client import Client
from coldpress.gateway.filtering import FilteredBody
from coldpress.gateway.headers import RequestHeaders
from coldpress.gateway.limits import Lease
from coldpress.gateway.reply import SideReader
from coldpress.gateway.routes import Route
from coldpress.model.conversation import Span
from coldpress.model.records import Failover, Outcome, Receipt
from coldpress.wire.binding_refusal import REFUSED
from coldpress.wire.overflow import failed_overflow
from coldpress.wire.registry import FormatName
from coldpress.wire.sse import TapResult

Ended = Literal["complete", "client_gone", "upstream_failed", "upstream_broken", "error_event"]


class Exchange:
    """One exchange: what it is given, and what is known of it so far; becomes its `Outcome`.

    Attributes:
        calls: what the calls of its reply pass through; `None` where the reply goes on as it comes.
        filtered: the reply's body on its way through them, once it has begun.
        reply_headers: the provider's.
        sent_headers: what of them describes the body that the client gets.
        place: what it holds of the limits, until its reply has ended.
        failover: what came of asking a second provider; `None` where there was no reason to, or there is none.
        may_fail_over: whether it asks a model.
        called: tools that its reply calls, on a wire whose calls nobody filters; known once `outcome` was asked.
        added: where in the body that goes out stands what only the route's own provider may get.
        seen: the driver has seen the request and will want to know how it ended.
        received_at: in seconds since 1970.
    """

    __slots__ = (
        "added", "began_at", "called", "calls", "client", "ended", "failover", "filtered", "format", "headers", "lease",
        "may_fail_over", "place", "reader", "receipt", "received_at", "reply_headers", "request_id", "route", "seen",
        "sent_headers", "status",
    )  # fmt: skip

    def __init__(
        self,
        client: Client,
        headers: RequestHeaders,
        route: Route,
        *,
        format_name: FormatName,
        lease: Lease,
        received_at: float,
    ) -> None:
        self.client = client
        self.headers = headers
        self.route = route
        self.format: FormatName = format_name
        self.lease = lease
        # Ids sort by time; the random part keeps two gateways apart.
        self.request_id = f"{int(received_at * 1000):011x}{os.urandom(5).hex()}"
        self.received_at = received_at
        self.began_at = time.monotonic()
        self.seen = False
        self.receipt: Receipt | None = None
        self.status: int | None = None
        self.ended: Ended = "upstream_broken"
        self.reader: SideReader | None = None
        self.reply_headers: RawHeaders = []
        self.sent_headers: RawHeaders = []
        self.calls: CallsOnTheWay | None = None
        self.called: tuple[str, ...] = ()
        self.filtered: FilteredBody | None = None
        self.place = Place(None, ())
        self.failover: Failover | None = None
        self.may_fail_over = True
        self.added: tuple[Span, ...] = ()

    def restart(self, now: float) -> None:
        """Let it have come now, in seconds since 1970: what it waited for a place says nothing of any cache."""
        self.received_at, self.began_at = now, time.monotonic()

    @property
    def served_by(self) -> str:
        """Name of the provider whose reply the client gets."""
        return self.failover.to if self.failover is not None and self.failover.served else self.route.provider.name

    def outcome(self) -> Outcome:
        """Say how it ended, with what its reply told."""
        read = (self.reader.end() if self.reader is not None else None) or TapResult()
        self.called = read.calls
        overflow, unbound = self.reader.refusal() if self.reader is not None else (None, False)
        if overflow is None and read.failure:
            overflow = failed_overflow(read.failure)
        ended = self.ended
        # An error under an error status is a whole answer; only behind a good one is it an event of its own.
        if ended == "complete" and self.status == 200 and read.error_event:
            ended = "error_event"
        return Outcome(
            request_id=self.request_id,
            status=self.status,
            ended=ended,
            duration_seconds=time.monotonic() - self.began_at,
            usage=read.usage,
            others=read.others,
            context_tokens=read.context_tokens,
            miss=read.miss,
            transformations=(REFUSED,) if unbound else read.transformations,
            reported_usd=read.reported_usd,
            overflow=overflow,
            failover=self.failover,
            applied=read.applied,
            reply_id=read.message_id,
            stop=read.stop,
        )
