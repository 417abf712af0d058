"""Keep recently used standing edits in memory, bounded by bytes."""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

from coldpress.model.edits import Standing
from coldpress.model.identity import EditKey

# Key, tuple, dataclass and dictionary slot, measured on CPython 3.11 (64 bit).
ENTRY_BYTES = 600
# A use is written down once in this time; finer would turn every request into hundreds of updates.
TOUCH_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Hits:
    """What a look-up found. `stale` are hits whose last use was noted too long ago."""

    found: dict[EditKey, Standing]
    missing: tuple[EditKey, ...]
    stale: tuple[Standing, ...]


class RecentStandings:
    """Least recently used out first. Decisions never change, so an entry is right as long as it is here."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._entries: OrderedDict[EditKey, tuple[Standing, float]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    @property
    def size_bytes(self) -> int:
        """Estimated bytes held."""
        return self._bytes

    def look_up(self, keys: Sequence[EditKey], *, now: float) -> Hits:
        """Find what is here, and count it as used now."""
        found: dict[EditKey, Standing] = {}
        missing: list[EditKey] = []
        stale: list[Standing] = []
        with self._lock:
            for key in keys:
                entry = self._entries.get(key)
                if entry is None:
                    missing.append(key)
                    continue
                standing, used = entry
                found[key] = standing
                self._entries.move_to_end(key)
                if now - used > TOUCH_SECONDS:
                    stale.append(standing)
                    self._entries[key] = (standing, now)
        return Hits(found, tuple(missing), tuple(stale))

    def add(self, standings: Iterable[Standing], *, used: float) -> None:
        """Remember decisions that are durable; one that is here already stays."""
        with self._lock:
            for standing in standings:
                if standing.key in self._entries:
                    continue
                self._entries[standing.key] = (standing, used)
                self._bytes += cost_bytes(standing)
            while self._bytes > self._limit_bytes:
                _, (oldest, _) = self._entries.popitem(last=False)
                self._bytes -= cost_bytes(oldest)

    def forget(self, chains: Set[bytes]) -> None:
        """Drop every decision of these messages."""
        with self._lock:
            for key in [key for key in self._entries if key.chain in chains]:
                standing, _ = self._entries.pop(key)
                self._bytes -= cost_bytes(standing)


def cost_bytes(standing: Standing) -> int:
    """Estimate what a decision takes in memory."""
    return ENTRY_BYTES + sys.getsizeof(standing.replacement) + sys.getsizeof(standing.recipe)
