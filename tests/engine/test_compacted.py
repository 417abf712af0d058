"""Nothing in front of the server's latest compaction is worth an edit, whatever the wire calls it."""

from __future__ import annotations

from typing import Any

import pytest
from bodies import conversation
from cases.items import COMPACTION, ran, responses, said, sealed
from cases.talk import assistant, messages, result, use, user

from coldpress.engine.binding import edit_floor, editable_from
from coldpress.engine.client_summaries import client_summary
from coldpress.engine.compacted import compacted_before
from coldpress.model.conversation import Conversation

BLOCK = {"type": "compaction", "content": "s"}


def codex(*items: dict[str, Any], model: str = "gpt-5-codex") -> Conversation:
    return conversation(responses(*items, model=model), "openai_responses")


def claude(*listed: dict[str, Any], model: str = "claude-sonnet-4-6") -> Conversation:
    return conversation(messages(*listed, model=model))


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(codex(said("task"), *ran("k", "ls", "a")), 0, id="Responses, none"),
        pytest.param(codex(said("task"), COMPACTION), 2, id="Responses, at the end"),
        pytest.param(codex(COMPACTION, said("task"), said("more")), 1, id="Responses, in front"),
        pytest.param(codex(COMPACTION, said("a"), COMPACTION, said("b")), 3, id="Responses, the latest of two"),
        pytest.param(codex(said('about "compaction"'), said("b")), 0, id="Responses, a text about it"),
        pytest.param(codex({"type": "compaction_trigger"}, said("b")), 0, id="Responses, a trigger"),
        pytest.param(claude(user("task"), assistant(BLOCK, use("t")), user(result("t", "r"))), 2, id="Messages"),
        pytest.param(claude(user("task"), assistant(use("t")), user(result("t", "r"))), 0, id="Messages, none"),
    ],
)
def test_where_the_server_begins(found: Conversation, expected: int) -> None:
    assert compacted_before(found) == expected
    assert editable_from(found, allow_thinking_loss=True) == expected
    assert client_summary(found) == expected - 1


@pytest.mark.parametrize(("since", "expected"), [(0, 2), (1, 2), (2, 0), (9, 0)])
def test_messages_that_are_known_are_not_looked_at(since: int, expected: int) -> None:
    assert compacted_before(codex(said("a"), COMPACTION, said("b")), since=since) == expected


SEALED = (said("a"), sealed(1), *ran("k", "ls", "x"), COMPACTION, said("b"), sealed(2), *ran("l", "ls", "y"))


@pytest.mark.parametrize(
    ("model", "allowed", "expected"),
    [
        pytest.param("gpt-5.6", False, 7, id="bound: behind the last reasoning"),
        pytest.param("gpt-5.6", True, 5, id="the loss is allowed: behind the compaction"),
        pytest.param("gpt-5-codex", False, 5, id="not bound"),
    ],
)
def test_the_later_of_both_floors_holds(model: str, allowed: bool, expected: int) -> None:
    assert editable_from(codex(*SEALED, model=model), allow_thinking_loss=allowed) == expected


@pytest.mark.parametrize(
    ("item", "floor"),
    [
        pytest.param(sealed(), 2, id="reasoning"),
        pytest.param({"type": "reasoning", "id": "rs", "summary": []}, 2, id="reasoning that is not sealed"),
        pytest.param({**ran("k", "ls", "")[0], "encrypted_content": "gAAA"}, 2, id="a sealed call"),
        pytest.param(said('a text with "encrypted_content" in it', "assistant"), 0, id="a text that speaks of it"),
        pytest.param({**said("x"), "encrypted_content": "gAAA"}, 0, id="a user's message"),
        pytest.param(ran("k", "ls", "")[0], 0, id="a call"),
    ],
)
def test_reasoning_of_responses_is_found(item: dict[str, Any], floor: int) -> None:
    assert edit_floor(codex(said("task"), item, said("b"), model="gpt-5.6")) == floor
