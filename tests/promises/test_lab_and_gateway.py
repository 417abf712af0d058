"""One recorded session sends the same bytes through a gateway on loopback and through the lab, request by request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

from support import settings

from coldpress.config import Settings
from coldpress.demo.play import Played, play, recording_path
from coldpress.engine.policy import DEFAULT_POLICY, with_source_age
from coldpress.lab.importers.recording import Recording, read_file
from coldpress.lab.prompts import Sizes
from coldpress.lab.recorded import Recorded
from coldpress.lab.replay import Replay, Sent
from coldpress.lab.replay_service import Service
from coldpress.lab.tariffs import Tariff
from coldpress.measure.prices import prices_for
from coldpress.measure.rates import Prices
from coldpress.measure.tokens import estimate
from coldpress.model.usage import Usage
from coldpress.stores.memory import MemoryStore

AGE = 5
"""Turns: the recording has 19 requests, a pause of seven minutes before the sixteenth, and reads before it."""


class Reported:
    """Reports to the lab what the upstream behind the gateway reported."""

    def __init__(self, played: list[Played]) -> None:
        self._usages: Iterator[Usage] = iter([one.usage for one in played])

    def send(
        self, body: bytes, sizes: Sizes, *, at: float, answered_at: float, reply: str, opens: bool = False
    ) -> Usage:
        return next(self._usages)


def through_the_gateway(recording: Recording, found: Settings) -> list[Played]:
    return play(recording, found, MemoryStore(), operation="press", progress=lambda done, of: None)


def through_the_lab(recording: Recording, found: Settings, played: list[Played]) -> list[Sent]:
    first = recording.trajectory.turns[0]
    prices = prices_for(first.model, provider="anthropic", at=datetime.fromtimestamp(first.sent_at or 0, UTC))
    assert isinstance(prices, Prices)
    # A gateway on loopback waits a few milliseconds for a reply, so replies take no time here.
    tariff = Tariff("as recorded", replace(prices, model=first.model), 300, 3600)
    service = Service(tariff, "anthropic", lives_from="request")
    replay = Replay(Recorded("demo", [recording.trajectory], estimate, head=recording.head), service)
    sent: list[Sent] = []
    replay.run(found, see=sent.append, answering=Reported(played))
    return sent


def test_the_gateway_and_the_lab_send_the_same_bytes() -> None:
    recording = read_file(recording_path())
    found = settings(policy=with_source_age(DEFAULT_POLICY, AGE), source_age=AGE, press_subscription=True)
    played = through_the_gateway(recording, found)
    sent = through_the_lab(recording, found, played)
    assert [one.received for one in sent] == [one.sent for one in played], "the client sends the same"
    assert [one.sent for one in sent] == [one.received for one in played]
    assert sum(one.sent != one.received for one in sent) > len(sent) / 2
    why = Counter(one.receipt.cut.reason for one in sent if one.receipt.cut is not None)
    assert why["cold"] == 1, "a batch of aged results goes in the pause, or this test says little"
    assert [one.receipt.cut for one in sent] == [one.receipt.cut if one.receipt else None for one in played]
