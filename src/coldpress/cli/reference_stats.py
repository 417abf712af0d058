"""Generate the reference page of `/stats` and `/metrics` from the list of their numbers."""

from __future__ import annotations

from collections.abc import Sequence

from coldpress.gateway.figures import Figure
from coldpress.gateway.figures_list import SECTIONS

_TOP = """\
`/stats` answers with JSON, `/metrics` with the same numbers as text for Prometheus, both where [the gateway's own
pages](gateway.md) are. `coldpress ledger totals --json` gives the object `decisions` without a gateway.

A `*` in a name stands for any word of its kind and is a label of the metric. Metrics that end in `_total` never fall
while their source lives: those of the process begin with it, all under `decisions` with the store. *Over* says what a
sum was taken over; what is unknown is in neither. Amounts and sums of what was removed may fall, so they are gauges.
`/stats` also tells `ok` and `version` (`coldpress_build_info`); `since` is null before the first request.

Sums by mode, tool, provider and reason begin with what a store of an earlier version still held. Tools after the first
200 are summed up as `other`, and a name is cut after 100 characters.
"""


def stats_page(generated: str) -> str:
    """Give docs/reference/stats.md; `generated` says so to who would change it."""
    return "\n".join(("# Statistics", "", generated, "", _TOP, *(_section(*section) for section in SECTIONS)))


def _section(title: str, figures: Sequence[Figure]) -> str:
    head = ("| in `/stats` | metric | meaning | unit | over |", "|---|---|---|---|---|")
    return "\n".join((f"## {title}", "", *head, *map(_row, figures), ""))


def _row(figure: Figure) -> str:
    labels = f"{{{','.join(figure.labels)}}}" if figure.labels else ""
    over = " less ".join(f"`{name}`" for name in figure.over.split(" less ")) if figure.over else "-"
    return f"| `{figure.path}` | `{figure.metric}{labels}` | {figure.meaning} | {figure.unit} | {over} |"
