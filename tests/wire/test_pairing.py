"""Which call a result answers, with ids missing, doubled, reused and shuffled; and what is carried untouched."""

from __future__ import annotations

import json
from typing import Any

import pytest

from coldpress.model.conversation import Conversation, Opaque, Text, ToolResult
from coldpress.wire.prefix import Reader


def anthropic(*messages: dict[str, Any]) -> Conversation:
    return Reader[None](seed=1).read(json.dumps({"messages": list(messages)}).encode(), "anthropic", None).conversation


def chat(*messages: dict[str, Any]) -> Conversation:
    return (
        Reader[None](seed=1).read(json.dumps({"messages": list(messages)}).encode(), "openai_chat", None).conversation
    )


def answers(conversation: Conversation) -> list[str | None]:
    """The tool that each result was paired with, in order."""
    return [
        b.call.name if b.call else None for m in conversation.messages for b in m.blocks if isinstance(b, ToolResult)
    ]


def use(call_id: str | None, name: str) -> dict[str, Any]:
    return {"type": "tool_use", "name": name, "input": {}} | ({"id": call_id} if call_id is not None else {})


def res(call_id: str | None, content: Any = "r") -> dict[str, Any]:
    return {"type": "tool_result", "content": content} | ({"tool_use_id": call_id} if call_id is not None else {})


def ask(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def give(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        pytest.param([ask(use("a", "Read")), give(res("a"))], ["Read"], id="one call"),
        pytest.param([ask(use("a", "A"), use("b", "B")), give(res("b"), res("a"))], ["B", "A"], id="answers shuffled"),
        pytest.param(
            [ask(use("a", "A")), ask(use("b", "B")), give(res("a"), res("b"))], ["A", "B"], id="a turn in two messages"
        ),
        pytest.param(
            [ask(use("a", "A"), use("b", "B")), give(res("a")), give({"type": "text", "text": "wait"}), give(res("b"))],
            ["A", "B"],
            id="X11: a user message between two results of a turn",
        ),
        pytest.param([give(res("z"), {"type": "text", "text": "hi"})], [None], id="P07: an orphan result"),
        pytest.param([ask(use("a", "A")), give(res("a"), res("a"))], ["A", None], id="P13: two results for one call"),
        pytest.param(
            [ask(use("a", "A"), use("a", "B")), give(res("a"), res("a"))], [None, None], id="one id on two calls"
        ),
        pytest.param(
            [ask(use("Bash_0", "A")), give(res("Bash_0")), ask(use("Bash_0", "B")), give(res("Bash_0"))],
            ["A", "B"],
            id="an id used again in a later turn",
        ),
        pytest.param(
            [ask(use("", "A"), use("", "B")), give(res(""), res(""))], ["A", "B"], id="empty ids pair by order"
        ),
        pytest.param([ask(use(None, "A")), give(res(None))], ["A"], id="missing ids pair by order"),
        pytest.param([ask(use("a", "A")), give(res("b"))], [None], id="a result for another id"),
        pytest.param(
            [ask(use("a", "A")), give(res("a")), give(res("a"))], ["A", None], id="a result that comes again later"
        ),
    ],
)
def test_anthropic_pairing(messages: list[dict[str, Any]], expected: list[str | None]) -> None:
    assert answers(anthropic(*messages)) == expected


def call(call_id: str, name: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": "{not json"}}


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        pytest.param(
            [
                {"role": "assistant", "tool_calls": [call("1", "A"), call("2", "B")]},
                {"role": "tool", "tool_call_id": "2", "content": "x"},
                {"role": "tool", "tool_call_id": "1", "content": "y"},
            ],
            ["B", "A"],
            id="parallel calls, answers shuffled",
        ),
        pytest.param(
            [
                {"role": "assistant", "function_call": {"name": "A", "arguments": "{}"}},
                {"role": "function", "name": "A", "content": "x"},
            ],
            ["A"],
            id="the legacy function role pairs by order",
        ),
        pytest.param([{"role": "tool", "tool_call_id": "1", "content": "x"}], [None], id="an orphan"),
        pytest.param(
            [
                {
                    "role": "assistant",
                    "tool_calls": [{"id": "1", "type": "custom", "custom": {"name": "C", "input": "x"}}],
                },
                {"role": "tool", "tool_call_id": "1", "content": "y"},
            ],
            ["C"],
            id="a custom tool",
        ),
    ],
)
def test_chat_pairing(messages: list[dict[str, Any]], expected: list[str | None]) -> None:
    assert answers(chat(*messages)) == expected


def test_arguments_are_kept_even_where_they_are_not_json() -> None:
    conversation = chat(
        {"role": "assistant", "tool_calls": [call("1", "A")]}, {"role": "tool", "tool_call_id": "1", "content": "y"}
    )
    result = conversation.messages[1].results[0][1]
    assert result.call is not None
    assert conversation.arguments(result.call) == "{not json"


OPAQUE = [
    {"type": "image", "source": {"type": "base64", "data": "AA=="}},
    {"type": "thinking", "thinking": "", "signature": "s"},
    {"type": "redacted_thinking", "data": "x"},
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
    {"type": "mcp_tool_result", "tool_use_id": "m", "content": [{"type": "text", "text": "t"}]},
    {"type": "compaction", "content": None},
    {"type": "a_block_of_the_future", "text": "not ours"},
    {"no_type": 1},
]


@pytest.mark.parametrize("block", OPAQUE, ids=lambda b: str(b.get("type", "untyped")))
def test_blocks_we_do_not_know_are_opaque(block: dict[str, Any]) -> None:
    conversation = anthropic(ask(block), give(block))
    assert all(isinstance(b, Opaque) for m in conversation.messages for b in m.blocks)


def test_a_result_with_an_image_between_texts_has_two_literals_with_their_places() -> None:
    content = [{"type": "text", "text": "one"}, {"type": "image", "source": {}}, {"type": "text", "text": "two"}]
    conversation = anthropic(ask(use("a", "A")), give(res("a", content)))
    result = conversation.messages[1].results[0][1]
    assert [(t.part, conversation.text(t)) for t in result.texts] == [(0, "one"), (2, "two")]


@pytest.mark.parametrize("content", [None, [], "", [{"type": "text", "text": ""}], 5, {"odd": 1}])
def test_strange_contents_are_read_without_complaint(content: Any) -> None:
    conversation = anthropic(ask(use("a", "A")), give(res("a", content)), {"role": "system", "content": "note"})
    assert answers(conversation) == ["A"]
    assert isinstance(conversation.messages[2].blocks[0], Text)


def test_the_failure_flag_has_three_values() -> None:
    flags = [{"is_error": True}, {"is_error": False}, {}]
    for flag, expected in zip(flags, (True, False, None), strict=True):
        conversation = anthropic(ask(use("a", "A")), give(res("a") | flag))
        assert conversation.messages[1].results[0][1].failed is expected
