"""From bills to the rows that people read: sums, paired savings, losses with upper ends, regret, and drops."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from coldpress.lab.paired import paired, ratio_interval
from coldpress.lab.results import Bill
from coldpress.lab.stats import Interval, share_at_most
from coldpress.lab.summary import SEED, ArmFigures, by_kind, by_task, figures
from coldpress.model.errors import FiguresError

CONTROL_USD = (10.0, 4.0, 2.5, 0.5, 8.0, 1.0)
OURS_USD = (7.0, 4.0, 2.0, 0.75, 6.0, 0.5)
EDITS = (4, 0, 10, 1, 25, 0)
LOST = (1, 0, 0, 0, 2, 0)


def bill(number: int, arm: str, usd: float, *, tariff: str = "one", lost: int = 0) -> Bill:
    return Bill(
        recording=f"r{number}",
        content=f"{number:016x}",
        kind="claude-code" if number % 2 else "codex",
        task="app" if number < 4 else "site",
        arm=arm,
        tariff=tariff,
        conversations=1,
        requests=10 + number,
        bill_usd=usd,
        control_usd=CONTROL_USD[number],
        refetch_usd=0.125 * lost,
        refetches=lost,
        prompt_tokens=600,
        control_prompt_tokens=1000,
        peak_tokens=40 + 10 * number,
        control_peak_tokens=100,
        fresh_tokens=1,
        read_tokens=2,
        written_tokens=3,
        cuts=2,
        cold_cuts=1,
        compactions=3,
        edits=EDITS[number] + 5,
        edits_of_results=EDITS[number],
        edits_lost=lost,
        identifiers=20,
        identifiers_lost=0,
    )


def rows() -> list[Bill]:
    found = []
    for number in range(6):
        found.append(bill(number, "control", CONTROL_USD[number]))
        found.append(bill(number, "ours", OURS_USD[number], lost=LOST[number]))
    return found


def ours(found: tuple[ArmFigures, ...]) -> ArmFigures:
    return next(one for one in found if one.arm == "ours")


def test_sums_and_counts() -> None:
    control, one = figures(rows())
    assert (control.arm, one.arm, one.tariff) == ("control", "ours", "one")
    assert (one.sessions, one.requests, one.dropped) == (6, 75, 0)
    assert (one.bill_usd, one.control_usd, control.bill_usd) == (20.25, 26.0, 26.0)
    assert (one.cheaper, one.dearer, one.equal) == (4, 1, 1)
    assert (one.edits, one.edits_lost, one.edits_written) == (40, 3, 70)
    assert (one.identifiers, one.identifiers_lost) == (120, 0)
    assert (one.refetches, one.refetch_usd) == (3, 0.375)
    assert (one.cuts, one.cold_cuts, one.compactions) == (12, 6, 18)
    assert one.prompt_saving == pytest.approx(0.4)
    assert one.peak_saving == pytest.approx(1 - 0.65)
    assert (control.cheaper, control.dearer, control.equal) == (0, 0, 6)


def test_intervals_are_those_of_the_pairs() -> None:
    one = ours(figures(rows()))
    pairs = paired(CONTROL_USD, OURS_USD, seed=SEED)
    saved = [control - mine for control, mine in zip(CONTROL_USD, OURS_USD, strict=True)]
    assert one.saving == ratio_interval(saved, CONTROL_USD, seed=SEED)
    assert one.saving is not None and one.saving.value == 5.75 / 26
    assert (one.median_saving, one.mean_saving) == (pairs.median, pairs.mean)
    assert one.edit_loss == ratio_interval(LOST, EDITS, seed=SEED)


def test_the_upper_end_of_a_loss_is_the_larger_of_two() -> None:
    one = ours(figures(rows()))
    assert one.edit_loss is not None and one.edit_loss.value == 3 / 40
    assert one.edit_loss_at_most == max(one.edit_loss.high, share_at_most(3, 40) or 0.0)
    # All that is lost is lost in one recording of many edits: resampling is the wider one.
    clustered = [replace(row, edits_lost=25 if row.recording == "r4" else 0) for row in rows()]
    clumped = ours(figures(clustered))
    assert clumped.edit_loss is not None
    assert clumped.edit_loss_at_most == clumped.edit_loss.high > (share_at_most(25, 40) or 1.0)


def test_losing_more_of_the_same_edits_never_has_the_lower_upper_end() -> None:
    at_most = []
    for lost in range(5):
        few = [replace(row, edits_lost=lost if row.recording == "r4" else 0) for row in rows()]
        at_most.append(ours(figures(few)).edit_loss_at_most or 0.0)
    assert at_most == sorted(at_most) and len(set(at_most)) == 5


def test_where_nothing_was_lost_the_upper_end_says_how_little_was_looked_at() -> None:
    control, one = figures(rows())
    assert one.identifier_loss == Interval(0.0, 0.0, 0.0, 6)
    assert one.identifier_loss_at_most == 1 - 0.05 ** (1 / 120)
    assert control.edit_loss_at_most == 1 - 0.05 ** (1 / 40)


def test_without_edits_no_loss_is_known() -> None:
    found = figures([replace(one, edits_of_results=0, edits_lost=0, identifiers=0) for one in rows()])
    for one in found:
        assert (one.edits, one.edit_loss, one.edit_loss_at_most) == (0, None, None)
        assert (one.identifier_loss, one.identifier_loss_at_most) == (None, None)


def test_regret_rests_on_recordings_of_which_the_least_is_known() -> None:
    assert ours(figures(rows())).regret is None
    known = [replace(one, least_usd=5.0) if one.recording in ("r0", "r4") else one for one in rows()]
    regret = ours(figures(known)).regret
    assert regret is not None
    # The fetches that lost edits cause are left out: 0.125 of r0 and 0.25 of r4.
    assert (regret.value, regret.sessions) == (pytest.approx((7 - 0.125 + 6 - 0.25) / 10 - 1), 2)
    assert (regret.low, regret.high) == (pytest.approx(5.75 / 5 - 1), pytest.approx(6.875 / 5 - 1))


def test_a_recording_without_a_bill_of_the_arm_is_dropped_and_counted() -> None:
    lacking = [one for one in rows() if (one.recording, one.arm) != ("r0", "ours")]
    control, one = figures([*lacking, bill(1, "ours", 4.0, tariff="two")])[:2]
    assert (control.sessions, control.dropped, one.sessions, one.dropped) == (6, 0, 5, 1)
    assert one.control_usd == 16.0
    assert figures([*lacking, bill(1, "ours", 4.0, tariff="two")])[2].dropped == 5


def test_the_order_of_bills_changes_the_order_of_rows_alone() -> None:
    mixed = rows()
    np.random.default_rng(1).shuffle(mixed)  # type: ignore[arg-type]
    assert {one.arm: one for one in figures(mixed)} == {one.arm: one for one in figures(rows())}


def test_the_same_bill_twice_counts_once() -> None:
    assert figures([*rows(), *rows()]) == figures(rows())


def test_two_bills_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(FiguresError, match="two different bills of r3 with ours at one"):
        figures([*rows(), replace(rows()[7], bill_usd=1.0)])


@pytest.mark.parametrize("usd", [math.inf, math.nan])
def test_infinite_bills_are_refused(usd: float) -> None:
    with pytest.raises(FiguresError, match=r"inf|nan"):
        figures([*rows()[:-1], replace(rows()[-1], bill_usd=usd)])


def test_by_task_and_kind() -> None:
    tasks = by_task(rows())
    assert list(tasks) == ["app", "site"]
    assert tasks["site"] == figures([one for one in rows() if one.task == "site"])
    assert [one.sessions for one in tasks["app"]] == [4, 4]
    kinds = by_kind(rows())
    assert {kind: ours(found).sessions for kind, found in kinds.items()} == {"codex": 3, "claude-code": 3}


def test_arms_with_more_and_fewer_recordings_are_resampled_each_over_its_own() -> None:
    few = [one for one in rows() if one.arm == "control" or one.recording in ("r0", "r2", "r4")]
    one = ours(figures(few))
    assert one.saving == ratio_interval([3.0, 0.5, 2.0], [10.0, 2.5, 8.0], seed=SEED)
    assert one.dropped == 3


def test_no_bills_have_no_figures() -> None:
    assert figures([]) == ()
    assert by_task([]) == {}
