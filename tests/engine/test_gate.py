"""When aged results go: the reasons, the rule for warm caches, cold points, and paid calls that are never in vain."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldpress.engine.gate import Ruling, Terms, preflight, settle, worth
from coldpress.measure.economics import Prompt, Removal
from coldpress.measure.rates import Prices, Rates, Unpriced
from coldpress.model.records import CutReason

MTOK = 1_000_000


def flat(read: float, write: float, long: float | None = None) -> Prices:
    return Prices("test", ((0, Rates(write, read, write, long, 0.0, "a list", "2026-11-30")),))


OPUS_5 = flat(0.5, 6.25, 10)
V4_PRO = flat(0.003625, 0.435)
WARM = Terms(routes=(OPUS_5,), requests=30, state="warm")
COLD = replace(WARM, state="cold")
LONG_AGO = 10_000

# 20,000 tokens can go and 50,000 behind them would be written again: 29 requests pay on Opus 5, as the table says.
PROMPT = Prompt(100_000, 100_000)
REMOVALS = [Removal(30_000, 20_000, waited=LONG_AGO)]


@pytest.mark.parametrize(
    ("terms", "waited", "reason"),
    [
        pytest.param(replace(WARM, requests=29), LONG_AGO, "pays", id="29 requests pay, and waiting has cost enough"),
        pytest.param(replace(WARM, requests=28), LONG_AGO, "does_not_pay", id="28 requests do not pay"),
        pytest.param(replace(WARM, requests=29), 0, "waiting", id="it would pay, but has not waited"),
        pytest.param(WARM, 11, "waiting", id="11 requests cost less than two fifths of the rewrite"),
        pytest.param(WARM, 12, "pays", id="12 requests cost two fifths of the rewrite"),
        pytest.param(replace(WARM, rent_share=1.0), 28, "waiting", id="28 requests cost less than the rewrite"),
        pytest.param(replace(WARM, rent_share=1.0), 29, "pays", id="29 requests cost the rewrite"),
        pytest.param(replace(WARM, rent_share=None), 0, "pays", id="without the rule whatever pays goes at once"),
        pytest.param(replace(WARM, rent_share=0.0), 0, "pays", id="a share of nothing is always paid"),
        pytest.param(replace(WARM, long=True), LONG_AGO, "does_not_pay", id="long writes cost more: 30 do not pay"),
        pytest.param(replace(WARM, long=True, requests=48), LONG_AGO, "pays", id="48 pay for a long write"),
        pytest.param(replace(WARM, routes=(OPUS_5, V4_PRO)), LONG_AGO, "does_not_pay", id="the worst route decides"),
        pytest.param(replace(WARM, routes=(flat(0, 0),)), LONG_AGO, "does_not_pay", id="a free server gains nothing"),
        pytest.param(replace(WARM, routes=(flat(1, 1),), requests=1), 0, "pays", id="a server without a cache"),
    ],
)
def test_a_warm_batch_goes_where_it_pays_and_the_rent_is_paid(terms: Terms, waited: int, reason: CutReason) -> None:
    ruling = settle(PROMPT, [REMOVALS[0]._replace(waited=waited)], terms)
    assert ruling.cut.reason == reason
    assert ruling.start == (0 if reason == "pays" else None)
    assert ruling.cut.applied == (1 if reason == "pays" else 0)
    assert (ruling.cut.candidates, ruling.cut.removed_tokens, ruling.cut.rewrite_tokens) == (1, 20_000, 50_000)


UNKNOWN = [
    pytest.param(PROMPT, replace(WARM, routes=Unpriced(("rates",))), "unpriced", id="no prices"),
    pytest.param(PROMPT, replace(WARM, routes=()), "unpriced", id="no route"),
    pytest.param(PROMPT, replace(WARM, long=True, routes=(V4_PRO,)), "unpriced", id="no price of long writes"),
    pytest.param(PROMPT, replace(WARM, long=True, routes=(OPUS_5, V4_PRO)), "unpriced", id="one route half priced"),
    pytest.param(None, WARM, "unknown_usage", id="no reported usage"),
    pytest.param(PROMPT, replace(WARM, state="unknown"), "unknown_cache", id="no belief about the cache"),
    pytest.param(PROMPT, replace(WARM, requests=None), "unknown_requests", id="no forecast"),
    pytest.param(PROMPT, replace(WARM, requests=float("nan")), "unknown_requests", id="a forecast that is no number"),
]


@pytest.mark.parametrize(("prompt", "terms", "reason"), UNKNOWN)
@pytest.mark.parametrize("cold", [False, True], ids=["as it is", "in a cold cache"])
def test_with_anything_unknown_nothing_is_done(
    prompt: Prompt | None, terms: Terms, reason: CutReason, cold: bool
) -> None:
    if cold and terms.state == "warm":
        terms = replace(terms, state="cold")
    ruling = settle(prompt, REMOVALS, replace(terms, rent_share=None))
    assert (ruling.start, ruling.cut.reason, ruling.cut.applied) == (None, reason, 0)
    assert ruling.cut.net_usd is None
    assert preflight(prompt, REMOVALS, terms, summariser_usd=0.0) == reason


def test_without_candidates_there_is_nothing_to_decide() -> None:
    assert settle(None, [], replace(WARM, routes=Unpriced(("rates",)))).cut.reason == "nothing_aged"


def test_the_record_says_what_was_reckoned_with() -> None:
    removals = [Removal(10_000, 100, 3, summariser_usd=0.5), Removal(60_000, 30_000, LONG_AGO, summariser_usd=0.01)]
    cut = settle(PROMPT, removals, replace(WARM, requests=12.5), summariser_usd=0.02).cut
    assert (cut.reason, cut.candidates, cut.applied) == ("pays", 2, 1)
    assert (cut.removed_tokens, cut.rewrite_tokens) == (30_000, 10_000)
    assert (cut.requests, cut.prices) == (12.5, "a list for 2026-11-30")
    assert cut.summariser_usd == pytest.approx(0.03)
    assert cut.net_usd == pytest.approx((12.5 * 30_000 * 0.5 - 10_000 * 5.75) / MTOK - 0.03)


TOKENS = [30_000, 60_000, 100_000, 200_000]
REMOVED = [2_000, 5_000, 10_000, 20_000, 40_000]
REMOVED_SHARES = [0.05, 0.2, 0.4, 0.7]


@pytest.mark.parametrize("tokens", TOKENS)
@pytest.mark.parametrize("kept_behind", [8_000, 20_000, 50_000])
def test_six_applications_never_pay_on_deepseek_v4_pro_in_a_warm_cache_and_a_cold_point_does(
    tokens: int, kept_behind: int
) -> None:
    """The last turns stay, so a batch has thousands of tokens behind it: at a price ratio of 120 that never pays."""
    for share, parts in product(REMOVED_SHARES, (1, 4)):
        removed = int(share * (tokens - kept_behind)) if tokens > kept_behind else 0
        each = removed // parts
        if not each:
            continue
        begin = tokens - kept_behind - each * parts
        removals = [Removal(begin + n * each, each, LONG_AGO) for n in range(parts)]
        terms = Terms(routes=(V4_PRO,), requests=6, state="warm", rent_share=None)
        warm = settle(Prompt(tokens, tokens), removals, terms)
        assert (warm.start, warm.cut.reason) == (None, "does_not_pay")
        assert settle(Prompt(tokens, tokens), removals, replace(terms, rent_share=0.5)).start is None
        cold = settle(Prompt(tokens, 0), removals, replace(terms, state="cold"))
        assert (cold.start, cold.cut.reason, cold.cut.rewrite_tokens) == (0, "cold", 0)
        assert cold.cut.net_usd == pytest.approx(each * parts * (0.435 + 5 * 0.003625) / MTOK)


def test_on_v4_pro_the_warm_cache_needs_298_requests() -> None:
    terms = Terms(routes=(V4_PRO,), requests=297, state="warm", rent_share=None)
    assert settle(PROMPT, REMOVALS, terms).cut.reason == "does_not_pay"
    assert settle(PROMPT, REMOVALS, replace(terms, requests=298)).cut.reason == "pays"


@pytest.mark.parametrize(
    ("removals", "start"),
    [
        pytest.param([Removal(100, 50), Removal(400, 60)], 0, id="everything goes"),
        pytest.param([Removal(100, 0), Removal(400, 60)], 1, id="a removal that gains nothing stays"),
        pytest.param([Removal(100, 50, 0, 1.0), Removal(400, 60)], 1, id="a summary that costs more than it gains"),
        pytest.param([Removal(100, 0), Removal(400, 0)], None, id="nothing gains"),
    ],
)
def test_in_a_cold_cache_everything_that_gains_goes_without_having_waited(
    removals: list[Removal], start: int | None
) -> None:
    ruling = settle(Prompt(1000, 0), removals, replace(COLD, requests=1))
    assert ruling.start == start
    assert ruling.cut.reason == ("does_not_pay" if start is None else "cold")


def test_a_head_that_is_still_read_does_not_keep_a_cold_point_from_being_used() -> None:
    ruling = settle(Prompt(100_000, 20_000), [Removal(20_000, 500), Removal(70_000, 900)], replace(COLD, requests=1))
    assert (ruling.start, ruling.cut.rewrite_tokens) == (0, 0)


def test_at_a_cold_point_no_rent_is_asked_for_what_little_is_still_read() -> None:
    prompt, removals = Prompt(100_000, 20_000), [Removal(19_000, 50_000, waited=0)]
    assert settle(prompt, removals, replace(COLD, requests=1)).cut.reason == "cold"
    assert settle(prompt, [Removal(19_000, 900, waited=0)], replace(WARM, requests=60)).cut.reason == "waiting"
    ruling = settle(prompt, [Removal(19_000, 900, waited=0)], replace(COLD, requests=60))
    assert (ruling.start, ruling.cut.reason, ruling.cut.rewrite_tokens) == (0, "cold", 100)


def test_of_the_starts_whose_rent_is_paid_the_one_with_the_largest_net_is_taken() -> None:
    removals = [Removal(5_000, 15_000, 0), Removal(60_000, 12_000, 18), Removal(90_000, 4_000, 18)]
    greedy = settle(PROMPT, removals, replace(WARM, requests=200, rent_share=None))
    patient = settle(PROMPT, removals, replace(WARM, requests=200))
    assert (greedy.start, patient.start) == (0, 1)


@st.composite
def situations(draw: st.DrawFn) -> tuple[Prompt, list[Removal], Terms]:
    """Any prompt, removals and terms, with prices that do not fall as prompts grow."""
    place = draw(st.integers(0, 2_000))
    removals = []
    for _ in range(draw(st.integers(1, 5))):
        removed = draw(st.integers(0, 5_000))
        removals.append(Removal(place, removed, draw(st.integers(0, 60)), draw(st.sampled_from([0.0, 1e-5, 1e-3]))))
        place += removed + draw(st.integers(0, 5_000))
    tokens = place + draw(st.integers(0, 3_000))
    state = draw(st.sampled_from(["warm", "cold"]))
    cached = 0 if state == "cold" else draw(st.integers(0, tokens) | st.just(tokens))
    read, ratio = draw(st.floats(0, 2)), draw(st.floats(0.5, 130))
    tiers = [(0, 1.0)]
    for above in sorted(draw(st.sets(st.integers(1, max(1, tokens)), max_size=2))):
        tiers.append((above, tiers[-1][1] * draw(st.floats(1, 5))))
    routes = tuple(
        Prices("test", tuple((a, Rates(1, read * f, read * f * r, None, 1, "test", "2026-11-30")) for a, f in tiers))
        for r in (ratio, *draw(st.lists(st.floats(0.5, 130), max_size=1)))
    )
    terms = Terms(
        routes=routes,
        requests=draw(st.floats(1, 300)),
        state="cold" if state == "cold" else "warm",
        rent_share=draw(st.none() | st.floats(0, 2)),
    )
    return Prompt(tokens, cached), removals, terms


@given(situations(), st.data())
def test_no_paid_call_is_made_in_vain(situation: tuple[Prompt, list[Removal], Terms], data: st.DataObject) -> None:
    """Where preflight declines, nothing a call could have brought would have been used."""
    prompt, best_case, terms = situation
    estimate = data.draw(st.sampled_from([0.0, 1e-6, 1e-4, 1e-2]))
    if preflight(prompt, best_case, terms, summariser_usd=estimate) is None:
        return
    brought = [
        removal._replace(
            removed_tokens=data.draw(st.integers(0, removal.removed_tokens)),
            summariser_usd=removal.summariser_usd + data.draw(st.sampled_from([0.0, 1e-5])),
        )
        for removal in best_case
        if worth(removal, terms) and data.draw(st.booleans())
    ]
    cost = estimate + data.draw(st.sampled_from([0.0, 1e-5]))
    assert settle(prompt, brought, terms, summariser_usd=cost).start is None


def test_where_preflight_agrees_the_answer_still_has_to_pay() -> None:
    assert preflight(PROMPT, REMOVALS, WARM, summariser_usd=0.01) is None
    poor = [REMOVALS[0]._replace(removed_tokens=15_000)]
    assert settle(PROMPT, poor, WARM, summariser_usd=0.01).cut.reason == "does_not_pay"
    assert settle(PROMPT, REMOVALS, WARM, summariser_usd=0.02).cut.reason == "does_not_pay"
    assert preflight(PROMPT, REMOVALS, WARM, summariser_usd=0.02) == "does_not_pay"


@given(situations())
def test_same_facts_same_ruling_and_a_start_only_where_it_says_so(
    situation: tuple[Prompt, list[Removal], Terms],
) -> None:
    ruling = settle(*situation)
    assert ruling == settle(*situation)
    applied = ruling.cut.reason in ("pays", "cold")
    assert (ruling.start is not None) == applied
    assert ruling.cut.net_usd is not None
    assert not applied or ruling.cut.net_usd > 0
    assert isinstance(ruling, Ruling)
