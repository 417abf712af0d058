"""Under pressure the results that are needed least for their size go first, and none that must stay."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from bodies import conversation
from hypothesis import given
from hypothesis import strategies as st
from strategies import Style, anthropic_request
from strategies import write as write_json

from coldpress.engine import aged_view
from coldpress.engine.aged_view import View
from coldpress.engine.catalogue import Classified
from coldpress.engine.need import Why
from coldpress.engine.plan import placed_edit, propose
from coldpress.engine.policy import DEFAULT_POLICY, Policy, Rule
from coldpress.engine.pressure import Clearable, choose, clearables
from coldpress.engine.pressure_data import AGES, OUTPUTS, SOURCES, risk
from coldpress.engine.session import AgedEdits, Seen, Session
from coldpress.engine.zones import Zones, zones
from coldpress.lab.importers.any import read_file
from coldpress.lab.rebuild import requests
from coldpress.model.conversation import Conversation, Span, TextLiteral
from coldpress.model.edits import Standing
from coldpress.model.identity import EditKey, original_sha
from coldpress.model.records import Line

PLAIN = Style(seed=0, spaced=False, ascii_only=False, lone_surrogates=False)
LOG = "\n".join(f"step {number} compiled module_{number}" for number in range(80))


def source(name: str) -> str:
    return "\n".join(f"{number:6}\t{name}_{number} = compute({number})" for number in range(1, 61))


def talk(*calls: tuple[str, dict[str, object], str]) -> Conversation:
    """A conversation of these calls, one a turn."""
    messages: list[dict[str, object]] = [{"role": "user", "content": "task"}]
    for number, (tool, arguments, text) in enumerate(calls):
        use = {"type": "tool_use", "id": f"t{number}", "name": tool, "input": arguments}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": text}
        messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    return conversation(write_json(anthropic_request(messages), PLAIN))


def session_of(found: Conversation) -> Session:
    return propose(found, Session(), {}, Policy(()), "press").session


def cleared(
    found: Conversation,
    session: Session,
    kept: Zones,
    *,
    policy: Policy = DEFAULT_POLICY,
    floor: int = 0,
    pinned: frozenset[str] = frozenset(),
) -> tuple[Clearable, ...]:
    return clearables(
        found,
        session,
        rule_of=policy.rule_for,
        view_of=lambda due: aged_view.view(found, due.seen, due.rule, due.mode),
        zones=kept,
        floor=floor,
        pinned=pinned,
    )


MIXED = (
    ("Read", {"file_path": "a.py"}, source("a")),
    ("Bash", {"command": "make"}, LOG),
    ("Bash", {"command": "pytest"}, LOG + "\nFAILED tests/test_a.py::test_b - AssertionError\n1 failed in 0.2s"),
    ("TodoWrite", {"todos": []}, LOG),
    ("mystery_tool", {}, LOG),
    ("Grep", {"pattern": "x"}, "\n".join(f"src/a.py:{n}: x = {n}" for n in range(80))),
    ("Read", {"file_path": "b.py"}, source("b")),
    ("Bash", {"command": "ls"}, LOG),
)
FIRST, GREP, LAST = 2, 12, 16
"""Messages with the first result, the search, and the last result."""


def test_everything_between_the_zones_goes_but_what_must_stay() -> None:
    found = talk(*MIXED)
    session = session_of(found)
    kept = zones(found, session, keep_turns=1)
    clear = cleared(found, session, kept)
    assert [(one.seen.call, one.why) for one in clear] == [
        ("Read a.py", "refetchable"),
        ("Bash make", "other"),
        ("Grep", "refetchable"),
        ("Read b.py", "refetchable"),
    ]
    assert all(one.view.standing.mode == "mask" and one.view.freed_tokens > 0 for one in clear)


@pytest.mark.parametrize(
    ("rules", "calls"),
    [
        pytest.param([Rule("*", ("exact",))], [], id="exact always wins"),
        pytest.param(
            [Rule("*", ("keyword",))],
            ["Read a.py", "Bash make", "Grep", "Read b.py"],
            id="a mode that waits for the model to see a result",
        ),
        pytest.param(
            [Rule("read", ("exact",)), Rule("*", ("lossless",))], ["Bash make", "Grep"], id="by the first rule"
        ),
        pytest.param(
            [Rule("*", ("mask",), age=100)],
            ["Read a.py", "Bash make", "Grep", "Read b.py"],
            id="the age that a rule asks for does not count",
        ),
    ],
)
def test_rules(rules: list[Rule], calls: list[str]) -> None:
    found = talk(*MIXED)
    session = session_of(found)
    clear = cleared(found, session, zones(found, session, keep_turns=1), policy=Policy(tuple(rules)))
    assert [one.seen.call for one in clear] == calls


def test_neither_zone_is_touched_nor_what_reasoning_is_bound_to() -> None:
    found = talk(*MIXED)
    session = session_of(found)
    assert [one.seen.message for one in cleared(found, session, Zones(FIRST, LAST))] == [4, 12, 14]
    assert [one.seen.message for one in cleared(found, session, Zones(0, GREP + 1))] == [2, 4, 12]
    assert [one.seen.message for one in cleared(found, session, Zones(0, LAST), floor=GREP)] == [12, 14]
    assert cleared(found, session, Zones(0, LAST), floor=LAST) == ()


def test_what_a_repeat_points_at_stays() -> None:
    found = talk(*MIXED)
    session = session_of(found)
    kept = zones(found, session, keep_turns=1)
    pinned = frozenset({original_sha(source("a"))})
    assert [one.seen.call for one in cleared(found, session, kept, pinned=pinned)] == ["Bash make", "Grep", "Read b.py"]


def test_a_result_is_cleared_once() -> None:
    found = talk(*MIXED)
    session = session_of(found)
    kept = zones(found, session, keep_turns=1)
    at = {message.chain: index for index, message in enumerate(found.messages)}
    edits = [placed_edit(found, at, one.view.standing) for one in cleared(found, session, kept)]
    batch = AgedEdits(len(found.messages) - 1, tuple(edit for edit in edits if edit is not None))
    assert len(batch.edits) == 4
    assert cleared(found, session.with_aged((batch,)), kept) == ()


def clearable(number: int, freed_tokens: int, chance: float) -> Clearable:
    key = EditKey(bytes([number]) * 32, 0, 0)
    seen = Seen(key, number, TextLiteral(0, Span(0, 9)), Classified("shell", "ls"), "{}", "Bash", "Bash ls", None)
    line = Line("Bash", "shell", "mask", "aged", "*", "", 1, 1, 1, 1)
    return Clearable(seen, View(Standing(key, "x", "mask"), freed_tokens, line), chance, "other")


@pytest.mark.parametrize(
    ("free_tokens", "expected"),
    [
        pytest.param(0, [], id="nothing to free, nothing chosen"),
        pytest.param(-5, [], id="room is left already"),
        pytest.param(1, [2], id="the one that frees most for its risk"),
        pytest.param(1000, [2], id="one suffices, just"),
        pytest.param(1001, [2, 4], id="then the next, in the order of messages"),
        pytest.param(1101, [1, 2, 4], id="of equals the earlier one"),
        pytest.param(1301, [1, 2, 3, 4], id="a large one of great risk comes last"),
        pytest.param(99_999, [1, 2, 3, 4, 5], id="all of them where they do not suffice"),
    ],
)
def test_choice(free_tokens: int, expected: list[int]) -> None:
    found = [
        clearable(1, 100, 0.01),
        clearable(2, 500, 0.01),
        clearable(3, 100, 0.011),
        clearable(4, 50, 0.004),
        clearable(5, 2000, 0.9),
        clearable(6, 0, 0.001),
    ]
    assert [one.seen.message for one in choose(found, free_tokens=free_tokens, scale=2.0)] == expected


FOUND = st.lists(st.tuples(st.integers(-5, 5000), st.floats(0.001, 0.99)), max_size=20)


@given(FOUND, st.integers(-10, 60_000), st.floats(0.5, 2))
def test_a_choice_reaches_what_can_be_reached_and_no_more(
    given_: list[tuple[int, float]], free_tokens: int, scale: float
) -> None:
    found = [clearable(number, tokens, chance) for number, (tokens, chance) in enumerate(given_)]
    chosen = choose(found, free_tokens=free_tokens, scale=scale)
    assert list(chosen) == [one for one in found if one in chosen]
    freed = sum(one.view.freed_tokens * scale for one in chosen)
    most = sum(max(0, one.view.freed_tokens) * scale for one in found)
    assert freed >= min(free_tokens, most) - 1e-6
    if chosen:
        worst = min(chosen, key=lambda one: (one.view.freed_tokens / one.risk, -one.seen.message))
        assert freed - worst.view.freed_tokens * scale < free_tokens
        left = [one for one in found if one not in chosen and one.view.freed_tokens > 0]
        assert all(one.view.freed_tokens / one.risk <= worst.view.freed_tokens / worst.risk for one in left)


@pytest.mark.parametrize("why", ["superseded", "repeated", "stale", "acted_on", "refetchable", "other"])
@pytest.mark.parametrize("is_source", [True, False])
@pytest.mark.parametrize("age", [0, 1, 6, 40, 5000])
def test_a_risk_is_a_probability(why: Why, age: int, is_source: bool) -> None:
    assert 0 < risk(why, is_source=is_source, age=age) < 1


def test_risk_follows_what_was_counted() -> None:
    ages = [risk("refetchable", is_source=True, age=age) for age in AGES]
    assert all(older < younger for younger, older in pairwise(ages))
    assert risk("superseded", is_source=True, age=6) < risk("stale", is_source=True, age=6)
    assert risk("stale", is_source=True, age=6) < risk("refetchable", is_source=True, age=6)
    assert risk("stale", is_source=True, age=10) == (23 + 0.5) / (321 + 1)


def test_every_cell_has_one_count_for_each_age() -> None:
    cells = [cells for table in (SOURCES, OUTPUTS) for cells in table.values()]
    assert all(len(row) == len(AGES) for row in cells)
    assert all(0 <= needed <= results for row in cells for needed, results in row)


def test_few_results_count_with_all_of_their_reason_then_of_their_kind() -> None:
    assert risk("superseded", is_source=True, age=1) == 0.5 / (152 + 1)
    assert risk("repeated", is_source=False, age=50) == pytest.approx((34 + 0.5) / (6 + 312 + 794 + 300 + 1))


def test_real_sessions_come_down_as_far_as_their_clearable_results_allow(shared: Path) -> None:
    reached = 0
    for file in sorted((shared / "trajectories" / "dev" / "claude-code").glob("entire-[45]*.jsonl")):
        for trajectory in read_file(file).trajectories:
            *_, body = requests(trajectory)
            found = conversation(body)
            session = propose(found, Session(), {}, DEFAULT_POLICY, "press").session
            kept = zones(found, session, keep_turns=6)
            clear = cleared(found, session, kept)
            assert all(kept.anchor < one.seen.message < kept.tail for one in clear)
            most = sum(one.view.freed_tokens for one in clear)
            for share in (0.25, 0.5, 1.0):
                chosen = choose(clear, free_tokens=round(most * share), scale=1.0)
                assert sum(one.view.freed_tokens for one in chosen) >= round(most * share)
                reached += bool(chosen)
    assert reached > 10
