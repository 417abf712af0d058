"""Gather what a report shows: figures of all tariffs, and for the main one losses, curves, groups and an example."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from coldpress.lab.report.conditions import RECORDED, ArmAbout, Conditions, TariffAbout, conditions_of
from coldpress.lab.report.curves import Curve, Timeline, curves_of, timeline_of
from coldpress.lab.report.lost import Losses, losses_of
from coldpress.lab.report.peers import Peers
from coldpress.lab.report.source import Results
from coldpress.lab.report.wording import plain
from coldpress.lab.results import Bill
from coldpress.lab.summary import ArmFigures, figures
from coldpress.model.errors import ConfigError

GROUPS: Final = 20
"""How many tasks or kinds a table shows at most, those with the largest bills; the report says how many there are."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much was replayed, each recording counted once.

    Attributes:
        recordings, conversations, requests: how many.
        prompt_tokens: of all prompts as the client wrote them, counted as the main tariff's provider would.
        kinds: the programs that recorded them, with the number of recordings, most first.
        tasks: folders that they stood in.
    """

    recordings: int
    conversations: int
    requests: int
    prompt_tokens: int
    kinds: tuple[tuple[str, int], ...]
    tasks: int


@dataclass(frozen=True, slots=True)
class Paid:
    """What recordings with reported usage say was paid for input, at list prices.

    Attributes:
        recordings: how many say it.
        usd: together.
        simulated_usd: the simulated control of the same recordings at their own prices; `None` where that tariff was
            not among those measured.
    """

    recordings: int
    usd: float
    simulated_usd: float | None


@dataclass(frozen=True, slots=True)
class Group:
    """The recordings of one task or kind at the main tariff."""

    name: str
    recordings: int
    requests: int
    control_usd: float
    figures: tuple[ArmFigures, ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything a report shows.

    Attributes:
        main: the tariff that is shown in full; `None` where there are no results.
        figures: of each tariff, in the order of the arms.
        paid: `None` where no recording says it.
        tasks, kinds: the largest ones first; `kinds` is empty where there is but one.
        curves: cost by request; empty where requests were not kept.
        timeline: of one recording; `None` where requests were not kept.
        peers: others' published figures; `None` where nobody gave any.
    """

    conditions: Conditions
    main: TariffAbout | None
    sizes: Sizes
    paid: Paid | None
    figures: Mapping[str, tuple[ArmFigures, ...]]
    tasks: tuple[Group, ...]
    kinds: tuple[Group, ...]
    losses: Losses
    curves: tuple[Curve, ...] = field(repr=False)
    timeline: Timeline | None = field(repr=False)
    peers: Peers | None

    def arm(self, name: str) -> ArmAbout:
        """Give an arm by its name."""
        return next(arm for arm in self.conditions.arms if arm.name == name)

    @property
    def judged(self) -> tuple[ArmAbout, ...]:
        """The arms without the control."""
        return tuple(arm for arm in self.conditions.arms if arm.role != "control")

    @property
    def main_figures(self) -> tuple[ArmFigures, ...]:
        """Figures of the main tariff."""
        return self.figures.get(self.main.name, ()) if self.main else ()


def gather(results: Results, peers: Peers | None, example: str | None) -> Facts:
    """Read results into what a report shows.

    Args:
        results: of a sweep.
        peers: others' published figures.
        example: name of the recording whose cache is shown; the one with the most cuts where it is `None`.

    Raises:
        ConfigError: there is no such recording.
    """
    bills = tuple(results.bills)
    if example is not None and all(bill.recording != example for bill in bills):
        raise ConfigError(f"no recording {plain(example)!r} among the results; name one without its ending, or none")
    conditions = conditions_of(results.about, bills)
    main = _main(conditions, bills)
    shown = [bill for bill in bills if main and bill.tariff == main.name]
    summed = _by_tariff(conditions, figures(bills))
    name = main.name if main else ""
    arms = conditions.arms
    kinds = _groups(shown, [bill.kind for bill in shown], arms)
    return Facts(
        conditions=conditions,
        main=main,
        sizes=_sizes(shown),
        paid=_paid(bills),
        figures=summed,
        tasks=_groups(shown, [bill.task for bill in shown], arms),
        kinds=kinds if len(kinds) > 1 else (),
        losses=losses_of(loss for loss in results.losses if loss.tariff == name),
        curves=curves_of(results, name, [arm.name for arm in arms]) if main else (),
        timeline=timeline_of(results, shown, arms, example) if main else None,
        peers=peers,
    )


def _main(conditions: Conditions, bills: Sequence[Bill]) -> TariffAbout | None:
    """Choose the tariff that most recordings were billed at, the first of several."""
    counted = Counter(bill.tariff for bill in bills)
    return max(conditions.tariffs, key=lambda tariff: counted[tariff.name], default=None) if counted else None


def _by_tariff(conditions: Conditions, found: Iterable[ArmFigures]) -> dict[str, tuple[ArmFigures, ...]]:
    order = {arm.name: arm.number for arm in conditions.arms}
    held: dict[str, list[ArmFigures]] = {tariff.name: [] for tariff in conditions.tariffs}
    for one in found:
        held[one.tariff].append(one)
    return {tariff: tuple(sorted(rows, key=lambda row: order[row.arm])) for tariff, rows in held.items()}


def _sizes(bills: Sequence[Bill]) -> Sizes:
    once = {_key(bill): bill for bill in bills}.values()
    kinds = Counter(bill.kind for bill in once)
    return Sizes(
        recordings=len(once),
        conversations=sum(bill.conversations for bill in once),
        requests=sum(bill.requests for bill in once),
        prompt_tokens=sum(bill.control_prompt_tokens for bill in once),
        kinds=tuple(sorted(kinds.items(), key=lambda item: (-item[1], item[0]))),
        tasks=len({bill.task for bill in once}),
    )


def _paid(bills: Sequence[Bill]) -> Paid | None:
    known = {_key(bill): bill.paid_usd for bill in bills if bill.paid_usd is not None}
    if not known:
        return None
    controls = {_key(bill): bill.control_usd for bill in bills if bill.tariff == RECORDED}
    told = all(one in controls for one in known)
    return Paid(len(known), sum(known.values()), sum(controls[one] for one in known) if told else None)


def _groups(bills: Sequence[Bill], names: Sequence[str], arms: Sequence[ArmAbout]) -> tuple[Group, ...]:
    """Sum up by the name beside each bill, the largest bills first."""
    held: dict[str, list[Bill]] = {}
    for bill, name in zip(bills, names, strict=True):
        held.setdefault(name, []).append(bill)
    sized = {name: {_key(bill): bill for bill in group} for name, group in held.items()}
    costs = {name: sum(bill.control_usd for bill in once.values()) for name, once in sized.items()}
    largest = sorted(held, key=lambda name: (-costs[name], name))[:GROUPS]
    order = {arm.name: arm.number for arm in arms}
    return tuple(
        Group(
            name=name,
            recordings=len(sized[name]),
            requests=sum(bill.requests for bill in sized[name].values()),
            control_usd=costs[name],
            figures=tuple(sorted(figures(held[name]), key=lambda row: order[row.arm])),
        )
        for name in largest
    )


def _key(bill: Bill) -> tuple[str, str]:
    return bill.content, bill.recording
