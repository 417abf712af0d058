"""What was added to a body can be taken out of it again, whatever else was put into it."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from coldpress.model.conversation import Span
from coldpress.wire.addition import Addition, element, member, places, without
from coldpress.wire.span import splice

BODY = b'{"model":"m","tools":[{"name":"Bash"}],"messages":["a long text","another"]} \n'


@dataclass(frozen=True)
class Edit:
    """Any other patch."""

    span: Span
    literal: bytes


@given(st.sets(st.integers(0, len(BODY))), st.data())
def test_without_the_additions_the_other_patches_stay(cuts: set[int], data: st.DataObject) -> None:
    places_cut = sorted(cuts)
    patches: list[Edit | Addition] = []
    for start, end in itertools.pairwise(places_cut):
        literal = data.draw(st.binary(max_size=8))
        if data.draw(st.booleans()):
            patches.append(Addition(Span(start, start), literal))
        else:
            patches.append(Edit(Span(start, end), literal))
    others = [patch for patch in patches if isinstance(patch, Edit)]
    assert without(splice(BODY, patches), places(patches)) == splice(BODY, others)


def test_members_and_elements_leave_the_rest_as_it_is() -> None:
    start = BODY.index(b"[{")
    tools = Span(start, BODY.index(b"}]") + 2)
    added = [element(BODY, tools, b'{"name":"memory"}'), member(BODY, "first", b"1"), member(BODY, "second", b"[]")]
    sent = splice(BODY, added)
    assert json.loads(sent) == {
        **json.loads(BODY),
        "tools": [{"name": "Bash"}, {"name": "memory"}],
        "first": 1,
        "second": [],
    }
    assert without(sent, places(added)) == BODY
    assert without(BODY, ()) is BODY
