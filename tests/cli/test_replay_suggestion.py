"""The setting that `coldpress replay` says to try: by its rule, and nothing where the rule finds nothing."""

from __future__ import annotations

import pytest

from coldpress.cli.replay_suggestion import is_setting, settings_of, suggest
from coldpress.lab.arm_files import named_arms
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
    assert (found.arm, found.settings) == ("coldpress-source-20", "source_age = 20")
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
    assert not {"control", "coldpress", "oracle", "mask-10", "first-sight", "pressure-80", "cold-only"} & set(can)
    assert settings_of(named_arms()["coldpress-source-5"]) == "source_age = 5"
