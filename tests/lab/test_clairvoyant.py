"""The clairvoyant schedule, played through the driver, makes the cuts that it planned, and nobody is cheaper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from lab.test_layout import message, result
from lab.test_replay import UNCACHED, WARM, compact, recording

from coldpress.config import Settings
from coldpress.engine.aged import Aged
from coldpress.engine.gate import Ruling, Terms
from coldpress.lab import choosers
from coldpress.lab.clairvoyant import Schedule, schedule_for
from coldpress.lab.recorded import Recorded
from coldpress.lab.replay import Replay, Replayed
from coldpress.lab.replay_service import Service, settings_of
from coldpress.lab.tariffs import TARIFFS
from coldpress.measure.economics import Prompt, Removal
from coldpress.measure.tokens import estimate
from coldpress.model.trajectory import Trajectory

DEEPSEEK = Service(TARIFFS["deepseek-v4-pro"](), "deepseek")
GPT = Service(TARIFFS["gpt-6.1-sol"](), "openai")


class Case:
    """A recording at a service, its schedule, and the schedule played."""

    def __init__(self, trajectories: Sequence[Trajectory], service: Service, *, source_age: int | None = 5) -> None:
        self.recorded = Recorded("r", trajectories, estimate)
        self.replay = Replay(self.recorded, service)
        self.settings: Settings = settings_of(
            service, source_age=source_age, first_sight=False, keep_thinking=False, models=self.replay.models
        )
        self.schedule: Schedule = schedule_for(self.replay, self.recorded, service, self.settings)
        self.played = self.replay.run(self.settings, choose=self.schedule.choose, before=self.schedule.at)


def quiet_later() -> Trajectory:
    """Reads large files, and then does small things for a long time: at any price of a rewrite, one pays."""
    talk = recording(44)
    turns = [
        replace(turn, added=(compact(message("user", result(n - 1, f"done {n}"))),)) if n > 8 else turn
        for n, turn in enumerate(talk.turns)
    ]
    return replace(talk, turns=tuple(turns))


def usd(found: Sequence[Replayed]) -> float:
    return sum(one.ours_usd for one in found)


@pytest.mark.parametrize(
    ("service", "talk"),
    [
        pytest.param(WARM, recording(20, pause_before=13), id="marks, and a pause"),
        pytest.param(WARM, quiet_later(), id="marks, warm"),
        pytest.param(GPT, quiet_later(), id="marks at each prompt's end, warm"),
        pytest.param(DEEPSEEK, quiet_later(), id="units, warm"),
        pytest.param(UNCACHED, recording(12), id="no cache"),
    ],
)
def test_what_is_played_is_what_was_planned_and_nobody_is_cheaper(service: Service, talk: Trajectory) -> None:
    case = Case([talk], service)
    cuts = [n for n, one in enumerate(case.played) if one.receipt.cut is not None and one.receipt.cut.applied]
    assert cuts == sorted(case.schedule.planned["a talk"].cuts)
    assert cuts
    assert usd(case.played) == pytest.approx(case.schedule.model_usd, rel=0.002)
    assert case.schedule.at_least_usd == pytest.approx(case.schedule.model_usd, rel=1e-9)
    for choose in (choosers.gate, choosers.cold, choosers.every_turn, choosers.never, choosers.batched(4)):
        assert usd(case.played) <= usd(case.replay.run(case.settings, choose=choose)) * 1.0005


def test_asked_twice_it_answers_the_same() -> None:
    case = Case([recording(18, pause_before=12)], WARM)

    def choose(free: Sequence[Aged], prompt: Prompt, removals: Sequence[Removal], terms: Terms) -> Ruling:
        first = case.schedule.choose(free, prompt, removals, terms)
        assert case.schedule.choose(free, prompt, removals, terms) == first
        return first

    again = case.replay.run(case.settings, choose=choose, before=case.schedule.at)
    assert usd(again) == usd(case.played)


def test_a_fork_has_a_schedule_of_its_own() -> None:
    main = recording(24)
    shared = 12
    later = [replace(turn, sent_at=(turn.sent_at or 0) + 400.0) for turn in main.turns[shared:]]
    fork = replace(main, name="a fork", turns=(*main.turns[:shared], *later), shared_turns=shared)
    case = Case([main, fork], WARM)
    assert set(case.schedule.planned) == {"a talk", "a fork"}
    assert all(request >= shared for request in case.schedule.planned["a fork"].cuts)
    assert usd(case.played) <= usd(case.replay.run(case.settings)) * 1.0005


def test_where_nothing_is_offered_nothing_is_cut() -> None:
    case = Case([recording(12)], WARM, source_age=None)
    assert case.schedule.planned["a talk"].cuts == {}
    assert usd(case.played) == sum(one.control_usd for one in case.played)
