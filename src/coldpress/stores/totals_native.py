"""The sums of what providers were asked to do to prompts by themselves, and of what they say they did."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from coldpress.stores.amounts import Amount, Bucket


@dataclass(frozen=True, slots=True)
class AppliedTotals:
    """What providers did of one kind.

    Attributes:
        steps: how often.
        cleared: tokens that they took out of prompts, over the steps of which that is known.
        cost: of steps that are billed, inside the bills of their replies, over the steps of which that is known.
    """

    steps: int = 0
    cleared: Bucket = field(default_factory=Bucket)
    cost: Amount = field(default_factory=Amount)


@dataclass(frozen=True, slots=True)
class NativeTotals:
    """All of it.

    Attributes:
        requests: on which the settings switch anything on.
        asked: requests by what was asked for.
        declined: requests by `what/why` it was left out.
        applied: what providers did, by what.
    """

    requests: int = 0
    asked: tuple[tuple[str, int], ...] = ()
    declined: tuple[tuple[str, int], ...] = ()
    applied: tuple[tuple[str, AppliedTotals], ...] = ()

    def as_object(self) -> dict[str, object]:
        """Give everything as plain values under names that stay."""
        return {
            "requests": self.requests,
            "asked": dict(self.asked),
            "declined": dict(self.declined),
            "applied": {what: asdict(one) for what, one in self.applied},
        }
