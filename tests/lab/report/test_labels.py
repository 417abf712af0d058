"""Labels of a crowd of points cover neither each other nor a point, and a far one is joined to its own."""

from __future__ import annotations

from itertools import combinations

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Annotation

from coldpress.lab.report.canvas import LIGHT
from coldpress.lab.report.labels import Labels

CROWD = tuple((6 + 0.3 * (number % 4), 0.2 * (number // 4)) for number in range(12))


def placed() -> tuple[list[Annotation], list[Annotation]]:
    """The labels of a crowd in a plot of wide axes, and the lines to those that stand far off."""
    figure = Figure(figsize=(6.4, 5.0), dpi=100)
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    axes.set(xlim=(-30, 30), ylim=(-1, 15))
    labels = Labels(axes, 10, LIGHT)
    for number, (x, y) in enumerate(CROWD, start=1):
        labels.ask(x, y, str(number), bold=True)
    figure.draw_without_rendering()
    labels.place()
    notes = [one for one in axes.texts if isinstance(one, Annotation)]
    return [one for one in notes if one.get_text()], [one for one in notes if not one.get_text()]


def test_no_label_of_a_crowd_covers_another() -> None:
    texts, _ = placed()
    boxes = {one.get_text(): one.get_window_extent() for one in texts}
    assert len(boxes) == len(CROWD)
    assert [pair for pair in combinations(boxes, 2) if boxes[pair[0]].overlaps(boxes[pair[1]])] == []


def test_far_labels_have_a_line_to_their_point() -> None:
    texts, lines = placed()
    far = [one.xy for one in texts if max(map(abs, one.get_position())) > 14]
    assert far and sorted(line.xy for line in lines) == sorted(far)


def test_the_same_points_are_labelled_alike() -> None:
    first, again = placed()[0], placed()[0]
    assert [one.get_position() for one in first] == [one.get_position() for one in again]
