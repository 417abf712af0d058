"""What `coldpress replay` says was paid, and how near the simulation comes to it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from coldpress.cli.replay_suggestion import Suggestion
from coldpress.cli.replay_told import Paid, Told, paid
from coldpress.cli.replay_view import head_lines, with_interval
from coldpress.lab.results import Bill
from coldpress.lab.stats import Interval

from .test_replay_suggestion import bill

OTHER = "claude-opus-4-6"


def row(number: int, tariff: str, paid_usd: float | None) -> Bill:
    return replace(bill(number, "control", 11.0), tariff=tariff, control_usd=11.0, paid_usd=paid_usd)


def text(found: Paid, *tariffs: str) -> str:
    nothing = Suggestion(None, tariffs[0], "", "", 0)
    told = Told((), tariffs, 3, 9, (), found, (), nothing, done=3, of=3, interrupted=False)
    return "\n".join(head_lines(told, verbose=False))


def test_one_paid_recording_without_a_simulated_bill_does_not_hide_how_near_the_others_are() -> None:
    found = paid([row(0, "recorded", 10.0), row(1, "recorded", 10.0), row(2, OTHER, 5.0)])
    assert (found.sessions, found.usd) == (3, 25.0)
    assert (found.compared, found.compared_usd, found.simulated_usd) == (2, 20.0, 22.0)
    assert found.error == pytest.approx(0.10)
    said = text(found, "recorded", OTHER)
    assert "comes to 22.00 USD for 2 of these 3, which were 20.00 USD: 10.0% above it" in said


@pytest.mark.parametrize(
    ("tariffs", "said"),
    [
        pytest.param((OTHER,), "unknown: needs --prices recorded", id="not asked for"),
        pytest.param(("recorded", OTHER), "unknown: none of these was replayed at its own", id="asked for, and none"),
    ],
)
def test_what_cannot_be_compared_says_why(tariffs: tuple[str, ...], said: str) -> None:
    found = paid([row(0, OTHER, 10.0), row(1, "recorded", None)])
    assert (found.compared, found.error) == (0, None)
    assert said in text(found, *tariffs)


def test_what_rounds_to_nothing_has_no_sign() -> None:
    assert with_interval(Interval(-0.0001, -0.0002, 0.0001, 3)).strip() == "0.0 [0.0, 0.0]"
