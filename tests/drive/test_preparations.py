"""Background preparations: one of a name, few in all, ends kept and bounded, failures told and never lost."""

from __future__ import annotations

import asyncio
import logging

import pytest
from drive.asking import run

from coldpress.drive.preparations import Failed, Finished, Preparations


class Work:
    """Work that ends when the test says so."""

    def __init__(self) -> None:
        self.begun = 0
        self.cancelled = 0
        self.go = asyncio.Event()

    async def __call__(self, result: str = "summary") -> str:
        self.begun += 1
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return result


async def breaks() -> str:
    raise ValueError("with words of a conversation in it")


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_a_result_is_there_once_the_work_is_done() -> None:
    async def scenario() -> None:
        jobs, work = Preparations[str](), Work()
        assert jobs.finished("a") is None
        assert jobs.start("a", 1, work) == "started"
        await settle()
        assert (jobs.running("a"), jobs.finished("a")) == (True, None)
        work.go.set()
        await settle()
        assert (jobs.running("a"), jobs.finished("a")) == (False, Finished(1, "summary"))

    run(scenario())


def test_one_of_a_name_runs_and_what_is_there_is_not_made_again() -> None:
    async def scenario() -> None:
        jobs, work = Preparations[str](), Work()
        assert jobs.start("a", 1, work) == "started"
        assert jobs.start("a", 1, work) == jobs.start("a", 2, work) == "running"
        assert jobs.start("b", 1, work) == "started"
        work.go.set()
        await settle()
        assert work.begun == 2
        assert jobs.start("a", 1, work) == "finished"
        assert jobs.start("a", 2, work) == "started"
        assert jobs.finished("a") == Finished(1, "summary")  # until there is a new one
        await settle()
        assert jobs.finished("a") == Finished(2, "summary")
        jobs.forget("a")
        assert jobs.finished("a") is None
        assert jobs.start("a", 2, work) == "started"
        await jobs.close()

    run(scenario())


def test_no_more_than_the_bound_run_and_no_coroutine_is_left_behind() -> None:
    async def scenario() -> None:
        jobs, work = Preparations[str](most_running=2), Work()
        assert [jobs.start(name, 1, work) for name in "abc"] == ["started", "started", "full"]
        work.go.set()
        await settle()
        assert jobs.start("c", 1, work) == "started"
        await jobs.close()

    run(scenario())


def test_the_oldest_ends_go() -> None:
    async def scenario() -> None:
        jobs, work = Preparations[str](most_finished=2), Work()
        work.go.set()
        for name in "abca":
            jobs.start(name, 1, work)
            await settle()
        assert [jobs.finished(name) is not None for name in "abc"] == [True, False, True]

    run(scenario())


def test_a_failure_is_an_end_and_its_words_stay_out_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    async def scenario() -> None:
        complaints: list[object] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
        jobs = Preparations[str]()
        jobs.start("a", 7, breaks)
        assert await jobs.wait("a", 5) == Failed(7, "ValueError")
        assert jobs.start("a", 7, breaks) == "finished"
        assert jobs.start("a", 8, breaks) == "started"
        await settle()
        await jobs.close()
        assert complaints == []

    run(scenario())
    assert "a preparation failed" in caplog.text
    assert "words of a conversation" not in caplog.text


def test_waiting_ends_with_the_work_or_with_the_time() -> None:
    async def scenario() -> None:
        jobs, work = Preparations[str](), Work()
        assert await jobs.wait("a", 5) is None
        jobs.start("a", 1, work)
        assert await jobs.wait("a", 0.01) is None
        assert jobs.running("a")  # the wait ended, not the work
        waiters = [asyncio.ensure_future(jobs.wait("a", 5)) for _ in range(3)]
        await settle()
        waiters[0].cancel()
        work.go.set()
        assert await asyncio.gather(*waiters[1:]) == [Finished(1, "summary")] * 2
        assert jobs.running("a") is False
        assert work.cancelled == 0

    run(scenario())


def test_a_wait_that_comes_as_the_work_ends_sees_its_end() -> None:
    async def scenario() -> None:
        for ticks in range(4):
            jobs, work = Preparations[str](), Work()
            jobs.start("a", 1, work)
            await settle()
            work.go.set()
            for _ in range(ticks):
                await asyncio.sleep(0)
            assert await jobs.wait("a", 5) == Finished(1, "summary"), ticks

    run(scenario())


def test_closing_stops_everything() -> None:
    async def scenario() -> None:
        jobs, work = Preparations[str](), Work()
        for name in "ab":
            jobs.start(name, 1, work)
        await settle()
        await jobs.close()
        assert work.cancelled == 2
        assert [jobs.running(name) for name in "ab"] == [False, False]
        assert jobs.finished("a") == Failed(1, "cancelled")
        assert jobs.start("c", 1, work) == "full"
        assert work.begun == 2
        await jobs.close()

    run(scenario())
