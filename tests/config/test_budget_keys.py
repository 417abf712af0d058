"""Budgets of a settings file are checked as a whole, with the key in front of everything that is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coldpress.config import Settings, load
from coldpress.engine.budget import Budget, BudgetRule
from coldpress.model.errors import ConfigError


def loaded(folder: Path, text: str) -> Settings:
    file = folder / "coldpress.toml"
    file.write_text(text)
    return load(file, environ={"HOME": str(folder)})


def test_without_keys_the_window_of_the_price_data_counts(tmp_path: Path) -> None:
    found = loaded(tmp_path, "")
    assert found.budgets.budget(model="m", harness=None, task=None, nominal_tokens=100_000) == Budget(100_000)
    assert not found.require_raw_log


def test_rows_go_before_the_table(tmp_path: Path) -> None:
    text = """
        [budget]
        window_tokens = 150_000
        keep_turns = 4
        [[budgets]]
        model = "*haiku*"
        window_tokens = 80_000
        stages = "mask"
        [[budgets]]
        harness = "codex"
        task = "review"
        min_gain = 0.2
    """
    budgets = loaded(tmp_path, text).budgets
    small = budgets.budget(model="claude-haiku-4-5", harness=None, task=None, nominal_tokens=200_000)
    review = budgets.budget(model="gpt-5", harness="codex", task="review", nominal_tokens=400_000)
    assert small == Budget(80_000, keep_turns=4, stages=("mask",))
    assert review == Budget(150_000, keep_turns=4, min_gain=0.2)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("[budget]\ntarget = 0.7", "budget: target is 0.7, trigger 0.65", id="target above trigger"),
        pytest.param("[budget]\ntarget = 0", "budget: target is 0,", id="target of nothing"),
        pytest.param("[budget]\nurgent = 0.5", "urgent 0.5", id="urgent under trigger"),
        pytest.param(
            "[budget]\nurgent = 1.5",
            "budget.urgent is 1.5; it must be a number from 0 to 1, a share of the window",
            id="above the window",
        ),
        pytest.param("[budget]\nkeep_turns = 0", "budget.keep_turns is 0", id="no turn kept"),
        pytest.param("[budget]\nwindow_tokens = 0", "budget.window_tokens is 0", id="no window"),
        pytest.param('[budget]\nstages = "summarise"', "one or a list of mask, summary", id="an unknown stage"),
        pytest.param('[budget]\nstages = ["summary", "mask"]', "budget: stages is", id="stages in the wrong order"),
        pytest.param("[[budgets]]\n[[budgets]]\ntrigger = 0.4", "budgets[1]: target is 0.45", id="a row with defaults"),
        pytest.param("[budgets]\ntrigger = 0.4", "in TOML write [[budgets]]", id="a row without its brackets"),
        pytest.param("[[budgets]]\nrequire_raw_log = true", "budgets[0].require_raw_log is not a setting", id="log"),
    ],
)
def test_what_is_wrong_is_told_with_its_key(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded(tmp_path, text)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("raw_log", "count"), [pytest.param("false", 1, id="not kept"), pytest.param("true", 0, id="kept")]
)
def test_a_required_log_that_is_not_kept_is_warned_of(tmp_path: Path, raw_log: str, count: int) -> None:
    found = loaded(tmp_path, f"[store]\nraw_log = {raw_log}\n[budget]\nrequire_raw_log = true")
    assert found.require_raw_log
    assert len([warning for warning in found.warnings if "no prompt will ever be compacted" in warning]) == count


@pytest.mark.parametrize(
    ("rows", "hidden"),
    [
        pytest.param("[[budgets]]\nkeep_turns = 2\n[[budgets]]\nmodel = 'a'", [(1, 0)], id="a row for all first"),
        pytest.param("[[budgets]]\nmodel = 'a*'\n[[budgets]]\nmodel = 'A-b-*'", [(1, 0)], id="a wider pattern"),
        pytest.param("[[budgets]]\nmodel = 'a?'\n[[budgets]]\nmodel = 'a?'", [(1, 0)], id="the same pattern"),
        pytest.param("[[budgets]]\nmodel = 'a?'\n[[budgets]]\nmodel = 'a*'", [], id="a narrower pattern"),
        pytest.param("[[budgets]]\nmodel = '*b'\n[[budgets]]\nmodel = 'a*'", [], id="patterns that overlap"),
        pytest.param("[[budgets]]\nmodel = '*'\n[[budgets]]\ntask = 't'", [], id="a request may name no model"),
        pytest.param("[[budgets]]\nmodel = 'a'\ntask = 't'\n[[budgets]]\nmodel = 'a'", [], id="one more condition"),
        pytest.param(
            "[[budgets]]\ntask = 't'\n[[budgets]]\nmodel = 'a'\ntask = 't'\n[[budgets]]\ntask = 't*'\n"
            "[[budgets]]\ntask = 'tt'",
            [(1, 0), (3, 2)],
            id="two pairs",
        ),
    ],
)
def test_rows_that_never_count_are_named(tmp_path: Path, rows: str, hidden: list[tuple[int, int]]) -> None:
    warnings = loaded(tmp_path, rows).warnings
    assert len(warnings) == len(hidden)
    for warning, (later, earlier) in zip(warnings, hidden, strict=True):
        assert warning.startswith(f"budgets[{later}] never counts: budgets[{earlier}] stands before it")


@pytest.mark.parametrize(
    ("text", "at"),
    [
        pytest.param("[budget]\nwindow_tokens = 999", "budget.window_tokens is 999", id="for all"),
        pytest.param("[[budgets]]\nmodel = 'm'\nwindow_tokens = 128", "budgets[0].window_tokens is 128", id="a row"),
        pytest.param("[budget]\nwindow_tokens = 1000", "", id="small and possible"),
    ],
)
def test_a_window_that_is_too_small_to_be_meant_is_warned_of(tmp_path: Path, text: str, at: str) -> None:
    warnings = loaded(tmp_path, text).warnings
    assert len(warnings) == bool(at)
    assert all(warning.startswith(at) for warning in warnings)


_PATTERNS = st.text("ab*?[]", max_size=5)


@settings(max_examples=400, deadline=None)
@given(wide=_PATTERNS, narrow=_PATTERNS, name=st.text("ab", max_size=4))
def test_whoever_is_covered_is_matched(wide: str, narrow: str, name: str) -> None:
    one, other = BudgetRule(model=wide), BudgetRule(model=narrow)
    if one.covers(other) and other.matches(model=name, harness=None, task=None):
        assert one.matches(model=name, harness=None, task=None)
