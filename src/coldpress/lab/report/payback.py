"""Draw when a cut into a warm cache pays, by tariff: requests to pay back, by what goes and what stands behind it."""

from __future__ import annotations

from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from numpy.typing import NDArray

from coldpress.lab.report.canvas import Picture, Theme, label, picture
from coldpress.lab.report.conditions import TariffAbout
from coldpress.lab.report.facts import Facts
from coldpress.lab.report.wording import plain
from coldpress.measure.economics import breakeven_turns

PROMPT_TOKENS: Final = 100_000
"""Of the prompt that the maps are drawn for; at the same rates any other prompt gives the same map."""

LEVELS: Final = (2, 5, 10, 20, 50, 100, 200)
"""Requests that a line is drawn at."""

EXAMPLE: Final = (0.2, 0.5)
"""What the text names: a fifth of the prompt removed, and half of it behind."""

_REMOVED: Final = np.linspace(0.02, 0.6, 30)
_BEHIND: Final = np.linspace(0.0, 0.96, 33)
_ACROSS: Final = 2
_MOST: Final = 300
_DARKEST: Final = 5_000
"""Far above what is shown, so that lines and numbers are read on every colour."""


def payback_map(facts: Facts) -> Picture | None:
    """Draw the maps of all tariffs with one price table; `None` where there is none, or no cache to be broken."""
    maps = [(tariff, found) for tariff in facts.conditions.tariffs if (found := _map(tariff)) is not None]
    if not maps:
        return None
    down = -(-len(maps) // _ACROSS)

    def draw(figure: Figure, theme: Theme) -> None:
        panels = figure.subplots(down, _ACROSS, squeeze=False, sharex=True, sharey=True)
        for axes, (tariff, found) in zip(panels.flat, maps, strict=False):
            image = _draw(axes, theme, found)
            axes.set_title(label(tariff.label, 26), fontsize=10)
        for place, axes in enumerate(panels.flat[len(maps) :], start=len(maps)):
            axes.set_axis_off()
            panels.flat[place - _ACROSS].tick_params(labelbottom=True)  # nothing stands below it any more
        figure.supxlabel("removed, % of the prompt", fontsize=10)
        figure.supylabel("stands behind the cut and is written again, % of the prompt", fontsize=10)
        bar = figure.colorbar(image, ax=panels, location="top", aspect=40, shrink=0.8)
        bar.ax.set_xlim(1, _MOST)
        bar.set_ticks([1, *LEVELS], labels=[str(level) for level in (1, *LEVELS)])
        bar.set_label("requests until a cut into a warm cache has saved money", fontsize=10)

    alt = "Maps of the requests that a cut into a warm cache needs to pay back. " + " ".join(
        map(_words, maps_of(facts))
    )
    caption = (
        "How many requests, the one that rewrites included, a cut into a warm cache needs before it has saved money: "
        "lines at " + ", ".join(map(str, LEVELS)) + " requests. It does not matter how long the prompt is, as long as "
        "prices do not change with it. With a cold cache nothing is written again on account of the cut, and it pays "
        "at once. Computed from the price tables, not from recordings."
    )
    return picture("payback", draw, height=1.5 + 2.5 * down, alt=alt, caption=caption)


def maps_of(facts: Facts) -> tuple[tuple[TariffAbout, int | None], ...]:
    """Give the requests to pay back the `EXAMPLE`, for each tariff that has a map; `None` where that never comes."""
    drawn = [tariff for tariff in facts.conditions.tariffs if _has_map(tariff)]
    return tuple((tariff, _requests(tariff, *EXAMPLE)) for tariff in drawn)


def _words(found: tuple[TariffAbout, int | None]) -> str:
    tariff, requests = found
    removed, behind = (round(100 * share) for share in EXAMPLE)
    after = "never" if requests is None else f"after {requests} requests"
    return f"At {plain(tariff.label)} removing {removed} % with {behind} % behind pays {after}."


def _has_map(tariff: TariffAbout) -> bool:
    ratio = tariff.write_to_read
    return ratio is not None and ratio > 1


def _map(tariff: TariffAbout) -> NDArray[np.float64] | None:
    if not _has_map(tariff):
        return None
    found = np.full((len(_BEHIND), len(_REMOVED)), np.nan)
    for row, behind in enumerate(_BEHIND):
        for column, removed in enumerate(_REMOVED):
            requests = _requests(tariff, float(removed), float(behind)) if behind + removed <= 1 else None
            if requests is not None:
                found[row, column] = requests
    return found


def _requests(tariff: TariffAbout, removed: float, behind: float) -> int | None:
    if tariff.prices is None:
        return None
    rates = tariff.prices.at(PROMPT_TOKENS)
    found = breakeven_turns(round(behind * PROMPT_TOKENS), round(removed * PROMPT_TOKENS), rates)
    return found if isinstance(found, int) else None


def _draw(axes: Axes, theme: Theme, found: NDArray[np.float64]) -> QuadMesh:
    across, up = 100 * _REMOVED, 100 * _BEHIND
    image = axes.pcolormesh(
        across, up, found, norm=LogNorm(1, _DARKEST), cmap=theme.colormap, shading="nearest", rasterized=True
    )
    levels = [level for level in LEVELS if np.nanmin(found) < level < np.nanmax(found)]
    if levels:
        lines = axes.contour(across, up, found, levels=levels, colors="black", linewidths=0.9)
        for text in axes.clabel(lines, fmt="%d", fontsize=9, colors="black"):
            text.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 1.0, "alpha": 0.8})
    return image
