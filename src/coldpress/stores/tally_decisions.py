"""Turn single decisions into numbers to add, and added numbers into totals: by mode and tool, summaries, plugins."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Final

from coldpress.model.errors import StoreError
from coldpress.model.plugins import PluginNote
from coldpress.model.records import Capture, Cut, Line, Offloaded, Reason, Receipt
from coldpress.stores.amounts import Bucket, Views
from coldpress.stores.sums import MOST_TOKENS, MOST_USD, NANO, Sums, amount_of, words
from coldpress.stores.totals_decisions import (
    CaptureTotals,
    Eligible,
    OffloadTotals,
    PluginTotals,
    Removed,
    ToolTotals,
)

FIRST_VIEWS: Final[frozenset[Reason]] = frozenset({"pressed", "plugin", "redacted"})
"""Reasons of new views of results that no model had seen."""
LATER_VIEWS: Final[frozenset[Reason]] = frozenset({"aged", "exposed"})
"""Reasons of new views of results that a model had seen."""
LATER: Final[frozenset[Reason]] = LATER_VIEWS | {"restored", "redacted"}
"""Reasons that are told beside what was decided when a result was first seen."""
ELIGIBLE: Final[frozenset[Reason]] = (FIRST_VIEWS - LATER) | frozenset(
    {"observe", "drain", "gain_too_small", "no_match", "not_exposed"}
)
"""Reasons of results that a rule or a plugin allows to become smaller, pressed or not."""

MOST_TOOLS: Final = 200
"""Names of tools come from clients, and sums are kept for ever: what comes after so many is summed up as `other`."""
OTHER: Final = "other"
MOST_CHARACTERS = 100
_MOST_SECONDS = 1e6
_MICRO = 1_000_000
_VIEW_FIELDS = tuple(row.name for row in fields(Views))
_LEADS: Final[Mapping[str, str]] = {"tool": "tool.lines", "capture": "capture.calls"}
"""Families of sums by tool, and the sum that each tool of them has."""


def views_of_lines(lines: Iterable[Line]) -> Views:
    """Sum up lines as views."""
    total = Views()
    for line in lines:
        counted = line.tokens_before is not None and line.tokens_after is not None
        total += Views(
            1,
            line.bytes_before,
            line.bytes_after,
            (line.tokens_before or 0) if counted else 0,
            (line.tokens_after or 0) if counted else 0,
            int(not counted),
        )
    return total


def decision_sums(receipt: Receipt) -> dict[str, int]:
    """What the lines, the cut, the plugins and the summaries of a receipt add to the sums, zeros among it."""
    sums: Counter[str] = Counter()
    sums[f"provider:{receipt.provider}"] = 1
    for line in receipt.lines:
        sums.update(_line_sums(line))
    if receipt.cut is not None:
        sums.update(_cut_sums(receipt.cut))
    if receipt.removed_tokens is not None and receipt.prompt_tokens is not None:
        sums.update(
            {
                "removed.tokens": receipt.removed_tokens,
                "removed.prompt_tokens": receipt.prompt_tokens,
                "removed.requests": 1,
            }
        )
    sums.update(plugin_sums(receipt.plugins))
    if receipt.offload is not None:
        sums.update(_offload_sums(receipt.offload))
    return dict(sums)


def _line_sums(line: Line) -> dict[str, int]:
    tool, eligible = line.tool[:MOST_CHARACTERS], line.reason in ELIGIBLE
    first = line.reason not in LATER
    sums = {f"reason:{line.reason}": 1, f"tool.lines:{tool}": 1, f"tool.looked_at:{tool}": int(first)}
    sums |= {"looked_at": int(first), "eligible": int(eligible), f"tool.eligible:{tool}": int(eligible)}
    if line.reason in FIRST_VIEWS | LATER_VIEWS:
        views = views_of_lines([line])
        for name in _VIEW_FIELDS:
            sums[f"tool.{name}:{tool}"] = sums[f"mode.{name}:{line.mode}"] = getattr(views, name)
    return sums


def _cut_sums(cut: Cut) -> dict[str, int]:
    return {"candidates": cut.candidates, "cuts": 1}


def plugin_sums(notes: Iterable[PluginNote]) -> dict[str, int]:
    """What the runs of plugins add to the sums, zeros among it."""
    sums: Counter[str] = Counter()
    for note in notes:
        name = note.plugin
        sums[f"plugin.runs:{name}"] += 1
        sums[f"plugin.edits:{name}"] += note.edits
        sums[f"plugin.microseconds:{name}"] += round(note.seconds * _MICRO)
        if note.fault is not None:
            sums[f"plugin_fault:{name}:{note.fault}"] += 1
    return sums


def _offload_sums(asked: Offloaded) -> dict[str, int]:
    sums = Counter(
        {
            "offload.requests": 1,
            "offload.wanted": asked.wanted,
            "offload.calls": asked.calls,
            "offload.reused": asked.reused,
        }
    )
    sums.update(f"offload_refused:{reason}" for reason in asked.refused)
    if asked.why:
        sums[f"offload_why:{asked.why}"] = 1
    if not asked.calls:
        return dict(sums)
    for name, tokens in (("input", asked.input_tokens), ("output", asked.output_tokens)):
        if tokens is not None:
            sums.update({f"offload.{name}.tokens": tokens, f"offload.{name}.replies": 1})
    if asked.usd is None:
        sums["offload_cost.unpriced"] = 1
    else:
        sums.update({"offload_cost.nano_usd": round(asked.usd * NANO), "offload_cost.replies": 1})
    return dict(sums)


def capture_sums(captures: Iterable[Capture]) -> dict[str, int]:
    """What the calls of a reply add to the sums."""
    sums: Counter[str] = Counter()
    for capture in captures:
        tool = capture.tool[:MOST_CHARACTERS]
        sums.update([f"capture.calls:{tool}", f"capture.{capture.why}:{tool}"])
        if capture.restored:
            sums[f"capture.restored:{tool}"] += 1
    return dict(sums)


def bounded(sums: Mapping[str, int], known: Callable[[str], Iterable[str]]) -> Mapping[str, int]:
    """Sum tools up as `other` that come after the first 200.

    Args:
        sums: to add, by name.
        known: gives the names of all sums so far that begin like this.
    """
    if not any(name.partition(".")[0] in _LEADS for name in sums):
        return sums
    tools: dict[str, set[str]] = {}
    added: Counter[str] = Counter()
    for name, value in sums.items():
        head, _, tool = name.partition(":")
        family = head.partition(".")[0]
        if family in _LEADS:
            if family not in tools:
                beginning = f"{_LEADS[family]}:"
                tools[family] = {other.removeprefix(beginning) for other in known(beginning)}
            seen = tools[family]
            if tool not in seen and len(seen) >= MOST_TOOLS:
                tool = OTHER
            seen.add(tool)
            added[f"{head}:{tool}"] += value
        else:
            added[name] += value
    return added


def check_decisions(receipt: Receipt) -> None:
    """Refuse numbers that could not be read back, and that would spoil sums.

    Raises:
        StoreError: a time is not finite, or a count or an amount is absurd.
    """
    where = f"receipt of {receipt.request_id}"
    check_plugins(receipt.plugins, where)
    asked = receipt.offload
    if asked is None:
        return
    counts = (asked.wanted, asked.calls, asked.reused, asked.input_tokens or 0, asked.output_tokens or 0)
    if not all(0 <= count < MOST_TOKENS for count in counts):
        raise StoreError(f"{where}: offload counts {counts}, which no request can hold")
    if asked.usd is not None and not (math.isfinite(asked.usd) and abs(asked.usd) < MOST_USD):
        raise StoreError(f"{where}: offload.usd is {asked.usd}, which no request can cost; give None where unknown")


def check_plugins(notes: Iterable[PluginNote], where: str) -> None:
    """Refuse notes that no run of a hook can give; `where` names what holds them.

    Raises:
        StoreError: a time is not finite, or one or a count is absurd.
    """
    for note in notes:
        if not (0 <= note.seconds < _MOST_SECONDS and 0 <= note.edits < MOST_TOKENS):
            raise StoreError(f"{where}: plugin {note.plugin} took {note.seconds} s for {note.edits} edits: no hook can")


def views_of(sums: Sums, name: str) -> Views:
    """The views of one name."""
    return Views(*(sums.get(f"{name}.{row}", 0) for row in _VIEW_FIELDS))


def views_by(sums: Sums, family: str) -> tuple[tuple[str, Views], ...]:
    """Views by what they are split by, in the order of its words."""
    return tuple((word, _views_at(sums, family, word)) for word, _ in words(sums, f"{family}.count"))


def _views_at(sums: Sums, family: str, word: str) -> Views:
    return Views(*(sums.get(f"{family}.{row}:{word}", 0) for row in _VIEW_FIELDS))


def tool_totals(sums: Sums) -> tuple[tuple[str, ToolTotals], ...]:
    """What was decided on each tool's results, by name."""
    return tuple(
        (
            tool,
            ToolTotals(
                sums.get(f"tool.looked_at:{tool}", 0),
                sums.get(f"tool.eligible:{tool}", 0),
                _views_at(sums, "tool", tool),
            ),
        )
        for tool, _ in words(sums, "tool.lines")
    )


def eligible_totals(sums: Sums) -> Eligible:
    """How many results could have become smaller."""
    return Eligible(*(sums.get(row.name if row.name != "results" else "eligible", 0) for row in fields(Eligible)))


def removed_totals(sums: Sums) -> Removed:
    """What all edits took out."""
    return Removed(*(sums.get(f"removed.{row.name}", 0) for row in fields(Removed)))


def offload_totals(sums: Sums) -> OffloadTotals:
    """What was asked of a model about single results."""
    return OffloadTotals(
        requests=sums.get("offload.requests", 0),
        wanted=sums.get("offload.wanted", 0),
        calls=sums.get("offload.calls", 0),
        reused=sums.get("offload.reused", 0),
        refused=words(sums, "offload_refused"),
        input_tokens=_bucket(sums, "offload.input"),
        output_tokens=_bucket(sums, "offload.output"),
        cost=amount_of(sums, "offload_cost"),
        came_of=words(sums, "offload_why"),
    )


def _bucket(sums: Sums, name: str) -> Bucket:
    return Bucket(sums.get(f"{name}.tokens", 0), sums.get(f"{name}.replies", 0))


def capture_totals(sums: Sums) -> tuple[tuple[str, CaptureTotals], ...]:
    """What became of the calls of each tool that was asked to say what they are for."""
    return tuple(
        (tool, CaptureTotals(*(sums.get(f"capture.{row.name}:{tool}", 0) for row in fields(CaptureTotals))))
        for tool, _ in words(sums, "capture.calls")
    )


def plugin_totals(sums: Sums) -> tuple[tuple[str, PluginTotals], ...]:
    """What each plugin did, by name."""
    return tuple(
        (
            name,
            PluginTotals(
                runs,
                sums.get(f"plugin.microseconds:{name}", 0) / _MICRO,
                sums.get(f"plugin.edits:{name}", 0),
                words(sums, f"plugin_fault:{name}"),
            ),
        )
        for name, runs in words(sums, "plugin.runs")
    )
