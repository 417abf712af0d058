"""Which models bind reasoning to what stands before it, and which old results may still be edited for them."""

from __future__ import annotations

from typing import Any

import pytest
from cases.talk import assistant, chat, chat_calls, chat_result, log, messages, result, use, user

from coldpress.engine.binding import binds, edit_floor, editable_from
from coldpress.model.conversation import Conversation
from coldpress.wire.prefix import Reader
from coldpress.wire.registry import FormatName

THINKING = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
REDACTED = {"type": "redacted_thinking", "data": "AAAA"}


@pytest.mark.parametrize(
    "name",
    [
        "claude-fable-5-1",
        "claude-fable-5-2",
        "claude-mythos-5-1",
        "claude-mythos-5-2",
        "claude-opus-5-5",
        "claude-sonnet-5-5",
        "claude-haiku-5-5",
        "claude-opus-5-5-20261015",
        "claude-opus-5.5",
        "CLAUDE-OPUS-5-5",
        "anthropic/claude-opus-5.5",
        "openrouter/anthropic/claude-sonnet-5.5:thinking",
        "us.anthropic.claude-sonnet-5-5-20261015-v1:0",
        "arn:aws:bedrock:eu-west-1:1:inference-profile/eu.anthropic.claude-haiku-5-5-v1:0",
        "claude-opus-5-5@20261015",
        "publishers/anthropic/models/claude-fable-5-2@20261101",
        "vertex_ai/claude-opus-5-5",
        "azure/claude-opus-5-5",
        "opus-5.5",
        "claude-opus-6",
        "claude-sonnet-6-1-20270301",
        "claude-fable-6",
        "claude-saga-6",
        "claude-opus-latest",
        "claude",
        "gpt-5.6-sol",
        "gpt-6-astra",
        "openai/gpt-6.1-terra",
    ],
)
def test_it_binds(name: str) -> None:
    assert binds(name)


@pytest.mark.parametrize(
    "name",
    [
        None,
        "",
        "claude-opus-5",
        "claude-opus-5-20260601",
        "claude-opus-4-8",
        "claude-opus-4-1-20250805",
        "claude-sonnet-5",
        "claude-sonnet-4-20250514",
        "claude-sonnet-4-6",
        "claude-haiku-4-5-20251001",
        "claude-fable-5",
        "claude-mythos-5",
        "claude-3-5-sonnet-20241022",
        "claude-3-7-sonnet-latest",
        "claude-3-opus-20240229",
        "anthropic.claude-v2:1",
        "claude-instant-1.2",
        "us.anthropic.claude-opus-5-v1:0",
        "anthropic/claude-opus-5",
        "claude-opus-5@20260601",
        "gpt-5.5",
        "gpt-5.3-codex",
        "gpt-4o",
        "gpt-oss-120b",
        "deepseek-v4-pro",
        "gemini-4-argon",
        "octopus-9",
        "some-model-9.9",
    ],
)
def test_it_does_not_bind(name: str | None) -> None:
    assert not binds(name)


def read(body: bytes, name: FormatName = "anthropic") -> Conversation:
    reader: Reader[None] = Reader(seed=1)
    return reader.read(body, name, None).conversation


def turn(number: int, *before: Any) -> list[Any]:
    return [assistant(*before, use(f"t{number}")), user(result(f"t{number}", log(str(number), 20)))]


@pytest.mark.parametrize(
    ("said", "floor"),
    [
        pytest.param([], 0, id="nothing was said"),
        pytest.param([*turn(1), *turn(2)], 0, id="no reasoning: all may be edited"),
        pytest.param([*turn(1, THINKING), *turn(2)], 2, id="its own turn's result stands behind the reasoning"),
        pytest.param([*turn(1), *turn(2, THINKING), *turn(3)], 4, id="reasoning after the first turn guards it"),
        pytest.param([*turn(1, THINKING), *turn(2, REDACTED), *turn(3)], 4, id="redacted reasoning binds as well"),
        pytest.param([*turn(1, THINKING), *turn(2, THINKING)], 4, id="the newest result stays free"),
        pytest.param([*turn(1), assistant("done", THINKING)], 4, id="reasoning in the last message guards all"),
    ],
)
def test_edits_are_allowed_behind_the_last_reasoning(said: list[Any], floor: int) -> None:
    conversation = read(messages(user("go"), *said, model="claude-opus-5-5"))
    assert edit_floor(conversation) == floor
    assert editable_from(conversation, allow_thinking_loss=False) == floor
    assert editable_from(conversation, allow_thinking_loss=True) == 0


@pytest.mark.parametrize("model", ["claude-opus-5", "claude-sonnet-4-6", "deepseek-v4-pro"])
def test_a_model_that_does_not_bind_may_have_any_old_result_edited(model: str) -> None:
    conversation = read(messages(user("go"), *turn(1, THINKING), *turn(2, THINKING), model=model))
    assert edit_floor(conversation) == 4
    assert editable_from(conversation, allow_thinking_loss=False) == 0


def chatted(*extra: dict[str, Any]) -> Conversation:
    said: list[Any] = [{"role": "user", "content": "go"}]
    for number, more in enumerate(extra):
        said += [
            {**chat_calls((f"c{number}", "Bash", {"command": "ls"})), **more},
            chat_result(f"c{number}", log(str(number), 20)),
        ]
    return read(chat(*said, model="anthropic/claude-opus-5.5"), "openai_chat")


@pytest.mark.parametrize(
    ("fields", "floor"),
    [
        pytest.param([{}, {}], 0, id="no reasoning is sent back"),
        pytest.param([{"reasoning_content": "hm"}, {}], 2, id="plain reasoning: its signature may be kept elsewhere"),
        pytest.param([{}, {"thinking_blocks": [THINKING]}, {}], 4, id="thinking blocks, as litellm carries them"),
        pytest.param(
            [{"reasoning_details": [{"type": "reasoning.text", "signature": "s"}]}, {}],
            2,
            id="reasoning details, as OpenRouter carries them",
        ),
        pytest.param([{"reasoning_opaque": "AAAA"}, {}], 2, id="opaque reasoning, as Copilot carries it"),
        pytest.param([{"content": 'a "thinking_blocks" field'}, {}], 0, id="a text that only speaks of them"),
    ],
)
def test_in_chat_completions_reasoning_is_found_in_its_fields(fields: list[dict[str, Any]], floor: int) -> None:
    assert editable_from(chatted(*fields), allow_thinking_loss=False) == floor
