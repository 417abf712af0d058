"""Run code of others: in a thread, for a bounded time, whatever it raises.

A thread of its own for every run, since nothing can end one that hangs, and a pool would run out of them. It is a
daemon, so that such a thread does not keep the process from ending.
"""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class Ran(Generic[T]):
    """What came of a run.

    Attributes:
        seconds: until it was over, or was waited for no longer.
        in_time: it was over by then. What it does later changes nothing here.
        value: what came back; `None` where nothing did, or too late.
        error: what was raised, `None` where nothing was.
    """

    seconds: float
    in_time: bool
    value: T | None = None
    error: BaseException | None = None


def run(work: Callable[[], T], *, seconds: float, name: str) -> Ran[T]:
    """Run something and wait for it for so long; `name` is the thread's. Never raises."""
    values: list[T] = []
    errors: list[BaseException] = []
    over = threading.Event()

    def target() -> None:
        try:
            values.append(work())
        except BaseException as error:  # a plugin's `sys.exit()` would else end the thread without a word
            errors.append(error)
        over.set()

    started = time.perf_counter()
    try:
        threading.Thread(target=target, name=name, daemon=True).start()
    except RuntimeError as error:  # the system gives no more threads
        return Ran(time.perf_counter() - started, in_time=True, error=error)
    in_time = over.wait(seconds)
    took = time.perf_counter() - started
    if not in_time:
        return Ran(took, in_time=False)
    return Ran(took, True, values[0] if values else None, errors[0] if errors else None)


def place_of(error: BaseException) -> str:
    """Name an error by its kind and where it was raised; its words may hold text of a conversation.

    >>> place_of(KeyError("secret"))
    'KeyError'
    """
    frames = traceback.extract_tb(error.__traceback__)
    at = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{at}"
