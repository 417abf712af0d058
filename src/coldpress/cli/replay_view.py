"""Lay out what `coldpress replay` found, for people and as JSON."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import click

from coldpress import __version__
from coldpress.cli.lab_options import RECORDED, percent
from coldpress.cli.output import UNKNOWN, print_table, printable, say_count
from coldpress.cli.replay_suggestion import BUDGET, RULE, Suggestion
from coldpress.cli.replay_told import Told
from coldpress.cli.replay_verdict import verdict_lines

if TYPE_CHECKING:
    from coldpress.lab.results import Skipped
    from coldpress.lab.stats import Interval
    from coldpress.lab.summary import ArmFigures

HEADS: Final = (
    "arm",
    "bill USD",
    "saved %",
    "cheaper in",
    "edits lost %",
    "names lost %",
    "over least %",
    "peak %",
)
RIGHT: Final = frozenset({1, 3, 7})
SPARE: Final = ("peak %", "cheaper in", "names lost %", "over least %")

_MOST_REASONS: Final = 3
_WIDTH: Final = 88

_READING: Final = (
    "saved: of the control's bill, 95 % interval beside it. edits lost: edits that quote an earlier result whose text "
    "is gone; names lost: likewise uses of its identifiers. over least: without refetches, above the oracle of the "
    "same rules where one was replayed, else above the cheapest oracle, which had other results to choose from. An "
    "oracle plans with the whole run known, but over a simpler cache, so a bill can lie a little below it; arms with a "
    "budget have none (-). peak: how much shorter the longest prompt is, on average."
)
CAVEATS: Final = (
    "Simulated, open-loop, input alone: recorded replies and times stay as they were, output is not billed, and what "
    "an agent would do differently is not known. Caches are simulated by the providers' rules."
)
LOCAL: Final = "Nothing left this machine: no network and no key were used, and the recordings were only read."


def head_lines(told: Told, *, verbose: bool) -> Iterator[str]:
    """Say what was replayed, what was paid for it, and how near the simulation comes."""
    if told.interrupted:
        yield f"Stopped early: {told.done:,} of {told.of:,} files were done. What follows is of these alone."
    yield f"{_many(told.sessions, 'recording')}, {_many(told.requests, 'request')}."
    yield from skipped_lines(told, verbose=verbose)
    yield from _paid_lines(told)


def skipped_lines(told: Told, *, verbose: bool) -> Iterator[str]:
    """Count what was skipped and say why: the commonest reasons with one file each, or every file."""
    if not told.skipped:
        return
    yield f"{_many(len(told.skipped), 'file')} skipped:"
    if verbose:
        yield from (f"  {_why(one)}" for one in told.skipped)
        return
    first: dict[str, Skipped] = {}
    for one in told.skipped:
        first.setdefault(one.why, one)
    counts = Counter(one.why for one in told.skipped)
    for why, count in counts.most_common(_MOST_REASONS):
        more = f" (and {count - 1:,} more for this)" if count > 1 else ""
        yield f"  {_why(first[why])}{more}"
    rest = len(told.skipped) - sum(count for _, count in counts.most_common(_MOST_REASONS))
    if rest or len(counts) < len(told.skipped):
        yield "  --verbose lists all"


def _why(one: Skipped) -> str:
    return f"{printable(one.path)}: {printable(one.why)}"


def _paid_lines(told: Told) -> Iterator[str]:
    paid = told.paid
    if paid.usd is None:
        yield "Paid: unknown; no recording reports its usage with a model whose price is known."
        return
    of = "" if paid.sessions == told.sessions else f" ({paid.sessions:,} of {told.sessions:,} recordings)"
    yield f"Paid: {_usd(paid.usd)} USD for input, by the usage reported, at list prices{of}."
    if paid.error is None:
        lacks = (
            "none of these was replayed at its own prices" if RECORDED in told.tariffs else f"needs --prices {RECORDED}"
        )
        yield f"How near the simulation comes to that is unknown: {lacks}."
        return
    word = "above" if paid.error > 0 else "below"
    same = "the same"
    if paid.compared < paid.sessions:
        same = f"{paid.compared:,} of these {paid.sessions:,}, which were {_usd(paid.compared_usd)} USD"
    yield f"The simulated control comes to {_usd(paid.simulated_usd)} USD for {same}: {abs(paid.error):.1%} {word} it."


def print_tables(told: Told) -> None:
    """Print a table for each tariff on stdout."""
    for tariff in told.tariffs:
        click.echo(f"\n{title(told, tariff)}")
        print_table(HEADS, table_rows(told, tariff), right=RIGHT, spare=SPARE)


def table_rows(told: Told, tariff: str) -> list[tuple[str, ...]]:
    """Give the rows of one tariff's table, under `HEADS`."""
    return [_row(one, has_least=not told.has_budget(one.arm)) for one in told.at(tariff)]


def _row(one: ArmFigures, *, has_least: bool) -> tuple[str, ...]:
    if one.arm == "control":
        return (one.arm, _usd(one.bill_usd), "-", "-", "-", "-", with_interval(one.regret), "-")
    return (
        one.arm,
        _usd(one.bill_usd),
        with_interval(one.saving),
        f"{one.cheaper}/{one.sessions}",
        with_interval(one.edit_loss, most=one.edit_loss_at_most),
        with_interval(one.identifier_loss, most=one.identifier_loss_at_most),
        with_interval(one.regret) if has_least else "-",
        UNKNOWN if one.peak_saving is None else _tenths(one.peak_saving),
    )


def title(told: Told, tariff: str) -> str:
    """Say what a tariff's prices are, and on how many recordings its table rests where these are not all."""
    what = f"At the prices and cache lifetimes of {tariff}"
    if tariff == RECORDED:
        what = "At each recording's own prices (list prices of its main model on the day that it ended)"
    fewest, most = _least_and_most(told, tariff)
    if fewest == told.sessions:
        return f"{what}:"
    count = f"{fewest:,}" if fewest == most else f"{fewest:,} to {most:,}"
    return f"{what}, {count} of {_many(told.sessions, 'recording')}:"


def _least_and_most(told: Told, tariff: str) -> tuple[int, int]:
    """Count the recordings that the arms of a tariff rest on: of the arm with the fewest, and of that with the most."""
    counts = [one.sessions for one in told.at(tariff)] or [0]
    return min(counts), max(counts)


def end_lines(told: Told) -> Iterator[str]:
    """Say which setting to try, how to read the tables, and what they do not say."""
    for line in verdict_lines(told):
        yield from _wrapped(line)
    yield ""
    yield from suggestion_lines(told.suggestion)
    yield ""
    yield from _wrapped(_READING)
    yield from _wrapped(CAVEATS)
    yield from _wrapped(LOCAL)


def suggestion_lines(found: Suggestion) -> Iterator[str]:
    """Say which setting to try, on how many recordings that rests, and by what rule it was chosen."""
    rests = f"At {found.tariff} prices; rests on {_many(found.sessions, 'recording')}"
    if found.arm is None:
        yield from _wrapped(f"To try: leave the defaults. {_sentence(found.why)}")
    else:
        yield "To try, in coldpress.toml:"
        yield from textwrap.indent(found.settings, "  ").splitlines()
        yield _sentence(found.why)
        most = UNKNOWN if found.edit_loss_most is None else f"{found.edit_loss_most:.1%}"
        rests += f" and {_many(found.edits or 0, 'edit')}, of which at most {most} lose their text"
    compared = f"{_many(found.candidates, 'setting')} compared (k), {found.fewest:,} recordings needed"
    yield from _wrapped(f"{rests}; {compared}. Rule: {RULE}.")
    yield from _wrapped(f"{BUDGET}.")


def told_object(told: Told) -> dict[str, object]:
    """Give everything as JSON: shares in percent, money in USD, unknown as null."""
    paid, suggestion = told.paid, told.suggestion
    return {
        "sessions": told.sessions,
        "requests": told.requests,
        "skipped": [{"path": one.path, "why": one.why} for one in told.skipped],
        "interrupted": told.interrupted,
        "files_done": told.done,
        "files": told.of,
        "paid_usd": paid.usd,
        "paid_sessions": paid.sessions,
        "simulated_usd": paid.simulated_usd,
        "simulated_sessions": paid.compared,
        "paid_of_simulated_usd": paid.compared_usd,
        "calibration_error_pct": percent(paid.error),
        "tariffs": {name: _tariff_object(told, name) for name in told.tariffs},
        "suggestion": {
            "arm": suggestion.arm,
            "settings": suggestion.settings or None,
            "tariff": suggestion.tariff,
            "sessions": suggestion.sessions,
            "candidates": suggestion.candidates,
            "fewest_sessions": suggestion.fewest,
            "interval_level_pct": percent(suggestion.level),
            "edits": suggestion.edits,
            "edit_loss_most_pct": percent(suggestion.edit_loss_most),
            "beyond_defaults_pct": percent_of(suggestion.better_by),
            "beyond_defaults_interval_pct": ends_of(suggestion.better_by),
            "why": suggestion.why,
            "rule": RULE,
        },
        "conditions": {
            "coldpress": __version__,
            "simulated": CAVEATS,
            "budget": f"{BUDGET}.",
            "local": LOCAL,
            "arms": {arm.name: {"about": arm.about, "digest": arm.digest} for arm in told.arms},
            **_seeds(),
        },
    }


def _tariff_object(told: Told, tariff: str) -> dict[str, object]:
    return {
        "title": title(told, tariff).removesuffix(":"),
        "sessions": _least_and_most(told, tariff)[0],
        "of_sessions": told.sessions,
        "arms": {one.arm: arm_object(one) for one in told.at(tariff)},
    }


def _seeds() -> dict[str, object]:
    from coldpress.lab.summary import RESAMPLES, SEED

    return {"interval": "percentile bootstrap over recordings, 95 %", "resamples": RESAMPLES, "seed": SEED}


def arm_object(one: ArmFigures) -> dict[str, object]:
    """Give the figures of an arm as JSON: shares in percent, money in USD, unknown as null."""
    return {
        "sessions": one.sessions,
        "requests": one.requests,
        "bill_usd": one.bill_usd,
        "control_usd": one.control_usd,
        "saving_pct": percent_of(one.saving),
        "interval_pct": ends_of(one.saving),
        "median_saving_usd": one.median_saving.value if one.median_saving else None,
        "mean_saving_usd": one.mean_saving.value if one.mean_saving else None,
        "cheaper_in": one.cheaper,
        "dearer_in": one.dearer,
        "equal_in": one.equal,
        "dropped": one.dropped,
        "evidence_loss_pct": percent_of(one.edit_loss),
        "evidence_loss_interval_pct": ends_of(one.edit_loss),
        "evidence_loss_most_pct": percent(one.edit_loss_at_most),
        "edits": one.edits,
        "edits_lost": one.edits_lost,
        "identifier_loss_pct": percent_of(one.identifier_loss),
        "identifier_loss_interval_pct": ends_of(one.identifier_loss),
        "identifier_loss_most_pct": percent(one.identifier_loss_at_most),
        "identifiers": one.identifiers,
        "identifiers_lost": one.identifiers_lost,
        "refetches": one.refetches,
        "refetch_usd": one.refetch_usd,
        "regret_pct": percent_of(one.regret),
        "regret_interval_pct": ends_of(one.regret),
        "prompt_saving_pct": percent(one.prompt_saving),
        "peak_saving_pct": percent(one.peak_saving),
        "cuts": one.cuts,
        "cold_cuts": one.cold_cuts,
        "compactions": one.compactions,
    }


def percent_of(interval: Interval | None) -> float | None:
    """Give a share's value in percent."""
    return percent(interval.value) if interval else None


def ends_of(interval: Interval | None) -> list[float | None] | None:
    """Give the ends of a share's interval in percent; one recording has none."""
    return [percent(interval.low), percent(interval.high)] if interval and not interval.is_single else None


def with_interval(interval: Interval | None, *, most: float | None = None) -> str:
    """Write a share in percent with its ends; `most` is the upper end where resampling has found nothing.

    One recording has no interval: it stands without.
    """
    if interval is None:
        return UNKNOWN
    if interval.is_single:
        return f"{_tenths(interval.value):>5}"
    high = interval.high if most is None else max(most, interval.high)
    return f"{_tenths(interval.value):>5} [{_tenths(interval.low)}, {_tenths(high)}]"


def _tenths(share: float) -> str:
    """Write a share in percent with one decimal; what rounds to nothing has no sign."""
    return f"{100 * share:z.1f}"


def _usd(amount: float | None) -> str:
    return UNKNOWN if amount is None else f"{amount:,.2f}" if amount >= 10 else f"{amount:.4f}"


def _many(count: int, what: str) -> str:
    return f"{say_count(count)} {what}" if count == 1 else f"{say_count(count)} {what}s"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _wrapped(text: str) -> Sequence[str]:
    return textwrap.wrap(text, _WIDTH)
