"""What replays of one recording share changes nothing: neither what they decide nor what they cost."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from coldpress.demo.run import recording_path
from coldpress.lab.arm_files import named_arms
from coldpress.lab.importers.any import read_file
from coldpress.lab.recorded import Recorded
from coldpress.lab.replay import Replay, Replayed, Sent, input_usd
from coldpress.lab.runs import settings_for
from coldpress.lab.services import service_for
from coldpress.measure.tokens import estimate

ARMS = ("coldpress", "coldpress-source-5", "pressure-50", "reference-deterministic")


def recorded(path: Path) -> Recorded:
    found = read_file(path)
    return Recorded(path.stem, found.trajectories, functools.cache(estimate), recorded_heads=found.own_heads)


def replayed(of: Recorded, arm: str, tariff: str) -> tuple[list[bytes], tuple[Replayed, ...]]:
    service = service_for(tariff, of.trajectories)
    replay = Replay(of, service)
    sent: list[Sent] = []
    longest = max(usage.prompt or 0 for usage in of.controls(service))
    found = replay.run(settings_for(named_arms()[arm], service, replay.models, longest), see=sent.append)
    return [one.sent for one in sent], found


@pytest.mark.parametrize("arm", ARMS)
def test_earlier_replays_change_nothing(arm: str) -> None:
    shared = recorded(recording_path())
    for other in ARMS:
        replayed(shared, other, "claude-opus-4-6")
    again, alone = (
        replayed(shared, arm, "claude-opus-4-6"),
        replayed(recorded(recording_path()), arm, "claude-opus-4-6"),
    )
    assert again[0] == alone[0]
    assert [one.ours_usd for one in again[1]] == [one.ours_usd for one in alone[1]]
    if arm != "reference-deterministic":  # the recording searches nothing
        assert sum(one.sent_bytes != one.received_bytes for one in alone[1]) > 2, "or this test says little"


@pytest.mark.parametrize("tariff", ["claude-opus-4-6", "deepseek-v4-pro", "gpt-6.1-sol", "server without a cache"])
def test_prompts_that_were_read_before_are_billed_as_those_that_are_sent(tariff: str) -> None:
    of = recorded(recording_path())
    _, found = replayed(of, "coldpress-source-5", tariff)
    service = service_for(tariff, of.trajectories)
    again = of.answered([one.asked for one in found if one.asked is not None], service)
    assert list(again) == [one.ours for one in found]
    assert [input_usd(usage, service) for usage in of.controls(service)] == [one.control_usd for one in found]


def test_a_long_recording_is_replayed_alike_with_and_without_memory(shared: Path) -> None:
    path = min((shared / "trajectories/dev/claude-code-long").glob("*.jsonl"), key=lambda one: one.stat().st_size)
    of = recorded(path)
    replayed(of, "mask-10", "claude-opus-4-6")
    again, alone = (replayed(one, "coldpress-source-20", "claude-opus-4-6")[0] for one in (of, recorded(path)))
    assert again == alone
