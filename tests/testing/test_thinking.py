"""Thinking is bound to its text always, and to everything before it where the model binds."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from testing.wires import Json, answered, messages, post, user

from coldpress.testing import Rules, Script, Shell, StrictUpstream, task

THINK = {"thinking": {"type": "adaptive"}}
CONTROLS = {"anthropic-beta": "thinking-binding-controls-2026-08-01"}
DROP = {"thinking": {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}}
STEPS = task(Shell("one"), Shell("two"), Shell("three"), thinking=True)


def converse(upstream: StrictUpstream, turns: int, **more: Any) -> list[Json]:
    """Play so many turns and give the conversation, ready to be sent again."""
    said = [user("go")]
    for number in range(turns):
        reply = post(upstream.url, "/v1/messages", messages(*said, **{**THINK, "system": "be brief", **more}))
        assert reply.status == 200, reply.body
        said += answered(reply.json["content"], f"output {number}")
    return said


def edit_first_result(said: list[Json]) -> None:
    said[2]["content"][0]["content"] = "output pressed"


def edit_last_result(said: list[Json]) -> None:
    said[-1]["content"][0]["content"] = "output pressed"


def edit_old_thinking(said: list[Json]) -> None:
    said[1]["content"][0]["thinking"] += "!"


def edit_latest_thinking(said: list[Json]) -> None:
    said[-2]["content"][0]["thinking"] += "!"


def forge_signature(said: list[Json]) -> None:
    said[1]["content"][0]["signature"] = "Rm9yZ2Vk"


def drop_old_thinking(said: list[Json]) -> None:
    del said[1]["content"][0]


def drop_latest_thinking(said: list[Json]) -> None:
    del said[-2]["content"][0]


def move_marks(said: list[Json]) -> None:
    said[2]["content"][0]["cache_control"] = {"type": "ephemeral"}


def result_as_parts(said: list[Json]) -> None:
    said[2]["content"][0]["content"] = [{"type": "text", "text": "output 0"}]


def nothing(said: list[Json]) -> None:
    pass


INVALID = "Invalid `signature` in `thinking` block"
FOREIGN = (
    "The block is bound to a different conversation. Remove the block, or set "
    '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
)


@pytest.mark.parametrize(
    ("bind", "change", "says"),
    [
        pytest.param(False, nothing, None, id="unbound, unchanged"),
        pytest.param(False, edit_first_result, None, id="unbound, an old result may change"),
        pytest.param(False, edit_old_thinking, f"messages.1.content.0: {INVALID}", id="unbound, old thinking may not"),
        pytest.param(False, forge_signature, f"messages.1.content.0: {INVALID}", id="unbound, a forged signature"),
        pytest.param(False, drop_old_thinking, None, id="unbound, old thinking may go"),
        pytest.param(
            False, edit_latest_thinking, "cannot be modified", id="unbound, the latest thinking may not change"
        ),
        pytest.param(True, nothing, None, id="bound, unchanged"),
        pytest.param(True, move_marks, None, id="bound, marks play no part"),
        pytest.param(True, result_as_parts, None, id="bound, a string and one text part are the same"),
        pytest.param(
            True, edit_last_result, None, id="bound, the newest result may change: nothing was said behind it"
        ),
        pytest.param(
            True, edit_first_result, f"messages.3.content.0: {INVALID}. {FOREIGN}", id="bound, an old result may not"
        ),
        pytest.param(
            True,
            drop_old_thinking,
            f"messages.3.content.0: {INVALID}. {FOREIGN}",
            id="bound, thinking between others may not go",
        ),
        pytest.param(True, edit_latest_thinking, "cannot be modified", id="bound, the latest thinking may not change"),
    ],
)
def test_changed_conversations(bind: bool, change: Callable[[list[Json]], None], says: str | None) -> None:
    with StrictUpstream(STEPS, rules=Rules(bind_thinking=bind)) as upstream:
        said = converse(upstream, 2)
        change(said)
        reply = post(upstream.url, "/v1/messages", messages(*said, system="be brief", **THINK))
    assert reply.status == (200 if says is None else 400), reply.body
    assert says is None or says in reply.json["error"]["message"]


@pytest.mark.parametrize(
    ("head", "status"),
    [
        pytest.param({"system": "be brief"}, 200, id="the same head"),
        pytest.param({"system": "be wordy"}, 400, id="another system prompt"),
        pytest.param({"system": "be brief", "tools": []}, 400, id="other tools"),
    ],
)
def test_the_head_is_part_of_what_binds(head: Json, status: int) -> None:
    with StrictUpstream(STEPS, rules=Rules(bind_thinking=True)) as upstream:
        said = converse(upstream, 1)
        assert post(upstream.url, "/v1/messages", {**messages(*said, **THINK), **head}).status == status


def test_dropping_is_reported_and_thinking_said_afterwards_stays_valid() -> None:
    with StrictUpstream(STEPS, rules=Rules(bind_thinking=True)) as upstream:
        said = converse(upstream, 2)
        edit_first_result(said)
        body = messages(*said, system="be brief", **DROP)
        dropped = post(upstream.url, "/v1/messages", body, CONTROLS)
        assert dropped.json["input_transformations"] == [
            {"type": "thinking_dropped", "path": "messages.3.content.0", "reason": "prefix_binding_mismatch"}
        ]
        said += answered(dropped.json["content"], "output 2")
        again = post(upstream.url, "/v1/messages", messages(*said, system="be brief", **DROP), CONTROLS)
        assert [t["path"] for t in again.json["input_transformations"]] == ["messages.3.content.0"]
        del said[3]["content"][0]
        without = post(upstream.url, "/v1/messages", messages(*said, system="be brief", **THINK), CONTROLS)
        assert (without.status, without.json["input_transformations"]) == (200, [])


def test_a_model_that_does_not_bind_tells_what_would_fail_only_where_it_is_asked() -> None:
    with StrictUpstream(STEPS) as upstream:
        said = converse(upstream, 2)
        edit_first_result(said)
        body = messages(*said, system="be brief", **THINK)
        asked, silent = post(upstream.url, "/v1/messages", body, CONTROLS), post(upstream.url, "/v1/messages", body)
    assert [t["type"] for t in asked.json["input_transformations"]] == ["thinking_mismatch_allowed"]
    assert "input_transformations" not in silent.json


def test_omitted_thinking_text_has_a_signature_that_is_accepted_again() -> None:
    with StrictUpstream(STEPS, rules=Rules(bind_thinking=True)) as upstream:
        omitted = {"thinking": {"type": "adaptive", "display": "omitted"}}
        said = converse(upstream, 2, **omitted)
        assert said[1]["content"][0]["thinking"] == ""
        assert post(upstream.url, "/v1/messages", messages(*said, system="be brief", **omitted)).status == 200
        changed = deepcopy(said)
        edit_first_result(changed)
        assert post(upstream.url, "/v1/messages", messages(*changed, system="be brief", **omitted)).status == 400


def test_manual_thinking_wants_the_tool_turn_to_start_with_its_thinking() -> None:
    manual = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
    with StrictUpstream(STEPS) as upstream:
        said = converse(upstream, 1, **manual)
        drop_latest_thinking(said)
        reply = post(upstream.url, "/v1/messages", messages(*said, system="be brief", **manual))
    assert reply.status == 400
    assert "Expected `thinking` or `redacted_thinking`, but found `text`" in reply.json["error"]["message"]


def test_no_thinking_is_sent_to_a_client_that_did_not_ask() -> None:
    with StrictUpstream(STEPS) as upstream:
        kinds = [b["type"] for b in post(upstream.url, "/v1/messages", messages(user("go"))).json["content"]]
    assert kinds == ["text", "tool_use"]


def test_signatures_may_be_foreign_where_the_rules_say_so() -> None:
    foreign = {"type": "thinking", "thinking": "x", "signature": "Rm9yZ2Vk"}
    said = [user("go"), {"role": "assistant", "content": [foreign, {"type": "text", "text": "hi"}]}, user("on")]
    for check, status in ((True, 400), (False, 200)):
        with StrictUpstream(Script(), rules=Rules(check_signatures=check)) as upstream:
            assert post(upstream.url, "/v1/messages", messages(*said)).status == status
