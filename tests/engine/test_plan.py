"""What the pass over a request leaves for the next one."""

from __future__ import annotations

import pytest
from bodies import conversation
from cases.talk import assistant, log, messages, result, use, user

from coldpress.engine.plan import propose
from coldpress.engine.policy import DEFAULT_POLICY
from coldpress.engine.session import Session

TOLD = [user("go"), assistant(use("t1")), user(result("t1", log("a", 60)))]


@pytest.mark.parametrize(
    ("later", "turns"),
    [
        pytest.param([], 0, id="nothing said since"),
        pytest.param([assistant("one")], 1, id="one reply"),
        pytest.param([assistant("one"), assistant("two"), assistant("three")], 1, id="one reply in three messages"),
        pytest.param([assistant("one"), user("on"), assistant("two")], 2, id="two replies"),
    ],
)
@pytest.mark.parametrize("at_once", [True, False], ids=["read at once", "message by message"])
def test_a_result_ages_by_replies_however_many_messages_hold_one(
    later: list[dict[str, object]], turns: int, *, at_once: bool
) -> None:
    session = Session()
    steps = [len(later)] if at_once else range(len(later) + 1)
    known = 0
    for end in steps:
        found = conversation(messages(*TOLD, *later[:end]))
        found = type(found)(found.format, found.head, found.messages, found.body, known)
        session = propose(found, session, {}, DEFAULT_POLICY, "press").session
        known = len(found.messages)
    assert session.age(2) == turns
