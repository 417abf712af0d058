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
        simulated_usd: what the simulated control comes to on the same recordings at the same prices; `None` where
            these were not asked for.
    """

    sessions: int
    usd: float | None
    simulated_usd: float | None

    @property
    def error(self) -> float | None:
        """How far the simulated bill is off, as a share of the paid one, sign kept; `None` where either is unknown."""
        if not self.usd or self.simulated_usd is None:
            return None
        return (self.simulated_usd - self.usd) / self.usd


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

    def at(self, tariff: str) -> tuple[ArmFigures, ...]:
        """Give the figures of one tariff, in the order of the arms."""
        order = {arm.name: place for place, arm in enumerate(self.arms)}
        found = [one for one in self.figures if one.tariff == tariff]
        return tuple(sorted(found, key=lambda one: order.get(one.arm, len(order))))


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
        return Paid(0, None, None)
    simulated = math.fsum(controls[key] for key in known) if all(key in controls for key in known) else None
    return Paid(len(known), math.fsum(known.values()), simulated)


def _key(bill: Bill) -> tuple[str, str]:
    return bill.recording, bill.content
