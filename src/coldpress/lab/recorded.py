"""Get a recording ready to be replayed many times: what does not change from one replay to the next."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from coldpress.lab.evidence_sources import Uses
from coldpress.lab.layout import lay_out
from coldpress.lab.prompts import Asked, PromptReader
from coldpress.lab.rebuild import RequestHead, requests
from coldpress.lab.remembered import Remembered
from coldpress.lab.replay_service import STRUCTURE_TOKENS, Service
from coldpress.lab.replay_source import Source, heads, other_models, with_models
from coldpress.lab.simulated_provider import SimulatedProvider
from coldpress.model.trajectory import Trajectory, Turn
from coldpress.model.usage import Usage


@dataclass(frozen=True, slots=True)
class Step:
    """One request to be sent.

    Attributes:
        source: its conversation, `index` its turn in there.
        at: when it is sent, seconds since 1970.
        answered_at: when the lifetime of what it leaves in the cache begins.
        body: as the client writes it.
    """

    source: Source
    index: int
    at: float
    answered_at: float
    body: bytes = field(repr=False)

    @property
    def turn(self) -> Turn:
        """What was added, and the reply."""
        return self.source.trajectory.turns[self.index]

    @property
    def opens(self) -> bool:
        """Whether it is the first of its conversation."""
        return self.index == self.source.layout.own


class Recorded:
    """One recording.

    Args:
        name: of it.
        trajectories: all of it.
        count: tokens of a text, on the o200k scale; one that remembers.
        recorded_heads: what stands outside the messages of each trajectory; made up where it is `None`.

    Attributes:
        layouts: of its conversations.
        asked_long: whether its client asked for the long lifetime.
        remembered: what earlier replays of it decided.
    """

    def __init__(
        self,
        name: str,
        trajectories: Sequence[Trajectory],
        count: Callable[[str], int],
        *,
        recorded_heads: Sequence[RequestHead | None] = (),
    ) -> None:
        self.name = name
        self.trajectories = tuple(trajectories)
        made_up = heads(trajectories)
        known = recorded_heads or [None] * len(self.trajectories)
        self._heads = tuple(head or made_up[one.side_chain] for one, head in zip(self.trajectories, known, strict=True))
        self.layouts = tuple(
            lay_out(one, recording=name, count=count, head_counted=sum(map(count, (head.system, *head.tools))))
            for one, head in zip(self.trajectories, self._heads, strict=True)
        )
        self.asked_long = any(layout.long for layout in self.layouts)
        self._count = count
        self.remembered = Remembered()
        self._readers: dict[int, PromptReader] = {}
        self._controls: dict[int, tuple[Asked, ...]] = {}
        self._reported: dict[Service, tuple[Usage, ...]] = {}
        self._sources_of: dict[tuple[str, int], list[Source]] = {}

    @functools.cached_property
    def uses(self) -> Uses:
        """What its replies use of earlier results."""
        return Uses.of(self.trajectories)

    @property
    def requests(self) -> int:
        """How many its conversations made themselves."""
        return sum(layout.requests for layout in self.layouts)

    def reader(self, structure_tokens: int = STRUCTURE_TOKENS) -> PromptReader:
        """Give a reader of bodies for one run, which knows the messages of all runs before."""
        known = self._readers.setdefault(structure_tokens, PromptReader(self._count, structure_tokens))
        return known.again()

    def steps(self, service: Service) -> Iterator[Step]:
        """Give the requests that conversations made themselves, in the order of time."""
        sources = self._sources(service)
        bodies = [iter(requests(one.trajectory, one.head)) for one in sources]
        for at, place, index in self._order():
            answered_at = self._answered_at(place, index, service)
            yield Step(sources[place], index, at, answered_at, next(bodies[place]))

    def _order(self) -> list[tuple[float, int, int]]:
        """Say when each request is sent, by which conversation, and its index in there; in the order of time."""
        return sorted(
            (layout.sent_at[index], place, index)
            for place, layout in enumerate(self.layouts)
            for index in range(layout.own, len(layout.sent_at))
        )

    def _answered_at(self, place: int, index: int, service: Service) -> float:
        sent_at = self.layouts[place].sent_at[index]
        replied_at = self.trajectories[place].turns[index].replied_at if service.lives_from == "reply" else None
        return max(sent_at, replied_at or sent_at)

    def result_tokens(self, conversation: str, texts: Sequence[str], service: Service) -> int:
        """Count a result of a conversation, as the provider would."""
        source = next(one for one in self._sources(service) if one.trajectory.name == conversation)
        return round(source.sizes.scale * (service.structure_tokens + sum(map(self._count, texts))))

    def scale(self, conversation: str, service: Service) -> float:
        """Give a conversation's tokens at a provider for one that is counted."""
        return next(one for one in self._sources(service) if one.trajectory.name == conversation).sizes.scale

    def provider(self, service: Service) -> SimulatedProvider:
        """Give a provider that has not been asked anything yet."""
        reader = self.reader(service.structure_tokens)
        return SimulatedProvider(service.rules, service.tariff, asked_long=self.asked_long, reader=reader)

    def controls(self, service: Service) -> tuple[Usage, ...]:
        """Give what a provider reports of the client's own bodies, request by request."""
        if service not in self._reported:
            self._reported[service] = self.answered(self._control_prompts(service), service)
        return self._reported[service]

    def _control_prompts(self, service: Service) -> tuple[Asked, ...]:
        asked = self._controls.get(service.structure_tokens)
        if asked is None:
            reader = self.reader(service.structure_tokens)
            asked = tuple(reader.read(step.body, step.source.sizes, step.turn.reply) for step in self.steps(service))
            self._controls[service.structure_tokens] = asked
        return asked

    def answered(self, asked: Sequence[Asked], service: Service) -> tuple[Usage, ...]:
        """Give what a provider reports of prompts that were read before, one for each request."""
        provider = self.provider(service)
        return tuple(
            provider.answer(prompt, at=at, answered_at=answered_at, opens=opens)
            for prompt, (at, answered_at, opens) in zip(asked, self._times(service), strict=True)
        )

    def _times(self, service: Service) -> Iterator[tuple[float, float, bool]]:
        for at, place, index in self._order():
            yield at, self._answered_at(place, index, service), index == self.layouts[place].own

    def _sources(self, service: Service) -> list[Source]:
        key = (service.model, service.structure_tokens)
        found = self._sources_of.get(key)
        if found is None:
            names = other_models(self.trajectories, service.model)
            counted = self.reader(service.structure_tokens).counted
            found = self._sources_of[key] = [
                Source(with_models(one, names), layout, head, counted)
                for one, layout, head in zip(self.trajectories, self.layouts, self._heads, strict=True)
            ]
        return found
