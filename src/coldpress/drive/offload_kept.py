"""Keep the summaries of results, in memory and in the store, so that each is the same bytes for ever and paid once."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from typing import Final

import msgspec

from coldpress.drive.memory import Recent
from coldpress.drive.offload_types import Reason
from coldpress.model.errors import StoreError
from coldpress.model.kept import Kept
from coldpress.model.usage import Usage
from coldpress.stores.base import Store

log = logging.getLogger(__name__)

MOST_IN_MEMORY: Final = 2_000
MOST_REFUSED: Final = 10_000


class Summary(msgspec.Struct, frozen=True):
    """A summary as it is kept.

    Attributes:
        text: without its heading.
        dropped: statements that were taken out.
        model: that wrote it, in the provider's word.
        usd: what it cost once, `None` where that is not known.
        usage: of the reply.
    """

    text: str
    dropped: int
    model: str
    usd: float | None
    usage: Usage


class KeptSummaries:
    """Finds and keeps summaries by identity; safe to use from any thread.

    Args:
        store: that keeps them over a restart.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._recent: Recent[bytes, Summary] = Recent(MOST_IN_MEMORY)
        self._refused: Recent[bytes, Reason] = Recent(MOST_REFUSED)
        self._lock = threading.Lock()

    def find(self, identities: Sequence[bytes]) -> dict[bytes, Summary]:
        """Give those that are kept; may read the store, and goes on without it where it cannot be read."""
        with self._lock:
            found = {name: self._recent[name] for name in identities if name in self._recent}
        missing = [name for name in dict.fromkeys(identities) if name not in found]
        for name, summary in self._stored(missing).items():
            found[name] = summary
            with self._lock:
                self._recent.note(name, summary)
        return found

    def keep(self, identity: bytes, summary: Summary) -> Summary:
        """Keep a summary, unless one of this name is there already; give the one that stays."""
        # Another process may have been asked the same: its text stands, since it may have been sent.
        first = self.find([identity]).get(identity)
        if first is not None:
            return first
        self._store.keep([Kept(identity, "view", msgspec.json.encode(summary).decode())])
        with self._lock:
            self._recent.note(identity, summary)
        return summary

    def refuse(self, identity: bytes, reason: Reason) -> None:
        """Remember, as long as the process lives, that this question brings nothing."""
        with self._lock:
            self._refused.note(identity, reason)

    def refused(self, identity: bytes) -> Reason | None:
        """Say why the question brought nothing, `None` where nobody knows that."""
        with self._lock:
            return self._refused.get(identity)

    def _stored(self, identities: Sequence[bytes]) -> dict[bytes, Summary]:
        if not identities:
            return {}
        try:
            kept = self._store.kept(identities)
        except StoreError:
            log.warning("summaries that were kept cannot be read")
            return {}
        found: dict[bytes, Summary] = {}
        for name, one in kept.items():
            try:
                summary = msgspec.json.decode(one.text, type=Summary)
            except msgspec.MsgspecError:
                continue  # of a version that packs otherwise
            if one.kind == "view" and summary.text:
                found[name] = summary
        return found
