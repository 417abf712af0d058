"""Which calls are the same one, and which files a call changes."""

from __future__ import annotations

import json

import pytest

from coldpress.engine.calls import asked, exact_name
from coldpress.engine.catalogue import classify
from coldpress.engine.changes import changed
from coldpress.engine.command_lines import line_of


def named(tool: str, **given: object) -> bytes:
    arguments = json.dumps(given)
    return exact_name(classify(tool, arguments), arguments)


def test_the_very_call_is_named_alike_however_it_is_spaced_and_remarked() -> None:
    assert named("Bash", command="make  test\n", description="x") == named("bash", command="make test", timeout=9)
    assert named("Edit", file_path="a", old_string="b") == named("Edit", old_string="b", file_path="a")
    assert named("Bash", command="make test") != named("Bash", command="make test | tail -5")
    assert named("Edit", file_path="a", old_string="b") != named("Write", file_path="a", old_string="b")


def test_a_command_in_another_folder_is_another_call() -> None:
    one, other = ({"cmd": "make test", "workdir": folder} for folder in ("/a", "/b"))
    assert named("exec_command", **one) != named("exec_command", **other)
    folders = []
    for given in (one, {"cmd": "cd x && make test", "workdir": "/a"}):
        line = json.dumps(given)
        found = asked(classify("exec_command", line), line)
        assert found is not None
        folders.append(found.folder)
    assert folders == ["/a", "/a/x"]


@pytest.mark.parametrize(
    "line",
    [
        "make test",
        "cd x && make test",
        "make test 2>&1 | tail -20",
        "make test | head -5; echo done",
        "make test >/dev/null",
    ],
)
def test_a_command_in_any_guise_has_one_form(line: str) -> None:
    assert line_of(line).text == "make test"


@pytest.mark.parametrize(
    ("tool", "given", "paths", "places", "names"),
    [
        pytest.param("Edit", {"file_path": "src/a.py"}, ("src/a.py",), ("src/a.py",), {"a.py"}, id="an edit"),
        pytest.param(
            "apply_patch",
            {"input": "*** Begin Patch\n*** Update File: a.py\n*** Move to: b.py\n@@\n*** Add File: c.py\n"},
            ("a.py", "b.py", "c.py"),
            ("a.py", "b.py", "c.py"),
            {"a.py", "b.py", "c.py"},
            id="a patch of several files",
        ),
        pytest.param(
            "Bash",
            {"command": "cd src && sed -i s/a/b/ ./x.py > /dev/null"},
            ("./x.py",),
            ("src/x.py",),
            {"x.py"},
            id="a command line in a folder",
        ),
        pytest.param("Bash", {"command": "git commit -m x"}, (), (), set(), id="a change that names no file"),
    ],
)
def test_what_a_call_changes(
    tool: str, given: dict[str, str], paths: tuple[str, ...], places: tuple[str, ...], names: set[str]
) -> None:
    arguments = json.dumps(given)
    found = changed(classify(tool, arguments), arguments)
    assert found is not None
    assert (found.paths, found.places) == (paths, places)
    assert set(found.names) >= names


@pytest.mark.parametrize(("tool", "given"), [("Read", {"file_path": "a"}), ("Bash", {"command": "make"}), ("Bash", {})])
def test_other_calls_change_nothing(tool: str, given: dict[str, str]) -> None:
    arguments = json.dumps(given)
    assert changed(classify(tool, arguments), arguments) is None
