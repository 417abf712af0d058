"""A result becomes smaller by what it was asked for once the model was shown it exact: a fact of its conversation."""

from __future__ import annotations

import json
from typing import Any

import pytest
from bodies import changed_literals, messages_bytes, without_marks
from cases.talk import assistant, result, use, user
from provider import CHEAP_READS, LATER, TINY_READS, Json, Provider, Turn, growing, marked, priced, saying, step, talk
from support import failed_quietly, pressing

from coldpress.engine.policy import Policy, Rule
from coldpress.measure.rates import Prices
from coldpress.stores.memory import MemoryStore

ORDERED = Policy((Rule("grep*", ("keyword",), ungated=True),))
GATED = Policy((Rule("grep*", ("keyword",)),))


def hits(name: str, lines: int = 240) -> str:
    """The result of a search of which a few lines are about what was looked for."""
    found = ("retry_budget = RetryBudget()" if line % 40 == 7 else "other = thing()" for line in range(1, lines + 1))
    return "".join(f"src/{name}/part_{line}.py:{line}:    {code}\n" for line, code in enumerate(found, 1))


def search(number: int) -> list[Json]:
    """A search for a name, and what it found."""
    return step(number, hits(f"n{number}"), tool="Grep", said="Where is the retry_budget set?", pattern="retry_budget")


def views(turn: Turn) -> dict[str, str]:
    """What takes the place of each text that went out otherwise than it came."""
    assert not failed_quietly(turn.prepared)
    return dict(changed_literals(turn.body, turn.sent))


STEPS = [search(0), *(step(number, f"done {number}") for number in range(1, 8))]
BODIES = growing(STEPS)


@pytest.mark.parametrize(
    "prices",
    [
        pytest.param(CHEAP_READS, id="reads at a tenth"),
        pytest.param(TINY_READS, id="reads at a hundredth"),
        pytest.param(None, id="no prices"),
    ],
)
def test_what_is_ordered_goes_after_one_exact_exposure_and_stands(prices: Prices | None) -> None:
    with pressing(priced(prices, policy=ORDERED)) as press:
        turns = talk(press, BODIES, Provider())
    assert [list(views(turn)) for turn in turns[:2]] == [[], []]
    for turn in turns[2:]:
        (view,) = views(turn).values()
        assert view == views(turns[2])[hits("n0")]
    assert "src/n0/part_7.py:7:    retry_budget = RetryBudget()" in view
    assert (turns[2].why, turns[2].applied) == ("ordered", 1)
    assert [line.reason for line in turns[2].prepared.receipt.lines if line.tool == "Grep"] == ["exposed"]
    assert [line.reason for line in turns[1].prepared.receipt.lines if line.tool == "Grep"] == ["not_exposed"]


def test_a_view_outlives_the_process_and_the_rule_that_made_it() -> None:
    store, provider = MemoryStore(), Provider()
    with pressing(priced(policy=ORDERED), store) as press:
        before = talk(press, BODIES[:4], provider)[-1]
    with pressing(priced(policy=Policy(())), store) as press:
        again, later = talk(press, BODIES[3:5], provider)
    assert again.sent == before.sent
    assert without_marks(later.sent).startswith(without_marks(messages_bytes(before.sent)))


def test_a_gated_rule_leaves_a_warm_prefix_alone_and_takes_a_cold_one() -> None:
    with pressing(priced(TINY_READS, policy=GATED, expected_applications=6.0)) as press:
        turns = talk(press, BODIES, Provider(), pauses={5: LATER})
    assert [list(views(turn)) for turn in turns[:5]] == [[]] * 5
    assert turns[3].why in ("does_not_pay", "waiting")
    assert (turns[5].why, list(views(turns[5]))) == ("cold", [hits("n0")])


@pytest.mark.parametrize("sent", [1, 2, 3])
def test_a_request_that_is_sent_again_is_no_exposure(sent: int) -> None:
    with pressing(priced(policy=ORDERED)) as press:
        turns = talk(press, [*[BODIES[1]] * sent, BODIES[2]], Provider())
    assert [list(views(turn)) for turn in turns] == [[]] * sent + [[hits("n0")]]


def test_the_beginning_of_a_reply_is_no_exposure() -> None:
    begun = [*saying(STEPS[:1]), assistant("I will")]
    with pressing(priced(policy=ORDERED)) as press:
        turns = talk(press, [BODIES[0], marked(begun), BODIES[2]], Provider())
    assert [list(views(turn)) for turn in turns] == [[], [], [hits("n0")]]


def test_parallel_results_are_exposed_together_whatever_stands_between_them() -> None:
    calls = assistant(use("t0", "Grep", pattern="retry_budget"), use("t1", "Grep", pattern="retry_budget"))
    said = saying([[calls, user(result("t0", hits("a")), result("t1", hits("b"))), user("Both, please.")]])
    answered = [*said, assistant("Both are in src."), user("Go on.")]
    with pressing(priced(policy=ORDERED)) as press:
        first, second = talk(press, [marked(said), marked(answered)], Provider())
    assert list(views(first)) == []
    assert list(views(second)) == [hits("a"), hits("b")]


def test_a_branch_from_before_the_view_keeps_the_exact_text() -> None:
    other = growing([STEPS[0], step(1, "another way"), step(2, "and on")])
    with pressing(priced(policy=GATED, expected_applications=6.0)) as press:
        provider = Provider()
        talk(press, BODIES[:3], provider)
        talk(press, [BODIES[4]], provider, pauses={0: LATER})  # pressed here, cold
        branch = talk(press, [other[2]], provider)[0]
    assert list(views(branch)) == []


def test_failures_and_marked_texts_stay_exact_under_every_rule() -> None:
    failed = json.loads(json.dumps(STEPS[0]))
    failed[1]["content"][0]["is_error"] = True
    ours = [assistant(use("t0", "Grep")), user(result("t0", "[coldpress: 9 lines left out]\n" + hits("x")))]
    for first in (failed, ours):
        with pressing(priced(policy=ORDERED)) as press:
            turns = talk(press, growing([first, *STEPS[1:4]]), Provider())
        assert [list(views(turn)) for turn in turns] == [[]] * len(turns)


def read(number: int, path: str, first: int = 1, lines: int = 120) -> list[Json]:
    """A read of a part of a file."""
    shown = "".join(f"{n:6}\tvalue_{n} = compute({n}, '{path}')\n" for n in range(first, first + lines))
    return step(number, shown, tool="Read", file_path=path, offset=first, limit=lines)


SOURCE = Policy((Rule("read*", ("source",), age=2, ungated=True),))


def reads(*parts: tuple[str, int, int], rest: int = 3) -> list[list[Json]]:
    """Reads one after the other, and some steps behind them."""
    steps = [read(number, *part) for number, part in enumerate(parts)]
    return [*steps, *(step(len(steps) + n, f"done {n}") for n in range(rest))]


def shown(turns: list[Turn]) -> list[int]:
    """How many texts go out otherwise than they came, request by request."""
    return [len(views(turn)) for turn in turns]


def test_a_read_that_nothing_covers_is_never_pressed_by_the_mode_source() -> None:
    with pressing(priced(policy=SOURCE)) as press:
        turns = talk(press, growing(reads(("a.py", 1, 120), ("b.py", 1, 120), rest=5)), Provider())
    assert shown(turns) == [0] * len(turns)


def test_a_covered_read_is_pressed_and_given_back_for_good_once_the_file_is_read_again() -> None:
    steps = reads(("a.py", 1, 120), ("a.py", 1, 240), rest=2)
    steps += [read(10, "a.py", 300, 40), *(step(20 + n, f"on {n}") for n in range(6))]
    with pressing(priced(policy=SOURCE)) as press:
        turns = talk(press, growing(steps), Provider())
    counts = shown(turns)
    pressed = counts.index(1)
    again = next(number for number in range(pressed, len(counts)) if counts[number] == 0)
    assert again == 5, "on the request that shows the new read"
    assert counts[again:] == [0] * len(counts[again:]), "exact from then on, and pinned"
    assert "restored" in [line.reason for line in turns[again].prepared.receipt.lines]


def test_an_agent_that_reads_a_pressed_file_again_and_again_makes_its_tool_rest() -> None:
    """Markers in the place of reads once made an agent fetch other ranges of a file until its requests ran out."""
    steps: list[Any] = []
    for number in range(12):
        path = f"f{number % 4}.py"
        steps += [read(3 * number, path), read(3 * number + 1, path, 1, 200), step(3 * number + 2, "looked")]
        steps += [read(1000 + number, path, 500 + number, 30)]
    with pressing(priced(policy=SOURCE)) as press:
        turns = talk(press, growing(steps), Provider())
    restored = [sum(line.reason == "restored" for line in turn.prepared.receipt.lines) for turn in turns]
    pressed = [sum(line.mode == "source" for line in turn.prepared.receipt.lines) for turn in turns]
    assert sum(restored) >= 1
    assert sum(pressed) <= 3, "after two regrets the tool is left alone"
    assert shown(turns)[-1] == sum(pressed) - sum(restored)
