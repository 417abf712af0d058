"""What a scripted model means by its calls, in terms of the tools that a client offers."""

from __future__ import annotations

import pytest

from coldpress.testing.offered import Offered, resolve
from coldpress.testing.script import Call

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
