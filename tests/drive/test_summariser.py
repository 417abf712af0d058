"""A model is asked for a summary: what it is sent, what comes back, what it costs, and what its cache is read for."""

from __future__ import annotations

import json
from bisect import bisect_right
from dataclasses import replace
from itertools import accumulate

import pytest
from agents_requests import anthropic, chat
from drive.asking import (
    FORMATS,
    KEY,
    KINDS,
    MODELS,
    PATHS,
    RATES,
    Clock,
    Kind,
    ask,
    run,
    settings,
    summarise,
    transcript,
)
from testing.wires import post

from coldpress.config.summariser_settings import SummariserSettings
from coldpress.drive.summariser import Summariser
from coldpress.drive.summariser_ask import Ask, Declined, Written
from coldpress.measure.prices import cost_usd
from coldpress.measure.rates import Prices, Unpriced
from coldpress.measure.tokens import counter_for, estimate
from coldpress.model.usage import Usage
from coldpress.testing import Delivery, Rules, Say, Script, Step, StrictUpstream, Turn
from coldpress.testing.script import Aside
from coldpress.wire.continuation import Continuation, asked_to_summarise
from coldpress.wire.prefix import Reader

SUMMARY = "Goal: make the parser accept the key."
ANSWERS = Script(closing=Turn((Say(SUMMARY),)))


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_comes_with_its_usage_and_cost(kind: Kind) -> None:
    with StrictUpstream(ANSWERS, rules=Rules(require_key=True)) as upstream:
        (got,) = summarise(settings(kind, upstream.url), ask())
        (served,) = upstream.inference
    assert isinstance(got, Written)
    assert (got.text, got.model) == (SUMMARY, MODELS[kind])
    assert served.usage is not None
    assert got.usage.prompt == served.usage.prompt
    assert got.usage.output == served.usage.output
    assert got.cost_usd == cost_usd(got.usage, RATES)
    assert got.cost_usd


@pytest.mark.parametrize("kind", KINDS)
def test_the_question_holds_instruction_transcript_and_request_in_order(kind: Kind) -> None:
    with StrictUpstream(ANSWERS) as upstream:
        summarise(settings(kind, upstream.url, max_output_tokens=777), ask())
        (sent,) = upstream.inference
    body = sent.request.json
    text = sent.request.body.decode()
    places = [text.index(part) for part in ("Summarise what", "[m1]", "[m2]", "[m3]", "Write the summary now.")]
    assert places == sorted(places)
    assert body["max_tokens"] == 777
    assert body["model"] == MODELS[kind]
    assert body.get("stream") is not True
    header = sent.request.header
    assert (header("x-api-key"), header("authorization")) == (
        (KEY, None) if kind == "anthropic" else (None, f"Bearer {KEY}")
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_longer_transcript_reads_the_cache_of_the_shorter_one(kind: Kind) -> None:
    with StrictUpstream(ANSWERS) as upstream:
        first, second = summarise(settings(kind, upstream.url), ask(60), ask(100))
    assert isinstance(first, Written) and isinstance(second, Written)
    assert not first.usage.read
    # All but the last block, which more text changes; at OpenAI, all but a step and the request.
    shorter, read = first.usage.prompt, second.usage.read
    assert shorter is not None and read is not None
    assert shorter - 3_000 < read <= shorter
    assert read > 12_000


def test_more_blocks_than_the_lookback_reaches_are_read_all_the_same() -> None:
    with StrictUpstream(ANSWERS) as upstream:
        first, second = summarise(
            settings("anthropic", upstream.url, most_input_tokens=10**6, max_usd_per_call=9.0), ask(40), ask(360)
        )
        marked, longer = (exchange.request.body.count(b"cache_control") for exchange in upstream.inference)
    assert isinstance(first, Written) and isinstance(second, Written)
    assert (marked, longer) == (1, 3)
    assert second.usage.read and second.usage.read > 8_000


def test_a_reply_without_usage_has_no_cost() -> None:
    with StrictUpstream(Script(closing=Turn((Say(SUMMARY),)), delivery=Delivery(omit_usage=True))) as upstream:
        (got,) = summarise(settings("openai", upstream.url), ask())
    assert isinstance(got, Written)
    assert got.cost_usd is None
    assert not got.usage.known


def test_steps_of_another_model_are_paid_at_its_price() -> None:
    step = Step("advisor_message", Usage(fresh=1000, output=100), model="other-model")
    script = Script(closing=Turn((Say(SUMMARY),), aside=Aside(steps=(step,))))
    dear = Prices("other-model", ((0, RATES),))
    with StrictUpstream(script) as upstream:
        made = settings("anthropic", upstream.url)
        (unknown,) = summarise(made, ask())
        (known,) = summarise(replace(made, pricing=(*made.pricing, dear)), ask())
    assert isinstance(unknown, Written) and isinstance(known, Written)
    assert unknown.cost_usd is None
    own = cost_usd(known.usage, RATES)
    assert not isinstance(own, Unpriced)
    assert known.cost_usd == pytest.approx(own + (1000 * 3.0 + 100 * 15.0) / 1e6)


class TestNothingIsSent:
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize(
        ("change", "reason"),
        [
            pytest.param({"model": "nobody-knows-this", "pricing": ()}, "unpriced", id="without a price"),
            pytest.param({"api_key": None}, "no_key", id="without the key that was named"),
            pytest.param({"most_input_tokens": 100}, "too_large", id="over the window"),
            pytest.param({"max_usd_per_call": 0.001}, "too_expensive", id="over the price of a call"),
        ],
    )
    def test_and_the_reason_is_kept(self, kind: Kind, change: dict[str, object], reason: str) -> None:
        with StrictUpstream(ANSWERS) as upstream:
            (got,) = summarise(settings(kind, upstream.url, **change), ask())
            assert upstream.exchanges == []
        assert isinstance(got, Declined)
        assert (got.reason, got.cost_usd) == (reason, 0.0)

    @pytest.mark.parametrize("model", ["gpt-5-mini", "claude-sonnet-4-5", "claude-opus-4-7", "nobody-knows-this"])
    def test_what_fills_the_room_by_estimate_is_not_too_large(self, model: str) -> None:
        made = settings("openai", "http://127.0.0.1:9", model=model, pricing=(Prices(model, ((0, RATES),)),))
        summariser = Summariser(replace(made, most_input_tokens=20_000, max_usd_per_call=9.0), clock=Clock())
        room, texts = summariser.most_estimated_tokens, transcript(100)
        assert 9_000 < room <= 18_000
        sizes = list(accumulate(estimate(text) for text in texts))
        fitting = Ask("S", texts[: bisect_right(sizes, room - 2)], "R")
        assert summariser._refusal(summariser._question(fitting)) is None
        over = Ask("S", texts[: bisect_right(sizes, room * 1.25)], "R")
        refusal = summariser._refusal(summariser._question(over))
        assert refusal is not None and refusal.reason == "too_large"

    def test_refusals_of_our_own_do_not_open_the_breaker(self) -> None:
        dear, small = ask(200), ask(1)
        with StrictUpstream(ANSWERS) as upstream:
            made = settings("openai", upstream.url, max_usd_per_call=0.1)
            *refused, last = summarise(made, dear, dear, dear, dear, small)
        assert [got.reason for got in refused if isinstance(got, Declined)] == ["too_expensive"] * 4
        assert isinstance(last, Written)

    def test_where_no_key_was_named_none_is_sent(self) -> None:
        with StrictUpstream(ANSWERS) as upstream:
            (got,) = summarise(settings("openai", upstream.url, api_key=None, needs_key=False), ask())
            assert upstream.inference[0].request.header("authorization") is None
        assert isinstance(got, Written)


def everything(question: Ask) -> tuple[str, ...]:
    return (question.system, *question.texts, question.request)


class TestEstimate:
    def estimate(self, made: SummariserSettings, question: Ask) -> float | Unpriced:
        return Summariser(made, clock=Clock()).estimate_usd(question)

    def test_is_all_input_uncached_and_all_output_used(self) -> None:
        question = ask(20)
        tokens = sum(counter_for(MODELS["openai"]).count(text) for text in everything(question))
        made = settings("openai", "http://127.0.0.1:9", max_output_tokens=2000)
        assert self.estimate(made, question) == pytest.approx((tokens * 3.0 + 2000 * 15.0) / 1e6)

    def test_counts_writes_where_they_cost_more(self) -> None:
        made = settings("anthropic", "http://127.0.0.1:9")
        estimate = self.estimate(made, ask(20))
        tokens = sum(
            counter_for(MODELS["anthropic"]).count(text) for text in (ask(20).system, *ask(20).texts, ask(20).request)
        )
        assert estimate == pytest.approx((tokens * 3.75 + 4096 * 15.0) / 1e6)

    def test_says_what_it_lacks(self) -> None:
        made = settings("openai", "http://127.0.0.1:9", model="nobody-knows-this")
        assert self.estimate(made, ask()) == Unpriced(("rates for model nobody-knows-this",))

    @pytest.mark.parametrize("kind", KINDS)
    def test_is_not_under_the_bill(self, kind: Kind) -> None:
        with StrictUpstream(ANSWERS) as upstream:
            made = settings(kind, upstream.url)
            (got,) = summarise(made, ask(60))
            estimate = self.estimate(made, ask(60))
        assert isinstance(got, Written) and got.cost_usd is not None and not isinstance(estimate, Unpriced)
        assert got.cost_usd <= estimate


def test_a_built_in_price_is_found_by_the_models_name() -> None:
    made = settings("anthropic", "http://127.0.0.1:9", pricing=())
    assert isinstance(Summariser(made, clock=Clock(1_790_000_000.0)).estimate_usd(ask()), float)


def test_a_named_price_table_takes_the_place_of_the_built_in_prices() -> None:
    made = settings("openai", "http://127.0.0.1:9", pricing=(), price_table="reference-2026-07")
    flash = replace(made, model="deepseek-v4-flash", max_output_tokens=1_000_000)
    cost = Summariser(flash, clock=Clock()).estimate_usd(ask())
    assert not isinstance(cost, Unpriced) and cost == pytest.approx(0.28, abs=0.001)
    assert isinstance(Summariser(made, clock=Clock(1_790_000_000.0)).estimate_usd(ask()), Unpriced)


def test_a_proxy_of_the_settings_is_gone_through() -> None:
    with StrictUpstream(ANSWERS) as proxy:
        made = settings("openai", "http://llm.example.com", proxy=proxy.url)
        (got,) = summarise(made, ask())
        (sent,) = proxy.exchanges
    assert isinstance(got, Written)
    assert sent.request.header("host") == "llm.example.com"


def test_openai_itself_is_told_the_limit_in_its_newer_word() -> None:
    made = settings("openai", "https://api.openai.com")
    body = Summariser(made)._question(ask()).body
    assert json.loads(body)["max_completion_tokens"] == 4096
    assert "max_tokens" not in json.loads(body)


def test_a_structural_summariser_asks_nobody() -> None:
    with pytest.raises(ValueError, match="structural, which asks no model"):
        Summariser(SummariserSettings())


def test_a_question_needs_a_transcript_and_a_request() -> None:
    for texts, request in (((), "now"), (("  ",), "now"), (("text",), " ")):
        with pytest.raises(ValueError, match="needs a transcript and a request"):
            Ask("system", texts, request)


def test_closing_twice_and_asking_before_opening() -> None:
    async def scenario() -> None:
        summariser = Summariser(settings("openai", "http://127.0.0.1:9"))
        with pytest.raises(RuntimeError, match=r"open has not been called"):
            await summariser.summarise(ask())
        await summariser.open()
        await summariser.close()
        await summariser.close()

    run(scenario())


class TestConversation:
    """The agent's own request, continued."""

    def agents(self, kind: Kind, *, turns: int = 6, **more: object) -> tuple[bytes, Continuation]:
        made = anthropic(turns, **more) if kind == "anthropic" else chat(turns, **more)
        body = json.dumps({**made, "model": MODELS[kind]}).encode()
        conversation = Reader[None](seed=1).read(body, FORMATS[kind], None).conversation
        return body, asked_to_summarise(conversation, stop=len(conversation.messages), request="Summarise.")

    @pytest.mark.parametrize("kind", KINDS)
    def test_is_sent_as_it_is_and_reads_the_agents_cache(self, kind: Kind) -> None:
        body, continuation = self.agents(kind)
        with StrictUpstream(ANSWERS) as upstream:
            assert post(upstream.url, PATHS[kind], body).status == 200
            made = settings(kind, upstream.url, prefix="conversation", max_usd_per_call=2.0)
            (got,) = summarise(made, ask(continuation=continuation))
            assert upstream.inference[1].request.body == continuation.body
        assert isinstance(got, Written)
        assert got.text == SUMMARY
        assert got.usage.prompt is not None
        assert (got.usage.read or 0) > 0.8 * got.usage.prompt

    def test_is_left_aside_where_the_settings_want_the_transcript(self) -> None:
        _, continuation = self.agents("anthropic")
        with StrictUpstream(ANSWERS) as upstream:
            summarise(settings("anthropic", upstream.url), ask(continuation=continuation))
            assert b"Write the summary now." in upstream.inference[0].request.body

    def test_of_another_format_is_left_aside(self) -> None:
        _, continuation = self.agents("anthropic")
        with StrictUpstream(ANSWERS) as upstream:
            made = settings("openai", upstream.url, prefix="conversation")
            (got,) = summarise(made, ask(continuation=continuation))
        assert isinstance(got, Written)
        assert got.model == MODELS["openai"]

    def test_brings_the_headers_that_say_how_it_is_read_and_no_other(self) -> None:
        _, continuation = self.agents("anthropic")
        headers = (("Anthropic-Beta", "a"), ("anthropic-beta", "b"), ("x-api-key", "the agent's"), ("cookie", "c"))
        with StrictUpstream(ANSWERS) as upstream:
            made = settings("anthropic", upstream.url, prefix="conversation", max_usd_per_call=2.0)
            summarise(made, ask(continuation=continuation, headers=headers), ask(headers=headers))
            sent, transcript_sent = (exchange.request for exchange in upstream.inference)
        assert sent.header("anthropic-beta") == "a,b"
        assert sent.header("x-api-key") == KEY
        assert sent.header("cookie") is None
        assert transcript_sent.header("anthropic-beta") is None

    def test_is_priced_by_the_agents_model_limit_and_prompt(self) -> None:
        _, continuation = self.agents("openai", max_tokens=32_000)
        question = ask(continuation=continuation, prompt_tokens=100_000)
        made = settings("openai", "http://127.0.0.1:9", prefix="conversation", most_input_tokens=10)
        summariser = Summariser(made, clock=Clock())
        assert summariser.estimate_usd(question) == pytest.approx((100_000 * 3.0 + 32_000 * 15.0) / 1e6)
        (got,) = summarise(made, question)
        assert isinstance(got, Declined)
        assert got.reason == "too_expensive"  # not too_large: the agent's model has taken this prompt before

    def test_is_counted_from_its_bytes_where_nobody_has_counted_it(self) -> None:
        _, continuation = self.agents("openai", max_tokens=2000)
        made = settings("openai", "http://127.0.0.1:9", prefix="conversation")
        tokens = counter_for(MODELS["openai"]).count(continuation.body.decode())
        estimate = Summariser(made, clock=Clock()).estimate_usd(ask(continuation=continuation))
        assert estimate == pytest.approx((tokens * 3.0 + 2000 * 15.0) / 1e6)

    def test_long_lived_marks_are_priced_as_such(self) -> None:
        _, short = self.agents("anthropic")
        made = settings("anthropic", "http://127.0.0.1:9", prefix="conversation")
        long = replace(short, body=short.body.replace(b'{"type": "ephemeral"}', b'{"type":"ephemeral","ttl":"1h"}'))
        costs = [
            Summariser(made, clock=Clock()).estimate_usd(ask(continuation=one, prompt_tokens=10_000))
            for one in (short, long)
        ]
        assert costs == pytest.approx([(10_000 * price + 8000 * 15.0) / 1e6 for price in (3.75, 6.0)])

    def test_a_model_without_a_price_is_not_asked(self) -> None:
        _, continuation = self.agents("openai")
        with StrictUpstream(ANSWERS) as upstream:
            made = settings("openai", upstream.url, prefix="conversation")
            (got,) = summarise(made, ask(continuation=replace(continuation, model="nobody-knows-this")))
            assert upstream.exchanges == []
        assert isinstance(got, Declined)
        assert got.reason == "unpriced"
