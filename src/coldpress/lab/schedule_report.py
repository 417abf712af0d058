"""Compare arms over recorded conversations: input bills, how far from the clairvoyant schedule, what edits lost."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from coldpress.lab.arms import control
from coldpress.lab.layout import Layout
from coldpress.lab.oracle import clairvoyant
from coldpress.lab.schedules import Aging, Arm, Run, Situation, play
from coldpress.lab.stats import SEED, Interval, share_interval
from coldpress.lab.tariffs import Tariff

CONTROL: Final = "control"
CLAIRVOYANT: Final = "clairvoyant"


@dataclass(frozen=True, slots=True)
class Total:
    """One arm over the conversations of one recording.

    `lost` counts edits whose whole old text was masked, everywhere it stood, in the request on sight of which they
    were made.
    """

    recording: str
    cost_usd: float
    cold_usd: float
    cuts: int
    cold_cuts: int
    lost: int
    at_least_usd: float


@dataclass(frozen=True, slots=True)
class Row:
    """One arm under one tariff and one aging rule, over all recordings.

    Attributes:
        arm: its name.
        cost_usd: whole input bill, simulated and open-loop.
        saved: share of the control's bill, with an interval over recordings.
        over: its cost over the clairvoyant schedule's, as a share of that.
        cold_share: share of its bill paid on requests whose prefix was not held.
        cuts: requests that masked something, `cold_cuts` of them with nothing held.
        lost: edits whose text was gone.
        totals: of each recording.
    """

    arm: str
    cost_usd: float
    saved: Interval | None
    over: float
    cold_share: float
    cuts: int
    cold_cuts: int
    lost: int
    totals: tuple[Total, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """All arms under one tariff and one aging rule.

    `at_least_usd` is what no schedule can cost less than; it equals the clairvoyant's cost where that is proven.
    """

    tariff: Tariff
    aging: Aging
    recordings: int
    conversations: int
    requests: int
    edits: int
    edits_of_results: int
    rows: tuple[Row, ...]
    at_least_usd: float

    def row(self, arm: str) -> Row:
        """Give an arm's row by its name."""
        return next(row for row in self.rows if row.arm == arm)


def compare(
    layouts: Sequence[Layout],
    tariff: Tariff,
    aging: Aging,
    arms: Mapping[str, Arm],
    *,
    say: Callable[[str], None] = lambda _: None,
) -> Comparison:
    """Play every arm, the control and the clairvoyant schedule over all conversations.

    Args:
        layouts: the conversations.
        tariff: prices and lifetimes.
        aging: what may be masked, and from when on.
        arms: by name, beside the control and the clairvoyant.
        say: is told after each conversation how far the work is.
    """
    played: dict[str, list[Total]] = {name: [] for name in (CONTROL, *arms, CLAIRVOYANT)}
    for number, layout in enumerate(layouts, 1):
        situation = Situation(layout, aging, tariff)
        for name, arm in {CONTROL: control, **arms}.items():
            run = play(situation, arm)
            played[name].append(_total(situation, run, run.cost_usd))
        best = clairvoyant(situation)
        played[CLAIRVOYANT].append(_total(situation, best.run, best.at_least_usd))
        say(f"{number} of {len(layouts)} conversations")
    totals = {name: _by_recording(found) for name, found in played.items()}
    return Comparison(
        tariff=tariff,
        aging=aging,
        recordings=len(totals[CONTROL]),
        conversations=len(layouts),
        requests=sum(layout.requests for layout in layouts),
        edits=sum(layout.edits for layout in layouts),
        edits_of_results=sum(layout.edits_of_results for layout in layouts),
        rows=tuple(_row(name, found, totals) for name, found in totals.items()),
        at_least_usd=sum(total.at_least_usd for total in totals[CLAIRVOYANT]),
    )


def lost_edits(situation: Situation, run: Run) -> int:
    """Count the edits of a conversation whose text stood in masked results only when they were made."""
    bit_of = {one.index: 1 << k for k, one in enumerate(situation.candidates)}
    lost = 0
    for quote in situation.layout.quotes:
        masked = run.masked[quote.request - situation.layout.own]
        lost += all(bit_of.get(source, 0) & masked for source in quote.sources)
    return lost


@dataclass(frozen=True, slots=True)
class Halves:
    """How a choice holds on recordings that it was not made on.

    Attributes:
        draws: random halves that a rule was chosen on.
        chosen: how often each rule was the best of its half (smallest worst excess over the clairvoyant schedule).
        excess: mean of the worst excess, on the judged half, of the rule chosen on the other.
        worst_of: by rule, the share of judged halves on which its worst excess is over the limit.
    """

    draws: int
    chosen: tuple[tuple[str, int], ...]
    excess: float
    worst_of: tuple[tuple[str, float], ...]


def by_halves(
    comparisons: Sequence[Comparison], rules: Sequence[str], *, limit: float, draws: int, seed: int
) -> Halves:
    """Choose among rules on half of the recordings and judge on the other half, many times.

    A rule's worst excess is the largest, over the comparisons, of its cost over the clairvoyant schedule's.

    Args:
        comparisons: under all tariffs and aging rules, over the same recordings.
        rules: names of arms.
        limit: the excess that is too much, as a share.
        draws: how many random halves.
        seed: of the draws.
    """
    names = sorted({total.recording for total in comparisons[0].row(CONTROL).totals})
    drawn = random.Random(seed)
    chosen, over, sum_excess = dict.fromkeys(rules, 0), dict.fromkeys(rules, 0), 0.0
    for _ in range(draws):
        half = set(drawn.sample(names, len(names) // 2))
        tuned = {rule: _worst(comparisons, rule, half) for rule in rules}
        judged = {rule: _worst(comparisons, rule, set(names) - half) for rule in rules}
        best = min(rules, key=lambda rule: tuned[rule])
        chosen[best] += 1
        sum_excess += judged[best]
        for rule in rules:
            over[rule] += judged[rule] > limit
    shares = tuple((rule, count / draws) for rule, count in over.items())
    return Halves(draws, tuple(chosen.items()), sum_excess / draws, shares)


def _worst(comparisons: Sequence[Comparison], rule: str, recordings: set[str]) -> float:
    def cost(comparison: Comparison, arm: str) -> float:
        return sum(total.cost_usd for total in comparison.row(arm).totals if total.recording in recordings)

    return max(cost(one, rule) / cost(one, CLAIRVOYANT) - 1 for one in comparisons)


def _total(situation: Situation, run: Run, at_least_usd: float) -> Total:
    return Total(
        situation.layout.recording,
        run.cost_usd,
        run.cold_usd,
        run.cuts,
        run.cold_cuts,
        lost_edits(situation, run),
        at_least_usd,
    )


def _by_recording(totals: Sequence[Total]) -> tuple[Total, ...]:
    found: dict[str, Total] = {}
    for one in totals:
        has = found.get(one.recording)
        found[one.recording] = one if has is None else _sum(has, one)
    return tuple(found.values())


def _sum(one: Total, other: Total) -> Total:
    return Total(
        one.recording,
        one.cost_usd + other.cost_usd,
        one.cold_usd + other.cold_usd,
        one.cuts + other.cuts,
        one.cold_cuts + other.cold_cuts,
        one.lost + other.lost,
        one.at_least_usd + other.at_least_usd,
    )


def _row(name: str, found: tuple[Total, ...], totals: Mapping[str, tuple[Total, ...]]) -> Row:
    cost = sum(total.cost_usd for total in found)
    least = sum(total.cost_usd for total in totals[CLAIRVOYANT])
    pairs = [(c.cost_usd - a.cost_usd, c.cost_usd) for c, a in zip(totals[CONTROL], found, strict=True)]
    return Row(
        arm=name,
        cost_usd=cost,
        saved=share_interval(pairs, seed=SEED),
        over=cost / least - 1 if least else 0.0,
        cold_share=sum(total.cold_usd for total in found) / cost if cost else 0.0,
        cuts=sum(total.cuts for total in found),
        cold_cuts=sum(total.cold_cuts for total in found),
        lost=sum(total.lost for total in found),
        totals=found,
    )
