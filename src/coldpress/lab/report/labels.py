"""Write labels beside points so that none covers another: the first free place around each point, nearest first."""

from __future__ import annotations

from typing import Final

from matplotlib.axes import Axes
from matplotlib.text import Annotation
from matplotlib.transforms import Bbox

_PLACES: Final = tuple(
    (x * far, y * far, "left" if x > 0 else "right" if x < 0 else "center", "center" if y == 0 else "baseline")
    for far in (1.0, 1.7, 2.6, 3.6)
    for x, y in ((7, 4), (-7, 4), (7, -10), (-7, -10), (0, 8), (0, -14))
)
"""Offsets in points and how the text is set there."""

_POINT_PIXELS: Final = 7


class Labels:
    """The labels of one plot: ask for all of them, then place them."""

    def __init__(self, axes: Axes, size: float, colour: str) -> None:
        self._axes = axes
        self._size = size
        self._colour = colour
        self._asked: list[tuple[float, float, str, bool]] = []

    def ask(self, x: float, y: float, text: str, *, bold: bool = False) -> None:
        """Ask for a label at a point, in the plot's own units."""
        self._asked.append((x, y, text, bold))

    def place(self) -> None:
        """Write them, in the order they were asked for, into a figure whose layout is settled and stays."""
        places = [self._axes.transData.transform((x, y)) for x, y, _, _ in self._asked]
        taken = [Bbox.from_extents(x - _POINT_PIXELS, y - _POINT_PIXELS, x + _POINT_PIXELS, y + _POINT_PIXELS)
                 for x, y in places]  # fmt: skip
        for asked in self._asked:
            taken.append(self._write(asked, taken))

    def _write(self, asked: tuple[float, float, str, bool], taken: list[Bbox]) -> Bbox:
        x, y, text, bold = asked
        room = self._axes.get_window_extent()
        note = self._axes.annotate(
            text, (x, y), xytext=(0, 0), textcoords="offset points", fontsize=self._size, color=self._colour,
            fontweight="bold" if bold else "normal", zorder=5, annotation_clip=False,
        )  # fmt: skip
        note.set_in_layout(False)
        tried: list[tuple[float, Bbox, tuple[float, float, str, str]]] = []
        for place in _PLACES:
            box = self._box(note, place)
            outside = 0.0 if _inside(box, room) else 1e6
            covered = outside + sum(_common(box, other) for other in taken)
            tried.append((covered, box, place))
            if not covered:
                break
        _, _, best = min(tried, key=lambda one: one[0])
        return self._box(note, best)

    def _box(self, note: Annotation, place: tuple[float, float, str, str]) -> Bbox:
        across, up, horizontal, vertical = place
        note.set_position((across, up))
        note.set_horizontalalignment(horizontal)  # type: ignore[arg-type]
        note.set_verticalalignment(vertical)  # type: ignore[arg-type]
        return note.get_window_extent()


def _inside(box: Bbox, room: Bbox) -> bool:
    return bool(box.x0 >= room.x0 and box.x1 <= room.x1 and box.y0 >= room.y0 and box.y1 <= room.y1)


def _common(one: Bbox, other: Bbox) -> float:
    across = min(one.x1, other.x1) - max(one.x0, other.x0)
    up = min(one.y1, other.y1) - max(one.y0, other.y0)
    return across * up if across > 0 and up > 0 else 0.0
