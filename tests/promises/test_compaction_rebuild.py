"""The rebuilt prompt, byte by byte: what stands around the summary, what stays of the middle, and that it stands."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from compacting import (
    FORMATS,
    TASK,
    Call,
    Step,
    compacted,
    growing,
    pressure_of,
    raw_messages,
    rebuild_of,
    request,
    run,
    said_texts,
    sent,
    up_to_messages_end,
    valid,
    windowed,
    written,
)
from support import pressing

from coldpress.config.settings import Settings
from coldpress.drive import Prepared
from coldpress.engine.policy import DEFAULT_POLICY, Policy, Rule
from coldpress.model.edits import Batch
from coldpress.model.identity import original_sha
from coldpress.stores.memory import MemoryStore
from coldpress.stores.sqlite import SqliteStore
from coldpress.wire.registry import FormatName

pytestmark = pytest.mark.parametrize("name", FORMATS)

SETTINGS = windowed(12_000, budget={"keep_turns": 2, "stages": ("summary",)})
"""Summaries alone: every text that is sent at all is the client's."""

FRONT: dict[FormatName, int] = {"anthropic": 1, "openai_chat": 2}
ODD = 'Criterion: "naïve" \\ 日本語 🙂 \u2028 \x7f and <tags> stay, at 100 %.\r\n\tTabs too.'
STEPS = [run(n, user=ODD if n == 1 else "") for n in range(16)]


def first_cut(found: Sequence[Prepared]) -> int:
    return compacted(found)[0]


def test_front_and_tail_are_the_clients_bytes_with_one_block_between(name: FormatName) -> None:
    bodies = growing(name, STEPS)
    with pressing(SETTINGS) as press:
        found = sent(press, bodies, name)
        cuts = compacted(found)
        for n in cuts:
            mine, theirs = raw_messages(bodies[n], name), raw_messages(found[n].body, name)
            rebuild = rebuild_of(press.store, bodies[n], name)
            front, stop = FRONT[name], FRONT[name] + len(rebuild.covered)
            assert theirs[:front] == mine[:front]
            assert theirs[len(theirs) - (len(mine) - stop) :] == mine[stop:]
            middle = theirs[front : len(theirs) - (len(mine) - stop)]
            assert b",".join(middle).decode() == rebuild.literal
            start = bodies[n].index(mine[front - 1]) + len(mine[front - 1])
            assert found[n].body[:start] == bodies[n][:start]
            assert found[n].body.endswith(bodies[n][bodies[n].rindex(mine[-1]) :])
            assert found[n].body.count(b"are summarised here") == 1
    assert len(cuts) >= 2


def test_the_task_and_the_users_words_stay_to_the_letter(name: FormatName) -> None:
    bodies = growing(name, STEPS)
    with pressing(SETTINGS) as press:
        found = sent(press, bodies, name)
    for n in compacted(found):
        said = said_texts(valid(found[n].body, name))
        assert said.count(TASK) == 1
        assert said.count(ODD) == 1
        assert json.dumps(ODD, ensure_ascii=False).encode() in found[n].body


@pytest.mark.parametrize("escape", [r"\ud83d", r"\u00e9\/\u2028", r"\ude00 half", r"a\u0000b"])
def test_escapes_and_lone_surrogates_of_kept_words_stay_as_the_client_wrote_them(name: FormatName, escape: str) -> None:
    bodies = growing(name, [run(n, user="PLACE" if n == 1 else "") for n in range(16)])
    odd = [body.replace(b"PLACE", b"Keep " + escape.encode() + b" as it is.") for body in bodies]
    with pressing(SETTINGS) as press:
        found = sent(press, odd, name)
        cut = first_cut(found)
        assert b'"Keep ' + escape.encode() + b' as it is."' in found[cut].body
        with pressing(SETTINGS, press.store) as fresh:
            assert [p.body for p in sent(fresh, odd, name)] == [p.body for p in found]


def test_a_body_with_odd_spacing_is_cut_between_messages_alone(name: FormatName) -> None:
    bodies = [json.dumps(json.loads(body), indent=1, ensure_ascii=True).encode() for body in growing(name, STEPS)]
    with pressing(SETTINGS) as press:
        found = sent(press, bodies, name)
    n = first_cut(found)
    mine, theirs = raw_messages(bodies[n], name), raw_messages(found[n].body, name)
    assert theirs[: FRONT[name]] == mine[: FRONT[name]]
    assert theirs[-1] == mine[-1]
    tail = bodies[n][bodies[n].rindex(mine[-2]) :]
    assert found[n].body.endswith(tail)


def test_between_compactions_what_was_sent_is_the_beginning_of_what_is_sent(name: FormatName) -> None:
    bodies = growing(name, STEPS)
    with pressing(SETTINGS) as press:
        found = sent(press, bodies, name)
        again = sent(press, bodies, name)
    cuts = compacted(found)
    assert len(cuts) >= 2
    for n in range(1, len(found)):
        begins = found[n].body.startswith(up_to_messages_end(found[n - 1].body, name))
        assert begins == (n not in cuts), n
    assert [p.body for p in again] == [p.body for p in found], "a retry of any request sends the same bytes"


def test_it_stands_after_a_restart_and_in_a_second_gateway_on_the_same_store(name: FormatName, tmp_path: Path) -> None:
    bodies, path = growing(name, STEPS), tmp_path / "s.sqlite3"
    store = SqliteStore(path)
    with pressing(SETTINGS, store) as press, pressing(SETTINGS, store) as replica:
        found = sent(press, bodies, name)
        assert [p.body for p in sent(replica, bodies, name)] == [p.body for p in found]
    with pressing(SETTINGS, store) as one, pressing(SETTINGS, store) as other:
        turns = [sent(one if n % 2 else other, [body], name)[0] for n, body in enumerate(bodies)]
        assert [p.body for p in turns] == [p.body for p in found], "by turns through two of them"
    store.close()
    reopened = SqliteStore(path)
    with pressing(windowed(1_000_000), reopened) as press:
        backwards = sent(press, bodies[::-1], name)
        assert [p.body for p in backwards[::-1]] == [p.body for p in found], "also where the budget is another one"
    reopened.close()


def test_two_gateways_that_take_turns_from_the_start_never_disagree(name: FormatName) -> None:
    bodies, store = growing(name, STEPS), MemoryStore()
    with pressing(SETTINGS, store) as one, pressing(SETTINGS, store) as other:
        turns = [sent(one if n % 2 else other, [body], name)[0] for n, body in enumerate(bodies)]
    cuts = compacted(turns)
    assert cuts
    for n in range(1, len(turns)):
        begins = turns[n].body.startswith(up_to_messages_end(turns[n - 1].body, name))
        assert begins == (n not in cuts), n


class Slow(MemoryStore):
    """A store that does not answer yet for a batch which another gateway has just put."""

    is_behind = False

    def batches(self, chains: Sequence[bytes]) -> dict[bytes, Batch]:
        found = {} if self.is_behind else super().batches(chains)
        self.is_behind = False
        return found


def test_of_two_gateways_that_decide_at_one_time_the_first_holds(name: FormatName) -> None:
    bodies, store = growing(name, STEPS), Slow()
    other = windowed(12_000, budget={"keep_turns": 1, "stages": ("summary",)})
    with pressing(SETTINGS, store) as one, pressing(other, store) as second:
        found = sent(one, bodies, name)
        n = first_cut(found)
        store.is_behind = True
        (late,) = sent(second, bodies[n : n + 1], name)
        (next_one,) = sent(second, bodies[n + 1 : n + 2], name)
    with pressing(other) as alone:
        assert sent(alone, bodies[n : n + 1], name)[0].body != late.body, "it would have decided otherwise"
    assert late.body == found[n].body
    assert next_one.body == found[n + 1].body


def test_a_fork_before_the_decision_stays_exact_and_one_behind_it_is_rebuilt(name: FormatName) -> None:
    with pressing(SETTINGS) as press:
        found = sent(press, growing(name, STEPS), name)
        n = first_cut(found)
        before, behind = STEPS[: n - 1], STEPS[:n]
        early = request(name, written(name, [*before, run(90, lines=3)]))
        late = request(name, written(name, [*behind, run(91, lines=3)]))
        (exact, rebuilt) = sent(press, [early, late], name)
    assert exact.body is early
    assert rebuilt.body.startswith(up_to_messages_end(found[n].body, name))


def test_a_rewind_in_front_of_the_decision_is_exact_and_forward_again_it_holds(name: FormatName) -> None:
    bodies = growing(name, STEPS)
    with pressing(SETTINGS) as press:
        found = sent(press, bodies, name)
        n = first_cut(found)
        back = sent(press, [bodies[n - 2], bodies[n - 1], bodies[n], bodies[n + 1]], name)
    assert [p.body for p in back] == [*bodies[n - 2 : n], *(p.body for p in found[n : n + 2])]


def test_another_system_prompt_keeps_the_rebuild(name: FormatName) -> None:
    bodies = growing(name, STEPS)
    other = [body.replace(b"You are an agent.", b"You are another agent, today is Tuesday.") for body in bodies]
    with pressing(SETTINGS) as press:
        found = sent(press, bodies, name)
        n = compacted(found)[-1]
        (changed,) = sent(press, [other[-1]], name)
    assert other[-1] != bodies[-1]
    expected = found[-1].body.replace(b"You are an agent.", b"You are another agent, today is Tuesday.")
    assert n < len(bodies)
    assert changed.body == expected


def test_every_original_can_be_recalled_byte_for_byte(name: FormatName) -> None:
    bodies = growing(name, STEPS)
    with pressing(SETTINGS) as press:
        found = sent(press, bodies, name)
        for n in compacted(found):
            rebuild = rebuild_of(press.store, bodies[n], name)
            mine = raw_messages(bodies[n], name)[FRONT[name] :]
            originals = [press.store.recall(sha) for sha in rebuild.covered]
            assert [str(text).encode() for text in originals] == mine[: len(originals)]
            block = press.store.recall(pressure_of(found[n]).summary)
            assert block is not None and json.dumps(str(block), ensure_ascii=False)[1:-1] in rebuild.literal
            assert original_sha(str(block)) == pressure_of(found[n]).summary


@pytest.mark.parametrize(
    ("command", "text", "error"),
    [
        pytest.param(
            "pytest tests/test_a.py",
            "collected 9 items\nFAILED tests/test_a.py::test_x - AssertionError: 4 != 5\n1 failed, 8 passed in 0.31s",
            "AssertionError: 4 != 5",
            id="a check",
        ),
        pytest.param(
            "./deploy.sh staging",
            "Exit code 1\nerror: no route to host 10.0.0.7",
            "no route to host 10.0.0.7",
            id="another command",
        ),
    ],
)
def test_a_turn_that_still_fails_is_carried_over_as_it_was_and_told_once(
    name: FormatName, command: str, text: str, error: str
) -> None:
    failing = Step((Call("fail", text, arguments={"command": command}, failed=True),), reply="I try it.")
    bodies = growing(name, [run(0), failing, *(run(n) for n in range(2, 16))])
    with pressing(SETTINGS) as press:
        found = sent(press, bodies, name)
        n = first_cut(found)
        literal = rebuild_of(press.store, bodies[n], name).literal.encode()
    messages = raw_messages(bodies[n], name)
    start = FRONT[name] + 2
    assert literal.endswith(b",".join(messages[start : start + 2]))
    assert literal.count(error.encode()) == 1, "the summary does not quote what stands beside it"


def ordered_exact(tool: str) -> Settings:
    return replace(SETTINGS, policy=Policy((Rule(tool, ("exact",)), *DEFAULT_POLICY.rules)))


def test_results_that_the_settings_keep_exact_outlive_every_summary(name: FormatName) -> None:
    kept = [Step((Call(f"keep{n}", f"clause {n}: " + "word " * 300, tool="get_contract"),)) for n in range(3)]
    bodies = growing(name, [*kept, *(run(n) for n in range(3, 16))])
    with pressing(ordered_exact("get_contract")) as press:
        found = sent(press, bodies, name)
        cuts = compacted(found)
        assert len(cuts) > 1
        for n in cuts:
            literal = rebuild_of(press.store, bodies[n], name).literal.encode()
            mine = raw_messages(bodies[n], name)[FRONT[name] :][:6]
            assert b",".join(mine) in literal


def test_where_all_is_kept_exact_nothing_goes_and_the_record_says_so(name: FormatName) -> None:
    bodies = growing(name, STEPS)
    with pressing(ordered_exact("*")) as press:
        found = sent(press, bodies, name)
    assert compacted(found) == []
    told = [prepared.receipt.pressure for prepared in found if prepared.receipt.pressure is not None]
    assert {pressure.reason for pressure in told} == {"nothing_to_take"}
    assert told[-1].escalate
