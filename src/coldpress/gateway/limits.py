"""Bound what is held in memory: one body, all bodies at one time, and how long a client may take to send one."""

from __future__ import annotations

import asyncio

from coldpress.gateway.client import Client
from coldpress.gateway.errors import Refused
from coldpress.gateway.settings import Limits


class InFlight:
    """Count the bytes of all request bodies held at one time.

    Attributes:
        held_bytes: now.
        peak_bytes: the most since start.
    """

    __slots__ = ("_limit_bytes", "held_bytes", "peak_bytes")

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self.held_bytes = 0
        self.peak_bytes = 0

    def take(self, count: int) -> None:
        """Count `count` more bytes.

        Raises:
            Refused: they would go over the bound.
        """
        if self.held_bytes + count > self._limit_bytes:
            raise Refused(
                503,
                "overloaded",
                f"coldpress holds {self.held_bytes} bytes of request bodies and may hold {self._limit_bytes} "
                "(limits.in_flight_bytes); try again in a moment",
            )
        self.held_bytes += count
        self.peak_bytes = max(self.peak_bytes, self.held_bytes)

    def give_back(self, count: int) -> None:
        """Count `count` bytes less."""
        self.held_bytes -= count


class Lease:
    """What one exchange holds of the bytes in flight. Releasing twice is harmless."""

    __slots__ = ("_in_flight", "_size")

    def __init__(self, in_flight: InFlight) -> None:
        self._in_flight = in_flight
        self._size = 0

    def grow_to(self, size: int) -> None:
        """Hold `size` bytes in all; never shrinks.

        Raises:
            Refused: that would go over the bound of all exchanges.
        """
        if size > self._size:
            self._in_flight.take(size - self._size)
            self._size = size

    def release(self) -> None:
        """Hold nothing any more."""
        self._in_flight.give_back(self._size)
        self._size = 0


async def read_body(client: Client, declared_bytes: int | None, lease: Lease, limits: Limits) -> bytes:
    """Read a whole request body.

    Args:
        client: who sends it.
        declared_bytes: its `content-length`, `None` where it comes in chunks.
        lease: grows with what is held.
        limits: `body_bytes` and `client_seconds` hold here.

    Raises:
        Refused: it is larger than allowed, all bodies together are, or the client fell silent.
        ClientGone: the client left before its end.
    """
    if declared_bytes is not None:
        _check_size(declared_bytes, limits)
        lease.grow_to(declared_bytes)
    parts: list[bytes] = []
    size = 0
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(limits.client_seconds) as silence:
            while client.more:
                part = await client.next_part()
                size += len(part)
                _check_size(size, limits)
                lease.grow_to(size)
                parts.append(part)
                silence.reschedule(loop.time() + limits.client_seconds)
    except TimeoutError as error:
        raise Refused(
            408, "body_timeout", f"coldpress: no byte of the request body came for {limits.client_seconds:g} s"
        ) from error
    return parts[0] if len(parts) == 1 else b"".join(parts)


def too_large(what: str, limit_bytes: int, key: str) -> Refused:
    """The refusal of a body over its bound.

    Args:
        what: begins the sentence.
        limit_bytes: the bound.
        key: the settings key that moves it.
    """
    return Refused(413, "body_too_large", f"coldpress: {what} than {limit_bytes} bytes (limits.{key})")


def _check_size(size: int, limits: Limits) -> None:
    if size > limits.body_bytes:
        raise too_large("the request body is larger", limits.body_bytes, "body_bytes")
