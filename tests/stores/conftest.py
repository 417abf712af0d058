"""Open every kind of store, so that one suite holds for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest
from stores.samples import Clock

from coldpress.stores.base import Store
from coldpress.stores.memory import MemoryStore
from coldpress.stores.sqlite import SqliteStore


class Open(Protocol):
    def __call__(self, **options: Any) -> Store: ...


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["sqlite", "memory"])
def open_store(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[Open]:
    """A function that opens an empty store of each kind and closes it after the test."""
    opened: list[Store] = []
    make: dict[str, Callable[..., Store]] = {
        "sqlite": lambda **options: SqliteStore(tmp_path / "store.db", clock=clock, **options),
        "memory": lambda **options: MemoryStore(clock=clock, **options),
    }

    def open_one(**options: Any) -> Store:
        store = make[request.param](**options)
        opened.append(store)
        return store

    yield open_one
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: Open) -> Store:
    return open_store()
