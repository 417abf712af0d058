"""A cheaper model summarises results: what it is sent, what comes back and is kept, what it costs, and who pays."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from pathlib import Path

import pytest
from drive.asking import KEY, KINDS, RATES, Kind, run
from drive.offloading import (
    ANSWER,
    MODEL,
    USUAL,
    Held,
    ask_in_turn,
    chat_text,
    made,
    opened,
    settings,
    text,
    wanted,
)

from coldpress.config.offload_settings import OffloadSettings
from coldpress.drive.offload import Failed, Made, Offload
from coldpress.engine.offload_prompt import INSTRUCTION
from coldpress.engine.without_credentials import LEFT_OUT
from coldpress.measure.prices import Prices, Rates, Unpriced, cost_usd
from coldpress.measure.tokens import estimate
from coldpress.model.kept import Kept
from coldpress.model.usage import Usage
from coldpress.stores.memory import MemoryStore
from coldpress.stores.sqlite import SqliteStore
from coldpress.testing import Delivery, Rules, Say, Script, StrictUpstream, Turn

SECRET = "ghp_aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hI6"


@pytest.mark.parametrize("kind", KINDS)
def test_a_summary_comes_with_what_it_cost(kind: Kind) -> None:
    with StrictUpstream(USUAL, rules=Rules(require_key=True)) as upstream:
        (got,) = ask_in_turn(settings(kind, upstream.url), wanted())
        (served,) = upstream.inference
    one = made(got)
    assert (one.text, one.cached, one.asked, one.dropped) == (ANSWER, False, True, 0)
    assert served.usage is not None
    assert (one.usage.prompt, one.usage.output) == (served.usage.prompt, served.usage.output)
    assert one.usd == cost_usd(one.usage, RATES)
    assert one.usd


@pytest.mark.parametrize("kind", KINDS)
def test_the_question_holds_purpose_call_and_result_and_nothing_is_marked_for_the_cache(kind: Kind) -> None:
    long = wanted(text=text(lines=600))
    with StrictUpstream(USUAL) as upstream:
        made(*ask_in_turn(settings(kind, upstream.url, max_tokens=300), long))
        (sent,) = upstream.inference
    body = sent.request.json
    said = chat_text(body)
    places = [said.index(part) for part in ("where parse is used", 'grep {"pattern": "parse"}', "src/parse.py:42:def")]
    assert places == sorted(places)
    assert "src/other/mod_599.py:599:" in said
    assert (body["model"], body["max_tokens"]) == (MODEL, 300)
    assert "thinking" not in body
    assert b"cache_control" not in sent.request.body
    assert INSTRUCTION.splitlines()[0].encode() in sent.request.body
    header = sent.request.header
    assert (header("x-api-key"), header("authorization")) == (
        (KEY, None) if kind == "anthropic" else (None, f"Bearer {KEY}")
    )


@pytest.mark.parametrize("kind", KINDS)
def test_thinking_is_switched_off_where_the_settings_say_so(kind: Kind) -> None:
    with StrictUpstream(USUAL) as upstream:
        made(*ask_in_turn(settings(kind, upstream.url, switches_thinking_off=True), wanted()))
        (sent,) = upstream.inference
    assert sent.request.json["thinking"] == {"type": "disabled"}


@pytest.mark.parametrize("kind", KINDS)
def test_no_credential_of_a_result_leaves(kind: Kind) -> None:
    leaky = wanted(text=text() + f"src/deploy.sh:3:export TOKEN={SECRET}\n", guidance=f"use {SECRET} for it")
    with StrictUpstream(USUAL) as upstream:
        made(*ask_in_turn(settings(kind, upstream.url), leaky))
        (sent,) = upstream.inference
    assert SECRET not in sent.request.body.decode()
    assert LEFT_OUT in chat_text(sent.request.json)


def test_what_does_not_stand_in_the_result_is_dropped_and_counted() -> None:
    answer = f"{ANSWER}\nNothing else matters."
    script = Script(closing=Turn((Say(f"{answer} It is also used in src/ghost.py."),)))
    with StrictUpstream(script) as upstream:
        (got,) = ask_in_turn(settings("openai", upstream.url), wanted())
    assert (made(got).text, made(got).dropped) == (answer, 1)


class TestReuse:
    def test_a_summary_is_asked_for_once_and_is_then_free_and_the_same(self) -> None:
        store = MemoryStore()
        with StrictUpstream(USUAL) as upstream:
            first, second = map(made, ask_in_turn(settings("openai", upstream.url), wanted(), wanted(), store=store))
            assert len(upstream.inference) == 1
        assert not first.cached and first.usd and first.asked
        assert second == Made(first.text, 0.0, cached=True)

    def test_it_is_found_over_a_restart_with_the_same_bytes(self, tmp_path: Path) -> None:
        one = wanted(7)
        with StrictUpstream(USUAL) as upstream:
            chosen = settings("anthropic", upstream.url)
            with SqliteStore(tmp_path / "s.sqlite3") as store:
                first = made(*ask_in_turn(chosen, one, store=store))
            with SqliteStore(tmp_path / "s.sqlite3") as store:
                assert Offload(chosen, store).kept([one.identity]) == {one.identity: Made(first.text, 0.0, True)}
                again = made(*ask_in_turn(chosen, one, store=store))
            assert len(upstream.inference) == 1
        assert (first.cached, again.cached) == (False, True)
        assert again.text.encode() == first.text.encode()

    def test_another_process_that_was_first_is_followed(self) -> None:
        store, one, held = MemoryStore(), wanted(), Held()
        with StrictUpstream(held.script, sleep=held.sleep) as upstream:
            chosen = settings("openai", upstream.url)

            async def scenario() -> tuple[Made, Made]:
                async with opened(chosen, store) as offload:
                    asking = asyncio.create_task(offload.ask([one]))
                    await held.came()
                    packed = '{"text":"parse is at line 42.","dropped":1,"model":"m","usd":0.1,"usage":{}}'
                    store.keep([Kept(one.identity, "view", packed)])
                    held.let_go()
                    return made((await asking)[one.identity]), made((await offload.ask([one]))[one.identity])

            first, second = run(scenario())
        assert first.text == second.text == "parse is at line 42."
        assert first.usd and not first.cached  # it was paid for all the same
        assert second.cached and second.usd == 0.0

    def test_what_another_version_packed_is_not_found(self) -> None:
        store, one = MemoryStore(), wanted()
        store.keep([Kept(one.identity, "view", "a summary"), Kept(bytes(32), "call", '{"text":"x"}')])
        offload = Offload(settings("openai", "http://127.0.0.1:1"), store)
        assert offload.kept([one.identity, bytes(32)]) == {}

    def test_a_store_that_cannot_be_read_costs_a_question_and_no_more(self) -> None:
        store = MemoryStore()
        store.close()
        with StrictUpstream(USUAL) as upstream:
            first, second = ask_in_turn(settings("openai", upstream.url), wanted(), wanted(), store=store)
            assert len(upstream.inference) == 1
        assert (made(first).cached, made(second).cached) == (False, True)

    def test_the_same_question_twice_at_once_is_put_once_and_paid_once(self) -> None:
        held = Held()
        one, two = wanted(), wanted(1)
        with StrictUpstream(held.script, sleep=held.sleep) as upstream:

            async def scenario() -> tuple[dict[bytes, Made | Failed], dict[bytes, Made | Failed]]:
                async with opened(settings("openai", upstream.url)) as offload:
                    asking = [
                        asyncio.create_task(offload.ask([one, one])),
                        asyncio.create_task(offload.ask([one, two])),
                    ]
                    await held.came(2)
                    held.let_go()
                    first, second = await asyncio.gather(*asking)
                    assert offload.take_unbilled() == ()
                    return first, second

            first, second = run(scenario())
            assert len(upstream.inference) == 2
        both = [made(first[one.identity]), made(second[one.identity])]
        assert both[0].text == both[1].text
        # Neither was found anywhere: it is no reuse, though only one of them pays.
        assert [answer.cached for answer in both] == [False, False]
        assert sorted(answer.usd or 0.0 for answer in both)[0] == 0.0
        assert sum(answer.asked for answer in both) == 1
        assert made(second[two.identity]).usd


class TestLateAnswers:
    def test_one_that_comes_late_is_kept_and_billed_once(self) -> None:
        held, one = Held(), wanted()
        with StrictUpstream(held.script, sleep=held.sleep) as upstream:

            async def scenario() -> None:
                async with opened(settings("openai", upstream.url)) as offload:
                    asking = asyncio.create_task(offload.ask([one], patience_seconds=0.05))
                    await held.came()
                    assert (await asking)[one.identity] == Failed("late")
                    assert offload.take_unbilled() == ()
                    joined = asyncio.create_task(offload.ask([one], patience_seconds=0.05))
                    assert (await joined)[one.identity] == Failed("late")
                    held.let_go()
                    while not (bills := offload.take_unbilled()):
                        await asyncio.sleep(0)
                    (bill,) = bills
                    assert (bill.identity, bill.reason) == (one.identity, "")
                    assert bill.usd == cost_usd(bill.usage, RATES)
                    assert offload.take_unbilled() == ()
                    assert made((await offload.ask([one]))[one.identity]) == Made(ANSWER, 0.0, cached=True)

            run(scenario())
            assert len(upstream.inference) == 1

    def test_a_request_that_is_cancelled_leaves_its_question_and_its_bill_behind(self) -> None:
        held, one = Held(), wanted()
        with StrictUpstream(held.script, sleep=held.sleep) as upstream:

            async def scenario() -> None:
                async with opened(settings("openai", upstream.url)) as offload:
                    asking = asyncio.create_task(offload.ask([one]))
                    await held.came()
                    asking.cancel()
                    with pytest.raises(asyncio.CancelledError):
                        await asking
                    held.let_go()
                    while not (bills := offload.take_unbilled()):
                        await asyncio.sleep(0)
                    assert bills[0].usd
                    assert offload.kept([one.identity])[one.identity].text == ANSWER

            run(scenario())

    def test_what_is_given_up_at_the_end_has_no_known_cost(self) -> None:
        held, one = Held(), wanted()
        with StrictUpstream(held.script, sleep=held.sleep) as upstream:

            async def scenario() -> None:
                async with opened(settings("openai", upstream.url)) as offload:
                    asking = asyncio.create_task(offload.ask([one], patience_seconds=0.05))
                    await held.came()
                    await asking
                    await offload.close()
                    (bill,) = offload.take_unbilled()
                    assert (bill.reason, bill.usd) == ("late", None)

            run(scenario())
            held.let_go()


class TestCost:
    @pytest.mark.parametrize("kind", KINDS)
    def test_a_reply_without_usage_has_no_known_cost_and_is_kept(self, kind: Kind) -> None:
        script = replace(USUAL, delivery=Delivery(omit_usage=True))
        with StrictUpstream(script) as upstream:
            first, second = map(made, ask_in_turn(settings(kind, upstream.url), wanted(), wanted()))
        assert first.usd is None and not first.usage.known
        assert second.usd == 0.0 and second.cached

    def test_the_least_that_a_summary_can_cost_is_no_more_than_what_it_costs(self) -> None:
        one = wanted(text=text(lines=400))
        with StrictUpstream(USUAL) as upstream:
            chosen = settings("openai", upstream.url)
            least = Offload(chosen, MemoryStore()).expected_usd(estimate(one.text))
            got = made(*ask_in_turn(chosen, one))
        assert isinstance(least, float) and got.usd is not None
        assert 0.6 * got.usd < least < got.usd

    def test_it_is_the_result_fresh_and_the_instruction_at_the_cheapest_rate(self) -> None:
        rates = Rates(2.0, 0.1, 2.5, None, 8.0, "settings", "undated")
        chosen = settings("openai", "http://127.0.0.1:1", pricing=(Prices(MODEL, ((0, rates),)),))
        least = Offload(chosen, MemoryStore()).expected_usd(10_000)
        assert least == pytest.approx((10_000 * 2.0 + estimate(INSTRUCTION) * 0.1 + 5 * 8.0) / 1e6)

    def test_without_a_price_it_is_not_known(self) -> None:
        chosen = settings("openai", "http://127.0.0.1:1", model="nobody-knows-this", pricing=())
        assert isinstance(Offload(chosen, MemoryStore()).expected_usd(1000), Unpriced)


class TestNothingIsSent:
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize(
        ("change", "reason"),
        [
            pytest.param({"api_key": None}, "no_key", id="without a key"),
            pytest.param({"model": "nobody-knows-this", "pricing": ()}, "unpriced", id="without a price"),
            pytest.param({"max_input_bytes": 1000}, "too_large", id="over the longest result"),
        ],
    )
    def test_and_the_reason_is_kept(self, kind: Kind, change: dict[str, object], reason: str) -> None:
        with StrictUpstream(USUAL) as upstream:
            (got,) = ask_in_turn(settings(kind, upstream.url, **change), wanted())
            assert upstream.exchanges == []
        assert got == Failed(reason)  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        ("change", "reason"),
        [
            pytest.param({"text": text(lines=2)}, "too_small", id="a short result"),
            pytest.param(
                {"text": text() + 'password:\n  "q8Zr2vLmT0x#"\n'}, "holds_secret", id="a credential over lines"
            ),
        ],
    )
    def test_for_results_that_may_not_go_or_are_not_worth_it(self, change: dict[str, object], reason: str) -> None:
        with StrictUpstream(USUAL) as upstream:
            (got,) = ask_in_turn(settings("openai", upstream.url), wanted(**change))
            assert upstream.exchanges == []
        assert got == Failed(reason)  # type: ignore[arg-type]

    def test_without_a_key_a_server_of_this_machine_is_asked_all_the_same(self) -> None:
        with StrictUpstream(USUAL) as upstream:
            made(*ask_in_turn(settings("openai", upstream.url, api_key=None, needs_key=False), wanted()))
            assert upstream.inference[0].request.header("authorization") is None

    def test_nothing_is_wanted_of_results_out_of_bounds(self) -> None:
        offload = Offload(settings("openai", "http://127.0.0.1:1", max_input_bytes=8_000), MemoryStore())
        given = wanted()
        more = {"tool": given.tool, "arguments": given.arguments, "guidance": given.guidance}
        assert offload.wanted(given.key, text=given.text, **more) == given
        assert offload.wanted(given.key, text=text(lines=2), **more) is None
        assert offload.wanted(given.key, text=text(lines=900), **more) is None

    def test_nor_by_settings_that_are_not_enabled(self) -> None:
        with pytest.raises(ValueError, match=r"offload\.enabled is false"):
            Offload(OffloadSettings(), MemoryStore())


def test_neither_the_key_nor_a_text_is_ever_told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with StrictUpstream(USUAL) as upstream:
        chosen = settings("openai", upstream.url)
        got = ask_in_turn(chosen, wanted())
    told = "\n".join([repr(chosen), repr(got), repr(wanted()), *(str(vars(record)) for record in caplog.records)])
    assert "result summarised" in told
    for hidden in (KEY, ANSWER, "parse_nothing", "where parse is used"):
        assert hidden not in told


def test_usage_adds_up_over_what_was_billed() -> None:
    with StrictUpstream(USUAL) as upstream:
        got = [made(one) for one in ask_in_turn(settings("openai", upstream.url), wanted(1), wanted(2), wanted(1))]
        served = [exchange.usage for exchange in upstream.inference]
    total = Usage()
    for one in got:
        total = total.plus(one.usage)
    assert total.prompt == sum(usage.prompt or 0 for usage in served if usage is not None)
    assert [one.asked for one in got] == [True, True, False]
