"""Lay out a break-even for people, and give it as plain values under names that stay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from coldpress.cli.output import table_lines
from coldpress.cli.price_view import say_rate, tier_name, tier_object
from coldpress.cli.quote import Quote
from coldpress.measure.breakeven import (
    TAIL_REWRITE_TOKENS,
    TYPICAL_REMOVED_TOKENS,
    TYPICAL_REWRITE_TOKENS,
    Course,
    Row,
    row,
)
from coldpress.measure.prices import Rates

_HEADS = ("prompt", "in", "read", "write", "long", "out", "W/C", "C/in", "N", "N long", "N tail", "N summary")


def answer_object(found: Quote, asked: Mapping[str, object], answer: Course, picture: Path | None) -> dict[str, object]:
    """Give the answer as plain values; `turns` is null where a cut never pays."""
    return {
        "model": found.prices.model,
        "provider": found.provider,
        "prices": found.prices.label,
        **asked,
        "prompt_tokens": answer.prompt_tokens,
        "turns": answer.turns,
        "verdict": _verdict(answer),
        "once_usd": answer.once_usd,
        "saved_a_turn_usd": answer.saved_a_turn_usd,
        "rates": [{**tier_object(above, rates), **asdict(row(rates))} for above, rates in found.prices.tiers],
        "plot": str(picture) if picture else None,
    }


def answer_lines(found: Quote, answer: Course, *, long: bool) -> list[str]:
    """Say it in a sentence, with the money behind it and the model's row for comparison."""
    served = f" at {found.provider}" if found.provider else ""
    return [
        _sentence(answer, found.prices.at(answer.prompt_tokens), long=long),
        f"It costs {answer.once_usd:.6f} USD once and saves {answer.saved_a_turn_usd:.6f} USD a turn while the cache "
        "is warm.",
        f"Prices: {found.prices.model}{served}, {found.prices.label}.",
        "",
        *table_lines(
            _HEADS,
            [_cells(tier_name(above), rates, row(rates)) for above, rates in found.prices.tiers],
            right=frozenset(range(1, len(_HEADS))),
        ),
        "",
        "USD per million tokens. W is the write, C the read. N: turns to break even where "
        f"{TYPICAL_REWRITE_TOKENS:,} tokens are",
        f"rewritten and {TYPICAL_REMOVED_TOKENS:,} removed; with long writes; with {TAIL_REWRITE_TOKENS:,} rewritten; "
        "with a summary by the model itself.",
    ]


def _verdict(answer: Course) -> str:
    if answer.turns is None:
        return "never"
    return "at_once" if answer.turns == 1 else "after_turns"


def _sentence(answer: Course, rates: Rates, *, long: bool) -> str:
    write = rates.write_usd_per_mtok(long=long)
    if answer.turns is None and rates.cache_read_usd_per_mtok > 0:
        return "It never pays: a shorter prompt costs no less here."
    if answer.turns is None:
        return "It never pays: cached reads are free here, so a shorter prompt saves nothing while the cache is warm."
    if answer.turns > 1:
        return f"It pays after {answer.turns:,} turns, the one that rewrites included."
    if write is not None and write <= rates.cache_read_usd_per_mtok:
        return "It pays at once: writing costs no more than reading here, so a rewrite costs nothing extra."
    return "It pays at once, on the turn that rewrites."


def _cells(name: str, rates: Rates, found: Row) -> tuple[str, ...]:
    turns = (found.turns, found.turns_long_write, found.turns_near_tail, found.turns_with_summary)
    return (
        name,
        say_rate(rates.input_usd_per_mtok),
        say_rate(rates.cache_read_usd_per_mtok),
        say_rate(rates.cache_write_usd_per_mtok),
        say_rate(rates.cache_write_long_usd_per_mtok),
        say_rate(rates.output_usd_per_mtok),
        "-" if found.write_to_read is None else f"{found.write_to_read:.4g}",
        "-" if found.read_to_input is None else f"{found.read_to_input:.2g}",
        *("-" if count is None else f"{count:,}" for count in turns),
    )
