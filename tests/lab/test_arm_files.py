"""Arms are settings files with a `[lab]` table: what the named ones say, and what is refused."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from coldpress.engine.policy import DEFAULT_POLICY
from coldpress.lab.arm_files import Arm, find_arm, load_arm, named_arms, with_budget
from coldpress.model.errors import ConfigError


def test_the_named_arms_are_those_that_the_design_asks_for() -> None:
    named = named_arms()
    assert next(iter(named)) == "control" and named["control"].is_control
    assert {
        "reference-deterministic",
        "reference-model-gated",
        "reference-gate",
        "mask-10",
        "mask-10-batched",
        "half-summary",
        "pressure-50",
        "pressure-65",
        "pressure-80",
        "pressure-90",
        "cold-only",
        "coldpress",
    } <= set(named)
    assert [name for name, arm in named.items() if arm.schedule == "clairvoyant"] == list(named)[-3:]
    assert all(arm.about.endswith(".") for arm in named.values())


def test_coldpress_as_it_comes_is_the_default_policy() -> None:
    assert named_arms()["coldpress"].settings.policy == DEFAULT_POLICY
    assert named_arms()["oracle"].settings.policy == DEFAULT_POLICY, "the same candidates"


def test_arms_go_to_other_processes_and_tell_each_other_apart() -> None:
    arms = tuple(named_arms().values())
    assert pickle.loads(pickle.dumps(arms)) == arms
    assert len({arm.digest for arm in arms}) == len(arms)


@pytest.mark.parametrize(
    ("trigger", "window", "name"), [(0.7, None, "@0.7"), (None, 60_000, "/60000"), (0.7, 0.5, "@0.7/0.5")]
)
def test_a_budget_of_a_sweep_is_in_the_name_and_the_digest(
    trigger: float | None, window: float | None, name: str
) -> None:
    arm = named_arms()["pressure-65"]
    found = with_budget(arm, trigger=trigger, window=window)
    assert found.name == f"pressure-65{name}"
    assert found.digest != arm.digest
    budget = found.budgets(100_000).budget(model="m", harness=None, task=None, nominal_tokens=None)
    assert budget is not None
    share = 0.7 if trigger else 0.65
    assert budget.trigger_tokens == round(share * {None: 100_000, 60_000: 60_000, 0.5: 50_000}[window])
    assert budget.target == pytest.approx(0.45 / 0.65 * share, abs=1e-4)


def test_an_arm_without_a_budget_has_none_in_a_sweep_either() -> None:
    arm = named_arms()["coldpress"]
    assert with_budget(arm, trigger=0.5, window=1_000) is arm
    assert arm.budgets(100_000).budget(model="m", harness=None, task=None, nominal_tokens=200_000).stages == ()  # type: ignore[union-attr]


def written(folder: Path, text: str) -> Arm:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return load_arm(path)


def test_any_settings_file_is_an_arm(tmp_path: Path) -> None:
    arm = written(tmp_path, "source_age = 7\n")
    assert (arm.name, arm.schedule, arm.settings.source_age) == ("mine", "gate", 7)
    assert find_arm(str(tmp_path / "mine.toml")) == arm


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[lab]\nschedul = 'gate'\n", "lab.schedul is not known"),
        ("[lab]\nschedule = 'sometimes'\n", "lab.schedule is 'sometimes'; use one of gate,"),
        ("[lab]\nbatch_turns = 0\n", "lab.batch_turns is 0"),
        ("[lab]\nwindow = -1\n", "lab.window is -1"),
        ("[lab]\nabout = 3\n", "lab.about is no text"),
        ("lab = 3\n", "lab is no table"),
        ("source_age = 0\n", "source_age"),
        ("sourceage = 3\n", "sourceage"),
        ("source_age = \n", "mine.toml"),
    ],
)
def test_what_is_wrong_in_a_file_is_said_with_its_place(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        written(tmp_path, text)


def test_an_arm_that_is_not_there_is_told_with_those_that_are() -> None:
    with pytest.raises(ConfigError, match="no arm 'coldpres'; give a settings file, or one of control,"):
        find_arm("coldpres")
