"""The official SDKs finish a tool-using task against the upstream, streaming and not."""

from __future__ import annotations

from typing import Any

import anthropic
import openai
import pytest
from testing.wires import CHAT_TOOLS, TOOLS

from coldpress.testing import HttpError, Read, Script, Shell, StrictUpstream, task

STEPS = task(Shell("git log"), (Shell("ls"), Read("a.py")), thinking=True, done="That is all.")
OUTPUT = "a line of a log\n" * 600


def run_anthropic(upstream: StrictUpstream, *, stream: bool) -> list[anthropic.types.Message]:
    client = anthropic.Anthropic(base_url=upstream.url, api_key="any", max_retries=1)
    said: list[Any] = [{"role": "user", "content": "go"}]
    replies = []
    while True:
        asked: dict[str, Any] = {
            "model": "claude-sonnet-4-6",
            "max_tokens": 2000,
            "tools": TOOLS,
            "messages": said,
            "thinking": {"type": "enabled", "budget_tokens": 1024},
            "cache_control": {"type": "ephemeral"},
        }
        if stream:
            with client.messages.stream(**asked) as streaming:
                reply = streaming.get_final_message()
        else:
            reply = client.messages.create(**asked)
        replies.append(reply)
        said.append({"role": "assistant", "content": reply.content})
        calls = [block for block in reply.content if block.type == "tool_use"]
        if not calls:
            return replies
        results = [{"type": "tool_result", "tool_use_id": call.id, "content": OUTPUT} for call in calls]
        said.append({"role": "user", "content": results})


@pytest.mark.parametrize("stream", [False, True], ids=["document", "stream"])
def test_anthropic(stream: bool) -> None:
    with StrictUpstream(STEPS) as upstream:
        replies = run_anthropic(upstream, stream=stream)
    commands = [block.input["command"] for reply in replies for block in reply.content if block.type == "tool_use"]
    assert commands == ["git log", "ls", "cat a.py"]
    assert [reply.stop_reason for reply in replies] == ["tool_use", "tool_use", "end_turn"]
    assert [block.type for block in replies[0].content] == ["thinking", "text", "tool_use"]
    assert replies[-1].content[-1].text == "That is all."
    written, read = replies[1].usage.cache_creation_input_tokens, replies[2].usage.cache_read_input_tokens
    assert written == read > 1024


@pytest.mark.parametrize("stream", [False, True], ids=["document", "stream"])
def test_openai(stream: bool) -> None:
    said: list[Any] = [{"role": "user", "content": "go"}]
    commands, usages = [], []
    with StrictUpstream(STEPS) as upstream:
        client = openai.OpenAI(base_url=upstream.url + "/v1", api_key="any", max_retries=1)
        while True:
            asked: dict[str, Any] = {"model": "gpt-5-mini", "tools": CHAT_TOOLS, "messages": said}
            if stream:
                with client.chat.completions.stream(**asked, stream_options={"include_usage": True}) as streaming:
                    reply = streaming.get_final_completion()
            else:
                reply = client.chat.completions.create(**asked)
            message = reply.choices[0].message
            usages.append(reply.usage)
            said.append(message.model_dump(exclude_none=True, exclude={"parsed"}))
            if not message.tool_calls:
                break
            commands += [call.function.arguments for call in message.tool_calls]
            said += [{"role": "tool", "tool_call_id": call.id, "content": OUTPUT} for call in message.tool_calls]
    assert commands == ['{"command": "git log"}', '{"command": "ls"}', '{"command": "cat a.py"}']
    assert message.content == "That is all."
    assert usages[2].prompt_tokens_details.cached_tokens > 1024


def test_the_sdks_turn_our_refusals_into_their_own_errors() -> None:
    with StrictUpstream(Script(faults={0: HttpError(429), 1: HttpError(529), 2: HttpError(429)})) as upstream:
        claude = anthropic.Anthropic(base_url=upstream.url, api_key="any", max_retries=0)
        asked: dict[str, Any] = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "x"}]}
        with pytest.raises(anthropic.RateLimitError):
            claude.messages.create(**asked)
        with pytest.raises(anthropic.InternalServerError, match="Overloaded"):
            claude.messages.create(**asked)
        with pytest.raises(openai.RateLimitError):
            openai.OpenAI(base_url=upstream.url + "/v1", api_key="any", max_retries=0).chat.completions.create(
                model="m", messages=[{"role": "user", "content": "x"}]
            )
        with pytest.raises(anthropic.BadRequestError, match="text content blocks must be non-empty"):
            claude.messages.create(
                **{**asked, "messages": [{"role": "user", "content": [{"type": "text", "text": ""}]}]}
            )
