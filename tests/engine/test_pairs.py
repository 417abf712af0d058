"""Which turns of a Responses request may not be parted, since a result stands behind another turn than its call."""

from __future__ import annotations

from typing import Any

import pytest
from bodies import conversation
from cases.items import COMPACTION, ran, responses, said, sealed

from coldpress.engine.pairs import late_calls, turns
from coldpress.model.conversation import Conversation


def codex(*items: dict[str, Any]) -> Conversation:
    return conversation(responses(*items), "openai_responses")


A, A_OUT = ran("a", "make", "x")
B, B_OUT = ran("b", "make", "y")
TASK = said("task")


@pytest.mark.parametrize(
    ("items", "late"),
    [
        pytest.param([TASK, A, A_OUT, B, B_OUT], set(), id="each behind its call"),
        pytest.param([TASK, sealed(), A, B, B_OUT, A_OUT], set(), id="parallel calls, answers shuffled"),
        pytest.param([TASK, A, said("wait"), A_OUT], set(), id="a user in between"),
        pytest.param([TASK, A, said("wait"), B, B_OUT, A_OUT], {1}, id="behind another turn"),
        pytest.param([TASK, A, B_OUT, B, A_OUT], {1}, id="behind another call, and an orphan in front"),
        pytest.param([TASK, A, A_OUT, COMPACTION, A_OUT], {1}, id="once more behind a compaction"),
    ],
)
def test_calls_that_are_answered_out_of_turn(items: list[dict[str, Any]], late: set[int]) -> None:
    assert late_calls(codex(*items), 0, len(items)) == late


def test_a_turn_with_a_call_that_is_answered_later_is_doubtful() -> None:
    found = codex(TASK, A, said("wait"), B, B_OUT, A_OUT)
    assert [(t.start, t.stop, t.doubtful) for t in turns(found, (1, 3), 1, 6)] == [(1, 3, True), (3, 6, True)]


@pytest.mark.parametrize("kind", ["additional_tools", "tool_search_output"])
def test_a_turn_that_brings_tools_is_doubtful(kind: str) -> None:
    found = codex(TASK, A, A_OUT, {"type": kind, "tools": []})
    assert [turn.doubtful for turn in turns(found, (1,), 1, 4)] == [True]
    assert [turn.doubtful for turn in turns(codex(TASK, A, A_OUT), (1,), 1, 3)] == [False]


def test_two_ids_in_one_leave_no_doubt() -> None:
    found = codex(TASK, A, {**A_OUT, "call_id": "a|fc_a"})
    assert [turn.doubtful for turn in turns(found, (1,), 1, 3)] == [False]
