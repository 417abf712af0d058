"""`coldpress lab`: arms, what is in recordings, sweeps that go on where they stopped, reports and tuning."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from coldpress.cli.lab_options import RECORDED
from coldpress.lab.arm_files import load_arm, named_arms
from coldpress.lab.services import RECORDED as TARIFF_OF_RECORDINGS

from .conftest import Run
from .recorded import write_sessions

SHORT = ("--arm", "control", "--arm", "coldpress")
DEMO = Path(__file__).resolve().parents[2] / "src" / "coldpress" / "demo" / "recording.json"


def test_the_tariff_of_recordings_has_one_name() -> None:
    assert RECORDED == TARIFF_OF_RECORDINGS


def test_every_arm_is_listed_with_its_sentence(run: Run) -> None:
    found = run("lab", "arms")
    assert found.exit_code == 0
    said = " ".join(found.stdout.split())
    assert all(
        arm.name in found.stdout.splitlines() and " ".join(arm.about.split()) in said for arm in named_arms().values()
    )
    rows = json.loads(run("lab", "arms", "--json").stdout)["arms"]
    assert [row["name"] for row in rows] == list(named_arms())


def test_a_printed_arm_is_the_arm(run: Run, home: Path) -> None:
    for name, arm in named_arms().items():
        (home / f"{name}.toml").write_text(run("lab", "arms", "--show", name).stdout)
        read = load_arm(home / f"{name}.toml")
        ours = replace(arm.settings, store=read.settings.store)  # where HOME was when it was read
        assert (read.settings, read.schedule, read.window) == (ours, arm.schedule, arm.window)


def test_no_arm_of_that_name(run: Run) -> None:
    found = run("lab", "arms", "--show", "maks-10")
    assert found.exit_code == 2 and "did you mean mask-10?" in found.stderr


def test_what_is_in_a_recording_is_counted(run: Run, home: Path) -> None:
    write_sessions(home / "own", 1)
    (home / "own" / "other.jsonl").write_text('{"type":"unheard"}\n')
    found = json.loads(run("lab", "import", "own", str(DEMO), "--json").stdout)
    by_kind = {one["kind"]: one for one in found["files"]}
    assert set(by_kind) == {"claude-code", "coldpress"}
    claude = by_kind["claude-code"]
    assert (claude["requests"], claude["lines"], claude["used"]) == (13, 26, 26)
    assert claude["used"] + claude["set_aside"] + claude["unknown"] == claude["objects"] and claude["broken"] == 0
    assert [one["requests"] for one in claude["trajectories"]] == [13]
    assert [Path(one["path"]).name for one in found["skipped"]] == ["other.jsonl"]
    text = run("lab", "import", "own", "--verbose")
    assert "claude-code" in text.stdout and "other.jsonl: " in text.stdout and "13    assistant" in text.stdout


def test_nothing_but_foreign_files(run: Run, home: Path) -> None:
    (home / "other.jsonl").write_text('{"type":"unheard"}\n')
    found = run("lab", "import", "other.jsonl")
    assert found.exit_code == 2 and "other.jsonl: not a recorded run" in found.stdout


def test_a_sweep_goes_on_where_it_stopped_and_can_be_reported(run: Run, home: Path) -> None:
    pytest.importorskip("pyarrow")
    write_sessions(home / "own", 2)
    arguments = (
        "lab",
        "sweep",
        "own",
        "--out",
        "results",
        *SHORT,
        "--prices",
        "recorded",
        "--prices",
        "deepseek-v4-pro",
    )
    first = run(*arguments, "--jobs", "1", "--json")
    assert first.exit_code == 0, first.output
    parts = {path: path.stat().st_mtime_ns for path in (home / "results").rglob("*.parquet")}
    found = json.loads(first.stdout)
    assert found["sessions"] == 2 and set(found["tariffs"]) == {"recorded", "deepseek-v4-pro"}
    again = run(*arguments, "--jobs", "1", "--json")
    assert json.loads(again.stdout) == found
    assert {path: path.stat().st_mtime_ns for path in (home / "results").rglob("*.parquet")} == parts
    report = run("lab", "report", "results", "--out", "report.html")
    assert report.exit_code == 0, report.output
    assert (home / "report.html").read_text().lstrip().lower().startswith("<!doctype html")
    assert run("lab", "report", "results", "--out", "report.html").exit_code == 2, "never over a file"


def test_triggers_and_windows_make_arms_of_their_own(run: Run, home: Path) -> None:
    pytest.importorskip("pyarrow")
    write_sessions(home / "own", 1)
    more = ("--trigger", "0.4", "--trigger", "0.6", "--window", "1.0", "--jobs", "1", "--json")
    found = run("lab", "sweep", "own", "--out", "results", *SHORT, "--arm", "pressure-50", *more)
    assert found.exit_code == 0, found.output
    arms = json.loads(found.stdout)["tariffs"]["recorded"]["arms"]
    assert list(arms) == ["control", "coldpress", "pressure-50@0.4/1", "pressure-50@0.6/1"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(("sweep", "own", "--out", "file"), "cannot be made", id="no folder"),
        pytest.param(("sweep", "own", "--out", "r", "--address", "x"), "processes have no address", id="address"),
        pytest.param(("sweep", "own", "--out", "r", "--trigger", "2"), "not in the range", id="trigger"),
        pytest.param(("sweep", "nowhere", "--out", "r"), "no file or folder nowhere", id="no path"),
        pytest.param(("report", "nowhere", "--out", "r.html"), "does not exist", id="no results"),
        pytest.param(("tune", "own", "--out", "file"), "--force overwrites it", id="settings are there"),
    ],
)
def test_what_is_wrong_is_said_and_where(run: Run, home: Path, arguments: tuple[str, ...], said: str) -> None:
    write_sessions(home / "own", 1)
    (home / "file").write_text("")
    found = run("lab", *arguments)
    assert found.exit_code == 2
    assert said in " ".join(found.stderr.split())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written(run: Run, home: Path) -> None:
    write_sessions(home / "own", 1)
    (home / "closed").mkdir(mode=0o500)
    found = run("lab", "sweep", "own", "--out", "closed")
    assert found.exit_code == 2 and "cannot be written" in found.stderr


def test_tuning_writes_settings_that_load_and_never_over_a_file(run: Run, home: Path) -> None:
    write_sessions(home / "own", 2, turns=4)
    arguments = ("lab", "tune", "own", "--out", "coldpress.toml", "--jobs", "1")
    found = run(*arguments, "--json")
    assert found.exit_code == 0, found.output
    said = json.loads(found.stdout)
    assert said["settings"] is None and said["chosen"] == "defaults", "two recordings say too little"
    assert said["tuning_sessions"] + said["held_out_sessions"] == 2
    assert run("check", "Read", "--config", "coldpress.toml").exit_code == 0
    assert run(*arguments).exit_code == 2
    text = run(*arguments, "--force")
    assert text.exit_code == 0 and "Leave the defaults" in text.stdout
