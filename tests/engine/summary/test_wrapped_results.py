"""What must not get lost is found in results that harnesses wrap, and quoted as the message holds it."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from bodies import conversation
from cases.talk import Json, assistant, chat, chat_calls, chat_result, messages, result, use, user

from coldpress.engine.summary.bound import Bounded
from coldpress.engine.summary.check import checked
from coldpress.engine.summary.structural import build
from coldpress.engine.transcript import source_texts

PASSED = "[main 9f2c1ab] Open the books\n 1 file changed\npolicy: Don't write to the archive.\n"
FAILED = (
    "[main 77ac1d0] Close them\nsettle: error: no account is named\nTraceback (most recent call last):\nKeyError: 1\n"
)
Wrap = Callable[[str], str]


def as_json(text: str) -> str:
    return f'{{\n  "returncode": 0,\n  "output": {json.dumps(text)}\n}}'


def safe_json(text: str) -> str:
    return as_json(text).replace("'", "\\u0027")


def elided(text: str) -> str:
    fields = {"returncode": 0, "output_head": "lines\n" * 9, "output_tail": text, "elided_chars": 99, "warning": "w"}
    return json.dumps(fields, indent=2)


def codex(text: str) -> str:
    return f"Chunk ID: 8e01b2\nWall time: 1.2 seconds\nProcess exited with code 0\nOutput:\n{text}"


def elements(text: str) -> str:
    return f"<returncode>0</returncode>\n<output>\n{text}</output>"


def observation(text: str) -> str:
    return f"OBSERVATION:\n{text}"


def on_messages(text: str) -> tuple[list[Json], bytes]:
    listed = [user("go"), assistant(use("t1", "bash", command="make books")), user(result("t1", text))]
    return listed, messages(*listed)


def on_chat(text: str) -> tuple[list[Json], bytes]:
    listed = [user("go"), chat_calls(("t1", "bash", {"command": "make books"})), chat_result("t1", text)]
    return listed, chat(*listed)


def in_texts(text: str) -> tuple[list[Json], bytes]:
    """A harness that has no tools on the wire."""
    listed = [user("go"), assistant("I do it.\n\n```mswea_bash_command\nmake books\n```"), user(text)]
    return listed, messages(*listed)


def summary_of(listed: list[Json], body: bytes) -> Bounded:
    found = conversation(body, "openai_chat" if any(m["role"] == "tool" for m in listed) else "anthropic")
    made = build(found, 1, 3, task_stop=1)
    assert checked(made.summary, source_texts(found)).dropped == 0
    return made


@pytest.mark.parametrize("wire", [on_messages, on_chat])
@pytest.mark.parametrize("wrap", [as_json, safe_json, elided, codex, elements, observation])
def test_names_prohibitions_and_failures_in_a_wrapped_result(
    wrap: Wrap, wire: Callable[[str], tuple[list[Json], bytes]]
) -> None:
    check_passed(summary_of(*wire(wrap(PASSED))))
    check_failed(summary_of(*wire(wrap(FAILED))), "make books\nsettle: error: no account is named")


@pytest.mark.parametrize("wrap", [elements, observation])
def test_names_prohibitions_and_failures_in_a_result_that_comes_as_a_users_text(wrap: Wrap) -> None:
    check_passed(summary_of(*in_texts(wrap(PASSED))))
    check_failed(summary_of(*in_texts(wrap(FAILED))), "settle: error: no account is named")


def test_an_action_in_a_text_changes_files_and_its_result_is_no_word_of_the_users() -> None:
    acted = assistant("```\nsed -i s/a/b/ src/books.py\n```")
    asked = assistant("Shall I go on?\n\n```\nls\n```")
    listed = [user("go"), acted, user(elements("Never do this.\n")), asked, user(elements("x"))]
    found = conversation(messages(*listed))
    made = build(found, 1, 4, task_stop=1).summary
    assert [item.text for item in made.artifacts] == ["src/books.py: changed by bash once"]
    assert made.constraints == ()
    assert [item.text for item in made.questions] == ["Shall I go on?"]


def check_passed(made: Bounded) -> None:
    assert [item.text for item in made.summary.artifacts] == ["[main 9f2c1ab] Open the books"]
    said = [item.text.replace("\\u0027", "'") for item in made.summary.constraints]
    assert said == ["result of bash: policy: Don't write to the archive."]


def check_failed(made: Bounded, failure: str) -> None:
    summary = made.summary
    assert [item.text for item in summary.artifacts] == ["[main 77ac1d0] Close them"]
    assert [item.text.startswith(failure) for item in (*summary.failures, *summary.ruled_out)] == [True]
