"""A client that refuses to read again is answered with the exact text, where we had pressed it, and only there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bodies import changed_literals, messages_bytes
from cases.talk import assistant, listing, messages, result, use, user
from support import Press, pressing, settings

from coldpress.engine.policy import Policy
from coldpress.model.records import Operation
from coldpress.stores.sqlite import SqliteStore

REFUSALS = [
    "Wasted call — file unchanged since your last Read. Refer to that earlier tool_result instead.",
    "File unchanged since last read. The content from the earlier Read tool_result in this conversation is still "
    "current — refer to that instead of re-reading.",
]
A, B = listing("a"), listing("b")
Said = list[dict[str, Any]]


def read(call: str, text: str, **arguments: object) -> Said:
    arguments = arguments or {"file_path": "src/a.py"}
    return [assistant(use(call, "Read", **arguments)), user(result(call, text))]


def turns(*steps: Said) -> list[bytes]:
    """The requests of a conversation: one for each step."""
    said: Said = [user("go")]
    bodies = []
    for step in steps:
        said = said + step
        bodies.append(messages(*said))
    return bodies


def last_text(body: bytes) -> str:
    content = json.loads(body)["messages"][-1]["content"][0]["content"]
    return str(content if isinstance(content, str) else content[0]["text"])


def last_sent(press: Press, bodies: list[bytes]) -> str:
    return last_text(press.all(bodies)[-1].body)


@pytest.mark.parametrize("refusal", REFUSALS)
def test_the_refusal_is_replaced_by_the_exact_text_and_stays_so(refusal: str, tmp_path: Path) -> None:
    bodies = turns(read("t1", A), read("t2", refusal), read("t3", B, file_path="src/b.py"))
    path = tmp_path / "s.sqlite3"
    store = SqliteStore(path)
    with pressing(store=store) as press:
        first, second = press.all(bodies[:2])
        ((_, view),) = changed_literals(bodies[0], first.body)
        assert view != A, "the earlier result was pressed"
        assert changed_literals(bodies[1], second.body) == [(A, view), (refusal, A)]
        assert second.receipt.lines[-1].reason == "restored"
        assert store.recall(second.receipt.lines[-1].original) == refusal
        third = press(bodies[2])
        assert third.body.startswith(messages_bytes(second.body))
    store.close()
    reopened = SqliteStore(path)
    with pressing(settings(policy=Policy(())), reopened) as press:
        assert press(bodies[2]).body.startswith(messages_bytes(second.body)), "after a restart, without any rule"
    reopened.close()


@pytest.mark.parametrize("operation", ["observe", "drain"])
def test_an_earlier_result_that_was_sent_exact_leaves_the_refusal_as_it_is(operation: Operation) -> None:
    bodies = turns(read("t1", A), read("t2", REFUSALS[0]))
    with pressing() as press:
        assert not press(bodies[0], operation=operation).changed
        assert press(bodies[1]).body is bodies[1]


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param([read("t1", "short\n" * 60), read("t2", REFUSALS[0])], id="a text that had nothing to press"),
        pytest.param([read("t2", REFUSALS[0])], id="no earlier read at all"),
        pytest.param([read("t1", A), read("t2", REFUSALS[0], file_path="src/b.py")], id="another file"),
        pytest.param(
            [read("t1", A), read("t2", REFUSALS[0], file_path="other/src/a.py")], id="a file of the same name"
        ),
        pytest.param(
            [read("t1", A), [assistant(use("t2")), user(result("t2", REFUSALS[0]))]], id="a shell that says so"
        ),
        pytest.param([read("t1", A), read("t2", f"{REFUSALS[0]}\n{'x' * 500}")], id="a text that quotes one"),
        pytest.param(
            [
                read("t1", A, file_path="src/a.py", offset=1),
                read("t2", B, file_path="src/a.py", offset=900),
                read("t3", REFUSALS[0], file_path="src/a.py", offset=400),
            ],
            id="a range that none of several earlier reads gave",
        ),
        pytest.param(
            [read("t1", A, file_path="src/a.py", offset=5), read("t2", REFUSALS[0], file_path="src/a.py", offset=400)],
            id="a range that the only earlier read did not give",
        ),
    ],
)
def test_a_refusal_that_is_about_something_else_is_left_alone(steps: list[Said]) -> None:
    with pressing() as press:
        bodies = turns(*steps)
        sent = press.all(bodies)[-1]
    assert last_text(sent.body) == last_text(bodies[-1])


@pytest.mark.parametrize(
    "again",
    [
        pytest.param({"file_path": "src/a.py", "offset": 1, "limit": 400}, id="the same call"),
        pytest.param({"limit": 400, "offset": 1, "file_path": "src/a.py"}, id="its arguments in another order"),
    ],
)
def test_of_several_ranges_the_one_that_was_asked_for_again_is_given(again: dict[str, object]) -> None:
    steps = [
        read("t1", A, file_path="src/a.py", offset=1, limit=400),
        read("t2", B, file_path="src/a.py", offset=401, limit=400),
        read("t3", REFUSALS[0], **again),
    ]
    with pressing() as press:
        assert last_sent(press, turns(*steps)) == A


@pytest.mark.parametrize("again", [{"offset": 1}, {"offset": 0}, {"limit": None}])
def test_arguments_that_say_what_holds_anyway_make_no_difference(again: dict[str, object]) -> None:
    with pressing() as press:
        bodies = turns(read("t1", A), read("t2", REFUSALS[0], file_path="src/a.py", **again))
        assert last_sent(press, bodies) == A


def test_the_latest_of_two_reads_of_one_range_is_given() -> None:
    steps = [read("t1", A), read("t2", B), read("t3", REFUSALS[0])]
    with pressing() as press:
        assert last_sent(press, turns(*steps)) == B


def test_every_further_refusal_is_answered_too() -> None:
    steps = [read("t1", A), *(read(f"t{n}", REFUSALS[0]) for n in range(2, 5))]
    with pressing() as press:
        bodies = turns(*steps)
        sent = press.all(bodies)[-1].body
        assert [new for old, new in changed_literals(bodies[-1], sent) if old == REFUSALS[0]] == [A, A, A]


def test_a_refusal_in_parts_keeps_its_parts() -> None:
    refused = [
        assistant(use("t2", "Read", file_path="src/a.py")),
        user(result("t2", [{"type": "text", "text": REFUSALS[0]}])),
    ]
    with pressing() as press:
        bodies = turns(read("t1", A), refused)
        sent = press.all(bodies)[-1].body
    assert json.loads(sent)["messages"][-1]["content"][0]["content"] == [{"type": "text", "text": A}]


def test_a_drained_gateway_answers_no_new_refusal() -> None:
    bodies = turns(read("t1", A), read("t2", REFUSALS[0]))
    with pressing() as press:
        press(bodies[0])
        sent = press(bodies[1], operation="drain")
        assert last_text(sent.body) == REFUSALS[0]
        later = press(bodies[1])
        assert last_text(later.body) == REFUSALS[0], "sent exact once, it stays"
