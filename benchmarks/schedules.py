"""Simulate when to mask aged results over recorded Claude Code sessions, and what the whole input then costs.

    python benchmarks/schedules.py FOLDER [FOLDER...] [--json] [--plot FILE.svg] [--rules]

Simulated and open-loop: recorded replies and times stay as they were, the cache is a model, nothing is sent anywhere.
Arms are the control, masking every turn, the reference gate, cold points only, coldpress's own gate and the
clairvoyant schedule, under seven tariffs and three ages of sources. `--rules` compares
forecasts and rules of waiting instead.
"""

from __future__ import annotations

import argparse
import functools
import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from importlib.metadata import version
from pathlib import Path

from coldpress.lab import arms
from coldpress.lab.importers.claude_code import read_file
from coldpress.lab.layout import MASK_TOKENS, Layout, lay_out
from coldpress.lab.schedule_report import CONTROL, Comparison, Halves, Row, by_halves, compare
from coldpress.lab.schedules import Aging, Arm
from coldpress.lab.stats import RESAMPLES, SEED
from coldpress.lab.tariffs import TARIFFS
from coldpress.measure.tokens import estimate

SOURCE_AGES: tuple[int | None, ...] = (5, 20, None)
DRAWS = 200
LIMIT = 0.03
SHARES = (0.25, 0.3, 0.4, 0.5, 0.65, 0.8)
ALIKE = ("claude-sonnet-5-5", "server without a cache")
"""Tariffs that tell rules apart no further: one has the ratios of another, one has nothing to wait for."""


def say(text: str) -> None:
    """Tell how far the work is, apart from results."""
    print(text, file=sys.stderr, flush=True)


def layouts_of(folders: Sequence[Path]) -> Iterator[Layout]:
    """Lay out every conversation of the recordings."""
    for file in (file for folder in folders for file in sorted(folder.glob("*.jsonl"))):
        count = functools.cache(estimate)
        for trajectory in read_file(file).trajectories:
            yield lay_out(trajectory, recording=file.stem, count=count)


def own_arms(layouts: Sequence[Layout]) -> dict[str, Arm]:
    """Name the arms of the main table."""
    return {
        "every turn": arms.every_turn,
        "reference gate": arms.reference_gate,
        "cold points": arms.cold_points,
        "coldpress, N = 6": arms.ours(arms.fixed(arms.REFERENCE_REQUESTS)),
        "coldpress": arms.ours(arms.survival(layouts, before_data=arms.REFERENCE_REQUESTS)),
    }


def rule_arms(layouts: Sequence[Layout]) -> dict[str, Arm]:
    """Name the rules to choose from: forecasts, alone and with rents of different sizes, and rents alone."""
    forecasts: dict[str, tuple[arms.Forecast, tuple[float | None, ...]]] = {
        "no forecast": (arms.no_limit, SHARES),
        "survival": (arms.survival(layouts, before_data=arms.REFERENCE_REQUESTS), (None, *SHARES)),
        "exact": (arms.exact, (None, 0.4)),
        "as many again": (arms.as_many_again, (0.4,)),
        **{f"N = {n}": (arms.fixed(n), (None, 0.4)) for n in (6, 20, 30, 40, 60)},
    }
    rules: dict[str, Arm] = {"cold points": arms.cold_points}
    for name, (forecast, shares) in forecasts.items():
        for share in shares:
            rent = "no rent" if share is None else f"rent {share:g}"
            rules[f"{name}, {rent}"] = arms.ours(forecast, rent_share=share)
    return rules


def compared(layouts: Sequence[Layout], rules: dict[str, Arm], names: Iterable[str]) -> Iterator[Comparison]:
    """Compare the arms under some tariffs and every aging rule."""
    for name in names:
        tariff = TARIFFS[name]()
        for age in SOURCE_AGES:
            began = time.perf_counter()
            yield compare(layouts, tariff, Aging(age), rules)
            say(f"{name}, {ages(age)}: {time.perf_counter() - began:.0f} s")


def ages(source_turns: int | None) -> str:
    """Write an aging rule."""
    return "sources exact" if source_turns is None else f"sources from {source_turns} turns"


def row_text(row: Row, found: Comparison) -> str:
    """Write an arm's figures for a person."""
    saved = "unknown" if row.saved is None else f"{row.saved.value:.2%} [{row.saved.low:.2%}, {row.saved.high:.2%}]"
    lost = f"{row.lost:>4} of {found.edits} ({row.lost / found.edits:.1%})" if found.edits else ""
    return (
        f"  {row.arm:<20} {row.cost_usd:>10.3f} {saved:>28} {row.over:>+9.2%} {row.cuts:>6} {row.cold_cuts:>6}"
        f" {row.cold_share:>8.1%}  {lost}"
    )


def table(found: Comparison) -> str:
    """Write one comparison."""
    gap = 1 - found.at_least_usd / found.row("clairvoyant").cost_usd
    head = (
        f"\n{found.tariff.name}, {ages(found.aging.source_turns)}: {found.recordings} recordings,"
        f" {found.conversations} conversations, {found.requests} requests; {found.tariff.prices.label};"
        f" lifetime {found.tariff.note}; the clairvoyant's cost is the least possible one to within {gap:.2%}\n"
        f"  {'arm':<20} {'USD':>10} {'saved':>28} {'over best':>9} {'cuts':>6} {'cold':>6} {'in cold':>8}  edits lost"
    )
    return "\n".join((head, *(row_text(row, found) for row in found.rows)))


def rules_table(found: Sequence[Comparison], rules: Sequence[str]) -> str:
    """Write how far each rule is from the clairvoyant schedule, the best rule first; `!` marks a bill above control."""
    names = "".join(f"{one.tariff.name.removeprefix('claude-')[:7]:>8}" for one in found)
    source_ages = "".join(f"{one.aging.source_turns or 'exact':>8}" for one in found)
    lines = [f"{'cost over the clairvoyant, %':<28}{names}", f"{'':<28}{source_ages}   worst    mean"]
    worst = {rule: max(one.row(rule).over for one in found) for rule in rules}
    for rule in sorted(rules, key=lambda name: worst[name]):
        cells = "".join(f"{one.row(rule).over * 100:7.2f}{above(one, rule)}" for one in found)
        mean = sum(one.row(rule).over for one in found) / len(found)
        lines.append(f"{rule:<28}{cells} {worst[rule] * 100:7.2f} {mean * 100:7.2f}")
    return "\n".join(lines)


def above(found: Comparison, rule: str) -> str:
    """Mark a bill that is more than half a percent above the control's."""
    return "!" if found.row(rule).cost_usd > 1.005 * found.row(CONTROL).cost_usd else " "


def halves_text(found: Halves) -> str:
    """Write how the choice holds on other recordings."""
    chosen = ", ".join(f"{rule}: {count}" for rule, count in found.chosen if count)
    over = "\n".join(f"  {rule:<28} {share:6.1%}" for rule, share in found.worst_of)
    return (
        f"\nchosen on one half of the recordings, judged on the other ({found.draws} draws, seed {SEED}): worst excess"
        f" {found.excess:.2%} on average; chosen: {chosen}\n"
        f"share of judged halves on which the worst of all tariffs and ages is over {LIMIT:.0%}:\n{over}"
    )


def figures(found: Comparison) -> dict[str, object]:
    """Give a comparison as JSON values."""
    rows = {
        row.arm: {
            "cost_usd": row.cost_usd,
            "saved": None if row.saved is None else [row.saved.value, row.saved.low, row.saved.high],
            "over_clairvoyant": row.over,
            "cuts": row.cuts,
            "cold_cuts": row.cold_cuts,
            "share_of_bill_in_cold": row.cold_share,
            "edits_lost": row.lost,
        }
        for row in found.rows
    }
    return {
        "tariff": found.tariff.name,
        "prices": found.tariff.prices.label,
        "lifetime": found.tariff.note,
        "source_age": found.aging.source_turns,
        "other_age": found.aging.other_turns,
        "recordings": found.recordings,
        "conversations": found.conversations,
        "requests": found.requests,
        "edits": found.edits,
        "edits_of_results": found.edits_of_results,
        "at_least_usd": found.at_least_usd,
        "arms": rows,
    }


def chart(found: Sequence[Comparison]) -> str:
    """Draw what each arm saves, one group a tariff, one panel an aging rule, as SVG."""
    shown = ("every turn", "reference gate", "cold points", "coldpress", "clairvoyant")
    colours = ("#b5533c", "#c9a227", "#7a8fa6", "#1f6f8b", "#444444")
    panels = [[one for one in found if one.aging.source_turns == age] for age in SOURCE_AGES]
    low, high, wide, tall = -0.3, 0.3, 760, 210
    parts = []
    for panel, group in enumerate(panels):
        top = 40 + panel * (tall + 50)
        middle = top + tall * high / (high - low)
        about = f"{ages(SOURCE_AGES[panel])}: saved of the input bill"
        parts.append(f'<text x="8" y="{top - 8}">{about}</text><path d="M40 {middle}H{wide}" stroke="#999"/>')
        for mark in (-0.2, 0.2):
            y = middle - mark / (high - low) * tall
            parts.append(f'<text x="4" y="{y + 4}" font-size="10">{mark:+.0%}</text>')
        for place, one in enumerate(group):
            left = 50 + place * 102
            parts.append(f'<text x="{left}" y="{top + tall + 14}" font-size="10">{escape(one.tariff.name[:18])}</text>')
            for bar, arm in enumerate(shown):
                saved = one.row(arm).saved
                value = min(max(saved.value if saved else 0.0, low), high)
                size = abs(value) / (high - low) * tall
                y = middle - size if value > 0 else middle
                parts.append(
                    f'<rect x="{left + bar * 16}" y="{y:.1f}" width="14" height="{size:.1f}" fill="{colours[bar]}"/>'
                )
    legend = "".join(
        f'<rect x="{60 + i * 130}" y="4" width="10" height="10" fill="{colours[i]}"/>'
        f'<text x="{74 + i * 130}" y="13" font-size="11">{arm}</text>'
        for i, arm in enumerate(shown)
    )
    height = 40 + len(panels) * (tall + 50)
    note = f"Simulated, open-loop; cut off at {low:+.0%} and {high:+.0%}."
    foot = f'<text x="8" y="{height + 4}" font-size="10">{note}</text>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide + 20} {height + 12}" font-family="sans-serif"'
        f' font-size="13">{legend}{"".join(parts)}{foot}</svg>\n'
    )


def options() -> argparse.Namespace:
    """Read the command line."""
    reader = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    reader.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="holds Claude Code's session files")
    reader.add_argument("--json", action="store_true", help="print one JSON object")
    reader.add_argument("--plot", type=Path, metavar="FILE", help="write the main table as a picture (SVG)")
    reader.add_argument("--rules", action="store_true", help="compare forecasts and rules of waiting instead")
    given = reader.parse_args()
    empty = [str(folder) for folder in given.folders if not any(folder.glob("*.jsonl"))]
    if empty:
        reader.error(f"no session files (*.jsonl) in {', '.join(empty)}")
    if given.rules and given.plot:
        reader.error("--plot draws the main table; leave --rules out")
    return given


def main() -> None:
    """Lay out, simulate, print."""
    given = options()
    layouts = tuple(layouts_of(given.folders))
    rules = rule_arms(layouts) if given.rules else own_arms(layouts)
    names = [name for name in TARIFFS if not (given.rules and name in ALIKE)]
    found = tuple(compared(layouts, rules, names))
    about = {
        "loop": "open; bills are simulated, input only",
        "tokens": "estimated per message, scaled so that a conversation's prompts add up to what was reported",
        "mask_tokens": MASK_TOKENS,
        "interval": f"95 %, percentile bootstrap over recordings, {RESAMPLES} resamples, seed {SEED}",
        "coldpress": version("coldpress"),
    }
    halves = None
    if given.rules:
        rent = [name for name in rules if not name.startswith("exact")]
        halves = by_halves(found, rent, limit=LIMIT, draws=DRAWS, seed=SEED)
    if given.plot:
        given.plot.write_text(chart(found), encoding="utf-8")
    if given.json:
        print(json.dumps({**about, "comparisons": [figures(one) for one in found]}, indent=1))
        return
    print("\n".join(f"{key}: {value}" for key, value in about.items()))
    print(rules_table(found, tuple(rules)) if given.rules else "\n".join(table(one) for one in found))
    if halves is not None:
        print(halves_text(halves))


if __name__ == "__main__":
    main()
