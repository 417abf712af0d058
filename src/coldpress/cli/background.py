"""Do something again and again beside the gateway, in a thread of its own, until told to stop."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def repeating(action: Callable[[], None], *, every_seconds: float, name: str) -> Iterator[None]:
    """Call `action` every so many seconds while the block runs, for the first time after that time.

    The last call has ended when the block is left.
    """
    stop = threading.Event()

    def work() -> None:
        while not stop.wait(every_seconds):
            action()

    thread = threading.Thread(target=work, name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
