"""Send a recorded run through a gateway on loopback, as its client did, and hold what went out against the lab."""

from __future__ import annotations

import asyncio
import functools
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace

import aiohttp
import pytest
from missed import none_is_ours_unasked

from coldpress.config import Settings
from coldpress.drive import Driver
from coldpress.gateway import exchange as gateway_exchange
from coldpress.gateway.serve import serving
from coldpress.gateway.settings import gateway_settings
from coldpress.lab.arm_files import Arm
from coldpress.lab.importers.any import read_file
from coldpress.lab.prompts import Sizes
from coldpress.lab.recorded import Recorded, Step
from coldpress.lab.replay import HARNESS, Replay, Sent
from coldpress.lab.replay_service import Service
from coldpress.lab.runs import settings_for
from coldpress.lab.services import service_for
from coldpress.measure.tokens import estimate
from coldpress.model.records import Receipt
from coldpress.model.usage import Usage
from coldpress.stores.base import Store
from coldpress.stores.memory import MemoryStore
from coldpress.testing import Asked, Call, Part, Rules, Say, Script, StrictUpstream, Turn
from coldpress.testing import provider as upstream_provider
from coldpress.testing.meter import Meter

HEADERS = {
    "x-api-key": "the client's own",
    "anthropic-version": "2023-06-01",
    "content-type": "application/json",
    "user-agent": f"{HARNESS}/2",
}
TARIFF = "claude-opus-4-6"
ROOMY = Rules(check_signatures=False, window_tokens=2_000_000)
"""Thinking was signed elsewhere, and recorded prompts fitted windows that nobody knows here."""


@dataclass(frozen=True, slots=True)
class Passed:
    """One request on its way through a gateway: as the client sent it, as the upstream got it, what was decided."""

    sent: bytes = field(repr=False)
    received: bytes = field(repr=False)
    usage: Usage
    receipt: Receipt


@dataclass(frozen=True, slots=True)
class Run:
    """One recording at one service under one arm's settings: what the lab sent, and what a gateway did."""

    lab: tuple[Sent, ...]
    gateway: tuple[Passed, ...]

    @property
    def seen(self) -> Counter[str]:
        """What was done how often, by the gateway's receipts."""
        found: Counter[str] = Counter()
        for one in self.gateway:
            receipt = one.receipt
            found["first sight"] += sum(line.reason == "pressed" for line in receipt.lines)
            if receipt.cut is not None:
                found[receipt.cut.reason] += 1
                found["mark"] += receipt.cut.mark
            if receipt.pressure is not None:
                found["compaction"] += receipt.pressure.reason in ("masked", "summarised", "masked_short")
                found["summary"] += receipt.pressure.summarised > 0
            found["changed"] += one.sent != one.received
        return found

    @property
    def occurred(self) -> set[str]:
        """What was done at all."""
        return {what for what, often in self.seen.items() if often}


def replay(path: Path, arm: Arm, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Replay a file in the lab, and send it through a gateway; see `replay_recorded`."""
    return replay_recorded(recorded_in(path), arm, monkeypatch)


def replay_recorded(recorded: Recorded, arm: Arm, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Replay in the lab, and send through a gateway whose upstream reports what the lab's own provider does."""
    service, settings = set_up(recorded, arm)
    lab: list[Sent] = []
    replayed = Replay(recorded, service).run(settings, see=lab.append)
    usages = [one.ours for one in replayed]
    gateway = through_a_gateway(list(recorded.steps(service)), settings, MemoryStore(), monkeypatch, usages=usages)
    return Run(tuple(lab), tuple(gateway))


def recorded_in(path: Path) -> Recorded:
    """Read a recording of any kind."""
    found = read_file(path)
    return Recorded(path.stem, found.trajectories, functools.cache(estimate), recorded_heads=found.own_heads)


def set_up(recorded: Recorded, arm: Arm) -> tuple[Service, Settings]:
    """Give a service for a recording, and an arm's settings for it."""
    service = service_for(TARIFF, recorded.trajectories)
    longest = max(usage.prompt or 0 for usage in recorded.controls(service))
    return service, settings_for(arm, service, Replay(recorded, service).models, longest)


def differences(run: Run) -> list[str]:
    """Say on which requests the lab and the gateway part, and where."""
    found = [] if len(run.lab) == len(run.gateway) else [f"{len(run.lab)} requests, {len(run.gateway)} in the gateway"]
    for number, (mine, theirs) in enumerate(zip(run.lab, run.gateway, strict=False)):
        for what, one, other in (
            ("the client's body", mine.received, theirs.sent),
            ("the body upstream", mine.sent, theirs.received),
        ):
            if one != other:
                found.append(f"request {number}: {what} parts {parting(one, other)}")
        if plain(mine.receipt) != plain(theirs.receipt):
            found.append(f"request {number}: the receipts part in {', '.join(parted(mine.receipt, theirs.receipt))}")
    return found


def parting(mine: bytes, theirs: bytes) -> str:
    """Say where two bodies begin to differ, with what stands around it."""
    at = next((i for i, (a, b) in enumerate(zip(mine, theirs, strict=False)) if a != b), min(len(mine), len(theirs)))
    around = slice(max(0, at - 30), at + 50)
    return f"at byte {at} (lab {len(mine)} bytes: {mine[around]!r}; gateway {len(theirs)} bytes: {theirs[around]!r})"


def plain(receipt: Receipt) -> Receipt:
    """Take off the name, which a gateway draws at random."""
    return replace(receipt, request_id="")


def parted(mine: Receipt, theirs: Receipt) -> Iterator[str]:
    """Name the fields in which two receipts differ, with what they hold."""
    for name in Receipt.__slots__:
        one, other = getattr(mine, name), getattr(theirs, name)
        if name != "request_id" and one != other:
            yield f"{name} (lab {one!r}; gateway {other!r})"


class Clock:
    """The recorded times: `sent` of the request at hand, and `now`, which goes on to its reply."""

    def __init__(self) -> None:
        self.sent = self.now = 0.0


def through_a_gateway(
    steps: Sequence[Step],
    settings: Settings,
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
    *,
    usages: Sequence[Usage] | None = None,
    rules: Rules = ROOMY,
) -> list[Passed]:
    """Send every request through a gateway of its own, one after the other, each reply as a stream, to its end.

    Args:
        steps: the requests, in the order of time.
        settings: of the gateway; listening address and the provider's URL are replaced.
        store: the gateway's.
        monkeypatch: for the clock that replies are timed by, and for `usages`.
        usages: what the upstream reports, request by request; else what its own cache says.
        rules: of the upstream.
    """
    clock = Clock()
    monkeypatch.setattr(gateway_exchange, "time", SimpleNamespace(monotonic=lambda: clock.now))
    if usages is not None:
        told = iter(usages)
        monkeypatch.setattr(upstream_provider, "Meter", functools.partial(_Told, told=told))

    def answer(asked: Asked) -> Turn:
        step = steps[asked.number]
        clock.now = step.answered_at
        return Turn(tuple(parts(step.turn.reply)) or (Say("."),))

    with StrictUpstream(Script(answer=answer), rules=rules, clock=lambda: clock.sent) as upstream:
        (provider,) = settings.providers
        providers = (replace(provider, url=upstream.url, api_key=None),)
        default = replace(settings.default_provider, anthropic=provider.name, openai=provider.name)
        local = replace(settings, host="127.0.0.1", port=0, providers=providers, default_provider=default)
        with closing(Driver(local, store, clock=lambda: clock.now)) as driver:
            return asyncio.run(_send_all(steps, local, driver, upstream=upstream, clock=clock, store=store))


async def _send_all(
    steps: Sequence[Step], settings: Settings, driver: Driver, *, upstream: StrictUpstream, clock: Clock, store: Store
) -> list[Passed]:
    names: list[str] = []
    async with (
        serving(gateway_settings(settings, control_port=0), driver, clock=lambda: clock.sent) as gateway,
        aiohttp.ClientSession() as client,
    ):
        for number, step in enumerate(steps):
            clock.sent = clock.now = step.at
            async with client.post(f"{gateway.url}/v1/messages", data=step.body, headers=HEADERS) as response:
                answer = await response.read()
                assert response.status == 200, f"request {number}: {response.status} {answer[:300]!r}"
                assert response.content_type == "text/event-stream"
                names.append(response.headers["x-coldpress-request"])
    none_is_ours_unasked(store)
    return [
        Passed(step.body, exchange.request.body, exchange.usage or Usage(), _receipt(store, name))
        for step, exchange, name in zip(steps, upstream.inference, names, strict=True)
    ]


def _receipt(store: Store, name: str) -> Receipt:
    entry = store.receipt(name)
    assert entry is not None, f"the ledger has no receipt for {name}"
    return entry.receipt


class _Told(Meter):
    """Counts and checks as the upstream does, and reports what it was told to."""

    def __init__(self, *args: object, told: Iterator[Usage], **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self._told = told

    def messages(self, body: object, *, dropped: tuple[str, ...] = (), shown: object = None) -> Usage:
        return next(self._told)


def parts(reply: str) -> Iterator[Part]:
    """Give what a recorded reply says and calls; thinking is the client's, and goes out with its requests."""
    for block in json.loads(reply)["content"]:
        if block["type"] == "text" and block["text"].strip():
            yield Say(block["text"])
        elif block["type"] == "tool_use":
            yield Call(block["name"], block["input"])


class Reported:
    """Reports to the lab what the upstream behind the gateway reported, request by request."""

    def __init__(self, usages: Iterable[Usage]) -> None:
        self._usages = iter(usages)

    def send(
        self, body: bytes, sizes: Sizes, *, at: float, answered_at: float, reply: str, opens: bool = False
    ) -> Usage:
        return next(self._usages)
