"""Lay out what tuning came to, for people and as JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from coldpress.cli.output import printable
from coldpress.cli.replay_view import CAVEATS, LOCAL, arm_object, ends_of, percent_of, with_interval

if TYPE_CHECKING:
    from coldpress.lab.tuned import Hurt, Judged, Tuned

_MOST_HURT: Final = 5
_WIDTH: Final = 88


def tuned_lines(tuned: Tuned) -> Iterator[str]:
    """Say what was chosen and why, what to expect of it, and where it would have hurt."""
    judged_on = f"{tuned.held_out_sessions:,} others, at {tuned.tariff} prices"
    yield f"Chosen on {tuned.tuning:,} recordings, judged on {judged_on}."
    if tuned.skipped:
        yield f"{len(tuned.skipped):,} files skipped; coldpress lab import says why."
    yield ""
    if tuned.is_defaults:
        yield from textwrap.wrap(f"Leave the defaults: {tuned.why}.", _WIDTH)
    else:
        yield f"Settings, as {tuned.why}:"
        yield from textwrap.indent(tuned.chosen.text.rstrip(), "  ").splitlines()
    if tuned.held_out is not None:
        yield ""
        yield from _expected(tuned.held_out)
    yield from _hurt_lines(tuned)
    yield ""
    yield from textwrap.wrap(f"{CAVEATS} {LOCAL}", _WIDTH)


def _expected(judged: Judged) -> Iterator[str]:
    found = judged.figures
    bills = f"{found.bill_usd:,.2f} of {found.control_usd:,.2f} USD"
    yield f"On the held-out recordings {judged.candidate.name} comes to {bills}:"
    yield f"  saved:               {with_interval(found.saving)} %"
    yield f"  beyond the defaults: {with_interval(judged.beyond)} %"
    yield f"  edits lost:          {with_interval(found.edit_loss, most=found.edit_loss_at_most)} %"


def _hurt_lines(tuned: Tuned) -> Iterator[str]:
    if not tuned.hurt:
        return
    yield f"Held-out recordings that it would have hurt: {len(tuned.hurt):,}"
    for one in tuned.hurt[:_MOST_HURT]:
        yield (
            f"  {printable(one.recording)}: {one.dearer_than_defaults_usd:+.4f} USD beside the defaults, "
            f"{one.edits_lost} of {one.edits} edits lost"
        )
    if len(tuned.hurt) > _MOST_HURT:
        yield f"  and {len(tuned.hurt) - _MOST_HURT:,} more; --json lists all"


def tuned_object(tuned: Tuned, out: Path) -> dict[str, object]:
    """Give everything as JSON: shares in percent, money in USD, unknown as null."""
    judged = tuned.held_out
    return {
        "written": str(out),
        "settings": tuned.chosen.text or None,
        "chosen": tuned.chosen.name,
        "why": tuned.why,
        "tariff": tuned.tariff,
        "tuning_sessions": tuned.tuning,
        "held_out_sessions": tuned.held_out_sessions,
        "skipped": [{"path": one.path, "why": one.why} for one in tuned.skipped],
        "repeated": tuned.repeated,
        "max_loss_pct": tuned.max_loss_pct,
        "seed": tuned.seed,
        "candidates": [
            {
                "name": one.candidate.name,
                "beyond_defaults_pct": percent_of(one.beyond),
                "beyond_defaults_interval_pct": ends_of(one.beyond),
                "fails": one.fails or None,
                **arm_object(one.figures),
            }
            for one in tuned.candidates
        ],
        "held_out": None if judged is None else _judged_object(judged),
        "hurt": [_hurt_object(one) for one in tuned.hurt],
        "conditions": {"simulated": CAVEATS, "local": LOCAL},
    }


def _judged_object(judged: Judged) -> dict[str, object]:
    return {
        "name": judged.candidate.name,
        "beyond_defaults_pct": percent_of(judged.beyond),
        "beyond_defaults_interval_pct": ends_of(judged.beyond),
        **arm_object(judged.figures),
        "defaults": arm_object(judged.defaults),
    }


def _hurt_object(one: Hurt) -> dict[str, object]:
    return {
        "recording": one.recording,
        "dearer_than_control_usd": one.dearer_than_control_usd,
        "dearer_than_defaults_usd": one.dearer_than_defaults_usd,
        "edits_lost": one.edits_lost,
        "edits": one.edits,
    }
