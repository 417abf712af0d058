"""Bills of made-up conversations, worked out by hand and by comparing whole prompts token by token."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lab.situations import cliff_tariff, layout, naive_bill_usd, situation, tariff

from coldpress.lab.arms import cold_points, control, every_turn
from coldpress.lab.schedules import Aging, Situation, View, play, replay


def usd(run_usd: float) -> float:
    return round(run_usd * 1e6, 6)


def test_a_session_without_edits_writes_each_token_once_and_reads_it_from_then_on() -> None:
    run = play(situation(layout([100, 150, 250])), control)
    assert usd(run.cost_usd) == 100 * 10 + (100 * 1 + 50 * 10) + (150 * 1 + 100 * 10)
    assert (run.cuts, run.cold_usd) == (0, 0.0)


def test_a_pause_longer_than_the_lifetime_writes_everything_again() -> None:
    run = play(situation(layout([100, 150, 250], at=[0, 101, 150])), control)
    assert usd(run.cost_usd) == 100 * 10 + 150 * 10 + (150 * 1 + 100 * 10)
    assert usd(run.cold_usd) == 150 * 10


def test_behind_a_pause_only_what_was_written_then_can_be_read() -> None:
    # The result came with request 1 and is due on request 3, one behind the pause: nothing ends before it but the head.
    talk = layout([100, 160, 200, 210], [(1, 40)], at=[0, 10, 200, 210], head=30)
    run = play(situation(talk, 2), every_turn)
    assert usd(run.cost_usd) == 100 * 10 + (100 + 60 * 10) + 200 * 10 + (30 + 140 * 10)


def test_another_model_finds_nothing_held() -> None:
    assert usd(play(situation(layout([100, 150], changed=[1])), control).cost_usd) == 100 * 10 + 150 * 10


def test_the_long_lifetime_holds_longer_and_costs_its_own_price() -> None:
    priced = tariff(write_long=16.0)
    asked = play(situation(layout([100, 150], at=[0, 500], long=True), 1, priced), control)
    plain = play(situation(layout([100, 150], at=[0, 500]), 1, priced), control)
    assert usd(asked.cost_usd) == 100 * 16 + (100 * 1 + 50 * 16)
    assert usd(plain.cost_usd) == 100 * 10 + 150 * 10


def test_the_first_request_reads_what_was_reported() -> None:
    assert usd(play(situation(layout([100, 150], first_read=80)), control).cost_usd) == (80 + 20 * 10) + (100 + 50 * 10)


def test_a_fork_pays_for_its_own_requests_only() -> None:
    forked = layout([100, 150, 250], own=2, first_read=150)
    assert usd(play(situation(forked), control).cost_usd) == 150 * 1 + 100 * 10


def test_a_warm_cut_rewrites_from_the_end_of_the_request_before_the_result() -> None:
    # The result came with request 1, and is masked on request 2: what ended with request 0 is read.
    run = play(situation(layout([100, 160, 200, 210], [(1, 40)])), every_turn)
    by_hand = 100 * 10 + (100 + 60 * 10) + (100 + 60 * 10) + (160 + 10 * 10)
    assert usd(run.cost_usd) == by_hand
    assert (run.cuts, run.cold_cuts, run.masked) == (1, 0, (0, 0, 1, 1))


@pytest.mark.parametrize(
    ("reads_anywhere", "read"),
    [
        pytest.param(True, 100 + 20, id="anywhere: what the first cut wrote is read up to the second result"),
        pytest.param(False, 100, id="with marks: the first cut left one end, behind all that it wrote"),
    ],
)
def test_where_a_read_ends_behind_an_earlier_cut(reads_anywhere: bool, read: int) -> None:
    # Results of 40 and 20 tokens came with requests 1 and 2; each is masked when it is due, on requests 2 and 3.
    talk = situation(layout([100, 160, 200, 210], [(1, 40), (2, 20)]), 1, tariff(reads_anywhere=reads_anywhere))
    by_hand = 100 * 10 + (100 + 60 * 10) + (100 + 60 * 10) + (read + (210 - 60 - read) * 10)
    assert usd(play(talk, every_turn).cost_usd) == by_hand


def test_the_head_is_read_whatever_changes_behind_it() -> None:
    run = play(situation(layout([100, 160, 200], [(0, 40)], head=30)), every_turn)
    assert usd(run.cost_usd) == 100 * 10 + (30 + 90 * 10) + (120 + 40 * 10)


def test_a_cut_on_a_cold_request_rewrites_nothing_that_was_held() -> None:
    talk = layout([100, 160, 200, 210], [(1, 40)], at=[0, 10, 200, 210])
    run = play(situation(talk), cold_points)
    assert usd(run.cost_usd) == 100 * 10 + (100 + 60 * 10) + 160 * 10 + (160 + 10 * 10)
    assert (run.cuts, run.cold_cuts) == (1, 1)


def test_two_sessions_cost_what_each_costs() -> None:
    one, other = layout([100, 160, 200], [(1, 40)]), layout([50, 60])
    both = sum(play(situation(talk), every_turn).cost_usd for talk in (one, other))
    assert usd(both) == (100 * 10 + 100 + 60 * 10 + 100 + 60 * 10) + (50 * 10 + 50 + 10 * 10)


def test_a_prompt_behind_a_cliff_costs_more_as_a_whole() -> None:
    priced = cliff_tariff(150)
    assert usd(play(situation(layout([100, 160]), 1, priced), control).cost_usd) == 100 * 10 + (100 * 2 + 60 * 20)
    masked = play(situation(layout([100, 140, 160], [(1, 40)]), 1, priced), every_turn)
    assert usd(masked.cost_usd) == 100 * 10 + (100 + 40 * 10) + (100 + 20 * 10)


@pytest.mark.parametrize(
    ("age", "kind", "due"),
    [
        pytest.param(2, "source", 3, id="a source is due when its age is over"),
        pytest.param(None, "source", None, id="a source that stays exact is never due"),
        pytest.param(2, "shell", 4, id="other kinds have an age of their own"),
        pytest.param(9, "source", None, id="what never comes of age is no candidate"),
    ],
)
def test_when_a_result_is_due(age: int | None, kind: str, due: int | None) -> None:
    talk = layout([100, 160, 200, 210, 220], [(1, 40)], kinds=[kind])
    found = Situation(talk, Aging(age, 3), tariff()).candidates
    assert [one.due for one in found] == ([] if due is None else [due])


def test_an_arm_sees_the_prompt_as_it_is_sent() -> None:
    seen: list[View] = []

    def look(view: View) -> int | None:
        seen.append(view)
        return 0 if view.request == 2 else None

    play(situation(layout([100, 160, 200, 260, 270], [(1, 40), (2, 20), (3, 30)])), look)
    last = seen[-1]
    assert last.prompt.tokens == 270 - 40
    assert last.prompt.cached_tokens == 260 - 40
    assert last.prompt.readable == (0, 100, 160, 220)  # request 1 was sent otherwise: nothing ends there any more
    assert [(r.before_tokens, r.removed_tokens, r.waited) for r in last.removals] == [(120, 20, 1), (160, 30, 0)]


@st.composite
def talks(draw: st.DrawFn) -> Situation:
    grown = draw(st.lists(st.integers(12, 40), min_size=2, max_size=6))
    prompts = [sum(grown[: i + 1]) for i in range(len(grown))]
    firsts = draw(st.lists(st.integers(0, len(grown) - 1), max_size=4, unique=True).map(sorted))
    removables = [(first, draw(st.integers(1, 10))) for first in firsts]
    gaps = draw(st.lists(st.sampled_from([10, 10, 10, 200]), min_size=len(grown), max_size=len(grown)))
    at = [float(sum(gaps[: i + 1])) for i in range(len(grown))]
    priced = tariff(write=draw(st.sampled_from([1.0, 2.0, 5.0, 12.5])), reads_anywhere=draw(st.booleans()))
    talk = layout(prompts, removables, at=at, head=draw(st.integers(0, 1)))
    return situation(talk, draw(st.integers(1, 3)), priced)


@given(talks(), st.data())
def test_a_schedule_costs_what_comparing_whole_prompts_says(of: Situation, data: st.DataObject) -> None:
    masked, schedule = 0, []
    for request in range(len(of.layout.prompt_tokens)):
        masked |= of.offered[request] & data.draw(st.integers(0, 15))
        schedule.append(masked)
    run = replay(of, lambda request, sent: schedule[request] & ~sent.masked)
    assert run.cost_usd == pytest.approx(naive_bill_usd(of, schedule), rel=1e-12)
    assert run.masked == tuple(schedule)


@given(talks())
def test_the_control_is_the_bill_of_the_layout_alone(of: Situation) -> None:
    prompts, total = of.layout.prompt_tokens, 0.0
    read_rate, write_rate = of.tariff.read_and_write(0, asked_long=False)
    for request, tokens in enumerate(prompts):
        held = 0 if request == 0 or of.cold[request] else prompts[request - 1]
        total += (held * read_rate + (tokens - held) * write_rate) / 1e6
    assert play(of, control).cost_usd == pytest.approx(total, rel=1e-12)
