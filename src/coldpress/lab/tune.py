"""Choose settings from one's own history: on one half of the recordings, judged on the other.

What is chosen saves the most of all candidates that surely (95 %) save something, surely save more than the defaults,
and whose edits surely lose no more of their texts than is allowed. It is then replayed on recordings that had no part
in choosing it; where these do not confirm it, the defaults stay. Simulated, open-loop, of input alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from coldpress.lab.families import find_families
from coldpress.lab.paired import ratio_interval
from coldpress.lab.results import Bill
from coldpress.lab.stats import Interval
from coldpress.lab.summary import ArmFigures, figures
from coldpress.lab.tune_grid import DEFAULTS, Candidate, first_round, second_round
from coldpress.lab.tune_split import Halves, Known, halves
from coldpress.lab.tune_text import settings_text
from coldpress.lab.tune_work import Measure, Spread, Work
from coldpress.lab.tuned import Hurt, Judged, Tried, Tuned
from coldpress.model.errors import FiguresError

MAX_LOSS_PCT: Final = 1.0

FEWEST_HELD_OUT: Final = 8
"""With eight recordings that all say the same, chance would agree in one of 128 cases (sign test, two sides)."""

_SAME_USD: Final = 1e-9
"""Differences below this are of adding up, not of money."""


def tune(
    recordings: Sequence[Path],
    tariff: str,
    *,
    measure: Measure,
    max_loss_pct: float = MAX_LOSS_PCT,
    seed: int,
    progress: Callable[[int, int], None] | None = None,
    spread: Spread | None = None,
) -> Tuned:
    """Choose settings from recordings, and judge them on others.

    Args:
        recordings: files.
        tariff: to choose at.
        measure: replays one of them.
        max_loss_pct: the most edits that may lose the text they quote, in percent of those that quote an earlier
            result; the upper end of the 95 % interval counts.
        seed: of the division in halves and of the intervals.
        progress: is told after every recording how many are done, and of how many at most; recordings that are replayed
            again with other settings count again.
        spread: does the work; one recording after the other without it. What it is given can be pickled where
            `measure` can.

    Raises:
        FiguresError: `max_loss_pct` is no share in percent.
    """
    if not 0 <= max_loss_pct <= 100:
        raise FiguresError(f"max_loss_pct is {max_loss_pct}; use 0 to 100")
    work = Work(tariff, measure, len(recordings), progress=progress, spread=spread)
    known = work.begin(recordings)
    parts = halves(known, find_families([one.path for one in known]).together, seed=seed)
    tried = _try(work, parts.tuning, max_loss_pct=max_loss_pct, seed=seed)
    best = _best(tried)
    judged = _judge(work, parts.held_out, best.candidate if best else DEFAULTS, seed=seed)
    fails = _unconfirmed(judged, max_loss_pct) if best else _nothing_passed(tried, parts)
    work.end()
    found = Tuned(
        settings_text="",
        chosen=best.candidate if best and not fails else DEFAULTS,
        why=fails or "it saves the most of all that may be chosen, and the held-out recordings confirm it",
        candidates=tried,
        held_out=judged,
        hurt=() if judged is None else _hurt(work, parts.held_out, judged.candidate),
        tuning=len(parts.tuning),
        held_out_sessions=len(parts.held_out),
        skipped=tuple(work.skipped),
        repeated=len(known) - len(parts.tuning) - len(parts.held_out),
        tariff=tariff,
        max_loss_pct=max_loss_pct,
        seed=seed,
    )
    return replace(found, settings_text=settings_text(found))


def _try(work: Work, tuning: Sequence[Known], *, max_loss_pct: float, seed: int) -> tuple[Tried, ...]:
    """Replay the candidates of both rounds; nothing where there is no recording to do it on."""
    if not tuning:
        return ()
    first = first_round()
    work.replay(tuning, first)
    tried = _tried(work, tuning, (DEFAULTS, *first), max_loss_pct=max_loss_pct, seed=seed)
    best = _best(tried)
    start = best.candidate if best else DEFAULTS
    second = second_round(start, work.bills(start, tuning))
    work.replay(tuning, second)
    return (*tried, *_tried(work, tuning, (DEFAULTS, *second), max_loss_pct=max_loss_pct, seed=seed)[1:])


def _tried(
    work: Work, tuning: Sequence[Known], candidates: Sequence[Candidate], *, max_loss_pct: float, seed: int
) -> tuple[Tried, ...]:
    """Judge candidates, the defaults being the first."""
    rows = _figures(work, tuning, candidates, seed=seed)
    found = []
    for candidate in candidates:
        row = rows.get(candidate)
        if row is None:
            continue
        beyond = None if candidate == DEFAULTS else _beyond(work, tuning, candidate, seed=seed)
        fails = "" if candidate == DEFAULTS else _fails(row, beyond, row.edit_loss_at_most, max_loss_pct)
        found.append(Tried(candidate, row, beyond, fails))
    return tuple(found)


def _figures(
    work: Work, part: Sequence[Known], candidates: Sequence[Candidate], *, seed: int
) -> dict[Candidate, ArmFigures]:
    rows = figures([bill for one in candidates for bill in work.bills(one, part)], seed=seed)
    by_name = {row.arm: row for row in rows}
    return {one: by_name[one.name] for one in candidates if one.name in by_name}


def _beyond(work: Work, part: Sequence[Known], candidate: Candidate, *, seed: int) -> Interval | None:
    """Give what a candidate saves beyond the defaults, pair by pair, as a share of the control's bill."""
    pairs = _pairs(work, part, candidate)
    saved = [default.bill_usd - mine.bill_usd for mine, default in pairs]
    return ratio_interval(saved, [mine.control_usd for mine, _ in pairs], seed=seed)


def _pairs(work: Work, part: Sequence[Known], candidate: Candidate) -> list[tuple[Bill, Bill]]:
    defaults = {bill.content: bill for bill in work.bills(DEFAULTS, part)}
    return [(bill, defaults[bill.content]) for bill in work.bills(candidate, part)]


def _fails(row: ArmFigures, beyond: Interval | None, loss: float | None, max_loss_pct: float) -> str:
    """Say why settings may not be chosen; empty where they may.

    Args:
        row: their figures.
        beyond: what they save beyond the defaults.
        loss: share of edits that they are taken to lose; `None` where there was no edit to look at.
        max_loss_pct: the most that is allowed, in percent.
    """
    if row.saving is None or row.saving.low <= 0:
        return "it may save nothing"
    if beyond is None or beyond.low <= 0:
        return "it may save no more than the defaults"
    if loss is None:
        return "there is no edit of an earlier result to judge its loss by"
    if 100 * loss > max_loss_pct:
        if not row.edits_lost:
            return f"none of {row.edits} edits lost its text, which is too few to rule out {100 * loss:.2f} %"
        return f"{100 * loss:.2f} % of edits may lose the text they quote"
    return ""


def _best(tried: Sequence[Tried]) -> Tried | None:
    """Find what saves the most of what may be chosen, the mildest of equals."""
    fitting = [one for one in tried if one.candidate != DEFAULTS and not one.fails]
    return max(fitting, key=lambda one: one.figures.saving.value if one.figures.saving else 0.0, default=None)


def _judge(work: Work, held_out: Sequence[Known], candidate: Candidate, *, seed: int) -> Judged | None:
    """Replay a candidate on the recordings that it was not chosen on; `None` where there are none."""
    if candidate != DEFAULTS:
        work.replay(held_out, (candidate,))
    rows = _figures(work, held_out, tuple(dict.fromkeys((DEFAULTS, candidate))), seed=seed)
    if candidate not in rows:
        return None
    beyond = None if candidate == DEFAULTS else _beyond(work, held_out, candidate, seed=seed)
    return Judged(candidate, rows[candidate], rows[DEFAULTS], beyond)


def _unconfirmed(judged: Judged | None, max_loss_pct: float) -> str:
    """Say why the held-out recordings do not confirm a choice; empty where they do.

    The same is asked of it as where it was chosen, but for the loss: half of a history rarely has the edits to bound it
    twice, so here the share that was lost counts, and its upper end is told.
    """
    count = 0 if judged is None else judged.figures.sessions
    if judged is None or count < FEWEST_HELD_OUT:
        return _too_few(count)
    loss = judged.figures.edit_loss
    fails = _fails(judged.figures, judged.beyond, loss.value if loss else None, max_loss_pct)
    return f"{judged.candidate.name} looked best, but on the held-out recordings {fails}" if fails else ""


def _nothing_passed(tried: Sequence[Tried], parts: Halves) -> str:
    if len(parts.held_out) < FEWEST_HELD_OUT:
        return _too_few(len(parts.held_out))
    return f"none of {len(tried) - 1} other settings may be chosen; the table of candidates says why of each"


def _hurt(work: Work, held_out: Sequence[Known], candidate: Candidate) -> tuple[Hurt, ...]:
    """Find who would have paid more than without coldpress or with its defaults, or lost an edit's text."""
    found = []
    for mine, default in _pairs(work, held_out, candidate):
        more, beyond = mine.bill_usd - mine.control_usd, mine.bill_usd - default.bill_usd
        if max(more, beyond) > _SAME_USD or mine.edits_lost:
            edits = mine.edits_of_results
            found.append(Hurt(mine.recording, mine.content, more, beyond, mine.edits_lost, edits))
    found.sort(key=lambda one: (-max(one.dearer_than_control_usd, one.dearer_than_defaults_usd), one.content))
    return tuple(found)


def _too_few(count: int) -> str:
    many = "1 recording" if count == 1 else f"{count:,} recordings"
    return f"{many} to judge a choice on say too little; it takes {FEWEST_HELD_OUT}"
