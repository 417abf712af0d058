"""Drive a recording through the driver with a simulated provider behind it, and bill it with coldpress and without.

Requests come at their recorded times, those of sub-agents and forks in between. The provider is one of a tariff: its
prices, its cache, its name. What it reports goes back to the driver, so belief, calibration, gate, marks and batches
are those of a gateway. Open-loop: the recorded replies stay as they were.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final, Protocol

from coldpress.config.settings import Settings
from coldpress.drive import Driver, Inbound
from coldpress.lab.layout import lay_out
from coldpress.lab.rebuild import RequestHead, requests
from coldpress.lab.replay_service import Service
from coldpress.lab.replay_source import Quotes, Source, Texts, heads, other_models, with_models
from coldpress.lab.simulated_provider import SimulatedProvider, Sizes
from coldpress.measure.prices import cost_usd
from coldpress.measure.rates import Prices, Unpriced
from coldpress.model.errors import ConfigError, RecordingError
from coldpress.model.records import Outcome, Receipt
from coldpress.model.trajectory import Trajectory, Turn
from coldpress.model.usage import Usage
from coldpress.stores.base import Store
from coldpress.stores.memory import MemoryStore

HARNESS: Final = "claude-cli"


@dataclass(frozen=True, slots=True)
class Replayed:
    """One request of a replay.

    Attributes:
        conversation: name of its trajectory.
        at: when it was sent, seconds since 1970.
        received_bytes, sent_bytes: of its body, from the client and to the provider.
        control: what the provider reports of the client's own body, `ours` of the one that was sent.
        control_usd: the input of the one, `ours_usd` of the other.
        quotes: edits in its reply, and how many of them quote what was no longer shown.
        receipt: what the driver decided; `outcome` with its books.
    """

    conversation: str
    at: float
    received_bytes: int
    sent_bytes: int
    control: Usage
    ours: Usage
    control_usd: float
    ours_usd: float
    receipt: Receipt
    quotes: Quotes
    outcome: Outcome | None = None


@dataclass(frozen=True, slots=True)
class Sent:
    """The bodies of one request, for whoever watches: as received, as sent, and what the driver said."""

    conversation: str
    received: bytes = field(repr=False)
    sent: bytes = field(repr=False)
    receipt: Receipt
    turn: Turn = field(repr=False)


@dataclass(frozen=True, slots=True)
class _Step:
    """One request to be sent."""

    source: Source
    index: int
    at: float
    body: bytes = field(repr=False)

    @property
    def turn(self) -> Turn:
        return self.source.trajectory.turns[self.index]

    @property
    def opens(self) -> bool:
        """Whether it is the first of its conversation."""
        return self.index == self.source.layout.own


class Answering(Protocol):
    """Reports usage for the bodies of one recording, in the order of time; see `SimulatedProvider`."""

    def warm(self, body: bytes, sizes: Sizes, *, at: float) -> None:
        """Be told of a conversation's first request before it is sent."""
        ...

    def send(self, body: bytes, sizes: Sizes, *, at: float, answered_at: float, reply: str) -> Usage:
        """Give the usage of a request."""
        ...


def remember(store: Store, lengths: Sequence[int]) -> None:
    """Put conversations of these many requests into a store's ledger, all of them ended long ago."""
    for number, requests_made in enumerate(lengths):
        lineage = f"{number:032x}"
        for request in range(requests_made):
            store.put((), (), _earlier(f"{lineage}/{request}", lineage, at=float(request)))
    store.flush()


def _earlier(request_id: str, lineage: str, *, at: float) -> Receipt:
    return Receipt(
        request_id=request_id,
        received_at=at,
        provider="earlier",
        format="anthropic",
        model=None,
        lineage=lineage,
        harness_session=None,
        operation="observe",
        messages=0,
        body_bytes=0,
        sent_bytes=0,
        harness=HARNESS,
    )


class Replay:
    """One recording at one service.

    Args:
        recording: its name.
        trajectories: all of it.
        service: the provider.
        count: tokens of a text, on the o200k scale.
        head: of all requests; made up where not given.

    Attributes:
        models: that its requests name.
        layouts: of its conversations, for `coldpress.lab.schedules`.
    """

    def __init__(
        self,
        recording: str,
        trajectories: Sequence[Trajectory],
        service: Service,
        count: Callable[[str], int],
        *,
        head: RequestHead | None = None,
    ) -> None:
        names = other_models(trajectories, service.model)
        head_of = heads(trajectories) if head is None else {False: head, True: head}
        layouts = [lay_out(trajectory, recording=recording, count=count) for trajectory in trajectories]
        self.models = tuple(names.values())
        self.layouts = tuple(layouts)
        self._recording = recording
        self._service = service
        asked_long = any(layout.long for layout in layouts)
        self._asked_long = asked_long
        self._count = count
        self._control = self.provider()
        self._ours: Answering = self.provider()
        texts = Texts()
        self._sources = [
            Source(with_models(one, names), layout, head_of[one.side_chain], self._control.counted, texts)
            for one, layout in zip(trajectories, layouts, strict=True)
        ]

    def provider(self) -> SimulatedProvider:
        """Give another one like those that answer here, its cache empty: for whoever stands between."""
        rules, structure = self._service.rules, self._service.structure_tokens
        return SimulatedProvider(
            rules, self._service.tariff, asked_long=self._asked_long, count=self._count, structure_tokens=structure
        )

    def run(
        self,
        settings: Settings,
        *,
        store: Store | None = None,
        see: Callable[[Sent], None] = lambda _: None,
        answering: Answering | None = None,
        restart_before: int | None = None,
    ) -> tuple[Replayed, ...]:
        """Replay every request in the order of time; once only.

        Args:
            settings: from `settings_of`, or with the same provider.
            store: with whatever came before; an empty one where not given.
            see: is shown every request.
            answering: reports usage to the driver in the place of the simulated provider.
            restart_before: number of the request, from 0 on, before which the driver is ended and a new one started on
                the same store: all that it kept in memory is lost.

        Raises:
            RecordingError: the driver passed a request through for a reason of its own.
        """
        kept = MemoryStore() if store is None else store
        self._ours = answering or self._ours
        found: list[Replayed] = []
        steps = enumerate(self._steps())
        for part in (islice(steps, restart_before), steps):
            with asyncio.Runner() as runner, closing(Driver(settings, kept)) as driver:
                driver.load_forecast(HARNESS)
                for number, step in part:
                    name = f"{self._recording}/{number}"
                    found.append(runner.run(self._request(name, step, driver, see)))
            kept.flush()
        return tuple(replace(one, outcome=_outcome(kept, one.receipt.request_id)) for one in found)

    def _steps(self) -> Iterator[_Step]:
        """Give the requests that conversations made themselves, in the order of time."""
        order = sorted(
            (source.layout.sent_at[index], place, index)
            for place, source in enumerate(self._sources)
            for index in range(source.layout.own, len(source.layout.sent_at))
        )
        bodies = [iter(requests(one.trajectory, one.head)) for one in self._sources]
        for at, place, index in order:
            yield _Step(self._sources[place], index, at, next(bodies[place]))

    async def _request(self, name: str, step: _Step, driver: Driver, see: Callable[[Sent], None]) -> Replayed:
        turn, body = step.turn, step.body
        headers = {"user-agent": f"{HARNESS}/2"}
        inbound = Inbound(name, step.at, self._service.provider, "anthropic", body, None, headers)
        prepared = await driver.prepare(inbound)
        failed = [note for note in prepared.receipt.notes if note.startswith(("pass_through:", "store_failed"))]
        if failed:
            raise RecordingError(f"request {name}: {failed[0]}; run it alone to see why, the log has the details")
        see(Sent(step.source.trajectory.name, body, prepared.body, prepared.receipt, turn))
        replied_at = turn.replied_at if self._service.lives_from == "reply" else None
        answered_at = max(step.at, replied_at or step.at)
        control = self._asked(self._control, step, body, answered_at)
        ours = self._asked(self._ours, step, prepared.body, answered_at)
        usage = replace(ours, output=turn.usage.output or 0)
        driver.finish(Outcome(name, 200, "complete", answered_at - step.at, usage))
        quotes = step.source.quoted(body, prepared.body, turn)
        return Replayed(
            conversation=step.source.trajectory.name,
            at=step.at,
            received_bytes=len(body),
            sent_bytes=len(prepared.body),
            control=control,
            ours=ours,
            control_usd=self._input_usd(control),
            ours_usd=self._input_usd(ours),
            receipt=prepared.receipt,
            quotes=quotes,
        )

    def _asked(self, provider: Answering, step: _Step, body: bytes, answered_at: float) -> Usage:
        sizes = step.source.sizes
        if step.opens:
            provider.warm(body, sizes, at=step.at)
        return provider.send(body, sizes, at=step.at, answered_at=answered_at, reply=step.turn.reply)

    def _input_usd(self, usage: Usage) -> float:
        found = cost_usd(replace(usage, output=0), self._prices)
        if isinstance(found, Unpriced):
            raise ConfigError(f"the tariff {self._service.tariff.name} lacks {', '.join(found.missing)}; give it")
        return found

    @property
    def _prices(self) -> Prices:
        return self._service.tariff.prices


def _outcome(store: Store, request_id: str) -> Outcome | None:
    entry = store.receipt(request_id)
    return entry.outcome if entry else None
