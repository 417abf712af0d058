"""How often recorded agents needed a result again, by why they might not and by its age; the risk of clearing one.

Source: `python benchmarks/pressure_risk.py` over 44 recordings (37 of Claude Code, 1 of pi, 6 of mini-swe-agent),
November 2026, open-loop. Counted are results of 1,000 bytes or more that need not stay exact, once at every age. Needed
means that a later edit's old text, or a line of 40 characters or more in a later call's input, stood in it and in
nothing that came between the two. The whole table with intervals is in docs/explanation/pressure.md.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import Final

from coldpress.engine.need import Why

AGES: Final = (1, 6, 11, 21, 41)
"""Ages, in replies of the model behind the result, at which results were looked at."""

Counts = tuple[int, int]
"""How many results were needed later, and how many there were."""

SOURCES: Final[dict[Why, tuple[Counts, ...]]] = {
    "superseded": ((0, 4), (0, 20), (0, 32), (0, 46), (0, 50)),
    "stale": ((51, 208), (23, 321), (19, 309), (8, 260), (6, 171)),
    "refetchable": ((180, 560), (72, 377), (44, 323), (18, 251), (6, 139)),
}
"""Results that show the text of a file, for each age of `AGES`."""

OUTPUTS: Final[dict[Why, tuple[Counts, ...]]] = {
    "repeated": ((0, 0), (0, 0), (0, 2), (0, 2), (0, 2)),
    "acted_on": ((0, 8), (0, 64), (0, 85), (0, 87), (0, 68)),
    "refetchable": ((16, 195), (7, 182), (7, 168), (3, 149), (1, 100)),
    "other": ((0, 156), (0, 83), (0, 44), (0, 14), (0, 3)),
}
"""All other results: logs, searches, listings, pages."""

ENOUGH_RESULTS: Final = 30
"""A share of fewer results says little: then those of the reason at all ages count, and else all of the kind."""


def risk(why: Why, *, is_source: bool, age: int) -> float:
    """Give the probability that a result is needed later and its text stands nowhere else; over 0, under 1.

    Half a result is added to either side of what was counted (Jeffreys' estimate), so that nothing is without risk.

    Args:
        why: the reason that holds.
        is_source: whether it shows the text of a file.
        age: in turns; that of the bucket it falls into counts.

    >>> round(risk("stale", is_source=True, age=8), 3), round(risk("superseded", is_source=True, age=8), 3)
    (0.073, 0.003)
    """
    table = SOURCES if is_source else OUTPUTS
    of_reason = table.get(why, ())
    bucket = max(0, bisect_right(AGES, age) - 1)
    levels = (of_reason[bucket : bucket + 1], of_reason, [cell for cells in table.values() for cell in cells])
    sums = [_sum(cells) for cells in levels]
    needed, results = next((found for found in sums if found[1] >= ENOUGH_RESULTS), sums[-1])
    return (needed + 0.5) / (results + 1)


def _sum(cells: Iterable[Counts]) -> Counts:
    listed = list(cells)
    return sum(needed for needed, _ in listed), sum(results for _, results in listed)
