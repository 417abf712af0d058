"""Keep what was found lately in memory, bounded by bytes."""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass
from typing import Generic, TypeVar

from coldpress.model.edits import Batch, Standing
from coldpress.model.identity import EditKey
from coldpress.model.kept import Kept
from coldpress.stores.batches import rebuild_length

# Key, tuple, dataclass and dictionary slot, measured on CPython 3.11 (64 bit).
ENTRY_BYTES = 600
# A use is written down once in this time; finer would turn every request into hundreds of updates.
TOUCH_SECONDS = 600.0

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Hits(Generic[K, V]):
    """What a look-up found. `stale` are hits whose last use was noted too long ago."""

    found: dict[K, V]
    missing: tuple[K, ...]
    stale: tuple[V, ...]


class Recent(Generic[K, V]):
    """Least recently used out first. What is kept never changes, so an entry is right as long as it is here."""

    def __init__(self, limit_bytes: int, *, chain: Callable[[K], bytes], cost_bytes: Callable[[V], int]) -> None:
        """Begin empty.

        Args:
            limit_bytes: how much is kept.
            chain: the name under which a sweep tells that a key is gone: for a decision, its message's.
            cost_bytes: what a value takes in memory, the same each time it is asked.
        """
        self._limit_bytes = limit_bytes
        self._chain = chain
        self._cost_bytes = cost_bytes
        self._entries: OrderedDict[K, tuple[V, float]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    @property
    def size_bytes(self) -> int:
        """Estimated bytes held."""
        return self._bytes

    def look_up(self, keys: Sequence[K], *, now: float) -> Hits[K, V]:
        """Find what is here, and count it as used now."""
        found: dict[K, V] = {}
        missing: list[K] = []
        stale: list[V] = []
        with self._lock:
            for key in keys:
                entry = self._entries.get(key)
                if entry is None:
                    missing.append(key)
                    continue
                value, used = entry
                found[key] = value
                self._entries.move_to_end(key)
                if now - used > TOUCH_SECONDS:
                    stale.append(value)
                    self._entries[key] = (value, now)
        return Hits(found, tuple(missing), tuple(stale))

    def add(self, values: Iterable[tuple[K, V]], *, used: float) -> None:
        """Remember what is durable; one that is here already stays."""
        with self._lock:
            for key, value in values:
                if key in self._entries:
                    continue
                self._entries[key] = (value, used)
                self._bytes += self._cost_bytes(value)
            while self._bytes > self._limit_bytes:
                _, (oldest, _) = self._entries.popitem(last=False)
                self._bytes -= self._cost_bytes(oldest)

    def forget(self, chains: Set[bytes]) -> None:
        """Drop everything that these names stand for."""
        with self._lock:
            for key in [key for key in self._entries if self._chain(key) in chains]:
                value, _ = self._entries.pop(key)
                self._bytes -= self._cost_bytes(value)


def recent_standings(limit_bytes: int) -> Recent[EditKey, Standing]:
    """Make room for standing edits, by key."""
    return Recent(limit_bytes, chain=lambda key: key.chain, cost_bytes=cost_bytes)


def recent_batches(limit_bytes: int) -> Recent[bytes, Batch]:
    """Make room for batches, by the message they were decided at."""
    return Recent(
        limit_bytes,
        chain=lambda after: after,
        cost_bytes=batch_cost_bytes,
    )


def recent_kept(limit_bytes: int) -> Recent[bytes, Kept]:
    """Make room for kept texts, by their name."""
    return Recent(limit_bytes, chain=lambda key: key, cost_bytes=lambda kept: ENTRY_BYTES + sys.getsizeof(kept.text))


def batch_cost_bytes(batch: Batch) -> int:
    """Estimate what a batch takes in memory."""
    # A string takes up to four bytes a character.
    rebuilt = ENTRY_BYTES + 4 * rebuild_length(batch.rebuild) if batch.rebuild else 0
    return ENTRY_BYTES + sum(map(cost_bytes, batch.standings)) + rebuilt


def cost_bytes(standing: Standing) -> int:
    """Estimate what a decision takes in memory."""
    return ENTRY_BYTES + sys.getsizeof(standing.replacement) + sys.getsizeof(standing.recipe)
