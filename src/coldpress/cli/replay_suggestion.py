"""Choose the one setting to try from the figures of arms, by a stated rule, or none.

Several settings are compared with the defaults, and one of many that are no better looks better by chance. So all
tests are made at `1 - 0.05 / k` for `k` settings (Bonferroni): with any number of settings that are no better, one is
suggested in at most about one of twenty replays. The interval alone does not keep that promise, since of few
recordings resampling makes it too narrow; the sign test beside it does, whatever the sizes of the recordings.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import tomlkit

from coldpress.engine.budget import TARGET, TRIGGER
from coldpress.lab.results import Bill

if TYPE_CHECKING:
    from coldpress.lab.arm_files import Arm
    from coldpress.lab.stats import Interval
    from coldpress.lab.summary import ArmFigures

DEFAULTS: Final = "coldpress"
"""The arm that is coldpress as it comes."""

MOST_EDIT_LOSS: Final = 0.02
CHANCE: Final = 0.05
"""How often chance alone may suggest something, whatever the number of settings that are compared."""

RULE: Final = (
    "the largest saving of the k settings that were compared whose interval lies above zero, which also saves more "
    "than the defaults do (interval of the paired difference above zero, and cheaper in so many more recordings than "
    "dearer that chance would do it in at most 5/k % of cases: sign test, two sides), and of whose edits at most 2 % "
    "lose their text (upper end); intervals are of 100 - 5/k %, percentile bootstrap over recordings"
)
BUDGET: Final = (
    f"Arms without a [budget], such as {DEFAULTS} and {DEFAULTS}-source-20, were measured without one; a gateway has "
    f"one unless its settings say otherwise (from {100 * TRIGGER:.0f} % of the model's window down to "
    f"{100 * TARGET:.0f} %). The arm {DEFAULTS}-budget is the defaults with it"
)
"""What a suggestion is not measured under."""

_AS_MEASURED: Final = """\

# Measured without a budget. A gateway has one by default; with these two lines it does what was measured:
# [budget]
# stages = []"""


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
        candidates: settings that were compared with the defaults, `k` of `RULE`.
    """

    arm: str | None
    tariff: str
    settings: str
    why: str
    sessions: int
    edits: int | None = None
    edit_loss_most: float | None = None
    better_by: Interval | None = None
    candidates: int = 0

    @property
    def level(self) -> float:
        """Of the intervals that it was chosen by, between 0 and 1."""
        return 1 - chance(self.candidates)

    @property
    def fewest(self) -> int:
        """Recordings that the rule takes at least."""
        return fewest_recordings(self.candidates)


def chance(candidates: int) -> float:
    """How often each of some settings may pass by chance, for all together to do so in one of twenty cases at most."""
    return CHANCE / max(1, candidates)


def fewest_recordings(candidates: int) -> int:
    """Recordings that can tell some settings from the defaults at all: where all agree, chance seldom would.

    >>> fewest_recordings(1), fewest_recordings(4), fewest_recordings(10)
    (6, 8, 9)
    """
    return math.ceil(math.log2(2 / chance(candidates)))


def sign_test(cheaper: int, dearer: int) -> float:
    """How often chance alone splits recordings as unevenly as this or more, to either side; the equal ones left out.

    >>> sign_test(6, 0), sign_test(3, 3)
    (0.03125, 1.0)
    """
    pairs = cheaper + dearer
    tail = sum(math.comb(pairs, most) for most in range(min(cheaper, dearer) + 1))
    return min(1.0, 2 * tail / (1 << pairs))


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
    compared = [arm for arm in arms if arm.name in mine and is_setting(arm)]
    none = Suggestion(None, tariff, "", "", default.sessions if default else 0, candidates=len(compared))
    if default is None or default.saving is None:
        why = f"the arm {DEFAULTS} has no bill there, so there are no defaults to compare with"
        return replace(none, why=why, sessions=0)
    if default.sessions < none.fewest:
        say = "settings apart" if len(compared) < 2 else f"{len(compared)} settings apart from the defaults"
        why = f"{_recordings(default.sessions)} cannot tell {say}; {none.fewest} is the least"
        return replace(none, why=why)
    judged = [(arm, _judge(mine[arm.name], default, bills, chance(len(compared)))) for arm in compared]
    fitting = [(arm, found) for arm, found in judged if isinstance(found, _Fits)]
    if not fitting:
        reasons = "; ".join(f"{arm.name}: {found}" for arm, found in judged)
        return replace(none, why=f"no other setting passed ({reasons or 'none was replayed'})")
    arm, fits = max(fitting, key=lambda found: found[1].saving)
    return replace(
        none,
        arm=arm.name,
        settings=settings_of(arm) + ("" if arm.has_budget else _AS_MEASURED),
        why=f"it saves {_share(fits.better_by)} of the bill beyond the defaults",
        sessions=fits.better_by.sessions,
        edits=fits.edits,
        edit_loss_most=fits.edit_loss_most,
        better_by=fits.better_by,
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
    if own_moment or arm.is_control or arm.name == DEFAULTS:
        return False
    said = _tree(arm)
    return said not in ({}, {"budget": {}})  # an empty budget is the one that a gateway has anyway


def settings_of(arm: Arm) -> str:
    """Give what an arm's file says to a gateway: all but its `[lab]` table and the comments.

    >>> from coldpress.lab.arm_files import named_arms
    >>> settings_of(named_arms()["coldpress-source-20"])
    'source_age = 20'
    """
    return tomlkit.dumps(_tree(arm)).strip()


def _tree(arm: Arm) -> dict[str, object]:
    is_json = arm.text.lstrip("\ufeff \t\r\n").startswith("{")
    read: dict[str, object] = json.loads(arm.text) if is_json else tomllib.loads(arm.text)
    return {key: value for key, value in read.items() if key != "lab"}


def _judge(one: ArmFigures, default: ArmFigures, bills: Sequence[Bill], chance: float) -> _Fits | str:
    """Say how it fits the rule, or where it fails.

    Args:
        one: the figures of the arm.
        default: those of the defaults.
        bills: of both.
        chance: that it passes without being better, 0 to 1.
    """
    from coldpress.lab.paired import ratio_interval
    from coldpress.lab.stats import SEED

    mine, theirs = _by_recording(bills, one), _by_recording(bills, default)
    both = [(mine[key], theirs[key]) for key in mine if key in theirs]
    controls = [bill.control_usd for bill, _ in both]
    saved = [bill.control_usd - bill.bill_usd for bill, _ in both]
    beyond = [other.bill_usd - bill.bill_usd for bill, other in both]
    saving = ratio_interval(saved, controls, seed=SEED, level=1 - chance)
    if saving is None or saving.low <= 0:
        return "its saving may be none"
    better_by = ratio_interval(beyond, controls, seed=SEED, level=1 - chance)
    cheaper, dearer = sum(usd > 0 for usd in beyond), sum(usd < 0 for usd in beyond)
    if better_by is None or better_by.low <= 0 or cheaper <= dearer:
        return "it may save no more than the defaults"
    if sign_test(cheaper, dearer) > chance:
        return f"it may save no more than the defaults: cheaper in {cheaper} recordings, dearer in {dearer}"
    most = _loss_at_most([bill for bill, _ in both], chance)
    if most is None:
        return "no edit of an earlier result to judge its loss by"
    if most > MOST_EDIT_LOSS:
        return f"up to {most:.1%} of edits may lose their text"
    return _Fits(saving.value, better_by, sum(bill.edits_of_results for bill, _ in both), most)


def _loss_at_most(bills: Sequence[Bill], chance: float) -> float | None:
    """Give the upper end of an arm's loss of edits, as `ArmFigures.edit_loss_at_most` at another level."""
    from coldpress.lab.paired import ratio_interval
    from coldpress.lab.stats import SEED, share_at_most

    lost, edits = [bill.edits_lost for bill in bills], [bill.edits_of_results for bill in bills]
    drawn = ratio_interval(lost, edits, seed=SEED, level=1 - chance)
    at_most = share_at_most(sum(lost), sum(edits), 1 - chance)
    return None if drawn is None or at_most is None else max(drawn.high, at_most)


def _by_recording(bills: Sequence[Bill], one: ArmFigures) -> dict[tuple[str, str], Bill]:
    """Find the bills of an arm at a tariff, in the order of contents: figures do not depend on that of arrival."""
    found = {(bill.content, bill.recording): bill for bill in bills if (bill.arm, bill.tariff) == (one.arm, one.tariff)}
    return {key: found[key] for key in sorted(found)}


def _recordings(count: int) -> str:
    return "1 recording" if count == 1 else f"{count:,} recordings"


def _share(interval: Interval) -> str:
    return f"{100 * interval.value:.1f} % [{100 * interval.low:.1f}, {100 * interval.high:.1f}]"
