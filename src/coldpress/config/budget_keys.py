"""The settings keys that say when prompts are compacted, and how far."""

from __future__ import annotations

from dataclasses import dataclass, field

from coldpress.config.about import say
from coldpress.engine.budget import (
    KEEP_TURNS,
    MAX_GENERATIONS,
    MIN_GAIN,
    STAGES,
    TARGET,
    TRIGGER,
    URGENT,
    BudgetRule,
    Budgets,
    Stage,
    problems,
)

_AS_IN_BUDGET = "as in `[budget]`"
_SMALL_WINDOW_TOKENS = 1_000
"""No model has had such a window for years; who writes less has thousands of tokens in mind."""

_SHARE = "of the window, as a share"


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetKeys:
    """When a prompt is compacted so that it does not outgrow the model's window, and how far."""

    window_tokens: int | None = field(
        default=None,
        metadata=say(
            "The effective window of every model: what a prompt may have in practice, often less than the nominal "
            "window. Use `[[budgets]]` to say it model by model.",
            unit="tokens",
            least=1,
            example="200_000",
            unset="the model's nominal window by the built-in price list; a model it does not know is not compacted",
        ),
    )
    trigger: float = field(
        default=TRIGGER,
        metadata=say("A prompt of at least this size is compacted. Below it nothing is.", unit=_SHARE, least=0, most=1),
    )
    target: float = field(
        default=TARGET,
        metadata=say("Size that it is brought down to; less than `trigger`.", unit=_SHARE, least=0, most=1),
    )
    urgent: float = field(
        default=URGENT,
        metadata=say(
            "From this size on nothing is put off: a summary is waited for, or made without a model. "
            "At least `trigger`.",
            unit=_SHARE,
            least=0,
            most=1,
        ),
    )
    keep_turns: int = field(
        default=KEEP_TURNS,
        metadata=say(
            "Replies of the model at the end that stay word for word, each with the results of its calls.",
            unit="turns",
            least=1,
        ),
    )
    stages: tuple[Stage, ...] = field(
        default=STAGES,
        metadata=say(
            "What may be done, in this order: `mask` shows old results as one line each, `summary` puts a summary in "
            "the place of the messages between the task and the last turns. An empty list switches compaction off."
        ),
    )
    max_generations: int = field(
        default=MAX_GENERATIONS,
        metadata=say(
            "After this many summaries in one conversation the ledger says `escalate`: the work should be split.",
            unit="summaries",
            least=1,
        ),
    )
    min_gain: float = field(
        default=MIN_GAIN,
        metadata=say("A compaction that frees less than this says `escalate` too.", unit=_SHARE, least=0, most=1),
    )
    require_raw_log: bool = field(
        default=False,
        metadata=say("Whether nothing is compacted unless the request stands in the raw log (`store.raw_log`) first."),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetRowKeys:
    """A budget of its own for some requests. Rows are tried in the order of the file, the first that matches counts.

    A row without patterns matches every request.
    """

    model: str | None = field(
        default=None,
        metadata=say(
            "Shell pattern over the model's name as the client sends it, upper and lower case alike.",
            example='"claude-haiku-*"',
            unset="any model",
        ),
    )
    harness: str | None = field(
        default=None,
        metadata=say(
            "Shell pattern over the client's product name, as its user agent says it.",
            example='"claude-cli"',
            unset="any client",
        ),
    )
    task: str | None = field(
        default=None,
        metadata=say(
            "Shell pattern over the task class.", example='"review"', unset="any task, also one without class"
        ),
    )
    window_tokens: int | None = field(
        default=None,
        metadata=say("The effective window.", unit="tokens", least=1, example="100_000", unset=_AS_IN_BUDGET),
    )
    trigger: float | None = field(
        default=None,
        metadata=say("Size to compact at.", unit=_SHARE, least=0, most=1, example="0.6", unset=_AS_IN_BUDGET),
    )
    target: float | None = field(
        default=None,
        metadata=say("Size to bring it down to.", unit=_SHARE, least=0, most=1, example="0.4", unset=_AS_IN_BUDGET),
    )
    urgent: float | None = field(
        default=None,
        metadata=say(
            "Size from which nothing is put off.", unit=_SHARE, least=0, most=1, example="0.85", unset=_AS_IN_BUDGET
        ),
    )
    keep_turns: int | None = field(
        default=None,
        metadata=say(
            "Replies of the model at the end that stay.", unit="turns", least=1, example="4", unset=_AS_IN_BUDGET
        ),
    )
    stages: tuple[Stage, ...] | None = field(
        default=None, metadata=say("What may be done.", example='["mask"]', unset=_AS_IN_BUDGET)
    )
    max_generations: int | None = field(
        default=None,
        metadata=say(
            "Summaries after which the ledger says `escalate`.",
            unit="summaries",
            least=1,
            example="3",
            unset=_AS_IN_BUDGET,
        ),
    )
    min_gain: float | None = field(
        default=None,
        metadata=say(
            "Less than this freed says `escalate`.", unit=_SHARE, least=0, most=1, example="0.15", unset=_AS_IN_BUDGET
        ),
    )


def budget_problems(keys: BudgetKeys, rows: tuple[BudgetRowKeys, ...]) -> tuple[str, ...]:
    """Tell what is wrong between keys, one sentence each."""
    return problems(_default(keys), tuple(map(_rule, rows)))


def build_budgets(keys: BudgetKeys, rows: tuple[BudgetRowKeys, ...]) -> Budgets:
    """Make the engine's budgets; raises `ConfigError` where `budget_problems` has something to say."""
    return Budgets(_default(keys), tuple(map(_rule, rows)))


def budget_warnings(keys: BudgetKeys, rows: tuple[BudgetRowKeys, ...]) -> list[str]:
    """Say which rows can never count, and which windows are too small to be meant; for keys without problems."""
    told = [
        f"budgets[{later}] never counts: budgets[{earlier}] stands before it and matches every request that it does; "
        "put the narrower one first"
        for later, earlier in build_budgets(keys, rows).hidden_rules()
    ]
    windows = (("budget", keys.window_tokens), *((f"budgets[{n}]", row.window_tokens) for n, row in enumerate(rows)))
    told += [
        f"{at}.window_tokens is {tokens}, which is less than most system prompts take, so nearly every request "
        f"would be at its trigger; it counts tokens, so 128k are 128_000"
        for at, tokens in windows
        if tokens is not None and tokens < _SMALL_WINDOW_TOKENS
    ]
    return told


def raw_log_warnings(keys: BudgetKeys, *, raw_log: bool) -> list[str]:
    """Say that nothing will be compacted where the raw log is required and is not kept."""
    if not keys.require_raw_log or raw_log:
        return []
    return [
        "budget.require_raw_log is true and store.raw_log is off, so no prompt will ever be compacted; "
        "say raw_log = true in [store], or leave require_raw_log out"
    ]


def _default(keys: BudgetKeys) -> BudgetRule:
    return BudgetRule(
        window_tokens=keys.window_tokens,
        trigger=keys.trigger,
        target=keys.target,
        urgent=keys.urgent,
        keep_turns=keys.keep_turns,
        stages=keys.stages,
        max_generations=keys.max_generations,
        min_gain=keys.min_gain,
    )


def _rule(row: BudgetRowKeys) -> BudgetRule:
    return BudgetRule(
        model=row.model,
        harness=row.harness,
        task=row.task,
        window_tokens=row.window_tokens,
        trigger=row.trigger,
        target=row.target,
        urgent=row.urgent,
        keep_turns=row.keep_turns,
        stages=row.stages,
        max_generations=row.max_generations,
        min_gain=row.min_gain,
    )
