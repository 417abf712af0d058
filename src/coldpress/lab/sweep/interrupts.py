"""Let the first Ctrl-C end a sweep, and let those that follow it not break what it cleans up."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final, TypeVar

T = TypeVar("T")

_SETTLE_SECONDS: Final = 0.3
"""Presses this close behind the first are the same wish, also where all is cleaned up sooner: whoever tells of what
is there next would be ended by them."""


def stopped_once(results: Generator[T]) -> Generator[T]:
    """Hand on what a generator gives; once a Ctrl-C ends it, this process ignores others until it has cleaned up.

    A terminal sends SIGINT to everything of ours: what is started to clean up, such as the `pgrep` by which loky looks
    for the children of its workers, inherits that it is ignored; else it dies of a second press, loky's thread with
    it, and the workers stay. While nobody asks for a result, Ctrl-C does what it did before.

    It changes nothing outside the main thread, or where the handler of SIGINT is not Python's own.

    Raises:
        KeyboardInterrupt: as the generator was left by it.
    """
    try:
        while True:
            with _hearing_once():
                try:
                    one = next(results)
                except StopIteration:
                    return
            yield one
    except GeneratorExit:  # most likely of a Ctrl-C that came while nobody waited for a result
        with _deaf():
            results.close()
            time.sleep(_SETTLE_SECONDS)
        raise


@contextmanager
def _hearing_once() -> Iterator[None]:
    """Raise a KeyboardInterrupt at the first SIGINT of a block, and ignore all others until the block has ended."""
    if not _is_ours():
        yield
        return
    heard_at: float | None = None

    def hear(signum: int, frame: FrameType | None) -> None:
        nonlocal heard_at
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        heard_at = time.monotonic()
        signal.default_int_handler(signum, frame)

    signal.signal(signal.SIGINT, hear)
    try:
        yield
    finally:
        if heard_at is not None:
            time.sleep(max(0.0, heard_at + _SETTLE_SECONDS - time.monotonic()))
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def _deaf() -> Iterator[None]:
    """Ignore SIGINT."""
    if not _is_ours():
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _is_ours() -> bool:
    """Whether the handler may be changed: only the main thread can, and one of somebody else stays."""
    here = threading.current_thread() is threading.main_thread()
    return here and signal.getsignal(signal.SIGINT) is signal.default_int_handler
