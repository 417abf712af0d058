"""What a driver offers is written down as it offers it, and becomes the candidates of the schedule that knows all."""

from __future__ import annotations

from dataclasses import replace

import pytest
from lab.test_layout import message, said
from lab.test_replay import WARM, prepared, recording

from coldpress.lab.layout import lay_out
from coldpress.lab.offers import Offer, Offers, Place, foresee
from coldpress.lab.replay import Replayed
from coldpress.lab.schedules import Aging, Candidate, Situation
from coldpress.measure.tokens import estimate
from coldpress.model.trajectory import Trajectory, Turn
from coldpress.model.usage import Usage


def listed(trajectory: Trajectory) -> tuple[Offers, tuple[Replayed, ...]]:
    replay, settings = prepared(trajectory)
    offers = Offers()
    found = replay.run(settings, choose=offers.choose, before=offers.at)
    for request, one in enumerate(found):
        offers.at(trajectory.name, request)
        offers.reported(one.ours.prompt or 0, one.ours.read or 0)
    return offers, found


def test_a_run_that_lists_offers_sends_every_body_as_it_came() -> None:
    _, found = listed(recording(12))
    assert all(one.sent_bytes == one.received_bytes for one in found)
    assert sum(one.ours_usd for one in found) == sum(one.control_usd for one in found)


def test_candidates_are_what_the_engine_lets_go_from_when_on_it_does() -> None:
    talk = recording(14, pause_before=9)
    offers, found = listed(talk)
    layout = lay_out(talk, recording="r", count=estimate)
    foreseen = foresee(offers, talk, layout, WARM, scale=1.0)
    mine, made_up = foreseen.situation.candidates, Situation(layout, Aging(5), WARM.tariff).candidates
    assert [(one.first, one.due) for one in mine] == [(one.first, one.due) for one in made_up]
    assert [place.message for place in foreseen.places] == [2 * one.first for one in mine]
    assert offers.cold == {("a talk", 9)}
    assert [request for request, cold in enumerate(foreseen.situation.cold) if cold] == [0, 9]
    assert list(foreseen.situation.layout.prompt_tokens) == [one.ours.prompt for one in found]
    assert list(foreseen.situation.read_tokens) == [one.ours.read for one in found]


def test_the_same_question_twice_is_one_offer() -> None:
    talk = recording(9)
    once, _ = listed(talk)
    replay, settings = prepared(talk)
    twice = Offers()

    def choose(*asked: object) -> object:
        twice.choose(*asked)  # type: ignore[arg-type]
        return twice.choose(*asked)  # type: ignore[arg-type]

    replay.run(settings, choose=choose, before=twice.at)  # type: ignore[arg-type]
    assert twice.offered == once.offered


def short_talk(requests: int, shared: int = 0) -> Trajectory:
    turns = [
        Turn((message("user", said(str(n))),), message("assistant", said("ok")), "m", 10.0 * n, None, Usage())
        for n in range(requests)
    ]
    return Trajectory("short", "s", False, tuple(turns), shared)


@pytest.mark.parametrize(
    ("freed", "candidates", "on"),
    [
        pytest.param({2: 50, 3: 50, 4: 50}, [Candidate(1, 2, 7, 50, 0)], (0, 0, 1, 1, 1), id="one that stays on offer"),
        pytest.param({2: 50, 4: 50}, [Candidate(1, 2, 7, 50, 0)], (0, 0, 1, 0, 1), id="one that is away in between"),
        pytest.param({2: 50}, [Candidate(1, 2, 7, 50, 0)], (0, 0, 1, 0, 0), id="one that is pinned later"),
        pytest.param(
            {2: 30, 3: 50, 4: 50},
            [Candidate(1, 2, 7, 30, 0), Candidate(1, 3, 7, 20, 0)],
            (0, 0, 1, 3, 3),
            id="one that frees more when it is older",
        ),
        pytest.param(
            {2: 50, 3: 30},
            [Candidate(1, 2, 7, 30, 0), Candidate(1, 2, 7, 20, 0)],
            (0, 0, 3, 1, 0),
            id="one that frees less later",
        ),
    ],
)
def test_what_is_offered_when(freed: dict[int, int], candidates: list[Candidate], on: tuple[int, ...]) -> None:
    talk = short_talk(5)
    layout = replace(lay_out(talk, recording="r", count=estimate), head_tokens=5)
    offers = Offers()
    for request in range(5):
        offers.at("short", request)
        offers.reported(100 * (request + 1), 100 * request)
    for request, tokens in freed.items():
        offers.offered["short", request] = (Offer(Place(2, 0, 0), tokens, 7),)
    foreseen = foresee(offers, talk, layout, WARM, scale=1.0)
    assert foreseen.situation.candidates == tuple(candidates)
    assert foreseen.situation.offered == on
    assert foreseen.places == (Place(2, 0, 0),) * len(candidates)


def test_a_fork_begins_with_what_its_origin_sent() -> None:
    talk = short_talk(5, shared=2)
    layout = replace(lay_out(talk, recording="r", count=estimate), prompt_tokens=(90, 180, 1, 1, 1))
    offers = Offers()
    for request in range(2, 5):
        offers.at("short", request)
        offers.reported(100 * (request + 1), 180 if request == 2 else 100 * request)
    situation = foresee(offers, talk, layout, WARM, scale=1.0).situation
    assert situation.layout.prompt_tokens == (90, 180, 300, 400, 500)
    assert situation.reach == (0, 0, 2, 3, 4)
    assert situation.cold == (False,) * 5
