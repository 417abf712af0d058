"""Sum replays in artificial windows up over recordings, and write them as tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from coldpress.lab.compaction import Played
from coldpress.lab.evidence import Evidence
from coldpress.lab.stats import SEED, Interval, share_interval


@dataclass(frozen=True, slots=True)
class Case:
    """One recording played; `tariff` names its prices, `share` is the window's share of the recording's peak.

    `share` is `None` where there was no window.
    """

    tariff: str
    share: float | None
    played: Played


@dataclass(frozen=True, slots=True)
class Group:
    """All recordings at one tariff, one window and with one arm. Shares come with intervals over recordings."""

    tariff: str
    share: float | None
    arm: str
    played: tuple[Played, ...]

    @property
    def saved(self) -> Interval | None:
        """Share of the control's input bill that is saved; below 0 where more is paid."""
        return self._share((one.control_usd - one.ours_usd, one.control_usd) for one in self.played)

    @property
    def shorter(self) -> Interval | None:
        """Share of the control's prompt tokens that is not sent."""
        return self._share((one.control_tokens - one.ours_tokens, one.control_tokens) for one in self.played)

    @property
    def edits_lost(self) -> Interval | None:
        """Of the edits that quote a result, those whose text stood in nothing that was sent."""
        found = (one.evidence for one in self.played)
        return self._share((one.edits_lost, one.edits_of_results) for one in found)

    @property
    def identifiers_lost(self) -> Interval | None:
        """Of the identifiers that calls took from results, those that stood in nothing that was sent."""
        return self._share((one.evidence.identifiers_lost, one.evidence.identifiers) for one in self.played)

    @property
    def evidence(self) -> Evidence:
        """What all replies used."""
        return sum((one.evidence for one in self.played), Evidence())

    @property
    def findings(self) -> Counter[str]:
        """Of the watchers."""
        return sum((one.findings for one in self.played), Counter[str]())

    @property
    def reasons(self) -> Counter[str]:
        """What came of prompts above the trigger."""
        return Counter(event.reason for one in self.played for event in one.events)

    @property
    def off_target(self) -> int:
        """Compactions that left the prompt above the target."""
        return sum(e.after_tokens > e.target_tokens for one in self.played for e in one.compactions)

    def total(self, name: str) -> float:
        """Sum a number of `Played` up, or the length of a tuple."""
        values = (getattr(one, name) for one in self.played)
        return float(sum(len(value) if isinstance(value, tuple) else value for value in values))

    def _share(self, parts: Iterable[tuple[float, float]]) -> Interval | None:
        return share_interval(list(parts), seed=SEED)


def groups(cases: Sequence[Case]) -> list[Group]:
    """Put what belongs together together, in the order in which it first appears."""
    order = list(dict.fromkeys(_key(case) for case in cases))
    ordered = sorted(cases, key=lambda case: order.index(_key(case)))
    return [Group(*key, tuple(case.played for case in found)) for key, found in groupby(ordered, _key)]


def table(found: Sequence[Group]) -> Iterator[str]:
    """Write one row for each group; `bare` counts requests whose head, task and newest turn alone exceed the window."""
    yield (
        "| prices | window | arm | over (control's), bare | invalid | input bill, USD | saved | prompt tokens saved"
        " | longest prompt, of window | compactions | most in one run | edits lost | identifiers lost |"
    )
    yield "|---|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    for one in found:
        evidence = one.evidence
        over = f"{one.total('over'):,.0f} ({one.total('control_over'):,.0f})"
        if one.total("over"):
            over += f", bare {one.total('over') - one.total('over_fitting'):,.0f}"
        fullest = max((p.ours_peak / p.window_tokens for p in one.played if p.window_tokens), default=None)
        yield _row(
            one.tariff,
            "none" if one.share is None else f"{one.share:.0%}",
            one.arm,
            "-" if one.share is None else over,
            f"{one.total('invalid'):,.0f}",
            f"{one.total('ours_usd'):,.2f} of {one.total('control_usd'):,.2f}",
            _percent(one.saved),
            _percent(one.shorter),
            "-" if fullest is None else f"{fullest:.0%}",
            f"{one.total('compactions'):,.0f}",
            max((p.generations for p in one.played), default=0),
            f"{evidence.edits_lost} of {evidence.edits_of_results}, {_percent(one.edits_lost)}",
            f"{evidence.identifiers_lost} of {evidence.identifiers}, {_percent(one.identifiers_lost)}",
        )


def events_table(found: Sequence[Group]) -> Iterator[str]:
    """Write what came of prompts above the trigger, and what the watchers noticed, for the arms that are ours."""
    yield "| prices | window | arm | above the trigger | still above the target | findings |"
    yield "|---|---:|---|---|---:|---|"
    for one in found:
        if one.share is not None and one.reasons:
            yield _row(
                one.tariff,
                f"{one.share:.0%}",
                one.arm,
                _counts(one.reasons),
                f"{one.off_target} of {one.total('compactions'):.0f}",
                _counts(one.findings) or "none",
            )


def pairs_table(cases: Sequence[Case]) -> Iterator[str]:
    """Write every pair: one recording with and without."""
    yield (
        "| prices | window | tokens | arm | recording | requests | over (control's) | control, USD | ours, USD"
        " | edits lost |"
    )
    yield "|---|---:|---:|---|---|---:|---:|---:|---:|---:|"
    for case in cases:
        one, evidence = case.played, case.played.evidence
        yield _row(
            case.tariff,
            "none" if case.share is None else f"{case.share:.0%}",
            "-" if one.window_tokens is None else f"{one.window_tokens:,}",
            one.arm,
            one.recording,
            one.requests,
            f"{len(one.over)} ({one.control_over})",
            f"{one.control_usd:.3f}",
            f"{one.ours_usd:.3f}",
            f"{evidence.edits_lost} of {evidence.edits_of_results}",
        )


def over_table(cases: Sequence[Case]) -> Iterator[str]:
    """Write which requests summaries could not bring into the window, and for how many no way could have."""
    yield "| prices | window | tokens | arm | recording | over | bare | longest prompt | requests, from 0 |"
    yield "|---|---:|---:|---|---|---:|---:|---:|---|"
    for case in cases:
        one = case.played
        if case.share is not None and one.over and one.arm in ("structural", "hybrid"):
            yield _row(
                case.tariff,
                f"{case.share:.0%}",
                f"{one.window_tokens or 0:,}",
                one.arm,
                one.recording,
                len(one.over),
                len(one.over) - one.over_fitting,
                f"{max(over.prompt_tokens for over in one.over):,}",
                ranges([int(over.request.rpartition("/")[2]) for over in one.over]),
            )


def ranges(numbers: Iterable[int]) -> str:
    """Write ascending whole numbers shortly.

    >>> ranges([3, 5, 6, 7])
    '3, 5-7'
    """
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def _key(case: Case) -> tuple[str, float | None, str]:
    return case.tariff, case.share, case.played.arm


def _row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def _counts(found: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(found.items()))


def _percent(interval: Interval | None) -> str:
    if interval is None:
        return "none"
    return f"{100 * interval.value:.1f} % [{100 * interval.low:.1f}, {100 * interval.high:.1f}]"
