"""Whatever a recording holds, the messages written from it alternate and pair."""

from __future__ import annotations

import json
from itertools import pairwise

from hypothesis import assume, given
from hypothesis import strategies as st

from coldpress.lab.importers.counts import Tally
from coldpress.lab.importers.dialogue import Block, CallIds, Part, call_block, messages, result_block, text_block

IDS = st.sampled_from("abcdefgh")
CLIENT = st.one_of(st.just(text_block("x")), IDS.map(lambda call: result_block(call, "out", failed=False)))
SAID = st.one_of(st.just(text_block("y")), IDS.map(lambda call: call_block(call, "bash", {})))


def part(role: str, blocks: list[Block]) -> Part:
    return Part("assistant" if role == "assistant" else "user", tuple(blocks))


PARTS = st.lists(
    st.one_of(
        st.builds(part, st.just("user"), st.lists(CLIENT, max_size=4)),
        st.builds(part, st.just("assistant"), st.lists(SAID, max_size=3, unique_by=lambda block: block.json)),
    ),
    max_size=6,
)


@given(parts=PARTS, open_calls=st.lists(IDS, unique=True))
def test_every_call_is_answered_once_right_behind_it_and_results_come_first(
    parts: list[Part], open_calls: list[str]
) -> None:
    calls = [*open_calls, *(b.call_id for p in parts for b in p.blocks if b.type == "tool_use")]
    assume(len(calls) == len(set(calls)))  # as `CallIds` makes them
    waiting = set(open_calls)
    written = [
        json.loads(message)
        for message in messages([*parts, part("user", [text_block("z")])], open_calls=open_calls, tally=Tally())
    ]
    for message in written:
        kinds = [block["type"] for block in message["content"]]
        answered = [block["tool_use_id"] for block in message["content"] if block["type"] == "tool_result"]
        assert message["content"]
        assert (sorted(answered), kinds[: len(answered)]) == (sorted(waiting), ["tool_result"] * len(answered))
        waiting = {block["id"] for block in message["content"] if block["type"] == "tool_use"}
    roles = [message["role"] for message in written]
    assert all(one != other for one, other in pairwise(roles))


@given(parts=PARTS, open_calls=st.lists(IDS, unique=True))
def test_every_text_is_kept_and_every_result_is_used_or_counted(parts: list[Part], open_calls: list[str]) -> None:
    tally = Tally()
    written = [block for m in messages(parts, open_calls=open_calls, tally=tally) for block in json.loads(m)["content"]]
    given_blocks = [block for p in parts for block in p.blocks]
    assert sum(b["type"] == "text" for b in written) == sum(b.type == "text" for b in given_blocks)
    used = (
        sum(b["type"] == "tool_result" for b in written)
        - tally.skipped["calls without a result (a failed one stands in)"]
    )
    left_out = tally.skipped["tool results without their call"] + tally.skipped["second results of one call"]
    assert used + left_out == sum(b.type == "tool_result" for b in given_blocks)


def test_replies_that_only_a_stray_result_parts_are_one_message() -> None:
    parts = [
        part("assistant", [text_block("a")]),
        part("user", [result_block("stray", "out", failed=False)]),
        part("assistant", [text_block("b")]),
    ]
    (written,) = messages(parts, open_calls=(), tally=Tally())
    assert [block["text"] for block in json.loads(written)["content"]] == ["a", "b"]


@given(recorded=st.lists(st.text(max_size=80), max_size=12))
def test_call_ids_fit_and_differ(recorded: list[str]) -> None:
    ids = CallIds()
    taken = [ids.take(name) for name in recorded]
    assert len(set(taken)) == len(taken)
    assert all(0 < len(name) <= 64 and all(c.isascii() and (c.isalnum() or c in "_-") for c in name) for name in taken)


def test_an_id_that_fits_is_kept() -> None:
    ids = CallIds()
    assert [ids.take("toolu_1"), ids.take("toolu_1"), ids.take("a|b")] == ["toolu_1", "toolu_1-2", "a_b"]
