"""Find the tools that agents have called lately, by the ledger."""

from __future__ import annotations

from collections import Counter

from coldpress.cli.open_store import opened
from coldpress.config.settings import Settings

_REQUESTS = 1000


def tools_in_ledger(settings: Settings) -> tuple[str, ...]:
    """Name the tools of the latest requests, the most frequent first; nothing where there is no store yet."""
    if not settings.store.path.exists():
        return ()
    with opened(settings) as store:
        entries = store.receipts(limit=_REQUESTS, lineage=None, before=None)
    counted = Counter(line.tool for entry in entries for line in entry.receipt.lines)
    return tuple(sorted(counted, key=lambda tool: (-counted[tool], tool)))
