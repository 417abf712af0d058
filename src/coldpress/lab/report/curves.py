"""Follow bills request by request: all recordings together by arm, and one recording's cache as an example."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from coldpress.lab.report.conditions import ArmAbout
from coldpress.lab.report.source import Results
from coldpress.lab.results import Bill, Turn

READABLE: Final = (20, 160)
"""Fewest and most requests of a recording that makes a readable example; others are taken where there is none."""

OURS: Final = "coldpress"
"""How the names of coldpress's own arms begin."""


@dataclass(frozen=True, slots=True)
class Curve:
    """What all recordings together had cost after so many requests each, in USD of input.

    Attributes:
        arm: its name.
        usd: after the first request, the second, and so on; recordings that ended stay at what they cost.
        control_usd: the same of the control, over the same recordings.
    """

    arm: str
    usd: tuple[float, ...]
    control_usd: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Timeline:
    """One recording's requests at the main tariff.

    Attributes:
        recording: its name.
        arm: whose requests `turns` are.
        control: requests as the client wrote them; empty where no control was measured.
    """

    recording: str
    arm: str
    turns: tuple[Turn, ...]
    control: tuple[Turn, ...]


def curves_of(results: Results, tariff: str, arms: Sequence[str]) -> tuple[Curve, ...]:
    """Add requests up by their number, for every arm that has some."""
    found = []
    for arm in arms:
        usd: dict[int, float] = defaultdict(float)
        control: dict[int, float] = defaultdict(float)
        for turn in results.turns(arm=arm, tariff=tariff):
            usd[turn.number] += turn.usd
            control[turn.number] += turn.control_usd
        if usd:
            numbers = range(max(usd) + 1)
            sums, controls = (tuple(accumulate(one.get(at, 0.0) for at in numbers)) for one in (usd, control))
            found.append(Curve(arm, sums, controls))
    return tuple(found)


def timeline_of(
    results: Results, bills: Sequence[Bill], arms: Sequence[ArmAbout], example: str | None
) -> Timeline | None:
    """Choose a recording and an arm, and give its requests.

    Args:
        results: to read them from.
        bills: of the main tariff.
        arms: all of them.
        example: name of the recording; else the one with the most cuts among those of readable length.

    Returns:
        `None` where there is no such recording, no arm but the control, or requests were not kept.
    """
    arm = _shown_arm(bills, arms)
    mine = [bill for bill in bills if bill.arm == arm and example in (None, bill.recording)]
    if arm is None or not mine:
        return None
    short, long = READABLE
    readable = [bill for bill in mine if short <= bill.requests <= long] or mine
    chosen = max(readable, key=lambda bill: (bill.cuts, bill.requests, bill.recording))
    control = next((one.name for one in arms if one.role == "control"), None)
    turns = _turns(results, chosen, arm)
    return (
        Timeline(chosen.recording, arm, turns, _turns(results, chosen, control) if control else ()) if turns else None
    )


def _turns(results: Results, bill: Bill, arm: str) -> tuple[Turn, ...]:
    found = results.turns(arm=arm, tariff=bill.tariff, recording=bill.recording)
    return tuple(sorted((turn for turn in found if turn.content == bill.content), key=lambda turn: turn.number))


def _shown_arm(bills: Sequence[Bill], arms: Sequence[ArmAbout]) -> str | None:
    """Choose coldpress's own arm with the lowest bill; any other one where none of ours was measured."""
    costs: dict[str, float] = defaultdict(float)
    for bill in bills:
        costs[bill.arm] += bill.bill_usd
    judged = [arm.name for arm in arms if arm.role == "arm" and arm.name in costs]
    ours = [name for name in judged if name.startswith(OURS)]
    return min(ours or judged, key=lambda name: costs[name], default=None)
