"""Turn what was done under pressure, and what watchers found, into numbers to add, and added numbers into totals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from coldpress.model.errors import StoreError
from coldpress.model.records import Finding, Pressure
from coldpress.stores.amounts import Taken
from coldpress.stores.sums import MOST_TOKENS, MOST_USD, NANO, Sums, amount_of, words
from coldpress.stores.totals import CompactionTotals

APPLIED = frozenset({"masked", "summarised", "masked_short"})
_SUMMARISER = "compaction_summariser"


def finding_sums(findings: Iterable[Finding]) -> dict[str, int]:
    """What findings add to the sums."""
    return Counter(f"finding:{finding.kind}" for finding in findings)


def pressure_sums(pressure: Pressure) -> dict[str, int]:
    """What a request under pressure adds to the sums, zeros among it."""
    sums = Counter({"under_pressure": 1, f"pressure:{pressure.reason}": 1})
    sums.update(f"refused:{reason}" for reason in pressure.refused)
    sums["escalations"] = int(pressure.escalate)
    sums["narrowed"] = int(pressure.narrowed)
    if pressure.reason in APPLIED:  # else they were only weighed
        sums.update(_taken_sums(pressure))
    if _summary_asked(pressure):
        if pressure.summariser_usd is None:
            sums[f"{_SUMMARISER}.unpriced"] = 1
        else:
            sums[f"{_SUMMARISER}.nano_usd"] = round(pressure.summariser_usd * NANO)
            sums[f"{_SUMMARISER}.replies"] = 1
    return sums


def _taken_sums(pressure: Pressure) -> dict[str, int]:
    sums = {"dropped_items": pressure.dropped}
    if pressure.cleared:
        sums |= {
            "cleared.requests": 1,
            "cleared.count": pressure.cleared,
            "cleared.tokens": pressure.cleared_tokens,
        }
    if pressure.summarised:
        sums |= {
            "summarised.requests": 1,
            "summarised.count": pressure.summarised,
            "summarised.tokens": pressure.summarised_tokens,
        }
    if pressure.summary:
        sums[f"summary:{pressure.summariser or 'unknown'}"] = 1
    return sums


def _summary_asked(pressure: Pressure) -> bool:
    """Whether a summary was written or asked for, so that it may have cost something."""
    return bool(pressure.summary or pressure.refused or pressure.summariser or pressure.summariser_usd != 0.0)


def compaction_totals(sums: Sums) -> CompactionTotals:
    """Lay the sums out under their names."""
    reasons = words(sums, "pressure")
    return CompactionTotals(
        requests=sums.get("under_pressure", 0),
        applied=tuple(pair for pair in reasons if pair[0] in APPLIED),
        declined=tuple(pair for pair in reasons if pair[0] not in APPLIED),
        cleared=_taken(sums, "cleared"),
        summarised=_taken(sums, "summarised"),
        summaries=words(sums, "summary"),
        dropped_items=sums.get("dropped_items", 0),
        refused=words(sums, "refused"),
        escalations=sums.get("escalations", 0),
        narrowed=sums.get("narrowed", 0),
        summariser=amount_of(sums, _SUMMARISER),
    )


def _taken(sums: Sums, name: str) -> Taken:
    return Taken(sums.get(f"{name}.requests", 0), sums.get(f"{name}.count", 0), sums.get(f"{name}.tokens", 0))


def check_pressure(pressure: Pressure, request_id: str) -> None:
    """Refuse numbers that no prompt can hold, and that would spoil sums.

    Raises:
        StoreError: a count is absurd, or an amount is not finite or absurd.
    """
    tokens = {
        "before_tokens": pressure.before_tokens,
        "after_tokens": pressure.after_tokens,
        "cleared_tokens": pressure.cleared_tokens,
        "summarised_tokens": pressure.summarised_tokens,
        "cleared": pressure.cleared,
        "summarised": pressure.summarised,
        "dropped": pressure.dropped,
    }
    for name, count in tokens.items():
        if not abs(count) < MOST_TOKENS:
            raise StoreError(f"receipt of {request_id}: pressure.{name} is {count}, which no prompt can hold")
    spent = pressure.summariser_usd
    if spent is not None and not abs(spent) < MOST_USD:  # also where it is not a number
        raise StoreError(
            f"receipt of {request_id}: pressure.summariser_usd is {spent}, which no summary can cost; give None where "
            "it is not known"
        )
