"""The arms of the reference experiment as real clients run them: their files, and the check of what came of them."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from cases.reference import READS_IN_FULL, Arm, loaded, reference_file

CLIENTS = Path(__file__).resolve().parents[2] / "clients"

if not CLIENTS.is_dir():
    pytest.skip("the clients are not part of this distribution", allow_module_level=True)
sys.path.insert(0, str(CLIENTS))

from reference import NAMES, SETTINGS, arms  # noqa: E402
from reference_arms import Run  # noqa: E402
from reference_check import problems  # noqa: E402
from reference_task import REQUESTS, script_for  # noqa: E402

FILES: dict[Arm, str] = {"deterministic": "deterministic-arm.json", "model_gated": "model-gated-arm.json"}
NOTHING = Run(None, "", (), (), (), {}, {}, {}, 0.0)


@pytest.mark.parametrize("arm", FILES)
def test_the_files_are_those_that_the_cases_run(arm: Arm) -> None:
    assert json.loads((SETTINGS / FILES[arm]).read_text()) == reference_file(arm)


def test_the_arms_are_those_of_the_experiment_and_one_with_other_prices(tmp_path: Path) -> None:
    found = arms(SETTINGS, tmp_path)
    assert tuple(arm.name for arm in found) == NAMES
    assert json.loads(found[3].file.read_text()) == reference_file("model_gated", pro=READS_IN_FULL)
    for arm in found:
        assert loaded(arm.file, "http://127.0.0.1:9").provider("deepseek") is not None


def test_a_run_that_did_not_take_place_is_no_success(tmp_path: Path) -> None:
    arm = arms(SETTINGS, tmp_path)[1]
    assert problems(arm, NOTHING) == [f"0 requests reached the upstream, not {REQUESTS}"]
    assert problems(arm, replace(NOTHING, ended="ended with 1")) == ["ended with 1"]


def test_the_script_has_as_many_turns_as_the_check_wants_requests() -> None:
    assert len(script_for().turns) + 2 == REQUESTS, (
        "one call is made of the request at hand, and the last is the answer"
    )
