"""What a scripted model means by its calls, in terms of the tools that a client offers."""

from __future__ import annotations

import pytest

from coldpress.testing.offered import Offered, resolve, responses_tools
from coldpress.testing.script import Call, Read, Shell

TEXT = {"type": "string"}
SCHEMA = {
    "type": "object",
    "properties": {"intent": TEXT, "pattern": TEXT, "path": TEXT, "limit": {"type": "integer"}},
    "required": ["intent", "pattern", "limit"],
}
TOOLS = (Offered("grep", SCHEMA),)


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        pytest.param(
            Call("grep", {"pattern": "x", "limit": 1}, "Find x"),
            {"intent": "Find x", "pattern": "x", "limit": 1},
            id="a required text that is missing gets the reason, in front of all else",
        ),
        pytest.param(Call("grep", {"pattern": "x"}), {"pattern": "x"}, id="without a reason nothing is filled in"),
        pytest.param(
            Call("grep", {"intent": "Mine", "pattern": "x"}, "Find x"),
            {"intent": "Mine", "pattern": "x"},
            id="what the call says itself stays, and numbers are no place for a reason",
        ),
        pytest.param(Call("ls", {}, "Look"), {}, id="a tool that is not offered asks for nothing"),
    ],
)
def test_a_call_says_why_it_is_made_where_it_is_asked_to(call: Call, arguments: dict[str, object]) -> None:
    found = resolve(call, TOOLS)
    assert isinstance(found, Call)
    assert list(found.arguments.items()) == list(arguments.items())


def function(name: str, **properties: object) -> dict[str, object]:
    return {"type": "function", "name": name, "parameters": {"type": "object", "properties": properties}}


def test_tools_of_the_responses_wire_are_found_wherever_they_stand() -> None:
    body: dict[str, object] = {
        "tools": [
            function("exec_command", cmd=TEXT),
            {"type": "namespace", "name": "agents", "tools": [function("spawn")]},
            {"type": "custom", "name": "apply_patch"},
            {"type": "local_shell"},
            {"type": "web_search"},
        ],
        "input": [{"type": "additional_tools", "tools": [function("late")]}, {"type": "message", "tools": [{}]}],
    }
    found = responses_tools(body)
    assert [(tool.name, tool.kind, tool.namespace) for tool in found] == [
        ("exec_command", "function", None),
        ("spawn", "function", "agents"),
        ("apply_patch", "custom", None),
        ("local_shell", "local_shell", None),
        ("late", "function", None),
    ]
    assert resolve(Shell("ls"), found) == Call("exec_command", {"cmd": "ls"})
    assert resolve(Read("a.py"), found) == Call("exec_command", {"cmd": "cat a.py"})


@pytest.mark.parametrize(
    ("tool", "call"),
    [
        pytest.param({"type": "shell"}, Call("shell", {"command": "ls"}), id="a hosted shell"),
        pytest.param(
            {"type": "local_shell"}, Call("local_shell", {"command": ["bash", "-lc", "ls"]}), id="a local one"
        ),
        pytest.param({"type": "custom", "name": "bash"}, Call("bash", {"command": "ls"}), id="free text"),
    ],
)
def test_shells_without_a_schema_run_commands_too(tool: dict[str, object], call: Call) -> None:
    assert resolve(Shell("ls"), responses_tools({"tools": [tool]})) == call
