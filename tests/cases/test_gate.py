"""C: a rewrite in a warm cache is refused where it costs more than it saves, and an idle gap is used at once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from coldpress.engine.gate import Terms, settle
from coldpress.measure.economics import Prompt, Removal
from coldpress.measure.rates import Prices, Rates


def prices(read: float, write: float, long: float | None) -> Prices:
    return Prices("test", ((0, Rates(write, read, write, long, 0, "test", "2026-11-30")),))


OPUS_5 = prices(0.5, 6.25, 10)
MODELS = [
    pytest.param(OPUS_5, id="reads at a tenth"),
    pytest.param(prices(0.2, 5, 8), id="reads at a twentieth"),
    pytest.param(prices(0.022, 0.66, None), id="reads at a thirtieth, writes free"),
]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("rent_share", [None, 0.5], ids=["whatever pays", "with the rule of rent"])
@pytest.mark.parametrize("requests", [1, 6, 14, 40])
def test_c01_a_rewrite_at_30_percent_depth_that_saves_10_percent_is_refused_in_every_subagent(
    model: Prices, rent_share: float | None, requests: int
) -> None:
    """Fourteen subagents share a prefix and grow: each would write 60 % of its prompt again to lose 10 % of it."""
    terms = Terms(routes=(model,), requests=requests, state="warm", rent_share=rent_share)
    for agent in range(14):
        tokens = 40_000 + 3_000 * agent
        removal = Removal(tokens * 3 // 10, tokens // 10, waited=20)
        ruling = settle(Prompt(tokens, tokens), [removal], terms)
        assert (ruling.start, ruling.cut.reason) == (None, "does_not_pay")
        assert ruling.cut.net_usd is not None
        assert ruling.cut.net_usd < 0


STALE = [Removal(20_000 + 12_000 * n, 10_375, waited=30 - 3 * n) for n in range(8)]
"""Eight old results with 83,000 tokens to free, in a prompt of 150,000."""


def test_c07_after_an_idle_gap_stale_results_go_on_the_first_request_and_not_two_calls_later() -> None:
    gap = Terms(routes=(OPUS_5,), requests=3, state="cold", long=True)
    at_once = settle(Prompt(150_000, 0), STALE, gap)
    assert (at_once.start, at_once.cut.reason, at_once.cut.applied) == (0, "cold", 8)
    assert (at_once.cut.removed_tokens, at_once.cut.rewrite_tokens) == (83_000, 0)
    assert at_once.cut.net_usd == pytest.approx(83_000 * (10 + 2 * 0.5) / 1_000_000)

    # Two calls later the whole prompt has been written again at 10 dollars: the moment is gone.
    late = settle(Prompt(151_000, 151_000), STALE, replace(gap, state="warm", requests=1))
    assert (late.start, late.cut.reason) == (None, "does_not_pay")
