"""The books have a bound, whatever clients call themselves, and a forecast is there when it is asked for."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from support import settings

from coldpress.drive.accounts import MOST_HARNESSES, Accounts
from coldpress.model.records import Receipt
from coldpress.stores.memory import MemoryStore

DAY = 86_400.0


def store_of(harness: str, lengths: list[int]) -> MemoryStore:
    """A ledger with conversations that ended so long ago that no more is to come."""
    store = MemoryStore()
    for number, length in enumerate(lengths):
        for request in range(length):
            receipt = Receipt(f"{number}-{request}", 1.0, "p", "anthropic", "m", f"l{number}", None, "press", 1, 1, 1)
            store.put((), (), replace(receipt, harness=harness))
    return store


def test_clients_with_ever_new_names_do_not_fill_the_memory() -> None:
    accounts = Accounts(settings(), store_of("agent", [12] * 30), clock=lambda: DAY)
    with ThreadPoolExecutor(2) as workers:
        for number in range(5 * MOST_HARNESSES):
            accounts.refresh_forecast(f"agent{number}", workers)
        accounts.refresh_forecast("agent", workers)
    assert len(accounts._curves) <= MOST_HARNESSES
    assert accounts.requests_to_come("agent", 2) == pytest.approx(10)
