"""Open the store of a running or stopped gateway for a command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from coldpress.config.settings import Settings
from coldpress.stores.base import Store
from coldpress.stores.sqlite import SqliteStore


def check_store(settings: Settings) -> None:
    """Open the store and close it again; there need not be one yet.

    Raises:
        StoreError: it cannot be used.
    """
    if settings.store.path.exists():
        with opened(settings):
            pass


@contextmanager
def opened(settings: Settings) -> Iterator[Store]:
    """Open the store of the settings and close it again.

    Raises:
        StoreError: there is none yet, or it cannot be used.
    """
    # Only `serve` makes a store: a command that looks would find nothing in a new one.
    store = SqliteStore(settings.store.path, bounds=settings.store.bounds, must_exist=True)
    try:
        yield store
    finally:
        store.close()


@contextmanager
def opened_or_made(settings: Settings) -> Iterator[Store]:
    """Open the store of the settings, make it where there is none, and close it again: for a command that writes.

    Raises:
        StoreError: it cannot be used.
    """
    store = SqliteStore(settings.store.path, bounds=settings.store.bounds)
    try:
        yield store
    finally:
        store.close()
