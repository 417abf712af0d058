"""Which failures still stand: looked up, it is what comparing every run with every later one says."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldpress.engine.summary.commands import Command, Passed

OPERANDS = ("./...", ".", "", "a", "./a/", "a/b.py", "a/b.py::t", "a/b.py::t::u", "a/bc", "./pkg/...", "pkg/x", "/")

COMMANDS = st.builds(
    Command, st.sampled_from(("pytest", "go test")), st.frozensets(st.sampled_from(OPERANDS), max_size=3)
)


def noted(commands: Sequence[Command]) -> Passed:
    """What is known after some runs."""
    passed = Passed()
    for command in commands:
        passed.note(command)
    return passed


@given(st.lists(COMMANDS, max_size=6), COMMANDS)
def test_a_look_up_says_what_a_comparison_with_each_does(commands: list[Command], other: Command) -> None:
    assert noted(commands).covers(other) == any(command.covers(other) for command in commands)


@pytest.mark.parametrize(
    ("passed", "failed", "covers"),
    [
        (("a.py", "b.py"), ("a.py",), True),
        (("a.py",), ("a.py", "b.py"), False),
        (("tests",), ("tests/a.py::t",), True),
        ((), ("tests/a.py",), True),
        (("tests",), (), False),
    ],
    ids=["one of two", "two by one", "in a folder", "by a run of all", "all by a folder"],
)
def test_what_covers_what(passed: tuple[str, ...], failed: tuple[str, ...], *, covers: bool) -> None:
    known = noted([Command("pytest", frozenset(passed))])
    assert known.covers(Command("pytest", frozenset(failed))) is covers


def test_two_runs_do_not_cover_together_what_neither_does() -> None:
    known = noted([Command("pytest", frozenset({"a.py"})), Command("pytest", frozenset({"b.py"}))])
    assert not known.covers(Command("pytest", frozenset({"a.py", "b.py"})))
