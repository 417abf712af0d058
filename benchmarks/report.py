"""Turn the rows of a run into markdown: python benchmarks/report.py FILE... > result.md

Numbers are medians over the rounds of a cell. *Added* is a target's time less that of the direct connection in the same
round. A number in parentheses says how many times coldpress's the number before it is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from bodies import FORMATS
from goals import goals
from results import OURS, Results, Spread, cpu, cpu_per_event_us, first_byte, p50, p99, peak, rps
from rows import Book, Case, Cell

Read = Callable[[Cell], float]
NOTHING = "–"


def table(head: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    """Write a markdown table; the first column is text, the others are numbers."""
    rule = ["---", *("---:" for _ in head[1:])]
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, rule, *body)) + "\n"


def number(value: float | None) -> str:
    """Write a number with three figures that count."""
    if value is None:
        return NOTHING
    for digits, least in ((0, 100), (1, 10), (2, 1)):
        if abs(value) >= least:
            return f"{value:.{digits}f}"
    return f"{value:.3f}"


def _ranged(spread: Spread | None) -> str:
    if spread is None:
        return NOTHING
    return number(spread.middle) + (f" [{number(spread.low)}, {number(spread.high)}]" if spread.rounds > 1 else "")


def opening(run: Results) -> Iterator[str]:
    for made in run.setups:
        versions = ", ".join(f"{name} {version}" for name, version in made.software.items())
        yield f"Measured {made.date} on {made.machine}, which also ran the load generator and the upstream.\n\n"
        yield f"{versions}.\n\nOptions: {made.options}.\n\n"
    yield " ".join((__doc__ or "").split("\n\n")[1].split()) + "\n\n"


def goal_table(run: Results) -> str:
    rows = []
    for goal in goals(run):
        bounds = [
            f"{'≤' if goal.kind == 'at most' else '≥'} {bound:g} {goal.unit}" for bound in (goal.must, goal.reach)
        ]
        measured = f"{number(goal.measured)} {goal.unit}" if goal.measured is not None else NOTHING
        rows.append([goal.what, *bounds, measured, goal.verdict + (f" ({goal.beside})" if goal.beside else "")])
    return "## Goals\n\n" + table(["", "must", "reach", "measured", "verdict"], rows)


def headline(run: Results) -> Iterator[str]:
    """One connection, JSON, warm: added p50 with the range over the rounds."""
    for fmt in FORMATS:
        cases = [c for c in run.cases if c == Case(fmt, c.size, "json", "warm", 1)]
        if not cases:
            continue
        yield f"\n## Added p50 in ms [least, greatest round]: {fmt}, JSON, known conversation, one connection\n\n"
        yield table(
            ["", *(case.size for case in cases)],
            [[t, *(_ranged(run.added(case, t, p50)) for case in cases)] for t in run.targets if t != "direct"],
        )


def matrix(run: Results) -> Iterator[str]:
    """All cases with an upstream that answers at once, a group for each format, mode and turn."""
    groups: dict[tuple[str, str, str], list[Case]] = {}
    for case in run.cases:
        if case.world == "instant":
            groups.setdefault((case.format, case.mode, case.turn), []).append(case)
    columns: list[tuple[str, Read, bool]] = [
        ("added p50, ms", p50, True),
        ("added p99, ms", p99, True),
        ("requests a second", rps, False),
        ("CPU a request, ms", cpu, False),
        ("peak memory, MB", peak, False),
    ]
    for (fmt, mode, turn), cases in groups.items():
        yield f"\n## {fmt}, {mode}, {turn} turn\n"
        for title, read, added in columns:
            yield f"\n{title}\n\n"
            head = ["", *(f"{case.size} c={case.connections}" for case in cases)]
            yield table(head, _matrix_rows(run, cases, read, added=added))


def _matrix_rows(run: Results, cases: list[Case], read: Read, *, added: bool) -> Iterator[list[str]]:
    for target in run.targets:
        less_direct = added and target != "direct"
        row = ["direct (not added)" if added and not less_direct else target]
        for case in cases:
            spread = (run.added if less_direct else run.value)(case, target, read)
            ratio = None if target in ("direct", OURS) else run.ratio(case, target, read, added=added)
            times = f" ({number(ratio)}x)" if ratio is not None else ""
            row.append(number(spread.middle if spread else None) + times)
        yield row


def worlds(run: Results) -> Iterator[str]:
    """Provider-shaped and paced runs."""
    late = [case for case in run.cases if case.world == "provider"]
    if late:
        yield "\n## Provider-shaped: 100 ms to the first byte, 4 KiB, JSON\n\nadded p50, ms / CPU a request, ms\n\n"
        head = ["", *(f"c={case.connections}" for case in late)]
        yield table(head, [[t, *(_pair(run, c, t) for c in late)] for t in run.targets])
    for case in (case for case in run.cases if case.world == "paced"):
        yield f"\n## Events 1 ms apart: {case.format}, c={case.connections}\n\n"
        head = ["", "first byte added, ms", "CPU an event, us", "event delay p50, ms", "p99", "worst", "events"]
        rows = []
        for target in run.targets:
            reads: list[Read] = [lambda c: c.load.delay50, lambda c: c.load.delay99, lambda c: c.load.delay_max]
            delays = [run.value(case, target, read) for read in reads]
            events = run.value(case, target, lambda c: c.load.events)
            first = run.added(case, target, first_byte)
            all_of_it = [first, run.value(case, target, cpu_per_event_us), *delays, events]
            rows.append([target, *(number(s.middle if s else None) for s in all_of_it)])
        yield table(head, rows)


def _pair(run: Results, case: Case, target: str) -> str:
    time, spent = run.added(case, target, p50), run.value(case, target, cpu)
    return f"{number(time.middle if time else None)} / {number(spent.middle if spent else None)}"


def conversations(run: Results) -> Iterator[str]:
    """What each target forwards of a known conversation, and how it got to know it."""
    if not run.primed:
        return
    yield "\n## What is forwarded of a known conversation\n\n"
    head = ["", "turns sent before", "sent, bytes", "forwarded, bytes", "share", ""]
    yield table(
        head,
        [
            [
                f"{row.target}, {row.format} {row.size}",
                f"{row.requests} of {row.turns}" if row.requests else NOTHING,
                f"{row.sent_bytes}",
                f"{row.forwarded_bytes}",
                f"{100 * row.forwarded_bytes / row.sent_bytes:.1f} %",
                "byte for byte" if row.exact else "changed",
            ]
            for row in run.primed
        ],
    )


def weighed(run: Results) -> Iterator[str]:
    """How many requests the gate was asked on, and what it said."""
    for row in run.weighed:
        asked = sum(row.applied.values()) + sum(row.declined.values())
        reasons = ", ".join(f"{name} {count}" for name, count in sorted((row.applied | row.declined).items()))
        yield f"\n## Aged results, {row.target}\n\n"
        yield f"Considered on {asked} of {row.requests} requests: {reasons or 'none'}. {row.texts} became smaller.\n"


def growth(run: Results) -> Iterator[str]:
    bands = sorted({row.up_to_bytes for row in run.growth})
    for marks in sorted({row.marks for row in run.growth}):
        held = {(row.target, row.up_to_bytes): row for row in run.growth if row.marks == marks}
        what = "the last user message" if marks == 1 else f"the last {marks} user messages"
        yield f"\n## A conversation grown turn by turn, cache marks on {what}: p50 of a turn, ms (p90)\n\n"
        rows = []
        for target in dict.fromkeys(target for target, _ in held):
            found = [held.get((target, band)) for band in bands]
            rows.append([target, *(f"{number(row.p50)} ({number(row.p90)})" if row else NOTHING for row in found)])
        yield table(["", *(f"to {band / 1048576:g} MiB" for band in bands)], rows)


def stalls(run: Results) -> Iterator[str]:
    if not run.stalls:
        return
    yield "\n## A small GET every 2 ms beside a load: waits in ms\n\n"
    head = ["", "p50", "p99", "p99.9", "longest", "ready without a CPU, % of the time"]
    yield table(
        head,
        [
            [
                f"{row.target}, {row.load or 'no load'}",
                *(number(ms) for ms in (row.p50, row.p99, row.p999, row.max)),
                f"{100 * row.cpu_wait_share:.1f}",
            ]
            for row in run.stalls
        ],
    )


def starts(run: Results) -> Iterator[str]:
    if not run.started:
        return
    yield "\n## Start and rest\n\n"
    rows = []
    for target in dict.fromkeys(row.target for row in run.started):
        own = [row for row in run.started if row.target == target]
        rows.append([target, _ranged(Spread.of(r.seconds for r in own)), _ranged(Spread.of(r.idle_mb for r in own))])
    yield table(["", "ready after, s", "idle memory, MB"], rows)


def left_out(run: Results) -> Iterator[str]:
    """Cells that were not run or did not go well."""
    errors = [(c, t, why) for c in run.cases for t in run.targets if (why := run.first_error(c, t))]
    if run.skipped:
        yield "\n## Not run\n\n"
        yield "".join(f"- {row.target}, {_say(row.case)}: {row.why}\n" for row in run.skipped)
    if errors:
        yield "\n## Errors\n\n" + "".join(f"- {target}, {_say(case)}: {why}\n" for case, target, why in errors)


def _say(case: Case) -> str:
    return f"{case.format} {case.size} {case.mode} {case.turn} c={case.connections} {case.world}"


def main() -> None:
    run = Results(row for name in sys.argv[1:] for row in Book(Path(name)).rows())
    parts = [
        opening,
        lambda r: [goal_table(r)],
        headline,
        conversations,
        weighed,
        worlds,
        growth,
        stalls,
        starts,
        matrix,
        left_out,
    ]
    sys.stdout.writelines(text for part in parts for text in part(run))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: report.py FILE...")
    main()
