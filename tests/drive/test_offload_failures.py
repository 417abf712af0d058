"""A cheaper model that fails, answers nonsense, or is asked too much: every reason, its cost, and all the limits."""

from __future__ import annotations

import asyncio
import logging

import pytest
from drive.asking import KEY, KINDS, PATHS, Clock, Kind, run
from drive.offloading import ANSWER, USUAL, Held, ask_in_turn, failed, made, opened, settings, text, wanted
from gateway import world
from hypothesis import given
from hypothesis import settings as tried
from hypothesis import strategies as st

from coldpress.drive.offload import Failed
from coldpress.drive.offload_turns import WINDOW_SECONDS, Turns
from coldpress.testing import (
    BreakOff,
    Disconnect,
    Fault,
    HttpError,
    Rules,
    Say,
    Script,
    StrictUpstream,
    Turn,
    closed_port_url,
)
from coldpress.testing.script import Call, StopReason


def failing(*faults: Fault | None) -> Script:
    return Script(closing=USUAL.closing, faults={n: fault for n, fault in enumerate(faults) if fault is not None})


def saying(answer: str, stop: StopReason | None = None) -> Script:
    return Script(closing=Turn((Say(answer),), stop_reason=stop))


class TestTheEndpoint:
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize(
        ("fault", "usd_is_known"),
        [
            pytest.param(HttpError(429, retry_after_seconds=3), True, id="429"),
            pytest.param(HttpError(500), True, id="500"),
            pytest.param(Disconnect(), False, id="no answer"),
            pytest.param(BreakOff(after=20), False, id="half an answer"),
        ],
    )
    def test_is_asked_again_once(self, kind: Kind, fault: Fault, usd_is_known: bool) -> None:
        with StrictUpstream(failing(fault)) as upstream:
            (got,) = ask_in_turn(settings(kind, upstream.url), wanted())
            assert len(upstream.inference) == 2
        assert made(got).text == ANSWER
        assert (made(got).usd is not None) is usd_is_known

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize(
        ("fault", "usd", "requests"),
        [
            pytest.param(HttpError(503), 0.0, 2, id="down"),
            pytest.param(HttpError(401), 0.0, 1, id="a wrong key"),
            pytest.param(HttpError(404), 0.0, 1, id="no such model"),
            pytest.param(Disconnect(), None, 2, id="no answer"),
        ],
    )
    def test_that_keeps_failing_has_no_summary(
        self, kind: Kind, fault: Fault, usd: float | None, requests: int
    ) -> None:
        with StrictUpstream(failing(fault, fault, fault)) as upstream:
            (got,) = ask_in_turn(settings(kind, upstream.url), wanted())
            assert len(upstream.inference) == requests
        assert got == Failed("http_error", usd, asked=True)

    def test_that_refuses_the_key_is_told_so_and_nobody_sees_it(self, caplog: pytest.LogCaptureFixture) -> None:
        with StrictUpstream(USUAL, rules=Rules(require_key=True)) as upstream:
            (got,) = ask_in_turn(settings("openai", upstream.url, api_key=None, needs_key=False), wanted())
        assert failed(got).reason == "http_error"
        assert "answered 401" in str([vars(record) for record in caplog.records])
        assert KEY not in caplog.text

    def test_that_is_not_there_has_no_summary_and_costs_nothing(self) -> None:
        (got,) = ask_in_turn(settings("openai", closed_port_url()), wanted())
        assert got == Failed("http_error", 0.0, asked=True)

    def test_that_does_not_answer_in_time_may_bill_it(self) -> None:
        held = Held()
        with StrictUpstream(held.script, sleep=held.sleep) as upstream:

            async def scenario() -> object:
                async with opened(settings("openai", upstream.url, timeout_seconds=0.05)) as offload:
                    return (await offload.ask([wanted()], patience_seconds=10.0))[wanted().identity]

            got = run(scenario())
            held.let_go()
        assert got == Failed("timeout", None, asked=True)

    @pytest.mark.parametrize(
        "reply",
        [
            pytest.param(world.ok(b"<html><body>It works!</body></html>", content_type="text/html"), id="a web page"),
            pytest.param(world.ok(b"not json"), id="no JSON"),
            pytest.param(world.ok(b'{"choices": []}'), id="no choice"),
            pytest.param(world.ok(b'{"error": {"message": "no"}}'), id="an error with status 200"),
            pytest.param(world.ok(b"\xff\xfe\x00"), id="not UTF-8"),
        ],
    )
    def test_that_answers_something_else_has_no_summary_and_an_unknown_cost(self, reply: bytes) -> None:
        async def scenario() -> object:
            async with (
                world.upstream(world.closing(reply)) as here,
                opened(settings("openai", f"http://127.0.0.1:{here.port}")) as offload,
            ):
                return (await offload.ask([wanted()]))[wanted().identity]

        assert run(scenario()) == Failed("bad_reply", None, asked=True)

    def test_that_redirects_is_not_followed(self) -> None:
        with StrictUpstream(USUAL) as elsewhere:
            to = f"HTTP/1.1 307 Moved\r\nlocation: {elsewhere.url}{PATHS['openai']}\r\ncontent-length: 0\r\n\r\n"

            async def scenario() -> object:
                async with (
                    world.upstream(world.closing(to.encode())) as here,
                    opened(settings("openai", f"http://127.0.0.1:{here.port}")) as offload,
                ):
                    return (await offload.ask([wanted()]))[wanted().identity]

            assert run(scenario()) == Failed("http_error", 0.0, asked=True)
            assert elsewhere.exchanges == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("script", "reason"),
    [
        pytest.param(saying("ok"), "empty", id="next to nothing"),
        pytest.param(saying(text()), "too_long", id="the result over again"),
        pytest.param(saying("<!DOCTYPE html><p>Service Unavailable</p>"), "error_like", id="a page"),
        pytest.param(saying("Error: the backend timed out"), "error_like", id="an error"),
        pytest.param(saying("I'm sorry, I can't help with that request."), "refused", id="a refusal in words"),
        pytest.param(saying("It is all in src/ghost.py, line 7001."), "unfounded", id="inventions"),
        pytest.param(saying(ANSWER, "max_tokens"), "stopped_early", id="cut off at the limit"),
        pytest.param(saying(ANSWER, "refusal"), "refused_by_provider", id="stopped by a filter"),
    ],
)
def test_an_answer_that_is_none_is_paid_is_not_kept_and_not_asked_for_again(
    kind: Kind, script: Script, reason: str
) -> None:
    with StrictUpstream(script) as upstream:
        first, second = ask_in_turn(settings(kind, upstream.url), wanted(), wanted())
        assert len(upstream.inference) == 1
    assert (failed(first).reason, failed(first).asked) == (reason, True)
    assert failed(first).usd and failed(first).usage.output
    assert second == Failed(reason)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
def test_a_call_of_a_tool_is_no_answer(kind: Kind) -> None:
    script = Script(closing=Turn((Call("grep", {"pattern": "x"}),)))
    with StrictUpstream(script) as upstream:
        (got,) = ask_in_turn(settings(kind, upstream.url), wanted())
    assert failed(got).reason == "bad_reply"


class TestTheBreaker:
    def test_rests_after_three_failures_in_a_row_and_lets_one_question_through_then(self) -> None:
        clock = Clock()

        async def scenario() -> list[object]:
            reasons: list[object] = []
            async with opened(settings("openai", upstream.url, retries=0, rest_seconds=300.0), clock=clock) as offload:
                for number in range(5):
                    got = (await offload.ask([wanted(number)]))[wanted(number).identity]
                    reasons.append(got.reason if isinstance(got, Failed) else "made")
                clock.now += 301
                for number in (3, 4):
                    got = (await offload.ask([wanted(number)]))[wanted(number).identity]
                    reasons.append(got.reason if isinstance(got, Failed) else "made")
            return reasons

        with StrictUpstream(failing(*[HttpError(500)] * 3)) as upstream:
            reasons = run(scenario())
            assert len(upstream.inference) == 5
        assert reasons == ["http_error"] * 3 + ["breaker_open"] * 2 + ["made"] * 2

    def test_rests_as_well_where_a_model_writes_nothing_of_use_and_the_refused_are_not_asked_for_again(self) -> None:
        with StrictUpstream(saying("Error: nothing to say")) as upstream:
            got = ask_in_turn(settings("openai", upstream.url), *map(wanted, range(5)), wanted(0))
            assert len(upstream.inference) == 3
        assert [failed(one).reason for one in got] == ["error_like"] * 3 + ["breaker_open"] * 2 + ["error_like"]
        assert failed(got[3]) == Failed("breaker_open")

    def test_one_warning_stands_in_the_log_for_an_endpoint_that_is_down(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.INFO)
        ask_in_turn(settings("openai", closed_port_url(), retries=0), wanted(0), wanted(1))
        levels = [record.levelname for record in caplog.records if record.name == "coldpress.drive.offload"]
        assert levels == ["WARNING", "INFO"]


class TestLimits:
    def test_no_more_are_under_way_at_one_time_than_allowed_and_the_others_follow(self) -> None:
        held = Held()
        asked = [wanted(number) for number in range(5)]
        with StrictUpstream(held.script, sleep=held.sleep) as upstream:

            async def scenario() -> None:
                async with opened(settings("anthropic", upstream.url, concurrency=2)) as offload:
                    asking = asyncio.create_task(offload.ask(asked))
                    await held.came(2)
                    # All five were begun before these two came; whoever has no turn has no connection either.
                    assert len(upstream.inference) == 2
                    held.let_go()
                    got = await asking
                    assert [made(got[one.identity]).text for one in asked] == [ANSWER] * 5

            run(scenario())
            assert len(upstream.inference) == 5

    def test_what_gets_no_turn_in_time_is_busy_is_dropped_and_costs_nothing(self) -> None:
        held = Held()
        first, second = wanted(0), wanted(1)
        with StrictUpstream(held.script, sleep=held.sleep) as upstream:

            async def scenario() -> None:
                async with opened(settings("openai", upstream.url, concurrency=1)) as offload:
                    asking = asyncio.create_task(offload.ask([first]))
                    await held.came()
                    got = await offload.ask([second], patience_seconds=0.05)
                    assert got == {second.identity: Failed("busy")}
                    held.let_go()
                    assert made((await asking)[first.identity]).asked
                    assert offload.take_unbilled() == ()
                    assert made((await offload.ask([second]))[second.identity]).asked

            run(scenario())
            assert len(upstream.inference) == 2

    def test_more_than_a_minute_allows_is_busy_at_once_where_the_wait_is_too_long(self) -> None:
        clock = Clock()
        asked = [wanted(number) for number in range(3)]

        async def scenario() -> None:
            async with opened(settings("openai", upstream.url, rpm=2, timeout_seconds=20.0), clock=clock) as offload:
                got = await offload.ask(asked)
                (late,) = [one for one in asked if isinstance(got[one.identity], Failed)]  # whichever came last
                assert got[late.identity] == Failed("busy")
                clock.now += WINDOW_SECONDS - 15  # within the time that may be waited
                assert made((await offload.ask(asked))[late.identity]).asked

        before = clock.now
        with StrictUpstream(USUAL) as upstream:
            run(scenario())
            assert len(upstream.inference) == 3
        assert clock.now == before + WINDOW_SECONDS

    def test_a_second_attempt_counts_as_a_request(self) -> None:
        with StrictUpstream(failing(HttpError(500))) as upstream:
            (got,) = ask_in_turn(settings("openai", upstream.url, rpm=1), wanted())
            assert len(upstream.inference) == 1
        assert got == Failed("http_error", 0.0, asked=True)

    @tried(max_examples=60, deadline=None)
    @given(
        rpm=st.integers(1, 5),
        pauses=st.lists(st.floats(0, 70, allow_nan=False), min_size=1, max_size=30),
        patience=st.floats(0, 200, allow_nan=False),
    )
    def test_no_minute_holds_more_starts_than_allowed(self, rpm: int, pauses: list[float], patience: float) -> None:
        clock = Clock(now=0.0)
        starts: list[float] = []

        async def scenario() -> None:
            turns = Turns(concurrency=1, rpm=rpm, ticks=clock, sleep=clock.sleep)
            for pause in pauses:
                clock.now += pause
                asked_at = clock.now
                if await turns.take(patience):
                    starts.append(clock.now)
                    assert clock.now - asked_at <= patience + 1e-9
                    turns.release()
                else:
                    # It is only refused where it would have had to wait longer than that.
                    assert len(starts) >= rpm and starts[-rpm] + WINDOW_SECONDS - clock.now > patience

        run(scenario())
        for early, late in zip(starts, starts[rpm:], strict=False):
            assert late - early >= WINDOW_SECONDS - 1e-9

    def test_a_turn_that_is_cancelled_while_it_waits_is_given_back(self) -> None:
        async def scenario() -> None:
            clock = Clock()
            never = asyncio.Event()

            async def sleep(seconds: float) -> None:
                await never.wait()

            turns = Turns(concurrency=1, rpm=1, ticks=clock, sleep=sleep)
            assert await turns.take(100.0)
            turns.release()
            waiting = asyncio.create_task(turns.take(100.0))
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            clock.now += 2 * WINDOW_SECONDS
            assert await turns.take(0.0)

        run(scenario())
