"""Drive one recording with an arm, and keep what was sent to be billed at any tariff."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

from coldpress.config.settings import Provider, Settings
from coldpress.engine.cut import Choose, by_gate
from coldpress.lab import choosers
from coldpress.lab.arm_files import Arm
from coldpress.lab.clairvoyant import schedule_for
from coldpress.lab.evidence import Judge, Looked
from coldpress.lab.lean_store import LeanStore
from coldpress.lab.prompts import Asked
from coldpress.lab.recorded import Recorded
from coldpress.lab.refetches import Refetches, refetches
from coldpress.lab.replay import Replay, input_usd
from coldpress.lab.replay_service import Service
from coldpress.model.records import Receipt
from coldpress.model.usage import Usage


@dataclass(frozen=True, slots=True)
class Step:
    """One request of a run, whoever bills it.

    Attributes:
        conversation: name of its trajectory, `side_chain` whether a sub-agent speaks.
        at: when it was sent, seconds since 1970.
        receipt: what the driver decided; `None` for the client's own bodies.
        looked: what its reply used and was not shown.
    """

    conversation: str
    side_chain: bool
    at: float
    receipt: Receipt | None
    looked: Looked


@dataclass(frozen=True, slots=True)
class Billed:
    """A run at one tariff, request by request.

    `refetched` is what getting hidden results again would have cost beside `usds`.
    """

    steps: tuple[Step, ...]
    controls: tuple[Usage, ...]
    usages: tuple[Usage, ...]
    controls_usd: tuple[float, ...]
    usds: tuple[float, ...]
    refetched: Refetches


@dataclass(frozen=True, slots=True)
class Run:
    """What an arm sent; `asked` is `None` for the client's own bodies."""

    steps: tuple[Step, ...]
    asked: tuple[Asked, ...] | None = field(repr=False)


def _nothing(conversation: str, request: int) -> None:
    """Tell nobody of a request."""


class Runs:
    """Runs of one recording."""

    def __init__(self, recorded: Recorded) -> None:
        self._recorded = recorded
        self._side_chains = {one.name for one in recorded.trajectories if one.side_chain}

    def run(self, arm: Arm, service: Service) -> Run:
        """Drive the recording with an arm."""
        if arm.is_control:
            return self._control(service)
        replay = Replay(self._recorded, service)
        settings = settings_for(arm, service, replay.models, self._longest_prompt_tokens(service))
        if arm.schedule == "clairvoyant":
            schedule = schedule_for(replay, self._recorded, service, settings)
            return self._drive(replay, settings, schedule.choose, schedule.at)
        return self._drive(replay, settings, chooser(arm))

    def _drive(
        self, replay: Replay, settings: Settings, choose: Choose, before: Callable[[str, int], None] = _nothing
    ) -> Run:
        replayed = replay.run(settings, store=LeanStore(), choose=choose, before=before)
        steps = tuple(
            Step(one.conversation, one.conversation in self._side_chains, one.at, one.receipt, one.looked)
            for one in replayed
        )
        return Run(steps, tuple(one.asked for one in replayed if one.asked is not None))

    def _control(self, service: Service) -> Run:
        judge, steps = Judge(self._recorded.uses), []
        for step in self._recorded.steps(service):
            one = step.source.trajectory
            steps.append(Step(one.name, one.side_chain, step.at, None, judge.look(one.name, step.index, None)))
        return Run(tuple(steps), None)

    def billed(self, run: Run, service: Service) -> Billed:
        """Bill a run at a service."""
        recorded = self._recorded
        controls = recorded.controls(service)
        usages = controls if run.asked is None else recorded.answered(run.asked, service)
        return Billed(
            run.steps,
            controls,
            usages,
            tuple(input_usd(usage, service) for usage in controls),
            tuple(input_usd(usage, service) for usage in usages),
            refetches(
                [step.looked for step in run.steps],
                usages,
                prices=service.tariff.prices,
                rules=service.rules,
                tokens_of=lambda conversation, source: recorded.result_tokens(conversation, source.parts, service),
            ),
        )

    def _longest_prompt_tokens(self, service: Service) -> int:
        return max((usage.prompt or 0 for usage in self._recorded.controls(service)), default=0)


def settings_for(arm: Arm, service: Service, models: Sequence[str], longest_prompt_tokens: int) -> Settings:
    """Give the settings of an arm with a service as the only provider, and its prices for the named models.

    Args:
        arm: with its settings.
        service: the provider.
        models: names that requests carry.
        longest_prompt_tokens: of the recording, for budgets that are a share of it.
    """
    prices = tuple(replace(service.tariff.prices, model=model) for model in models)
    provider = Provider(service.provider, "http://127.0.0.1", ("anthropic",), arm.settings.operation, pricing=prices)
    return replace(arm.settings, providers=(provider,), budgets=arm.budgets(longest_prompt_tokens))


def chooser(arm: Arm) -> Choose:
    """Give who says which aged results go."""
    match arm.schedule:
        case "gate" | "clairvoyant":
            return by_gate
        case "never":
            return choosers.never
        case "every_turn":
            return choosers.every_turn
        case "batched":
            return choosers.batched(arm.batch_turns)
        case "cold":
            return choosers.cold
        case "reference":
            return choosers.reference
    assert_never(arm.schedule)
