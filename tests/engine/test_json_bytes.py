"""Pieces of JSON text are found by their bytes, as a decoder finds them."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from coldpress.engine.json_bytes import depth_at, elements, members
from coldpress.model.conversation import Span

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet='a"\\,:[]{} é\ud83d', max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=3), inner, max_size=3),
    max_leaves=12,
)
INDENTS = st.sampled_from([None, 1])


@given(st.lists(VALUES, max_size=4), INDENTS)
def test_elements_are_those_of_a_decoder(value: list[object], indent: int | None) -> None:
    text = b"  " + json.dumps(value, indent=indent).encode() + b", []"
    found = [json.loads(text[place.start : place.end]) for place in elements(text, Span(2, len(text)))]
    assert found == value


@given(st.dictionaries(st.text("abc", max_size=3), VALUES, max_size=4), INDENTS)
def test_members_are_those_of_a_decoder(value: dict[str, object], indent: int | None) -> None:
    text = json.dumps(value, indent=indent).encode()
    found = members(text, Span(0, len(text)))
    assert {key.decode(): json.loads(text[at.start : at.end]) for key, at in found.items()} == value


def test_brackets_in_strings_open_nothing() -> None:
    text = b'{"a":"[{","b":[{"c":1}],"d":2}'
    assert [depth_at(text, Span(0, len(text)), text.index(key)) for key in (b'"b"', b'"c"', b'"d"')] == [1, 3, 1]
