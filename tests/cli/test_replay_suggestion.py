"""The setting that `coldpress replay` says to try: by its rule, and nothing where the rule finds nothing."""

from __future__ import annotations

import tomllib
from dataclasses import replace

import numpy as np
import pytest

from coldpress.cli.replay_suggestion import is_setting, settings_of, suggest
from coldpress.lab.arm_files import Arm, named_arms, parse_arm
from coldpress.lab.results import Bill
from coldpress.lab.summary import figures

ARMS = tuple(named_arms()[name] for name in ("control", "coldpress", "coldpress-source-20", "mask-10", "oracle"))


def bill(number: int, arm: str, usd: float, *, edits: int = 40, lost: int = 0) -> Bill:
    return Bill(
        recording=f"r{number}", content=f"{number:016x}", kind="claude-code", task="t", arm=arm, tariff="recorded",
        conversations=1, requests=50, bill_usd=usd, control_usd=10.0 + number / 10, refetch_usd=0.0, refetches=0,
        prompt_tokens=1000, control_prompt_tokens=1200, peak_tokens=100, control_peak_tokens=120, fresh_tokens=10,
        read_tokens=900, written_tokens=90, cuts=1, cold_cuts=1, compactions=0, edits=edits, edits_of_results=edits,
        edits_lost=lost, identifiers=10, identifiers_lost=0,
    )  # fmt: skip


def bills(count: int, source_usd: float = 8.0, *, lost: int = 0, edits: int = 40, noise: float = 0.1) -> list[Bill]:
    """Bills of recordings on which the defaults come to 9 USD, masks to 5, and reads from 20 turns to `source_usd`."""
    found = []
    for number in range(count):
        more = noise * (number % 3 - 1)
        found += [
            bill(number, "control", 10.0 + number / 10),
            bill(number, "coldpress", 9.0),
            bill(number, "coldpress-source-20", source_usd + more, lost=lost, edits=edits),
            bill(number, "mask-10", 5.0, lost=10),
            bill(number, "oracle", 4.0),
        ]
    return found


def test_the_largest_sure_saving_that_loses_little_is_suggested_with_the_line_to_copy() -> None:
    rows = bills(8)
    found = suggest(ARMS, figures(rows), rows, tariff="recorded")
    assert found.arm == "coldpress-source-20"
    assert tomllib.loads(found.settings) == {"source_age": 20}
    assert (found.candidates, found.level, found.fewest) == (1, 0.95, 6)
    assert (found.sessions, found.edits) == (8, 320)
    assert found.edit_loss_most == pytest.approx(1 - 0.05 ** (1 / 320))
    assert found.better_by is not None
    assert found.better_by.value == pytest.approx((8 * 1.0 + 0.1) / sum(10 + n / 10 for n in range(8)), abs=1e-3)


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        pytest.param(bills(5), "cannot tell settings apart", id="five recordings"),
        pytest.param(bills(8, 9.5), "no more than the defaults", id="dearer than the defaults"),
        pytest.param(bills(8, 8.99, noise=1.0), "no more than the defaults", id="not surely cheaper than the defaults"),
        pytest.param(bills(8, 12.0), "its saving may be none", id="dearer than the control"),
        pytest.param(bills(8, lost=1), "of edits may lose their text", id="one edit in forty is lost"),
        pytest.param(bills(8, edits=10), "of edits may lose their text", id="too few edits to bound the loss"),
        pytest.param(bills(8, edits=0), "no edit of an earlier result", id="no edits"),
        pytest.param(bills(8, 8.9, noise=0.15), "cheaper in 6 recordings, dearer in 2", id="chance would do it too"),
        pytest.param([one for one in bills(8) if one.arm != "coldpress"], "to compare with", id="no defaults"),
    ],
)
def test_else_the_defaults_stay_and_it_says_why(rows: list[Bill], why: str) -> None:
    found = suggest(ARMS, figures(rows), rows, tariff="recorded")
    assert found.arm is None and found.settings == ""
    assert why in found.why


def test_only_what_settings_alone_can_make_is_suggested() -> None:
    can = [name for name, arm in named_arms().items() if is_setting(arm)]
    assert "coldpress-source-20" in can
    assert not {
        "control",
        "coldpress",
        "coldpress-budget",
        "oracle",
        "mask-10",
        "first-sight",
        "pressure-80",
        "cold-only",
    } & set(can)
    assert settings_of(named_arms()["coldpress-source-5"]) == "source_age = 5"


def alike(candidates: int, recordings: int, better: float, chance: np.random.Generator) -> tuple[list[Arm], list[Bill]]:
    """Arms that save `better` of the control's bill beyond the defaults, give or take 3 %, and all their bills."""
    arms = [
        named_arms()["coldpress"],
        *(parse_arm(f"source_age = {age}", f"age-{age}") for age in range(3, 3 + candidates)),
    ]
    found = []
    for number in range(recordings):
        control_usd = float(chance.lognormal(1, 1))
        for arm in arms:
            share = 0.10 if arm.name == "coldpress" else 0.10 + better + chance.normal(0, 0.03)
            row = bill(number, arm.name, control_usd * (1 - share), edits=100)
            found.append(replace(row, control_usd=control_usd))
    return arms, found


def suggested(candidates: int, recordings: int, better: float, *, trials: int) -> int:
    """Count the trials in which a setting was suggested."""
    chance, count = np.random.default_rng(166), 0
    for _ in range(trials):
        arms, rows = alike(candidates, recordings, better, chance)
        count += suggest(arms, figures(rows, resamples=20), rows, tariff="recorded").arm is not None
    return count


@pytest.mark.parametrize(("candidates", "recordings"), [(1, 6), (4, 8), (10, 9), (10, 20)])
def test_of_settings_that_are_no_better_one_is_suggested_in_one_of_twenty_replays_at_most(
    candidates: int, recordings: int
) -> None:
    assert suggested(candidates, recordings, 0.0, trials=40) <= 2


@pytest.mark.parametrize(("candidates", "recordings"), [(1, 6), (10, 9)])
def test_a_setting_that_is_better_is_found(candidates: int, recordings: int) -> None:
    assert suggested(candidates, recordings, 0.10, trials=10) == 10


def test_more_settings_take_more_recordings_and_wider_intervals() -> None:
    chance = np.random.default_rng(166)
    arms, rows = alike(10, 8, 0.2, chance)
    found = suggest(arms, figures(rows), rows, tariff="recorded")
    assert (found.arm, found.candidates, found.fewest) == (None, 10, 9)
    assert "8 recordings cannot tell 10 settings apart" in found.why
    arms, rows = alike(10, 9, 0.2, chance)
    found = suggest(arms, figures(rows), rows, tariff="recorded")
    assert found.better_by is not None and found.better_by.level == pytest.approx(0.995)
    assert found.edit_loss_most == pytest.approx(1 - 0.005 ** (1 / 900))


def test_what_was_measured_without_a_budget_says_how_a_gateway_does_the_same() -> None:
    rows = bills(8)
    text = suggest(ARMS, figures(rows), rows, tariff="recorded").settings
    _, _, after = text.partition("# [budget]")
    exact = parse_arm(f"source_age = 20\n[budget]{after.replace('# ', '')}", "exact")
    assert tomllib.loads(exact.text) == {"source_age": 20, "budget": {"stages": []}}
    assert not exact.has_budget
    own = parse_arm("source_age = 20\n[budget]\ntrigger = 0.5\ntarget = 0.3", "coldpress-source-20")
    arms = [own if arm.name == own.name else arm for arm in ARMS]
    assert "stages" not in suggest(arms, figures(rows), rows, tariff="recorded").settings
