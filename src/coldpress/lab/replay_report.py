"""Sum replays up: what the input cost with coldpress and without, what schedules foretold, what the books say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from coldpress.lab import arms
from coldpress.lab.evidence import Evidence
from coldpress.lab.layout import Layout
from coldpress.lab.replay import Replayed
from coldpress.lab.schedules import Aging, Arm, Situation, play
from coldpress.lab.stats import SEED, Interval, share_interval
from coldpress.lab.tariffs import Tariff


@dataclass(frozen=True, slots=True)
class Foretold:
    """What `coldpress.lab.schedules` says of the same recording: aged results alone, beliefs that are always true."""

    control_usd: float
    ours_usd: float


@dataclass(frozen=True, slots=True)
class Bill:
    """One recording, input only, in USD.

    Attributes:
        recording: its name.
        requests: how many were replayed.
        control_usd: with the client's own bodies.
        ours_usd: with what the driver sent.
        books_usd: what the ledger says was saved, net, over the requests it could price; `unpriced` are the others.
        evidence: what replies used, and what of it was no longer shown.
        cuts: decisions about aged results, by reason.
        beliefs: of the cache, by state and whether half of the prompt or more was read.
        foretold: by the schedules.
    """

    recording: str
    requests: int
    control_usd: float
    ours_usd: float
    books_usd: float
    unpriced: int
    evidence: Evidence
    cuts: Counter[str]
    beliefs: Counter[str]
    foretold: Foretold

    @property
    def saved_usd(self) -> float:
        """What was saved, by the two bills."""
        return self.control_usd - self.ours_usd


@dataclass(frozen=True, slots=True)
class Summary:
    """All recordings together; shares are of the control's bill, with intervals over recordings."""

    bills: tuple[Bill, ...]

    @property
    def saved(self) -> Interval | None:
        """What was saved by the driver."""
        return share_interval([(bill.saved_usd, bill.control_usd) for bill in self.bills], seed=SEED)

    @property
    def foretold(self) -> float:
        """What the schedules said would be saved."""
        control = sum(bill.foretold.control_usd for bill in self.bills)
        return 1 - sum(bill.foretold.ours_usd for bill in self.bills) / control if control else 0.0

    def total_usd(self, name: str) -> float:
        """Sum an amount of `Bill` up."""
        return float(sum(getattr(bill, name) for bill in self.bills))

    @property
    def requests(self) -> int:
        """Requests replayed."""
        return sum(bill.requests for bill in self.bills)

    @property
    def evidence(self) -> Evidence:
        """Of all recordings."""
        return sum((bill.evidence for bill in self.bills), Evidence())

    @property
    def cuts(self) -> Counter[str]:
        """Decisions about aged results."""
        return sum((bill.cuts for bill in self.bills), Counter[str]())

    @property
    def beliefs(self) -> Counter[str]:
        """Beliefs of the cache beside what was read."""
        return sum((bill.beliefs for bill in self.bills), Counter[str]())


def bill_of(recording: str, replayed: Sequence[Replayed], foretold: Foretold) -> Bill:
    """Sum one recording up."""
    nets = [one.outcome.money.net_usd for one in replayed if one.outcome is not None and one.outcome.money is not None]
    known = [net for net in nets if net is not None]
    return Bill(
        recording=recording,
        requests=len(replayed),
        control_usd=sum(one.control_usd for one in replayed),
        ours_usd=sum(one.ours_usd for one in replayed),
        books_usd=sum(known),
        unpriced=len(replayed) - len(known),
        evidence=sum((one.looked.evidence for one in replayed), Evidence()),
        cuts=Counter(one.receipt.cut.reason for one in replayed if one.receipt.cut is not None),
        beliefs=Counter(_beliefs(replayed)),
        foretold=foretold,
    )


def foretell(layouts: Iterable[Layout], tariff: Tariff, *, source_age: int | None, arm: Arm) -> Foretold:
    """Play the control and an arm of the schedules over the conversations of one recording."""
    control = ours = 0.0
    for layout in layouts:
        situation = Situation(layout, Aging(source_age), tariff)
        control += play(situation, arms.control).cost_usd
        ours += play(situation, arm).cost_usd
    return Foretold(control, ours)


def _beliefs(replayed: Iterable[Replayed]) -> Iterable[str]:
    """Set each belief beside what was read of the client's own body, which no edit of ours has touched."""
    for one in replayed:
        belief = one.receipt.belief
        if belief is not None and belief.why != "first_request":
            read = 2 * (one.control.read or 0) >= (one.control.prompt or 0)
            yield f"{belief.state}, {'read' if read else 'not read'}"
