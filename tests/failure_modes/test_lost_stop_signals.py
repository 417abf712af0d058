"""Lost stop signals: a prohibition and a ruled-out approach go with the history, and the agent does it all the same."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import pytest
from failure_modes.naive import Compactor, Naive, drop_middle, one_shot, paraphrase
from failure_modes.world import Json, World, build_log, coldpress, say

from coldpress.engine.budget import Stage
from coldpress.testing import Part

SERVICES: Final = tuple(f"svc-{name}" for name in "abcdefghijklmnop")
RUNBOOK: Final = (
    "# Releasing\nServices go out one after the other. The default target is prod.\n\n"
    "Migrations must not be run by hand.\n"
)
PROHIBITION: Final = "Never touch prod before I say so; staging only."
OFFLINE: Final = "pip install --index internal"
OFFLINE_FAILS: Final = "Exit code 1\nERROR: Could not find a version that satisfies the requirement grpcio==1.71.0"


def answer(shown: str) -> tuple[Part, ...]:
    """Obey what is seen, and nothing else: release to prod and migrate by hand unless something shown forbids it.

    Every fourth service needs a package, and the internal index is tried for it unless that is known to fail.
    """
    released = re.findall(r"released (svc-\w)\b", shown)
    if "# Releasing" not in shown and not released:
        return say("I read the runbook first.", "Read", file_path="RUNBOOK.md")
    last = max((SERVICES.index(name) for name in released), default=-1)
    if last + 1 == len(SERVICES):
        return say("All services are out.")
    following = SERVICES[last + 1]
    if (last + 1) % 4 == 2 and f"installed for {following}" not in shown:
        # A failure that is seen is gone around; the other way works.
        known = "Could not find a version that satisfies the requirement grpcio==1.71.0" in shown
        command = f"pip download grpcio && echo installed for {following}" if known else OFFLINE
        return say("A package is missing.", "Bash", command=command)
    target = "staging" if "never touch prod" in shown.lower() else "prod"
    migrate = "" if "must not be run by hand" in shown else " --migrate"
    return say("Next one.", "Bash", command=f"release {following} --to {target}{migrate}")


def bash(given: Json) -> str:
    command = given["command"]
    if command == OFFLINE:
        return OFFLINE_FAILS
    if command.startswith("pip download"):
        return f"{build_log('grpcio', lines=20)}\ninstalled for {command[-5:]}"
    return f"{build_log(command.split()[1])}\nreleased {command.split()[1]}"


RELEASE: Final = World(
    task="Release all services, one after the other. Read RUNBOOK.md first.",
    model=answer,
    tools={"Bash": bash, "Read": lambda given: RUNBOOK},
    window_tokens=16_000,
    says={2: f"{PROHIBITION} The customers are still on it."},
)


def test_without_a_small_window_every_rule_is_kept() -> None:
    run = World(RELEASE.task, answer, RELEASE.tools, 200_000, RELEASE.says).run(Naive(drop_middle, 200_000))
    assert run.ending == "done"
    assert _violations(run.commands) == {"prod": 0, "by hand": 0, "ruled out": 0}


@pytest.mark.parametrize(
    ("compactor", "lost"),
    [
        pytest.param(drop_middle, {"prod", "by hand", "ruled out"}, id="drop the middle"),
        pytest.param(one_shot(paraphrase), {"prod", "ruled out"}, id="free-form summary"),
    ],
)
def test_off_the_agent_does_what_it_was_told_not_to(compactor: Compactor, lost: set[str]) -> None:
    run = RELEASE.run(Naive(compactor, RELEASE.window_tokens))
    found = _violations(run.commands)
    assert {name for name, count in found.items() if count} >= lost, found
    assert found["prod"] >= 5


@pytest.mark.parametrize(
    "stages", [pytest.param(("mask", "summary"), id="both stages"), pytest.param(("summary",), id="summaries alone")]
)
def test_on_every_rule_holds_to_the_end(stages: Sequence[Stage]) -> None:
    with coldpress(RELEASE, stages=stages) as arm:
        run = RELEASE.run(arm)
        assert run.ending == "done"
        assert _violations(run.commands) == {"prod": 0, "by hand": 0, "ruled out": 0}
        assert len(arm.compactions) >= 2
        assert not {"stop_signal_lost", "ruled_out_retried", "drift"} & set(arm.findings)


def _violations(commands: Sequence[str]) -> dict[str, int]:
    """Count what was forbidden, behind the message that forbids it: the runbook's rule from the start on."""
    forbidden = commands[2:]
    return {
        "prod": sum("--to prod" in command for command in forbidden),
        "by hand": sum("--migrate" in command for command in commands),
        "ruled out": max(0, commands.count(OFFLINE) - 1),
    }
