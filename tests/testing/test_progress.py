"""A scripted task goes on where the model said it was, also where older messages were replaced by a summary."""

from __future__ import annotations

import pytest
from testing.wires import CHAT_TOOLS, TOOLS, Json, user

from coldpress.testing import Asked, Say, Script, Shell, Turn, said_steps, task

DONE = "The task is done."
STEPS = task(Shell("one"), Shell("two"), Shell("three"), done=DONE)
BY_WORD = Script(turns=STEPS.turns, closing=STEPS.closing, progress=said_steps)


def asked(*messages: Json, wire: str = "anthropic", calls_made: int = 0) -> Asked:
    body = {"messages": list(messages), "tools": TOOLS if wire == "anthropic" else CHAT_TOOLS}
    return Asked(wire, body, 0, calls_made, ("Bash",))  # type: ignore[arg-type]


def assistant(content: object) -> Json:
    return {"role": "assistant", "content": content}


def blocks(*texts: str) -> list[Json]:
    return [*({"type": "text", "text": text} for text in texts), {"type": "tool_use", "id": "t", "input": {}}]


@pytest.mark.parametrize(
    ("messages", "steps"),
    [
        pytest.param([user("go")], 0, id="nothing was said"),
        pytest.param([user("go"), assistant("Step 2 of 3.")], 2, id="a string"),
        pytest.param([user("go"), assistant(blocks("Well.", "Step 2 of 3."))], 2, id="blocks"),
        pytest.param([user("go"), assistant("Step 1 of 3."), assistant("Step 2 of 3.")], 2, id="the last counts"),
        pytest.param([user("go"), assistant("Step 2 of 3."), assistant("Hm.")], 2, id="others say nothing of it"),
        pytest.param([user("go"), assistant("Step 1 of 3."), user("Step 3 of 3.")], 1, id="not what a user says"),
        pytest.param([user("go"), assistant("Step 12 of 30.")], 12, id="two digits"),
        pytest.param([user("go"), assistant(None)], 0, id="no text at all"),
    ],
)
def test_the_last_step_that_the_model_named(messages: list[Json], steps: int) -> None:
    assert said_steps(asked(*messages)) == steps


def test_a_summary_in_place_of_messages_does_not_send_the_task_back() -> None:
    """One call is left of the two that were made."""
    request = asked(user("go"), user("Summary of what was done."), assistant(blocks("Step 2 of 3.")), calls_made=1)
    assert BY_WORD.choose(request).parts == (Say("Step 3 of 3."), Shell("three"))
    assert STEPS.choose(request).parts == (Say("Step 2 of 3."), Shell("two")), "counting calls goes back"


def test_a_task_that_said_all_its_steps_is_done() -> None:
    assert BY_WORD.choose(asked(user("go"), assistant("Step 3 of 3."))) == Turn((Say(DONE),), delivery=BY_WORD.delivery)


def test_the_items_of_a_responses_request_are_read_too() -> None:
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Step 2 of 3."}]}
    call = {"type": "function_call", "call_id": "a", "name": "bash", "arguments": "{}"}
    assert said_steps(Asked("openai_responses", {"input": [user("go"), said, call]}, 0, 1, ("bash",))) == 2
