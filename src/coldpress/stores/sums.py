"""Read counts and amounts out of the named numbers that a store adds up for ever."""

from __future__ import annotations

from collections.abc import Mapping

from coldpress.stores.amounts import Amount

# No reply and no window holds this many tokens; who says so is wrong, and sums over such numbers would overflow.
MOST_TOKENS = 1 << 40
# No request costs this much either; a hundred thousand of them still fit a sum.
MOST_USD = 100_000.0
NANO = 1_000_000_000

Sums = Mapping[str, int]


def words(sums: Sums, kind: str) -> tuple[tuple[str, int], ...]:
    """Counts of one kind by their word, in the order of the words.

    >>> words({"cut:waiting": 2, "cut:cold": 1, "requests": 3}, "cut")
    (('cold', 1), ('waiting', 2))
    """
    beginning = f"{kind}:"
    return tuple(
        sorted((name.removeprefix(beginning), value) for name, value in sums.items() if name.startswith(beginning))
    )


def amount_of(sums: Sums, name: str) -> Amount:
    """A sum of money with its denominators."""
    return amount(
        sums.get(f"{name}.nano_usd", 0),
        replies=sums.get(f"{name}.replies", 0),
        unpriced=sums.get(f"{name}.unpriced", 0),
    )


def amount(nano_usd: int, *, replies: int, unpriced: int) -> Amount:
    """Turn a sum of billionths into dollars."""
    return Amount(nano_usd / NANO, replies, unpriced)
