"""The schemas of a request's own function tools are found and replaced; all other tools, and all other bytes, stay."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import STYLES, Raw, Style, write

from coldpress.model.conversation import Span
from coldpress.wire.prefix import Reader
from coldpress.wire.registry import FormatName
from coldpress.wire.span import splice
from coldpress.wire.tool_schemas import schema_edits

PLAIN = Style(0, False, False, False)
SCHEMA = {"type": "object", "properties": {"b": {"type": "string"}, "a": {"type": "number", "maximum": 1.0}}}


def marked(name: str, schema: object) -> object:
    assert isinstance(schema, dict)
    return {**schema, "title": name}


def changed(tools: object, format_name: FormatName) -> object:
    """What becomes of a list where every schema that is asked about gets its tool's name as title."""
    text = write(tools, PLAIN)
    body = b'{"tools":' + text + b"}"
    edits = schema_edits(body, Span(9, 9 + len(text)), format_name, marked)
    return json.loads(splice(body, edits))["tools"]


def anthropic(name: str, **more: object) -> dict[str, object]:
    return {"name": name, "description": "é 🙂", "input_schema": SCHEMA, **more}


def chat(name: str, **more: object) -> dict[str, object]:
    return {"type": "function", "function": {"name": name, "parameters": SCHEMA, **more}}


OWN = [
    pytest.param("anthropic", anthropic("Bash"), ["input_schema"], id="a tool without a type"),
    pytest.param("anthropic", anthropic("Bash", type="custom"), ["input_schema"], id="a custom tool"),
    pytest.param("anthropic", anthropic("Bash", type=None), ["input_schema"], id="a type of null"),
    pytest.param("anthropic", anthropic("Bash", defer_loading=True), ["input_schema"], id="one that is loaded later"),
    pytest.param(
        "anthropic", anthropic("Bash", cache_control={"type": "ephemeral"}), ["input_schema"], id="one with a mark"
    ),
    pytest.param("openai_chat", chat("Bash"), ["function", "parameters"], id="a function"),
    pytest.param("openai_chat", chat("Bash", strict=True), ["function", "parameters"], id="a strict function"),
    pytest.param("openai_chat", {"name": "Bash", "parameters": SCHEMA}, ["parameters"], id="a legacy function"),
]


@pytest.mark.parametrize(("format_name", "tool", "path"), OWN)
def test_own_tools_are_asked_about(format_name: FormatName, tool: dict[str, object], path: list[str]) -> None:
    inner: object = changed([tool], format_name)
    assert isinstance(inner, list)
    expected = json.loads(json.dumps(tool))
    at = expected
    for key in path:
        at = at[key]
    at["title"] = "Bash"
    assert inner == [expected]


OTHERS = [
    pytest.param(
        "anthropic", anthropic("bash", type="bash_20250124"), id="a tool of the client that Anthropic defines"
    ),
    pytest.param("anthropic", anthropic("edit", type="text_editor_20250728"), id="an editor that Anthropic defines"),
    pytest.param("anthropic", anthropic("web_search", type="web_search_20260209"), id="a server tool"),
    pytest.param("anthropic", {"type": "mcp_toolset", "mcp_server_name": "x"}, id="the tools of a server"),
    pytest.param("anthropic", {"name": "x"}, id="no schema"),
    pytest.param("anthropic", {"name": "x", "input_schema": True}, id="a schema that is no object"),
    pytest.param("anthropic", {"input_schema": SCHEMA}, id="no name"),
    pytest.param("anthropic", Raw('{"name":"x","name":"x","input_schema":{}}'), id="a key twice"),
    pytest.param("anthropic", Raw('{"name":"x","input_schema":{"maximum":1e400}}'), id="a number out of range"),
    pytest.param("anthropic", Raw(r'{"name":"x","input_schema":{"title":"\ud83d"}}'), id="half a character"),
    pytest.param("anthropic", "x", id="no object"),
    pytest.param("openai_chat", {"type": "custom", "custom": {"name": "x", "parameters": {}}}, id="a custom chat tool"),
    pytest.param("openai_chat", {"type": "function", "function": {"name": "x"}}, id="a function without parameters"),
    pytest.param("openai_chat", {"type": "web_search", "name": "x", "parameters": {}}, id="a tool of the provider"),
]


@pytest.mark.parametrize(("format_name", "tool"), OTHERS)
def test_other_tools_stay_and_their_neighbours_are_found(format_name: FormatName, tool: object) -> None:
    text = write([tool, anthropic("a") if format_name == "anthropic" else chat("a")], PLAIN)
    edits = schema_edits(text, Span(0, len(text)), format_name, marked)
    assert [edit.tool for edit in edits] == ["a"]


@pytest.mark.parametrize("tools", [b"{}", b"null", b'"x"', b"[1,", b"[]"])
def test_what_is_no_list_of_tools_gives_nothing(tools: bytes) -> None:
    assert schema_edits(tools, Span(0, len(tools)), "anthropic", marked) == ()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(["a", "é", 'q"'])), STYLES)
def test_every_byte_outside_the_schemas_stays(names: list[str], style: Style) -> None:
    text = write([anthropic(name) for name in names], style)
    body = b'{"x":1, "tools": ' + text + b' , "y":2}'
    edits = schema_edits(body, Span(17, 17 + len(text)), "anthropic", lambda name, schema: {"z": 1, "a": "é"})
    assert [edit.tool for edit in edits] == names
    assert all(edit.literal == '{"z":1,"a":"é"}'.encode() for edit in edits)
    at = 0
    kept = b""
    for edit in edits:
        assert json.loads(body[edit.span.start : edit.span.end]) == SCHEMA
        kept, at = kept + body[at : edit.span.start] + b"#", edit.span.end
    sent = splice(body, edits)
    assert sent.replace('{"z":1,"a":"é"}'.encode(), b"#") == kept + body[at:]
    alone = schema_edits(text, Span(0, len(text)), "anthropic", lambda name, schema: {"z": 1, "a": "é"})
    assert tuple(edit.moved(17) for edit in alone) == edits


def test_a_schema_that_is_not_changed_is_no_edit() -> None:
    text = write([anthropic("a"), anthropic("b")], PLAIN)
    edits = schema_edits(text, Span(0, len(text)), "anthropic", lambda name, schema: schema if name == "b" else None)
    assert [edit.tool for edit in edits] == ["b"]
    assert edits[0].literal == write(SCHEMA, PLAIN).replace(b": ", b":")


def request(turns: int, *, tools_first: bool, key: str = "tools") -> bytes:
    messages: list[object] = []
    for turn in range(turns):
        messages += [{"role": "user", "content": f"question {turn} " * 30}, {"role": "assistant", "content": "answer"}]
    fields = {"model": "m", key: [anthropic("a")], "messages": messages, "max_tokens": 1}
    if not tools_first:
        fields = {"model": "m", "messages": messages, key: [anthropic("a")], "max_tokens": 1}
    return json.dumps(fields).encode()


@pytest.mark.parametrize("key", ["tools", "functions"])
@pytest.mark.parametrize("tools_first", [True, False], ids=["in front of the messages", "behind them"])
def test_the_list_of_tools_is_found_however_a_request_is_read(key: str, *, tools_first: bool) -> None:
    reader: Reader[None] = Reader(seed=1)
    for turns in range(1, 5):
        body = request(turns, tools_first=tools_first, key=key)
        reading = reader.read(body, "openai_chat", reader.find(body, "openai_chat"))
        reader.remember(reading, None)
        conversation = reading.conversation
        assert (conversation.known > 0) == (turns > 1)
        assert conversation.tools is not None
        assert json.loads(body[conversation.tools.start : conversation.tools.end]) == [anthropic("a")]


def test_tools_that_go_away_are_not_remembered() -> None:
    reader: Reader[None] = Reader(seed=1)
    first = request(2, tools_first=False)
    reader.remember(reader.read(first, "openai_chat", None), None)
    second = request(3, tools_first=False)
    at = second.index(b', "tools"')
    second = second[:at] + second[second.index(b', "max_tokens"') :]
    conversation = reader.read(second, "openai_chat", reader.find(second, "openai_chat")).conversation
    assert conversation.known > 0
    assert conversation.tools is None
