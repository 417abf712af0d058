"""Schemas, calls and streams of calls stay as they are on wires where nobody writes them otherwise."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from cases.agents import ResponsesAgent, scene
from strategies import gemini_contents, gemini_request, responses_items, responses_request
from support import failed_quietly, pressing, settings

from coldpress.config.plugin_settings import PluginSettings
from coldpress.testing import Shell, task
from coldpress.wire.registry import FormatName

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


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_calls_come_through_as_the_model_wrote_them(stream: bool) -> None:
    with scene(task(Shell("make all"), Shell("make check")), provider="openai", settings=EVERYTHING) as stage:
        turns = ResponsesAgent(stage, stream=stream, model="gpt-5.3-codex").go(3)
    assert all(turn.body == turn.sent for turn in turns)
    assert [turn.exchange.refusal for turn in turns] == [None] * 3
