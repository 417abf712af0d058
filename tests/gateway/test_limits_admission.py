"""Who gets a place, in which order, and who is told to come again: on a clock that moves only when told to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from gateway.world import run
from hypothesis import given, settings
from hypothesis import strategies as st

from coldpress.gateway.admission import Admission, Allowance, Place
from coldpress.gateway.errors import Limited


@dataclass(eq=False)
class Alarm:
    when: float
    callback: Callable[[], None]
    is_off: bool = False

    def cancel(self) -> None:
        self.is_off = True


@dataclass
class StoppedClock:
    """A timer whose time moves only when told to."""

    now: float = 1000.0
    alarms: list[Alarm] = field(default_factory=list)

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, callback: Callable[[], None]) -> Alarm:
        self.alarms.append(Alarm(when, callback))
        return self.alarms[-1]

    async def wait(self, seconds: float) -> None:
        """Let time pass, alarm by alarm."""
        until = self.now + seconds
        while due := [alarm for alarm in self.alarms if not alarm.is_off and alarm.when <= until]:
            first = min(due, key=lambda alarm: alarm.when)
            self.alarms.remove(first)
            self.now = max(self.now, first.when)
            first.callback()
            await settled()
        self.now = until
        await settled()


async def settled() -> None:
    """Let every task go as far as it can."""
    for _ in range(5):
        await asyncio.sleep(0)


@dataclass
class Crowd:
    """Requests that ask for places, by name, and what each got."""

    admission: Admission
    got: list[str] = field(default_factory=list)
    places: dict[str, Place] = field(default_factory=dict)
    refused: dict[str, Limited] = field(default_factory=dict)
    tasks: dict[str, asyncio.Task[None]] = field(default_factory=dict)

    async def ask(self, name: str, provider: str = "a") -> None:
        async def enter() -> None:
            try:
                self.places[name] = await self.admission.enter(provider)
                self.got.append(name)
            except Limited as refused:
                self.refused[name] = refused

        self.tasks[name] = asyncio.ensure_future(enter())
        await settled()

    async def end(self, name: str) -> None:
        self.places.pop(name).release()
        await settled()

    async def leave(self, name: str) -> None:
        self.tasks[name].cancel()
        await settled()


OPEN = Allowance()


def crowd(
    overall: Allowance = OPEN, *, wait_seconds: float = 30.0, **providers: Allowance
) -> tuple[Crowd, StoppedClock]:
    clock = StoppedClock()
    return Crowd(Admission(overall, providers, wait_seconds=wait_seconds, timer=clock)), clock


def test_what_does_not_fit_waits_and_goes_in_its_order() -> None:
    async def scenario() -> None:
        them, _ = crowd(Allowance(concurrency=2))
        for name in "abcde":
            await them.ask(name)
        assert (them.got, them.admission.waiting) == (["a", "b"], 3)
        await them.end("b")
        await them.end("a")
        await them.end("c")
        assert them.got == list("abcde")
        assert (them.admission.waiting, them.admission.waited) == (0, 3)

    run(scenario())


@pytest.mark.parametrize("leaver", ["c", "d", "e"])
def test_who_leaves_is_passed_over_and_costs_nobody_a_place(leaver: str) -> None:
    async def scenario() -> None:
        them, _ = crowd(Allowance(concurrency=1))
        for name in "bcde":
            await them.ask(name)
        await them.leave(leaver)
        for name in [name for name in "bcde" if name != leaver]:
            assert them.got[-1] == name
            await them.end(name)
        await them.ask("z")
        assert them.got[-1] == "z"

    run(scenario())


def test_where_all_have_left_nothing_is_waited_for() -> None:
    async def scenario() -> None:
        them, clock = crowd(Allowance(concurrency=1))
        for name in "abc":
            await them.ask(name)
        await them.leave("b")
        await them.leave("c")
        assert them.admission.waiting == 0
        assert all(alarm.is_off for alarm in clock.alarms)

    run(scenario())


def test_who_leaves_in_the_very_moment_of_its_turn_gives_the_place_on() -> None:
    async def scenario() -> None:
        them, _ = crowd(Allowance(concurrency=1))
        for name in "abc":
            await them.ask(name)
        them.places.pop("a").release()  # b has the place now, and has not had its turn to run
        them.tasks["b"].cancel()
        await settled()
        assert them.got == ["a", "c"]
        them.tasks["b"].cancel()
        await them.end("c")
        await them.ask("d")
        assert them.got == ["a", "c", "d"]

    run(scenario())


def test_who_left_and_has_not_had_its_turn_yet_gets_no_place() -> None:
    async def scenario() -> None:
        them, _ = crowd(Allowance(concurrency=1))
        for name in "abc":
            await them.ask(name)
        them.tasks["b"].cancel()
        them.places.pop("a").release()
        await settled()
        assert them.got == ["a", "c"]
        await them.end("c")
        await them.ask("d")
        assert them.got[-1] == "d"

    run(scenario())


def test_who_waits_too_long_is_told_to_come_again_soon() -> None:
    async def scenario() -> None:
        them, clock = crowd(Allowance(concurrency=1), wait_seconds=30)
        await them.ask("a")
        await them.ask("b")
        await clock.wait(10)
        await them.ask("c")
        await clock.wait(19.5)
        assert not them.refused
        await clock.wait(1)
        assert list(them.refused) == ["b"]
        told = them.refused["b"]
        assert (told.status, told.code, told.retry_after_seconds, told.again) == (429, "busy", 1, True)
        assert "1 request is running (limits.concurrency)" in told.message
        await them.end("a")
        assert them.got == ["a", "c"]

    run(scenario())


def test_no_sixty_seconds_hold_more_starts_than_rpm() -> None:
    async def scenario() -> None:
        them, clock = crowd(Allowance(rpm=2), wait_seconds=60)
        await them.ask("a")
        await clock.wait(50)
        for name in "bcd":
            await them.ask(name)
        assert them.got == ["a", "b"]
        await clock.wait(9.9)
        assert them.got == ["a", "b"]
        await clock.wait(0.2)
        assert them.got == ["a", "b", "c"], "60 s after a, and not 30 s as a bucket would have it"
        await clock.wait(49)
        assert them.got == ["a", "b", "c"]
        await clock.wait(1)
        assert them.got == ["a", "b", "c", "d"]

    run(scenario())


def test_who_would_wait_too_long_for_the_minute_is_told_at_once_how_long() -> None:
    async def scenario() -> None:
        them, clock = crowd(Allowance(rpm=2), wait_seconds=15)
        await them.ask("a")
        await clock.wait(25)
        await them.ask("b")
        await clock.wait(22.5)
        await them.ask("c")  # in 12.5 s, when a's minute is over
        await them.ask("d")  # in 37.5 s, when b's is
        assert list(them.refused) == ["d"]
        told = them.refused["d"]
        assert (told.status, told.code, told.retry_after_seconds, told.again) == (429, "rate_limited", 38, True)
        assert "limits.rpm" in told.message
        await clock.wait(12.5)
        assert them.got == ["a", "b", "c"]
        await clock.wait(25.5)  # as d was told
        await them.ask("d again")
        assert them.got[-1] == "d again"

    run(scenario())


def test_a_place_that_is_left_in_the_minutes_queue_moves_everybody_up() -> None:
    async def scenario() -> None:
        them, clock = crowd(Allowance(rpm=1), wait_seconds=120)
        for name in "abc":
            await them.ask(name)
        await them.leave("b")
        await clock.wait(60)
        assert them.got == ["a", "c"]

    run(scenario())


def test_a_busy_provider_holds_up_nobody_who_goes_elsewhere() -> None:
    async def scenario() -> None:
        them, _ = crowd(Allowance(concurrency=3), slow=Allowance(concurrency=1))
        await them.ask("s1", "slow")
        await them.ask("s2", "slow")
        await them.ask("f1", "fast")
        await them.ask("f2", "fast")
        await them.ask("f3", "fast")
        assert them.got == ["s1", "f1", "f2"]
        await them.end("s1")
        assert them.got == ["s1", "f1", "f2", "s2"], "it came before f3, and its provider is free again"

    run(scenario())


def test_without_limits_nobody_waits_and_nothing_is_remembered() -> None:
    async def scenario() -> None:
        them, clock = crowd()
        for number in range(100):
            await them.ask(str(number))
        assert len(them.got) == 100
        assert not clock.alarms
        assert all(place.limiters == () for place in them.places.values())

    run(scenario())


def test_a_place_is_moved_to_another_provider_only_where_there_is_room() -> None:
    async def scenario() -> None:
        them, _ = crowd(Allowance(concurrency=5), a=Allowance(concurrency=1), b=Allowance(concurrency=1))
        await them.ask("1", "a")
        await them.ask("2", "a")
        assert them.admission.move(them.places["1"], "b")
        await settled()
        assert them.got == ["1", "2"], "what it held at the first one is free"
        assert not them.admission.move(them.places["2"], "b")
        await them.end("1")
        assert them.admission.move(them.places["2"], "b")
        await them.end("2")
        for name in ("3", "4"):
            await them.ask(name, {"3": "a", "4": "b"}[name])
        assert them.got[-2:] == ["3", "4"], "everything was given back once"

    run(scenario())


def test_a_place_is_given_back_once() -> None:
    async def scenario() -> None:
        them, _ = crowd(Allowance(concurrency=1))
        await them.ask("a")
        place = them.places["a"]
        place.release()
        place.release()
        await them.ask("b")
        await them.ask("c")
        assert them.got == ["a", "b"]

    run(scenario())


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), st.sampled_from("xyz")),
        st.tuples(st.just("end"), st.integers(0, 20)),
        st.tuples(st.just("leave"), st.integers(0, 20)),
        st.tuples(st.just("wait"), st.sampled_from([0.5, 7.0, 20.0, 61.0])),
    ),
    max_size=40,
)


@settings(max_examples=60, deadline=None)
@given(steps=STEPS, concurrency=st.integers(1, 3), rpm=st.integers(1, 4))
def test_whatever_happens_no_limit_is_passed_nobody_is_lost_and_nobody_overtakes(
    steps: list[tuple[str, Any]], concurrency: int, rpm: int
) -> None:
    async def scenario() -> None:
        them, clock = crowd(
            Allowance(concurrency=concurrency), wait_seconds=25, x=Allowance(rpm=rpm), y=Allowance(concurrency=1)
        )
        asked: list[tuple[str, str]] = []
        starts: list[float] = []
        for kind, what in steps:
            before = len(them.got)
            if kind == "ask":
                asked.append((f"{len(asked)}", what))
                await them.ask(*asked[-1])
            elif kind == "end" and them.places:
                await them.end(sorted(them.places)[what % len(them.places)])
            elif kind == "leave" and asked:
                name = asked[what % len(asked)][0]
                if name not in them.places:
                    await them.leave(name)
            elif kind == "wait":
                await clock.wait(what)
            where = dict(asked)
            # A step of the clock may hold several alarms; the limits are held against every start in it.
            starts += [clock.now for name in them.got[before:] if where[name] == "x" and kind != "wait"]
            assert len(them.places) <= concurrency
            assert sum(where[name] == "y" for name in them.places) <= 1
        assert all(sum(at - 60 < other <= at for other in starts) <= rpm for at in starts)
        order = [int(name) for name in them.got]
        for provider in "xyz":
            mine = [number for number in order if dict(asked)[str(number)] == provider]
            assert mine == sorted(mine), "those for one provider go in their order"
        for name in list(them.places):
            await them.end(name)
        await clock.wait(26)
        while them.places:
            for name in list(them.places):
                await them.end(name)
        assert them.admission.waiting == 0
        assert all(task.done() for task in them.tasks.values())
        await clock.wait(61)
        await them.ask("last", "y")
        assert them.got[-1] == "last", "no place was lost"

    run(scenario())
