"""Turn attributed misses into numbers to add, and added numbers into totals."""

from __future__ import annotations

from coldpress.model.errors import StoreError
from coldpress.model.misses import Attribution
from coldpress.stores.amounts import Bucket
from coldpress.stores.sums import MOST_TOKENS, MOST_USD, NANO, Sums, amount_of, words
from coldpress.stores.totals_misses import CauseTotals, MissTotals


def miss_sums(found: Attribution) -> dict[str, int]:
    """What a miss adds to the sums."""
    name = f"missed.{found.cause}"
    sums = {f"miss:{found.cause}": 1, f"miss_why:{found.cause}/{found.why}": 1}
    if found.tokens is not None:
        sums |= {f"{name}.tokens": found.tokens, f"{name}.counted": 1}
    if found.usd is None:
        sums[f"{name}.unpriced"] = 1
    else:
        sums |= {f"{name}.nano_usd": round(found.usd * NANO), f"{name}.replies": 1}
    return sums


def miss_totals(sums: Sums) -> MissTotals:
    """Lay the sums out under their names."""
    return MissTotals(
        replies=sums.get("read.replies", 0),
        by_cause=tuple((cause, _cause(sums, cause, count)) for cause, count in words(sums, "miss")),
        by_why=words(sums, "miss_why"),
    )


def _cause(sums: Sums, cause: str, misses: int) -> CauseTotals:
    name = f"missed.{cause}"
    tokens = Bucket(sums.get(f"{name}.tokens", 0), sums.get(f"{name}.counted", 0))
    return CauseTotals(misses, tokens, amount_of(sums, name))


def check_attribution(found: Attribution, request_id: str) -> None:
    """Refuse numbers that no reply can hold, and that would spoil sums.

    Raises:
        StoreError: a count or an amount is absurd, or not finite.
    """
    if found.tokens is not None and not 0 <= found.tokens < MOST_TOKENS:
        raise StoreError(f"outcome of {request_id}: missed is {found.tokens} tokens, which no reply can hold")
    if found.usd is not None and not abs(found.usd) < MOST_USD:  # also where it is not a number
        raise StoreError(f"outcome of {request_id}: the miss cost {found.usd} USD, which no request can; give None")
