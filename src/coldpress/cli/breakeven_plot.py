"""Draw a break-even: what a cut has saved turn by turn, and how the turns depend on where it is made."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from coldpress.measure.breakeven import Course, course
from coldpress.measure.prices import Prices, Unpriced
from coldpress.model.errors import ColdpressError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Blue and orange of Okabe and Ito's palette, which people who see few colours can tell apart.
_GAIN: Final = "#0072B2"
_LOSS: Final = "#D55E00"
_INK: Final = "#333333"
_SHOWN_TURNS: Final = 60
"""Shortest axis of turns, and its length where a cut never pays."""
_SHARES: Final = tuple(10 ** (step / 20) for step in range(-40, 31))
"""R/D of the right picture: from 0.01 to about 30."""


@dataclass(frozen=True, slots=True)
class Cut:
    """What was asked, in tokens and USD."""

    rewrite_tokens: int
    removed_tokens: int
    summariser_usd: float
    long: bool


def draw(path: Path, prices: Prices, answer: Course, cut: Cut) -> None:
    """Write the picture; the file's ending says whether PNG or SVG. The same answer gives the same SVG.

    Raises:
        ColdpressError: matplotlib is not installed, or the file cannot be written.
    """
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ColdpressError(
            "--plot needs matplotlib, which is not installed; install it with: pip install 'coldpress[plot]'"
        ) from error
    # A fixed salt and no date; letters stay letters, so that the numbers in the file can be found and copied.
    with rc_context({"svg.hashsalt": "coldpress", "svg.fonttype": "none", "font.size": 10}):
        figure = Figure(figsize=(11, 4.6), layout="constrained")
        saved, where = figure.subplots(1, 2)
        _draw_saved(saved, answer)
        _draw_where(where, prices, answer, cut)
        figure.suptitle(f"{prices.model}, {prices.label}: a cut into a warm cache", color=_INK)
        metadata = {"Date": None} if path.suffix.lower() == ".svg" else None
        try:
            figure.savefig(path, dpi=150, metadata=metadata)
        except OSError as error:
            raise ColdpressError(f"{path} cannot be written: {error.strerror or error}") from error


def _draw_saved(axes: Axes, answer: Course) -> None:
    last = max(_SHOWN_TURNS, 2 * (answer.turns or 0))
    turns = list(range(last + 1))
    net = [answer.net_usd(count) for count in turns]
    axes.plot(turns, net, color=_INK, linewidth=1.5)
    axes.fill_between(turns, net, 0, where=[usd < 0 for usd in net], color=_LOSS, alpha=0.25, interpolate=True)
    axes.fill_between(turns, net, 0, where=[usd > 0 for usd in net], color=_GAIN, alpha=0.25, interpolate=True)
    axes.axhline(0, color=_INK, linewidth=0.8)
    if answer.turns is None:
        axes.set_title("it never pays")
    else:
        axes.plot([answer.turns], [answer.net_usd(answer.turns)], "o", color=_GAIN)
        plural = "" if answer.turns == 1 else "s"
        axes.set_title(f"it pays after {answer.turns:,} turn{plural}")
    axes.set_xlabel("turns after the cut, the one that rewrites included")
    axes.set_ylabel("saved so far, USD of input (below 0: lost)")
    axes.set_xlim(0, last)
    axes.grid(alpha=0.3)


def _draw_where(axes: Axes, prices: Prices, answer: Course, cut: Cut) -> None:
    points: list[tuple[float, int]] = []
    for share in _SHARES:
        found = course(
            prices,
            rewrite_tokens=round(share * cut.removed_tokens),
            removed_tokens=cut.removed_tokens,
            prompt_tokens=max(answer.prompt_tokens, round(share * cut.removed_tokens) + cut.removed_tokens),
            summariser_usd=cut.summariser_usd,
            long=cut.long,
        )
        if not isinstance(found, Unpriced) and found.turns is not None:
            points.append((share, found.turns))
    if points:
        axes.plot(*zip(*points, strict=True), color=_INK, linewidth=1.5)
    share = cut.rewrite_tokens / cut.removed_tokens
    if answer.turns is not None and share > 0:
        axes.plot([share], [answer.turns], "o", color=_GAIN)
        axes.annotate(
            f"this cut: {share:.3g}, {answer.turns:,} turns",
            (share, answer.turns),
            textcoords="offset points",
            xytext=(-8, 8),
            ha="right",
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:,g}")
    axes.set_title("the less stands behind the cut, the sooner it pays")
    axes.set_xlabel("tokens rewritten for each token removed (R/D)")
    axes.set_ylabel("turns to break even")
    axes.grid(alpha=0.3, which="both")
