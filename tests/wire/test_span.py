"""Values are located without doubt or not at all, and splicing touches nothing else."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import ODD_VALUES, STYLES, Style, write

from coldpress.model.conversation import Span
from coldpress.model.edits import Edit, Standing
from coldpress.model.identity import EditKey
from coldpress.wire.span import Misread, elements, mask_lone_surrogates, members, splice

VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=8), ODD_VALUES),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)),
    max_leaves=8,
)


def whole(text: bytes) -> Span:
    return Span(0, len(text))


@given(st.dictionaries(st.text(max_size=5), VALUES, max_size=5), STYLES)
def test_members_stand_where_they_are_said_to(value: dict[str, object], style: Style) -> None:
    text = mask_lone_surrogates(write(value, style))
    found = members(text, whole(text))
    assert list(found) == list(value)
    for key, span in found.items():
        piece = text[span.start : span.end]
        assert piece == piece.strip(), "a span holds no spacing"
        assert json.loads(piece) == json.loads(text)[key]


@given(st.lists(VALUES, max_size=6), STYLES)
def test_elements_stand_where_they_are_said_to(value: list[object], style: Style) -> None:
    text = mask_lone_surrogates(write(value, style))
    found = elements(text, whole(text))
    assert [json.loads(text[s.start : s.end]) for s in found] == json.loads(text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(b'{"a":1,"a":2}', id="a key repeated with values of one length"),
        pytest.param(b'{"a":1,"a":22}', id="a key repeated with a longer value"),
        pytest.param(b'{"a":[22],"a":2,"b":1}', id="a key repeated with a shorter value"),
        pytest.param(b'{"a":"x","\\u0061":"x"}', id="a key repeated in another spelling"),
        pytest.param(b'{"a":1', id="an object cut short"),
        pytest.param(b'{"a":1}x', id="bytes behind the object"),
        pytest.param(b"[1]", id="an array instead"),
        pytest.param(b'{"a":"\\ud83d"}', id="a lone surrogate, unmasked"),
        pytest.param(b'{"a":' + b"[" * 5000 + b"]" * 5000 + b"}", id="nested too deeply"),
    ],
)
def test_doubtful_objects_are_refused(text: bytes) -> None:
    with pytest.raises(Misread):
        members(text, whole(text))


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        pytest.param(rb'"\ud83d"', rb'"\ufffd"', id="a high half alone"),
        pytest.param(rb'"\uDE00x"', rb'"\ufffdx"', id="a low half alone"),
        pytest.param(rb'"\ud83d\ude00"', rb'"\ud83d\ude00"', id="a whole pair stays"),
        pytest.param(rb'"\\ud83d"', rb'"\\ud83d"', id="an escaped backslash before ud83d stays"),
        pytest.param(rb'"\\\ud83d"', rb'"\\\ufffd"', id="a backslash and then a lone half"),
        pytest.param(rb'"\ud83d\ud83d\ude00"', rb'"\ufffd\ud83d\ude00"', id="a lone half before a pair"),
    ],
)
def test_lone_surrogates_are_masked_in_place(text: bytes, masked: bytes) -> None:
    assert mask_lone_surrogates(text) == masked
    assert len(masked) == len(text)


def edit(start: int, end: int, literal: bytes) -> Edit:
    return Edit(Span(start, end), literal, 0, Standing(EditKey(b"", 0, 0), ""), saved_bytes=0)


def test_no_edit_gives_the_very_same_object() -> None:
    body = b'{"a": "b"}'
    assert splice(body, []) is body


@given(st.binary(min_size=1, max_size=60), st.data())
def test_splicing_changes_nothing_outside_its_spans(body: bytes, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=6, unique=True)))
    edits = [edit(a, b, data.draw(st.binary(max_size=5))) for a, b in zip(cuts[::2], cuts[1::2], strict=False)]
    out = splice(body, edits)
    at_body = at_out = 0
    for e in edits:
        kept = body[at_body : e.span.start]
        assert out[at_out : at_out + len(kept)] == kept
        at_out += len(kept)
        assert out[at_out : at_out + len(e.literal)] == e.literal
        at_out, at_body = at_out + len(e.literal), e.span.end
    assert out[at_out:] == body[at_body:]
