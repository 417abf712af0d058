"""Say in sentences what was compared, on what, how sure, what is simulated and what was lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from coldpress.lab.report.conditions import RECORDED, TariffAbout
from coldpress.lab.report.facts import Facts
from coldpress.lab.report.outcome import edits_words
from coldpress.lab.report.wording import at_most, count, listed, many, millions, pct, plain, usd
from coldpress.lab.summary import RESAMPLES, SEED, ArmFigures

ACON: Final = (0.26, 0.54)
"""Share off the peak tokens: Kang et al., ACON (arXiv 2510.00615, abstract), on AppWorld, OfficeBench and
multi-objective question answering."""


@dataclass(frozen=True, slots=True)
class Said:
    """A word or question, and what is said to it."""

    head: str
    text: str


def head(facts: Facts) -> tuple[Said, ...]:
    """Answer what a reader asks first."""
    return (
        Said("What was compared", _compared(facts)),
        Said("On what", _on_what(facts)),
        Said("At which prices", _prices(facts)),
        Said("How sure", _how_sure(facts)),
        Said("What is simulated", _simulated(facts)),
        Said("What was lost", _lost(facts)),
    )


def peak(facts: Facts) -> str:
    """Set peak tokens beside a published figure."""
    found = [(facts.arm(row.arm), row.peak_saving) for row in facts.main_figures]
    judged = [(arm, share) for arm, share in found if arm.role == "arm" and share is not None]
    low, high = (round(100 * share) for share in ACON)
    said = (
        f"For peak tokens, the longest prompt of a run, the ACON paper (arXiv 2510.00615) reports {low} to {high} % "
        "less, from live runs of other agents on other tasks (AppWorld, OfficeBench, questions with several parts), "
        "whose histories and observations a language model rewrote. Here nothing was run anew"
    )
    if not judged:
        return f"{said}. No arm was measured here."
    best = max(judged, key=lambda one: one[1])
    least = min(judged, key=lambda one: one[1])
    return (
        f"{said}: the arms measured here take {pct(least[1])} ({plain(least[0].name, 40)}) to {pct(best[1])} % "
        f"({plain(best[0].name, 40)}) off the peak, on average over recordings. The two are not comparable."
    )


def caveats(facts: Facts) -> tuple[str, ...]:
    """Say what the figures cannot tell."""
    said = [
        "Nobody's agent was run. Whether one does as well with a smaller prompt, takes more turns or fewer, or fetches "
        "again what was hidden, these figures cannot tell: the recorded replies stay as they were.",
        "An edit counts as lost where the text it quotes stood in an earlier result and in nothing that was sent; an "
        "agent would often read the file again, which costs a request. That cost is an estimate, in the bill.",
        "Bills are of input alone. Output is the same for all arms here; in a live run it need not be.",
        "The cache is simulated by the provider's documented rules: lifetimes, marks and shortest lengths. What else "
        "a provider does, and who else shares a cache, is left out.",
        "Tokens are estimated from texts and fitted to what the recordings report where they report it. Where a "
        "recording holds no system prompt, a filler of the reported size stands in.",
        "Intervals say how much the figures would move with other recordings of the same sort. Other agents, other "
        "projects or other models are no such recordings.",
    ]
    if facts.sizes.recordings < 10:
        said.append(
            f"With {many(facts.sizes.recordings, 'recording')} an interval by resampling is too narrow; the true "
            "one is wider."
        )
    dropped = max((row.dropped for rows in facts.figures.values() for row in rows), default=0)
    if dropped:
        said.append(
            f"Up to {many(dropped, 'recording')} had no bill for some arm or tariff, and are missing from its figures; "
            "figures.json counts them for each row."
        )
    return tuple(said)


def _compared(facts: Facts) -> str:
    judged = [arm for arm in facts.judged if arm.role == "arm"]
    knowing = [arm for arm in facts.judged if arm.role == "clairvoyant"]
    against = "the control, which sends every request as the client wrote it"
    clairvoyant = (
        f"; beside them {many(len(knowing), 'clairvoyant arm')}, which choose the cheapest moment knowing the whole run"
        if knowing
        else "; no clairvoyant arm was measured, so the least that was possible is unknown"
    )
    return (
        f"{many(len(judged), 'way')} to make an agent's prompts smaller (arms) with {against}{clairvoyant}. All of "
        f"them went through the same program that coldpress's gateway runs, version {facts.conditions.version}."
    )


def _on_what(facts: Facts) -> str:
    sizes = facts.sizes
    kinds = tuple(f"{count(number)} of {plain(kind)}" for kind, number in sizes.kinds)
    if not sizes.recordings:
        return f"On nothing: {many(len(facts.conditions.skipped), 'file')} could not be replayed."
    dates = f" They are from {plain(facts.conditions.dates)}." if facts.conditions.dates else ""
    skipped = facts.conditions.skipped
    left = f" Not replayed: {many(len(skipped), 'file')}, listed below." if skipped else ""
    return (
        f"{many(sizes.recordings, 'recorded run')} of agents ({listed(kinds)}) from {many(sizes.tasks, 'folder')}: "
        f"{many(sizes.requests, 'request')} in {many(sizes.conversations, 'conversation')}, "
        f"{millions(sizes.prompt_tokens)} prompt tokens as the clients wrote them.{dates}{left}"
    )


def _prices(facts: Facts) -> str:
    if facts.main is None:
        return "None."
    others = len(facts.conditions.tariffs) - 1
    more = f" {many(others, 'other tariff')} follow{'s' if others == 1 else ''} in short form." if others else ""
    return (
        f"{_tariff_words(facts.main)}{more} A tariff is a price table together with how long a cached prefix is held."
    )


def _tariff_words(tariff: TariffAbout) -> str:
    return f"In full at {plain(tariff.label)} ({plain(tariff.prices_label)}; cache held: {plain(tariff.lifetime, 90)})."


def _how_sure(facts: Facts) -> str:
    return (
        "Figures in brackets are 95 % intervals: percentile bootstrap over recordings, each drawn whole with both of "
        f"its bills, {count(RESAMPLES)} resamples, seed {SEED}, over {many(facts.sizes.recordings, 'recording')}. "
        "Where no loss was found, “at most” (or “under”) is the largest rate that would still show none once in "
        "twenty times, uses taken as independent."
    )


def _simulated(facts: Facts) -> str:
    said = (
        "The cache and the prices: no provider was asked. The comparison is open-loop: recorded replies stay as they "
        "were, whatever an arm took away. Bills are of input alone, and what fetching a hidden result again would cost "
        "is an estimate."
    )
    paid = facts.paid
    if paid is None:
        return f"{said} What was really paid is unknown: no recording reports usage of a model with a known price."
    real = (
        f"{count(paid.recordings)} of {many(facts.sizes.recordings, 'recording')} report their usage; at their own "
        f"models' list prices that input cost {usd(paid.usd)} USD"
    )
    if paid.simulated_usd is None:
        return (
            f"{said} {real}. The simulation was not run at those prices here, so how near it comes is not shown "
            f"(sweep with --prices {RECORDED})."
        )
    side = "above" if paid.simulated_usd >= paid.usd else "below"
    off = f", {pct(abs(paid.simulated_usd / paid.usd - 1))} % {side}" if paid.usd else ""
    return f"{said} {real}; the simulated control of the same recordings comes to {usd(paid.simulated_usd)} USD{off}."


def _lost(facts: Facts) -> str:
    rows = [row for row in facts.main_figures if facts.arm(row.arm).role == "arm"]
    edits = max((row.edits for row in rows), default=0)
    if not rows:
        return "Nothing was measured."
    if not edits:
        return "Unknown for edits: the recordings hold no edit that quotes an earlier result." + _refetched(rows)
    worst = max(rows, key=lambda row: row.edits_lost)
    none = [row for row in rows if not row.edits_lost]
    said = f"Of {count(edits)} edits that quote an earlier result, "
    if not worst.edits_lost:
        return f"{said}no arm lost one ({at_most(worst.edit_loss_at_most)}).{_refetched(rows)}"
    said += f"{plain(worst.arm, 40)} would have hidden the text of most: {edits_words(worst)}"
    if none:
        said += f"; {listed(tuple(plain(row.arm, 40) for row in none))} of none"
    return f"{said}.{_refetched(rows)}"


def _refetched(rows: Sequence[ArmFigures]) -> str:
    most = max(rows, key=lambda row: row.refetches)
    if not most.refetches:
        return " No hidden result would have had to be fetched again."
    return (
        f" Of all arms but the clairvoyant ones, {plain(most.arm, 40)} would have had to fetch the largest number of "
        f"hidden results again: {count(most.refetches)}, for an estimated {usd(most.refetch_usd)} USD that its bill "
        "holds."
    )
