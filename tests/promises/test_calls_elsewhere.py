"""Schemas, calls and streams of calls stay as they are on wires where nobody writes them otherwise."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from cases.agents import ResponsesAgent, scene
from hypothesis import given
from hypothesis import strategies as st
from strategies import gemini_contents, gemini_request, responses_items, responses_request
from support import failed_quietly, pressing, settings

from coldpress.config.plugin_settings import PluginSettings
from coldpress.testing import Shell, task
from coldpress.wire.registry import FormatName
from coldpress.wire.reply_calls import ReplyFilter

EVERYTHING = replace(settings(), plugins=PluginSettings(order=("schema_translator", "intent")))
SCHEMA = {"type": "object", "properties": {"env": {"type": "object", "additionalProperties": {"type": "string"}}}}
LISTED: dict[FormatName, list[object]] = {
    # The second tool has no `type`, as the functions of old Chat Completions.
    "openai_responses": [
        {"type": "function", "name": "Bash", "parameters": SCHEMA},
        {"name": "Read", "parameters": SCHEMA},
    ],
    "gemini": [{"functionDeclarations": [{"name": "Bash", "parametersJsonSchema": SCHEMA}]}],
}


@pytest.mark.parametrize("name", ["openai_responses", "gemini"])
def test_no_schema_is_changed(name: FormatName) -> None:
    tools = LISTED[name]
    if name == "gemini":
        body = json.dumps(gemini_request(gemini_contents([]), tools=tools)).encode()
    else:
        body = json.dumps(responses_request(responses_items([]), tools=tools)).encode()
    with pressing(EVERYTHING) as press:
        sent = press(body, name)
    assert not failed_quietly(sent)
    assert sent.body is body
    assert sent.calls is None
    assert sent.receipt.notes == ("calls_left",)


@pytest.mark.parametrize("name", ["openai_responses", "gemini"])
def test_where_nothing_was_to_be_changed_nothing_is_said_to_be_left(name: FormatName) -> None:
    body = json.dumps(gemini_request(gemini_contents([])) if name == "gemini" else responses_request([])).encode()
    with pressing(settings()) as press:
        assert "calls_left" not in press(body, name).receipt.notes


@pytest.mark.parametrize("name", ["openai_responses", "gemini"])
@pytest.mark.parametrize("kind", ["text/event-stream", "application/json"])
@given(said=st.binary(max_size=200), size=st.integers(1, 50))
def test_every_piece_of_a_reply_goes_out_at_once(name: FormatName, kind: str, said: bytes, size: int) -> None:
    body = b'{"choices":[{"delta":{"tool_calls":[{"id":"a"}]}}]}\n\n' + said
    passing = ReplyFilter(name, kind, lambda tool, call_id: None)
    for start in range(0, len(body), size):
        piece = body[start : start + size]
        assert passing.feed(piece) == piece
    assert passing.end() == b""
    assert passing.faults == 0


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_calls_come_through_as_the_model_wrote_them(stream: bool) -> None:
    with scene(task(Shell("make all"), Shell("make check")), provider="openai", settings=EVERYTHING) as stage:
        turns = ResponsesAgent(stage, stream=stream, model="gpt-5.3-codex").go(3)
    assert all(turn.body == turn.sent for turn in turns)
    assert [turn.exchange.refusal for turn in turns] == [None] * 3
