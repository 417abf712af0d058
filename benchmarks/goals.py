"""The targets coldpress set itself for speed and memory, and whether a run meets them.

`must` is the bar, `reach` is where it should end. Ratios compare targets of the same run only. Rows named after Torana
stand beside numbers which that project published for an eight-core desktop: limits for us, not measurements of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from results import OURS, Results, Spread, cpu, cpu_per_event_us, first_byte, p50, peak
from rows import Case

EVENT_GAP_MS = 1.0


@dataclass(frozen=True, slots=True)
class Goal:
    """One line: at most (or at least) so much. `measured` is `None` where the run does not tell; `beside` says more."""

    what: str
    measured: float | None
    must: float
    reach: float
    unit: str
    kind: Literal["at most", "at least"] = "at most"
    beside: str = ""

    @property
    def verdict(self) -> str:
        """Whether it is met."""
        if self.measured is None:
            return "not measured"
        if self._holds(self.reach):
            return "reached"
        return "met" if self._holds(self.must) else "**not met**"

    def _holds(self, bound: float) -> bool:
        assert self.measured is not None
        return self.measured <= bound if self.kind == "at most" else self.measured >= bound


def warm(size: str, connections: int = 1) -> Case:
    """The case most goals speak of."""
    return Case("chat", size, "json", "warm", connections)


def goals(run: Results) -> list[Goal]:
    """Judge a run."""
    return [*_latency(run), *_peers(run), *_published(run), *_streams(run), *_process(run)]


def _middle(spread: Spread | None) -> float | None:
    return spread.middle if spread else None


def _latency(run: Results) -> Iterator[Goal]:
    for size, must, reach in (("4k", 12, 4), ("128k", 10, 3), ("1m", 5, 3)):
        nginx, ours = run.added(warm(size), "nginx", p50), run.added(warm(size), OURS, p50)
        times = ours.middle / nginx.middle if nginx and ours and nginx.middle > 0 else None
        yield Goal(f"added p50 against nginx's, {size}", times, must, reach, "x")
    for size, must_ms, reach_ms in (("4k", 0.6, 0.15), ("128k", 0.9, 0.25), ("1m", 2.5, 1.2), ("8m", 14, 6)):
        yield Goal(f"added p50, {size}", _middle(run.added(warm(size), OURS, p50)), must_ms, reach_ms, "ms")


def _peers(run: Results) -> Iterator[Goal]:
    for size in ("4k", "128k", "1m"):
        case = warm(size)
        yield Goal(
            f"LiteLLM's added p50, {size}", run.ratio(case, "litellm", p50, added=True), 40, 100, "x", "at least"
        )
        yield Goal(f"LiteLLM's CPU, {size}", run.ratio(case, "litellm", cpu, added=False), 40, 100, "x", "at least")
    for name in ("headroom-off", "headroom-on"):
        for size in ("4k", "128k", "1m", "8m"):
            times = run.ratio(warm(size), name, p50, added=True)
            yield Goal(f"{name}'s added p50, {size}", times, 25, 80, "x", "at least")
    for size, must, reach in (("4k", 1, 6), ("128k", 4, 12), ("1m", 4, 12), ("8m", 4, 12)):
        times = run.ratio(warm(size), "awecompress", p50, added=True)
        yield Goal(f"awecompress's added p50, {size}", times, must, reach, "x", "at least")


def _published(run: Results) -> Iterator[Goal]:
    for connections, must, reach in ((1, 1.5, 0.6), (8, 2.0, 1.0), (32, 3.5, 2.0)):
        case = Case("chat", "4k", "json", "warm", connections, "provider")
        measured = _middle(run.added(case, OURS, p50))
        yield Goal(f"Torana's provider-shaped run: added p50, c={connections}", measured, must, reach, "ms")
        if connections == 8:
            yield Goal("the same: CPU a request, c=8", _middle(run.value(case, OURS, cpu)), 0.6, 0.35, "ms")
    for size, must, reach in (("1m", 4, 2), ("8m", 20, 8)):
        measured = _middle(run.value(warm(size), OURS, p50))
        yield Goal(f"Torana's total p50, {size}", measured, must, reach, "ms")
    yield Goal("peak memory, 8m, c=8", _middle(run.value(warm("8m", 8), OURS, peak)), 250, 120, "MB")


def _streams(run: Results) -> Iterator[Goal]:
    case = Case("chat", "4k", "stream", "warm", 8, "paced")
    per_event, added = run.value(case, OURS, cpu_per_event_us), run.added(case, OURS, first_byte)
    yield Goal("events 1 ms apart, c=8: CPU an event", _middle(per_event), 50, 20, "us")
    yield Goal("the same: added first byte", _middle(added), 1.0, 0.3, "ms")
    late = _middle(run.value(case, OURS, lambda cell: cell.load.delay99))
    worst, direct = (run.value(case, name, lambda cell: cell.load.delay_max) for name in (OURS, "direct"))
    beside = f"worst {worst.high:.1f} ms; {direct.high:.1f} ms without a gateway" if worst and direct else ""
    yield Goal("the same: 99 of 100 events out within", late, EVENT_GAP_MS, EVENT_GAP_MS, "ms", beside=beside)


def _process(run: Results) -> Iterator[Goal]:
    top = max((row.up_to_bytes for row in run.growth), default=0)
    for marks, how in ((1, "one mark"), (2, "two marks")):
        grown = {row.target: row.p50 for row in run.growth if (row.up_to_bytes, row.marks) == (top, marks)}
        added = grown[OURS] - grown["direct"] if OURS in grown and "direct" in grown else None
        yield Goal(f"a turn of a growing conversation, 4 to 8 MiB, {how}: added p50", added, 14, 6, "ms")
    starts = [row for row in run.started if row.target == OURS]
    yield Goal("ready after", _middle(Spread.of(row.seconds for row in starts)), 1.0, 0.4, "s")
    yield Goal("idle memory", _middle(Spread.of(row.idle_mb for row in starts)), 90, 60, "MB")
    stalls = {(row.target, row.load): row.max for row in run.stalls}
    worst = max(((ms, load) for (target, load), ms in stalls.items() if target == OURS), default=None)
    beside = (
        f"under {worst[1] or 'no load'}; {stalls.get(('direct', worst[1]), 0):.1f} ms without a gateway"
        if worst
        else ""
    )
    yield Goal("longest wait for a small answer under load", worst[0] if worst else None, 25, 5, "ms", beside=beside)
