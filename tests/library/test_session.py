"""A session shows smaller messages, hands back the caller's own where nothing changed, and loses nothing."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from library.talk import ANTHROPIC_TOOLS, CHAT_TOOLS, anthropic_talk, chat_talk, log, output
from support import settings

from coldpress import Session
from coldpress.model.errors import ConfigError, FormatError, MessageError, RequestError, SessionClosed, UnknownOriginal
from coldpress.wire.registry import FormatName

MODEL = "claude-opus-4-6"


@pytest.fixture
def session() -> Iterator[Session]:
    with Session(MODEL) as found:
        yield found


TALKS = [
    pytest.param(anthropic_talk, MODEL, "Be brief.", ANTHROPIC_TOOLS, id="anthropic"),
    pytest.param(chat_talk, "gpt-5-mini", None, CHAT_TOOLS, id="openai_chat"),
]


@pytest.mark.parametrize(("talk", "model", "system", "tools"), TALKS)
def test_unchanged_messages_are_the_callers_own_and_nothing_is_mutated(
    talk: Any, model: str, system: str | None, tools: Any
) -> None:
    with Session(model) as session:
        for messages in talk():
            before = copy.deepcopy(messages)
            shown = session.compact(messages, system=system, tools=tools)
            assert messages == before
            assert shown.sources == tuple(range(len(messages)))
            changed = [index for index, message in enumerate(shown) if message is not messages[index]]
            assert all(shown[index] != messages[index] for index in changed), "a message that is equal is the same"
        assert len(changed) == 3, "three long logs, and a short listing that stays"
        for index in changed:
            assert "[coldpress" in json.dumps(shown[index])


@pytest.mark.parametrize(("talk", "model", "system", "tools"), TALKS)
def test_what_was_shown_once_is_shown_again(talk: Any, model: str, system: str | None, tools: Any) -> None:
    earlier: list[Any] = []
    with Session(model) as session:
        for messages in talk():
            shown = session.compact(copy.deepcopy(messages), system=system, tools=tools)
            assert list(shown[: len(earlier)]) == earlier
            earlier = list(shown)


def test_changes_to_what_was_shown_reach_no_later_request(session: Session) -> None:
    messages = list(anthropic_talk())[1]
    first = session.compact(messages, tools=ANTHROPIC_TOOLS)
    expected = copy.deepcopy(first[2])
    first[2]["content"][0]["content"] = "changed by the caller"
    assert session.compact(messages, tools=ANTHROPIC_TOOLS)[2] == expected


def test_a_message_changed_in_place_is_read_again(session: Session) -> None:
    messages = list(anthropic_talk())[1]
    session.compact(messages, tools=ANTHROPIC_TOOLS)
    messages[2]["content"][0]["content"] = log("make", 1200)
    shown = session.compact(messages, tools=ANTHROPIC_TOOLS)
    assert "of 1200 compiled" in shown[2]["content"][0]["content"]


def test_originals_are_recalled_byte_for_byte(session: Session) -> None:
    session.compact(list(anthropic_talk())[1], tools=ANTHROPIC_TOOLS)
    assert session.last is not None
    (line,) = session.last.lines
    assert session.recall(line.original) == output("make")
    assert session.recall(line.original[:12]) == output("make")


def test_receipts_are_this_sessions_own(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    talk = list(anthropic_talk())
    with Session(MODEL, store_path=path) as other:
        other.compact(talk[0])
    with Session(MODEL, store_path=path, harness="my-agent/2") as session:
        for messages in talk:
            session.compact(messages, tools=ANTHROPIC_TOOLS)
            session.observe({"usage": {"input_tokens": 10, "output_tokens": 1}})
        entries = session.receipts()
        assert [entry.receipt.messages for entry in entries] == [1, 3, 5, 7, 9]
        assert {entry.receipt.harness for entry in entries} == {"my-agent"}
        assert session.last == entries[-1].receipt
        assert session.stats() == session._line.runtime.store.totals().as_object()


def test_a_restart_shows_the_same(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    with Session(MODEL, store_path=path) as session:
        for messages in anthropic_talk():
            first = session.compact(messages, tools=ANTHROPIC_TOOLS)
    with Session(MODEL, store_path=path, operation="drain") as session:
        assert session.compact(messages, tools=ANTHROPIC_TOOLS) == first != messages
        assert session.recall(first.receipt.lines[0].original) == output("make check")


@pytest.mark.parametrize("operation", ["observe", "off"])
def test_nothing_changes_where_nothing_may(operation: Any) -> None:
    messages = list(anthropic_talk())[-1]
    with Session(MODEL, operation=operation) as session:
        shown = session.compact(messages, tools=ANTHROPIC_TOOLS)
    assert all(mine is theirs for mine, theirs in zip(shown, messages, strict=True))
    assert shown is not messages
    assert shown.receipt.operation == operation


def test_the_settings_file_holds_and_no_file_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "coldpress.toml"
    file.write_text('[[rules]]\nmatch = "Bash"\nmode = "exact"\n')
    messages = list(anthropic_talk())[1]
    monkeypatch.chdir(tmp_path)
    with Session(MODEL, settings_file=file) as session:
        assert session.compact(messages, tools=ANTHROPIC_TOOLS)[2] is messages[2]
    with Session(MODEL) as session:
        assert session.compact(messages, tools=ANTHROPIC_TOOLS)[2] is not messages[2]


def test_the_window_goes_before_what_the_settings_say(tmp_path: Path) -> None:
    file = tmp_path / "coldpress.toml"
    file.write_text('[budget]\nwindow_tokens = 1000\n\n[[budgets]]\nmodel = "claude-*"\nwindow_tokens = 2000\n')
    with Session(MODEL, settings_file=file, window_tokens=50_000) as session:
        budgets = session._line.runtime.settings.budgets
    found = budgets.budget(model=MODEL, harness=None, task=None, nominal_tokens=200_000)
    assert found is not None and found.window_tokens == 50_000


def test_notes_are_the_projects_or_the_conversations(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    create = {"command": "create", "path": "/memories/plan.md", "file_text": "ship it"}
    with Session(MODEL, store_path=path, project="shop") as session:
        session.notes.execute(create)
    with Session(MODEL, store_path=path) as session:
        with pytest.raises(ConfigError, match="say project="):
            _ = session.notes
        session.compact([{"role": "user", "content": "hello"}])
        assert "ship it" not in session.notes.execute({"command": "view", "path": "/memories/plan.md"})
    with Session(MODEL, store_path=path, project="shop") as session:
        assert "ship it" in session.notes.execute({"command": "view", "path": "/memories/plan.md"})


USER = {"role": "user", "content": "hi"}


class Opaque:
    pass


@pytest.mark.parametrize(
    ("messages", "told"),
    [
        pytest.param([], "messages is empty", id="no message"),
        pytest.param([USER, "hi"], r"messages\[1\] is a str", id="a bare text"),
        pytest.param([USER, {"content": "hi"}], r"messages\[1\] is without a role", id="no role"),
        pytest.param([USER, {"role": 3, "content": "hi"}], r"messages\[1\].role is 3", id="a role that is no text"),
        pytest.param([USER, {"role": "user", "content": b"hi"}], r"messages\[1\].content is a bytes", id="bytes"),
        pytest.param(
            [USER, USER, {"role": "user", "content": [{"type": "text", "text": datetime.now(UTC)}]}],
            r"messages\[2\].content\[0\].text is a datetime",
            id="a date",
        ),
        pytest.param([{"role": "user", "content": {1, 2}}], r"messages\[0\].content is a set", id="a set"),
        pytest.param(
            [{"role": "user", "content": iter(["x"])}], r"messages\[0\].content is a list_iterator", id="iter"
        ),
        pytest.param([{"role": "user", "content": Opaque()}], r"messages\[0\].content is a Opaque", id="an object"),
        pytest.param([{"role": "user", "content": float("nan")}], r"messages\[0\].content is nan", id="not a number"),
        pytest.param([{"role": "user", 5: "x"}], r"messages\[0\] has the key 5", id="a key that is no text"),
        pytest.param(
            [{"role": "user", "content": "half \ud83d"}], r"messages\[0\] holds half of a surrogate", id="no text"
        ),
    ],
)
def test_bad_messages_are_named(session: Session, messages: Any, told: str) -> None:
    with pytest.raises(MessageError, match=told):
        session.compact(messages)
    assert session.last is None
    assert session.compact([USER])[0] is USER, "the session goes on"


@pytest.mark.parametrize(
    ("messages", "extra", "told"),
    [
        pytest.param((one for one in [USER]), None, "messages is a value of type generator", id="a generator"),
        pytest.param(None, None, "messages is None", id="nothing"),
        pytest.param(USER, None, "messages is a value of type dict", id="one message"),
        pytest.param([USER], {"messages": []}, "extra holds messages", id="messages twice"),
        pytest.param([USER], {"model": "m", "tools": []}, "extra holds tools, model", id="what has its own argument"),
        pytest.param([USER], [1], "extra is a value of type list", id="no mapping"),
        pytest.param([USER], {1: 2}, "extra is a value of type dict", id="a name that is no text"),
    ],
)
def test_what_is_no_request_is_refused_at_once(session: Session, messages: Any, extra: Any, told: str) -> None:
    with pytest.raises(RequestError, match=told):
        session.compact(messages, extra=extra)
    assert session.last is None
    assert session.compact([USER])[0] is USER, "the session goes on"


def test_deep_messages_are_refused_not_fatal(session: Session) -> None:
    deep: Any = "x"
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(MessageError, match=r"messages\[0\]"):
        session.compact([{"role": "user", "content": deep}])


CALL = {
    "role": "assistant",
    "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": ""}}],
}
USE = {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}]}


@pytest.mark.parametrize(
    ("model", "messages", "more", "expected"),
    [
        pytest.param("claude-opus-4-6", [USER], {}, "anthropic", id="by name: Claude"),
        pytest.param("gpt-6.1", [USER], {}, "openai_chat", id="by name: GPT"),
        pytest.param("o4-mini", [USER], {}, "openai_chat", id="by name: o"),
        pytest.param("deepseek-v4", [USER, CALL], {}, "openai_chat", id="by calls"),
        pytest.param("deepseek-v4", [USER, USE], {}, "anthropic", id="by blocks"),
        pytest.param("deepseek-v4", [USER], {"system": "s"}, "anthropic", id="by the system prompt beside"),
        pytest.param("mine", [USER], {"tools": ANTHROPIC_TOOLS}, "anthropic", id="by Anthropic's tools"),
        pytest.param("mine", [USER], {"tools": CHAT_TOOLS}, "openai_chat", id="by OpenAI's tools"),
        pytest.param(
            "claude-opus-4-6",
            [{"role": "system", "content": "s"}, USER],
            {},
            "openai_chat",
            id="what stands there goes before the name",
        ),
        pytest.param(
            "claude-opus-4-6",
            [USER, USE, USER, {"role": "system", "content": "s"}],
            {},
            "anthropic",
            id="a system message further on is no sign",
        ),
    ],
)
def test_the_format_is_told(model: str, messages: Any, more: Any, expected: FormatName) -> None:
    with Session(model) as session:
        assert session.compact(messages, **more).receipt.format == expected


@pytest.mark.parametrize(
    ("model", "messages", "more", "told"),
    [
        pytest.param("deepseek-v4", [USER], {}, "neither the messages nor", id="nothing tells"),
        pytest.param("anthropic/claude-opus-4.6", [USER], {}, "neither the messages nor", id="a reseller's name"),
        pytest.param("mine", [USER, CALL, USE], {}, r"messages\[1\]\.tool_calls is OpenAI", id="both"),
        pytest.param("gpt-6.1", [USER], {"system": "s", "tools": CHAT_TOOLS}, "looks like both", id="system and chat"),
    ],
)
def test_doubt_about_the_format_is_told(model: str, messages: Any, more: Any, told: str) -> None:
    with Session(model) as session, pytest.raises(FormatError, match=told):
        session.compact(messages, **more)


def test_a_name_that_misled_is_no_answer_for_ever() -> None:
    with Session("claude-opus-4-6") as session:
        assert session.compact([USER]).receipt.format == "anthropic"
        assert session.compact([USER, CALL]).receipt.format == "openai_chat"
        with pytest.raises(FormatError, match="system is Anthropic's"):
            session.compact([USER, CALL], system="s")


@pytest.mark.parametrize(
    ("model", "format_name", "expected"),
    [
        ("claude-opus-4-6", "anthropic", "anthropic"),
        ("deepseek-v4-pro", "openai_chat", "deepseek"),
        ("deepseek-v4-pro", "anthropic", "deepseek-anthropic"),
        ("moonshotai/kimi-k3", "openai_chat", "openrouter"),
        ("my-own-model", "openai_chat", "openai"),
    ],
)
def test_the_provider_goes_by_the_models_name(model: str, format_name: FormatName, expected: str) -> None:
    with Session(model, format=format_name) as session:
        assert session.compact([USER]).receipt.provider == expected


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param({"format": "openai"}, "use one of anthropic, openai_chat", id="format"),
        pytest.param({"provider": "antropic"}, "the settings do not have", id="provider"),
        pytest.param({"window_tokens": 0}, "window_tokens is 0", id="window"),
        pytest.param({"project": " "}, "project", id="project"),
        pytest.param({"settings": settings(), "settings_file": "x.toml"}, "not both", id="two settings"),
    ],
)
def test_wrong_arguments_are_told(arguments: Any, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        Session(MODEL, **arguments)


def test_a_closed_session_says_so(session: Session) -> None:
    session.compact([USER])
    session.close()
    session.close()
    for use in (
        lambda: session.compact([USER]),
        lambda: session.observe({"usage": {}}),
        lambda: session.recall("0" * 64),
    ):
        with pytest.raises(SessionClosed, match="make a new one"):
            use()


def test_importing_the_package_loads_no_driver() -> None:
    code = "import sys, coldpress; print([m for m in sys.modules if m.startswith('coldpress.')])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_a_session_nobody_closed_writes_its_receipts_and_ends(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    code = (
        "from coldpress import Session\n"
        f"session = Session('claude-opus-4-6', store_path={str(path)!r})\n"
        "session.compact([{'role': 'user', 'content': 'hi'}])\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=30)
    with Session(MODEL, store_path=path) as session:
        assert session.stats()["requests"] == 1, session.stats()


@pytest.mark.parametrize("window", ["120k", 0, -3, 1.5, True], ids=repr)
def test_a_window_that_is_none_is_refused_by_the_name_it_was_given(window: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        Session(MODEL, window_tokens=window)
    assert str(caught.value) == f"window_tokens is {window!r}; use a whole number of tokens, such as 120_000"


def test_what_a_session_in_memory_does_not_have_sends_nobody_to_a_gateway() -> None:
    with Session(MODEL) as session, pytest.raises(UnknownOriginal) as caught:
        session.recall("0" * 64)
    assert "the session that made it smaller" in str(caught.value)
    assert "gateway" not in str(caught.value)
