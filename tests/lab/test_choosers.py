"""Who chooses the moment lets go what it says it does, and writes down why, and what that rewrites and saves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from coldpress.engine.cut import Choose, by_gate
from coldpress.engine.gate import Terms
from coldpress.lab import choosers
from coldpress.measure.economics import Prompt, Removal
from coldpress.measure.rates import Prices, Rates, Unpriced
from coldpress.model.records import CacheState


def prices(*, write: float = 10.0, long: float | None = None) -> Prices:
    return Prices("made up", ((0, Rates(write, 1.0, write, long, 1.0, "made up", "2026-01-01")),))


def terms(*routes: Prices, state: CacheState = "warm", requests: float | None = 20, long: bool = False) -> Terms:
    return Terms(routes=routes or (prices(),), requests=requests, state=state, long=long)


# 300 tokens stand between the two results, 80 behind the last; a read can end at 100 or at 600.
PROMPT = Prompt(1_000, 1_000, readable=(100, 600))
REMOVALS = (Removal(200, 100, waited=7), Removal(620, 300, waited=2))


@pytest.mark.parametrize(
    ("choose", "given", "start", "reason"),
    [
        pytest.param(choosers.never, terms(), None, "waiting", id="never, warm"),
        pytest.param(choosers.never, terms(state="cold"), None, "waiting", id="never, cold"),
        pytest.param(choosers.every_turn, terms(), 0, "ordered", id="every turn, whatever it costs"),
        pytest.param(choosers.cold, terms(), None, "waiting", id="cold points wait for one"),
        pytest.param(choosers.cold, terms(state="cold"), 0, "cold", id="cold points take everything"),
        pytest.param(choosers.batched(7), terms(), 0, "ordered", id="a batch goes when one result has waited"),
        pytest.param(choosers.batched(8), terms(), None, "waiting", id="a batch waits"),
        # 6 * 400 * 1 = 2,400 against (1,000 - 200 - 400) * (W - 1) = 400 * (W - 1).
        pytest.param(choosers.reference, terms(prices(write=6.9)), 0, "pays", id="the reference where six pay: 2,360"),
        pytest.param(
            choosers.reference, terms(prices(write=7.0)), None, "does_not_pay", id="not where they break even"
        ),
        pytest.param(
            choosers.reference,
            terms(prices(write=2.0), prices(write=7.0)),
            None,
            "does_not_pay",
            id="the worst route decides",
        ),
        pytest.param(
            choosers.reference, terms(prices(long=7.0, write=2.0), long=True), None, "does_not_pay", id="long writes"
        ),
        pytest.param(choosers.reference, terms(long=True), None, "unpriced", id="long writes without a price"),
        pytest.param(
            choosers.reference,
            replace(terms(), routes=Unpriced(("rates",))),
            None,
            "unpriced",
            id="the reference knows no price",
        ),
    ],
)
def test_what_goes_and_why(choose: Choose, given: Terms, start: int | None, reason: str) -> None:
    ruling = choose((), PROMPT, REMOVALS, given)
    assert (ruling.start, ruling.cut.reason, ruling.cut.candidates) == (start, reason, 2)


@pytest.mark.parametrize(
    "choose",
    [choosers.never, choosers.every_turn, choosers.cold, choosers.batched(0), choosers.reference, choosers.gate],
)
def test_of_nothing_nothing_goes(choose: Choose) -> None:
    for state in ("warm", "cold"):
        assert choose((), Prompt(100, 0), (), terms(state=state)).start is None


def test_the_record_says_what_is_rewritten_and_saved() -> None:
    cut = choosers.every_turn((), PROMPT, REMOVALS, terms()).cut
    # What is read ends at 100: 900 stood behind it, 400 of them go.
    assert (cut.applied, cut.removed_tokens, cut.rewrite_tokens, cut.requests) == (2, 400, 500, 20)
    assert cut.net_usd == pytest.approx((20 * 400 * 1.0 - 500 * 9.0) / 1e6)
    assert cut.prices == prices().label
    last = choosers.taken(1, "ordered", PROMPT, REMOVALS, terms()).cut
    assert (last.applied, last.removed_tokens, last.rewrite_tokens) == (1, 300, 100)


def test_without_a_price_what_is_ordered_goes_and_its_worth_is_unknown() -> None:
    ruling = choosers.every_turn((), PROMPT, REMOVALS, replace(terms(), routes=Unpriced(("rates",)), requests=None))
    assert (ruling.start, ruling.cut.net_usd, ruling.cut.prices) == (0, None, "")
    assert ruling.cut.removed_tokens == 400


def test_the_reference_says_its_own_arithmetic() -> None:
    cut = choosers.reference((), PROMPT, REMOVALS, terms(prices(write=6.0))).cut
    assert (cut.requests, cut.removed_tokens, cut.rewrite_tokens) == (6, 400, 400)
    assert cut.net_usd == pytest.approx((2_400 - 400 * 5) / 1e6)


def test_the_gate_is_the_gateways() -> None:
    for state in ("warm", "cold"):
        given = terms(prices(write=1.5), state=state)
        assert choosers.gate((), PROMPT, REMOVALS, given) == by_gate((), PROMPT, REMOVALS, given)


def test_a_batch_waits_no_negative_time() -> None:
    with pytest.raises(ValueError, match="-1 turns"):
        choosers.batched(-1)
