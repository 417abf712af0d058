"""A message weighs what its texts, calls and results do; what is no text weighs by a figure and not by its bytes."""

from __future__ import annotations

import json
from time import perf_counter
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldpress.measure.tokens import Counter, counter_for
from coldpress.measure.weights import MOST_UNKNOWN_TOKENS, Weight, weigh
from coldpress.model.conversation import Conversation
from coldpress.wire.prefix import Reader

CLAUDE = counter_for("claude-opus-4-5")
GPT = counter_for("gpt-4-turbo")
PIXELS = "iVBORw0KGgo" * 20_000


def conversation(*messages: dict[str, Any], name: Literal["anthropic", "openai_chat"] = "anthropic") -> Conversation:
    body = json.dumps({"model": "m", "messages": messages}).encode()
    return Reader[None](seed=1).read(body, name, None).conversation


def weight(content: Any, *, role: str = "user", counter: Counter = CLAUDE) -> int:
    return weigh(conversation({"role": role, "content": content}), 0, counter).tokens


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"type": "tool_use", "id": "t1", "name": name, "input": arguments}


def result(content: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": "t1", "content": content}


IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXELS}}
SIGNED = {"type": "thinking", "thinking": "So.", "signature": "E" * 2000}
LONG_THOUGHT = "The cache is cold, so the old results may go. " * 50

CASES = [
    pytest.param("Run the tests.", "user", CLAUDE.count("Run the tests."), id="a bare string"),
    pytest.param([{"type": "text", "text": "缓存"}], "user", CLAUDE.count("缓存"), id="a text as decoded"),
    pytest.param([IMAGE], "user", 1600, id="an image by a figure, not by its bytes"),
    pytest.param(
        [call("Read", {"path": "a.py"})],
        "assistant",
        45 + CLAUDE.count("Read") + CLAUDE.count('{"path": "a.py"}'),
        id="a call by its name and arguments",
    ),
    pytest.param(
        [call("Write", {"text": "缓存是一种" * 20})],
        "assistant",
        45 + CLAUDE.count("Write") + CLAUDE.count('{"text":"' + "缓存是一种" * 20 + '"}'),
        id="arguments without the escapes of the client's JSON",
    ),
    pytest.param([result("ok")], "user", 45 + CLAUDE.count("ok"), id="a result by its text"),
    pytest.param(
        [result([{"type": "text", "text": "ok"}, IMAGE])],
        "user",
        45 + CLAUDE.count("ok") + 1600,
        id="a result with an image",
    ),
    pytest.param([result(None)], "user", 45, id="a result without content"),
    pytest.param([SIGNED], "assistant", 420 - 40, id="reasoning by its signature, which holds all of it"),
    pytest.param([{"type": "redacted_thinking", "data": "E" * 2000}], "assistant", 380, id="sealed reasoning"),
    pytest.param([{**SIGNED, "signature": "E" * 10}], "assistant", 0, id="a short signature weighs nothing"),
    pytest.param(
        [{"type": "thinking", "thinking": LONG_THOUGHT, "signature": ""}],
        "assistant",
        CLAUDE.count(LONG_THOUGHT),
        id="reasoning without a signature by its text",
    ),
    pytest.param([{"type": "server_tool", "x": "y" * 4000}], "user", 1008, id="an unknown block by its bytes"),
    pytest.param(
        [{"type": "document", "source": PIXELS * 2}], "user", MOST_UNKNOWN_TOKENS, id="an unknown block at most so much"
    ),
    pytest.param([], "user", 0, id="nothing"),
]


@pytest.mark.parametrize(("content", "role", "expected"), CASES)
def test_weight_of_a_message(content: Any, role: str, expected: int) -> None:
    assert weight(content, role=role) == expected


def test_texts_of_results_are_told_apart() -> None:
    parts = [{"type": "text", "text": "one " * 50}, IMAGE, {"type": "text", "text": "two"}]
    blocks = [{"type": "text", "text": "See."}, result(parts), {**result("three"), "tool_use_id": "t2"}]
    found = weigh(conversation({"role": "user", "content": blocks}), 0, CLAUDE)
    counted = [CLAUDE.count(text) for text in ("one " * 50, "two", "three")]
    assert found.texts == ((1, 0, counted[0]), (1, 2, counted[1]), (2, 0, counted[2]))
    assert found.tokens == sum(counted) + CLAUDE.count("See.") + 2 * 45 + 1600


CHAT_CALL = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path": "a.py"}'}}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        pytest.param({"role": "user", "content": "Go."}, 4 + GPT.count("Go."), id="a text"),
        pytest.param(
            {"role": "assistant", "content": None, "tool_calls": [CHAT_CALL]},
            4 + GPT.count("read") + GPT.count('{"path": "a.py"}'),
            id="a call with quoted arguments",
        ),
        pytest.param({"role": "tool", "tool_call_id": "c1", "content": "x = 1"}, 4 + GPT.count("x = 1"), id="a result"),
        pytest.param(
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:" + PIXELS}}]},
            4 + 1600,
            id="an image",
        ),
        pytest.param(
            {"role": "assistant", "content": "Yes.", "reasoning_content": LONG_THOUGHT, "reasoning": LONG_THOUGHT},
            4 + GPT.count("Yes.") + GPT.count(LONG_THOUGHT),
            id="reasoning once, under whatever key",
        ),
    ],
)
def test_weight_of_a_chat_message(message: dict[str, Any], expected: int) -> None:
    assert weigh(conversation(message, name="openai_chat"), 0, GPT).tokens == expected


def test_a_lone_surrogate_is_weighed_and_does_not_raise() -> None:
    said = rb'{"role":"user","content":"a \ud800 b"}'
    called = rb'{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"w","input":{"x":"\ud800"}}]}'
    body = b'{"model":"m","messages":[' + said + b"," + called + b"]}"
    found = Reader[None](seed=1).read(body, "anthropic", None).conversation
    assert all(weigh(found, index, CLAUDE).tokens >= 3 for index in (0, 1))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
kinds = st.sampled_from(["text", "image", "thinking", "tool_use", "tool_result", "document", "x"])
strange_blocks = st.fixed_dictionaries(
    {"type": kinds},
    optional=dict.fromkeys(["text", "content", "input", "thinking", "signature", "source"], json_values),
)


@given(st.lists(strange_blocks | json_values, max_size=4), st.sampled_from(["user", "assistant", "system", "else"]))
def test_any_message_can_be_weighed_and_again_weighs_the_same(content: list[Any], role: str) -> None:
    found = conversation({"role": role, "content": content})
    weighed = weigh(found, 0, CLAUDE)
    assert weighed == weigh(found, 0, CLAUDE)
    assert weighed.tokens >= sum(tokens for _, _, tokens in weighed.texts) >= 0


def test_a_message_weighs_the_same_wherever_it_stands_and_however_it_is_marked() -> None:
    blocks: list[dict[str, Any]] = [{"type": "text", "text": "Look."}, SIGNED, call("Read", {"path": "a.py"})]
    marked = [{**block, "cache_control": {"type": "ephemeral"}} for block in blocks]
    first = {"role": "user", "content": "Begin."}
    alone = weigh(conversation({"role": "assistant", "content": blocks}), 0, CLAUDE)
    assert alone == weigh(conversation(first, {"role": "assistant", "content": marked}), 1, CLAUDE)
    assert isinstance(alone, Weight)


def test_a_small_message_is_weighed_in_well_under_a_millisecond() -> None:
    text = "def area(width, height):\n    return width * height\n" * 40
    found = conversation({"role": "user", "content": [result(text)]})
    times = []
    for _ in range(50):
        start = perf_counter()
        weigh(found, 0, CLAUDE)
        times.append(perf_counter() - start)
    assert min(times) < 0.000_5  # measured 0.05 ms; ten times that on a slow machine
