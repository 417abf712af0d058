"""Send a provider's answer on with its tool calls turned into what the client expects."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from coldpress.drive.exchange import CallsOnTheWay
from coldpress.gateway.client import Client
from coldpress.gateway.errors import UpstreamBroken
from coldpress.gateway.headers import header
from coldpress.gateway.stats import Counters
from coldpress.gateway.upstream import Reply
from coldpress.wire.encoding import UnknownEncoding
from coldpress.wire.registry import CALL_FORMATS, FormatName
from coldpress.wire.reply_calls import ReplyFilter
from coldpress.wire.unpacking import Unpacker

log = logging.getLogger(__name__)

MOST_BYTES_AT_ONCE: Final = 256 << 10
"""A whole JSON reply that is longer is filtered in a thread: other replies must not wait for it."""


class FilteredBody:
    """The body of one reply on its way through the filters of its calls.

    Args:
        calls: the filters.
        unpacker: undoes its encoding; `None` where it came plain, as it was asked for.
        way: where the filters come from.
    """

    __slots__ = ("_calls", "_unpacker", "_way")

    def __init__(self, calls: ReplyFilter, unpacker: Unpacker | None, way: CallsOnTheWay) -> None:
        self._calls = calls
        self._unpacker = unpacker
        self._way = way

    @property
    def blocks(self) -> bool:
        """Whether a filter may take long, and belongs into a thread."""
        return self._way.blocks

    @property
    def ends_slowly(self) -> bool:
        """Whether `end` may take long, since much was collected for it, and belongs into a thread."""
        return self.blocks or self._calls.held_bytes > MOST_BYTES_AT_ONCE

    async def settled(self) -> None:
        """Wait until what came so far may go to the client: its next request must find the calls in it."""
        if self._way.is_pending:
            await self._way.settled()

    @property
    def faults(self) -> int:
        """How often something could not be filtered and went on as it was."""
        return self._calls.faults

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Give what may go out now, in pieces that are not empty.

        Raises:
            UpstreamBroken: the bytes are not in the encoding that the provider named.
        """
        if self._unpacker is None:
            if out := self._calls.feed(chunk):
                yield out
            return
        try:
            for piece in self._unpacker.feed(chunk):
                if out := self._calls.feed(piece):
                    yield out
        except UnknownEncoding as error:
            raise UpstreamBroken(str(error)) from error

    def end(self) -> bytes:
        """Give the rest: the reply is complete.

        Raises:
            UpstreamBroken: it is not, by the encoding that the provider named.
        """
        if self._unpacker is not None:
            try:
                self._unpacker.end()
            except UnknownEncoding as error:
                raise UpstreamBroken(str(error)) from error
        return self._calls.end()


def filtered_body(
    reply: Reply, format_name: FormatName, calls: CallsOnTheWay, counters: Counters
) -> FilteredBody | None:
    """Prepare to filter a reply; `None` where it goes on as it comes: an error, or an encoding we cannot undo.

    So does every reply of a wire whose calls nobody filters.
    """
    if format_name not in CALL_FORMATS or not 200 <= reply.status < 300 or reply.status == 204:
        return None
    encoding = header(reply.headers, b"content-encoding").lower()
    unpacker = None
    if encoding not in ("", "identity"):
        try:
            unpacker = Unpacker(encoding)
        except UnknownEncoding:
            counters.filter_faults += 1
            log.warning("reply went on unfiltered", extra={"reason": "encoding"})
            return None
    counters.filtered_replies += 1
    content_type = header(reply.headers, b"content-type")
    return FilteredBody(ReplyFilter(format_name, content_type, calls.filter_of), unpacker, calls)


async def pass_filtered(
    client: Client, reply: Reply, body: FilteredBody, counters: Counters, look: Callable[[bytes], None]
) -> None:
    """Send a filtered body on: what a piece gives goes out before the next is waited for.

    Args:
        client: who gets it.
        reply: whose it is.
        body: what it passes through.
        counters: of bytes as the provider sent them.
        look: is shown every piece as the provider sent it.

    Raises:
        UpstreamBroken: it ended before its end. What was held back is dropped: half of it would not be JSON.
    """
    at_end = False
    while not at_end:
        chunk = await reply.next_chunk()
        at_end = not chunk or reply.at_end
        counters.reply_bytes += len(chunk)
        if chunk:
            look(chunk)
        pieces = body.feed(chunk)
        while out := await _in_thread(partial(next, pieces, b"")) if body.blocks else next(pieces, b""):
            await body.settled()
            await client.send(out)
    rest = await _in_thread(body.end) if body.ends_slowly else body.end()
    await body.settled()
    await client.finish(rest)


async def _in_thread(work: Callable[[], bytes]) -> bytes:
    """Do what may take long in a thread; a client that leaves is let go once it is done, for a filter has one user."""
    running = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        raise
