"""Work out what `coldpress replay` tells: what was paid, how near the simulation is to it, and what each arm costs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from coldpress.cli.lab_options import RECORDED
from coldpress.lab.results import Bill, Skipped

if TYPE_CHECKING:
    from coldpress.cli.replay_run import Gathered
    from coldpress.cli.replay_suggestion import Suggestion
    from coldpress.lab.arm_files import Arm
    from coldpress.lab.summary import ArmFigures


@dataclass(frozen=True, slots=True)
class Paid:
    """What the recordings say was paid for input, in USD at list prices.

    Attributes:
        usd: of the `sessions` recordings whose usage was reported and whose model has a price; `None` where none has.
        compared: those of them that were also replayed at their own prices.
        compared_usd: what was paid for these; `None` where there are none.
        simulated_usd: what the simulated control comes to on these at the same prices; `None` where there are none.
    """

    sessions: int
    usd: float | None
    compared: int = 0
    compared_usd: float | None = None
    simulated_usd: float | None = None

    @property
    def error(self) -> float | None:
        """How far the simulated bill is off, as a share of what was paid for the same, sign kept; else `None`."""
        if not self.compared_usd or self.simulated_usd is None:
            return None
        return (self.simulated_usd - self.compared_usd) / self.compared_usd


@dataclass(frozen=True, slots=True)
class Told:
    """All that is told.

    Attributes:
        arms: those that were replayed.
        tariffs: names, in the order that they were asked for.
        sessions, requests: how many could be replayed.
        figures: of every arm at every tariff.
        suggestion: the setting to try.
        done, of, interrupted: as in `Gathered`.
        kinds: of programs that recorded what was replayed.
    """

    arms: tuple[Arm, ...]
    tariffs: tuple[str, ...]
    sessions: int
    requests: int
    skipped: tuple[Skipped, ...]
    paid: Paid
    figures: tuple[ArmFigures, ...]
    suggestion: Suggestion
    done: int
    of: int
    interrupted: bool
    kinds: frozenset[str] = frozenset()

    def at(self, tariff: str) -> tuple[ArmFigures, ...]:
        """Give the figures of one tariff, in the order of the arms."""
        order = {arm.name: place for place, arm in enumerate(self.arms)}
        found = [one for one in self.figures if one.tariff == tariff]
        return tuple(sorted(found, key=lambda one: order.get(one.arm, len(order))))

    def has_budget(self, name: str) -> bool:
        """Whether an arm has a budget; of a name with a sweep's trigger and window, the arm that they were put on."""
        return any(
            arm.has_budget and (name == arm.name or name.startswith((f"{arm.name}@", f"{arm.name}/")))
            for arm in self.arms
        )


def tell(found: Gathered, arms: Sequence[Arm], tariffs: Sequence[str]) -> Told:
    """Work out everything from what was gathered; the suggestion is of the first tariff."""
    from coldpress.cli.replay_suggestion import suggest
    from coldpress.lab.summary import figures

    sessions, requests = sizes(found.bills)
    summed = figures(found.bills)
    return Told(
        arms=tuple(arms),
        tariffs=tuple(tariffs),
        sessions=sessions,
        requests=requests,
        skipped=found.skipped,
        paid=paid(found.bills),
        figures=summed,
        suggestion=suggest(arms, summed, found.bills, tariff=tariffs[0]),
        done=found.done,
        of=found.of,
        interrupted=found.interrupted,
        kinds=frozenset(bill.kind for bill in found.bills),
    )


def sizes(bills: Sequence[Bill]) -> tuple[int, int]:
    """Count recordings and their requests, each recording once."""
    requests = {_key(bill): bill.requests for bill in bills}
    return len(requests), sum(requests.values())


def paid(bills: Sequence[Bill]) -> Paid:
    """Add up what was paid, and set the simulated control beside it.

    Args:
        bills: of all recordings; a recording's control is the same in every one of a tariff.
    """
    known = {_key(bill): bill.paid_usd for bill in bills if bill.paid_usd is not None}
    controls = {_key(bill): bill.control_usd for bill in bills if bill.tariff == RECORDED}
    if not known:
        return Paid(0, None)
    usd = math.fsum(known.values())
    both = [key for key in known if key in controls]
    if not both:
        return Paid(len(known), usd)
    compared, simulated = math.fsum(known[key] for key in both), math.fsum(controls[key] for key in both)
    return Paid(len(known), usd, len(both), compared, simulated)


def _key(bill: Bill) -> tuple[str, str]:
    return bill.recording, bill.content
