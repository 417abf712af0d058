"""Conversations of thousands of messages are compacted in time, and where they are not, the work is not lost."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from cases.talk import Json
from compacting import FORMATS, Step, applied, prose, request, run, windowed, written
from support import Press, pressing

from coldpress.config import Settings
from coldpress.drive import attempts, late
from coldpress.engine.summary import events
from coldpress.wire.registry import FormatName

LONG = 2_500
"""Steps, of two messages each."""


def long_steps(count: int) -> list[Step]:
    """Steps of a session that runs commands and talks."""
    return [
        run(n, 4, reply=f"step {n}", user=f"note {n}" if n % 10 == 0 else "") if n % 3 else prose(n, 20)
        for n in range(count)
    ]


def patient(found: Settings, seconds: float = 300.0) -> Settings:
    """Settings under which no time runs out, however busy the machine is."""
    return replace(found, limits=replace(found.limits, prepare_seconds=seconds))


@dataclass
class Counted:
    """A function that is counted, with the threads that it ran on."""

    inner: Callable[..., Any]
    calls: int = 0
    threads: set[str] = field(default_factory=set)

    def __call__(self, *given: Any, **more: Any) -> Any:
        self.calls += 1
        self.threads.add(threading.current_thread().name)
        return self.inner(*given, **more)


@pytest.mark.parametrize("name", FORMATS)
def test_five_thousand_messages_are_compacted_at_once_and_judged_once(
    name: FormatName, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged = Counted(events.failed)
    monkeypatch.setattr(events, "failed", judged)
    steps = long_steps(LONG)
    messages = written(name, steps)
    assert len(messages) >= 5_000
    results = sum(len(step.calls) for step in steps)
    with pressing(patient(windowed(100_000))) as press:
        first = press(request(name, messages), name)
        assert applied(first)
        assert first.receipt.pressure is not None
        assert first.receipt.pressure.reason == "summarised"
        assert judged.calls <= results
        before = judged.calls
        # A rewind: the batch belongs to messages that are not there, so that all of it is worked out again.
        rewound = [*steps[:-5], *(run(LONG + n, 4) for n in range(3))]
        again = press(request(name, written(name, rewound)), name)
        assert applied(again)
        assert judged.calls - before <= 3


@pytest.mark.parametrize("name", FORMATS)
def test_a_prompt_is_brought_down_beside_the_loop(name: FormatName, monkeypatch: pytest.MonkeyPatch) -> None:
    worked = Counted(events.failed)
    monkeypatch.setattr(events, "failed", worked)
    with pressing(patient(windowed(6_000))) as press:
        assert applied(press(request(name, written(name, long_steps(200))), name))
    assert worked.calls
    assert all(thread.startswith("coldpress-plan") for thread in worked.threads)


class Held:
    """Summaries by rules that are not done before they may be."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.may_end, self.ended = threading.Event(), threading.Event()
        self.made = 0
        inner, call = attempts.structural, late.Job.__call__

        def structural(*given: Any, **more: Any) -> Any:
            self.made += 1
            assert self.may_end.wait(60)
            return inner(*given, **more)

        def called(job: late.Job[Any]) -> Any:
            try:
                return call(job)
            finally:
                self.ended.set()

        monkeypatch.setattr(attempts, "structural", structural)
        monkeypatch.setattr(late.Job, "__call__", called)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    found = Held(monkeypatch)
    yield found
    found.may_end.set()


STEPS = [prose(n) for n in range(41)]


def told(press: Press, name: FormatName, messages: list[Json]) -> tuple[str | None, tuple[str, ...], bool]:
    """What the receipt says of a request: of its budget, and in notes; and whether it went as it came."""
    body = request(name, messages)
    prepared = press(body, name)
    pressure = prepared.receipt.pressure
    return pressure and pressure.reason, prepared.receipt.notes, prepared.body == body


def tight(name: FormatName, *, urgent: bool) -> Settings:
    """Little time, and a window of which a request takes more than its trigger, or nearly all."""
    tokens = len(request(name, written(name, STEPS[:40]))) / 3.4
    return patient(windowed(round(tokens / (0.95 if urgent else 0.75)), budget={"stages": ("summary",)}), 1.0)


@pytest.mark.parametrize("name", FORMATS)
def test_what_comes_too_late_is_used_on_the_next_request(name: FormatName, held: Held) -> None:
    with pressing(tight(name, urgent=False)) as press:
        assert told(press, name, written(name, STEPS[:39])) == ("no_time", (), True)
        assert told(press, name, written(name, STEPS[:40])) == (None, ("no_time",), True)
        assert held.made == 1  # there is one such work for a conversation at a time
        held.may_end.set()
        assert held.ended.wait(60)
        reason, notes, is_exact = told(press, name, written(name, STEPS[:41]))
        assert (reason, notes, is_exact) == ("summarised", (), False)
        assert held.made == 1


@pytest.mark.parametrize("name", FORMATS)
def test_an_urgent_prompt_is_waited_for(name: FormatName, held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    within = late.Job.within

    async def released(job: late.Job[Any], seconds: float) -> Any:
        held.may_end.set()
        return await within(job, max(seconds, 60.0))

    monkeypatch.setattr(late.Job, "within", released)
    with pressing(tight(name, urgent=True)) as press:
        assert told(press, name, written(name, STEPS[:40]))[0] == "summarised"


def test_work_that_went_wrong_is_no_more_waited_for() -> None:
    def fails() -> None:
        raise RuntimeError

    job = late.Job(fails)
    with pytest.raises(RuntimeError):
        job()
    assert not job.is_under_way
