"""Say when an arm masks aged results: never, at once, by the reference's gate, at cold points, or as coldpress does."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from coldpress.engine.gate import RENT_SHARE, Terms, settle
from coldpress.lab.layout import Layout
from coldpress.lab.schedules import Arm, View
from coldpress.measure.forecast import SessionLength, Survival

REFERENCE_REQUESTS = 6
"""`expected_applications` of the reference experiment."""

Forecast = Callable[[View], float | None]
"""Expected further requests, the one at hand included; `None` where nothing is known."""


def control(_: View) -> int | None:
    """Mask nothing."""
    return None


def every_turn(view: View) -> int | None:
    """Mask each result as soon as it is of age, whatever that rewrites."""
    return 0 if view.removals else None


def cold_points(view: View) -> int | None:
    """Mask everything of age when nothing is held, and only then."""
    return 0 if view.removals and view.is_cold else None


def reference_gate(view: View) -> int | None:
    """Mask all or nothing where N*D*C > R*(W-C), N = 6, as if the cache were always warm."""
    if not view.removals:
        return None
    situation = view.situation
    removed = sum(removal.removed_tokens for removal in view.removals)
    kept = max(0, view.prompt.tokens - view.removals[0].before_tokens - removed)
    read, write = situation.tariff.read_and_write(view.prompt.tokens, asked_long=situation.layout.long)
    return 0 if REFERENCE_REQUESTS * removed * read > kept * (write - read) else None


def ours(forecast: Forecast, *, rent_share: float | None = RENT_SHARE) -> Arm:
    """Let `coldpress.engine.gate` decide, with a cache state that is always known.

    Args:
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
        return settle(view.prompt, view.removals, terms).start

    return arm


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
