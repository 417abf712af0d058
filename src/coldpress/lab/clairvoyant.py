"""Play the cheapest schedule there could have been through the driver, so that it is billed as all others are.

A first run lists what the driver offers (`coldpress.lab.offers`), `schedule_of` finds the cheapest schedule over that,
and its `choose` makes the same cuts in a second run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from coldpress.config.settings import Settings
from coldpress.engine.aged import Aged
from coldpress.engine.gate import Ruling, Terms
from coldpress.lab import choosers
from coldpress.lab.lean_store import LeanStore
from coldpress.lab.offers import Foreseen, Offers, Place, foresee, place_of
from coldpress.lab.oracle import clairvoyant
from coldpress.lab.recorded import Recorded
from coldpress.lab.replay import Replay
from coldpress.lab.replay_service import Service
from coldpress.lab.schedules import Run, bits_of
from coldpress.measure.economics import Prompt, Removal
from coldpress.model.errors import RecordingError


@dataclass(frozen=True, slots=True)
class Planned:
    """The cheapest schedule of one conversation: the first result that goes, by request, and what it should cost."""

    cuts: dict[int, Place]
    run: Run
    at_least_usd: float


@dataclass(frozen=True)
class Schedule:
    """The cheapest schedule of each conversation of a recording, by name."""

    planned: dict[str, Planned]
    _now: list[tuple[str, int]] = field(default_factory=list)

    @property
    def model_usd(self) -> float:
        """What the schedules cost where the cache is as `coldpress.lab.schedules` takes it to be."""
        return sum(one.run.cost_usd for one in self.planned.values())

    @property
    def at_least_usd(self) -> float:
        """What no schedule can be cheaper than there."""
        return sum(one.at_least_usd for one in self.planned.values())

    def at(self, conversation: str, request: int) -> None:
        """Say which request comes next."""
        self._now[:] = [(conversation, request)]

    def choose(self, free: Sequence[Aged], prompt: Prompt, removals: Sequence[Removal], terms: Terms) -> Ruling:
        """Let everything go from the first result on that the schedule takes on this request."""
        conversation, request = self._now[0]
        planned = self.planned.get(conversation)
        first = None if planned is None else planned.cuts.get(request)
        if first is None:
            return choosers.declined("waiting" if removals else "nothing_aged", removals, terms)
        start = next((index for index, aged in enumerate(free) if place_of(aged) >= first), None)
        if start is None:
            return choosers.declined("waiting", removals, terms)
        return choosers.taken(start, "cold" if terms.state == "cold" else "pays", prompt, removals, terms)


def schedule_of(offers: Offers, recorded: Recorded, service: Service) -> Schedule:
    """Find the cheapest schedule over everything that was offered in a recording.

    Args:
        offers: with what the provider reported of every request.
        recorded: the recording.
        service: who reported; its prices decide.
    """
    planned = {}
    for trajectory, layout in zip(recorded.trajectories, recorded.layouts, strict=True):
        if layout.requests:
            scale = recorded.scale(layout.name, service)
            planned[layout.name] = _planned(foresee(offers, trajectory, layout, service, scale=scale))
    return Schedule(planned)


def schedule_for(replay: Replay, recorded: Recorded, service: Service, settings: Settings) -> Schedule:
    """Drive a recording once with nothing newly masked, and find the cheapest schedule over what was offered then.

    Args:
        replay: of `recorded` at `service`.
        recorded: the recording.
        service: the provider.
        settings: of the driver.

    Raises:
        RecordingError: the driver passed a request through for a reason of its own.
    """
    offers = Offers()
    asked = list[tuple[str, int]]()

    def before(conversation: str, request: int) -> None:
        asked.append((conversation, request))
        offers.at(conversation, request)

    replayed = replay.run(settings, store=LeanStore(), choose=offers.choose, before=before)
    for (conversation, request), one in zip(asked, replayed, strict=True):
        if one.ours.prompt is None:
            raise RecordingError(f"request {request} of {conversation}: nobody reported its tokens")
        offers.at(conversation, request)
        offers.reported(one.ours.prompt, one.ours.read or 0)
    return schedule_of(offers, recorded, service)


def _planned(foreseen: Foreseen) -> Planned:
    found = clairvoyant(foreseen.situation)
    cuts = {request: foreseen.places[next(bits_of(new))] for request, new in found.cuts if new}
    return Planned(cuts, found.run, found.at_least_usd)
