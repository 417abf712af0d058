"""Make the tables of the reference experiment from sessions of live arms: completion, medians, and paired savings.

One row for each session. Two sessions of one task and repetition under two arms are a pair; the control is what all
other arms are paired with. Unlike replays these are costs that a provider reported, of whole sessions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from coldpress.lab.paired import Paired, median, paired
from coldpress.lab.stats import RESAMPLES, Interval
from coldpress.model.errors import FiguresError

Block = tuple[str, int]
"""What pairs sessions: task and repetition."""


@dataclass(frozen=True, slots=True)
class Session:
    """One session of an agent.

    Attributes:
        task, repetition, arm: what it was one of.
        completed: whether the task was done.
        stopped: whether a guard stopped it because it went round in a loop.
        cost_usd: of all its requests and of a summariser's; `None` where any of it is unknown.
        input_tokens: of all its requests, `cached_tokens` of them read from a cache; `None` where unknown.
        requests: how many it made.
    """

    task: str
    repetition: int
    arm: str
    completed: bool
    stopped: bool
    cost_usd: float | None
    input_tokens: int | None
    cached_tokens: int | None
    requests: int


@dataclass(frozen=True, slots=True)
class ArmRow:
    """One arm over its own sessions.

    Attributes:
        sessions: how many there are; `unpriced` of them have no known cost and are in no median of it.
        completed, loop_stops: sessions.
        median_cost_usd, median_input_tokens, median_requests: of a session; `None` where none is known.
        cache_hit_ratio: share of all input tokens that were read from a cache, over sessions that say both.
    """

    arm: str
    sessions: int
    unpriced: int
    completed: int
    loop_stops: int
    median_cost_usd: float | None
    median_input_tokens: float | None
    median_requests: float | None
    cache_hit_ratio: float | None


@dataclass(frozen=True, slots=True)
class PairedRow:
    """One arm beside the control, pair by pair: what it saves in USD and in input tokens."""

    arm: str
    cost: Paired
    input_tokens: Paired


@dataclass(frozen=True, slots=True)
class TaskRow:
    """Median cost of a task's sessions in USD by arm, in the order of the arms; `None` where none is known."""

    task: str
    median_cost_usd: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class ReferenceTables:
    """All tables.

    Attributes:
        blocks: tasks times repetitions that any arm has a session of.
        control: name of the arm that others are paired with.
        arms: the control first.
        paired: the other arms.
        tasks: in the order of first appearance.
        seed, resamples: of the intervals.
    """

    blocks: int
    control: str
    arms: tuple[ArmRow, ...]
    paired: tuple[PairedRow, ...]
    tasks: tuple[TaskRow, ...]
    seed: int
    resamples: int


def reference_tables(
    sessions: Sequence[Session], *, control: str = "control", seed: int, resamples: int = RESAMPLES
) -> ReferenceTables:
    """Compute the tables.

    Args:
        sessions: of all arms, in any order; arms and tasks keep the order of their first appearance.
        control: the arm that others are paired with.
        seed: of the resampling.
        resamples: how many times the pairs are drawn.

    Raises:
        FiguresError: the control has no session, an arm has two of one task and repetition, or a number is infinite.
    """
    by_arm: dict[str, dict[Block, Session]] = {}
    for one in sessions:
        mine, block = by_arm.setdefault(one.arm, {}), (one.task, one.repetition)
        if block in mine:
            raise FiguresError(f"two sessions of {one.arm} for {one.task}, repetition {one.repetition}; keep one")
        mine[block] = one
    if control not in by_arm:
        raise FiguresError(f"no session of the control {control!r}; there are {', '.join(by_arm) or 'no sessions'}")
    names = [control, *(name for name in by_arm if name != control)]
    # Sorted, so that the draws meet the same pairs in whatever order the sessions were run.
    blocks = sorted({(one.task, one.repetition) for one in sessions})
    tasks = dict.fromkeys(one.task for one in sessions)
    return ReferenceTables(
        blocks=len(blocks),
        control=control,
        arms=tuple(_arm_row(name, tuple(by_arm[name].values())) for name in names),
        paired=tuple(
            PairedRow(
                name,
                _paired(by_arm[control], by_arm[name], blocks, _cost, seed=seed, resamples=resamples),
                _paired(by_arm[control], by_arm[name], blocks, _input, seed=seed, resamples=resamples),
            )
            for name in names[1:]
        ),
        tasks=tuple(
            TaskRow(task, tuple(median([_cost(s) for s in by_arm[name].values() if s.task == task]) for name in names))
            for task in tasks
        ),
        seed=seed,
        resamples=resamples,
    )


def as_object(tables: ReferenceTables) -> dict[str, object]:
    """Give the tables as JSON would hold them, with the keys of the published results."""
    names = [row.arm for row in tables.arms]
    return {
        "pairs": tables.blocks,
        "arms": {
            row.arm: {
                "completed": row.completed,
                "loop_stops": row.loop_stops,
                "median_cost_usd": row.median_cost_usd,
                "median_input_tokens": row.median_input_tokens,
                "median_requests": row.median_requests,
                "cache_hit_ratio": row.cache_hit_ratio,
                "sessions": row.sessions,
                "unpriced": row.unpriced,
            }
            for row in tables.arms
        },
        "paired": {row.arm: _paired_object(row) for row in tables.paired},
        "median_cost_by_task_usd": {
            row.task: dict(zip(names, row.median_cost_usd, strict=True)) for row in tables.tasks
        },
        "bootstrap": {"resamples": tables.resamples, "seed": tables.seed, "kind": "percentile, paired"},
    }


def markdown(tables: ReferenceTables) -> Iterator[str]:
    """Write the tables, line by line, with the number of pairs beside every interval."""
    yield (
        "| arm | completed | loop stops | median cost, USD | median input tokens | median requests | cache-hit ratio |"
    )
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for row in tables.arms:
        yield _line(
            row.arm,
            f"{row.completed} of {row.sessions}",
            str(row.loop_stops),
            _usd(row.median_cost_usd),
            _number(row.median_input_tokens),
            _number(row.median_requests),
            "unknown" if row.cache_hit_ratio is None else f"{row.cache_hit_ratio:.2%}",
        )
    yield ""
    yield _line(
        f"beside {tables.control}", "median saving, USD", "mean, USD", "median tokens saved", "cheaper", "drops"
    )
    yield "|---|---:|---:|---:|---:|---:|"
    for pair in tables.paired:
        yield _line(
            pair.arm,
            _interval(pair.cost.median, "+.6f"),
            _interval(pair.cost.mean, "+.6f"),
            _interval(pair.input_tokens.median, "+,.0f"),
            f"{pair.cost.cheaper} of {pair.cost.pairs} pairs",
            str(pair.cost.dropped),
        )
    yield ""
    yield _line("median cost by task, USD", *(row.arm for row in tables.arms))
    yield "|---|" + "---:|" * len(tables.arms)
    for task in tables.tasks:
        yield _line(task.task, *map(_usd, task.median_cost_usd))
    yield ""
    yield f"Intervals: 95 %, percentile bootstrap over pairs, {tables.resamples:,} resamples, seed {tables.seed}."


def _arm_row(arm: str, mine: Sequence[Session]) -> ArmRow:
    both = [(s.input_tokens, s.cached_tokens) for s in mine if s.input_tokens is not None]
    told = [(whole, cached) for whole, cached in both if cached is not None]
    whole = sum(tokens for tokens, _ in told)
    return ArmRow(
        arm=arm,
        sessions=len(mine),
        unpriced=sum(s.cost_usd is None for s in mine),
        completed=sum(s.completed for s in mine),
        loop_stops=sum(s.stopped for s in mine),
        median_cost_usd=median([s.cost_usd for s in mine]),
        median_input_tokens=median([s.input_tokens for s in mine]),
        median_requests=median([s.requests for s in mine]),
        cache_hit_ratio=sum(cached for _, cached in told) / whole if whole else None,
    )


def _paired(
    control: Mapping[Block, Session],
    arm: Mapping[Block, Session],
    blocks: Sequence[Block],
    number: Callable[[Session], float | None],
    *,
    seed: int,
    resamples: int,
) -> Paired:
    """Pair by task and repetition; a session that was never run is an unknown number."""

    def column(mine: Mapping[Block, Session]) -> list[float | None]:
        return [number(mine[block]) if block in mine else None for block in blocks]

    return paired(column(control), column(arm), seed=seed, resamples=resamples)


def _cost(session: Session) -> float | None:
    return session.cost_usd


def _input(session: Session) -> float | None:
    return session.input_tokens


def _paired_object(row: PairedRow) -> dict[str, object]:
    cost, tokens = row.cost, row.input_tokens
    return {
        "median_saving_usd": cost.median.value if cost.median else None,
        "interval_95": _ends(cost.median),
        "mean_saving_usd": cost.mean.value if cost.mean else None,
        "mean_interval_95": _ends(cost.mean),
        "cheaper_pairs": cost.cheaper,
        "pairs": cost.pairs,
        "drops": cost.dropped,
        "median_input_token_saving": tokens.median.value if tokens.median else None,
        "input_token_interval_95": _ends(tokens.median),
    }


def _ends(interval: Interval | None) -> list[float] | None:
    return None if interval is None else [interval.low, interval.high]


def _interval(interval: Interval | None, form: str) -> str:
    if interval is None:
        return "unknown"
    return f"{interval.value:{form}} [{interval.low:{form}}, {interval.high:{form}}]"


def _usd(amount: float | None) -> str:
    return "unknown" if amount is None else f"{amount:.6f}"


def _number(amount: float | None) -> str:
    return "unknown" if amount is None else f"{amount:,.0f}"


def _line(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"
