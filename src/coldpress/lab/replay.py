"""Drive a recording through the driver with a simulated provider behind it, and bill it with coldpress and without.

Requests come at their recorded times, those of sub-agents and forks in between. The provider is one of a tariff: its
prices, its cache, its name. What it reports goes back to the driver, so belief, calibration, gate, marks and batches
are those of a gateway. Open-loop: the recorded replies stay as they were.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, Future
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final, Protocol, TypeVar

from coldpress.config.settings import Settings
from coldpress.drive import Driver, Inbound
from coldpress.engine.cut import Choose, by_gate
from coldpress.lab.evidence import Judge, Looked
from coldpress.lab.prompts import Asked, Sizes
from coldpress.lab.recorded import Recorded, Step
from coldpress.lab.replay_service import Service
from coldpress.lab.replay_source import other_models
from coldpress.measure.prices import cost_usd
from coldpress.measure.rates import Unpriced
from coldpress.model.errors import ConfigError, RecordingError
from coldpress.model.records import Outcome, Receipt
from coldpress.model.trajectory import Turn
from coldpress.model.usage import Usage
from coldpress.stores.base import Store
from coldpress.stores.memory import MemoryStore

HARNESS: Final = "claude-cli"

_LONG_AGO_SECONDS: Final = 30 * 86_400.0
"""Before 1970: the times of a recording without any are 0."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Replayed:
    """One request of a replay.

    Attributes:
        conversation: name of its trajectory.
        at: when it was sent, seconds since 1970.
        received_bytes, sent_bytes: of its body, from the client and to the provider.
        control: what the provider reports of the client's own body, `ours` of the one that was sent.
        control_usd: the input of the one, `ours_usd` of the other.
        looked: what its reply used of earlier results, and what of that was no longer shown.
        receipt: what the driver decided; `outcome` with its books.
        asked: the prompt that was sent, to be priced elsewhere; `None` where somebody else answered.
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
    looked: Looked
    outcome: Outcome | None = None
    asked: Asked | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Sent:
    """One request for whoever watches: its place, its bodies as received and as sent, and what the driver said."""

    conversation: str
    index: int
    received: bytes = field(repr=False)
    sent: bytes = field(repr=False)
    receipt: Receipt
    turn: Turn = field(repr=False)


class Answering(Protocol):
    """Reports usage for the bodies of one recording, in the order of time; see `SimulatedProvider`."""

    def send(
        self, body: bytes, sizes: Sizes, *, at: float, answered_at: float, reply: str, opens: bool = False
    ) -> Usage:
        """Give the usage of a request; `opens` says that it is the first of its conversation."""
        ...


class AtOnce(Executor):
    """Does at once what it is given: in a replay nobody else waits for the event loop."""

    def submit(self, fn: Callable[..., T], /, *args: object, **kwargs: object) -> Future[T]:
        """Do it, and give what came of it; what goes wrong is raised at once."""
        done: Future[T] = Future()
        done.set_result(fn(*args, **kwargs))
        return done


def remember(store: Store, lengths: Sequence[int]) -> None:
    """Put conversations of these many requests into a store's ledger, all of them ended long ago."""
    for number, requests_made in enumerate(lengths):
        lineage = f"{number:032x}"
        for request in range(requests_made):
            store.put((), (), _earlier(f"{lineage}/{request}", lineage, at=request - _LONG_AGO_SECONDS))
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
        recorded: the recording; all its replays share what they have in common.
        service: the provider.

    Attributes:
        models: that its requests name.
        layouts: of its conversations, for `coldpress.lab.schedules`.

    Raises:
        ConfigError: nothing is known of how the provider caches.
    """

    def __init__(self, recorded: Recorded, service: Service) -> None:
        self.models = tuple(other_models(recorded.trajectories, service.model).values())
        self.layouts = recorded.layouts
        self._recorded = recorded
        self._service = service
        self._controls = recorded.controls(service)

    def run(
        self,
        settings: Settings,
        *,
        store: Store | None = None,
        see: Callable[[Sent], None] = lambda _: None,
        answering: Answering | None = None,
        restart_before: int | None = None,
        choose: Choose = by_gate,
        before: Callable[[str, int], None] = lambda _, __: None,
    ) -> tuple[Replayed, ...]:
        """Replay every request in the order of time.

        Args:
            settings: from `settings_of`, or with the same provider.
            store: with whatever came before; an empty one where not given. With a `LeanStore` there are no books.
            see: is shown every request.
            answering: reports usage to the driver in the place of a simulated provider.
            restart_before: number of the request, from 0 on, before which the driver is ended and a new one started on
                the same store: all that it kept in memory is lost.
            choose: says which aged results go.
            before: is told of every request before it is decided on: its conversation, and its index in there.

        Raises:
            RecordingError: the driver passed a request through for a reason of its own.
        """
        kept = MemoryStore() if store is None else store
        run = _Run(self._recorded, self._service, answering, controls=self._controls, see=see, before=before)
        steps = enumerate(self._recorded.steps(self._service))
        deciders = self._recorded.remembered.deciders(choose)
        with asyncio.Runner() as runner:
            for part in (islice(steps, restart_before), steps):
                # Its clock shows the recorded times: how fast a replay goes must play no part.
                with closing(Driver(settings, kept, clock=run.clock, deciders=deciders, workers=AtOnce())) as driver:
                    driver.load_forecast(HARNESS)
                    runner.run(run.all(part, driver))
                kept.flush()
                if restart_before is None:
                    break
        return tuple(replace(one, outcome=_outcome(kept, one.receipt.request_id)) for one in run.found)


class _Run:
    """One run over a recording, in the order of time."""

    def __init__(
        self,
        recorded: Recorded,
        service: Service,
        answering: Answering | None,
        *,
        controls: Sequence[Usage],
        see: Callable[[Sent], None],
        before: Callable[[str, int], None],
    ) -> None:
        self.found: list[Replayed] = []
        self._now = 0.0
        self._judge = Judge(recorded.uses)
        self._name = recorded.name
        self._service = service
        self._provider = recorded.provider(service)
        self._reader = recorded.reader(service.structure_tokens)
        self._answering = answering
        self._controls = controls
        self._see = see
        self._before = before

    async def all(self, steps: Iterable[tuple[int, Step]], driver: Driver) -> None:
        """Send some requests."""
        for number, step in steps:
            self.found.append(await self._request(number, step, driver))

    def clock(self) -> float:
        """Give the time of the request at hand, in seconds since 1970; 0 before the first."""
        return self._now

    async def _request(self, number: int, step: Step, driver: Driver) -> Replayed:
        name, turn, body = f"{self._name}/{number}", step.turn, step.body
        conversation = step.source.trajectory.name
        inbound = Inbound(
            name, step.at, self._service.provider, "anthropic", body, None, {"user-agent": f"{HARNESS}/2"}
        )
        self._before(conversation, step.index)
        self._now = step.at
        prepared = await driver.prepare(inbound)
        failed = [note for note in prepared.receipt.notes if note.startswith(("pass_through:", "store_failed"))]
        if failed:
            raise RecordingError(f"request {name}: {failed[0]}; run it alone to see why, the log has the details")
        self._see(Sent(conversation, step.index, body, prepared.body, prepared.receipt, turn))
        asked, ours = self._asked(step, prepared.body)
        usage = replace(ours, output=turn.usage.output or 0)
        driver.finish(Outcome(name, 200, "complete", step.answered_at - step.at, usage))
        return Replayed(
            conversation=conversation,
            at=step.at,
            received_bytes=len(body),
            sent_bytes=len(prepared.body),
            control=self._controls[number],
            ours=ours,
            control_usd=input_usd(self._controls[number], self._service),
            ours_usd=input_usd(ours, self._service),
            receipt=prepared.receipt,
            looked=self._judge.look(conversation, step.index, prepared.body),
            asked=asked,
        )

    def _asked(self, step: Step, body: bytes) -> tuple[Asked | None, Usage]:
        sizes, reply, at, answered_at = step.source.sizes, step.turn.reply, step.at, step.answered_at
        if self._answering is not None:
            found = self._answering.send(body, sizes, at=at, answered_at=answered_at, reply=reply, opens=step.opens)
            return None, found
        asked = self._reader.read(body, sizes, reply)
        return asked, self._provider.answer(asked, at=at, answered_at=answered_at, opens=step.opens)


def input_usd(usage: Usage, service: Service) -> float:
    """Price the input of one request.

    Raises:
        ConfigError: the tariff lacks a price.
    """
    found = cost_usd(replace(usage, output=0), service.tariff.prices)
    if isinstance(found, Unpriced):
        raise ConfigError(f"the tariff {service.tariff.name} lacks {', '.join(found.missing)}; give it")
    return found


def _outcome(store: Store, request_id: str) -> Outcome | None:
    entry = store.receipt(request_id)
    return entry.outcome if entry else None
