"""Say in a few lines what a replay comes to: what coldpress would have saved, the least, and how far to trust it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from coldpress.cli.replay_suggestion import DEFAULTS

if TYPE_CHECKING:
    from coldpress.cli.replay_told import Told
    from coldpress.lab.stats import Interval
    from coldpress.lab.summary import ArmFigures

ORACLE: Final = "oracle"
"""The arm that knows the whole run and has the candidates of the defaults."""

OBSERVED: Final = (
    "Claude Code under a subscription is only observed until press_subscription = true, and a subscriber does not pay "
    "list prices."
)


def verdict_lines(told: Told) -> Iterator[str]:
    """Give a sentence each, at the first tariff; nothing of arms that were not replayed there."""
    arms = {one.arm: one for one in told.at(told.tariffs[0])}
    default, oracle = arms.get(DEFAULTS), arms.get(ORACLE)
    if default is not None and default.saving is not None:
        yield _saved(default, default.saving)
    if oracle is not None:
        yield f"The least over the same results, by an oracle: {oracle.bill_usd - oracle.refetch_usd:,.2f} USD."
    error = told.paid.error
    saved = abs(default.saving.value) if default is not None and default.saving is not None else None
    if error is not None and saved is not None and abs(error) > saved:
        yield (
            "The simulation is further from what was paid than that: differences between arms share its error and can "
            "be right, the bills themselves are rough."
        )
    if "claude-code" in told.kinds:
        yield OBSERVED


def _saved(one: ArmFigures, share: Interval) -> str:
    usd = one.control_usd - one.bill_usd
    ends = "" if share.is_single else f" [{100 * share.low:.1f}, {100 * share.high:.1f}]"
    did = f"saved {usd:,.2f} of" if usd >= 0 else f"cost {-usd:,.2f} USD more than"
    return (
        f"coldpress as it comes would have {did} {one.control_usd:,.2f} USD ({100 * share.value:.1f} %{ends}); "
        f"{one.edits_lost:,} of {one.edits:,} edits lost."
    )
