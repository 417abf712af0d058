"""Write the figures of a report for programs: everything as JSON, and one CSV row for each arm and tariff."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Final

from coldpress.lab.report.facts import Facts, Group
from coldpress.lab.report.lost import Lost
from coldpress.lab.report.payback import EXAMPLE, maps_of
from coldpress.lab.report.peers import Peers
from coldpress.lab.report.wording import Range
from coldpress.lab.summary import RESAMPLES, SEED, ArmFigures

LEVEL_PCT: Final = 95
DIGITS: Final = 6
"""Decimals of a percentage."""

Value = str | int | float | bool | None
Tree = Value | Mapping[str, "Tree"] | Sequence["Tree"]


def as_json(facts: Facts) -> str:
    """Give all figures; keys say their units, `null` is unknown, and an interval is its two ends."""
    sizes, conditions = facts.sizes, facts.conditions
    tree: dict[str, Tree] = {
        "conditions": {
            "coldpress_version": conditions.version,
            "simulated": True,
            "open_loop": True,
            "input_alone": True,
            "interval_level_pct": LEVEL_PCT,
            "interval_method": "percentile bootstrap over recordings",
            "resamples": RESAMPLES,
            "seed": SEED,
            "recorded_dates": conditions.dates or None,
            "recordings": sizes.recordings,
            "conversations": sizes.conversations,
            "requests": sizes.requests,
            "control_prompt_tokens": sizes.prompt_tokens,
            "recordings_by_kind": dict(sizes.kinds),
            "tasks": sizes.tasks,
            "main_tariff": facts.main.name if facts.main else None,
            "paid": _paid(facts),
        },
        "arms": [
            {"number": arm.number, "name": arm.name, "role": arm.role, "about": arm.about, "settings": arm.settings}
            for arm in conditions.arms
        ],
        "tariffs": [
            {"name": one.name, "prices": one.prices_label, "lifetime": one.lifetime, "write_to_read": one.write_to_read}
            for one in conditions.tariffs
        ],
        "figures": [row_of(row) for rows in facts.figures.values() for row in rows],
        "by_task": [_group(group) for group in facts.tasks],
        "by_kind": [_group(group) for group in facts.kinds],
        "lost_by_age": _lost(facts.losses.ages, "age_turns"),
        "lost_by_tool": _lost(facts.losses.tools, "tool"),
        "cost_by_request": [
            {"arm": one.arm, "cumulated_usd": list(one.usd), "control_cumulated_usd": list(one.control_usd)}
            for one in facts.curves
        ],
        "payback": [
            {"tariff": tariff.name, "removed_pct": 100 * EXAMPLE[0], "behind_pct": 100 * EXAMPLE[1], "requests": found}
            for tariff, found in maps_of(facts)
        ],
        "cache_timeline": _timeline(facts),
        "others": _peers(facts.peers),
        "skipped": [{"path": one.path, "why": one.why} for one in conditions.skipped],
    }
    return json.dumps(tree, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def as_csv(facts: Facts) -> str:
    """Give one row for each tariff and arm, with the keys of the JSON's `figures`; unknown is an empty cell."""
    rows = [row_of(row) for found in facts.figures.values() for row in found]
    held = io.StringIO()
    if rows:
        writer = csv.DictWriter(held, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return held.getvalue()


def row_of(row: ArmFigures) -> dict[str, Value]:
    """Give the figures of one arm at one tariff, flat."""
    return {
        "tariff": row.tariff,
        "arm": row.arm,
        "recordings": row.sessions,
        "recordings_dropped": row.dropped,
        "requests": row.requests,
        "bill_usd": row.bill_usd,
        "control_usd": row.control_usd,
        **_range_pct("saved", row.saving),
        **_range_usd("median_saved", row.median_saving),
        **_range_usd("mean_saved", row.mean_saving),
        "cheaper_recordings": row.cheaper,
        "dearer_recordings": row.dearer,
        "equal_recordings": row.equal,
        "edits_written": row.edits_written,
        "edits_of_results": row.edits,
        "edits_lost": row.edits_lost,
        **_range_pct("edits_lost", row.edit_loss),
        "edits_lost_at_most_pct": _pct(row.edit_loss_at_most),
        "identifiers": row.identifiers,
        "identifiers_lost": row.identifiers_lost,
        **_range_pct("identifiers_lost", row.identifier_loss),
        "identifiers_lost_at_most_pct": _pct(row.identifier_loss_at_most),
        "refetches": row.refetches,
        "refetch_usd": row.refetch_usd,
        **_range_pct("regret", row.regret),
        "regret_recordings": row.regret.sessions if row.regret else None,
        "prompt_tokens_saved_pct": _pct(row.prompt_saving),
        "peak_tokens_saved_pct": _pct(row.peak_saving),
        "cuts": row.cuts,
        "cold_cuts": row.cold_cuts,
        "compactions": row.compactions,
    }


def _range_pct(name: str, found: Range | None) -> dict[str, Value]:
    ends = (None, None, None) if found is None else (found.value, found.low, found.high)
    return {f"{name}{end}_pct": _pct(share) for end, share in zip(("", "_low", "_high"), ends, strict=True)}


def _range_usd(name: str, found: Range | None) -> dict[str, Value]:
    ends = (None, None, None) if found is None else (found.value, found.low, found.high)
    return {f"{name}{end}_usd": amount for end, amount in zip(("", "_low", "_high"), ends, strict=True)}


def _pct(share: float | None) -> float | None:
    return None if share is None else round(100 * share, DIGITS)


def _paid(facts: Facts) -> Tree:
    paid = facts.paid
    if paid is None:
        return None
    return {"recordings": paid.recordings, "usd": paid.usd, "simulated_usd": paid.simulated_usd}


def _group(group: Group) -> Tree:
    return {
        "name": group.name,
        "recordings": group.recordings,
        "requests": group.requests,
        "control_usd": group.control_usd,
        "figures": [row_of(row) for row in group.figures],
    }


def _lost(held: Mapping[tuple[str, str], Lost], what: str) -> list[Tree]:
    return [
        {
            what: place,
            "arm": arm,
            "edits": one.edits,
            "edits_lost": one.edits_lost,
            "identifiers": one.identifiers,
            "identifiers_lost": one.identifiers_lost,
            "refetches": one.refetches,
        }
        for (place, arm), one in held.items()
    ]


def _timeline(facts: Facts) -> Tree:
    shown = facts.timeline
    if shown is None:
        return None
    return {
        "recording": shown.recording,
        "arm": shown.arm,
        "requests": [
            {
                "number": turn.number,
                "read_tokens": turn.read_tokens,
                "written_tokens": turn.written_tokens,
                "fresh_tokens": turn.fresh_tokens,
                "removed_tokens": turn.removed_tokens,
                "usd": turn.usd,
                "control_usd": turn.control_usd,
                "cold": turn.cold,
                "cut": turn.cut,
            }
            for turn in shown.turns
        ],
    }


def _peers(peers: Peers | None) -> Tree:
    if peers is None:
        return None
    labels = [one.label for one in peers.conditions]
    return {
        "source": peers.source,
        "peers": [
            {
                "name": one.label,
                "saved_pct": {label: _pct(share) for label, share in zip(labels, one.saved, strict=True)},
                "edits_lost_pct": _pct(one.edits_lost),
                "note": one.note,
            }
            for one in peers.peers
        ],
    }
