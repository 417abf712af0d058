"""The sums of misses of providers' caches, by who is to answer for them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from coldpress.stores.amounts import Amount, Bucket


@dataclass(frozen=True, slots=True)
class CauseTotals:
    """Misses of one cause.

    Attributes:
        misses: replies.
        tokens: prompt tokens that were not read and would have been, over the misses of which that is known.
        cost: what they cost above their price as a read, over the misses of which that is known.
    """

    misses: int = 0
    tokens: Bucket = field(default_factory=Bucket)
    cost: Amount = field(default_factory=Amount)


@dataclass(frozen=True, slots=True)
class MissTotals:
    """All misses.

    Attributes:
        replies: 2xx replies that said what they read, with a miss or without: what misses are taken over.
        by_cause: misses by cause, in the order of their words.
        by_why: misses by `cause/why`.
    """

    replies: int = 0
    by_cause: tuple[tuple[str, CauseTotals], ...] = ()
    by_why: tuple[tuple[str, int], ...] = ()

    @property
    def misses(self) -> int:
        """Replies with a miss."""
        return sum(one.misses for _, one in self.by_cause)

    @property
    def caused_by_us(self) -> CauseTotals:
        """Those that are our own doing."""
        return dict(self.by_cause).get("us", CauseTotals())

    def as_object(self) -> dict[str, object]:
        """Give everything as plain values under names that stay."""
        return {
            "replies": self.replies,
            "misses": self.misses,
            "caused_by_us": asdict(self.caused_by_us),
            "by_cause": {cause: asdict(one) for cause, one in self.by_cause},
            "by_why": dict(self.by_why),
        }
