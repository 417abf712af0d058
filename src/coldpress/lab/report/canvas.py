"""Draw a figure twice, for light and dark pages, into PNG bytes that are the same whenever the figure is."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final

import numpy as np
from matplotlib import rc_context
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font
from PIL import Image

from coldpress.lab.report.wording import plain

DPI: Final = 150
WIDTH: Final = 6.4
"""Of a figure in inches: letters of 11 points are still read where a phone shrinks it to its screen."""

COLOURS: Final = 192
"""Of one picture's palette."""

MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
DASHES: Final = ("-", "--", "-.", ":")
_NAME_LONGEST: Final = 40


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours of one kind of page.

    Attributes:
        paper, ink, faint: background, letters and lines, what stays behind.
        hues: told apart with any colour vision (Okabe and Ito), lightened on dark paper; markers and dashes tell the
            same.
        colormap: of maps, name in matplotlib.
    """

    paper: str
    ink: str
    faint: str
    hues: tuple[str, ...]
    colormap: str

    def hue(self, number: int) -> str:
        """Colour of an arm by its number, from 1."""
        return self.hues[(number - 1) % len(self.hues)]


LIGHT: Final = Theme(
    "#ffffff", "#1c2024", "#a9b0b7", ("#0072b2", "#d55e00", "#007a5a", "#b1508a", "#a86f00", "#3a8fc2"), "YlGnBu"
)
DARK: Final = Theme(
    "#16191d", "#e6e9ec", "#5f6870", ("#5db1ea", "#ff9650", "#3ccf9f", "#eda0cb", "#f0b840", "#a5dcff"), "YlGnBu"
)


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure as it stands in a report.

    Attributes:
        name: of its file, without an ending.
        alt: what it shows, with the main numbers, for those who do not see it.
        caption: how to read it.
        light, dark: PNG bytes.
        width, height: in pixels of a page.
    """

    name: str
    alt: str
    caption: str
    light: bytes = field(repr=False)
    dark: bytes = field(repr=False)
    width: int
    height: int


def picture(
    name: str, draw: Callable[[Figure, Theme], None], *, height: float, alt: str, caption: str, width: float = WIDTH
) -> Picture:
    """Draw a figure for both kinds of pages; width and height are in inches."""
    light, dark = (_png(draw, theme, width, height) for theme in (LIGHT, DARK))
    return Picture(name, alt, caption, light, dark, round(96 * width), round(96 * height))


def _png(draw: Callable[[Figure, Theme], None], theme: Theme, width: float, height: float) -> bytes:
    ink = theme.ink
    # Names of others hold dollars and underscores that are no formulas.
    with rc_context(
        {
            "text.color": ink,
            "axes.labelcolor": ink,
            "axes.edgecolor": ink,
            "xtick.color": ink,
            "ytick.color": ink,
            "axes.facecolor": theme.paper,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.titlesize": 11,
            "axes.labelsize": 11,
            "font.size": 11,
            "font.family": ["DejaVu Sans"],
            "hatch.linewidth": 0.6,
            "text.parse_math": False,
        }
    ):
        figure = Figure(figsize=(width, height), dpi=DPI, facecolor=theme.paper, layout="constrained")
        draw(figure, theme)
        canvas = FigureCanvasAgg(figure)
        canvas.draw()  # type: ignore[no-untyped-call]
        drawn = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")  # type: ignore[no-untyped-call]
    held = io.BytesIO()
    # Few colours are drawn: a palette makes the page a third as large. No text is put in, so no version or date.
    drawn.quantize(COLOURS).save(held, "png", optimize=True, dpi=(DPI, DPI))
    return held.getvalue()


def settle(figure: Figure) -> None:
    """Lay a figure out for good, so that what is drawn can be compared in pixels."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")


def label(name: str, longest: int = _NAME_LONGEST) -> str:
    """Make a name of others' ready to be drawn: short, and of letters that the font has."""
    known = _letters()
    drawn = "".join(letter if ord(letter) in known else "□" for letter in plain(name, longest))
    # A label that begins with a low line is kept out of legends.
    return f" {drawn}" if drawn.startswith("_") else drawn


@cache
def _letters() -> frozenset[int]:
    return frozenset(get_font(findfont(FontProperties(family="DejaVu Sans"))).get_charmap())


def grid(axes: Axes, theme: Theme) -> None:
    """Draw faint lines behind everything."""
    axes.grid(color=theme.faint, alpha=0.35, linewidth=0.6)
    axes.set_axisbelow(True)


def legend_below(figure: Figure, handles: Iterable[Artist], labels: Sequence[str], *, columns: int = 2) -> None:
    """Put a legend under a figure."""
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False, fontsize=8.5)
