"""How a summary is shown to the model, and what happens where there is no room for all of it."""

from __future__ import annotations

import pytest

from coldpress.engine.markers import is_marked
from coldpress.engine.summary.bound import Bounded, Candidate, fitted
from coldpress.engine.summary.render import render
from coldpress.model.summary import Item, Summary

SUMMARY = Summary(
    constraints=(Item("never touch prod", 3), Item("cap $4,300", 8)),
    failures=(Item("make test\nerror: x", 12),),
)


def test_the_block() -> None:
    text = render(
        SUMMARY, first=2, last=40, generation=3, recall="Call `recall`\nto see them.", left_out=(("plan", 2),)
    )
    assert is_marked(text)
    assert text == (
        "[coldpress: messages m2 to m40 of this conversation are summarised here (compaction 3). The originals are"
        " intact. Call `recall` to see them. Names, paths, ids, amounts and error lines are exact; [m2] after an item"
        " names the message it was taken from.]\n"
        "\nConstraints: what must and must not be done\n- never touch prod [m3]\n- cap $4,300 [m8]\n"
        "\nState of the plan\n- 2 more, left out here\n"
        "\nCommands that fail, with their error lines\n- make test\n  error: x [m12]"
    )


def test_nothing_is_promised_that_is_not_offered() -> None:
    text = render(SUMMARY, first=2, last=2, generation=1, recall=None, left_out=(("constraints", 1),))
    assert text.startswith("[coldpress: message m2 of this conversation is summarised here (compaction 1). ")
    assert "ecall" not in text
    assert "- cap $4,300 [m8]\n- and 1 more, left out here\n" in text


def candidates(summary: Summary) -> list[Candidate]:
    """Items that all count the same."""
    return [Candidate(section, item) for section, items in summary.sections() for item in items]


ITEMS = tuple(Item(f"item {number}", number) for number in range(1, 6))


@pytest.mark.parametrize(
    ("weights", "kept"),
    [
        pytest.param((0, 0, 0, 0, 0), (3, 4, 5), id="the later ones of equal weight"),
        pytest.param((9, 0, 0, 0, 9), (1, 4, 5), id="the heavy ones, in the order of messages"),
        pytest.param((9, 9, 9, 0, 0), (1, 2, 3), id="heavy goes before late"),
    ],
)
def test_too_many_items(weights: tuple[int, ...], kept: tuple[int, ...]) -> None:
    found = fitted([Candidate("plan", i, w) for i, w in zip(ITEMS, weights, strict=True)], most_items=3)
    assert found == Bounded(Summary(plan=tuple(ITEMS[k - 1] for k in kept)), (("plan", 2),))


def test_too_many_bytes_and_stop_signals_go_first() -> None:
    summary = Summary(goal=ITEMS, decisions=ITEMS, constraints=ITEMS)
    found = fitted(candidates(summary), most_bytes=6 * (len("item 1") + 10))
    assert found == Bounded(Summary(goal=ITEMS[4:], constraints=ITEMS), (("goal", 4), ("decisions", 5)))


def test_the_same_words_count_once() -> None:
    again = Summary(decisions=(Item("x", 1), Item("y", 2), Item("x", 3)))
    assert fitted(candidates(again)) == Bounded(Summary(decisions=(Item("y", 2), Item("x", 3))))


def test_a_credential_is_not_copied_and_counts_as_left_out() -> None:
    secret = Item("export DB_PASSWORD=q8Zr2vLmT0", 1)
    found = fitted(candidates(Summary(artifacts=(secret, ITEMS[1]))))
    assert found == Bounded(Summary(artifacts=ITEMS[1:2]), (("artifacts", 1),))
