"""Say how many tokens a prompt may have before results and messages go, and how far it is then brought down."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field
from fnmatch import translate
from typing import Final, Literal, TypeVar

from coldpress.model.errors import ConfigError

Stage = Literal["mask", "summary"]
"""`mask` shows old results as one line each, `summary` puts a summary in the place of a middle range of messages."""

STAGES: Final[tuple[Stage, ...]] = ("mask", "summary")
TRIGGER: Final = 0.65
TARGET: Final = 0.45
URGENT: Final = 0.9
KEEP_TURNS: Final = 6
MAX_GENERATIONS: Final = 5
MIN_GAIN: Final = 0.1

_ORDERS: Final[tuple[tuple[Stage, ...], ...]] = ((), ("mask",), ("summary",), STAGES)
_ANY_TOKENS: Final = 1
"""Stands in for a window that is not known yet, where only the other values are checked."""


Value = TypeVar("Value", int, float, tuple[Stage, ...], int | None)


@dataclass(frozen=True, slots=True)
class Budget:
    """What holds for one request.

    Attributes:
        window_tokens: of the effective window, on the provider's scale: what a prompt may have in practice.
        trigger: share of the window from which on something is done; below it nothing is.
        target: share that the prompt is brought down to.
        urgent: share from which on nothing is waited for.
        keep_turns: replies of the model at the end that stay as they are, each with what follows it.
        stages: what may be done, in this order.
        max_generations: summaries of one conversation after which the work should be split.
        min_gain: share of the window that a compaction must free, else the work should be split.

    Raises:
        ConfigError: a value is out of its range.
    """

    window_tokens: int
    trigger: float = TRIGGER
    target: float = TARGET
    urgent: float = URGENT
    keep_turns: int = KEEP_TURNS
    stages: tuple[Stage, ...] = STAGES
    max_generations: int = MAX_GENERATIONS
    min_gain: float = MIN_GAIN

    def __post_init__(self) -> None:
        problem = _problem(self)
        if problem:
            raise ConfigError(problem)

    @property
    def trigger_tokens(self) -> int:
        """Prompts of at least this many tokens are compacted."""
        return round(self.window_tokens * self.trigger)

    @property
    def target_tokens(self) -> int:
        """How many tokens a compacted prompt should have at most."""
        return round(self.window_tokens * self.target)

    @property
    def urgent_tokens(self) -> int:
        """Prompts of at least this many tokens are compacted at once."""
        return round(self.window_tokens * self.urgent)


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetRule:
    """Budget values for the requests it matches; `None` leaves a value as it was.

    Attributes:
        model, harness, task: shell patterns over the model's name as the client sends it, the client's product name and
            the task class, upper and lower case alike; `None` matches all, also a request that does not say.

    The other attributes are those of `Budget`.
    """

    model: str | None = None
    harness: str | None = None
    task: str | None = None
    window_tokens: int | None = None
    trigger: float | None = None
    target: float | None = None
    urgent: float | None = None
    keep_turns: int | None = None
    stages: tuple[Stage, ...] | None = None
    max_generations: int | None = None
    min_gain: float | None = None

    def matches(self, *, model: str | None, harness: str | None, task: str | None) -> bool:
        """Whether a request is meant."""
        pairs = ((self.model, model), (self.harness, harness), (self.task, task))
        return all(pattern is None or (fact is not None and _fits(pattern, fact)) for pattern, fact in pairs)

    def covers(self, other: BudgetRule) -> bool:
        """Whether every request that the other rule matches is certain to match this one too."""
        pairs = ((self.model, other.model), (self.harness, other.harness), (self.task, other.task))
        return all(pattern is None or (its is not None and _covers(pattern, its)) for pattern, its in pairs)


@dataclass(frozen=True, slots=True)
class Budgets:
    """Budgets of the settings.

    Attributes:
        default: what holds where no rule says something else; its patterns play no part.
        rules: in order; only the first that matches a request counts.

    Raises:
        ConfigError: a rule together with the defaults makes no valid budget; the message says which.
    """

    default: BudgetRule = field(default_factory=BudgetRule)
    rules: tuple[BudgetRule, ...] = ()

    def __post_init__(self) -> None:
        wrong = problems(self.default, self.rules)
        if wrong:
            raise ConfigError("\n".join(wrong))

    def budget(
        self, *, model: str | None, harness: str | None, task: str | None, nominal_tokens: int | None
    ) -> Budget | None:
        """Give the budget of a request; `None` where its window is not known, so that nothing is done.

        Args:
            model: as the client sends it.
            harness: the client's product name.
            task: class of the task, where somebody has said one.
            nominal_tokens: the model's window by the price data; holds where the settings name none.

        >>> rules = (BudgetRule(model="claude-*", window_tokens=100_000),)
        >>> found = Budgets(rules=rules).budget(model="claude-x", harness=None, task=None, nominal_tokens=200_000)
        >>> found.trigger_tokens, found.target_tokens
        (65000, 45000)
        """
        rule = self.rule(model=model, harness=harness, task=task) or BudgetRule()
        window_tokens = _first(rule.window_tokens, self.default.window_tokens, nominal_tokens)
        return None if window_tokens is None else _budget(rule, self.default, window_tokens)

    def rule(self, *, model: str | None, harness: str | None, task: str | None) -> BudgetRule | None:
        """Give the first rule that matches a request, the only one that counts; `None` where none does."""
        return next((rule for rule in self.rules if rule.matches(model=model, harness=harness, task=task)), None)

    def hidden_rules(self) -> tuple[tuple[int, int], ...]:
        """Find rules that can never count, each with the first rule that matches all that they do, by position."""
        found = []
        for later, rule in enumerate(self.rules):
            earlier = next((place for place in range(later) if self.rules[place].covers(rule)), None)
            if earlier is not None:
                found.append((later, earlier))
        return tuple(found)


def problems(default: BudgetRule, rules: tuple[BudgetRule, ...]) -> tuple[str, ...]:
    """Tell what is wrong with the budgets of the settings, one sentence each with its key; empty where nothing is.

    A rule is checked together with the defaults it falls back on.
    """
    told: list[str] = []
    for at, rule in (("budget", BudgetRule()), *((f"budgets[{index}]", rule) for index, rule in enumerate(rules))):
        window_tokens = _first(rule.window_tokens, default.window_tokens, _ANY_TOKENS)
        try:
            _budget(rule, default, window_tokens)
        except ConfigError as error:
            told.append(f"{at}: {error}")
    # What is wrong with the defaults alone is said once.
    return tuple(told[:1] if told and told[0].startswith("budget:") else told)


def _budget(rule: BudgetRule, default: BudgetRule, window_tokens: int) -> Budget:
    return Budget(
        window_tokens=window_tokens,
        trigger=_first(rule.trigger, default.trigger, TRIGGER),
        target=_first(rule.target, default.target, TARGET),
        urgent=_first(rule.urgent, default.urgent, URGENT),
        keep_turns=_first(rule.keep_turns, default.keep_turns, KEEP_TURNS),
        stages=_first(rule.stages, default.stages, STAGES),
        max_generations=_first(rule.max_generations, default.max_generations, MAX_GENERATIONS),
        min_gain=_first(rule.min_gain, default.min_gain, MIN_GAIN),
    )


def _first(said: Value | None, otherwise: Value | None, last: Value) -> Value:
    """Give the first value that is not `None`, else the last one."""
    return next((value for value in (said, otherwise) if value is not None), last)


def _problem(budget: Budget) -> str:
    """Say what is wrong with a budget, empty where nothing is."""
    trigger, target, urgent = budget.trigger, budget.target, budget.urgent
    if budget.window_tokens <= 0:
        return f"window_tokens is {budget.window_tokens}; use 1 or more"
    if not 0 < target < trigger <= urgent <= 1:
        return (
            f"target is {target:g}, trigger {trigger:g} and urgent {urgent:g}; these shares of the window must keep "
            "the order 0 < target < trigger <= urgent <= 1"
        )
    if budget.keep_turns < 1:
        return f"keep_turns is {budget.keep_turns}; use 1 or more, since the last turn always stays"
    if budget.stages not in _ORDERS:
        return f"stages is {list(budget.stages)}; name each of {', '.join(STAGES)} at most once, in this order"
    if budget.max_generations < 1:
        return f"max_generations is {budget.max_generations}; use 1 or more"
    if not 0 <= budget.min_gain < 1:
        return f"min_gain is {budget.min_gain:g}; use a share of the window from 0 to under 1"
    return ""


@functools.cache
def _matcher(pattern: str) -> re.Pattern[str]:
    return re.compile(translate(pattern.lower()))


def _covers(pattern: str, its: str) -> bool:
    """Whether a pattern matches all that another one does; it may say no where that is hard to tell.

    >>> _covers("claude-*", "claude-haiku-*"), _covers("*-mini", "gpt-*"), _covers("gpt-?", "gpt-*")
    (True, False, False)
    """
    pattern, its = pattern.lower(), its.lower()
    if pattern == its:
        return True
    # Where it holds no other wild cards, a `*` alone can have taken up those of the other, and takes all they do.
    only_stars = not any(c in pattern for c in "?[")
    return (only_stars or not any(c in its for c in "*?[")) and _fits(pattern, its)


def _fits(pattern: str, fact: str) -> bool:
    return _matcher(pattern).match(fact.lower()) is not None
