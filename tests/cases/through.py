"""Run the real gateway with the real driver on loopback, in a thread, beside a test that talks plain HTTP to it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.client import HTTPConnection

from missed import none_is_ours_unasked
from support import settings as built_in

from coldpress.config import Settings
from coldpress.drive import Driver
from coldpress.drive.warmth import Sleep
from coldpress.gateway.serve import serving
from coldpress.gateway.settings import Limits, gateway_settings
from coldpress.model.records import Receipt
from coldpress.stores.base import Store
from coldpress.stores.memory import MemoryStore
from coldpress.wire.registry import FORMATS

KEY = (("x-api-key", "k"), ("anthropic-version", "2023-06-01"), ("content-type", "application/json"))


@dataclass(frozen=True)
class Reply:
    """What a client got."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def request_id(self) -> str:
        """The gateway's name for the exchange."""
        return self.headers["x-coldpress-request"]


@dataclass
class Gate:
    """A running gateway."""

    url: str
    store: Store
    ended: threading.Event = field(default_factory=threading.Event)
    driver: Driver | None = None

    def receipt(self, reply: Reply) -> Receipt:
        """What the ledger holds of an exchange."""
        self.store.flush()
        entry = self.store.receipt(reply.request_id)
        assert entry is not None
        return entry.receipt

    def post(self, path: str, body: bytes, headers: tuple[tuple[str, str], ...] = KEY) -> Reply:
        """Send a request with exactly these headers, and read the reply to its end."""
        return send(self.url, "POST", path, body, headers)


def send(url: str, method: str, path: str, body: bytes, headers: tuple[tuple[str, str], ...] = KEY) -> Reply:
    """Send a request with exactly these headers and a length, and read the reply to its end."""
    connection = HTTPConnection(url.removeprefix("http://"), timeout=20)
    try:
        connection.putrequest(method, path, skip_accept_encoding=True)
        for name, value in headers:
            connection.putheader(name, value)
        connection.putheader("content-length", str(len(body)))
        connection.endheaders(body)
        response = connection.getresponse()
        return Reply(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
    finally:
        connection.close()


@contextmanager
def gateway(
    upstream_url: str,
    settings: Settings | None = None,
    *,
    store: Store | None = None,
    limits: Limits | None = None,
    name: str = "up",
    clock: Callable[[], float] = time.time,
    sleep: Sleep = asyncio.sleep,
) -> Iterator[Gate]:
    """Serve in front of one upstream that speaks all formats; the operation is that of the settings.

    Its name decides which prices and cache rules hold for it; of its prices in the settings those of the same name.
    In the end no miss may be ours but where the ledger tells of a decision to break a warm cache.
    """
    found = settings or built_in()
    provider = replace(
        found.provider(name) or found.providers[0],
        name=name,
        url=upstream_url,
        formats=FORMATS,
        operation=found.operation,
        api_key=None,
    )
    default = replace(found.default_provider, anthropic=name, openai=name, gemini=name)
    found = replace(found, host="127.0.0.1", port=0, providers=(provider,), default_provider=default)
    held = store if store is not None else MemoryStore()
    taken = gateway_settings(found, control_port=0)
    taken = replace(taken, limits=limits or replace(taken.limits, shutdown_seconds=1.0))
    gate = Gate("", held)
    ready, stop, failed = threading.Event(), asyncio.Event(), list[BaseException]()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        driver = gate.driver = Driver(found, held, clock=clock, sleep=sleep)
        try:
            async with serving(taken, driver, clock=clock) as running:
                gate.url = running.url
                ready.set()
                await stop.wait()
        finally:
            driver.close()

    def work() -> None:
        try:
            loop.run_until_complete(serve())
        except BaseException as error:
            failed.append(error)
        finally:
            ready.set()
            loop.run_until_complete(loop.shutdown_default_executor())
            loop.close()

    thread = threading.Thread(target=work, name="gateway-under-test")
    thread.start()
    ready.wait(20)
    try:
        assert not failed, failed
        yield gate
    finally:
        if not failed:
            loop.call_soon_threadsafe(stop.set)
        thread.join(20)
    assert not failed, failed
    none_is_ours_unasked(held)
