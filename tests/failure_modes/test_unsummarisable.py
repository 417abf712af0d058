"""Summarising what cannot be summarised: an error line, a hash, an id told in other words are of no use any more."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import pytest
from drive.asking import settings as summariser_settings
from failure_modes.naive import Naive, drop_middle, one_shot, paraphrase
from failure_modes.world import Json, Run, World, coldpress, say, source

from coldpress.testing import Asked, Part, Say, Script, StrictUpstream, Turn

COMMIT: Final = "9f2c1ab"
TEST: Final = "tests/test_refunds.py::test_refund_rounding[EUR-3]"
ERROR: Final = "E       AssertionError: assert Decimal('4312.50') == Decimal('4312.05')"
ORDER: Final = "ORD-77431-QX"
REST: Final = tuple(f"docs/chapter_{n:02}.py" for n in range(1, 21))

FAILURE: Final = f"""Exit code 1
============================= test session starts ==============================
collected 1 item

tests/test_refunds.py F                                                  [100%]

    def test_refund_rounding(currency, places):
{ERROR}
tests/test_refunds.py:41: AssertionError
=========================== short test summary info ============================
FAILED {TEST} - AssertionError: assert Decimal('4312.50') == Decimal('4312.05')
============================== 1 failed in 0.12s ===============================
"""


def answer(shown: str) -> tuple[Part, ...]:
    """Make a commit, a booking and a failing test, read for long, and then use all three by their exact names."""
    if "I begin with the commit." not in shown and "chapter" not in shown:
        return say("I begin with the commit.", "Bash", command="git commit -am 'Round half even'")
    if "I book the order." not in shown and "chapter" not in shown:
        return say("I book the order.", "create_order", sku="QX", amount="4312.50")
    if "I run the test." not in shown and "chapter" not in shown:
        return say("I run the test.", "Bash", command="pytest tests/test_refunds.py")
    last = max(map(int, re.findall(r"chapter_(\d\d)", shown)), default=0)
    if last < len(REST):
        return say("I read on.", "Read", file_path=REST[last])
    return _uses(shown)


def _uses(shown: str) -> tuple[Part, ...]:
    commit = re.search(r"\[main ([0-9a-f]{7,40})\]|commit ([0-9a-f]{4,40})\b", shown)
    error = re.search(r"AssertionError: (assert .*?)(?: \[m\d+\])?$", shown, re.MULTILINE)
    order = re.search(r"\"order_id\": ?\"([^\"]+)\"|\b(ORD[-\w]*)", shown)
    found = [
        next((group for group in match.groups() if group), "") if match else "?" for match in (commit, order, error)
    ]
    return say(json.dumps(found))


def bash(given: Json) -> str:
    return FAILURE if given["command"].startswith("pytest") else f"[main {COMMIT}] Round half even\n 1 file changed\n"


REFUND: Final = World(
    task="Fix the rounding of refunds, then read the manual, then report commit, order and error, to the letter.",
    model=answer,
    tools={
        "Bash": bash,
        "Read": lambda given: source(given["file_path"]),
        "create_order": lambda given: json.dumps({"order_id": ORDER, "status": "confirmed"}),
    },
    window_tokens=12_000,
)
EXACT: Final = [COMMIT, ORDER, ERROR.partition("AssertionError: ")[2]]


def reported(run: Run) -> list[str]:
    assert run.ending == "done"
    found: list[str] = json.loads(run.answer)
    return found


def test_with_room_for_everything_the_names_are_exact() -> None:
    roomy = World(REFUND.task, answer, REFUND.tools, 200_000)
    assert reported(roomy.run(Naive(drop_middle, 200_000))) == EXACT


@pytest.mark.parametrize("compactor", [pytest.param(one_shot(paraphrase), id="free-form summary")])
def test_off_none_of_the_three_is_what_it_was(compactor: Any) -> None:
    found = reported(REFUND.run(Naive(compactor, REFUND.window_tokens)))
    assert [one == wanted for one, wanted in zip(found, EXACT, strict=True)] == [False, False, False], found


def test_on_all_three_are_exact_to_the_letter() -> None:
    with coldpress(REFUND, stages=("summary",)) as arm:
        assert reported(REFUND.run(arm)) == EXACT
        assert len(arm.compactions) >= 2


@contextmanager
def careless_model() -> Iterator[StrictUpstream]:
    """A summariser that gets every second name nearly right, and quotes it as if it stood there."""
    items: dict[str, list[Json]] = {
        "artifacts": [
            {"text": "commit 9f2c1a7 rounds half even", "message": 3, "quotes": ["9f2c1a7"]},
            {"text": f"the order is {ORDER}", "message": 5, "quotes": [ORDER]},
        ],
        "failures": [
            {"text": "pytest fails: Decimal('4312.5') == Decimal('4312.05')", "message": 7, "quotes": []},
            {"text": ERROR.strip(), "message": 7, "quotes": [ERROR.strip()]},
        ],
        "constraints": [{"text": "The order must not be booked twice.", "message": 400, "quotes": []}],
    }

    def told(asked: Asked) -> Turn:
        return Turn((Say(json.dumps(items)),))

    with StrictUpstream(Script(answer=told)) as upstream:
        yield upstream


def test_on_a_models_wrong_quotes_are_dropped_and_counted_and_never_shown() -> None:
    wide = World(REFUND.task, answer, REFUND.tools, 22_000)
    with careless_model() as upstream:
        asked = summariser_settings("anthropic", upstream.url)
        # Waited for at the trigger, so that the run is the same each time.
        with coldpress(wide, stages=("summary",), urgent=0.65, summariser=asked) as arm:
            run = wide.run(arm)
            summaries = [one for one in arm.compactions if one.summarised]
    found = reported(run)
    assert found == EXACT, "what the model got wrong is there as the rules found it"
    assert [one.dropped for one in summaries] == [3] * len(summaries)
    assert len(summaries) == len(upstream.inference) >= 2
    assert not any(wrong in one.text for one in run.asked for wrong in ("9f2c1a7", "Decimal('4312.5')", "booked twice"))


def test_on_a_summary_that_came_too_late_to_be_of_use_costs_no_second_one() -> None:
    """In a narrow window fewer turns stay than the model was told: what it wrote is dropped, and its cost is told."""
    with careless_model() as upstream:
        asked = summariser_settings("anthropic", upstream.url)
        with coldpress(REFUND, stages=("summary",), urgent=0.65, summariser=asked) as arm:
            run = REFUND.run(arm)
            outgrown = [one for one in arm.compactions if "outgrown" in one.refused]
    assert reported(run) == EXACT
    assert outgrown and all(one.summariser == "structural" and one.summariser_usd for one in outgrown)
    assert len(upstream.inference) == len(outgrown), "each paid one is told once, and none is paid for in vain again"
