"""Old objects are collected while nothing is going on, and never forgotten for good."""

from __future__ import annotations

import asyncio
import gc
import weakref

import pytest

from coldpress.gateway import memory


class Knot:
    """Garbage that only the cycle collector finds."""

    def __init__(self) -> None:
        self.itself = self


@pytest.mark.parametrize(
    ("active", "most_seconds", "collected"),
    [
        pytest.param(0, 3600.0, True, id="idle"),
        pytest.param(3, 3600.0, False, id="busy"),
        pytest.param(3, 0.0, True, id="busy for too long"),
    ],
)
def test_old_garbage_waits_for_an_idle_moment_but_not_for_ever(
    monkeypatch: pytest.MonkeyPatch, active: int, most_seconds: float, collected: bool
) -> None:
    monkeypatch.setattr(memory, "_LOOK_SECONDS", 0.001)
    monkeypatch.setattr(memory, "_MOST_SECONDS", most_seconds)
    before = gc.get_threshold()
    gc.disable()
    knot = Knot()
    gone = weakref.ref(knot)
    del knot

    async def scenario() -> None:
        looks = 0

        def active_now() -> int:
            nonlocal looks
            looks += 1
            return active

        task = asyncio.create_task(memory.collect_when_idle(active_now))
        while looks < 3:
            await asyncio.sleep(0)
        task.cancel()

    try:
        asyncio.run(scenario())
        assert (gone() is None) is collected
    finally:
        gc.enable()
        gc.set_threshold(*before)
