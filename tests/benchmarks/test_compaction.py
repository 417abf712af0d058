"""The benchmark of compaction prints its arms, its pairs and its conditions, as Markdown and as JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "benchmarks" / "compaction.py"
DEMO = ROOT / "src" / "coldpress" / "demo"
WANTED = ("--tariff", "deepseek-v4-pro", "--window", "60", "--arm", "structural", "--arm", "drop")

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it reads Linux's process files")


def run(*options: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, SCRIPT, *options], capture_output=True, text=True, check=False)


def test_every_pair_stands_in_the_json_with_its_arm_its_window_and_its_bills() -> None:
    done = run(DEMO, *WANTED, "--least-requests", "10", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["recordings"], found["requests"]) == (1, 19)
    groups = {(one["arm"], one["window_share"]): one for one in found["groups"]}
    assert list(groups) == [("no budget", None), ("structural", 0.6), ("drop", 0.6)]
    (pair,) = groups["structural", 0.6]["recordings"]
    assert (pair["over"], pair["invalid"]) == ([], [])
    assert pair["control_over"] > 0
    assert 0 < pair["ours_usd"] < pair["control_usd"]
    assert "summarised" in groups["structural", 0.6]["reasons"]
    assert "deepseek-v4-pro, recording, longest prompt 49,601" in done.stderr


def test_the_page_says_what_it_was_made_with_and_shows_the_pairs() -> None:
    done = run(DEMO, *WANTED, "--least-requests", "10")
    assert done.returncode == 0, done.stderr
    assert "- loop: open; simulated, input only; summaries by rules, no model asked" in done.stdout
    assert "10,000 resamples, seed 166" in done.stdout
    pairs = done.stdout.split("## Pairs")[1]
    assert [row.split(" | ")[3] for row in pairs.strip().splitlines()[2:]] == ["no budget", "structural", "drop"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ((DEMO, *WANTED), "no recording with 40 requests or more; see --least-requests"),
        ((DEMO / "nowhere",), "no such folder"),
        ((DEMO, "--window", "none"), "'none' is no window; give percent of the longest prompt, 1 or more"),
    ],
    ids=["too short", "no folder", "no window"],
)
def test_what_cannot_be_played_is_told(options: tuple[str | Path, ...], told: str) -> None:
    done = run(*options)
    assert done.returncode != 0
    assert told in done.stderr
    assert not done.stdout
