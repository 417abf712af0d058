"""Count what one receipt says, so that totals are sums of plain numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from coldpress.model.errors import StoreError
from coldpress.model.records import Line, Outcome, Receipt
from coldpress.stores.base import Bucket, UsageTotals, Views

BUCKETS = ("fresh", "read", "write_short", "write_long", "output", "reasoning")
# No reply holds this many tokens; a provider that says so is wrong, and sums over such numbers would overflow.
MOST_TOKENS = 1 << 40


@dataclass(frozen=True, slots=True)
class Tally:
    """One receipt in numbers."""

    pressed: Views
    observed: Views
    restored: int

    @staticmethod
    def of(receipt: Receipt) -> Tally:
        """Count the lines of a receipt."""
        return Tally(
            pressed=_views([line for line in receipt.lines if line.reason == "pressed"]),
            observed=_views([line for line in receipt.lines if line.reason == "observe"]),
            restored=sum(line.reason == "restored" for line in receipt.lines),
        )


def _views(lines: Sequence[Line]) -> Views:
    counted = [
        (line.tokens_before, line.tokens_after)
        for line in lines
        if line.tokens_before is not None and line.tokens_after is not None
    ]
    return Views(
        count=len(lines),
        bytes_before=sum(line.bytes_before for line in lines),
        bytes_after=sum(line.bytes_after for line in lines),
        tokens_before=sum(before for before, _ in counted),
        tokens_after=sum(after for _, after in counted),
        uncounted=len(lines) - len(counted),
    )


def add_views(views: Iterable[Views]) -> Views:
    """Sum views."""
    rows = list(views)
    return Views(
        count=sum(v.count for v in rows),
        bytes_before=sum(v.bytes_before for v in rows),
        bytes_after=sum(v.bytes_after for v in rows),
        tokens_before=sum(v.tokens_before for v in rows),
        tokens_after=sum(v.tokens_after for v in rows),
        uncounted=sum(v.uncounted for v in rows),
    )


def tokens_of(outcome: Outcome) -> tuple[int | None, ...]:
    """Token counts of an outcome in the order of `BUCKETS`.

    Raises:
        StoreError: a count is negative or absurd.
    """
    usage = outcome.usage
    counts = (usage.fresh, usage.read, usage.write_short, usage.write_long, usage.output, usage.reasoning)
    for name, count in zip(BUCKETS, counts, strict=True):
        if count is not None and not 0 <= count < MOST_TOKENS:
            raise StoreError(f"outcome of {outcome.request_id}: {name} is {count} tokens, which no reply can hold")
    return counts


def answered(outcome: Outcome) -> bool:
    """Whether the provider answered with success, so that usage was to be expected."""
    return outcome.status is not None and 200 <= outcome.status < 300


def add_usage(outcomes: Iterable[Outcome]) -> UsageTotals:
    """Sum what providers reported; what they did not report is counted, not added."""
    rows = list(outcomes)
    columns = list(zip(*(tokens_of(row) for row in rows), strict=True)) or [()] * len(BUCKETS)
    reported = [[count for count in column if count is not None] for column in columns]
    sums = [Bucket(sum(counts), len(counts)) for counts in reported]
    good = [row for row in rows if answered(row)]
    return UsageTotals(len(good), sum(not row.usage.known for row in good), *sums)
