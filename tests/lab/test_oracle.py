"""The clairvoyant schedule is the cheapest of all schedules: tried one by one on small conversations."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lab.situations import cliff_tariff, layout, naive_bill_usd, offering, situation, tariff

from coldpress.lab.arms import cold_points, control, every_turn
from coldpress.lab.bounds import Bounds
from coldpress.lab.oracle import _Search, clairvoyant
from coldpress.lab.schedules import Situation, bits_of, play


def every_schedule(of: Situation) -> list[list[int]]:
    """All ways to mask the candidates: each from any request on at which it is of age, or never."""
    last = len(of.layout.prompt_tokens)
    since = [
        (*(request for request in range(one.due, last) if of.offered[request] >> k & 1), last)
        for k, one in enumerate(of.candidates)
    ]
    return [
        [sum(1 << k for k, begin in enumerate(choice) if request >= begin) for request in range(of.layout.own, last)]
        for choice in product(*since)
    ]


def cheapest_usd(of: Situation) -> float:
    return min(naive_bill_usd(of, schedule) for schedule in every_schedule(of))


@st.composite
def small(draw: st.DrawFn) -> Situation:
    grown = draw(st.lists(st.integers(10, 60), min_size=2, max_size=7))
    prompts = [sum(grown[: i + 1]) for i in range(len(grown))]
    head = draw(st.integers(0, 5))
    firsts = sorted(draw(st.lists(st.integers(0, len(grown) - 2), max_size=4)))
    removables = [(first, draw(st.integers(1, 4 // firsts.count(first)))) for first in firsts]
    gaps = draw(st.lists(st.sampled_from([10, 10, 10, 10, 200]), min_size=len(grown), max_size=len(grown)))
    at = [float(sum(gaps[: i + 1])) for i in range(len(grown))]
    own = draw(st.sampled_from([0, 0, 1]))
    first_read = prompts[own - 1] if own else 0
    anywhere = draw(st.booleans())
    flat = [tariff(write=write, reads_anywhere=anywhere) for write in (1.0, 1.5, 2.0, 5.0, 12.5)]
    kinds = [draw(st.sampled_from(["source", "shell"])) for _ in firsts]
    talk = layout(prompts, removables, at=at, own=own, first_read=first_read, head=head, kinds=kinds)
    priced = draw(st.sampled_from([*flat, cliff_tariff(90)]))
    return situation(talk, draw(st.integers(1, 2)), priced, other=draw(st.integers(1, 4)))


@settings(max_examples=150, deadline=None)
@given(small())
def test_nothing_is_cheaper(of: Situation) -> None:
    best = clairvoyant(of)
    assert best.run.cost_usd == pytest.approx(cheapest_usd(of), rel=1e-9)
    assert best.at_least_usd == pytest.approx(best.run.cost_usd, rel=1e-9)


@settings(max_examples=100, deadline=None)
@given(small(), st.integers(1, 2))
def test_with_too_few_states_the_least_is_still_a_bound(of: Situation, most_states: int) -> None:
    rough, least = clairvoyant(of, most_states=most_states), cheapest_usd(of)
    assert rough.at_least_usd <= least * (1 + 1e-9)
    assert least <= rough.run.cost_usd * (1 + 1e-9)


@st.composite
def windows(draw: st.DrawFn) -> Situation:
    """A small situation in which results stop being on offer, some for a while, and some reads fall short."""
    of = draw(small())
    last = len(of.layout.prompt_tokens)
    on = []
    for one in of.candidates:
        until = draw(st.integers(one.due, last - 1))
        holes = draw(st.sets(st.integers(one.due, last - 1), max_size=1)) - {one.due}
        on.append([request for request in range(one.due, until + 1) if request not in holes])
    reads = list(of.read_tokens)
    for request in range(of.layout.own + 1, last):
        if of.cold[request]:
            reads[request] = draw(st.sampled_from([0, of.layout.head_tokens]))
        elif not of.tariff.reads_anywhere:
            prompts = of.layout.prompt_tokens
            kept = min(3, prompts[request] - prompts[request - 1])  # of the reply
            short = prompts[request - 2] if request - 1 > of.layout.own else prompts[request - 1]
            reads[request] = draw(st.sampled_from([prompts[request - 1], prompts[request - 1] + kept, short]))
    return offering(of, on, reads)


@settings(max_examples=300, deadline=None)
@given(windows())
def test_nothing_is_cheaper_where_offers_end(of: Situation) -> None:
    best = clairvoyant(of)
    assert best.run.cost_usd == pytest.approx(cheapest_usd(of), rel=1e-9)
    assert best.at_least_usd == pytest.approx(best.run.cost_usd, rel=1e-9)
    for request, new in best.cuts:
        assert not new & ~of.offered[request]


@settings(max_examples=150, deadline=None)
@given(windows(), st.integers(1, 2))
def test_where_offers_end_the_least_is_still_a_bound(of: Situation, most_states: int) -> None:
    rough, least = clairvoyant(of, most_states=most_states), cheapest_usd(of)
    assert rough.at_least_usd <= least * (1 + 1e-9)
    assert least <= rough.run.cost_usd * (1 + 1e-9)


@settings(max_examples=150, deadline=None)
@given(windows())
def test_no_state_comes_to_less_than_its_bound(of: Situation) -> None:
    bounds, own, last = Bounds(of), of.layout.own, len(of.layout.prompt_tokens)
    search = _Search(of)
    search.bound(own, last)
    for bound in (bounds, search.bounds):
        for schedule in every_schedule(of)[:200]:
            sent, paid = of.begin, [0.0]
            promises = []
            for request in range(own, last):
                new = schedule[request - own] & ~sent.masked
                paid.append(paid[-1] + of.cost_usd(request, sent, new))
                sent = of.after(request, sent, new)
                promises.append(bound.promise_usd(paid[-1], request, sent.masked, sent.ends))
            assert max(promises) <= paid[-1] * (1 + 1e-9)


@pytest.mark.parametrize(
    ("of", "least"),
    [
        pytest.param(
            situation(
                layout(
                    [145, 378, 649, 846, 935, 1006, 1153, 1285],
                    [(1, 27), (2, 120), (3, 128), (4, 33)],
                    head=5,
                    kinds=["source", "shell", "shell", "source"],
                ),
                1,
                tariff(write=1.5),
                other=3,
            ),
            6_646.0,
            id="a dearer state that can read further may be the better one",
        ),
        pytest.param(
            situation(
                layout(
                    [113, 411, 614, 870, 1159],
                    [(0, 11), (0, 43), (1, 284), (2, 129)],
                    head=5,
                    kinds=["source", "shell", "shell", "shell"],
                ),
                2,
                tariff(write=3.0),
                other=1,
            ),
            4_579.0,
            id="a cut may leave one of the results that have just come of age",
        ),
    ],
)
def test_shortcuts_that_would_miss_the_best(of: Situation, least: float) -> None:
    assert round(cheapest_usd(of) * 1e6, 6) == least
    assert round(clairvoyant(of).run.cost_usd * 1e6, 6) == least


def test_a_cut_that_leaves_the_early_results_alone() -> None:
    # Reaching back to the first result would rewrite 5,000 tokens for 10 on each of four requests.
    of = situation(layout([6_000, 11_000, 12_000, 12_100, 12_200, 12_300], [(0, 10), (2, 900)]), 1, tariff(write=5.0))
    best = clairvoyant(of)
    assert [sorted(bits_of(masked)) for masked in best.run.masked] == [[], [], [], [1], [1], [1]]


def test_waiting_for_a_larger_batch_is_seen() -> None:
    prompts = [1_000, 1_500, 2_000, 2_500, 3_000, *range(3_010, 3_080, 10)]
    of = situation(layout(prompts, [(0, 400), (1, 400), (2, 400), (3, 400)]), 1, tariff(write=10.0))
    best = clairvoyant(of)
    assert best.run.cuts < play(of, every_turn).cuts
    assert best.run.cost_usd < min(play(of, arm).cost_usd for arm in (control, cold_points, every_turn))


def test_where_reading_costs_as_much_as_writing_every_turn_is_best() -> None:
    of = situation(layout([100, 200, 300, 400], [(0, 50), (1, 50), (2, 50)]), 1, tariff(read=3.0, write=3.0))
    assert clairvoyant(of).run.cost_usd == play(of, every_turn).cost_usd
