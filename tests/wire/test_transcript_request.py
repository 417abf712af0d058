"""The request for a summary of a transcript: cut where no later text can change it, marked where a later one looks."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldpress.wire.transcript_request import PIECE_CHARACTERS, split, transcript_request

TEXTS = st.lists(
    st.builds(lambda line, times: f"{line}\n" * times, st.text("ab\n ", min_size=1, max_size=60), st.integers(1, 400)),
    max_size=12,
).map(tuple)


def asked(texts: tuple[str, ...], format_name: Any = "anthropic", **more: Any) -> Any:
    body = transcript_request(format_name, model="m", system="S", texts=texts, request="R", max_output_tokens=9, **more)
    return json.loads(body)


def marked(texts: tuple[str, ...]) -> list[int]:
    content = asked(texts)["messages"][0]["content"]
    return [place for place, block in enumerate(content) if "cache_control" in block]


@given(TEXTS, TEXTS)
def test_more_text_changes_no_block_before_it(texts: tuple[str, ...], more: tuple[str, ...]) -> None:
    whole, _ = split(texts)
    assert split(texts + more)[0][: len(whole)] == whole


@given(TEXTS)
def test_no_character_of_the_transcript_is_lost_and_no_block_is_blank(texts: tuple[str, ...]) -> None:
    whole, rest = split(texts)
    assert "".join((*whole, rest)).split() == " ".join(texts).split()
    assert all(piece.strip() and len(piece) >= PIECE_CHARACTERS for piece in whole)


@given(TEXTS)
def test_equal_arguments_give_equal_bytes(texts: tuple[str, ...]) -> None:
    assert asked(texts) == asked(texts)


@given(st.lists(TEXTS, min_size=1, max_size=5), st.sampled_from(["anthropic", "openai_chat"]))
def test_a_longer_question_begins_with_the_bytes_of_the_shorter_one(parts: list[Any], format_name: Any) -> None:
    first = tuple(text for text in parts[0] if text.strip())
    whole, _ = split(first)
    bodies = [
        transcript_request(format_name, model="m", system="S", texts=texts, request="R", max_output_tokens=9)
        for texts in (first, first + tuple(text for part in parts[1:] for text in part))
    ]
    unmarked = [body.replace(b',"cache_control":{"type":"ephemeral"}', b"") for body in bodies]
    kept = sum(len(json.dumps(piece)) - 2 for piece in whole)
    same = next((i for i, (a, b) in enumerate(zip(*unmarked, strict=False)) if a != b), min(map(len, unmarked)))
    assert same >= kept


@pytest.mark.parametrize(
    ("blocks", "expected"),
    [
        pytest.param(0, [], id="nothing that stays, nothing to mark"),
        pytest.param(1, [0], id="the only block that stays"),
        pytest.param(20, [19], id="all within reach of one mark"),
        pytest.param(21, [0, 20], id="one more"),
        pytest.param(100, [39, 59, 79, 99], id="four at the most"),
    ],
)
def test_marks(blocks: int, expected: list[int]) -> None:
    assert marked((*["x" * PIECE_CHARACTERS] * blocks, "tail")) == expected


def test_a_question_to_chat_completions_is_two_messages() -> None:
    assert asked(("one", "two"), "openai_chat") == {
        "model": "m",
        "max_tokens": 9,
        "messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "one\n\ntwo\n\nR"}],
    }
    assert asked(("one",), "openai_chat", limit_key="max_completion_tokens")["max_completion_tokens"] == 9


def test_texts_that_end_their_line_stand_as_they_are() -> None:
    content = asked(("=== m1 ===\none\n\n", "=== m2 ===\ntwo\n\n"))["messages"][0]["content"]
    assert content[0]["text"] == "=== m1 ===\none\n\n=== m2 ===\ntwo"


def test_a_question_to_messages_is_one_message_of_blocks() -> None:
    assert asked(("one", "two")) == {
        "model": "m",
        "max_tokens": 9,
        "system": "S",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "one\n\ntwo"}, {"type": "text", "text": "R"}]}
        ],
    }


def test_a_lone_surrogate_becomes_a_question_mark() -> None:
    assert asked(("a\ud83d",))["messages"][0]["content"][0]["text"] == "a?"
