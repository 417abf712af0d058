"""Pass a provider's answer to the client as it comes, and end it honestly where it breaks."""

from __future__ import annotations

import logging
from collections.abc import Callable

import msgspec

from coldpress.gateway.asgi import RawHeaders
from coldpress.gateway.client import Client
from coldpress.gateway.errors import UpstreamBroken, UpstreamFailed, error_event
from coldpress.gateway.headers import header, reply_headers
from coldpress.gateway.stats import Counters
from coldpress.gateway.upstream import Reply
from coldpress.model.errors import ColdpressError
from coldpress.model.overflow import Overflow
from coldpress.wire.binding_refusal import refuses_binding
from coldpress.wire.encoding import decode_body
from coldpress.wire.overflow import MOST_BODY_BYTES, STATUSES, overflow_in
from coldpress.wire.registry import FormatName
from coldpress.wire.sse import TapResult, UsageTap

log = logging.getLogger(__name__)

# What reading a reply on the side could raise. Whatever it is, the reply itself must go on.
_TAP_FAULTS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    RuntimeError,
    TypeError,
    ValueError,
    msgspec.MsgspecError,
)


class SideReader:
    """Reads usage off a reply on the side. A fault of its own ends the reading, never the reply.

    Args:
        tap: what reads; `None` where the reply cannot be read along (it came compressed all the same).
        counters: of the transport.
        keep_bytes: how much of the reply to keep for the raw log, 0 where there is none.
        error_status: of a reply that may be the refusal of a prompt that is too long; `None` for every other.
        encoding: its `content-encoding`; a gateway in between may compress though nobody asked for it.
    """

    __slots__ = ("_counters", "_encoding", "_error", "_error_status", "_keep_bytes", "_tap", "kept")

    def __init__(
        self,
        tap: UsageTap | None,
        counters: Counters,
        *,
        keep_bytes: int,
        error_status: int | None = None,
        encoding: str = "",
    ) -> None:
        self._tap = tap
        self._counters = counters
        self._keep_bytes = keep_bytes
        self._error_status = error_status
        self._encoding = encoding
        self._error = bytearray()
        self.kept = bytearray()

    def feed(self, chunk: bytes) -> None:
        """Show it a piece of the reply."""
        if len(self.kept) < self._keep_bytes:
            self.kept += chunk[: self._keep_bytes - len(self.kept)]
        if self._error_status is not None and len(self._error) < MOST_BODY_BYTES:
            self._error += chunk[: MOST_BODY_BYTES - len(self._error)]
        if self._tap is not None:
            try:
                self._tap.feed(chunk)
            except _TAP_FAULTS as error:
                self._give_up(error)

    def end(self) -> TapResult | None:
        """What was read; `None` where nothing could be."""
        if self._tap is None:
            return None
        try:
            return self._tap.end()
        except _TAP_FAULTS as error:
            self._give_up(error)
            return None

    def refusal(self) -> tuple[Overflow | None, bool]:
        """What the provider told where it refused the prompt as too long, and whether it refused reasoning in it."""
        if self._error_status is None or not self._error:
            return None, False
        try:
            body = decode_body(bytes(self._error), self._encoding, limit_bytes=MOST_BODY_BYTES)
            return overflow_in(self._error_status, body), refuses_binding(self._error_status, body)
        except ColdpressError:
            return None, False  # compressed in a way that is not known, or cut short
        except _TAP_FAULTS as error:
            self._give_up(error)
            return None, False

    def _give_up(self, error: Exception) -> None:
        self._tap = None
        self._counters.tap_faults += 1
        log.warning("usage could not be read", extra={"fault": type(error).__name__})


def side_reader(
    reply: Reply, format_name: FormatName, counters: Counters, *, keep_bytes: int, names_calls: bool = False
) -> SideReader:
    """Choose how to read a reply along, and how much of it to keep.

    Args:
        reply: whose it is.
        format_name: of the exchange.
        counters: of the transport.
        keep_bytes: how much of it to keep for the raw log.
        names_calls: whether somebody wants to know which tools it calls.
    """
    headers = reply.headers
    encoding = header(headers, b"content-encoding").lower()
    compressed = encoding not in ("", "identity")
    tap = None if compressed else UsageTap(format_name, header(headers, b"content-type"), names_calls=names_calls)
    status = reply.status if reply.status in STATUSES else None
    return SideReader(tap, counters, keep_bytes=keep_bytes, error_status=status, encoding=encoding)


async def start_reply(client: Client, status: int, headers: RawHeaders, provider: str, *, extra: RawHeaders) -> None:
    """Send the provider's status and headers on.

    Args:
        client: who gets them.
        status: as the provider said it.
        headers: of the provider's reply.
        provider: its name, for messages.
        extra: headers of ours to add.

    Raises:
        UpstreamFailed: the status is none that HTTP defines.
    """
    if not 200 <= status <= 599:
        raise UpstreamFailed(
            502,
            "upstream_unreachable",
            f"coldpress: provider {provider!r} answered with status {status}, which ends no exchange",
        )
    await client.start(status, reply_headers(headers, status=status) + extra)


async def pass_body(client: Client, reply: Reply, counters: Counters, look: Callable[[bytes], None] | None) -> None:
    """Send the provider's body on: each piece goes out before the next is waited for.

    A client that reads slowly holds `send`, nothing is read from the provider meanwhile, and the provider is held
    back in turn.

    Args:
        client: who gets it.
        reply: whose it is.
        counters: of bytes.
        look: is shown every piece after it went out.

    Raises:
        UpstreamBroken: it ended before its end; what came has been sent.
    """
    while True:
        chunk = await reply.next_chunk()
        if not chunk:
            await client.finish()
            return
        counters.reply_bytes += len(chunk)
        if reply.at_end:
            await client.finish(chunk)
        else:
            await client.send(chunk)
        if look is not None:
            look(chunk)
        if reply.at_end:
            return


async def end_broken(client: Client, headers: RawHeaders, dialect: FormatName, error: UpstreamBroken) -> None:
    """End a reply that broke off so that the client cannot take it for a whole one.

    An event stream gets one error event in the client's format. Anything else is left without its end: the server
    then closes the connection, and the client sees a body cut short.

    Args:
        client: who got the beginning.
        headers: what of the provider's was sent.
        dialect: the client's format.
        error: what happened.
    """
    events = "text/event-stream" in header(headers, b"content-type").lower()
    plain = not header(headers, b"content-encoding") and not header(headers, b"content-length")
    if events and plain:
        await client.finish(
            error_event(dialect, "upstream_broken", f"coldpress: {error}", sent_before=client.tail),
        )
