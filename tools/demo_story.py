"""What the agent of the demo recording says and does, step by step; what the tools answer is not written here."""

from __future__ import annotations

from dataclasses import dataclass, field

SYSTEM = (
    "You are a coding agent in a Python repository. Look before you change anything, change as little as you can, "
    "and prove it with the tests. Working directory: /demo."
)

TASK = (
    "I want to know which tools an agent used most in a request. Give `Conversation` a method `calls_by_tool()` that "
    "returns the tool names with their number of calls, most used first, equal numbers in order of name. Tests "
    "first, please, and the suites of model, wire and measure have to stay green."
)

FOLLOW_UP = (
    "Good. One more thing: does anybody else in the code base count calls or results per tool by hand, so that this "
    "could replace it? Only tell me, change nothing."
)

SOURCE = "src/coldpress/model/conversation.py"
TEST = "tests/model/test_calls_by_tool.py"
SUITE = "python -m pytest -vv tests/model tests/wire tests/measure"

TEST_TEXT = '''"""The tools of a request, most used first."""

from __future__ import annotations

import pytest

from coldpress.model.conversation import CallId, Conversation, Head, Message, Span, Text, TextLiteral
from coldpress.model.conversation import ToolCall, ToolName


def conversation(*messages: tuple[str, ...]) -> Conversation:
    """A request with one assistant message per argument, calling these tools in this order."""
    head = Head(None, b"", b"", (), False, False, None)
    said = tuple(
        Message(
            "assistant",
            tuple(ToolCall(CallId(f"{i}.{j}"), ToolName(tool), "{}") for j, tool in enumerate(tools)),
            b"",
            b"",
            Span(0, 0),
        )
        for i, tools in enumerate(messages)
    )
    return Conversation("anthropic", head, said, b"")


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        pytest.param((), (), id="no message, no tools"),
        pytest.param((("Read",),), (("Read", 1),), id="one call"),
        pytest.param((("Read", "Bash"), ("Read",)), (("Read", 2), ("Bash", 1)), id="calls add up over messages"),
        pytest.param((("Bash",), ("Read", "Read")), (("Read", 2), ("Bash", 1)), id="most used first"),
        pytest.param((("Read",), ("Bash",)), (("Bash", 1), ("Read", 1)), id="equal numbers in order of name"),
        pytest.param((("read", "Read"),), (("Read", 1), ("read", 1)), id="names are taken as sent"),
    ],
)
def test_calls_by_tool(messages: tuple[tuple[str, ...], ...], expected: tuple[tuple[str, int], ...]) -> None:
    assert conversation(*messages).calls_by_tool() == expected


def test_text_is_no_call() -> None:
    text = Text(TextLiteral(0, Span(0, 2)))
    head = Head(None, b"", b"", (), False, False, None)
    said = Message("assistant", (text,), b"", b"", Span(0, 0))
    assert Conversation("anthropic", head, (said,), b"").calls_by_tool() == ()
'''

ANCHOR = """    @property
    def last_assistant(self) -> int:
"""

FIRST_TRY = '''    def calls_by_tool(self) -> tuple[tuple[ToolName, int], ...]:
        """Count the tool calls of the model by tool, most used first, equal numbers in order of name."""
        blocks = (block for message in self.messages for block in message.blocks)
        counts = Counter(block.name for block in blocks if isinstance(block, ToolCall))
        return tuple(counts.most_common())

'''


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call; `fails` says whether it is meant to, which the recorder checks."""

    tool: str
    arguments: dict[str, object]
    fails: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One reply of the agent; `prompt` is what the user says before it, `pause_seconds` how long that took."""

    say: str
    calls: tuple[Call, ...] = field(default=())
    prompt: str | None = None
    pause_seconds: float = 0.0


def bash(command: str, *, fails: bool = False) -> Call:
    """Run a shell command."""
    return Call("Bash", {"command": command}, fails)


def read(path: str, **lines: int) -> Call:
    """Read a file, or `limit` lines of it from line `offset` on."""
    return Call("Read", {"file_path": path, **lines})


def edit(path: str, old: str, new: str) -> Call:
    """Replace the only occurrence of a text."""
    return Call("Edit", {"file_path": path, "old_string": old, "new_string": new})


STORY: tuple[Step, ...] = (
    Step("I'll look at how the repository is laid out.", (bash("ls -R src tests"),), TASK),
    Step(
        "The type is in `model`. Let me see who uses it and how tool calls are represented.",
        (
            Call(
                "Grep",
                {
                    "pattern": "ToolCall|ToolResult|Conversation|Message",
                    "path": ".",
                    "output_mode": "content",
                    "-n": True,
                },
            ),
            Call("Glob", {"pattern": "**/*.py", "path": "tests"}),
        ),
    ),
    Step("Now the type itself.", (read(SOURCE),)),
    Step("Before I change anything: are the suites green?", (bash(SUITE),)),
    Step(
        "Green. I want to see how blocks come to be, to know what counts as a call.",
        (read("src/coldpress/wire/anthropic.py"), read("src/coldpress/wire/format.py")),
    ),
    Step(
        "Calls are `ToolCall` blocks only. The tests first.",
        (Call("Write", {"file_path": TEST, "content": TEST_TEXT}),),
    ),
    Step("They have to fail now.", (bash(f"python -m pytest -vv {TEST}", fails=True),)),
    Step(
        "As expected: there is no such method. I'll add it before `last_assistant`.",
        (
            edit(SOURCE, ANCHOR, FIRST_TRY + ANCHOR),
            edit(
                SOURCE,
                "from dataclasses import dataclass, field\n",
                "from collections import Counter\nfrom dataclasses import dataclass, field\n",
            ),
        ),
    ),
    Step("Again.", (bash(f"python -m pytest -vv {TEST}", fails=True),)),
    Step(
        "`most_common` keeps equal numbers in the order in which they came. I have to sort by number and then by name.",
        (
            edit(
                SOURCE,
                "        return tuple(counts.most_common())\n",
                "        return tuple(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))\n",
            ),
        ),
    ),
    Step("Let me read the file once more as it is now.", (read(SOURCE),)),
    Step("The new tests, then everything.", (bash(f"python -m pytest -vv {TEST}"),)),
    Step("And the three suites.", (bash(SUITE),)),
    Step("Last, the whole change.", (bash("git diff && git status --short"),)),
    Step(
        "`Conversation.calls_by_tool()` is there: tool names as sent, most used first, equal numbers in order of name. "
        "Its seven tests failed before and pass now, and the three suites are green.",
    ),
    Step(
        "Let me look for counting by hand.",
        (Call("Grep", {"pattern": "Counter|counts|\\+= 1", "path": "src", "output_mode": "content", "-n": True}),),
        FOLLOW_UP,
        420.0,
    ),
    Step(
        "Some of these are in the importer of the lab. I'll read the part that counts.",
        (read("src/coldpress/lab/importers/counts.py"), read("src/coldpress/wire/format.py", offset=1, limit=120)),
    ),
    Step(
        "Who reads blocks of a conversation at all?",
        (Call("Grep", {"pattern": "\\.blocks|\\.results", "path": ".", "output_mode": "content", "-n": True}),),
    ),
    Step(
        "Nobody counts calls per tool by hand. The counters in the lab's importers count lines of a file by kind, and "
        "the others count bytes or steps of a loop. I changed nothing.",
    ),
)
