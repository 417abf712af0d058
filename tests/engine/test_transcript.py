"""A message as plain text: everything in it, exact, and cut only where asked for."""

from __future__ import annotations

import json

import pytest
from bodies import conversation
from cases.talk import assistant, chat, chat_calls, chat_result, messages, result, use, user
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import STEPS, STYLES, anthropic_messages, anthropic_request, chat_messages, chat_request, write

from coldpress.engine.transcript import message_text, shortened, source_texts
from coldpress.model.conversation import Text, ToolResult

ODD = 'echo "héllo 日本語 🙂" \\ | tee a\tb\nsecond line'


def test_r07_a_range_of_calls_and_results_only_gives_its_full_text() -> None:
    found = conversation(
        messages(
            user("go"),
            assistant(use("t1", "Bash", command=ODD)),
            user(result("t1", "out 1\nout 2", is_error=True)),
            assistant(use("t2", "Read", file_path="src/a.py", limit=30)),
            user(result("t2", [{"type": "text", "text": "x = 1"}, {"type": "image", "source": {}}])),
        )
    )
    assert message_text(found, 1) == f"assistant\n[call of Bash]\ncommand: {ODD}"
    assert message_text(found, 2) == (
        f"user\n[result of Bash, which failed]\ncommand: {ODD}\n[it gave back]\nout 1\nout 2"
    )
    assert message_text(found, 3) == "assistant\n[call of Read]\nfile_path: src/a.py\nlimit: 30"
    assert message_text(found, 4).endswith("[it gave back]\nx = 1\n[a block of kind image]")


def test_calls_whose_arguments_are_a_string_read_the_same() -> None:
    mine = conversation(messages(user("go"), assistant(use("t1", "Bash", command=ODD)), user(result("t1", "out"))))
    theirs = conversation(
        chat(user("go"), chat_calls(("t1", "Bash", {"command": ODD})), chat_result("t1", "out")), "openai_chat"
    )
    assert message_text(theirs, 1) == message_text(mine, 1)
    assert message_text(theirs, 2) == message_text(mine, 2).replace("user", "tool", 1)


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        pytest.param({"todos": [{"content": 'say "x"', "n": 1}]}, 'todos:\n-\ncontent: say "x"\nn: 1', id="nested"),
        pytest.param({"cmd": ["bash", "-lc", "a && b"]}, "cmd:\n- bash\n- -lc\n- a && b", id="a list of words"),
        pytest.param({"a": None, "b": 1.0, "c": True}, "a: null\nb: 1.0\nc: true", id="no strings"),
        pytest.param({"deep": [[[[[[[["x"]]]]]]]]}, '["x"]', id="too deep stays JSON"),
    ],
)
def test_arguments(arguments: dict[str, object], shown: str) -> None:
    found = conversation(messages(user("go"), assistant(use("t1", "T", **arguments))))
    assert shown in message_text(found, 1)


@pytest.mark.parametrize(
    "given_arguments", ["", "[1]", '{"a": ', "plain words", '{"a": ' + "[" * 9_000 + "]" * 9_000 + "}"]
)
def test_arguments_that_are_no_object_stay_as_they_are(given_arguments: str) -> None:
    call = {"id": "t1", "type": "function", "function": {"name": "T", "arguments": given_arguments}}
    found = conversation(chat(user("go"), {"role": "assistant", "tool_calls": [call]}), "openai_chat")
    assert message_text(found, 1) == f"assistant\n[call of T]\n{given_arguments}"


def test_what_is_no_unicode_leaves_a_note() -> None:
    body = messages(user("a"), assistant("b", use("t1", "T", x="PLACE"))).replace(b'"b"', b'"\\ud83d"')
    found = conversation(body.replace(b'"PLACE"', b'"\\ud83d"'))
    assert message_text(found, 1).startswith("assistant\n[text that is not valid Unicode]\n[call of T]\n")


def test_there_is_no_message_beyond_the_last() -> None:
    found = conversation(messages(user("a")))
    text = source_texts(found)
    assert [text(0), text(1), text(2)] == [None, "user\na", None]
    for index in (-1, 1):
        with pytest.raises(IndexError, match=f"message {index} of 1"):
            message_text(found, index)


@settings(max_examples=40)
@given(st.lists(STEPS, max_size=4), STYLES, st.booleans())
def test_every_readable_text_stands_in_its_message(steps: list, style: object, is_chat: bool) -> None:
    name = "openai_chat" if is_chat else "anthropic"
    body = write(chat_request(chat_messages(steps)) if is_chat else anthropic_request(anthropic_messages(steps)), style)
    found = conversation(body, name)
    for index, message in enumerate(found.messages):
        text = message_text(found, index)
        for block in message.blocks:
            literals = (block.literal,) if isinstance(block, Text) else ()
            literals = block.texts if isinstance(block, ToolResult) else literals
            for literal in literals:
                if literal.readable:
                    assert found.text(literal) in text


TEXT_F11 = "héllo 日本語 🙂" * 9


@pytest.mark.parametrize("most_bytes", range(0, len(TEXT_F11.encode()) + 2))
def test_f11_a_text_of_many_bytes_per_character_is_cut_at_any_byte(most_bytes: int) -> None:
    cut = shortened(TEXT_F11, most_bytes)
    json.dumps(cut).encode()
    if most_bytes >= len(TEXT_F11.encode()):
        assert cut == TEXT_F11
        return
    head, note, tail = cut.split("\n")
    assert TEXT_F11.startswith(head)
    assert TEXT_F11.endswith(tail)
    omitted = len(TEXT_F11.encode()) - len(head.encode()) - len(tail.encode())
    assert note == f"[{omitted} bytes left out here]"
    assert len(cut.encode()) <= max(most_bytes, len(f"\n{note}\n"))
