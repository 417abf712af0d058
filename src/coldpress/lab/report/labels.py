"""Write labels beside points so that none covers another: the first free place around each point, nearest first.

What stands farther off is joined to its point by a thin line.
"""

from __future__ import annotations

import math
from typing import Final

from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke
from matplotlib.text import Annotation
from matplotlib.transforms import Bbox

from coldpress.lab.report.canvas import Theme

_NEAR: Final = tuple(
    (float(x), float(y), "left" if x > 0 else "right" if x < 0 else "center", "baseline")
    for x, y in ((7, 4), (-7, 4), (7, -10), (-7, -10), (0, 8), (0, -14))
)
_FAR: Final = tuple(
    (far * math.cos(turn * math.pi / 8), far * math.sin(turn * math.pi / 8), "center", "center")
    for far in (20.0, 28.0, 36.0, 46.0, 58.0, 72.0, 90.0)
    for turn in (4, 2, 6, 3, 5, 1, 7, 0, 8, 12, 14, 10, 13, 11, 15, 9)
)
_PLACES: Final = (*_NEAR, *_FAR)
"""Offsets in points and how the text is set there."""

Point = tuple[float, float]
"""Pixels across and up."""

_POINT_PIXELS: Final = 7


class Labels:
    """The labels of one plot: ask for all of them, then place them."""

    def __init__(self, axes: Axes, size: float, theme: Theme) -> None:
        self._axes = axes
        self._size = size
        self._colour = theme.ink
        self._halo = [withStroke(linewidth=2, foreground=theme.paper)]
        self._asked: list[tuple[float, float, str, bool]] = []

    def ask(self, x: float, y: float, text: str, *, bold: bool = False) -> None:
        """Ask for a label at a point, in the plot's own units."""
        self._asked.append((x, y, text, bold))

    def place(self) -> None:
        """Write them, in the order they were asked for, into a figure whose layout is settled and stays."""
        places = [self._pixels(x, y) for x, y, _, _ in self._asked]
        taken = [Bbox.from_extents(x - _POINT_PIXELS, y - _POINT_PIXELS, x + _POINT_PIXELS, y + _POINT_PIXELS)
                 for x, y in places]  # fmt: skip
        for asked in self._asked:
            taken.append(self._write(asked, taken, places))

    def _write(self, asked: tuple[float, float, str, bool], taken: list[Bbox], points: list[Point]) -> Bbox:
        x, y, text, bold = asked
        room = self._axes.get_window_extent()
        note = self._axes.annotate(
            text, (x, y), xytext=(0, 0), textcoords="offset points", fontsize=self._size, color=self._colour,
            fontweight="bold" if bold else "normal", zorder=5, annotation_clip=False,
            path_effects=self._halo,
        )  # fmt: skip
        note.set_in_layout(False)
        own = self._pixels(x, y)
        tried: list[tuple[float, Bbox, tuple[float, float, str, str]]] = []
        for place in _PLACES:
            box = self._box(note, place)
            outside = 0.0 if _inside(box, room) else 1e6
            # Without a line a label is taken for that of the nearest point.
            astray = 300.0 if place in _NEAR and _nearest(box, points, own) < _distance(box, own) else 0.0
            covered = outside + astray + sum(_common(box, other) for other in taken)
            tried.append((covered, box, place))
            if not covered:
                break
        _, _, best = min(tried, key=lambda one: one[0])
        if best in _FAR:
            self._join((x, y), best)
        return self._box(note, best)

    def _pixels(self, x: float, y: float) -> Point:
        across, up = self._axes.transData.transform((x, y))
        return float(across), float(up)

    def _join(self, point: tuple[float, float], place: tuple[float, float, str, str]) -> None:
        """Draw a thin line from a label to its point."""
        line = self._axes.annotate(
            "", point, xytext=place[:2], textcoords="offset points", annotation_clip=False, zorder=3,
            arrowprops={"arrowstyle": "-", "color": self._colour, "linewidth": 0.6, "alpha": 0.7, "shrinkA": 5,
                        "shrinkB": 3},
        )  # fmt: skip
        line.set_in_layout(False)

    def _box(self, note: Annotation, place: tuple[float, float, str, str]) -> Bbox:
        across, up, horizontal, vertical = place
        note.set_position((across, up))
        note.set_horizontalalignment(horizontal)  # type: ignore[arg-type]
        note.set_verticalalignment(vertical)  # type: ignore[arg-type]
        return note.get_window_extent()


def _distance(box: Bbox, point: Point) -> float:
    """Give the pixels between a point and the nearest edge; 0 inside."""
    across = max(box.x0 - point[0], 0.0, point[0] - box.x1)
    up = max(box.y0 - point[1], 0.0, point[1] - box.y1)
    return math.hypot(across, up)


def _nearest(box: Bbox, points: list[Point], own: Point) -> float:
    return min((_distance(box, point) for point in points if point != own), default=math.inf)


def _inside(box: Bbox, room: Bbox) -> bool:
    return bool(box.x0 >= room.x0 and box.x1 <= room.x1 and box.y0 >= room.y0 and box.y1 <= room.y1)


def _common(one: Bbox, other: Bbox) -> float:
    across = min(one.x1, other.x1) - max(one.x0, other.x0)
    up = min(one.y1, other.y1) - max(one.y0, other.y0)
    return across * up if across > 0 and up > 0 else 0.0
