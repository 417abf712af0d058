"""Draw bills request by request: all recordings together by arm, and the cache of one recording."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from coldpress.lab.report.canvas import DASHES, MARKERS, Picture, Theme, grid, label, legend_below, picture
from coldpress.lab.report.curves import Curve, Timeline
from coldpress.lab.report.facts import Facts
from coldpress.lab.report.wording import count, listed, many, millions, pct, plain, usd
from coldpress.lab.results import Turn

NAMED: Final = 8
"""How many lines are told apart; others are drawn faintly."""

_MARKS: Final = 8


def cost_by_request(facts: Facts) -> Picture | None:
    """Draw what had been paid, and saved, after so many requests of every recording; `None` without requests."""
    control = next((curve for curve in facts.curves if facts.arm(curve.arm).role == "control"), None)
    judged = [curve for curve in facts.curves if facts.arm(curve.arm).role != "control"]
    if facts.main is None or not (judged or control):
        return None
    named = _named(facts, judged)

    def draw(figure: Figure, theme: Theme) -> None:
        paid, saved = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
        handles, labels = [], []
        whole = control or judged[0]
        sums = whole.usd if control else whole.control_usd
        handles.append(paid.plot(range(1, len(sums) + 1), sums, color=theme.ink, linewidth=2)[0])
        labels.append("control")
        for curve in judged:
            line = _line(paid, saved, theme, facts, curve, faint=curve not in named)
            if curve in named:
                handles.append(line)
                labels.append(f"{facts.arm(curve.arm).number} {label(curve.arm)}")
        saved.axhline(0, color=theme.ink, linewidth=0.8)
        paid.set_ylabel("USD of input so far")
        saved.set_ylabel("saved so far, %")
        saved.set_xlabel("requests of each recording so far")
        for axes in (paid, saved):
            grid(axes, theme)
        legend_below(figure, list(handles), labels)

    tariff = plain(facts.main.label)
    rest = f" {many(len(judged) - len(named), 'more arm')} drawn faintly." if len(judged) > len(named) else ""
    caption = (
        f"What all recordings together had cost at {tariff} after so many requests each, and the share of it saved "
        f"by then. Short recordings end early and stay at what they cost, so the lines flatten.{rest} "
        "The estimated cost of refetches is left out here. Simulated, open-loop."
    )
    alt = f"Line plot of cumulated input bills at {tariff}. " + _alt(control, named)
    return picture("cost-by-request", draw, height=6.2 + 0.1 * len(named), alt=alt, caption=caption)


def cache_timeline(facts: Facts) -> Picture | None:
    """Draw one recording's prompts: fresh, read, written and removed tokens of every request; `None` without any."""
    shown = facts.timeline
    if shown is None or facts.main is None:
        return None

    def draw(figure: Figure, theme: Theme) -> None:
        rows = [("control", shown.control)] if shown.control else []
        rows.append((label(shown.arm), shown.turns))
        panels = figure.subplots(len(rows), 1, sharex=True, sharey=True, squeeze=False).flat
        for axes, (title, turns) in zip(panels, rows, strict=True):
            _draw_cache(axes, theme, turns)
            axes.set_title(title, loc="left", fontsize=11)
            axes.set_ylabel("thousand tokens")
        axes.set_xlabel("request")
        legend_below(figure, *_cache_legend(theme), columns=3)

    caption = (
        f"The prompts of one recording, {plain(shown.recording)}, at {plain(facts.main.label)}: what was read from the "
        "cache (cheapest), written to it, or fresh, and what the arm had taken out. A triangle marks a request that "
        "met a cold cache, a cross one on which old results were newly hidden. Simulated, open-loop."
    )
    height = 3.6 if not shown.control else 5.8
    return picture("cache-timeline", draw, height=height, alt=_timeline_alt(shown), caption=caption)


def loss_by_age(facts: Facts) -> Picture | None:
    """Draw the share of edits lost by the age of the result they quote; `None` where nothing was quoted."""
    ages = facts.losses.age_labels
    lost = facts.losses.ages
    arms = [arm for arm in facts.judged if any((age, arm.name) in lost for age in ages)]
    arms = [arm for arm in arms if any(lost[age, arm.name].edits_lost for age in ages if (age, arm.name) in lost)]
    costs = {arm.name: sum(lost[age, arm.name].edits_lost for age in ages if (age, arm.name) in lost) for arm in arms}
    arms = sorted(sorted(arms, key=lambda arm: -costs[arm.name])[:NAMED], key=lambda arm: arm.number)
    if not arms:
        return None
    counts = [max((one.edits for (at, _), one in lost.items() if at == age), default=0) for age in ages]
    shares = {arm.name: [_share(facts, age, arm.name) for age in ages] for arm in arms}

    def draw(figure: Figure, theme: Theme) -> None:
        axes = figure.subplots()
        grid(axes, theme)
        for arm in arms:
            places = [(at, share) for at, share in enumerate(shares[arm.name]) if share is not None]
            line = axes.plot(*zip(*places, strict=True), DASHES[(arm.number - 1) % len(DASHES)])[0]
            line.set(color=theme.hue(arm.number), marker=MARKERS[(arm.number - 1) % len(MARKERS)])
            line.set_label(f"{arm.number} {label(arm.name)}")
        axes.set_xticks(range(len(ages)), [f"{age}\n({most} edits)" for age, most in zip(ages, counts, strict=True)])
        axes.tick_params(axis="x", labelsize=9.5)
        axes.set_xlabel("turns between a result and the edit that quotes it")
        axes.set_ylabel("edits whose quoted text was gone, %")
        axes.set_ylim(bottom=0)
        legend_below(figure, *axes.get_legend_handles_labels())

    said = [f"{plain(arm.name, 40)}: {', '.join(_said(share) for share in shares[arm.name])}" for arm in arms]
    alt = f"Share of edits lost by age of the result ({', '.join(ages)} turns). {'; '.join(said)}."
    caption = (
        "Share of the edits that quote a result of this age and whose quoted text stood in nothing that was sent. Arms "
        f"that lost no edit are left out, and at most {NAMED} are drawn. Simulated, open-loop."
    )
    return picture("loss-by-age", draw, height=4.4 + 0.1 * len(arms), alt=alt, caption=caption)


def _share(facts: Facts, age: str, arm: str) -> float | None:
    found = facts.losses.ages.get((age, arm))
    return None if found is None or found.edit_loss is None else 100 * found.edit_loss


def _said(share: float | None) -> str:
    return "no edits" if share is None else f"{share:.1f} %"


def _named(facts: Facts, judged: Sequence[Curve]) -> list[Curve]:
    """Choose the lines that are told apart: the cheapest ones, the dearest, and the clairvoyant ones among them."""
    ranked = sorted(judged, key=lambda curve: curve.usd[-1])
    kept = ranked if len(ranked) <= NAMED else [*ranked[: NAMED - 1], ranked[-1]]
    return sorted(kept, key=lambda curve: facts.arm(curve.arm).number)


def _line(paid: Axes, saved: Axes, theme: Theme, facts: Facts, curve: Curve, *, faint: bool) -> Line2D:
    number = facts.arm(curve.arm).number
    at = range(1, len(curve.usd) + 1)
    shares = [
        100 * (1 - mine / theirs) if theirs else 0.0 for mine, theirs in zip(curve.usd, curve.control_usd, strict=True)
    ]
    if faint:
        saved.plot(at, shares, color=theme.faint, linewidth=0.8, zorder=1)
        return paid.plot(at, curve.usd, color=theme.faint, linewidth=0.8, zorder=1)[0]
    every = max(1, len(at) // _MARKS)
    marks = (number * every // _MARKS % every, every)  # apart from those of other lines
    hue, dash, marker = theme.hue(number), DASHES[(number - 1) % len(DASHES)], MARKERS[(number - 1) % len(MARKERS)]
    for axes, values in ((saved, shares), (paid, curve.usd)):
        line = axes.plot(at, values, dash, color=hue, marker=marker, markersize=5, markevery=marks, linewidth=1.4)[0]
    return line


def _alt(control: Curve | None, named: Sequence[Curve]) -> str:
    first = f"The control ends at {usd(control.usd[-1])} USD. " if control else ""
    each = (
        f"{plain(one.arm, 40)} ends at {usd(one.usd[-1])} USD ({pct(1 - one.usd[-1] / one.control_usd[-1])} % saved)"
        for one in named
        if one.control_usd[-1]
    )
    return f"{first}{'; '.join(each)}."


def _draw_cache(axes: Axes, theme: Theme, turns: Sequence[Turn]) -> None:
    grid(axes, theme)
    at = [turn.number + 1 for turn in turns]
    edges = [at[0] - 0.5, *(place + 0.5 for place in at)]
    under = [0.0] * len(turns)
    for amounts, colour, hatch in (
        ([turn.read_tokens for turn in turns], theme.hues[0], None),
        ([turn.written_tokens for turn in turns], theme.hues[4], None),
        ([turn.fresh_tokens for turn in turns], theme.hues[1], None),
        ([max(0, turn.removed_tokens) for turn in turns], "none", "////"),
    ):
        over = [low + amount / 1000 for low, amount in zip(under, amounts, strict=True)]
        ends = [*under, under[-1]], [*over, over[-1]]
        axes.fill_between(edges, *ends, step="post", facecolor=colour, hatch=hatch, edgecolor=theme.ink, linewidth=0.0)
        under = over
    top = 1.04 * max(under, default=0.0) or 1.0
    for marker, chosen in (("v", [turn.cold for turn in turns]), ("x", [bool(turn.cut) for turn in turns])):
        places = [
            (place, high + (0.03 if marker == "v" else 0.1) * top)
            for place, high, is_so in zip(at, under, chosen, strict=True)
            if is_so
        ]
        if places:
            axes.plot(*zip(*places, strict=True), marker, color=theme.ink, markersize=5, linestyle="none")


def _cache_legend(theme: Theme) -> tuple[list[Artist], list[str]]:
    marks = {"color": theme.ink, "linestyle": "none", "markersize": 5}
    return (
        [
            Patch(facecolor=theme.hues[0]),
            Patch(facecolor=theme.hues[4]),
            Patch(facecolor=theme.hues[1]),
            Patch(facecolor="none", edgecolor=theme.ink, hatch="////", linewidth=0.0),
            Line2D([], [], marker="v", **marks),  # type: ignore[arg-type]
            Line2D([], [], marker="x", **marks),  # type: ignore[arg-type]
        ],
        ["read", "written", "fresh", "removed", "cold cache", "old results hidden"],
    )


def _timeline_alt(shown: Timeline) -> str:
    turns = shown.turns
    sums = (
        f"{millions(sum(turn.read_tokens for turn in turns))} tokens read",
        f"{millions(sum(turn.written_tokens for turn in turns))} written",
        f"{millions(sum(turn.fresh_tokens for turn in turns))} fresh",
        f"{millions(sum(max(0, turn.removed_tokens) for turn in turns))} removed",
    )
    cold, cut = sum(turn.cold for turn in turns), sum(bool(turn.cut) for turn in turns)
    longest = max(turn.read_tokens + turn.written_tokens + turn.fresh_tokens for turn in turns)
    theirs, ours = sum(turn.control_usd for turn in turns), sum(turn.usd for turn in turns)
    return (
        f"Stacked bars of {many(len(turns), 'request')} of {plain(shown.recording, 40)} with {plain(shown.arm, 40)}: "
        f"{listed(sums)}; {many(cold, 'request')} met a cold cache, {many(cut, 'request')} newly hid old results. "
        f"The control paid {usd(theirs)} USD of input, the arm {usd(ours)} USD. The longest prompt that was sent has "
        f"{count(longest)} tokens."
    )
