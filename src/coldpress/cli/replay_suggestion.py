"""Choose the one setting to try from the figures of arms, by a stated rule, or none."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import tomlkit

from coldpress.lab.results import Bill

if TYPE_CHECKING:
    from coldpress.lab.arm_files import Arm
    from coldpress.lab.stats import Interval
    from coldpress.lab.summary import ArmFigures

DEFAULTS: Final = "coldpress"
"""The arm that is coldpress as it comes."""

MOST_EDIT_LOSS: Final = 0.02
FEWEST_SESSIONS: Final = 6
"""With six recordings that all say the same, chance would agree in fewer than one of twenty cases (sign test, two
sides); with five it would not."""

RULE: Final = (
    "the largest saving whose 95 % interval lies above zero, which also saves more than the defaults do (95 % interval "
    "of the paired difference above zero), and of whose edits at most 2 % lose their text (upper end of the 95 % "
    f"interval); rests on {FEWEST_SESSIONS} recordings or more"
)


@dataclass(frozen=True, slots=True)
class Suggestion:
    """The setting to try.

    Attributes:
        arm: that it makes; `None` for the defaults.
        tariff: that it was chosen at.
        settings: TOML to copy into coldpress.toml; empty for the defaults.
        why: one sentence for people.
        sessions: recordings that it rests on.
        edits: edits of earlier results that its loss rests on; `None` for the defaults.
        edit_loss_most: upper end of the share of edits whose text is gone; `None` where unknown.
        better_by: what it saves beyond the defaults, as a share of the control's bill.
    """

    arm: str | None
    tariff: str
    settings: str
    why: str
    sessions: int
    edits: int | None = None
    edit_loss_most: float | None = None
    better_by: Interval | None = None


def suggest(arms: Sequence[Arm], figures: Sequence[ArmFigures], bills: Sequence[Bill], *, tariff: str) -> Suggestion:
    """Choose by `RULE` among the arms that settings alone can make.

    Args:
        arms: that were replayed.
        figures: of them, all tariffs.
        bills: that the figures were made of.
        tariff: to choose at.
    """
    mine = {one.arm: one for one in figures if one.tariff == tariff}
    default = mine.get(DEFAULTS)
    if default is None or default.saving is None:
        why = f"the arm {DEFAULTS} has no bill there, so there are no defaults to compare with"
        return Suggestion(None, tariff, "", why, 0)
    if default.sessions < FEWEST_SESSIONS:
        why = f"{_recordings(default.sessions)} cannot tell settings apart; {FEWEST_SESSIONS} is the least"
        return Suggestion(None, tariff, "", why, default.sessions)
    fitting: list[tuple[Arm, _Fits]] = []
    reasons = list[str]()
    for arm in arms:
        if arm.name in mine and is_setting(arm):
            found = _judge(mine[arm.name], default, bills)
            if isinstance(found, _Fits):
                fitting.append((arm, found))
            else:
                reasons.append(f"{arm.name}: {found}")
    if not fitting:
        why = f"no other setting passed ({'; '.join(reasons) or 'none was replayed'})"
        return Suggestion(None, tariff, "", why, default.sessions)
    arm, fits = max(fitting, key=lambda found: found[1].saving)
    why = f"it saves {_share(fits.better_by)} of the bill beyond the defaults"
    return Suggestion(
        arm.name,
        tariff,
        settings_of(arm),
        why,
        fits.better_by.sessions,
        fits.edits,
        fits.edit_loss_most,
        fits.better_by,
    )


@dataclass(frozen=True, slots=True)
class _Fits:
    saving: float
    better_by: Interval
    edits: int
    edit_loss_most: float


def is_setting(arm: Arm) -> bool:
    """Whether a settings file alone makes a gateway do what the arm does, other than what it does by default."""
    own_moment = arm.schedule != "gate" or arm.window is not None
    return not (own_moment or arm.is_control or arm.name == DEFAULTS)


def settings_of(arm: Arm) -> str:
    """Give what an arm's file says to a gateway: all but its `[lab]` table and the comments.

    >>> from coldpress.lab.arm_files import named_arms
    >>> settings_of(named_arms()["coldpress-source-20"])
    'source_age = 20'
    """
    is_json = arm.text.lstrip("\ufeff \t\r\n").startswith("{")
    read: dict[str, object] = json.loads(arm.text) if is_json else tomllib.loads(arm.text)
    return tomlkit.dumps({key: value for key, value in read.items() if key != "lab"}).strip()


def _judge(one: ArmFigures, default: ArmFigures, bills: Sequence[Bill]) -> _Fits | str:
    """Say how it fits the rule, or where it fails."""
    if one.saving is None or one.saving.low <= 0:
        return "its saving may be none"
    better_by = _beyond(one, default, bills)
    if better_by is None or better_by.low <= 0:
        return "it may save no more than the defaults"
    most = one.edit_loss_at_most
    if most is None:
        return "no edit of an earlier result to judge its loss by"
    if most > MOST_EDIT_LOSS:
        return f"up to {most:.1%} of edits may lose their text"
    return _Fits(one.saving.value, better_by, one.edits, most)


def _beyond(one: ArmFigures, default: ArmFigures, bills: Sequence[Bill]) -> Interval | None:
    """Give what an arm saves beyond the defaults, on recordings that have both, as a share of the control's bill."""
    from coldpress.lab.paired import ratio_interval
    from coldpress.lab.stats import SEED

    mine, theirs = _by_recording(bills, one), _by_recording(bills, default)
    both = [(mine[key], theirs[key]) for key in mine if key in theirs]
    saved = [theirs.bill_usd - mine.bill_usd for mine, theirs in both]
    return ratio_interval(saved, [mine.control_usd for mine, _ in both], seed=SEED)


def _by_recording(bills: Sequence[Bill], one: ArmFigures) -> dict[tuple[str, str], Bill]:
    return {(bill.recording, bill.content): bill for bill in bills if (bill.arm, bill.tariff) == (one.arm, one.tariff)}


def _recordings(count: int) -> str:
    return "1 recording" if count == 1 else f"{count:,} recordings"


def _share(interval: Interval) -> str:
    return f"{100 * interval.value:.1f} % [{100 * interval.low:.1f}, {100 * interval.high:.1f}]"
