"""Promise: a request that nobody can decide on keeps what it cannot do without of what the provider does by itself."""

from __future__ import annotations

import json
from collections.abc import Sequence

from promises.test_native import STREAMS, THRESHOLD, Client, talk

from coldpress.model.errors import StoreError
from coldpress.model.identity import EditKey
from coldpress.stores.base import Decisions
from coldpress.stores.memory import MemoryStore


class LosingStore(MemoryStore):
    """Once told so, it cannot say any more what was decided."""

    lost = False

    def decided(self, keys: Sequence[EditKey], chains: Sequence[bytes]) -> Decisions:
        if self.lost:
            raise StoreError("the disk is gone")
        return super().decided(keys, chains)


class LosingClient(Client):
    """Once a summary has come back, the gateway loses its store."""

    def __init__(self, store: LosingStore, *, stream: bool) -> None:
        super().__init__(stream=stream)
        self.store = store

    def raw(self) -> bytes:
        self.store.lost = "compaction" in json.dumps(self.history)
        return super().raw()


@STREAMS
def test_what_nobody_can_decide_on_keeps_the_edit_that_its_summary_needs(stream: bool) -> None:
    store = LosingStore()
    told = talk(THRESHOLD, LosingClient(store, stream=stream), 10, store)
    assert [one.exchange.refusal for one in told] == [None] * 10
    undecided = [one for one in told if "pass_through:store_failed" in one.receipt.notes]
    assert len(undecided) > 2
    assert all(one.betas == "compact-2026-01-12" for one in undecided)
    assert all(one.asked == ("compact_threshold",) and "context_management" in one.body for one in undecided)
