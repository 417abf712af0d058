"""The first budget rule that matches a request counts, over the defaults; what is wrong is told before any request."""

from __future__ import annotations

import pytest

from coldpress.engine.budget import Budget, BudgetRule, Budgets, problems
from coldpress.model.errors import ConfigError


def test_shares_are_of_the_window() -> None:
    budget = Budget(200_000)
    assert (budget.trigger_tokens, budget.target_tokens, budget.urgent_tokens) == (130_000, 90_000, 180_000)


@pytest.mark.parametrize(
    ("values", "word"),
    [
        pytest.param({"target": 0.0}, "target is 0,", id="a target of nothing"),
        pytest.param({"target": 0.65}, "0 < target < trigger", id="a target at the trigger"),
        pytest.param({"trigger": 0.95}, "trigger 0.95", id="a trigger above urgent"),
        pytest.param({"urgent": 1.01}, "urgent 1.01", id="urgent above the window"),
        pytest.param({"keep_turns": 0}, "keep_turns is 0", id="no turn kept"),
        pytest.param({"window_tokens": 0}, "window_tokens is 0", id="no window"),
        pytest.param({"stages": ("summary", "mask")}, "stages", id="stages in the wrong order"),
        pytest.param({"stages": ("mask", "mask")}, "stages", id="a stage twice"),
        pytest.param({"max_generations": 0}, "max_generations is 0", id="no generation"),
        pytest.param({"min_gain": 1.0}, "min_gain is 1", id="a gain of the whole window"),
    ],
)
def test_values_out_of_range_are_refused(values: dict[str, object], word: str) -> None:
    with pytest.raises(ConfigError, match=word):
        Budget(**{"window_tokens": 1000, **values})  # type: ignore[arg-type]


@pytest.mark.parametrize("stages", [(), ("mask",), ("summary",), ("mask", "summary")])
def test_any_stage_may_be_left_out(stages: tuple[str, ...]) -> None:
    assert Budget(1000, stages=stages).stages == stages  # type: ignore[arg-type]


BUDGETS = Budgets(
    BudgetRule(window_tokens=150_000, keep_turns=4),
    (
        BudgetRule(model="*HAIKU*", window_tokens=80_000),
        BudgetRule(harness="claude-cli", task="review", target=0.3),
        BudgetRule(task="review", window_tokens=50_000),
    ),
)


@pytest.mark.parametrize(
    ("model", "harness", "task", "window", "target"),
    [
        pytest.param("claude-haiku-4-5", "claude-cli", "review", 80_000, 0.45, id="the first that matches, alone"),
        pytest.param("claude-opus-4-6", "Claude-CLI", "REVIEW", 150_000, 0.3, id="upper and lower case alike"),
        pytest.param("claude-opus-4-6", None, "review", 50_000, 0.45, id="an unknown client matches no pattern"),
        pytest.param("claude-opus-4-6", "claude-cli", None, 150_000, 0.45, id="no rule, the defaults"),
        pytest.param(None, None, None, 150_000, 0.45, id="nothing known, the defaults"),
    ],
)
def test_first_match_counts(
    model: str | None, harness: str | None, task: str | None, window: int, target: float
) -> None:
    found = BUDGETS.budget(model=model, harness=harness, task=task, nominal_tokens=1_000_000)
    assert found is not None
    assert (found.window_tokens, found.target, found.keep_turns) == (window, target, 4)


def test_the_nominal_window_counts_where_the_settings_name_none() -> None:
    found = Budgets().budget(model="m", harness=None, task=None, nominal_tokens=200_000)
    assert found == Budget(200_000)


def test_an_unknown_window_is_no_budget() -> None:
    assert Budgets().budget(model="m", harness=None, task=None, nominal_tokens=None) is None


def test_a_rule_is_checked_with_the_defaults_it_falls_back_on() -> None:
    rules = (BudgetRule(trigger=0.5), BudgetRule(trigger=0.4), BudgetRule(target=0.2, trigger=0.3))
    (told,) = problems(BudgetRule(), rules)
    assert told.startswith("budgets[1]: target is 0.45, trigger 0.4")
    with pytest.raises(ConfigError, match=r"budgets\[1\]"):
        Budgets(rules=rules)


def test_what_is_wrong_with_the_defaults_is_said_once() -> None:
    (told,) = problems(BudgetRule(keep_turns=0), (BudgetRule(model="a"), BudgetRule(model="b")))
    assert told.startswith("budget: keep_turns is 0")
