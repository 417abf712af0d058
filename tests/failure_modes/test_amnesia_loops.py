"""Amnesia loops: an agent makes a call again because neither its result nor what it found is shown any more."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from failure_modes.naive import Naive, drop_middle, one_shot, paraphrase
from failure_modes.world import Model, World, coldpress, say, source

from coldpress.engine.budget import Stage
from coldpress.testing import Part

MODULES = tuple(f"src/billing/m{number:02}.py" for number in range(1, 19))
OWNERS = {path: f"{number * 0x9E3779B1 & 0xFFFFFFF:07x}a" for number, path in enumerate(MODULES, start=1)}
"""Which commit every module is pinned to: only the module itself says so."""


def auditor() -> Model:
    """Reads every module of which it sees neither text nor finding, writes down what it found, and then reports."""

    def answer(shown: str) -> tuple[Part, ...]:
        found = dict(re.findall(r"(src/billing/m\d\d\.py) is pinned to ([0-9a-f]{8})", shown))
        fresh = re.findall(r"# (src/billing/m\d\d\.py): pinned = ([0-9a-f]{8})", shown)
        told = [f"{path} is pinned to {commit}." for path, commit in fresh if path not in found]
        known = {**found, **dict(fresh)}
        missing = next((path for path in MODULES if path not in known), None)
        if missing is None:
            return say(" ".join(f"{path}={known[path]}" for path in MODULES))
        return say(" ".join(told) or "I begin.", "Read", file_path=missing)

    return answer


AUDIT = World(
    task="Audit src/billing and report the pinned commit of every module.",
    model=auditor(),
    tools={"Read": lambda given: source(given["file_path"], lines=70, fact=_pin(given["file_path"]))},
    window_tokens=12_000,
)


def _pin(path: str) -> str:
    return f"# {path}: pinned = {OWNERS[path]}"


@pytest.mark.parametrize(
    "compactor",
    [pytest.param(drop_middle, id="drop the middle"), pytest.param(one_shot(paraphrase), id="free-form summary")],
)
def test_off_the_agent_reads_the_same_files_over_and_over(compactor: object) -> None:
    run = AUDIT.run(Naive(compactor, AUDIT.window_tokens))  # type: ignore[arg-type]
    assert run.ending == "gave up"
    assert len(run.asked) == AUDIT.most_requests == 60
    assert run.repeats == 60 - len({str(call) for call in run.calls}) >= 40


@pytest.mark.parametrize(
    "stages", [pytest.param(("mask", "summary"), id="both stages"), pytest.param(("summary",), id="summaries alone")]
)
def test_on_every_file_is_read_once(stages: Sequence[Stage]) -> None:
    with coldpress(AUDIT, stages=stages) as arm:
        run = AUDIT.run(arm)
        assert run.ending == "done"
        assert run.repeats == 0
        assert len(run.asked) == len(MODULES) + 1
        assert run.answer == " ".join(f"{path}={commit}" for path, commit in OWNERS.items())
        assert len(arm.compactions) >= 2, "the window was far too small for all of it"
        assert "amnesia_loop" not in arm.findings


def test_the_watchers_see_a_loop_that_nothing_can_prevent() -> None:
    """An agent that wants every result itself, in a window that cannot hold them all, is told of in the ledger."""

    def answer(shown: str) -> tuple[Part, ...]:
        raw = dict(re.findall(r"# (src/billing/m\d\d\.py): pinned = ([0-9a-f]{8})", shown))
        missing = next((path for path in MODULES if path not in raw), None)
        return say("I look.", "Read", file_path=missing) if missing is not None else say("Done.")

    stubborn = World(AUDIT.task, answer, AUDIT.tools, AUDIT.window_tokens, most_requests=30)
    with coldpress(stubborn) as arm:
        run = stubborn.run(arm)
        assert run.ending == "gave up"
        # The call that ended the run was never answered, so no request tells of it.
        assert arm.findings.count("amnesia_loop") == run.repeats - 1 > 5
