"""Each rule of Chat Completions refuses its bad case and lets the good neighbour through."""

from __future__ import annotations

from typing import Any

import pytest

from coldpress.testing.chat_rules import check_chat_request

Json = dict[str, Any]
USER = {"role": "user", "content": "go"}


def calls(*ids: str, content: str | None = None) -> Json:
    listed = [{"id": i, "type": "function", "function": {"name": "bash", "arguments": "{}"}} for i in ids]
    return {"role": "assistant", "content": content, "tool_calls": listed}


def tool(identifier: str, content: Any = "a.py") -> Json:
    return {"role": "tool", "tool_call_id": identifier, "content": content}


def request(*messages: Any) -> Json:
    return {"model": "gpt-6-sol", "messages": list(messages)}


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(request(USER), id="a plain request"),
        pytest.param(
            request({"role": "developer", "content": "d"}, {"role": "system", "content": "s"}, USER),
            id="system and developer",
        ),
        pytest.param(request(USER, calls("a"), tool("a")), id="a call and its result"),
        pytest.param(
            request(USER, calls("a", "b"), tool("b"), tool("a"), USER), id="parallel results in another order"
        ),
        pytest.param(
            request(USER, calls("a"), tool("a"), calls("a"), tool("a")), id="an id used again in a later turn"
        ),
        pytest.param(
            request(USER, calls("functions.bash:0"), tool("functions.bash:0")), id="an id with dots and colons"
        ),
        pytest.param(
            request(USER, calls("a"), tool("a", [{"type": "text", "text": "x"}])), id="a result of text parts"
        ),
        pytest.param(request(USER, calls("a"), tool("a", "")), id="an empty result"),
        pytest.param(
            request(
                USER,
                {**calls("a"), "tool_calls": [{"id": "a", "type": "custom", "custom": {"name": "p", "input": "x"}}]},
                tool("a"),
            ),
            id="a custom tool",
        ),
        pytest.param(
            request(
                USER,
                {
                    **calls("a"),
                    "tool_calls": [
                        {"id": "a", "type": "function", "function": {"name": "b", "arguments": "{not json"}}
                    ],
                },
                tool("a"),
            ),
            id="arguments that are not JSON",
        ),
        pytest.param(request(USER, {"role": "assistant", "content": "x", "tool_calls": None}), id="null calls"),
        pytest.param(
            request({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}),
            id="a picture from the user",
        ),
    ],
)
def test_accepted(body: Json) -> None:
    assert check_chat_request(body) is None


@pytest.mark.parametrize(
    ("body", "says", "param"),
    [
        pytest.param({"messages": [USER]}, "you must provide a model parameter", None, id="no model"),
        pytest.param({"model": "m"}, "Missing required parameter: 'messages'", "messages", id="no messages"),
        pytest.param(request(), "empty array", "messages", id="no message"),
        pytest.param(request("hi"), "expected an object", "messages[0]", id="a message that is no object"),
        pytest.param(
            request({"role": "bot", "content": "x"}),
            "Invalid value: 'bot'. Supported values are: 'system'",
            "messages[0].role",
            id="an unknown role",
        ),
        pytest.param(
            request({"role": "user", "content": None}),
            "expected a string, got null",
            "messages[0].content",
            id="null content of the user",
        ),
        pytest.param(
            request({"role": "assistant", "content": None}),
            "expected a string, got null",
            "messages[0].content",
            id="null content without calls",
        ),
        pytest.param(
            request({"role": "user", "content": [{"type": "text"}]}),
            "expected a string",
            "messages[0].content[0].text",
            id="a text part without text",
        ),
        pytest.param(
            request(USER, calls("a"), tool("a", [{"type": "image_url"}])),
            "support only content of type 'text'",
            "messages[2].content[0].type",
            id="a picture in a result",
        ),
        pytest.param(request(USER, calls()), "empty array", "messages[1].tool_calls", id="an empty list of calls"),
        pytest.param(
            request(USER, calls("a", "a"), tool("a"), tool("a")),
            "ids must be unique",
            "messages[1].tool_calls",
            id="one id twice in a turn",
        ),
        pytest.param(
            request(USER, calls(""), tool("")),
            "Missing required parameter",
            "messages[1].tool_calls[0].id",
            id="a call without an id",
        ),
        pytest.param(
            request(
                USER,
                {
                    **calls("a"),
                    "tool_calls": [{"id": "a", "type": "function", "function": {"name": "b", "arguments": {}}}],
                },
                tool("a"),
            ),
            "expected a string",
            "messages[1].tool_calls[0].function.arguments",
            id="arguments as an object",
        ),
        pytest.param(
            request(USER, calls("a")), "did not have response messages: a", "messages.[1].role", id="a call at the end"
        ),
        pytest.param(
            request(USER, calls("a", "b"), tool("a")),
            "did not have response messages: b",
            "messages.[1].role",
            id="one of two results is lost",
        ),
        pytest.param(
            request(USER, calls("a"), USER, tool("a")),
            "must be followed by tool messages",
            "messages.[1].role",
            id="something between call and result",
        ),
        pytest.param(
            request(USER, tool("a")),
            "must be a response to a preceeding message",
            "messages.[1].role",
            id="a result without any call",
        ),
        pytest.param(
            request(USER, calls("a"), tool("a"), USER, tool("a")),
            "must be a response to a preceeding message",
            "messages.[4].role",
            id="a result a turn late",
        ),
        pytest.param(
            request(USER, calls("a"), tool("b"), tool("a")),
            "'b' not found in 'tool_calls'",
            "messages.[2].tool_call_id",
            id="a result of another call",
        ),
        pytest.param(
            request(USER, calls("a"), tool("a"), tool("a")),
            "'a' not found",
            "messages.[3].tool_call_id",
            id="two results for one call",
        ),
    ],
)
def test_refused(body: Json, says: str, param: str | None) -> None:
    refusal = check_chat_request(body)
    assert refusal is not None
    assert says in refusal.message
    assert (refusal.status, refusal.param) == (400, param)
