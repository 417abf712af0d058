"""Run one driver on an event loop in a thread of its own, so that any thread and any other loop may use it."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import TypeVar

from coldpress.config.settings import Settings
from coldpress.drive import Driver, Inbound, Prepared
from coldpress.drive.receipts import unread_receipt
from coldpress.library.replies import Ended
from coldpress.model.errors import SessionClosed
from coldpress.stores.base import Store

log = logging.getLogger(__name__)

T = TypeVar("T")


class Runtime:
    """A driver, its store and the loop it runs on; safe to use from any thread.

    Args:
        settings: frozen settings.
        store: closed together with this.
        clock: seconds since 1970.
    """

    def __init__(self, settings: Settings, store: Store, *, clock: Callable[[], float]) -> None:
        self.settings = settings
        self.store = store
        self.clock = clock
        self.driver = Driver(settings, store, clock=clock)
        self._lock = threading.Lock()
        self._closed = False
        self._loop = asyncio.new_event_loop()
        # A daemon, so that a session nobody closed does not keep the process from ending.
        self._thread = threading.Thread(target=self._loop.run_forever, name="coldpress-session", daemon=True)
        self._thread.start()

    def begin(self, inbound: Inbound) -> Future[Prepared]:
        """Have a request decided on.

        Raises:
            SessionClosed: too late.
        """
        return self._submit(self._prepare(inbound))

    def finish(self, ended: Ended) -> None:
        """Have the driver learn from how a request ended; does not wait. What is begun later comes after it."""
        with self._lock:
            self._require_open()
            self._loop.call_soon_threadsafe(self._finish, ended)

    def settle(self) -> None:
        """Wait until everything handed over so far is in the store.

        Raises:
            SessionClosed: too late.
        """
        self._submit(_nothing()).result()
        self.store.flush()

    def close(self) -> None:
        """End what runs, and let go of driver and store. Closing twice is fine."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        asyncio.run_coroutine_threadsafe(self._give_up(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self.driver.close()
        self.store.close()

    async def _prepare(self, inbound: Inbound) -> Prepared:
        """Ask the driver; where that takes longer than the settings allow, the caller's own messages go on.

        Raises:
            Withheld: they may not.
        """
        inbound = await self.driver.screen(inbound)
        try:
            async with asyncio.timeout(self.settings.limits.prepare_seconds + self.driver.patience_seconds):
                return await self.driver.prepare(inbound)
        except TimeoutError:
            log.warning("preparing took too long", extra={"request_id": inbound.request_id, "bytes": len(inbound.body)})
            receipt = unread_receipt(inbound, inbound.operation or self.settings.operation, "given_up")
            return Prepared(inbound.body, inbound.is_changed(inbound.body), receipt, stream=False)

    async def _give_up(self) -> None:
        """Stop what runs for callers, then what the driver does in the background."""
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self.driver.give_up()

    def _finish(self, ended: Ended) -> None:
        if ended.raw and self.driver.wants_replies:
            self.driver.log_reply(ended.outcome.request_id, (), ended.raw)
        self.driver.finish(ended.outcome)

    def _submit(self, work: Coroutine[object, object, T]) -> Future[T]:
        with self._lock:
            try:
                self._require_open()
            except SessionClosed:
                work.close()
                raise
            return asyncio.run_coroutine_threadsafe(work, self._loop)

    def _require_open(self) -> None:
        if self._closed:
            raise SessionClosed("this session is closed; make a new one, with the same store_path to go on from it")


async def _nothing() -> None:
    """Take a turn behind what was handed over before."""
