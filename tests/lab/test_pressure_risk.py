"""A result is needed where a later call quotes it and nothing in between shows the same text."""

from __future__ import annotations

import json

import pytest

from coldpress.lab.pressure_risk import Sample, samples
from coldpress.model.trajectory import Trajectory, Turn
from coldpress.model.usage import Usage

LINES = [f"    value_{number} = compute_something_rather_long({number})" for number in range(40)]
SOURCE = "\n".join(f"{number:6}\t{line}" for number, line in enumerate(LINES, 1))
READ = ("Read", {"file_path": "a.py"}, SOURCE)
OLD = "\n".join(LINES[3:6])
EDIT = ("Edit", {"file_path": "a.py", "old_string": OLD, "new_string": "x"}, "done")
LIST = ("Bash", {"command": "ls"}, "a.py")


def run(*calls: tuple[str, dict[str, str], str], shared_turns: int = 0) -> Trajectory:
    """A run that makes one call a turn, and then says that it is done."""
    turns, added = list[Turn](), {"role": "user", "content": [{"type": "text", "text": "task"}]}
    for number, (tool, given, text) in enumerate(calls):
        use = {"type": "tool_use", "id": f"t{number}", "name": tool, "input": given}
        turns.append(turn(added, use))
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": text}
        added = {"role": "user", "content": [result]}
    turns.append(turn(added, {"type": "text", "text": "done"}))
    return Trajectory("run", "s", side_chain=False, turns=tuple(turns), shared_turns=shared_turns)


def turn(added: dict[str, object], block: dict[str, object]) -> Turn:
    reply = {"role": "assistant", "content": [block]}
    return Turn((json.dumps(added),), json.dumps(reply), "claude-sonnet-4-6", None, None, Usage())


@pytest.mark.parametrize(
    ("calls", "quoted", "needed"),
    [
        pytest.param([READ, LIST, EDIT], True, True, id="an edit quotes the only read"),
        pytest.param([READ, LIST, LIST], False, False, id="nothing quotes it"),
        pytest.param([READ, READ, EDIT], True, False, id="a later read shows the same"),
        pytest.param([READ, EDIT, LIST], False, False, id="an edit made at once is not later"),
        pytest.param([READ, EDIT, EDIT], True, False, id="an earlier edit holds the text of a second one"),
        pytest.param(
            [READ, LIST, ("Bash", {"command": f"cat > b.py <<E\n{LINES[7]}\nE"}, "ok")],
            True,
            True,
            id="a long line in any call's input is a quote",
        ),
        pytest.param(
            [READ, ("Write", {"file_path": "b.py", "content": LINES[7]}, "ok"), ("Bash", {"command": LINES[7]}, "")],
            True,
            False,
            id="what the agent has written itself since holds the line too",
        ),
    ],
)
def test_what_is_needed(calls: list[tuple[str, dict[str, str], str]], quoted: bool, needed: bool) -> None:
    found = [sample for sample in samples(run(*calls, LIST), [1]) if sample.is_source]
    assert (found[0].quoted, found[0].needed) == (quoted, needed)


def test_every_age_is_looked_at_once_and_shared_turns_are_left_to_their_own_run() -> None:
    calls = [READ, LIST, LIST, LIST, LIST]
    ages = [sample.age for sample in samples(run(*calls), [1, 3])]
    assert ages == [1, 3]
    assert [sample.age for sample in samples(run(*calls, shared_turns=3), [1, 3])] == [3]


def test_small_and_failed_results_are_left_out() -> None:
    failure = "E   assert 1 == 2\n" + "\n".join(LINES) + "\n1 failed in 0.1s"
    assert list(samples(run(LIST, ("Bash", {"command": "pytest"}, failure), LIST, LIST), [1, 2])) == []


def test_a_sample_says_why() -> None:
    found = list(samples(run(READ, EDIT, LIST, LIST), [2]))
    assert found == [Sample("stale", True, 2, len(SOURCE.encode()), quoted=False, needed=False)]
