"""Each rule of the Messages API refuses its bad case, in the provider's words, and lets the good neighbour through."""

from __future__ import annotations

from typing import Any

import pytest

from coldpress.testing.anthropic_rules import check_messages_request

Json = dict[str, Any]


def text(value: str, **more: Any) -> Json:
    return {"type": "text", "text": value, **more}


def use(identifier: str, **more: Any) -> Json:
    return {"type": "tool_use", "id": identifier, "name": "Bash", "input": {"command": "ls"}, **more}


def result(identifier: str, content: Any = "a.py", **more: Any) -> Json:
    return {"type": "tool_result", "tool_use_id": identifier, "content": content, **more}


def user(*blocks: Json | str) -> Json:
    return {"role": "user", "content": blocks[0] if isinstance(blocks[0], str) else list(blocks)}


def assistant(*blocks: Json | str) -> Json:
    return {"role": "assistant", "content": blocks[0] if isinstance(blocks[0], str) else list(blocks)}


def request(*messages: Json, **more: Any) -> Json:
    return {"model": "claude-sonnet-4-5", "max_tokens": 100, "messages": list(messages), **more}


MARK = {"cache_control": {"type": "ephemeral"}}
LONG = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
GO = user("go")
PAIR = (GO, assistant(use("t1")))


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(request(GO), id="a plain request"),
        pytest.param(request(*PAIR, user(result("t1"))), id="a call and its result"),
        pytest.param(
            request(GO, assistant(use("t1"), use("t2")), user(result("t2"), result("t1"))),
            id="parallel results in another order",
        ),
        pytest.param(request(*PAIR, user(result("t1"), text("and hurry"))), id="text behind the results"),
        pytest.param(
            request(GO, assistant(use("t1"), use("t2")), user(result("t1")), user(result("t2"))),
            id="results spread over consecutive user messages",
        ),
        pytest.param(request(*PAIR, user(result("t1", ""))), id="an empty result"),
        pytest.param(request(*PAIR, user({"type": "tool_result", "tool_use_id": "t1"})), id="a result without content"),
        pytest.param(
            request(*PAIR, user(result("t1", [text("x"), {"type": "image", "source": {}}]))),
            id="a result with a picture",
        ),
        pytest.param(
            request(GO, {"role": "system", "content": "note"}, assistant("hi"), GO),
            id="a system message inside messages",
        ),
        pytest.param(
            request(GO, assistant({"type": "thinking", "thinking": "", "signature": "s"}, text("hi")), GO),
            id="thinking without text but signed",
        ),
        pytest.param(request(GO, assistant("")), id="an empty final assistant message"),
        pytest.param(request(GO, assistant("Sure:")), id="a prefill"),
        pytest.param(
            request(
                GO,
                assistant(
                    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
                    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
                    text("x"),
                ),
                GO,
            ),
            id="a server tool answered in its turn",
        ),
        pytest.param(
            request(GO, assistant({"type": "block_of_the_future", "x": 1}), GO), id="a block type nobody knows yet"
        ),
        pytest.param(request(GO, max_tokens=0), id="no output wanted"),
        pytest.param(
            request(user(text("a", **MARK), text("b", **MARK), text("c", **MARK), text("d", **MARK))), id="four marks"
        ),
        pytest.param(request(user(text("a", **MARK)), system=[text("s", **LONG)]), id="a long mark before a short one"),
        pytest.param(
            request(user(text("a", **MARK), text("b", **MARK), text("c", **MARK)), **MARK),
            id="three marks and an automatic one",
        ),
        pytest.param(
            request(user(text("a", **MARK), text("b", **MARK), text("c", **MARK), text("d", **MARK)), **MARK),
            id="an automatic mark where one stands already",
        ),
    ],
)
def test_accepted(body: Json) -> None:
    assert check_messages_request(body) is None


@pytest.mark.parametrize(
    ("body", "says"),
    [
        pytest.param({"max_tokens": 1, "messages": [GO]}, "model: Field required", id="no model"),
        pytest.param({"model": "m", "messages": [GO]}, "max_tokens: Field required", id="no max_tokens"),
        pytest.param({"model": "m", "max_tokens": 1}, "messages: Field required", id="no messages"),
        pytest.param(request(GO, max_tokens=-1), "max_tokens: Input should be", id="negative max_tokens"),
        pytest.param(request(), "at least one message is required", id="no message"),
        pytest.param({**request(), "messages": "hi"}, "messages: Input should be a valid list", id="messages as text"),
        pytest.param(request({"role": "tool", "content": "x"}), "Unexpected role 'tool'", id="an unknown role"),
        pytest.param(request({"role": "user"}), "messages.0.content: Input should be", id="no content"),
        pytest.param(request(user("")), "messages.0: all messages must have non-empty content", id="empty content"),
        pytest.param(
            request(user({"text": "x"})), "messages.0.content.0.type: Field required", id="a block without a type"
        ),
        pytest.param(
            request(user(text(""))), "messages.0.content.0: text content blocks must be non-empty", id="empty text"
        ),
        pytest.param(request(user(text(" \n"))), "must contain non-whitespace text", id="blank text"),
        pytest.param(request(user("\n")), "must contain non-whitespace text", id="a blank string"),
        pytest.param(
            request(GO, system=[text("")]),
            "system.0: text content blocks must be non-empty",
            id="an empty system block",
        ),
        pytest.param(
            request(*PAIR, user(result("t1", [text("")]))),
            "messages.2.content.0.content.0: text content blocks must be non-empty",
            id="empty text inside a result",
        ),
        pytest.param(
            request(GO, assistant({"type": "thinking", "thinking": "", "signature": ""}), GO),
            "each thinking block must contain thinking",
            id="empty thinking without a signature",
        ),
        pytest.param(
            request(GO, assistant("Sure: ")), "cannot end with trailing whitespace", id="a prefill that ends in a space"
        ),
        pytest.param(
            request(*PAIR),
            "`tool_use` ids were found without `tool_result` blocks immediately after: t1",
            id="a call at the end",
        ),
        pytest.param(request(*PAIR, user("never mind")), "immediately after: t1", id="a call without a result"),
        pytest.param(
            request(GO, assistant(use("t1"), use("t2")), user(result("t1"))),
            "immediately after: t2",
            id="one of two parallel results is lost",
        ),
        pytest.param(
            request(*PAIR, user(text("first"), result("t1"))), "immediately after: t1", id="text before the result"
        ),
        pytest.param(
            request(GO, assistant(use("t1")), user("x"), assistant("y"), user(result("t1"))),
            "immediately after: t1",
            id="the result comes a turn late",
        ),
        pytest.param(
            request(user(result("t1"))),
            "unexpected `tool_use_id` found in `tool_result` blocks: t1",
            id="a result whose call was cut away",
        ),
        pytest.param(
            request(GO, assistant("x"), user(result("t1"))),
            "unexpected `tool_use_id`",
            id="a result behind a turn without calls",
        ),
        pytest.param(
            request(*PAIR, user(result("t1"), result("t1"))),
            "each tool_use must have a single result",
            id="two results for one call",
        ),
        pytest.param(
            request(*PAIR, user(result("t1")), assistant(use("t1")), user(result("t1"))),
            "`tool_use` ids must be unique",
            id="an id used twice",
        ),
        pytest.param(
            request(GO, assistant(use("t.1")), user(result("t.1"))),
            "tool_use.id: String should match pattern",
            id="an id with a dot",
        ),
        pytest.param(
            request(GO, assistant(use("t" * 65)), user(result("t" * 65))),
            "tool_use.id: String should match pattern",
            id="an id of 65 characters",
        ),
        pytest.param(
            request(GO, assistant({**use("t1"), "input": "ls"}), user(result("t1"))),
            "tool_use.input: Input should be a valid dictionary",
            id="an input that is no object",
        ),
        pytest.param(
            request(GO, assistant({**use("t1"), "name": ""}), user(result("t1"))),
            "tool_use.name: String should match",
            id="a call without a name",
        ),
        pytest.param(
            request(user(use("t1"))),
            "`tool_use` blocks can only be in `assistant` messages",
            id="a call said by the user",
        ),
        pytest.param(
            request(GO, assistant(result("t1"))),
            "`tool_result` blocks can only be in `user` messages",
            id="a result said by the model",
        ),
        pytest.param(
            request(GO, assistant({"type": "web_search_tool_result", "tool_use_id": "s", "content": []}), GO),
            "must have a corresponding `server_tool_use` block",
            id="a server result without its call",
        ),
        pytest.param(
            request(GO, assistant({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}), GO),
            "without a corresponding `web_search_tool_result`",
            id="a server call without its result",
        ),
        pytest.param(
            request(GO, tools=[{"name": "a", "input_schema": {}}, {"name": "a", "input_schema": {}}]),
            "Tool names must be unique",
            id="two tools of one name",
        ),
        pytest.param(
            request(user(*(text("x", **MARK) for _ in range(5)))),
            "A maximum of 4 blocks with cache_control may be provided. Found 5.",
            id="five marks",
        ),
        pytest.param(
            request(user(*(text("x", **MARK) for _ in range(4)), text("y")), **MARK),
            "Found 5.",
            id="four marks and an automatic fifth",
        ),
        pytest.param(
            request(*PAIR, user(result("t1", [text("x", **MARK)]), *(text("y", **MARK) for _ in range(4)))),
            "Found 5.",
            id="a mark inside a result counts",
        ),
        pytest.param(
            request(GO, tools=[{"name": "a", "input_schema": {}, **MARK}], system=[text("s", **LONG)]),
            "system.0.cache_control.ttl: a ttl='1h' cache_control block must not come after",
            id="a long mark behind a short one",
        ),
        pytest.param(
            request(user(text("x", cache_control={"type": "ephemeral", "ttl": "2h"}))),
            "Input should be '5m' or '1h'",
            id="an unknown lifetime",
        ),
        pytest.param(
            request(GO, cache_control={"type": "ephemeral", "ttl": "2h"}),
            "Input should be '5m' or '1h'",
            id="an unknown automatic lifetime",
        ),
        pytest.param(
            request(user(text("x", cache_control={"type": "forever"}))),
            "Input should be 'ephemeral'",
            id="an unknown kind of mark",
        ),
        pytest.param(
            request(*PAIR, user(result("t1", [text("", **MARK)]))),
            "content.0.content.0.text: cache_control cannot be set for empty text blocks",
            id="a mark on empty text",
        ),
        pytest.param(
            request(GO, assistant({"type": "thinking", "thinking": "t", "signature": "s", **MARK}), GO),
            "thinking.cache_control: Extra inputs are not permitted",
            id="a mark on thinking",
        ),
    ],
)
def test_refused(body: Json, says: str) -> None:
    refusal = check_messages_request(body)
    assert refusal is not None
    assert says in refusal.message
    assert (refusal.status, refusal.kind) == (400, "invalid_request_error")


def test_counting_needs_no_max_tokens() -> None:
    assert check_messages_request({"model": "m", "messages": [GO]}, counting=True) is None
