"""Tell plugins how requests ended, in one thread behind the requests: nothing waits for it."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Final

MOST_WAITING: Final = 256
_CLOSE_SECONDS: Final = 1.0


class Afterwards:
    """A line of work with an end. Work that does not fit is left out."""

    def __init__(self, most_waiting: int = MOST_WAITING) -> None:
        self._waiting: queue.Queue[Callable[[], None] | None] = queue.Queue(most_waiting)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False

    def put(self, work: Callable[[], None]) -> bool:
        """Line up some work, which must not raise; false where it is left out. Never blocks."""
        with self._lock:
            if self._closed:
                return False
            if self._thread is None:
                self._thread = threading.Thread(target=self._go, name="coldpress-plugins-after", daemon=True)
                self._thread.start()
        try:
            self._waiting.put_nowait(work)
        except queue.Full:
            return False
        return True

    def close(self) -> None:
        """Take no more, and wait a second for what is lined up."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            thread = self._thread
        if thread is None:
            return
        try:
            self._waiting.put(None, timeout=_CLOSE_SECONDS)
        except queue.Full:
            return  # a daemon: it ends with the process
        thread.join(_CLOSE_SECONDS)

    def drain(self) -> None:
        """Wait until everything lined up is done."""
        self._waiting.join()

    def _go(self) -> None:
        while True:
            work = self._waiting.get()
            try:
                if work is None:
                    return
                work()
            finally:
                self._waiting.task_done()
