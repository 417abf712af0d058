"""View of a long log of a command that succeeded: its start, its end, and every line that warns, fails or sums up."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from coldpress.engine.reduce.reduced import size_bytes
from coldpress.engine.reduce.views.frame import View, show

BUDGET_BYTES = 4096
MAX_LINE_CHARS = 500
SEARCHED_CHARS = 300
FOLLOWING_LINES = 6
NOTABLE_SHARE = 0.6
TAIL_SHARE = 0.6
# Lines that warn come first; head and tail share what is left, the tail more, since a run's summary stands there.
_GAP_BYTES = 45  # what the count of a gap beside a notable line costs

_NOTABLE = re.compile(
    r"\b(?:warn(?:ing)?s?|err(?:or)?s?|fail(?:s|ed|ures?|ing)?|fatal|panic(?:ked)?|exception|traceback|assert(?:ion)?"
    r"|deprecat\w+|denied|refused|not found|no such|cannot|can't|could not|couldn't|unable to|invalid|missing|undefined"
    r"|unresolved|skipp(?:ed|ing)|timed? ?out|conflicts?|killed|vulnerabilit\w+)\b|[✕✗✘×⚠]",
    re.IGNORECASE,
)
_ADVICE = re.compile(
    r"\s*(?:=\s*)?(?:help|note|hint|suggestion|fix|try|tip|consider)\b ?:|\s*-->\s|\s*at .+:\d+", re.IGNORECASE
)
_SUMMARY = re.compile(
    r"\s*(?:=+ .*\d.* =+$|total\b|summary\b|ran \d|tests?:|test suites?:|test result:|result\b|found \d|finished\b"
    r"|done\b|success|build (?:succ|ok|fail)|coverage\b|collected \d|compiled\b|--- (?:fail|skip)|added \d|removed \d"
    r"|changed \d|installed\b|created\b|deployed\b|published\b|listening\b)"
    r"|.*\b\d[\d,]* (?:passed|failed|errors?|warnings?|tests?|problems?|issues?|vulnerabilities)\b",
    re.IGNORECASE,
)


def view(text: str) -> View:
    """Choose lines for about 4 KiB: warnings and summaries first, then the start and the end."""
    lines = text.removesuffix("\n").split("\n")
    chosen: set[int] = set()
    notable = tuple(notable_lines(lines))
    budget = int(BUDGET_BYTES * NOTABLE_SHARE)
    # Both ends of a long list of warnings: the first is often the cause, the last often the sum.
    half = len(notable) // 2
    spent = _take(lines, notable[half:][::-1], chosen, budget // 2, overhead=_GAP_BYTES)
    spent += _take(lines, notable[:half], chosen, budget - spent, overhead=_GAP_BYTES)
    spent += _take(lines, _what_follows(lines, notable), chosen, budget - spent)
    spent += _take(lines, range(len(lines) - 1, -1, -1), chosen, int((BUDGET_BYTES - spent) * TAIL_SHARE))
    _take(lines, range(len(lines)), chosen, BUDGET_BYTES - spent)
    shown = sum(index in chosen for index in notable)
    note = f"{shown:,} of {len(notable):,} lines that look like warnings, failures or results are among them"
    return show(lines, chosen, max_line_chars=MAX_LINE_CHARS, note=note if notable else "")


def head_and_tail(text: str, *, budget_bytes: int, head_share: float, max_line_chars: int) -> View:
    """Choose lines from the start and the end alone."""
    lines = text.removesuffix("\n").split("\n")
    chosen: set[int] = set()
    spent = _take(lines, range(len(lines)), chosen, int(budget_bytes * head_share), max_line_chars=max_line_chars)
    _take(lines, range(len(lines) - 1, -1, -1), chosen, budget_bytes - spent, max_line_chars=max_line_chars)
    return show(lines, chosen, max_line_chars=max_line_chars)


def _what_follows(lines: Sequence[str], notable: Iterable[int]) -> Iterable[int]:
    """The lines behind each notable one up to an empty line: the code it is about, the change it suggests."""
    for index in notable:
        for follower in range(index + 1, min(index + 1 + FOLLOWING_LINES, len(lines))):
            if not lines[follower].strip():
                break
            yield follower


def notable_lines(lines: Sequence[str]) -> Iterable[int]:
    """Give the indexes of lines that warn, fail, advise or sum up."""
    tests: tuple[Callable[[str], object], ...] = (_NOTABLE.search, _ADVICE.match, _SUMMARY.match)
    for index, line in enumerate(lines):
        part = line[:SEARCHED_CHARS]
        if any(test(part) for test in tests):
            yield index


def _take(
    lines: Sequence[str],
    order: Iterable[int],
    chosen: set[int],
    budget: int,
    *,
    max_line_chars: int = MAX_LINE_CHARS,
    overhead: int = 0,
) -> int:
    """Add lines in the given order while they fit, and give the bytes spent."""
    spent = 0
    for index in order:
        if index in chosen:
            continue
        size = min(size_bytes(lines[index]), max_line_chars + 60) + 1 + overhead
        if spent + size > budget:
            break
        chosen.add(index)
        spent += size
    return spent
