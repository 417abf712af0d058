"""Replay one recording in an artificial window: is every prompt within it and valid, what does it cost, what is lost.

An arm is one way to keep to the window: a budget of coldpress, or what others do. Simulated and open-loop: recorded
replies stay as they were, also where the agent would have asked again for what it no longer saw.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from coldpress.engine.budget import STAGES, TARGET, TRIGGER, BudgetRule, Budgets, Stage
from coldpress.engine.policy import Policy
from coldpress.lab.evidence import Evidence, Judge
from coldpress.lab.evidence_sources import Uses
from coldpress.lab.prompts import Sizes
from coldpress.lab.rebuild import RequestHead
from coldpress.lab.recorded import Recorded
from coldpress.lab.replay import Replay, Replayed
from coldpress.lab.replay_service import Service, settings_of
from coldpress.lab.shorten import Bounds, Shorten, clear_results, drop_oldest, messages_of, reply_starts, with_messages
from coldpress.lab.simulated_provider import SimulatedProvider
from coldpress.model.trajectory import Trajectory
from coldpress.model.usage import Usage

APPLIED: Final = ("masked", "masked_short", "summarised")


@dataclass(frozen=True, slots=True)
class Arm:
    """One way to keep to a window: stages of a budget, or a way of shortening that is not ours."""

    name: str
    stages: tuple[Stage, ...] = ()
    shorten: Shorten | None = None

    @property
    def is_ours(self) -> bool:
        """Whether coldpress does it."""
        return self.shorten is None


ARMS: Final[dict[str, Arm]] = {
    arm.name: arm
    for arm in (
        Arm("mask", ("mask",)),
        Arm("structural", ("summary",)),
        Arm("hybrid", STAGES),
        Arm("clear", shorten=clear_results),
        Arm("drop", shorten=drop_oldest),
    )
}
"""By name; beside them stands the control, which sends what the client wrote, however long that is."""

NO_BUDGET: Final = Arm("no budget")
"""Coldpress without a budget: what first sight and aged results save alone."""


@dataclass(frozen=True, slots=True)
class Over:
    """A request above the window. `least_tokens` are its head, the first user's message and the newest turn as sent.

    Words of the user in between, and whatever stands for messages that went, are not in it.
    """

    request: str
    prompt_tokens: int
    least_tokens: int


@dataclass(frozen=True, slots=True)
class Event:
    """What the driver said of one prompt that came up to its trigger.

    `number` counts the requests of its conversation from 0.
    """

    request: str
    conversation: str
    number: int
    reason: str
    before_tokens: int
    after_tokens: int
    target_tokens: int
    generation: int
    cleared: int
    summarised: int
    narrowed: bool
    escalate: bool


@dataclass(frozen=True, slots=True)
class Played:
    """One recording, one arm, one window. Bills are of input alone, in USD; tokens are what the provider reported.

    Attributes:
        recording, arm: their names.
        window_tokens: of the artificial window; `None` where there was none.
        requests: how many; `control_over` of them are above the window as the client wrote them.
        over: those above it as they were sent; the least of `over_fitting` of them would have fitted.
        invalid: what the checker objected to, one text a request.
        control_usd, ours_usd: with the client's bodies and with those that were sent.
        control_tokens, ours_tokens: prompts, all together; `control_peak` and `ours_peak` the longest.
        events: above the trigger; those that changed something are of `APPLIED`.
        evidence: what replies used and were not shown.
        findings: of the watchers, by kind.
        summariser_usd: what summaries cost.
    """

    recording: str
    arm: str
    window_tokens: int | None
    requests: int
    control_over: int
    over: tuple[Over, ...]
    invalid: tuple[str, ...]
    control_usd: float
    ours_usd: float
    control_tokens: int
    ours_tokens: int
    control_peak: int
    ours_peak: int
    evidence: Evidence
    events: tuple[Event, ...] = ()
    findings: Counter[str] = field(default_factory=Counter)
    summariser_usd: float = 0.0

    @property
    def compactions(self) -> tuple[Event, ...]:
        """Events that changed the prompt."""
        return tuple(event for event in self.events if event.reason in APPLIED)

    @property
    def generations(self) -> int:
        """The most that one conversation came to."""
        return max((event.generation for event in self.events), default=0)

    @property
    def over_fitting(self) -> int:
        """Requests above the window that need not have been."""
        return sum(one.least_tokens <= (self.window_tokens or 0) for one in self.over)


Check = Callable[[bytes], str | None]
"""Says what a provider would object to in a body; `None` where nothing."""


@dataclass(frozen=True, slots=True)
class Recording:
    """A recording that can be replayed many times.

    Attributes:
        name: of its file.
        trajectories: all of it.
        service: the provider.
        count: tokens of a text on the o200k scale; give one that remembers.
        check: of every body that is sent.
        head: of its requests; made up where the recording has none.
    """

    name: str
    trajectories: tuple[Trajectory, ...]
    service: Service
    count: Callable[[str], int]
    check: Check
    head: RequestHead | None = None

    @property
    def recorded(self) -> Recorded:
        """What its replays share."""
        return Recorded(self.name, self.trajectories, self.count, recorded_heads=(self.head,) * len(self.trajectories))

    def replay(self) -> Replay:
        """Make it ready to be replayed once."""
        return Replay(self.recorded, self.service)


def peak_tokens(recording: Recording) -> int:
    """Give the longest prompt that the recorded agent sent itself."""
    return max(max(layout.prompt_tokens[layout.own :], default=0) for layout in recording.replay().layouts)


def play(recording: Recording, arm: Arm, window_tokens: int | None) -> Played:
    """Replay a recording with one arm.

    Args:
        recording: with its provider.
        arm: what keeps to the window.
        window_tokens: of the window; `None` for none.
    """
    replay = recording.replay()
    settings = settings_of(
        recording.service, source_age=None, first_sight=True, keep_thinking=False, models=replay.models
    )
    budget = BudgetRule(window_tokens=window_tokens, stages=arm.stages)
    settings = replace(settings, budgets=Budgets(budget))
    if not arm.is_ours:
        settings = replace(settings, policy=Policy(()), budgets=Budgets(BudgetRule(stages=())))
    judge = Judge(Uses.of(recording.trajectories))
    provider = recording.recorded.provider(recording.service)
    meter = Meter(provider, recording.check, judge, arm.shorten, window_tokens)
    replayed = replay.run(settings, before=meter.begin, see=lambda sent: meter.receive(sent.received), answering=meter)
    return _played(recording.name, arm, window_tokens, replayed, meter)


@dataclass(frozen=True, slots=True)
class _Metered:
    least_tokens: int
    objection: str | None
    evidence: Evidence


class Meter:
    """Stands in front of a simulated provider: shortens bodies for the arms that are not ours, and looks at all.

    Args:
        provider: answers.
        check: of every body.
        judge: of this run.
        shorten: `None` to leave bodies as they are.
        window_tokens: of the window, for `shorten`.
    """

    def __init__(
        self,
        provider: SimulatedProvider,
        check: Check,
        judge: Judge,
        shorten: Shorten | None,
        window_tokens: int | None,
    ) -> None:
        self._provider = provider
        self._check = check
        self._judge = judge
        self._shorten = shorten
        self._window_tokens = window_tokens or 0
        self._place = ("", 0)
        self._received = b""
        self._counted: dict[bytes, int] = {}
        self.seen: list[_Metered] = []

    def begin(self, conversation: str, turn: int) -> None:
        """Be told which request comes next."""
        self._place = (conversation, turn)

    def receive(self, received: bytes) -> None:
        """Be told what the client wrote, before what is sent for it."""
        self._received = received

    def send(
        self, body: bytes, sizes: Sizes, *, at: float, answered_at: float, reply: str, opens: bool = False
    ) -> Usage:
        """Shorten where that is asked for, look, and have it answered."""

        def tokens_of(message: bytes) -> float:
            return sizes.scale * self._count(message)

        sent = body if self._shorten is None else self._shortened(body, self._shorten, sizes, tokens_of)
        least = round(sizes.head_tokens + sum(map(tokens_of, _needed(messages_of(self._received), messages_of(sent)))))
        looked = self._judge.look(*self._place, sent)
        self.seen.append(_Metered(least, self._check(sent), looked.evidence))
        return self._provider.send(sent, sizes, at=at, answered_at=answered_at, reply=reply, opens=opens)

    def _shortened(self, body: bytes, shorten: Shorten, sizes: Sizes, tokens_of: Callable[[bytes], float]) -> bytes:
        trigger, target = round(TRIGGER * self._window_tokens), round(TARGET * self._window_tokens)
        kept = shorten(messages_of(body), Bounds(sizes.head_tokens, trigger, target, tokens_of))
        return with_messages(body, kept)

    def _count(self, message: bytes) -> int:
        counted = self._counted.get(message)
        if counted is None:
            counted = self._counted[message] = self._provider.counted(message.decode())
        return counted


def _needed(received: tuple[bytes, ...], sent: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """What no request can do without: the task and the newest turn, that one as it was sent."""
    first, last = reply_starts(received)[:1], reply_starts(sent)[-1:]
    return (*received[: first[0]], *sent[last[0] :]) if first and last else sent


def _played(name: str, arm: Arm, window_tokens: int | None, replayed: Sequence[Replayed], meter: Meter) -> Played:
    prompts = [one.ours.prompt or 0 for one in replayed]
    controls = [one.control.prompt or 0 for one in replayed]
    window = float("inf") if window_tokens is None else window_tokens
    ids = [one.receipt.request_id for one in replayed]
    rows = list(zip(ids, prompts, meter.seen, strict=True))
    pressures = [one.receipt.pressure for one in replayed]
    findings = Counter(finding.kind for one in replayed for finding in one.receipt.findings)
    findings.update(f.kind for one in replayed if one.outcome is not None for f in one.outcome.findings)
    return Played(
        recording=name,
        arm=arm.name,
        window_tokens=window_tokens,
        requests=len(replayed),
        control_over=sum(tokens > window for tokens in controls),
        over=tuple(Over(id_, tokens, seen.least_tokens) for id_, tokens, seen in rows if tokens > window),
        invalid=tuple(f"{id_}: {seen.objection}" for id_, _, seen in rows if seen.objection is not None),
        control_usd=sum(one.control_usd for one in replayed),
        ours_usd=sum(one.ours_usd for one in replayed),
        control_tokens=sum(controls),
        ours_tokens=sum(prompts),
        control_peak=max(controls, default=0),
        ours_peak=max(prompts, default=0),
        evidence=sum((seen.evidence for seen in meter.seen), Evidence()),
        events=tuple(_events(replayed)),
        findings=Counter(findings),
        summariser_usd=sum(p.summariser_usd or 0.0 for p in pressures if p is not None),
    )


def _events(replayed: Sequence[Replayed]) -> list[Event]:
    numbers: Counter[str] = Counter()
    found = []
    for one in replayed:
        number, pressure = numbers[one.conversation], one.receipt.pressure
        numbers[one.conversation] += 1
        if pressure is not None:
            found.append(
                Event(
                    request=one.receipt.request_id,
                    conversation=one.conversation,
                    number=number,
                    reason=pressure.reason,
                    before_tokens=pressure.before_tokens,
                    after_tokens=pressure.after_tokens,
                    target_tokens=pressure.target_tokens,
                    generation=pressure.generation,
                    cleared=pressure.cleared,
                    summarised=pressure.summarised,
                    narrowed=pressure.narrowed,
                    escalate=pressure.escalate,
                )
            )
    return found
