"""Name the numbers of `/stats` about what providers do to prompts by themselves."""

from __future__ import annotations

from typing import Final

from coldpress.gateway.figures import amount, counter

_N: Final = "decisions.native"
_ASKED: Final = f"{_N}.requests"

NATIVE: Final = (
    counter(_ASKED, "native_requests", "Requests on which the settings switch anything on.", "requests"),
    counter(
        f"{_N}.asked.*",
        "native_asked",
        "Of those, by what was asked for.",
        "requests",
        over=_ASKED,
        labels=("what",),
    ),
    counter(
        f"{_N}.declined.*",
        "native_declined",
        "Of those, by what was left out and why, as `clear_thinking/no_thinking`.",
        "requests",
        over=_ASKED,
        labels=("why",),
    ),
    counter(
        f"{_N}.applied.*.steps",
        "native_applied",
        "What providers say they did, by what.",
        "steps",
        labels=("what",),
    ),
    counter(
        f"{_N}.applied.*.cleared.tokens",
        "native_cleared_tokens",
        "Tokens that providers took out of prompts.",
        "tokens",
        over=f"{_N}.applied.*.cleared.replies",
        labels=("what",),
    ),
    counter(
        f"{_N}.applied.*.cleared.replies",
        "native_cleared_counted",
        "Steps of which that is known.",
        "steps",
        over=f"{_N}.applied.*.steps",
        labels=("what",),
    ),
    *amount(
        f"{_N}.applied.*.cost",
        "native_applied_cost",
        "What billed steps cost, inside the bills of their replies.",
        "Steps",
        labels=("what",),
    ),
)
