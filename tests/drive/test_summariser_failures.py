"""A model that fails: attempts, waits, time limits, the breaker, what is paid all the same, and that no key is told."""

from __future__ import annotations

import asyncio
import logging
import pickle
from datetime import UTC, datetime
from email.utils import format_datetime

import pytest
from drive.asking import KEY, KINDS, LINE, RATES, Clock, Kind, ask, run, settings, summarise
from gateway import world

from coldpress.drive.summariser import Summariser
from coldpress.drive.summariser_ask import Declined, Written
from coldpress.drive.summariser_post import NotAnswered, Posted
from coldpress.drive.summariser_reply import read_reply, wait_seconds
from coldpress.measure.prices import Prices, cost_usd
from coldpress.testing import (
    BreakOff,
    Delivery,
    Disconnect,
    Fault,
    HttpError,
    Say,
    Script,
    StrictUpstream,
    Turn,
    closed_port_url,
)

GOOD = Turn((Say("A summary of some length."),))


def failing(*faults: Fault | None) -> Script:
    return Script(closing=GOOD, faults={number: fault for number, fault in enumerate(faults) if fault is not None})


def priced(model: str) -> Prices:
    return Prices(model, ((0, RATES),))


def declined(got: Written | Declined) -> Declined:
    assert isinstance(got, Declined), got
    return got


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("fault", "waited", "cost_is_known"),
    [
        pytest.param(HttpError(429, retry_after_seconds=7), 7, True, id="429 with the seconds to wait"),
        pytest.param(HttpError(429), 1, True, id="429 without"),
        pytest.param(HttpError(500), 1, True, id="500"),
        pytest.param(HttpError(529), 1, True, id="529 overloaded"),
        pytest.param(Disconnect(), 1, False, id="no answer at all"),
        pytest.param(BreakOff(after=20), 1, False, id="half an answer"),
    ],
)
def test_a_second_attempt_follows(kind: Kind, fault: Fault, waited: int, cost_is_known: bool) -> None:
    clock = Clock()
    before = clock.now
    with StrictUpstream(failing(fault)) as upstream:
        (got,) = summarise(settings(kind, upstream.url), ask(), clock=clock)
        assert len(upstream.inference) == 2
        assert upstream.inference[0].request.body == upstream.inference[1].request.body
    assert isinstance(got, Written)
    assert clock.now - before == got.seconds == waited
    # Half an answer may have been billed, and nobody said how much.
    assert (got.cost_usd is not None) is cost_is_known


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("status", [400, 401, 403, 404, 413])
def test_other_refusals_are_final(kind: Kind, status: int) -> None:
    with StrictUpstream(failing(HttpError(status))) as upstream:
        (got,) = summarise(settings(kind, upstream.url), ask())
        assert len(upstream.inference) == 1
    assert (declined(got).reason, got.cost_usd) == ("http_error", 0.0)
    assert f"answered {status}" in declined(got).detail


def test_a_redirect_is_not_followed_and_takes_the_key_nowhere() -> None:
    with StrictUpstream(failing()) as elsewhere:
        moved = f"HTTP/1.1 307 Moved\r\nlocation: {elsewhere.url}/v1/chat/completions\r\ncontent-length: 0\r\n\r\n"

        async def scenario() -> Written | Declined:
            async with world.upstream(world.closing(moved.encode())) as here:
                made = settings("openai", f"http://127.0.0.1:{here.port}")
                async with Summariser(made) as summariser:
                    return await summariser.summarise(ask())

        got = declined(run(scenario()))
        assert elsewhere.exchanges == []
    assert got.reason == "http_error"
    assert got.detail.endswith("answered 307")


def test_attempts_are_bounded_and_the_waits_grow() -> None:
    clock = Clock()
    before = clock.now
    with StrictUpstream(failing(*[HttpError(503)] * 9)) as upstream:
        (got,) = summarise(settings("openai", upstream.url, attempts=4), ask(), clock=clock)
        assert len(upstream.inference) == 4
    assert clock.now - before == 1 + 2 + 4
    assert declined(got).reason == "http_error"


def test_a_wait_that_is_longer_than_the_time_left_is_not_begun() -> None:
    clock = Clock()
    before = clock.now
    with StrictUpstream(failing(HttpError(429, retry_after_seconds=20))) as upstream:
        (got,) = summarise(settings("anthropic", upstream.url, timeout_seconds=20.0), ask(), clock=clock)
        assert len(upstream.inference) == 1
    assert clock.now == before
    assert "the next attempt would be 20 s later" in declined(got).detail


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        pytest.param("12", 12.0, id="seconds"),
        pytest.param(format_datetime(datetime.fromtimestamp(1_000_030, UTC), usegmt=True), 30.0, id="a date"),
        pytest.param(format_datetime(datetime.fromtimestamp(999_000, UTC), usegmt=True), 0.0, id="a date gone by"),
        pytest.param("soon", 2.0, id="neither"),
        pytest.param("-5", 2.0, id="a negative number"),
        pytest.param(None, 2.0, id="nothing"),
    ],
)
def test_retry_after(header: str | None, expected: float) -> None:
    assert wait_seconds(Posted(429, header, b""), 2, now=1_000_000.0) == expected
    assert wait_seconds(NotAnswered("gone", sent=True), 3, now=1_000_000.0) == 4.0


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_that_is_late_is_not_waited_for(kind: Kind) -> None:
    late = Script(closing=GOOD, delivery=Delivery(first_byte_delay_seconds=1.0))
    with StrictUpstream(late) as upstream:
        (got,) = summarise(settings(kind, upstream.url, timeout_seconds=0.15), ask())
        assert len(upstream.inference) == 1
    assert declined(got).reason == "timeout"
    assert got.cost_usd is None  # the provider may bill it


def test_nobody_listening() -> None:
    (got,) = summarise(settings("openai", closed_port_url()), ask())
    assert (declined(got).reason, got.cost_usd) == ("http_error", 0.0)
    assert "could not be connected to" in declined(got).detail


class TestPaidAndNotUsed:
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize(
        ("turn", "reason"),
        [
            pytest.param(Turn((Say("Half a summ"),), stop_reason="max_tokens"), "stopped_early", id="cut at the limit"),
            pytest.param(Turn((Say("I cannot"),), stop_reason="refusal"), "refused_by_provider", id="refused"),
            pytest.param(Turn((Say(""),)), "bad_reply", id="empty"),
            pytest.param(Turn((Say("  \n"),)), "bad_reply", id="blank"),
        ],
    )
    def test_the_cost_is_told(self, kind: Kind, turn: Turn, reason: str) -> None:
        with StrictUpstream(Script(closing=turn)) as upstream:
            (got,) = summarise(settings(kind, upstream.url), ask())
            assert len(upstream.inference) == 1  # asking the same again would be paid again
        assert declined(got).reason == reason
        assert got.usage.known
        assert got.cost_usd == cost_usd(got.usage, RATES)
        assert got.cost_usd

    def test_a_call_of_a_tool_is_no_summary(self) -> None:
        from coldpress.wire.answer import read_answer

        body = (
            b'{"content":[{"type":"text","text":"I look first."},{"type":"tool_use","id":"t","name":"x","input":{}}],'
        )
        assert read_answer("anthropic", body + b'"stop_reason":"tool_use"}').ending == "other"
        assert read_answer("anthropic", body + b'"stop_reason":"end_turn"}').ending == "other"

    @pytest.mark.parametrize(
        "body",
        [b"", b"<html>", b"[]", b'{"error":{"message":"busy"}}', b'{"choices":[]}', b'{"choices":[{"message":null}]}'],
    )
    def test_a_reply_of_another_shape_costs_nobody_knows_what(self, body: bytes) -> None:
        got = read_reply("openai_chat", body, model="m", prices_of=priced, seconds=1.0)
        assert (declined(got).reason, got.cost_usd) == ("bad_reply", None)


class TestBreaker:
    def test_it_opens_after_three_and_one_trial_closes_it(self) -> None:
        clock = Clock()
        with StrictUpstream(failing(*[HttpError(400)] * 3)) as upstream:

            async def scenario() -> None:
                made = settings("openai", upstream.url)
                async with Summariser(made, clock=clock, ticks=clock, sleep=clock.sleep) as summariser:
                    for _ in range(3):
                        assert declined(await summariser.summarise(ask())).reason == "http_error"
                    shut = declined(await summariser.summarise(ask()))
                    assert (shut.reason, shut.cost_usd, len(upstream.inference)) == ("breaker_open", 0.0, 3)
                    assert "300 s" in shut.detail
                    clock.now += 299.9
                    assert declined(await summariser.summarise(ask())).reason == "breaker_open"
                    clock.now += 0.1
                    assert isinstance(await summariser.summarise(ask()), Written)
                    assert isinstance(await summariser.summarise(ask()), Written)

            run(scenario())

    def test_a_failed_trial_shuts_it_again_for_the_whole_rest(self) -> None:
        clock = Clock()
        with StrictUpstream(failing(*[HttpError(400)] * 4)) as upstream:

            async def scenario() -> None:
                made = settings("openai", upstream.url)
                async with Summariser(made, clock=clock, ticks=clock, sleep=clock.sleep) as summariser:
                    for _ in range(3):
                        await summariser.summarise(ask())
                    clock.now += 300
                    assert declined(await summariser.summarise(ask())).reason == "http_error"
                    clock.now += 299
                    assert declined(await summariser.summarise(ask())).reason == "breaker_open"
                    assert len(upstream.inference) == 4

            run(scenario())

    def test_a_success_between_failures_keeps_it_closed(self) -> None:
        bad = HttpError(400)
        with StrictUpstream(failing(bad, bad, None, bad, bad, None)) as upstream:
            got = summarise(settings("openai", upstream.url), *[ask()] * 6)
        assert [isinstance(one, Written) for one in got] == [False, False, True, False, False, True]

    def test_answers_that_are_paid_and_useless_open_it_too(self) -> None:
        with StrictUpstream(Script(closing=Turn((Say("x"),), stop_reason="max_tokens"))) as upstream:
            got = summarise(settings("anthropic", upstream.url), *[ask()] * 4)
            assert len(upstream.inference) == 3
        assert [declined(one).reason for one in got] == ["stopped_early"] * 3 + ["breaker_open"]

    def test_a_rest_lets_one_question_through_at_a_time_and_one_given_up_says_nothing(self) -> None:
        clock = Clock()
        late = Delivery(first_byte_delay_seconds=0.3)
        script = Script(closing=Turn(GOOD.parts, delivery=late), faults=failing(*[HttpError(400)] * 3).faults)
        with StrictUpstream(script) as upstream:

            async def scenario() -> None:
                made = settings("openai", upstream.url)
                async with Summariser(made, clock=clock, ticks=clock, sleep=clock.sleep) as summariser:
                    for _ in range(3):
                        await summariser.summarise(ask())
                    clock.now += 300
                    trial = asyncio.ensure_future(summariser.summarise(ask()))
                    while len(upstream.inference) < 4:
                        await asyncio.sleep(0.005)
                    assert declined(await summariser.summarise(ask())).reason == "breaker_open"
                    trial.cancel()
                    with pytest.raises(asyncio.CancelledError):
                        await trial
                    assert isinstance(await summariser.summarise(ask()), Written)

            run(scenario())


@pytest.mark.parametrize("kind", KINDS)
def test_neither_the_key_nor_the_conversation_is_told_anywhere(kind: Kind, caplog: pytest.LogCaptureFixture) -> None:
    """An endpoint that repeats the key and the question in its errors, which some do in part."""
    echo = HttpError(400, message=f"Incorrect API key provided: {KEY}. You sent: {LINE}", kind=f"bad {KEY}")
    caplog.set_level(logging.DEBUG)
    with StrictUpstream(failing(echo)) as upstream:
        made = settings(kind, upstream.url)
        failed, written = summarise(made, ask(), ask())
        assert (
            KEY.encode()
            in dict(upstream.inference[0].request.headers)
            .get("x-api-key" if kind == "anthropic" else "authorization", "")
            .encode()
        )
    records = "\n".join(str(vars(record)) for record in caplog.records)
    shown = "\n".join((records, repr(made), repr(failed), repr(written), repr(ask()), str(Summariser(made))))
    assert "no summary from the model" in shown and "summary written" in shown
    assert KEY not in shown
    assert LINE not in shown and "A summary of some length" not in shown
    with pytest.raises(TypeError, match="a secret is not written anywhere"):
        pickle.dumps(made)


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_failure_since_the_last_answer_is_a_warning(kind: Kind, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="coldpress.drive.summariser")
    bad = HttpError(401)
    with StrictUpstream(failing(bad, bad, None, bad)) as upstream:
        summarise(settings(kind, upstream.url), *(ask() for _ in range(4)))
    told = [(record.levelname, getattr(record, "reason", None)) for record in caplog.records]
    assert told == [
        ("WARNING", "http_error"),
        ("INFO", "http_error"),
        ("INFO", None),
        ("WARNING", "http_error"),
    ]
    shown = "\n".join(str(vars(record)) for record in caplog.records if record.levelno == logging.WARNING)
    assert "401" in shown and KEY not in shown and LINE not in shown


def test_what_the_settings_forbid_is_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="coldpress.drive.summariser")
    summarise(settings("openai", "http://127.0.0.1:9", max_usd_per_call=0.0), ask())
    assert [record.levelname for record in caplog.records] == ["INFO"]
