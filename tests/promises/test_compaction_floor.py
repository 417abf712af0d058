"""Promise: a prompt that cannot be brought down is not rewritten on every request, whatever the settings ask for."""

from __future__ import annotations

from typing import Any

import pytest
from cases.talk import text
from compacting import applied, faultless, growing, run, windowed
from support import pressing

from coldpress.drive import Prepared

WINDOW_TOKENS = 40_000
STEPS = [run(n, 4, reply=f"r{n} " + "w " * 30) for n in range(70)]


def sent(head_words: int, **budget: Any) -> list[Prepared]:
    asked = growing("anthropic", STEPS, since=10, system=[text("guide " * head_words)])
    with faultless(), pressing(windowed(WINDOW_TOKENS, budget=budget)) as press:
        return press.all(asked, "anthropic")


@pytest.mark.parametrize("min_gain", [0.0, 0.1])
@pytest.mark.parametrize("head_words", [25_000, 26_500, 33_000])
def test_a_head_that_fills_the_window_is_not_compacted_for_on_every_request(head_words: int, min_gain: float) -> None:
    found = sent(head_words, min_gain=min_gain)

    grown_tokens = growth(found)
    made = [prepared.receipt.pressure for prepared in found if applied(prepared)]

    # Each frees a hundredth of the window at the least, so there cannot be more than what was added divided by that.
    assert len(made) <= grown_tokens / (0.01 * WINDOW_TOKENS) + 1
    for pressure in made:
        assert pressure is not None
        freed = pressure.before_tokens - pressure.after_tokens
        fits_now = pressure.after_tokens <= WINDOW_TOKENS < pressure.before_tokens
        assert fits_now or freed >= (0.01 if pressure.after_tokens <= WINDOW_TOKENS else 0.05) * WINDOW_TOKENS


def test_no_least_gain_is_no_reason_to_rewrite_on_every_request() -> None:
    found = sent(17_000, min_gain=0.0, target=0.01, trigger=0.5, urgent=0.5)

    made = [prepared.receipt.pressure for prepared in found if applied(prepared)]

    for pressure in made:
        assert pressure is not None
        assert pressure.before_tokens - pressure.after_tokens >= 0.05 * WINDOW_TOKENS


def growth(found: list[Prepared]) -> int:
    """Tokens that the whole conversation has, by the bytes: more than there are."""
    return len(found[-1].body) // 2
