"""What `check` says of a whole request is what the requests it grew through would have been given."""

from __future__ import annotations

from pathlib import Path

import pytest

from coldpress.engine.explain import explain_request, outlooks
from coldpress.engine.plan import propose
from coldpress.engine.policy import DEFAULT_POLICY, Policy, Rule
from coldpress.engine.session import Session
from coldpress.lab.importers.claude_code import read_file
from coldpress.lab.rebuild import requests
from coldpress.model.edits import Standing
from coldpress.model.identity import EditKey
from coldpress.model.records import Line
from coldpress.wire.prefix import Reader

_MOST_REQUESTS = 60


def decided_turn_by_turn(bodies: list[bytes]) -> tuple[Line, ...]:
    """Read every request anew and remember nothing but what stands, as after a restart before each."""
    standing: dict[EditKey, Standing] = {}
    lines: list[Line] = []
    for body in bodies:
        conversation = Reader[None](seed=1).read(body, "anthropic", None).conversation
        plan = propose(conversation, Session(), standing, DEFAULT_POLICY, "press")
        standing.update({fresh.key: fresh for fresh in plan.fresh})
        lines.extend(plan.lines)
    return tuple(lines)


@pytest.mark.parametrize("number", range(1, 5))
def test_one_request_tells_what_its_whole_conversation_was_given(shared: Path, number: int) -> None:
    session = sorted((shared / "trajectories" / "dev" / "claude-code").rglob("*.jsonl"))[number]
    told = 0
    for trajectory in read_file(session).trajectories:
        bodies = list(requests(trajectory))[:_MOST_REQUESTS]
        conversation = Reader[None](seed=1).read(bodies[-1], "anthropic", None).conversation
        explained = explain_request(conversation, DEFAULT_POLICY)
        assert tuple(line for _, line in explained) == decided_turn_by_turn(bodies)
        told += len(explained)
    assert told


@pytest.mark.parametrize(
    ("rule", "may_shrink", "why"),
    [
        pytest.param(Rule("*", ("exact",)), False, "the rule says exact", id="exact"),
        pytest.param(Rule("*", ("keyword",)), True, "keyword once the model has seen it", id="after one exposure"),
        pytest.param(
            Rule("*", ("keyword",), ungated=True), True, "seen it, whatever that costs", id="without asking the gate"
        ),
        pytest.param(Rule("*", ("deterministic",)), True, "deterministic once 6 turns old", id="never at first sight"),
        pytest.param(
            Rule("*", ("lossless", "mask"), age=9), True, "lossless, mask once 9 turns old", id="aged as well"
        ),
        pytest.param(Rule("*", ("deterministic", "lossless")), True, "lossless", id="only what works at first sight"),
        pytest.param(
            Rule("*", ("deterministic",), first_pass=True, min_bytes=9), True, "from 9 bytes on", id="with its minimum"
        ),
    ],
)
def test_a_rule_is_told_by_what_it_does_at_first_sight(rule: Rule, may_shrink: bool, why: str) -> None:
    (outlook,) = outlooks("Grep", Policy((rule,)))
    assert outlook.may_shrink is may_shrink
    assert why in outlook.why
    (protected,) = outlooks("Edit", Policy((rule,)))
    assert protected.may_shrink is False


def test_without_a_rule_a_tool_stays_exact() -> None:
    (outlook,) = outlooks("Read", Policy(()))
    assert (outlook.may_shrink, outlook.rule) == (False, "(no rule)")
