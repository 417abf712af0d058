"""Which call a result of Responses answers: ids missing, doubled, reused, in two halves; results late or shuffled."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from coldpress.model.conversation import Conversation, ToolCall, ToolResult
from coldpress.wire.prefix import Reader

USER = {"role": "user", "content": "go on"}
SEALED = {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "gAAA"}


def read(body: bytes) -> Conversation:
    return Reader[None](seed=1).read(body, "openai_responses", None).conversation


def body_of(*items: Any) -> bytes:
    return json.dumps({"model": "m", "input": list(items)}).encode()


def ask(call_id: str | None, name: str = "A", kind: str = "function_call", **more: Any) -> dict[str, Any]:
    named = {} if call_id is None else {"call_id": call_id}
    return {"type": kind, "name": name, "arguments": "{}", "input": "x", **named, **more}


def give(call_id: str | None, kind: str = "function_call_output", **more: Any) -> dict[str, Any]:
    named = {} if call_id is None else {"call_id": call_id}
    return {"type": kind, "output": "r", **named, **more}


def answers(found: Conversation) -> list[str | None]:
    """The tool that each result was paired with, in order."""
    return [r.call.name if r.call else None for m in found.messages for _, r in m.results]


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        pytest.param([ask("a"), give("a")], ["A"], id="one call"),
        pytest.param([ask("a", "A"), ask("b", "B"), give("b"), give("a")], ["B", "A"], id="answers shuffled"),
        pytest.param(
            [SEALED, ask("a", "A"), SEALED, ask("b", "B"), give("a"), give("b")], ["A", "B"], id="reasoning between"
        ),
        pytest.param([ask("a", "A"), USER, give("a")], ["A"], id="a user speaks before the result"),
        pytest.param([ask("a", "A"), USER, ask("b", "B"), give("b"), give("a")], ["B", "A"], id="a turn late"),
        pytest.param(
            [ask("a", "A"), ask("b", "B"), give("b"), SEALED, ask("c", "C"), give("c"), USER, SEALED, give("a")],
            ["B", "C", "A"],
            id="turns late",
        ),
        pytest.param(
            [ask("a", "A"), give("a"), ask("b", "B"), give("b"), give("a")], ["A", "B", None], id="answered long ago"
        ),
        pytest.param(
            [ask("a", "A"), USER, ask("b", "B"), give("b"), give("a"), give("a")], ["B", "A", None], id="late, twice"
        ),
        pytest.param(
            [ask("a", "A"), USER, ask("a", "B"), give("a"), give("a")],
            ["B", None],
            id="an id used again: the turn's own goes first, the other is in doubt",
        ),
        pytest.param(
            [ask("a", "A"), USER, ask("a", "B"), USER, ask("c", "C"), give("a")],
            [None],
            id="two calls that wait share an id",
        ),
        pytest.param([ask("a", "A"), ask("a", "B"), give("a"), give("a")], [None, None], id="one id on two calls"),
        pytest.param([ask("a"), give("a"), give("a")], ["A", None], id="two results for one call"),
        pytest.param([give("z"), USER], [None], id="an orphan"),
        pytest.param([give("a"), ask("a")], [None], id="a result in front of its call"),
        pytest.param([ask("a"), give("b")], [None], id="a result for another id"),
        pytest.param([ask("a"), USER], [], id="P09: a call that nothing answers"),
        pytest.param([ask(None, "A"), ask(None, "B"), give(None), give(None)], ["A", "B"], id="no ids at all"),
        pytest.param([ask("", "A"), give("")], ["A"], id="empty ids"),
        pytest.param([ask(None, "A"), USER, ask("b", "B"), give("b"), give(None)], ["B", None], id="no id, too late"),
        pytest.param([ask("a", "A"), ask("b", "B"), give(None, name="B")], ["B"], id="a name stands in for the id"),
        pytest.param([ask("a", "B"), ask("b", "B"), give(None, name="B")], [None], id="a name that two calls have"),
        pytest.param([ask("a", "A"), give(None)], [None], id="neither id nor name"),
        pytest.param(
            [ask("a", "get", namespace="mcp__x"), give(None, name="get", namespace="mcp__x")],
            ["mcp__x__get"],
            id="a name in a namespace",
        ),
        pytest.param([ask("a", "A"), give("a|fc_1")], ["A"], id="two ids in one on the result"),
        pytest.param([ask("a|fc_1", "A"), give("a")], ["A"], id="two ids in one on the call"),
        pytest.param([ask("a|fc_1", "A"), give("a|fc_1")], ["A"], id="two ids in one on both"),
        pytest.param([ask("a|fc_1", "A"), ask("a|fc_2", "B"), give("a|fc_2"), give("a|fc_1")], ["B", "A"], id="halves"),
        pytest.param([ask("a|fc_1", "A"), ask("a|fc_2", "B"), give("a")], [None], id="a half that two calls share"),
        pytest.param([ask("a", "A"), give("b|a")], [None], id="the second half is no key"),
        pytest.param([ask("|", "A"), give("|")], ["A"], id="an id of nothing but the bar"),
        pytest.param(
            [ask("a", "A", "custom_tool_call"), give("a", "custom_tool_call_output")], ["A"], id="a custom tool"
        ),
    ],
)
def test_pairing(items: list[dict[str, Any]], expected: list[str | None]) -> None:
    assert answers(read(body_of(*items))) == expected


def test_a_paired_result_has_the_id_of_its_call() -> None:
    found = read(body_of(ask("a", "A"), give("a|fc_1"), give("z|fc_2")))
    assert [result.call_id for message in found.messages for _, result in message.results] == ["a", "z|fc_2"]


IDS = st.sampled_from(["a", "b", "c", "a|1", "a|2", "", "call_" + "x" * 450])
NAMES = st.sampled_from(["A", "B"])
ITEMS = st.one_of(
    st.builds(ask, st.one_of(st.none(), IDS), NAMES),
    st.builds(ask, IDS, NAMES, st.just("custom_tool_call")),
    st.builds(give, st.one_of(st.none(), IDS)),
    st.builds(lambda call_id, name: give(call_id, name=name), st.one_of(st.none(), IDS), NAMES),
    st.builds(lambda call_id: {"type": "local_shell_call", "id": "l" + call_id, "call_id": call_id}, IDS),
    st.builds(lambda call_id: {"type": "local_shell_call_output", "id": call_id, "output": "{}"}, IDS),
    st.just(USER),
    st.just(SEALED),
    st.just({"type": "item_reference", "id": "x"}),
    st.just({"type": "novelty"}),
)
LATE = [ask("a", "A"), USER, ask("b", "B"), USER, ask("c", "A"), USER, give("b"), give("a"), give("a"), give("c")]
LAW = settings(max_examples=150, deadline=None)


@LAW
@given(st.lists(ITEMS, max_size=14))
@example(LATE)
def test_no_call_is_answered_twice_and_none_before_it_is_made(items: list[dict[str, Any]]) -> None:
    found = read(body_of(*items))
    calls = [(at, b) for at, m in enumerate(found.messages) for b in m.blocks if isinstance(b, ToolCall)]
    answered = Counter[int]()
    for at, message in enumerate(found.messages):
        for block in message.blocks:
            if isinstance(block, ToolResult) and block.call is not None:
                (where,) = (place for place, call in calls if call is block.call)
                assert where < at
                answered[where] += 1
    assert set(answered.values()) <= {1}


@LAW
@given(st.lists(ITEMS, max_size=14), st.integers(0, 14))
def test_what_comes_later_changes_no_pair(items: list[dict[str, Any]], upto: int) -> None:
    whole, part = read(body_of(*items)), read(body_of(*items[:upto]))
    assert whole.messages[: len(part.messages)] == part.messages


@LAW
@given(st.lists(ITEMS, min_size=1, max_size=14))
@example(LATE)
def test_reading_on_from_any_checkpoint_is_reading_whole(items: list[dict[str, Any]]) -> None:
    for first in range(len(items)):
        reader: Reader[None] = Reader(seed=1)
        padded = [{"role": "user", "content": "x" * 300}, *items]
        for upto in (first + 1, len(padded)):
            body = body_of(*padded[:upto])
            reading = reader.read(body, "openai_responses", reader.find(body, "openai_responses"))
            reader.remember(reading, None)
        assert reading.conversation == read(body)
        spans = [(m.span, [t.span for _, r in m.results for t in r.texts]) for m in reading.conversation.messages]
        assert spans == [(m.span, [t.span for _, r in m.results for t in r.texts]) for m in read(body).messages]
        assert first == 0 or reading.conversation.known > 0


@LAW
@given(st.permutations(range(5)))
def test_parallel_results_pair_in_any_order(order: list[int]) -> None:
    calls = [ask(f"k{n}", f"T{n}") for n in range(5)]
    assert answers(read(body_of(*calls, *(give(f"k{n}") for n in order)))) == [f"T{n}" for n in order]
