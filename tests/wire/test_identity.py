"""What makes two messages, and two conversations, the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from strategies import Step, anthropic_messages, anthropic_request, chat_messages, chat_request

from coldpress.model.conversation import Conversation
from coldpress.model.identity import lineage_id
from coldpress.wire.prefix import Reader
from coldpress.wire.registry import FormatName

STEP = Step((("Bash", "some output", False),), False, "", None)


def conversation(request: dict[str, Any], name: FormatName = "anthropic") -> Conversation:
    return Reader[None](seed=1).read(json.dumps(request).encode(), name, None).conversation


def chains(request: dict[str, Any], name: FormatName = "anthropic") -> list[bytes]:
    return [m.chain for m in conversation(request, name).messages]


def base() -> dict[str, Any]:
    return anthropic_request(anthropic_messages([STEP, STEP]))


def mark(r: dict[str, Any]) -> None:
    r["messages"][2]["content"][0]["cache_control"] = {"type": "ephemeral", "ttl": "1h"}


def flip(r: dict[str, Any]) -> None:
    r["messages"][2]["content"][0]["content"] = [{"type": "text", "text": "some output"}]


def flip_with_mark(r: dict[str, Any]) -> None:
    flip(r)
    r["messages"][2]["content"][0]["content"][0]["cache_control"] = {"type": "ephemeral"}


def flip_message(r: dict[str, Any]) -> None:
    r["messages"][0]["content"] = [{"type": "text", "text": r["messages"][0]["content"]}]


def other_key_order(r: dict[str, Any]) -> None:
    r["messages"][2] = {"content": r["messages"][2]["content"], "role": "user"}


def other_text(r: dict[str, Any]) -> None:
    r["messages"][2]["content"][0]["content"] = "some output."


def other_task(r: dict[str, Any]) -> None:
    r["messages"][0]["content"] = "another task"


def other_call(r: dict[str, Any]) -> None:
    r["messages"][1]["content"][1]["input"]["command"] = "make other"


@pytest.mark.parametrize(
    ("change", "first_changed"),
    [
        pytest.param(mark, None, id="a cache mark that moved"),
        pytest.param(flip, None, id="a string that became a list of one text"),
        pytest.param(flip_with_mark, None, id="a list of one marked text"),
        pytest.param(flip_message, None, id="a message flipped to a list"),
        pytest.param(other_key_order, None, id="keys in another order"),
        pytest.param(other_text, 2, id="another result"),
        pytest.param(other_call, 1, id="another call"),
        pytest.param(other_task, 0, id="another first user message"),
    ],
)
def test_chain(change: Callable[[dict[str, Any]], None], first_changed: int | None) -> None:
    before, changed = chains(base()), base()
    change(changed)
    after = chains(changed)
    if first_changed is None:
        assert after == before
    else:
        assert after[:first_changed] == before[:first_changed]
        assert not set(after[first_changed:]) & set(before[first_changed:])


def test_a_cache_mark_inside_tool_arguments_is_content() -> None:
    one, two = base(), base()
    two["messages"][1]["content"][1]["input"]["cache_control"] = {"type": "ephemeral"}
    assert chains(one)[1] != chains(two)[1]


def test_texts_that_differ_only_in_a_lone_surrogate_are_two_texts() -> None:
    texts = [rb"\ud83d", rb"\ud83e", rb"\ufffd"]
    bodies = [json.dumps(base()).encode().replace(b"some output", t) for t in texts]
    ends = {Reader[None](seed=1).read(b, "anthropic", None).conversation.messages[-1].chain for b in bodies}
    assert len(ends) == 3


@pytest.mark.parametrize(
    ("system", "same"),
    [
        pytest.param("It is 12:03:44 on 2026-11-30.", True, id="a clock that moved"),
        pytest.param("It is 9:05 PM on Mon, Dec 1 2026.", False, id="another way of telling the time"),
        pytest.param("It is 23:59:59 on 2027-01-01.", True, id="another day"),
        pytest.param("You review code.", False, id="another system prompt"),
    ],
)
def test_head_identity_leaves_out_what_clients_change_by_themselves(system: str, same: bool) -> None:
    one, two = base(), base()
    one["system"], two["system"] = "It is 08:00:01 on 2026-11-29.", system
    assert (conversation(one).head.identity == conversation(two).head.identity) is same
    assert conversation(one).head.exact != conversation(two).head.exact


def test_the_billing_line_is_no_part_of_the_head_and_tells_a_subscription() -> None:
    one, two = base(), base()
    for request, code in ((one, "a1"), (two, "b2")):
        line = {"type": "text", "text": f"x-anthropic-billing-header: cc_version=2; cch={code};"}
        request["system"] = [line, *request["system"]]
    assert conversation(one).head == conversation(two).head
    assert conversation(one).head.subscription and not conversation(base()).head.subscription


def test_c13_one_system_prompt_and_two_first_turns_are_two_conversations() -> None:
    one, two = base(), base()
    for request in (one, two):
        request["system"] = "x" * 8000
    other_task(two)
    a, b = conversation(one), conversation(two)
    assert not {m.chain for m in a.messages} & {m.chain for m in b.messages}
    assert lineage_id(a.head.identity, a.messages[0].chain) != lineage_id(b.head.identity, b.messages[0].chain)


def test_c13_the_top_level_system_counts_for_the_lineage() -> None:
    one, two = base(), base()
    two["system"] = "You are a sub-agent."
    a, b = conversation(one), conversation(two)
    assert lineage_id(a.head.identity, a.messages[0].chain) != lineage_id(b.head.identity, b.messages[0].chain)


def test_a_system_message_at_the_front_of_a_chat_is_head_not_chain() -> None:
    one, two = (chat_request(chat_messages([STEP])) for _ in range(2))
    two["messages"][0]["content"] = "It is another day."  # type: ignore[index]
    assert chains(one, "openai_chat")[1:] == chains(two, "openai_chat")[1:]
    heads = [conversation(r, "openai_chat").head.identity for r in (one, two)]
    assert heads[0] != heads[1]


def test_two_formats_share_no_chain() -> None:
    message = [{"role": "user", "content": "hi"}]
    assert chains({"messages": message}) != chains({"messages": message}, "openai_chat")
