"""Say when an arm masks aged results in `coldpress.lab.schedules`: as those who choose for the driver do.

Here the cache is always known. Forecasts of further requests, which the driver takes from its ledger, are here too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from coldpress.engine.cut import Choose
from coldpress.engine.gate import RENT_SHARE, Terms
from coldpress.lab import choosers
from coldpress.lab.choosers import REFERENCE_REQUESTS
from coldpress.lab.layout import Layout
from coldpress.lab.schedules import Arm, View
from coldpress.measure.forecast import SessionLength, Survival

Forecast = Callable[[View], float | None]
"""Expected further requests, the one at hand included; `None` where nothing is known."""


def by(choose: Choose, forecast: Forecast = lambda _: None, *, rent_share: float | None = RENT_SHARE) -> Arm:
    """Let somebody choose who chooses for the driver too, but sees no texts here.

    Args:
        choose: who does.
        forecast: of further requests.
        rent_share: as in `Terms`.
    """

    def arm(view: View) -> int | None:
        situation = view.situation
        terms = Terms(
            routes=(situation.tariff.prices,),
            requests=forecast(view),
            state="cold" if view.is_cold else "warm",
            long=situation.tariff.is_long(asked=situation.layout.long),
            rent_share=rent_share,
        )
        return choose((), view.prompt, view.removals, terms).start

    return arm


control = by(choosers.never)
"""Mask nothing."""

every_turn = by(choosers.every_turn)
"""Mask each result as soon as it is of age, whatever that rewrites."""

cold_points = by(choosers.cold)
"""Mask everything of age when nothing is held, and only then."""

reference_gate = by(choosers.reference)
"""Mask all or nothing where N*D*C > R*(W-C), N = 6, as if the cache were always warm."""


def ours(forecast: Forecast, *, rent_share: float | None = RENT_SHARE) -> Arm:
    """Let `coldpress.engine.gate` decide, with a cache state that is always known.

    Args:
        forecast: of further requests.
        rent_share: as in `Terms`.
    """
    return by(choosers.gate, forecast, rent_share=rent_share)


def fixed(requests: float) -> Forecast:
    """Expect the same number of further requests, whatever happened so far."""
    return lambda _: requests


def exact(view: View) -> float:
    """Know how many requests are left."""
    return float(len(view.situation.layout.prompt_tokens) - view.request)


def as_many_again(view: View) -> float:
    """Expect as many further requests as there were, six at least."""
    return float(max(REFERENCE_REQUESTS, view.request - view.situation.layout.own))


def no_limit(_: View) -> float:
    """Expect so many further requests that every cut pays some day: what is left of a rule is its rent."""
    return 1e9


def survival(layouts: Sequence[Layout], *, before_data: float) -> Forecast:
    """Forecast from the lengths of all conversations but those of the recording at hand.

    Args:
        layouts: every conversation that there is.
        before_data: what to expect where too few of the others came as far.
    """
    curves: dict[str, Survival] = {}
    for recording in {layout.recording for layout in layouts}:
        lengths = [SessionLength(layout.requests, ended=True) for layout in layouts if layout.recording != recording]
        curves[recording] = Survival.of(lengths)

    def forecast(view: View) -> float:
        layout = view.situation.layout
        known = curves[layout.recording].remaining(view.request - layout.own)
        return before_data if known is None else known

    return forecast
