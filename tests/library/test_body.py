"""Whatever is done with messages in the middle, the others are found to be the caller's own, and none is lost."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldpress.library.body import pieces, write

TEXTS = st.sampled_from(("a", "b", 'quote "]}', "naïve 日本", "continue", "\\"))
MESSAGES = st.lists(st.builds(lambda text: {"role": "user", "content": text}, TEXTS), min_size=1, max_size=8)
HEAD = {"model": "m", "system": None, "tools": [{"name": "]}"}]}


def raw(message: object) -> bytes:
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()


def sent(messages: list[Any]) -> bytes:
    return b'{"model":"m","tools":[{"name":"]}"}],"messages":[' + b",".join(map(raw, messages)) + b"]}"


def shown(own: list[Any], other: list[Any]) -> tuple[list[Any], list[int | None]]:
    found = pieces(write(HEAD, own, None), sent(other))
    values = [own[p.source] if p.source is not None and p.raw is None else p.value() for p in found]
    return values, [p.source for p in found]


@given(MESSAGES)
def test_a_body_is_what_it_says(own: list[Any]) -> None:
    assert write(HEAD, own, None).data == sent(own)
    assert json.loads(sent(own))["messages"] == own


@given(MESSAGES, MESSAGES)
def test_every_message_that_is_sent_is_given_whatever_it_was_before(own: list[Any], other: list[Any]) -> None:
    values, sources = shown(own, other)
    assert values == other
    kept = [source for source in sources if source is not None]
    assert kept == sorted(set(kept)), "each of the caller's messages at most once, in order"


@given(MESSAGES, st.data())
def test_changed_one_by_one_each_keeps_its_place(own: list[Any], data: st.DataObject) -> None:
    changed = data.draw(st.sets(st.integers(0, len(own) - 1)))
    other = [{"role": "user", "content": "pressed"} if i in changed else message for i, message in enumerate(own)]
    values, sources = shown(own, other)
    assert sources == list(range(len(own)))
    assert [i for i, value in enumerate(values) if value is not own[i]] == sorted(changed)


NEW = st.lists(st.builds(lambda n: {"role": "user", "content": f"summary {n}"}, st.integers(0, 9)), max_size=4)


@given(MESSAGES, MESSAGES, NEW, MESSAGES)
def test_a_range_that_was_rebuilt_leaves_what_stands_around_it(
    front: list[Any], gone: list[Any], put: list[Any], back: list[Any]
) -> None:
    own, other = front + gone + back, front + put + back
    values, _ = shown(own, other)
    assert values == other
    assert all(values[i] is own[i] for i in range(len(front)))
    if put:  # else equal messages on both sides of the gap may stand for each other
        assert all(values[-1 - i] is own[-1 - i] for i in range(len(back)))


def test_carried_messages_are_the_callers_own() -> None:
    own = [{"role": "user", "content": str(number)} for number in range(9)]
    other = [own[0], {"role": "user", "content": "summary"}, own[3], own[5], own[8]]
    values, sources = shown(own, other)
    assert sources == [0, None, 3, 5, 8]
    assert values[2] is own[3]


@given(MESSAGES, MESSAGES)
def test_what_is_known_is_written_the_same(own: list[Any], later: list[Any]) -> None:
    known = write(HEAD, own, None)
    assert write({**HEAD, "model": "m"}, own + later, known).data == sent(own + later)
    assert write(HEAD, own + later, known).messages[: len(own)] == known.messages


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b'{"model":"other","messages":[]}', id="another head"),
        pytest.param(sent([])[:-1], id="cut off"),
        pytest.param(sent([])[:-2] + b'{"a":1]}', id="no JSON"),
    ],
)
def test_what_is_no_request_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError):
        pieces(write(HEAD, [{"role": "user", "content": "a"}], None), data)
