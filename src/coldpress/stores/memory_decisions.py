"""Keep standing edits and batches in memory, by the message they were decided at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from coldpress.model.edits import Batch, Standing
from coldpress.model.identity import EditKey
from coldpress.stores.amounts import Held
from coldpress.stores.base import DAY_SECONDS, Bounds
from coldpress.stores.batches import decisions_of, packed_batch
from coldpress.stores.memory_ledger import ROW_BYTES


@dataclass(slots=True)
class _Message:
    """The decisions for the texts of one message, and those that were taken together when it was the newest."""

    last_used: float
    standings: dict[EditKey, Standing] = field(default_factory=dict)
    batch: Batch | None = None
    batch_bytes: int = 0

    @property
    def size(self) -> int:
        return self.batch_bytes + sum(
            ROW_BYTES + len((s.replacement or "").encode()) + len(s.recipe.encode()) for s in self.standings.values()
        )

    @property
    def decisions(self) -> int:
        return len(self.standings) + (decisions_of(self.batch) if self.batch else 0)


class MemoryDecisions:
    """Not safe to share between threads: its owner holds a lock."""

    def __init__(self) -> None:
        self._messages: dict[bytes, _Message] = {}
        self._bytes = 0

    @property
    def kept(self) -> Held:
        """What is held."""
        return Held(sum(message.decisions for message in self._messages.values()), self._bytes)

    def standing(self, keys: Iterable[EditKey], now: float) -> dict[EditKey, Standing]:
        """Decisions for these texts; counts as their use."""
        found: dict[EditKey, Standing] = {}
        for key in keys:
            message = self._messages.get(key.chain)
            standing = message.standings.get(key) if message else None
            if message is not None and standing is not None:
                found[key] = standing
                message.last_used = max(message.last_used, now)
        return found

    def batches(self, chains: Iterable[bytes], now: float) -> dict[bytes, Batch]:
        """Batches decided at these messages; counts as their use."""
        found: dict[bytes, Batch] = {}
        for chain in chains:
            message = self._messages.get(chain)
            if message is not None and message.batch is not None:
                found[chain] = message.batch
                message.last_used = max(message.last_used, now)
        return found

    def add(self, standings: Sequence[Standing], batch: Batch | None, now: float) -> int:
        """Keep the first decision for each text and the first batch of a message; return the bytes added."""
        before = self._bytes
        for standing in standings:
            message = self._used(standing.key.chain, now)
            size = message.size
            message.standings.setdefault(standing.key, standing)
            self._bytes += message.size - size
        if batch is not None:
            message = self._used(batch.after, now)
            if message.batch is None:
                message.batch, message.batch_bytes = batch, ROW_BYTES + len(packed_batch(batch))
                self._bytes += message.batch_bytes
        return self._bytes - before

    def _used(self, chain: bytes, now: float) -> _Message:
        message = self._messages.setdefault(chain, _Message(now))
        message.last_used = max(message.last_used, now)
        return message

    def sweep(self, now: float, bounds: Bounds) -> None:
        """Remove the decisions of the least recently used messages."""
        cutoff = now - bounds.standings_days * DAY_SECONDS
        for chain, message in sorted(self._messages.items(), key=lambda item: (item[1].last_used, item[0])):
            if message.last_used >= cutoff and self._bytes <= bounds.standings_bytes:
                break
            del self._messages[chain]
            self._bytes -= message.size
