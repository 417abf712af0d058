"""An item stays only if what it quotes stands in the message it cites."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldpress.engine.summary.check import Checked, checked
from coldpress.engine.summary.identifiers import identifiers, load_bearing, stands_in
from coldpress.model.summary import Item, Summary

SOURCE = {
    1: "user\nThe cap is $4,300. Never touch prod. See src/app/main.py and https://x.example/a?b=1.",
    2: "assistant\nCommitted as 9f2c1ab; `run_all()` took approximately 4200 ms in v1.2.3, see PR #41.",
    3: "user\nHEAD is now at 5b2e4d7f90c1a2b3c4d5e6f708192a3b4c5d6e7f",
    4: "tool\naccount 7431-08, reservation 4WQ150, due 2026-12-24, see lines 10 to 120",
}


@pytest.mark.parametrize(
    ("item", "holds"),
    [
        pytest.param(Item("cap $4,300", 1, ("$4,300",)), True, id="a quote that stands"),
        pytest.param(Item("cap $4,300", 2, ("$4,300",)), False, id="a quote of another message"),
        pytest.param(Item("cap $4,300", 5), False, id="a message that does not exist"),
        pytest.param(Item("cap $4,300", 0), False, id="messages count from 1"),
        pytest.param(Item("the cap", 1, ("$4,300",)), False, id="a quote that its own text lacks"),
        pytest.param(Item("cap $4,30", 1, ("$4,30",)), False, id="an amount that lost a digit"),
        pytest.param(Item("cap $300", 1), False, id="an amount that nobody quoted and nobody said"),
        pytest.param(Item("cap is 4300", 1), False, id="a number in another form"),
        pytest.param(Item("work in src/app/main.py", 1), True, id="a path that was not declared"),
        pytest.param(Item("work in src/app/main.pyi", 1), False, id="a path that goes on"),
        pytest.param(Item("work in app/main.py", 1), True, id="the end of a path"),
        pytest.param(Item("work in pp/main.py", 1), False, id="half a name of a path"),
        pytest.param(Item("commit 9f2c1ab", 2), True, id="a hash"),
        pytest.param(Item("commit 9f2c1ac", 2), False, id="a hash with a wrong digit"),
        pytest.param(Item("commit 9f2c1", 2), False, id="a hash that was shortened too far"),
        pytest.param(Item("commit 5b2e4d7", 3), True, id="a hash as git shortens it"),
        pytest.param(Item("commit b2e4d7f", 3), False, id="the middle of a hash"),
        pytest.param(Item("see https://x.example/a?b=1", 1), True, id="an address"),
        pytest.param(Item("see https://x.example/a?b=2", 1), False, id="another address"),
        pytest.param(Item("`run_all()` is slow", 2), True, id="code"),
        pytest.param(Item("`run_any()` is slow", 2), False, id="code that was made up"),
        pytest.param(Item("runAll is slow", 2), False, id="code in another spelling"),
        pytest.param(Item("took 4200 ms", 2), True, id="a measure"),
        pytest.param(Item("took 4300 ms", 2), False, id="a measure that was made up"),
        pytest.param(Item("account 7431-08", 4), True, id="an id with a dash"),
        pytest.param(Item("account 7431-09", 4), False, id="an id with another end"),
        pytest.param(Item("due 2026-12-25", 4), False, id="another date"),
        pytest.param(Item("reservation: 4WQ150", 4), True, id="a labelled id, labelled another way"),
        pytest.param(Item("reservation 4WQ151", 4), False, id="another labelled id"),
        pytest.param(Item("lines 100-120", 4), False, id="a line that nobody said"),
        pytest.param(Item("see lines 10-120", 4), True, id="lines, as people write them"),
        pytest.param(Item("needs v1.2.4", 2), False, id="another version"),
        pytest.param(Item("merged #42", 2), False, id="another pull request"),
        pytest.param(Item("prod stays as it is", 1), True, id="words need no source"),
        pytest.param(Item("never  touch prod", 1, ("never  touch prod",)), False, id="spacing counts in a quote"),
        pytest.param(Item("Never touch prod", 1, ("Never touch prod", "")), False, id="an empty quote"),
        pytest.param(Item(" ", 1), False, id="no text"),
    ],
)
def test_an_item(item: Item, holds: bool) -> None:
    found = checked(Summary(constraints=(item,)), SOURCE.get)
    assert found == (Checked(Summary(constraints=(item,)), 0) if holds else Checked(Summary(), 1))


def test_the_others_stay_where_they_are() -> None:
    good, bad = Item("cap $4,300", 1), Item("cap $9,999", 1)
    found = checked(Summary(goal=(bad, good), plan=(bad,), questions=(good,)), SOURCE.get)
    assert found == Checked(Summary(goal=(good,), questions=(good,)), 2)


@given(st.text(), st.integers(1, 2), st.lists(st.text(), max_size=2).map(tuple))
def test_what_is_kept_is_never_changed_and_its_quotes_stand(text: str, message: int, quotes: tuple[str, ...]) -> None:
    item = Item(text, message, quotes)
    kept = [i for _, items in checked(Summary(plan=(item,)), SOURCE.get).summary.sections() for i in items]
    assert kept in ([], [item])
    if kept:
        assert all(quote in SOURCE[message] and quote in text for quote in quotes)


@given(st.text(alphabet="ab1/.-_ $:,`(", max_size=60))
def test_a_text_holds_what_was_found_in_it(text: str) -> None:
    assert all(stands_in(name, text) for name in identifiers(text))
    assert all(name in text for name in load_bearing(text))


@pytest.mark.parametrize(
    "piece", ["a", "aA", "1,", "a.", "a/", "+", "-", "_", "0", "`", "$1", "://", "a_", "\n", " 1", "#", "{"]
)
def test_names_are_found_in_long_odd_texts_without_delay(piece: str) -> None:
    # Twice quadratic would take minutes here: the suite's own time limit would show it.
    identifiers(piece * 20_000)
    load_bearing(piece * 20_000)
