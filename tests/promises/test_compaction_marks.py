"""Cache marks outlive the messages they stand on: on the block in their place, in their order, no fifth one."""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Sequence
from typing import Any

import pytest
from cases.talk import Json
from compacting import (
    Call,
    Step,
    compacted,
    growing,
    raw_messages,
    request,
    run,
    sent,
    valid,
    windowed,
    written,
)
from support import pressing

from coldpress.testing.anthropic_marks import marks

SETTINGS = windowed(12_000, budget={"keep_turns": 2, "stages": ("summary",)})
STEPS = [run(n, user=f"Point {n} holds." if n % 4 == 1 else "") for n in range(16)]
SHORT, LONG = {"type": "ephemeral"}, {"type": "ephemeral", "ttl": "1h"}


def marked(said: Sequence[Json], places: dict[int, Json], *, system: Json | None = SHORT, **top: Any) -> bytes:
    """A request with marks on the last blocks of these messages, and on the system prompt."""
    listed = copy.deepcopy(list(said))
    for place, mark in places.items():
        listed[place]["content"][-1]["cache_control"] = mark
    block = {"type": "text", "text": "You are an agent.", **({"cache_control": system} if system else {})}
    return request("anthropic", listed, system=[block], **top)


def bare(body: bytes) -> bytes:
    """A body without its marks."""
    return re.sub(rb',"cache_control":\{[^{}]*\}', b"", body)


def undressed(body: bytes) -> Json:
    """What a body says, marks left out and texts as blocks: the same however the client writes a message."""
    read: Json = json.loads(bare(body))
    return read


def walking(steps: Sequence[Step], *, marks_per_request: int = 1) -> list[bytes]:
    """As Claude Code does it: the last messages carry marks, which move on with every request."""
    listed = [written("anthropic", steps[:n]) for n in range(len(steps) + 1)]
    return [
        marked(said, {len(said) - 1 - 2 * k: SHORT for k in range(marks_per_request) if len(said) - 1 - 2 * k >= 0})
        for said in listed
    ]


@pytest.mark.parametrize("marks_per_request", [1, 2, 3])
def test_marks_that_move_on_change_nothing_else(marks_per_request: int) -> None:
    bodies = walking(STEPS, marks_per_request=marks_per_request)
    plain = growing("anthropic", STEPS)
    with pressing(SETTINGS) as press, pressing(SETTINGS) as other:
        found, without = sent(press, bodies, "anthropic"), sent(other, plain, "anthropic")
    assert compacted(found) == compacted(without) != []
    for mine, theirs, body in zip(found, without, bodies, strict=True):
        expected = bare(theirs.body).replace(b'"You are an agent."}]', b'"You are an agent."}]')
        assert undressed(mine.body)["messages"] == undressed(expected)["messages"]
        assert mine.body.count(b'"cache_control"') == body.count(b'"cache_control"')


@pytest.mark.parametrize("place", range(1, 12))
@pytest.mark.parametrize("mark", [SHORT, LONG])
def test_a_mark_in_the_middle_stands_on_the_block_in_its_place(place: int, mark: Json) -> None:
    said = written("anthropic", STEPS)
    with pressing(SETTINGS) as press:
        found = sent(press, [marked(said[:n], {}, system=LONG) for n in range(1, len(said) + 1, 2)], "anthropic")
        (again,) = sent(press, [marked(said, {place: mark, len(said) - 1: SHORT}, system=LONG)], "anthropic")
    assert compacted(found)
    assert bare(again.body) == bare(found[-1].body)
    listed = json.loads(again.body)["messages"]
    (where,) = [n for n, m in enumerate(listed[:-1]) if any("cache_control" in b for b in m["content"])]
    assert where == 1, "the message behind the task"
    assert [b.get("cache_control") for b in listed[1]["content"]] == [None] * (len(listed[1]["content"]) - 1) + [mark]
    assert "are summarised here" in listed[1]["content"][-1]["text"]


def test_several_marks_in_the_middle_become_one_with_the_longest_life() -> None:
    said = written("anthropic", STEPS)
    with pressing(SETTINGS) as press:
        found = sent(press, [marked(said[:n], {}, system=LONG) for n in range(1, len(said) + 1, 2)], "anthropic")
        body = marked(said, {2: LONG, 6: SHORT, len(said) - 1: SHORT}, system=LONG)
        (again,) = sent(press, [body], "anthropic")
    assert bare(again.body) == bare(found[-1].body)
    assert list(marks(json.loads(again.body)).values()) == ["1h", "1h", "5m"]


@pytest.mark.parametrize("seed", range(12))
def test_wherever_four_marks_stand_the_server_takes_them(seed: int) -> None:
    chance, said = random.Random(seed), written("anthropic", STEPS)
    with pressing(SETTINGS) as press:
        settled = sent(press, [marked(said[:n], {}) for n in range(1, len(said) + 1, 2)], "anthropic")
        for _ in range(10):
            places = sorted(chance.sample(range(len(said)), 3))
            lives = sorted([chance.choice([LONG, SHORT]) for _ in places], key=len, reverse=True)
            body = marked(said, dict(zip(places, lives, strict=True)), system=LONG)
            (again,) = sent(press, [body], "anthropic")
            assert bare(again.body) == bare(settled[-1].body)
            mine, theirs = raw_messages(body, "anthropic"), raw_messages(again.body, "anthropic")
            gone = len(mine) - len(theirs) + 1
            for back in range(1, len(theirs) - 1):
                assert theirs[-back] == mine[-back], "marks in the tail stand where they stood"
            in_gap = any(1 <= place <= gone for place in places)
            assert (b"cache_control" in theirs[1]) == in_gap


def test_a_mark_on_a_part_of_a_result_counts_as_one() -> None:
    said = written("anthropic", STEPS)
    said[2]["content"][0]["content"] = [
        {"type": "text", "text": str(said[2]["content"][0]["content"]), "cache_control": SHORT}
    ]
    bodies = [request("anthropic", said[:n]) for n in range(1, len(said) + 1, 2)]
    with pressing(SETTINGS) as press:
        found = sent(press, bodies, "anthropic")
    assert compacted(found)
    assert list(marks(valid(found[-1].body, "anthropic"))) == ["messages.1.content.0"] or b"Point" in found[-1].body
    assert found[-1].body.count(b'"cache_control"') == 1


def test_words_about_marks_in_calls_and_texts_are_no_marks() -> None:
    quoted = json.dumps({"cache_control": {"type": "ephemeral"}})
    call = Call("odd", f"it says {quoted}", "Task", {"prompt": quoted, "cache_control": {"type": "ephemeral"}})
    steps = [run(0), Step((call,), user=f"Set {quoted} there."), *(run(n) for n in range(2, 16))]
    bodies = growing("anthropic", steps)
    with pressing(SETTINGS) as press:
        found = sent(press, bodies, "anthropic")
    assert compacted(found)
    assert list(marks(valid(found[-1].body, "anthropic"))) == []


def test_a_mark_on_a_turn_that_is_carried_over_moves_to_the_block() -> None:
    text = "collected 9 items\nFAILED tests/test_a.py::test_x - AssertionError: 4 != 5\n1 failed, 8 passed in 0.31s"
    failing = Step((Call("fail", text, arguments={"command": "pytest tests/test_a.py"}),))
    said = written("anthropic", [run(0), failing, *(run(n) for n in range(2, 16))])
    plain = [request("anthropic", said[:n]) for n in range(1, len(said) + 1, 2)]
    dressed = [marked(said[:n], {4: SHORT} if n > 4 else {}, system=None) for n in range(1, len(said) + 1, 2)]
    with pressing(SETTINGS) as press, pressing(SETTINGS) as other:
        found, again = sent(press, plain, "anthropic"), sent(other, dressed, "anthropic")
    assert compacted(found) == compacted(again) != []
    for mine, theirs in zip(found, again, strict=True):
        assert bare(theirs.body) == mine.body
    last = json.loads(again[-1].body)["messages"]
    assert b"FAILED tests/test_a.py" in again[-1].body
    assert [n for n, m in enumerate(last) for b in m["content"] if "cache_control" in b] == [1]


def test_words_that_no_text_can_hold_and_marks_go_together() -> None:
    said = written("anthropic", [run(n, user="PLACE" if n == 1 else "") for n in range(16)])
    bodies = [marked(said[:n], {n - 1: SHORT}).replace(b"PLACE", rb"half \ud83d of it") for n in range(1, len(said), 2)]
    late = marked(said, {4: SHORT, len(said) - 1: SHORT}).replace(b"PLACE", rb"half \ud83d of it")
    with pressing(SETTINGS) as press:
        found = sent(press, [*bodies, late], "anthropic")
    assert compacted(found)
    block = raw_messages(found[-1].body, "anthropic")[1]
    assert rb'"text":"half \ud83d of it"' in block
    assert block.endswith(b',"cache_control":{"type":"ephemeral"}}]}')


@pytest.mark.parametrize("user", ["", r"\ud83d is kept"])
def test_marks_of_chat_clients_stand_on_the_first_message_in_their_place(user: str) -> None:
    """Some servers behind the Chat Completions wire take the same marks on parts of a message."""
    said = written("openai_chat", [run(n, user="PLACE" if user and n == 0 else "") for n in range(16)])
    said[3]["content"] = [{"type": "text", "text": said[3]["content"], "cache_control": SHORT}]
    cuts = range(2, len(said) + 1)
    ends = [n for n in cuts if n == len(said) or said[n]["role"] == "assistant"]
    bodies = [request("openai_chat", said[:n]).replace(b"PLACE", user.encode()) for n in ends]
    with pressing(SETTINGS) as press:
        found = sent(press, bodies, "openai_chat")
    assert compacted(found)
    assert found[-1].body.count(b'"cache_control"') == 1
    first = raw_messages(found[-1].body, "openai_chat")[2]
    assert b'"cache_control":{"type":"ephemeral"}' in first
    assert user.encode() in first


def test_a_mark_on_a_kept_system_message_of_a_chat_client_leaves_it_a_system_message() -> None:
    said = written("openai_chat", [run(n) for n in range(16)])
    said.insert(4, {"role": "system", "content": [{"type": "text", "text": "Be brief.", "cache_control": SHORT}]})
    ends = [n for n in range(2, len(said) + 1) if n == len(said) or said[n]["role"] == "assistant"]
    with pressing(SETTINGS) as press:
        found = sent(press, [request("openai_chat", said[:n]) for n in ends], "openai_chat")
    assert compacted(found)
    kept = json.loads(found[-1].body)["messages"][2]
    assert kept["role"] == "system"
    assert kept["content"] == [{"type": "text", "text": "Be brief.", "cache_control": SHORT}]
