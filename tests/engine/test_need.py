"""A result is needed less once its text is shown again, its call made again, or its file changed."""

from __future__ import annotations

from typing import Any

import pytest
from bodies import conversation
from strategies import Style, anthropic_request
from strategies import write as write_json

from coldpress.engine.need import reasons
from coldpress.engine.plan import placed_edit, propose
from coldpress.engine.policy import Policy
from coldpress.engine.session import AgedEdits, Session
from coldpress.model.conversation import Conversation
from coldpress.model.edits import Standing

PLAIN = Style(seed=0, spaced=False, ascii_only=False, lone_surrogates=False)
Call = tuple[str, dict[str, Any], str] | tuple[str, dict[str, Any], str, bool]


def numbered(first: int, last: int) -> str:
    return "\n".join(f"{number:6}\tvalue_{number} = compute({number})" for number in range(first, last + 1))


def read(path: str, text: str | None = None, **more: object) -> Call:
    return "Read", {"file_path": path, **more}, numbered(1, 40) if text is None else text


def edited(path: str, *, failed: bool = False) -> Call:
    return "Edit", {"file_path": path, "old_string": "a", "new_string": "b"}, "done", failed


def bash(command: str) -> Call:
    return "Bash", {"command": command}, "\n".join(f"step {number} is done" for number in range(60))


def talk(calls: list[Call], **top: object) -> tuple[Conversation, Session]:
    """A conversation of these calls, one a turn."""
    messages: list[dict[str, object]] = [{"role": "user", "content": "task"}]
    for number, (tool, given, text, *failed) in enumerate(calls):
        use = {"type": "tool_use", "id": f"t{number}", "name": tool, "input": given}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": text, "is_error": failed == [True]}
        messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    found = conversation(write_json(anthropic_request(messages, **top), PLAIN))
    return found, propose(found, Session(), {}, Policy(()), "observe").session


def why_of_first(calls: list[Call], **top: object) -> str:
    """The reason for the first result of a conversation of these calls."""
    found, session = talk(calls, **top)
    return reasons(found, session)[session.shown[0].key]


LONG = numbered(1, 2000)


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        pytest.param([read("src/a.py"), bash("cd src && sed -i s/a/b/ a.py")], "stale", id="changed by a command line"),
        pytest.param(
            [read("a.py"), ("Edit", {"file_path": "a.py"}, "String to replace not found")],
            "refetchable",
            id="an edit that says it failed, without a flag",
        ),
        pytest.param(
            [read("a.py"), ("Bash", {"command": "sed -i s/a/b/ a.py && make"}, "make: *** [all] Error 1", True)],
            "stale",
            id="a command line that failed may have changed it by then",
        ),
        pytest.param([bash("make test"), bash("make   test")], "repeated", id="the same call, spaced another way"),
        pytest.param([read("a.py")], "refetchable", id="a file that was read once can be read again"),
        pytest.param([read("a.py"), read("a.py")], "superseded", id="a later read of the whole file"),
        pytest.param([read("a.py"), read("./a.py")], "superseded", id="the same path written otherwise"),
        pytest.param([read("a.py"), read("b.py")], "refetchable", id="a read of another file"),
        pytest.param(
            [read("a.py", numbered(10, 49), offset=10, limit=40), read("a.py")],
            "superseded",
            id="a range, then the whole file",
        ),
        pytest.param(
            [read("a.py"), read("a.py", numbered(10, 49), offset=10, limit=40)],
            "refetchable",
            id="the whole file, then a range",
        ),
        pytest.param(
            [read("a.py", numbered(20, 59), offset=20, limit=40), read("a.py", numbered(10, 69), offset=10, limit=60)],
            "superseded",
            id="a range, then one around it",
        ),
        pytest.param(
            [read("a.py", numbered(2100, 2140), offset=2100, limit=41), read("a.py", LONG)],
            "refetchable",
            id="a whole read that may have come up to its limit shows no more than its numbers",
        ),
        pytest.param([read("a.py"), edited("a.py")], "stale", id="the file was changed"),
        pytest.param([read("a.py"), edited("b.py")], "refetchable", id="another file was changed"),
        pytest.param([read("a.py"), edited("a.py", failed=True)], "refetchable", id="an edit failed"),
        pytest.param([read("a.py"), edited("a.py"), read("a.py")], "superseded", id="changed and read again"),
        pytest.param(
            [read("a.py"), ("Read", {"file_path": "a.py"}, numbered(1, 40), True)],
            "refetchable",
            id="a failed read shows nothing",
        ),
        pytest.param([bash("make")], "other", id="a log that nothing was done about"),
        pytest.param([bash("make"), edited("a.py")], "acted_on", id="a log, then a change"),
        pytest.param([bash("make"), edited("a.py"), bash("make")], "repeated", id="a command that was run again"),
        pytest.param(
            [
                ("Grep", {"pattern": "x", "path": "s"}, numbered(1, 40)),
                ("Grep", {"path": "s", "pattern": "x"}, numbered(1, 40)),
            ],
            "repeated",
            id="the order of arguments does not make another call",
        ),
        pytest.param([bash("cat a.py"), bash("cd . && cat a.py")], "superseded", id="a file read by the shell, twice"),
        pytest.param([bash("sed -n '5,20p' a.py"), bash("cat a.py")], "superseded", id="lines of sed, then the file"),
        pytest.param([bash("cat a.py"), bash("sed -n '5,20p' a.py")], "refetchable", id="the file, then lines of sed"),
        pytest.param(
            [read("a.py"), ("apply_patch", {"input": "*** Begin Patch\n*** Update File: a.py\n*** End Patch"}, "ok")],
            "stale",
            id="a patch names the file it changes",
        ),
    ],
)
def test_reason(calls: list[Call], expected: str) -> None:
    assert why_of_first(calls) == expected


def test_a_tool_that_is_no_longer_offered_cannot_be_called_again() -> None:
    assert why_of_first([read("a.py")], tools=[]) == "other"


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        pytest.param([read("a.py"), read("a.py")], "refetchable", id="a later read that is masked shows nothing"),
        pytest.param([bash("make"), bash("make")], "other", id="nor does a later log that is"),
    ],
)
def test_only_what_is_still_shown_takes_the_place_of_a_result(calls: list[Call], expected: str) -> None:
    found, session = talk(calls)
    later = session.shown[1]
    at = {message.chain: index for index, message in enumerate(found.messages)}
    edit = placed_edit(found, at, Standing(later.key, "one line", "mask"))
    assert edit is not None
    after = session.with_aged([AgedEdits(len(found.messages) - 1, (edit,))])
    assert reasons(found, after)[session.shown[0].key] == expected
