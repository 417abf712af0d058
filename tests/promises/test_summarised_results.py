"""A summary of one result is asked for once it pays, waiting paid for, and stands for ever."""

from __future__ import annotations

from dataclasses import replace

from bodies import changed_literals
from drive.asking import RATES
from drive.offloading import ANSWER, USUAL, text
from drive.offloading import settings as offloading
from provider import CHEAP_READS, TINY_READS, Provider, Turn, growing, priced, step, talk
from support import pressing

from coldpress.config import Settings
from coldpress.engine.policy import Policy, Rule
from coldpress.measure.rates import Prices, Rates
from coldpress.testing import StrictUpstream

STEPS = [step(0, text(lines=400), tool="Grep", pattern="parse"), *(step(n, f"done {n}") for n in range(1, 30))]
BODIES = growing(STEPS)
GATED = Policy((Rule("grep*", ("model",)),))


FREE = replace(
    CHEAP_READS.tiers[0][1], input_usd_per_mtok=0.0, cache_read_usd_per_mtok=0.0, cache_write_usd_per_mtok=0.0
)


def asking(url: str, prices: Prices, *, costs: Rates) -> Settings:
    """Settings with prices of the agent's model and of the cheaper one, which is at an address."""
    cheap = offloading("openai", url)
    paid = tuple(replace(one, tiers=((0, costs),)) for one in cheap.pricing)
    found = priced(prices, policy=GATED, expected_applications=30.0)
    return replace(found, offload=replace(cheap, pricing=paid))


def shown(turn: Turn) -> list[str]:
    return [view for _, view in changed_literals(turn.body, turn.sent)]


def test_a_summary_is_asked_for_once_waiting_has_cost_its_share() -> None:
    """A best case that had never waited would wait for ever in a warm cache."""
    with StrictUpstream(USUAL) as upstream, pressing(asking(upstream.url, CHEAP_READS, costs=FREE)) as press:
        turns = talk(press, BODIES, Provider())
        asked = len(upstream.exchanges)
    first = next(number for number, turn in enumerate(turns) if shown(turn))
    assert asked == 1
    assert 2 < first < len(BODIES) - 1
    assert (turns[first].why, turns[first].prepared.receipt.offload.why) == ("pays", "applied")  # type: ignore[union-attr]
    assert [turn.why for turn in turns[2:first]] == ["waiting"] * (first - 2)
    views = {view for turn in turns[first:] for view in shown(turn)}
    assert len(views) == 1
    assert ANSWER in views.pop()


def test_nobody_is_asked_where_reading_the_result_again_is_cheaper() -> None:
    with StrictUpstream(USUAL) as upstream:
        with pressing(asking(upstream.url, TINY_READS, costs=RATES)) as press:
            turns = talk(press, BODIES[:8], Provider())
        assert len(upstream.exchanges) == 0
    assert not any(shown(turn) for turn in turns)
    whys = {turn.prepared.receipt.offload.why for turn in turns[2:] if turn.prepared.receipt.offload}
    assert whys == {"preflight:does_not_pay"}
