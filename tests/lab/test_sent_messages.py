"""Bodies are cut into messages without marks, whatever they share with the one before."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldpress.lab.sent_messages import SentMessages, unmarked

MARK = ',"cache_control":{"type":"ephemeral"}'


def text(words: str, mark: str = "") -> str:
    return f'{{"role":"user","content":[{{"type":"text","text":{json.dumps(words)}{mark}}}]}}'


def body(*messages: str, space: str = "") -> bytes:
    return f'{{"model":"m","messages":[{f",{space}".join(messages)}],"system":[]}}'.encode()


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        (["a"], ["a", "b"], 0),
        (["a", "b"], ["a", "b", "c"], 1),
        (["a", "b", "c", "d"], ["a", "b", "c", "d", "e"], 3),
        (["a", "b", "c", "d"], ["a", "X", "c", "d", "e"], 1),
        (["a", "b", "c", "d"], ["X", "b", "c", "d"], 0),
        (["a", "b", "c", "d"], ["a", "b"], 1),
    ],
    ids=["the last is read again", "one more", "a long one grows", "one changes", "the first changes", "it is shorter"],
)
def test_only_what_is_not_shared_is_read_again(before: list[str], after: list[str], same: int) -> None:
    cutter = SentMessages()
    for words in (before, after):
        *first, last = words
        cut = cutter.cut(body(*map(text, first), text(last, MARK)))
    assert cut.same == same
    assert [one.decode() for one in cut.messages] == list(map(text, after))


def test_a_mark_written_in_a_text_stays() -> None:
    quoted = text(f'say {{"text":"x"{MARK}}}').encode()
    assert unmarked(quoted) == quoted


def test_marks_of_both_lifetimes_go() -> None:
    marked = text("x", ',"cache_control":{"type":"ephemeral","ttl":"1h"}')
    assert unmarked(marked.encode()).decode() == text("x")


@given(st.lists(st.lists(st.sampled_from(["a", "b", "long " * 9]), min_size=1, max_size=6), max_size=6), st.booleans())
def test_cutting_one_after_the_other_gives_what_reading_each_gives(bodies: list[list[str]], spaced: bool) -> None:
    cutter = SentMessages()
    for words in bodies:
        sent = body(*map(text, words[:-1]), text(words[-1], MARK), space=" " if spaced else "")
        assert [json.loads(one) for one in cutter.cut(sent).messages] == [json.loads(text(one)) for one in words]
