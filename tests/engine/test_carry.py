"""Which turns are carried over to the letter: what still fails whatever it is called, the last plan, what is exact."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from bodies import conversation
from cases.talk import Json, assistant, messages, result, use, user

from coldpress.engine.carry import carried
from coldpress.engine.plan import propose
from coldpress.engine.policy import DEFAULT_POLICY, NO_RULE, Policy, Rule, is_ordered_exact, with_source_age
from coldpress.engine.session import Session

FAILED = "collected 9 items\nFAILED tests/a.py::test_x - assert 4 == 5\n1 failed, 8 passed in 0.3s"
PASSED = "9 passed in 0.3s"


def bash(number: int, command: str, text: str) -> list[Json]:
    return used(number, "Bash", text, command=command)


def used(number: int, tool: str, text: str, **given: object) -> list[Json]:
    return [assistant(use(f"t{number}", tool, **given)), user(result(f"t{number}", text))]


def texted(command: str, text: str) -> list[Json]:
    return [assistant(f"```\n{command}\n```"), user(f"<returncode>1</returncode>\n<output>\n{text}\n</output>")]


def kept(turns: Sequence[list[Json]], *, policy: Policy = DEFAULT_POLICY, most_tokens: int = 10_000) -> list[int]:
    """Numbers of the turns that are carried over, of all but the last one, from 0; every message has 100 tokens."""
    listed = [user("go"), *(message for turn in turns for message in turn)]
    found = conversation(messages(*listed))
    session = propose(found, Session(), {}, Policy(()), "observe").session
    stop = len(listed) - len(turns[-1])
    chosen = carried(
        found,
        session.replies,
        1,
        stop,
        rule_of=policy.rule_for,
        tokens_of=lambda index: 100,
        most_tokens=most_tokens,
    )
    carried_turns = [(index - 1) // 2 for index in chosen if index % 2]
    assert list(chosen) == [index for turn in carried_turns for index in (1 + 2 * turn, 2 + 2 * turn)]
    return carried_turns


LAST = bash(99, "ls", "a.py")


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        pytest.param([bash(1, "make test", FAILED), LAST], [0], id="it fails"),
        pytest.param([bash(1, "make test", FAILED), bash(2, "make test", PASSED), LAST], [], id="it passed later"),
        pytest.param([bash(1, "make test", FAILED), bash(2, "make test", FAILED), LAST], [1], id="the latest run"),
        pytest.param(
            [bash(1, "make test", FAILED), bash(2, "cd x && make test 2>&1 | tail -5", FAILED), LAST],
            [1],
            id="the same command in another guise",
        ),
        pytest.param(
            [bash(1, "cd x && make test 2>&1 | tail -5", FAILED), bash(2, "make test", PASSED), LAST],
            [],
            id="it passed in another guise",
        ),
        pytest.param(
            [bash(1, "pytest tests/a.py -x", FAILED), bash(2, "pytest -q", PASSED), LAST], [], id="all of them passed"
        ),
        pytest.param([bash(1, "make test", FAILED), bash(2, "make lint", PASSED), LAST], [0], id="another target"),
        pytest.param([bash(1, "make test", FAILED), bash(2, "make test", PASSED)], [], id="it passed in the tail"),
        pytest.param(
            [used(1, "TodoWrite", "ok", todos=[]), used(2, "TodoWrite", "ok", todos=["x"]), LAST],
            [1],
            id="the last plan",
        ),
        pytest.param(
            [texted("make test", FAILED), texted("ls", "a.py")], [0], id="a result that comes as a user's text"
        ),
        pytest.param(
            [bash(1, "ls", "a.py"), [assistant("x"), user("Make test fails.")], LAST], [], id="words are kept elsewhere"
        ),
    ],
)
def test_what_is_carried_over(turns: Sequence[list[Json]], expected: list[int]) -> None:
    assert kept(turns) == expected


def test_the_newest_come_first_where_there_is_no_room() -> None:
    failing = [bash(n, f"make part-{n}", FAILED) for n in range(5)]
    assert kept([*failing, LAST], most_tokens=450) == [3, 4]


EXACT = Policy((Rule("get_contract", ("exact",)), *DEFAULT_POLICY.rules))


def test_what_the_users_own_rule_keeps_exact_stays_whatever_its_size_and_takes_no_room() -> None:
    turns = [*(used(n, "get_contract", f"clause {n}", part=n) for n in range(4)), bash(9, "make", FAILED), LAST]
    assert kept(turns, policy=EXACT, most_tokens=200) == [0, 1, 2, 3, 4]
    assert kept(turns, most_tokens=200) == [4]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        pytest.param(Rule("bash", ("exact",)), True, id="one of the user's"),
        pytest.param(Rule("kind:mcp", ("exact",)), True, id="one that says what holds anyway"),
        pytest.param(DEFAULT_POLICY.rules[0], False, id="one of our own"),
        pytest.param(with_source_age(DEFAULT_POLICY, 9).rules[0], False, id="one of our own beside another age"),
        pytest.param(NO_RULE, False, id="none"),
        pytest.param(Rule("bash", ("keyword",)), False, id="what waits for the model to see it"),
        pytest.param(Rule("bash", ("lossless",)), False, id="another mode"),
    ],
)
def test_rules_that_mean_nothing_ever(rule: Rule, expected: bool) -> None:
    assert is_ordered_exact(rule) is expected
