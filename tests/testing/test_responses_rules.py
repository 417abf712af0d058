"""Each rule of the Responses API refuses its bad case and lets the good neighbour through."""

from __future__ import annotations

from typing import Any

import pytest

from coldpress.testing.responses_pairs import check_pairs
from coldpress.testing.responses_rules import check_responses_request

Json = dict[str, Any]
USER = {"role": "user", "content": "go"}
SAID = {"type": "message", "role": "assistant", "content": "I will."}


def call(identifier: str, **more: Any) -> Json:
    return {"type": "function_call", "call_id": identifier, "name": "bash", "arguments": "{}", **more}


def output(identifier: str, said: Any = "a.py", **more: Any) -> Json:
    return {"type": "function_call_output", "call_id": identifier, "output": said, **more}


def reasoning(identifier: str, **more: Any) -> Json:
    return {"type": "reasoning", "id": identifier, "summary": [], "encrypted_content": "gAAAA", **more}


def shell(identifier: str) -> Json:
    return {"type": "shell_call", "call_id": identifier, "action": {"commands": ["ls"]}}


def ran(identifier: str, **outcome: Any) -> Json:
    said = {"stdout": "", "stderr": "", "outcome": outcome or {"type": "exit", "exit_code": 0}}
    return {"type": "shell_call_output", "call_id": identifier, "output": [said]}


def local(identifier: str, item: str = "lsh_1") -> Json:
    return {"type": "local_shell_call", "id": item, "call_id": identifier, "action": {"type": "exec"}}


def request(*items: Any, **more: Any) -> Json:
    return {"model": "gpt-5.6-sol", "input": list(items), **more}


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"model": "m", "input": "hi"}, id="a string"),
        pytest.param({"model": "m", "previous_response_id": "resp_1"}, id="nothing but the response before"),
        pytest.param(request({"role": "developer", "content": "d"}, USER, SAID), id="messages without a type"),
        pytest.param(request({"role": "user", "content": ""}), id="empty text"),
        pytest.param(request(USER, call("a"), output("a", "")), id="an empty output"),
        pytest.param(request(USER, call("a", arguments=""), output("a")), id="empty arguments"),
        pytest.param(request(USER, call("a", arguments="{no"), output("a")), id="arguments that are not JSON"),
        pytest.param(
            request(USER, call("a"), output("a", [{"type": "input_text", "text": "x"}, {"type": "input_image"}])),
            id="an output of parts",
        ),
        pytest.param(request(USER, call("a" * 450), output("a" * 450)), id="a long call id"),
        pytest.param(request(USER, reasoning("rs_1", content=None), call("a", id="fc_1"), output("a")), id="ids"),
        pytest.param(request({"type": "item_reference", "id": "msg_1"}), id="a reference, stored"),
        pytest.param(request(shell("a"), ran("a", type="timeout")), id="a shell that ran out of time"),
        pytest.param(request(USER, {"type": "compaction_trigger"}), id="a trigger at the end"),
        pytest.param(request(USER, prompt_cache_options={"ttl": "12h", "mode": "explicit"}), id="cache options"),
        pytest.param(request(USER, tools=[{"type": "web_search"}]), id="a hosted tool without a name"),
    ],
)
def test_accepted(body: Json) -> None:
    assert check_responses_request(body) is None


@pytest.mark.parametrize(
    ("body", "says", "param"),
    [
        pytest.param({"input": "hi"}, "Missing required parameter: 'model'", "model", id="no model"),
        pytest.param({"model": "m"}, "must be provided", "input", id="no input"),
        pytest.param({"model": "m", "input": {}}, "expected a string or an array", "input", id="input as an object"),
        pytest.param(request("hi"), "expected an object, but got a string", "input[0]", id="an item that is a string"),
        pytest.param(
            request({"type": "tool_result"}), "Invalid value: 'tool_result'", "input[0].type", id="a foreign item"
        ),
        pytest.param(
            request({"content": "x"}), "Missing required parameter", "input[0].type", id="neither type nor role"
        ),
        pytest.param(
            request({"role": "tool", "content": "x"}), "Invalid value: 'tool'", "input[0].role", id="a foreign role"
        ),
        pytest.param(
            request({"role": "user", "content": [{"type": "text", "text": "x"}]}),
            "Invalid value: 'text'. Supported values are: 'input_text', 'input_image',",
            "input[0].content[0]",
            id="a part of the chat wire",
        ),
        pytest.param(
            request({"role": "assistant", "content": [{"type": "input_text", "text": "x"}]}),
            "Supported values are: 'output_text', and 'refusal'",
            "input[0].content[0]",
            id="the user's part in the assistant's mouth",
        ),
        pytest.param(
            request({"role": "user", "content": None}),
            "string or array of objects, but got null",
            "input[0].content",
            id="null content",
        ),
        pytest.param(
            request(call("a", arguments={})), "got an object", "input[0].arguments", id="arguments as an object"
        ),
        pytest.param(request(call("")), "empty string", "input[0].call_id", id="an empty call id"),
        pytest.param(request(call("a", name="a b")), "pattern", "input[0].name", id="a name with a blank"),
        pytest.param(request(call("a", id="rs_1")), "begins with 'fc'", "input[0].id", id="the wrong kind of id"),
        pytest.param(request(call("a", id="fc_" + "x" * 70)), "string too long", "input[0].id", id="a long item id"),
        pytest.param(request(output("a", None)), "got null", "input[0].output", id="a null output"),
        pytest.param(
            request({"type": "function_call_output", "output": "x"}),
            "Missing",
            "input[0].call_id",
            id="output of no call",
        ),
        pytest.param(
            request(output("a", [{"type": "output_text", "text": "x"}])),
            "Invalid value: 'output_text'",
            "input[0].output[0]",
            id="a model's part in an output",
        ),
        pytest.param(
            request({**ran("a"), "output": "x"}), "expected an array", "input[0].output", id="shell output as a string"
        ),
        pytest.param(
            request(ran("a", type="exit")),
            "Missing",
            "input[0].output[0].outcome.exit_code",
            id="an exit without its code",
        ),
        pytest.param(
            request(ran("a", type="x")), "'exit', and 'timeout'", "input[0].output[0].outcome.type", id="outcome"
        ),
        pytest.param(
            request({"type": "reasoning", "id": "rs_1"}),
            "Missing",
            "input[0].summary",
            id="reasoning without a summary",
        ),
        pytest.param(
            request({"type": "item_reference", "id": "msg_1"}, store=False),
            "Item with id 'msg_1' not found. Items are not persisted",
            "input",
            id="a reference to what is not stored",
        ),
        pytest.param(
            request({"type": "compaction_trigger"}, USER),
            "must be the last item",
            "input[0]",
            id="a trigger in the middle",
        ),
        pytest.param(
            request(USER, previous_response_id="resp_1", conversation="conv_1"),
            "Mutually exclusive",
            "previous_response_id",
            id="two histories",
        ),
        pytest.param(request(USER, max_output_tokens=5), ">= 16, but got 5", "max_output_tokens", id="too short"),
        pytest.param(
            request(USER, tools=[{"type": "function", "function": {"name": "b"}}]),
            "Missing required parameter: 'tools[0].name'",
            "tools[0].name",
            id="a tool of the chat wire",
        ),
        pytest.param(
            request(USER, prompt_cache_options={"ttl": "5m"}), "'30m', and '12h'", "prompt_cache_options.ttl", id="ttl"
        ),
        pytest.param(
            request(USER, context_management=[{"type": "clear"}]),
            "Invalid value: 'clear'",
            "context_management[0].type",
            id="another kind of context management",
        ),
    ],
)
def test_refused(body: Json, says: str, param: str) -> None:
    refusal = check_responses_request(body)
    assert refusal is not None
    assert says in refusal.message
    assert refusal.param == param


@pytest.mark.parametrize(
    ("item", "says"),
    [
        pytest.param({"type": "configuration_update"}, "Invalid value: 'configuration_update'", id="configuration"),
        pytest.param(
            reasoning("rs_1", content=[{"type": "reasoning_text", "text": "x"}]),
            "array too long. Expected an array with maximum length 0, but got an array with length 1",
            id="open reasoning",
        ),
    ],
)
def test_compact_takes_less(item: Json, says: str) -> None:
    body = request(USER, item)
    assert check_responses_request(body) is None
    refusal = check_responses_request(body, compacting=True)
    assert refusal is not None
    assert says in refusal.message


@pytest.mark.parametrize(
    "items",
    [
        pytest.param([USER, call("a"), call("b"), output("b"), output("a")], id="parallel, in another order"),
        pytest.param([USER, call("a"), output("a"), call("b"), output("b")], id="one behind the other"),
        pytest.param([USER, call("a"), USER, SAID, output("a")], id="something between call and output"),
        pytest.param([USER, call("a"), output("a"), call("a"), output("a")], id="an id used again"),
        pytest.param([call("a"), {"type": "function_call_output", "name": "bash", "output": "x"}], id="paired by name"),
        pytest.param([shell("a"), ran("a")], id="a shell call"),
        pytest.param(
            [local("a"), {"type": "local_shell_call_output", "id": "a", "output": "{}"}],
            id="a local shell call, by `id`",
        ),
        pytest.param([reasoning("rs_1"), SAID], id="reasoning and what it led to"),
        pytest.param([reasoning("rs_1"), reasoning("rs_2"), call("a"), output("a")], id="two items of reasoning"),
        pytest.param([reasoning("rs_1"), {"type": "web_search_call", "id": "ws_1"}, SAID], id="reasoning and a search"),
    ],
)
def test_conversations_that_hold_together(items: list[Json]) -> None:
    assert check_pairs(items) is None


@pytest.mark.parametrize(
    ("items", "says"),
    [
        pytest.param([USER, call("a")], "No tool output found for function call a.", id="a call at the end"),
        pytest.param([call("a"), call("b"), output("a")], "No tool output found for function call b.", id="one of two"),
        pytest.param(
            [USER, output("a")], "No tool call found for function call output with call_id a.", id="an orphaned output"
        ),
        pytest.param([output("a"), call("a")], "No tool call found", id="an output before its call"),
        pytest.param([call("a"), output("a"), output("a")], "No tool call found", id="a second output"),
        pytest.param(
            [call("a"), {"type": "custom_tool_call_output", "call_id": "a", "output": ""}],
            "No tool call found for custom tool call output with call_id a.",
            id="another kind of output",
        ),
        pytest.param([shell("a")], "No tool output found for shell call a.", id="an open shell call"),
        pytest.param([local("a")], "No tool output found for local shell call a.", id="an open local shell call"),
        pytest.param(
            [call("a"), {"type": "function_call_output", "name": "read", "output": "x"}],
            "No tool call found",
            id="paired by another name",
        ),
        pytest.param(
            [reasoning("rs_1")],
            "Item 'rs_1' of type 'reasoning' was provided without its required following",
            id="last",
        ),
        pytest.param([reasoning("rs_1"), USER], "required following item", id="reasoning before a user"),
        pytest.param(
            [call("a"), reasoning("rs_1"), output("a")], "required following item", id="reasoning before an output"
        ),
        pytest.param(
            [{**SAID, "id": "msg_1"}, {**SAID, "id": "msg_1"}],
            "Duplicate item found with id msg_1. Remove duplicate items",
            id="one id twice",
        ),
    ],
)
def test_conversations_that_do_not(items: list[Json], says: str) -> None:
    refusal = check_pairs(items)
    assert refusal is not None
    assert says in refusal.message
    assert refusal.param == "input"
