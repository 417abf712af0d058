"""Keep small texts in memory by name, the first of each name for good."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from coldpress.model.kept import Kept, KeptKind
from coldpress.stores.amounts import Held
from coldpress.stores.base import DAY_SECONDS, Bounds
from coldpress.stores.memory_ledger import ROW_BYTES
from coldpress.stores.packing import pack, unpack_text


@dataclass(slots=True)
class _Text:
    kind: KeptKind
    packed: bytes
    used_at: float

    @property
    def size(self) -> int:
        return ROW_BYTES + len(self.packed)


class MemoryKept:
    """Not safe to share between threads: its owner holds a lock."""

    def __init__(self) -> None:
        self._texts: dict[bytes, _Text] = {}
        self._bytes = 0

    @property
    def held(self) -> Held:
        """What is held."""
        return Held(len(self._texts), self._bytes)

    def keep(self, kept: Kept, now: float) -> int:
        """Keep a text that `text_bytes` takes, or note the use of the one that was first; return the bytes added."""
        known = self._texts.get(kept.key)
        if known is not None:
            known.used_at = max(known.used_at, now)
            return 0
        text = self._texts[kept.key] = _Text(kept.kind, pack(kept.text.encode()), now)
        self._bytes += text.size
        return text.size

    def find(self, keys: Iterable[bytes], now: float) -> dict[bytes, Kept]:
        """Texts of these names; counts as their use."""
        found: dict[bytes, Kept] = {}
        for key in keys:
            text = self._texts.get(key)
            if text is not None:
                text.used_at = max(text.used_at, now)
                found[key] = Kept(key, text.kind, unpack_text(text.packed, what="a kept text"))
        return found

    def sweep(self, now: float, bounds: Bounds) -> None:
        """Remove the least recently used texts."""
        cutoff = now - bounds.kept_days * DAY_SECONDS
        for key, text in sorted(self._texts.items(), key=lambda item: (item[1].used_at, item[0])):
            if text.used_at >= cutoff and self._bytes <= bounds.kept_bytes:
                break
            del self._texts[key]
            self._bytes -= text.size
