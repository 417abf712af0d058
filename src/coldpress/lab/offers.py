"""Write down which results a driver offers on every request of a recording, for a schedule that knows them all.

`Offers` stands in the gate's place and lets nothing go, so what the engine would let go, and when, is all that it sees:
validity, keep zones, models that bind their reasoning, pins and breakers are the engine's own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, groupby
from typing import NamedTuple

from coldpress.engine.aged import Aged
from coldpress.engine.gate import Ruling, Terms
from coldpress.lab import choosers
from coldpress.lab.layout import Layout
from coldpress.lab.replay_service import Service
from coldpress.lab.schedules import Candidate, Offered, Situation
from coldpress.measure.economics import Prompt, Removal
from coldpress.model.trajectory import Trajectory


class Place(NamedTuple):
    """Where a result stands in its conversation: message, block in there, text in that; in the order of the prompt."""

    message: int
    block: int
    part: int


class Offer(NamedTuple):
    """A result that may go now: what its view frees, as counted, and the prompt tokens in front of it."""

    place: Place
    freed_tokens: int
    before_tokens: int


class Reported(NamedTuple):
    """What a provider reported of one prompt."""

    prompt_tokens: int
    read_tokens: int


def place_of(aged: Aged) -> Place:
    """Say where an aged result stands."""
    return Place(aged.seen.message, aged.seen.key.block, aged.seen.key.part)


@dataclass(frozen=True)
class Offers:
    """Every result that was offered, request by request, by conversation and index of the request in there."""

    offered: dict[tuple[str, int], tuple[Offer, ...]] = field(default_factory=dict)
    cold: set[tuple[str, int]] = field(default_factory=set)
    reports: dict[tuple[str, int], Reported] = field(default_factory=dict)
    _now: list[tuple[str, int]] = field(default_factory=list)

    def at(self, conversation: str, request: int) -> None:
        """Say which request comes next."""
        self._now[:] = [(conversation, request)]

    def choose(self, free: Sequence[Aged], prompt: Prompt, removals: Sequence[Removal], terms: Terms) -> Ruling:
        """Write down what may go, and let nothing go.

        What goes whatever anybody chooses is no offer, and neither is an exact text that comes back.
        """
        found = tuple(
            Offer(place_of(aged), aged.view.freed_tokens, removal.before_tokens)
            for aged, removal in zip(free, removals, strict=True)
            if aged.view.freed_tokens > 0 and not aged.view.ungated
        )
        self.offered[self._now[0]] = found
        if terms.state == "cold":
            self.cold.add(self._now[0])
        return choosers.never(free, prompt, removals, terms)

    def reported(self, prompt_tokens: int, read_tokens: int) -> None:
        """Write down what the provider reported of the request at hand."""
        self.reports[self._now[0]] = Reported(prompt_tokens, read_tokens)


@dataclass(frozen=True, slots=True)
class Foreseen:
    """A conversation as a schedule sees it; `places` says where each of its situation's candidates stands."""

    situation: Situation
    places: tuple[Place, ...]


def foresee(offers: Offers, trajectory: Trajectory, layout: Layout, service: Service, *, scale: float) -> Foreseen:
    """Put everything that was offered in one conversation in the terms of `coldpress.lab.schedules`.

    A result whose view frees more on later requests is several candidates at one place: each of them frees what it
    adds, from when on it does.

    Args:
        offers: of the whole recording, with what the provider reported of every request.
        trajectory: the conversation.
        layout: its times; prompts before its first own request are as there.
        service: who reported.
        scale: the provider's tokens for one of the counter's.
    """
    name, own, last = layout.name, layout.own, len(layout.prompt_tokens)
    freed: dict[Place, dict[int, int]] = defaultdict(dict)
    before: dict[Place, int] = {}
    for request in range(own, last):
        for offer in offers.offered.get((name, request), ()):
            freed[offer.place][request] = round(offer.freed_tokens * scale)
            before.setdefault(offer.place, offer.before_tokens)
    first_of = _first_requests(trajectory)
    candidates, places, on = list[Candidate](), list[Place](), [0] * last
    for index, place in enumerate(sorted(freed)):
        for more, requests in _levels(freed[place]):
            for request in requests:
                on[request] |= 1 << len(candidates)
            candidates.append(Candidate(first_of[place.message], requests[0], before[place], more, index))
            places.append(place)
    reports = [offers.reports[name, request] for request in range(own, last)]
    prompts = (*layout.prompt_tokens[:own], *(report.prompt_tokens for report in reports))
    offered = Offered(
        tuple(candidates),
        tuple(on),
        (*(0,) * own, *(report.read_tokens for report in reports)),
        reads_anywhere=service.rules.kind == "steps",
    )
    found = replace(layout, prompt_tokens=tuple(accumulate(prompts, max)))
    return Foreseen(Situation(found, offered, service.tariff), tuple(places))


def _levels(freed: Mapping[int, int]) -> Iterator[tuple[int, list[int]]]:
    """Give each amount that is freed beyond a smaller one, and the requests on which it is."""
    below = 0
    for level, _ in groupby(sorted(tokens for tokens in freed.values() if tokens > 0)):
        yield level - below, [request for request, tokens in freed.items() if tokens >= level]
        below = level


def _first_requests(trajectory: Trajectory) -> list[int]:
    """Give, for every message, the request that it first appears in."""
    found = list[int]()
    for index, turn in enumerate(trajectory.turns):
        found += [index] * len(turn.added) + [index + 1]
    return found
