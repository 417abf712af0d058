"""Drive requests through the real driver, as the gateway would, without a network between."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from coldpress.config import Settings, load
from coldpress.drive import Driver, Inbound, Prepared
from coldpress.engine.policy import DEFAULT_POLICY, Policy
from coldpress.model.records import Operation
from coldpress.stores.base import Store
from coldpress.stores.memory import MemoryStore
from coldpress.wire.registry import FormatName


def settings(operation: Operation = "press", policy: Policy = DEFAULT_POLICY, **changes: object) -> Settings:
    """The built-in settings with a policy and a mode of operation, and with time enough on a busy machine."""
    found = load(None, environ={"HOME": "/nonexistent"}, secrets="optional")
    patient = replace(found.limits, prepare_seconds=30.0)
    providers = tuple(replace(p, operation=operation) for p in found.providers)
    made = replace(found, operation=operation, policy=policy, providers=providers, limits=patient)
    return replace(made, **changes)  # type: ignore[arg-type]


@dataclass
class Press:
    """One gateway's worth of driver: give it bodies, get what would be sent."""

    driver: Driver
    store: Store
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def __call__(self, body: bytes, name: FormatName = "anthropic", operation: Operation | None = None) -> Prepared:
        return self.all([body], name, operation)[0]

    def all(
        self, bodies: Iterable[bytes], name: FormatName = "anthropic", operation: Operation | None = None
    ) -> list[Prepared]:
        """Prepare one request after the other."""

        async def run() -> list[Prepared]:
            found = []
            for body in bodies:
                number = next(self.numbers)
                inbound = Inbound(f"r{number}", float(number), name, name, body, operation, {})
                found.append(await self.driver.prepare(replace(inbound, provider="anthropic")))
            return found

        return asyncio.run(run())


@contextmanager
def pressing(found: Settings | None = None, store: Store | None = None) -> Iterator[Press]:
    """A driver over a store of its own, or over a given one (as after a restart)."""
    held = store if store is not None else MemoryStore()
    driver = Driver(found if found is not None else settings(), held)
    try:
        yield Press(driver, held)
    finally:
        driver.close()


def failed_quietly(prepared: Prepared) -> list[str]:
    """The notes that tell of a mistake of ours; a test of anything else wants none."""
    return [note for note in prepared.receipt.notes if note.startswith("pass_through:")]
