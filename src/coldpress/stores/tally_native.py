"""Turn what providers were asked to do, and did, into numbers to add, and added numbers into totals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import astuple

from coldpress.model.errors import StoreError
from coldpress.model.native import Applied, NativeAsked
from coldpress.stores.amounts import Bucket
from coldpress.stores.sums import MOST_TOKENS, MOST_USD, NANO, Sums, amount_of, words
from coldpress.stores.totals_native import AppliedTotals, NativeTotals


def asked_sums(native: NativeAsked) -> dict[str, int]:
    """What a request adds to the sums."""
    asked = {f"native_asked:{what}": 1 for what in native.asked}
    declined = {f"native_declined:{one.primitive}/{one.why}": 1 for one in native.declined}
    return {"native.requests": 1, **asked, **declined}


def applied_sums(steps: Sequence[Applied]) -> dict[str, int]:
    """What the steps of one reply add to the sums."""
    sums: Counter[str] = Counter()
    for step in steps:
        name = f"applied.{step.primitive}"
        sums[f"applied:{step.primitive}"] += 1
        if step.cleared_tokens is not None:
            sums.update({f"{name}.tokens": step.cleared_tokens, f"{name}.counted": 1})
        if step.usd is not None:
            sums.update({f"{name}.nano_usd": round(step.usd * NANO), f"{name}.replies": 1})
        elif step.usage.known:
            sums[f"{name}.unpriced"] += 1
    return dict(sums)


def native_totals(sums: Sums) -> NativeTotals:
    """Lay the sums out under their names."""
    return NativeTotals(
        requests=sums.get("native.requests", 0),
        asked=words(sums, "native_asked"),
        declined=words(sums, "native_declined"),
        applied=tuple((what, _applied(sums, what, steps)) for what, steps in words(sums, "applied")),
    )


def _applied(sums: Sums, what: str, steps: int) -> AppliedTotals:
    name = f"applied.{what}"
    cleared = Bucket(sums.get(f"{name}.tokens", 0), sums.get(f"{name}.counted", 0))
    return AppliedTotals(steps, cleared, amount_of(sums, name))


def check_applied(steps: Sequence[Applied], request_id: str) -> None:
    """Refuse numbers that no reply can hold, and that would spoil sums.

    Raises:
        StoreError: a count or an amount is absurd, or not finite.
    """
    for step in steps:
        counts = (step.cleared_tokens, step.cleared_tool_uses, step.cleared_thinking_turns, *astuple(step.usage))
        for count in counts:
            if count is not None and not 0 <= count < MOST_TOKENS:
                raise StoreError(f"outcome of {request_id}: {step.primitive} counts {count}, which no reply can hold")
        if step.usd is not None and not abs(step.usd) < MOST_USD:  # also where it is not a number
            raise StoreError(f"outcome of {request_id}: {step.primitive} cost {step.usd} USD, which no step can")
