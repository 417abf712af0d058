"""Say in sentences what came of a comparison: the best arms, what is dearer, the least possible, other tariffs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from coldpress.lab.report.conditions import TariffAbout
from coldpress.lab.report.facts import Facts
from coldpress.lab.report.wording import at_most, count, listed, many, pct, pct_range, plain, usd
from coldpress.lab.summary import ArmFigures

SMALL: Final = 0.005
"""Share of edits lost up to which an arm is said to lose next to nothing."""

_NAME_LONGEST: Final = 40


def outcome(facts: Facts) -> tuple[str, ...]:
    """Say what came of it, the main tariff first; one entry for each thing to know."""
    rows = facts.main_figures
    if not rows or facts.main is None:
        return ("No recording could be replayed, so there are no figures.",)
    judged = _of_role(facts, rows, "arm")
    unknowing = _unknowing(facts, rows)
    said = [
        f"Sending everything unchanged (the control) comes to {usd(rows[0].control_usd)} USD of input at "
        f"{plain(facts.main.label)}.",
        *_best(facts, unknowing),
        *_informed(facts, judged),
        *_not_cheaper(judged),
        *_knowing(_of_role(facts, rows, "clairvoyant")),
        *_elsewhere(facts),
    ]
    return tuple(said)


def edits_words(row: ArmFigures) -> str:
    """Say how many edits an arm lost, with the interval or the most that it could be."""
    if not row.edits_lost:
        return f"none of {many(row.edits, 'edit')} ({at_most(row.edit_loss_at_most)})"
    return f"{count(row.edits_lost)} of {many(row.edits, 'edit')} ({pct_range(row.edit_loss)} %)"


def _of_role(facts: Facts, rows: Iterable[ArmFigures], role: str) -> list[ArmFigures]:
    return [row for row in rows if facts.arm(row.arm).role == role]


def _unknowing(facts: Facts, rows: Iterable[ArmFigures]) -> list[ArmFigures]:
    """Give the priced arms that know nothing of the future, the largest saving first."""
    priced = [
        row for row in _of_role(facts, rows, "arm") if row.saving is not None and not facts.arm(row.arm).knows_longest
    ]
    return sorted(priced, key=_saved, reverse=True)


def _best(facts: Facts, ranked: Sequence[ArmFigures]) -> list[str]:
    if not ranked:
        return []
    best = ranked[0]
    safe = [row for row in ranked if _is_safe(row)]
    said = [f"Of the arms that do not know the future, {_leads(facts, best)}"]
    if best.edits and safe and safe[0] is best:
        said[0] += f" No arm that loses at most {pct(SMALL)} % of the edits saves more."
    elif safe:
        said.append(f"Among those of them that lose at most {pct(SMALL)} % of the edits, {_leads(facts, safe[0])}")
    return said


def _leads(facts: Facts, row: ArmFigures) -> str:
    gone = f", loses {edits_words(row)}" if row.edits else ""
    return (
        f"{_name(row)} saves most: {_saving(row)}. It is cheaper in {count(row.cheaper)} of "
        f"{many(row.sessions, 'recording')}{gone}{_beyond(facts, row)}."
    )


def _beyond(facts: Facts, row: ArmFigures) -> str:
    if row.regret is None or facts.arm(row.arm).has_budget:
        return ""
    regret = row.regret.value
    side = "above" if regret >= 0 else "below"
    own = facts.arm(row.arm).has_own_least
    whose = "the clairvoyant one of its own rules" if own else "that of the cheapest clairvoyant arm, of other rules"
    return f"; its bill without refetches is {pct(abs(regret))} % {side} {whose}"


def _saving(row: ArmFigures) -> str:
    return f"{pct_range(row.saving)} %{', which shows no difference' if _is_unclear(row) else ''}"


def _informed(facts: Facts, judged: Sequence[ArmFigures]) -> list[str]:
    names = tuple(_name(row) for row in judged if facts.arm(row.arm).knows_longest)
    if not names:
        return []
    return [
        f"Not counted there: {listed(names)}. The window of such an arm is set by each recording's own longest prompt, "
        "so it knows that much of the future."
    ]


def _not_cheaper(judged: Sequence[ArmFigures]) -> list[str]:
    said = []
    dearer = tuple(f"{_name(row)} by {pct(-_saved(row))} %" for row in judged if row.saving and row.saving.high < 0)
    if dearer:
        said.append(f"Dearer than the control: {listed(dearer)}.")
    unclear = tuple(f"{_name(row)} (saves {pct_range(row.saving)} %)" for row in judged if _is_unclear(row))
    if unclear:
        said.append(f"No difference from the control is shown for {listed(unclear)}.")
    return said


def _knowing(rows: Sequence[ArmFigures]) -> list[str]:
    if not rows:
        return []
    names = tuple(
        f"{pct_range(row.saving)} % with the candidates of {_name(row)}"
        + (f", losing {edits_words(row)}" if row.edits else "")
        for row in rows
    )
    return [
        f"Schedules that knew the whole run would have saved {listed(names)}. They do not weigh refetches, so where "
        "bills with refetches are ranked a clairvoyant arm can be dearer than another."
    ]


def _elsewhere(facts: Facts) -> list[str]:
    others = [tariff for tariff in facts.conditions.tariffs if tariff is not facts.main]
    found = [_best_at(facts, tariff) for tariff in others]
    if not others:
        return []
    return [
        "At the other tariffs, of the arms that do not know the future and lose at most "
        f"{pct(SMALL)} % of the edits, most is saved at {'; '.join(found)}."
    ]


def _best_at(facts: Facts, tariff: TariffAbout) -> str:
    safe = [row for row in _unknowing(facts, facts.figures[tariff.name]) if _is_safe(row)]
    return f"{plain(tariff.label)}: {f'{_name(safe[0])}, {_saving(safe[0])}' if safe else 'none'}"


def _is_safe(row: ArmFigures) -> bool:
    return row.edits_lost <= SMALL * row.edits


def _is_unclear(row: ArmFigures) -> bool:
    return row.saving is not None and row.saving.low <= 0 <= row.saving.high


def _saved(row: ArmFigures) -> float:
    return row.saving.value if row.saving else 0.0


def _name(row: ArmFigures) -> str:
    return plain(row.arm, _NAME_LONGEST)
