"""What is written in the place of messages: users' words and what they attached, byte for byte, with role and name."""

from __future__ import annotations

import json

import pytest
from bodies import conversation
from cases.talk import Json, assistant, chat, messages, result, text, use, user

from coldpress.engine.pairs import turns
from coldpress.engine.rebuild import Writing, write
from coldpress.engine.rebuild_marks import marked
from coldpress.engine.session import Session
from coldpress.engine.zones import kept_texts
from coldpress.measure.tokens import counter_for

MARK = {"cache_control": {"type": "ephemeral"}}
REMINDER = "<system-reminder>x</system-reminder>"
SPEC = {"type": "document", "title": "Spec", "source": {"type": "text", "media_type": "text/plain", "data": "[a] }"}}
AUDIO = {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "wav"}}
FILE = {"type": "file", "file": {"filename": "spec.pdf", "file_data": "data:application/pdf;base64,aGk="}}


def said(role: str, content: object, **more: object) -> Json:
    return {"role": role, "content": content, **more}


def instead(*gone: Json, name: str = "openai_chat") -> tuple[list[Json], str]:
    """What stands for messages between a task and a reply, but for the summary, and its JSON text."""
    listed = [user("go") if name == "anthropic" else said("user", "go"), *gone, said("assistant", "on")]
    body = messages(*listed) if name == "anthropic" else chat(*listed)
    found = conversation(body, "anthropic" if name == "anthropic" else "openai_chat")
    stop = len(listed) - 1
    literal = write(found, Session(), Writing(1, stop, kept_texts(found, 1, stop), "[summary]")).rebuild.literal
    return json.loads(f"[{literal}]"), literal


REPLY = said("assistant", "I look.")
BLOCK = said("user", "[summary]")


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        pytest.param(said("user", "yes", name="alice"), said("user", "yes", name="alice"), id="a name"),
        pytest.param(said("developer", "no deploys"), said("developer", "no deploys"), id="a developer's role"),
        pytest.param(said("system", "no deploys"), said("system", "no deploys"), id="the system's role"),
        pytest.param(said("user", [AUDIO]), said("user", [AUDIO]), id="a recording alone"),
        pytest.param(
            said("user", [FILE, text("do")]), said("user", [FILE, text("do")]), id="a file in front of its text"
        ),
        pytest.param(
            said("user", [{**text("do"), **MARK}, AUDIO]),
            said("user", [text("do"), AUDIO]),
            id="without its cache mark",
        ),
        pytest.param(
            said("user", [text(REMINDER), FILE, text("do")], name="bob"),
            said("user", [FILE, text("do")], name="bob"),
            id="without what a harness put beside it",
        ),
    ],
)
def test_messages_of_a_chat_keep_role_name_and_what_is_attached(message: Json, expected: Json) -> None:
    assert instead(REPLY, message)[0] == [expected, BLOCK]


def test_in_messages_all_that_users_said_is_one_message_behind_the_systems() -> None:
    spec = {**SPEC, **MARK}
    system = said("system", [text("be brief")], clear_at="next_user_message")
    gone = [assistant("a"), user(text(REMINDER), spec, "this spec"), system, assistant("b"), said("user", "and tabs")]
    found, literal = instead(*gone, name="anthropic")
    assert found == [system, user(SPEC, "this spec", "and tabs", "[summary]")]
    assert json.dumps(SPEC, separators=(",", ":")) in literal


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        pytest.param([BLOCK], [said("user", [{**text("[summary]"), **MARK}])], id="a string"),
        pytest.param(
            [said("user", [SPEC, text("]")], name="a")],
            [said("user", [SPEC, {**text("]"), **MARK}], name="a")],
            id="last",
        ),
        pytest.param(
            [said("user", [FILE]), BLOCK],
            [said("user", [FILE]), said("user", [{**text("[summary]"), **MARK}])],
            id="never on a file",
        ),
    ],
)
def test_a_mark_is_set_on_the_first_text_that_ends_a_message(listed: list[Json], expected: list[Json]) -> None:
    literal = ",".join(json.dumps(message) for message in listed).encode()
    found = marked(literal, json.dumps(MARK["cache_control"]).encode())
    assert json.loads(b"[" + found + b"]") == expected


def test_a_mark_of_the_same_name_in_a_servers_call_is_what_it_was_called_with() -> None:
    asked = {"type": "server_tool_use", "id": "s1", "name": "web_fetch", "input": {"cache_control": {"a": 1}, "u": "x"}}
    came = {"type": "web_fetch_tool_result", "tool_use_id": "s1", "content": []}
    listed = [user("go"), assistant({**asked, **MARK}, came), assistant("on")]
    found = conversation(messages(*listed))
    writing = Writing(1, 2, (), "[summary]", carried=(1,))
    written = write(found, Session(), writing)
    assert json.loads(f"[{written.rebuild.literal}]")[1] == assistant(asked, came)
    assert json.loads(written.originals[0][1]) == assistant(asked, came)


FOUND = {"type": "tool_reference", "tool_name": "get_weather"}
SEARCHED = {"type": "tool_search_tool_search_result", "tool_references": [FOUND]}


@pytest.mark.parametrize(
    "turn",
    [
        pytest.param([assistant(use("s1", "ToolSearch")), user(result("s1", [FOUND]))], id="by a tool of the client's"),
        pytest.param(
            [
                assistant(
                    {"type": "server_tool_use", "id": "s1", "name": "tool_search_tool_regex", "input": {}},
                    {"type": "tool_search_tool_result", "tool_use_id": "s1", "content": SEARCHED},
                )
            ],
            id="by the provider's",
        ),
    ],
)
def test_a_turn_that_found_tools_goes_over_whole(turn: list[Json]) -> None:
    found = conversation(messages(user("go"), *turn, assistant("on")))
    (only,) = turns(found, (1,), 1, len(turn) + 1)
    assert only.doubtful


@pytest.mark.parametrize("is_carried", [False, True], ids=["kept", "carried"])
def test_a_picture_counts_as_one_and_not_by_its_bytes(is_carried: bool) -> None:
    source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0K" * 50_000}
    picture = {"type": "image", "source": source, **MARK}
    gone = [assistant(use("t1", "Read")), user(result("t1", [picture]) if is_carried else picture)]
    found = conversation(messages(user("go"), *gone, assistant("on")))
    kept = kept_texts(found, 1, 3)
    assert kept == (() if is_carried else ((2, 0),))
    written = write(found, Session(), Writing(1, 3, kept, "[summary]", carried=(1, 2) if is_carried else ()))
    assert "iVBORw0KiVBORw0K" in written.rebuild.literal
    image = counter_for("claude-sonnet-4-6").family.image_tokens
    assert image / 4 < written.rebuild.literal_tokens < image + 200
