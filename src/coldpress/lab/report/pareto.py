"""Draw evidence loss against what is saved on the whole bill: every arm, the clairvoyant ones, and others' figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from coldpress.lab.report.canvas import MARKERS, Picture, Theme, grid, label, legend_below, picture, settle
from coldpress.lab.report.conditions import TariffAbout
from coldpress.lab.report.facts import Facts
from coldpress.lab.report.labels import Labels
from coldpress.lab.report.peers import Condition
from coldpress.lab.report.wording import listed, lost, pct, plain
from coldpress.lab.summary import ArmFigures

PANELS_ACROSS: Final = 2

FLOOR: Final = -0.3
"""Saving at the left edge: what is dearer stands there with its figure, so that the others are told apart."""


@dataclass(frozen=True, slots=True)
class Point:
    """A point of the plot: shares with their intervals, what is written beside it, and the name of another's."""

    saved: float
    edits_lost: float
    text: str
    name: str = ""
    saved_range: tuple[float, float] | None = None
    lost_range: tuple[float, float] | None = None

    @property
    def is_far(self) -> bool:
        """Whether it is so dear that it stands at the edge instead of its place."""
        return self.saved < FLOOR

    @property
    def x(self) -> float:
        """Where it stands, in percent."""
        return 100 * max(self.saved, FLOOR)

    @property
    def y(self) -> float:
        """Where it stands, in percent."""
        return 100 * self.edits_lost

    @property
    def said(self) -> str:
        """What is written beside it."""
        return f"← {self.text} ({pct(self.saved)} %)" if self.is_far else self.text


def pareto(facts: Facts, tariff: TariffAbout) -> Picture | None:
    """Draw the plot of one tariff; `None` where no arm has both a saving and an edit that could be lost."""
    rows = _drawable(facts, facts.figures[tariff.name])
    if not rows:
        return None
    beside, condition = _peer_points(facts, tariff)

    def draw(figure: Figure, theme: Theme) -> None:
        axes = figure.subplots()
        asked = _draw(axes, theme, facts, rows, beside)
        handles, labels = _legend(theme, facts, rows, beside)
        legend_below(figure, handles, labels)
        settle(figure)
        asked.place()

    height = 5.0 + 0.2 * ((len(rows) + len(beside) + 2) // 2)
    return picture(
        "pareto", draw, height=height, alt=_alt(facts, tariff, rows, beside), caption=_caption(tariff, condition)
    )


def small_multiples(facts: Facts, tariffs: Sequence[TariffAbout]) -> Picture | None:
    """Draw the same plot for several tariffs, on axes of their own."""
    shown = [(tariff, _drawable(facts, facts.figures[tariff.name])) for tariff in tariffs]
    shown = [(tariff, rows) for tariff, rows in shown if rows]
    if not shown:
        return None
    down = -(-len(shown) // PANELS_ACROSS)

    def draw(figure: Figure, theme: Theme) -> None:
        panels = figure.subplots(down, PANELS_ACROSS, squeeze=False).flatten().tolist()
        asked = []
        for axes, (tariff, rows) in zip(panels, shown, strict=False):
            asked.append(_draw(axes, theme, facts, rows, (), small=True))
            axes.set_title(label(tariff.label), fontsize=10)
        for axes in panels[len(shown) :]:
            axes.set_axis_off()
        figure.supxlabel("saved, % of the control's bill", fontsize=10)
        figure.supylabel("edits lost, %", fontsize=10)
        settle(figure)
        for labels in asked:
            labels.place()

    said = [f"{plain(tariff.label)}: {_best_words(facts, rows)}." for tariff, rows in shown]
    caption = (
        "The same plot at the other tariffs, each on axes of its own. Numbers are those of the arms in the tables."
    )
    return picture("pareto-others", draw, height=0.6 + 2.7 * down, alt=" ".join(said), caption=caption)


def _drawable(facts: Facts, figures: Sequence[ArmFigures]) -> tuple[ArmFigures, ...]:
    judged = {arm.name for arm in facts.judged}
    return tuple(row for row in figures if row.arm in judged and row.saving is not None and row.edits)


def _point(facts: Facts, row: ArmFigures) -> Point:
    found, risk = row.saving, row.edit_loss
    assert found is not None  # only such rows are drawn
    return Point(
        saved=found.value,
        edits_lost=row.edits_lost / row.edits,
        text=str(facts.arm(row.arm).number),
        saved_range=(found.low, found.high),
        lost_range=(risk.low, risk.high) if risk is not None and row.edits_lost else None,
    )


def _peer_points(facts: Facts, tariff: TariffAbout) -> tuple[tuple[Point, ...], Condition | None]:
    peers = facts.peers
    index = peers.nearest(tariff.write_to_read) if peers else None
    if peers is None or index is None:
        return (), None
    found = ((one.saved[index], one.edits_lost, letter, one) for letter, one in peers.lettered)
    points = [
        Point(saved, gone, letter, name=one.label)
        for saved, gone, letter, one in found
        if saved is not None and gone is not None
    ]
    return tuple(points), peers.conditions[index]


def _draw(
    axes: Axes,
    theme: Theme,
    facts: Facts,
    rows: Sequence[ArmFigures],
    beside: Sequence[Point],
    *,
    small: bool = False,
) -> Labels:
    points = [(row, _point(facts, row)) for row in rows]
    grid(axes, theme)
    axes.axvline(0, color=theme.ink, linewidth=0.8)
    knowing = sorted((one.x, one.y) for row, one in points if facts.arm(row.arm).role == "clairvoyant")
    if knowing:
        axes.plot(*zip(*knowing, strict=True), color=theme.ink, linestyle=(0, (4, 2)), linewidth=1.2, zorder=2)
    labels = Labels(axes, 8 if small else 10, theme)
    for row, point in points:
        _draw_arm(axes, theme, facts, row, point)
        labels.ask(point.x, point.y, point.said, bold=True)
    for point in beside:
        axes.plot(point.x, point.y, "o", markersize=7, markerfacecolor="none", markeredgecolor=theme.ink, zorder=3)
        labels.ask(point.x, point.y, point.said)
    if not small:
        axes.set_xlabel("saved, % of the control's input bill (left of 0: dearer)")
        axes.set_ylabel("edits whose quoted text was gone, %")
    axes.margins(x=0.1)
    low, high = axes.get_ylim()
    axes.set_ylim(min(-0.04 * high, low), max(high, 1.0))
    if any(one.is_far for one in (*beside, *(point for _, point in points))):
        axes.set_xlim(left=100 * FLOOR - 4)
    return labels


def _draw_arm(axes: Axes, theme: Theme, facts: Facts, row: ArmFigures, point: Point) -> None:
    arm = facts.arm(row.arm)
    hue = theme.hue(arm.number)
    if point.saved_range:
        axes.plot([100 * end for end in point.saved_range], [point.y] * 2, color=hue, linewidth=1, alpha=0.45, zorder=2)
    if point.lost_range:
        axes.plot([point.x] * 2, [100 * end for end in point.lost_range], color=hue, linewidth=1, alpha=0.45, zorder=2)
    axes.plot(point.x, point.y, _marker(facts, row), color=hue, markersize=7, zorder=4)


def _marker(facts: Facts, row: ArmFigures) -> str:
    arm = facts.arm(row.arm)
    return "*" if arm.role == "clairvoyant" else MARKERS[(arm.number - 1) % len(MARKERS)]


def _legend(
    theme: Theme, facts: Facts, rows: Sequence[ArmFigures], beside: Sequence[Point]
) -> tuple[list[Artist], list[str]]:
    handles: list[Artist] = []
    labels: list[str] = []
    for row in rows:
        arm = facts.arm(row.arm)
        handles.append(Line2D([], [], color=theme.hue(arm.number), marker=_marker(facts, row), linestyle="none"))
        labels.append(f"{arm.number} {label(arm.name)}")
    if any(facts.arm(row.arm).role == "clairvoyant" for row in rows):
        handles.append(Line2D([], [], color=theme.ink, linestyle=(0, (4, 2))))
        labels.append("clairvoyant arms")
    for point in beside:
        hollow = Line2D([], [], color=theme.ink, marker="o", linestyle="none", markerfacecolor="none")
        handles.append(hollow)
        labels.append(f"{point.text} {label(point.name)}")
    return handles, labels


def _caption(tariff: TariffAbout, condition: Condition | None) -> str:
    said = (
        f"Evidence loss against the whole input bill, refetches included, at {plain(tariff.label)}. Further right is "
        "cheaper, further down loses less. Thin lines are 95 % intervals; an arrow marks what is dearer than the edge. "
        "The dashed line joins the clairvoyant arms: with the same candidates hardly anything saves more; budgets and "
        "summaries have others. Losses are shares of the edits that quote an earlier result. Simulated, open-loop."
    )
    if condition is None:
        return said
    return (
        f"{said} Hollow marks are others' figures under conditions of their own ({condition.label}): other recordings, "
        "another simulation, no cost of refetches, another count of edits; those of unknown loss are left out. They "
        "show where one stands, not who wins."
    )


def _alt(facts: Facts, tariff: TariffAbout, rows: Sequence[ArmFigures], beside: Sequence[Point]) -> str:
    each = [
        f"{plain(row.arm, 40)} saves {pct(row.saving.value)} % and loses {lost(row.edits_lost, row.edits, None)}"
        for row in rows
        if row.saving
    ]
    theirs = [f"{plain(one.name, 40)} {pct(one.saved)} % and {pct(one.edits_lost)} %" for one in beside]
    others = f" Others' figures: {'; '.join(theirs)}." if theirs else ""
    return f"Scatter plot at {plain(tariff.label)}, saving across and edits lost upwards: {'; '.join(each)}.{others}"


def _best_words(facts: Facts, rows: Sequence[ArmFigures]) -> str:
    judged = [row for row in rows if facts.arm(row.arm).role == "arm" and row.saving]
    best = sorted(judged, key=lambda row: -(row.saving.value if row.saving else 0.0))[:2]
    words = tuple(
        f"{plain(row.arm, 40)} saves {pct(row.saving.value)} % and loses {row.edits_lost} of {row.edits} edits"
        for row in best
        if row.saving
    )
    return listed(words) or "no arm"
