"""Keep the raw log in memory, each body once."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import replace

from coldpress.stores.amounts import Held
from coldpress.stores.base import DAY_SECONDS, Bounds, RawEvent
from coldpress.stores.memory_ledger import ROW_BYTES
from coldpress.stores.packing import pack, unpack


class MemoryRaw:
    """Not safe to share between threads: its owner holds a lock."""

    def __init__(self) -> None:
        self._events: list[tuple[RawEvent, bytes]] = []
        self._bodies: dict[bytes, bytes] = {}
        self._bytes = 0

    @property
    def kept(self) -> Held:
        """What is held."""
        return Held(len(self._events) + len(self._bodies), self._bytes)

    def add(self, event: RawEvent) -> int:
        """Keep an event, secrets already removed; return the bytes added."""
        sha, before = hashlib.sha256(event.body).digest(), self._bytes
        if sha not in self._bodies:
            self._bodies[sha] = pack(event.body)
            self._bytes += len(self._bodies[sha])
        self._events.append((replace(event, body=b""), sha))
        self._bytes += ROW_BYTES
        return self._bytes - before

    def holds(self, request_id: str) -> bool:
        """Whether the request itself is here, as it came."""
        # From the end: who asks has just logged it.
        logged = (event for event, _ in reversed(self._events) if event.request_id == request_id)
        return any(event.direction == "request" for event in logged)

    def events(self, request_id: str) -> list[RawEvent]:
        """Events of one request, oldest first."""
        found = [(event, self._bodies[sha]) for event, sha in self._events if event.request_id == request_id]
        found.sort(key=lambda pair: pair[0].at)
        return [replace(event, body=unpack(packed, what="a logged body")) for event, packed in found]

    def sweep(self, now: float, bounds: Bounds) -> None:
        """Remove the oldest events, and bodies that no event holds any more."""
        cutoff = now - bounds.raw_days * DAY_SECONDS
        self._events.sort(key=lambda pair: pair[0].at)
        held = Counter(sha for _, sha in self._events)
        removed = 0
        for event, sha in self._events:
            if event.at >= cutoff and self._bytes <= bounds.raw_bytes:
                break
            removed += 1
            held[sha] -= 1
            self._bytes -= ROW_BYTES + (0 if held[sha] else len(self._bodies.pop(sha)))
        del self._events[:removed]
