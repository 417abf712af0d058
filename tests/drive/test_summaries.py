"""What a summary leaves to the turns that are carried over beside it."""

from __future__ import annotations

import pytest

from coldpress.drive.summaries import Digest, beside_carried
from coldpress.model.summary import Item, Summary

GOAL, FIRST, SECOND = Item("Ship it.", 4), Item("./deploy.sh", 4), Item("make test", 7)
SUMMARY = Summary(goal=(GOAL,), ruled_out=(FIRST,), failures=(SECOND,))


@pytest.mark.parametrize(
    ("carried", "ruled_out", "failures"),
    [
        pytest.param((), (FIRST,), (SECOND,), id="nothing is carried"),
        pytest.param((2, 3), (), (SECOND,), id="the turn of the one, numbered from 0"),
        pytest.param((3, 6), (), (), id="both"),
        pytest.param((4, 7), (FIRST,), (SECOND,), id="their neighbours"),
    ],
)
def test_failures_that_are_carried_are_not_quoted_again(
    carried: tuple[int, ...], ruled_out: tuple[Item, ...], failures: tuple[Item, ...]
) -> None:
    digest = Digest(1, 9, b"", SUMMARY)
    left = beside_carried(digest, carried).summary
    assert (left.ruled_out, left.failures, left.goal) == (ruled_out, failures, (GOAL,))


def test_a_models_item_may_say_more_and_stays() -> None:
    digest = Digest(1, 9, b"", SUMMARY, summariser="claude-haiku-4-5")
    assert beside_carried(digest, (3, 6)) == digest
