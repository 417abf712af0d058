"""A session may be used from several threads and event loops, and inside a running one."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from library.talk import ANTHROPIC_TOOLS, anthropic_talk

from coldpress import Session
from coldpress.drive import Driver, Inbound, Prepared
from coldpress.model.errors import SessionClosed

MODEL = "claude-opus-4-6"


def talk_of(name: str) -> list[list[Any]]:
    talk = list(anthropic_talk())
    return [[{"role": "user", "content": f"I am {name}."}, *messages[1:]] for messages in talk]


def test_async_gives_what_sync_gives() -> None:
    with Session(MODEL) as session:
        expected = [session.compact(messages, tools=ANTHROPIC_TOOLS) for messages in talk_of("one")]

    async def run() -> list[Any]:
        async with Session(MODEL) as session:
            return [await session.acompact(messages, tools=ANTHROPIC_TOOLS) for messages in talk_of("one")]

    assert asyncio.run(run()) == expected


def test_sync_works_inside_a_running_loop() -> None:
    async def run() -> Any:
        with Session(MODEL) as session:
            return [session.compact(messages, tools=ANTHROPIC_TOOLS) for messages in talk_of("one")][-1]

    assert "[coldpress" in str(asyncio.run(run()))


def test_conversations_on_several_threads_and_loops_do_not_meet() -> None:
    with Session(MODEL) as session:

        def sync(name: str) -> list[Any]:
            return [session.compact(messages, tools=ANTHROPIC_TOOLS) for messages in talk_of(name)]

        async def one_by_one(name: str) -> list[Any]:
            return [await session.acompact(messages, tools=ANTHROPIC_TOOLS) for messages in talk_of(name)]

        def own_loop(name: str) -> list[Any]:
            return asyncio.run(one_by_one(name))

        names = [f"agent {number}" for number in range(8)]
        with ThreadPoolExecutor(8) as pool:
            works = [pool.submit(sync if number % 2 else own_loop, name) for number, name in enumerate(names)]
            found = {name: work.result() for name, work in zip(names, works, strict=True)}
        assert len(session.receipts()) == 8 * 5
    for name, answers in found.items():
        with Session(MODEL) as alone:
            assert answers == [alone.compact(messages, tools=ANTHROPIC_TOOLS) for messages in talk_of(name)]


class Held:
    """Stands in front of the driver's `prepare`, which then waits until it is let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.entered, self.cancelled, self.go = threading.Event(), threading.Event(), threading.Event()
        prepare = Driver.prepare

        async def held(driver: Driver, inbound: Inbound) -> Prepared:
            self.entered.set()
            try:
                await asyncio.to_thread(self.go.wait)
            except asyncio.CancelledError:
                self.cancelled.set()
                raise
            return await prepare(driver, inbound)

        monkeypatch.setattr(Driver, "prepare", held)


def test_a_cancelled_task_stops_its_request_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held(monkeypatch)

    async def run() -> Any:
        async with Session(MODEL) as session:
            task = asyncio.create_task(session.acompact([{"role": "user", "content": "hi"}]))
            await asyncio.to_thread(held.entered.wait, 10)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await asyncio.to_thread(held.cancelled.wait, 10)
            held.go.set()
            return await session.acompact([{"role": "user", "content": "hi"}])

    assert len(asyncio.run(run())) == 1


def test_closing_ends_what_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held(monkeypatch)
    session = Session(MODEL)
    with ThreadPoolExecutor(1) as pool:
        work = pool.submit(session.compact, [{"role": "user", "content": "hi"}])
        assert held.entered.wait(10)
        session.close()
        held.go.set()
        assert work.exception(10) is not None
    with pytest.raises(SessionClosed):
        session.compact([{"role": "user", "content": "hi"}])


def test_too_slow_shows_the_callers_own(monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    from support import settings

    held = Held(monkeypatch)
    found = settings()
    quick = replace(found, limits=replace(found.limits, prepare_seconds=0.001))
    messages = talk_of("one")[1]
    with Session(MODEL, settings=quick) as session:
        shown = session.compact(messages, tools=ANTHROPIC_TOOLS)
        held.go.set()
        assert all(mine is theirs for mine, theirs in zip(shown, messages, strict=True))
        assert shown.receipt.notes == ("pass_through:given_up",)


def test_no_thread_is_left_behind() -> None:
    before = set(threading.enumerate())
    with Session(MODEL) as session:
        session.compact([{"role": "user", "content": "hi"}])
    assert set(threading.enumerate()) <= before
