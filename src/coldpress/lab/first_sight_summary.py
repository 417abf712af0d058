"""Sum up what pressing at first sight did over many sessions, with intervals over the sessions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, get_args

from coldpress.lab.first_sight import Scope, SessionFigures, Views
from coldpress.lab.quotes import Quoted
from coldpress.lab.stats import SEED, Interval, most_if_none, share_interval

WRITE_TO_READ: Final = (12.5, 25.0)
"""Price of a token written to the cache over that of one read from it: five minutes and an hour, at Anthropic."""


@dataclass(frozen=True, slots=True)
class Saving:
    """Input tokens of one scope over all requests, and the share that was not sent; and of the simulated bill.

    `dropped` counts sessions that are left out since the size of their head is unknown. `bill` goes by
    `WRITE_TO_READ`.
    """

    scope: Scope
    without: float
    pressed: float
    saved: Interval | None
    bill: tuple[Interval | None, ...]
    dropped: int


@dataclass(frozen=True, slots=True)
class Loss:
    """How much of what was quoted later was gone; `most_if_none` where nothing was."""

    lost: int
    of: int
    share: Interval | None
    most_if_none: float | None


@dataclass(frozen=True, slots=True)
class Row:
    """Results of one tool in one mode, of all results of that tool; `share` is of all tokens saved re-sent."""

    tool: str
    mode: str
    results: int
    of: int
    saved_once: int
    saved_resent: int
    share: float


@dataclass(frozen=True, slots=True)
class Summary:
    """Figures over a set of sessions. Open-loop: the recorded replies were kept as they were."""

    sessions: int
    conversations: int
    requests: int
    edits: int
    edits_of_results: int
    uncounted_images: int
    savings: tuple[Saving, ...]
    rows: tuple[Row, ...]
    broken_edits: Loss
    edits_with_a_line_lost: Loss
    quoted_lines_lost: Loss

    def saving(self, scope: Scope) -> Saving:
        """Give the saving of one scope."""
        return next(saving for saving in self.savings if saving.scope == scope)


def summarise(sessions: Sequence[SessionFigures], *, seed: int = SEED) -> Summary:
    """Sum up sessions; shares are of sums over sessions, so a long session weighs what it holds."""
    quoted = sum((session.quoted for session in sessions), Quoted())
    quotes = [session.quoted for session in sessions]
    return Summary(
        sessions=len(sessions),
        conversations=sum(session.conversations for session in sessions),
        requests=sum(session.requests for session in sessions),
        edits=quoted.edits,
        edits_of_results=quoted.from_results,
        uncounted_images=sum(session.uncounted for session in sessions),
        savings=tuple(_saving(sessions, scope, seed) for scope in get_args(Scope)),
        rows=_rows(sessions),
        broken_edits=_loss([(q.broken, q.edits) for q in quotes], seed),
        edits_with_a_line_lost=_loss([(q.line_lost, q.edits) for q in quotes], seed),
        quoted_lines_lost=_loss([(q.lines_lost, q.lines) for q in quotes], seed),
    )


def _saving(sessions: Sequence[SessionFigures], scope: Scope, seed: int) -> Saving:
    known = [both for session in sessions if (both := session.tokens.both(scope)) is not None]
    bills = (
        share_interval([(w.bill(ratio) - p.bill(ratio), w.bill(ratio)) for w, p in known], seed=seed)
        for ratio in WRITE_TO_READ
    )
    return Saving(
        scope,
        without=sum(without.every for without, _ in known),
        pressed=sum(pressed.every for _, pressed in known),
        saved=share_interval([(without.every - pressed.every, without.every) for without, pressed in known], seed=seed),
        bill=tuple(bills),
        dropped=len(sessions) - len(known),
    )


def _loss(pairs: Sequence[tuple[int, int]], seed: int) -> Loss:
    lost, of = sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs)
    return Loss(lost, of, share_interval(pairs, seed=seed), None if lost else most_if_none(of))


def _rows(sessions: Sequence[SessionFigures]) -> tuple[Row, ...]:
    total, of = dict[tuple[str, str], Views](), Counter[str]()
    for session in sessions:
        of.update(session.results)
        for key, views in session.views.items():
            total[key] = total.get(key, Views()) + views
    saved = sum(views.saved_resent for views in total.values())
    rows = (
        Row(tool, mode, v.results, of[tool], v.saved_once, v.saved_resent, v.saved_resent / saved if saved else 0.0)
        for (tool, mode), v in total.items()
    )
    return tuple(sorted(rows, key=lambda row: (-row.saved_resent, row.tool, row.mode)))
