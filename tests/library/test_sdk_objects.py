"""What the SDKs hand back may go into the history as it is, and is written as the SDKs write it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import anthropic
import openai
import pytest
from library.talk import ANTHROPIC_TOOLS, CHAT_TOOLS, log

from coldpress import Session
from coldpress.library.plain import encode
from coldpress.model.errors import ReplyError
from coldpress.model.usage import Usage
from coldpress.testing import HttpError, Rules, Say, Script, Shell, StrictUpstream, Turn, task

CLAUDE, GPT = "claude-opus-4-6", "gpt-5-mini"


@pytest.fixture
def upstream() -> Iterator[StrictUpstream]:
    script = task(Shell("make"), Shell("make test"), thinking=True)
    with StrictUpstream(script) as found:
        yield found


def last_body(upstream: StrictUpstream) -> Any:
    return json.loads(upstream.inference[-1].request.body)


def test_anthropic_blocks_go_back_as_they_came(upstream: StrictUpstream) -> None:
    client = anthropic.Anthropic(base_url=upstream.url, api_key="k", max_retries=0)
    history: list[Any] = [{"role": "user", "content": "Build it."}]
    thinking: Any = {"type": "adaptive"}
    with Session(CLAUDE) as session:
        while True:
            shown = session.compact(history, system="s", tools=ANTHROPIC_TOOLS, extra={"thinking": thinking})
            reply = client.messages.create(
                model=CLAUDE, max_tokens=4000, system="s", tools=ANTHROPIC_TOOLS, messages=shown, thinking=thinking
            )
            session.observe(reply)
            sent = last_body(upstream)["messages"]
            assert [json.loads(encode(message, "it")) for message in shown] == sent, "as the SDK itself writes it"
            assert all(message is history[i] for i, message in enumerate(shown) if message["role"] == "assistant")
            history.append({"role": "assistant", "content": reply.content})
            calls = [block for block in reply.content if block.type == "tool_use"]
            if not calls:
                break
            results = [{"type": "tool_result", "tool_use_id": call.id, "content": log("make")} for call in calls]
            history.append({"role": "user", "content": results})
        assert [block.type for block in history[1]["content"]] == ["thinking", "text", "tool_use"]
        assert all(exchange.refusal is None for exchange in upstream.inference), "signatures and pairs are whole"
        pressed = [message for message in shown if "[coldpress" in json.dumps(message, default=str)]
        assert len(pressed) == 2
        reported = [exchange.usage.prompt for exchange in upstream.inference if exchange.usage]
        assert session._line.prompt_tokens == sum(tokens or 0 for tokens in reported)


def test_openai_messages_go_back_as_they_came(upstream: StrictUpstream) -> None:
    client = openai.OpenAI(base_url=f"{upstream.url}/v1", api_key="k", max_retries=0)
    history: list[Any] = [{"role": "system", "content": "s"}, {"role": "user", "content": "Build it."}]
    with Session(GPT) as session:
        while True:
            shown = session.compact(history, tools=CHAT_TOOLS)
            reply = client.chat.completions.create(model=GPT, tools=CHAT_TOOLS, messages=shown)
            session.observe(reply)
            sent = last_body(upstream)["messages"]
            assert [json.loads(encode(message, "it")) for message in shown] == sent
            message = reply.choices[0].message
            history.append(message)
            if not message.tool_calls:
                break
            for call in message.tool_calls:
                history.append({"role": "tool", "tool_call_id": call.id, "content": log("make")})
        assert shown[2] is history[2], "an SDK object that was not changed is itself"
        assert isinstance(shown[3], dict) and "[coldpress" in shown[3]["content"]
        assert all(exchange.refusal is None for exchange in upstream.inference)
        reported = [exchange.usage.prompt for exchange in upstream.inference if exchange.usage]
        assert session._line.prompt_tokens == sum(tokens or 0 for tokens in reported)


def test_an_object_changed_in_place_is_read_again() -> None:
    from openai.types.chat import ChatCompletionMessage

    message = ChatCompletionMessage(role="assistant", content="one")
    history: list[Any] = [{"role": "user", "content": "hi"}, message, {"role": "user", "content": "go on"}]
    with Session(GPT, format="openai_chat") as session:
        first = session._line.begin(history, system=None, tools=None, extra=None, model=None)
        message.content = "two"
        second = session._line.begin(history, system=None, tools=None, extra=None, model=None)
        assert (b'"one"' in first.body.data, b'"two"' in second.body.data) == (True, True)


USAGES = [
    pytest.param({"usage": {"input_tokens": 7, "cache_read_input_tokens": 5, "output_tokens": 1}}, id="a dict"),
    pytest.param({"input_tokens": 7, "cache_read_input_tokens": 5, "output_tokens": 1}, id="usage alone"),
    pytest.param(
        anthropic.types.Usage(input_tokens=7, cache_read_input_tokens=5, output_tokens=1), id="the SDK's usage alone"
    ),
    pytest.param(Usage(fresh=7, read=5, output=1), id="our own"),
]


@pytest.mark.parametrize("reply", USAGES)
def test_usage_is_read_whatever_its_form(reply: Any) -> None:
    with Session(CLAUDE) as session:
        session.compact([{"role": "user", "content": "hi"}])
        session.observe(reply)
        assert session._line.prompt_tokens == 12


def test_chat_usage_alone_counts_what_was_read_once() -> None:
    with Session(GPT) as session:
        session.compact([{"role": "user", "content": "hi"}])
        session.observe({"prompt_tokens": 12, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 5}})
        assert session._line.prompt_tokens == 12


def test_replies_go_to_the_requests_they_answer() -> None:
    with Session(CLAUDE) as session:
        one = session.compact([{"role": "user", "content": "one"}])
        two = session.compact([{"role": "user", "content": "two"}])
        session.observe(Usage(fresh=1), of=one)
        session.observe(Usage(fresh=20), of=two)
        requests = session._line._requests
        assert [requests[of.receipt.request_id].prompt_tokens for of in (one, two)] == [1, 20]


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        pytest.param(HttpError(529), (529, "complete"), id="refused"),
        pytest.param(None, (None, "upstream_failed"), id="no connection"),
    ],
)
def test_errors_of_the_sdk_are_outcomes(fault: Any, expected: Any) -> None:
    turn = Turn((Say("x"),), fault=fault)
    with StrictUpstream(Script(closing=turn), rules=Rules()) as upstream, Session(CLAUDE) as session:
        url = upstream.url if fault is not None else "http://127.0.0.1:1"
        client = anthropic.Anthropic(base_url=url, api_key="k", max_retries=0)
        shown = session.compact([{"role": "user", "content": "hi"}])
        with pytest.raises(anthropic.APIError) as caught:
            client.messages.create(model=CLAUDE, max_tokens=10, messages=shown)
        outcome = read(session, caught.value)
        assert (outcome.status, outcome.ended) == expected
        session.observe(caught.value)


def read(session: Session, error: BaseException) -> Any:
    from coldpress.library.replies import read_reply

    assert session.last is not None
    return read_reply(error, request_id=session.last.request_id, format_name="anthropic", seconds=1.0).outcome


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        pytest.param("text", "cannot be a str", id="text"),
        pytest.param({"usage": object()}, "holds a object", id="no JSON"),
    ],
)
def test_what_is_no_reply_is_told(reply: Any, told: str) -> None:
    with Session(CLAUDE) as session:
        with pytest.raises(ReplyError, match="call compact first"):
            session.observe({"usage": {}})
        session.compact([{"role": "user", "content": "hi"}])
        with pytest.raises(ReplyError, match=told):
            session.observe(reply)
