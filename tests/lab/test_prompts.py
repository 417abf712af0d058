"""Bodies are read by what is new in them: the same names and tokens come out as when each is read alone."""

from __future__ import annotations

import json

import hypothesis.strategies as st
from hypothesis import given

from coldpress.lab.prompts import PromptReader, Sizes

SIZES = Sizes(head_tokens=100, warm_tokens=40, scale=1.3)
MARK = {"cache_control": {"type": "ephemeral"}}


def body(texts: list[str], *, model: str = "m", mark: int | None = None) -> bytes:
    messages = []
    for number, text in enumerate(texts):
        block = {"type": "text", "text": text, **(MARK if number == mark else {})}
        messages.append({"role": "user" if number % 2 == 0 else "assistant", "content": [block]})
    request = {"model": model, "messages": messages, "system": [{"type": "text", "text": "s", **MARK}], "tools": []}
    return json.dumps(request, separators=(",", ":")).encode()


def reply(text: str) -> str:
    return json.dumps({"role": "assistant", "content": [{"type": "text", "text": text}]}, separators=(",", ":"))


def alone(request: bytes, answer: str) -> object:
    return PromptReader(len, 5).read(request, SIZES, answer)


@given(
    st.lists(st.tuples(st.lists(st.sampled_from("abc"), min_size=1, max_size=6), st.booleans()), min_size=1, max_size=8)
)
def test_what_was_read_before_changes_nothing(requests: list[tuple[list[str], bool]]) -> None:
    """Whatever the requests of a conversation have in common: growing, rewound, edited in the middle, another model."""
    reader = PromptReader(len, 5)
    for texts, other in requests:
        request = body(texts, model="n" if other else "m", mark=len(texts) - 1)
        assert reader.read(request, SIZES, reply("x")) == alone(request, reply("x"))


def test_a_prompt_that_goes_on_from_another_has_its_names_and_a_reply_is_part_of_the_next() -> None:
    reader = PromptReader(len, 5)
    one = reader.read(body(["a"], mark=0), SIZES, reply("b"))
    two = reader.read(body(["a", "b", "c"], mark=2), SIZES, reply("d"))
    assert two.keys[: len(one.keys)] == one.keys
    assert one.reply == tuple(two.keys[len(one.keys) : len(one.keys) + 1])
    assert (one.marked, two.marked) == ((1, 2), (1, 4)), "the head's mark and that of the last block"
    assert two.totals == [40, 100, 101, 102, 103]


def test_a_body_written_with_spaces_is_read_whole() -> None:
    spaced = json.dumps(json.loads(body(["a", "b", "c"]))).encode()
    reader = PromptReader(len, 5)
    first = reader.read(spaced, SIZES, reply("d"))
    assert reader.read(spaced, SIZES, reply("d")) == first == alone(spaced, reply("d"))
