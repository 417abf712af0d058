"""What an agent used of results and was not shown: which texts count, where else they may stand, by tool and age."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lab.test_layout import call, message, result, said
from lab.witnessed import NAME, Block, bodies, changed, slow_evidence, talk, with_results

from coldpress.lab.evidence import Evidence, Judge, Looked, losses
from coldpress.lab.evidence_sources import UNKNOWN_TOOL, Use, Uses, age_group
from coldpress.lab.importers.any import read_file
from coldpress.lab.rebuild import requests
from coldpress.lab.results import Loss
from coldpress.model.trajectory import Trajectory

LINE = "total = fee + postage"
PAGE = f"def pay(fee, postage):\n    {LINE}\n    return total"
NUMBERED = "\n".join(f"{number:6}\t{line}" for number, line in enumerate(PAGE.split("\n"), 1))
FOUND = f"src/pay.py:2:    {LINE}"
HIDDEN = "[result hidden]"
EDIT = call(9, "Edit", file_path="x", old_string=f"    {LINE}\n    return total", new_string="y")


def edited(*results: str, edit: Block = EDIT, first: str = "Tidy it up.", before: str = "") -> Trajectory:
    """The model reads as often as there are results, one a turn, and then edits."""
    turns = [([said(first)], [said(before), call(0, "Read", file_path="f0")])]
    for number, text in enumerate(results):
        last = number == len(results) - 1
        reply = edit if last else call(number + 1, "Read", file_path=f"f{number + 1}")
        turns.append(([result(number, text)], [reply]))
    return talk(*turns)


def looked(trajectory: Trajectory, shown: dict[str, str]) -> Looked:
    """What the last reply used, where some results were hidden from it and from the one before."""
    judge, own = Judge(Uses.of([trajectory])), bodies(trajectory)
    turn = max(own)
    for index in range(turn - 1):
        judge.look(NAME, index, own[index])
    for index in (turn - 1, turn):
        found = judge.look(NAME, index, with_results(own[index], shown))
    return found


def both(lost: int) -> Evidence:
    return Evidence(edits=1, edits_of_results=1, edits_lost=lost, calls=1)


@pytest.mark.parametrize(
    ("results", "shown", "lost"),
    [
        pytest.param((PAGE, "ok"), {}, 0, id="nothing is hidden"),
        pytest.param((PAGE, "ok"), {"call_0": HIDDEN}, 1, id="its only source is hidden"),
        pytest.param((PAGE, "ok"), {"call_1": HIDDEN}, 0, id="another result is hidden"),
        pytest.param((PAGE, PAGE), {"call_0": HIDDEN}, 0, id="it stands in two results, one is hidden"),
        pytest.param((PAGE, PAGE), {"call_1": HIDDEN}, 0, id="or the other"),
        pytest.param((PAGE, PAGE), {"call_0": HIDDEN, "call_1": HIDDEN}, 1, id="or both"),
        pytest.param((NUMBERED, "ok"), {}, 0, id="it was read with line numbers"),
        pytest.param((NUMBERED, "ok"), {"call_0": HIDDEN}, 1, id="and that is hidden"),
        pytest.param((NUMBERED, "ok"), {"call_0": PAGE}, 0, id="what is shown instead holds it without numbers"),
        pytest.param((PAGE, "ok"), {"call_0": NUMBERED}, 0, id="or with numbers"),
        pytest.param((PAGE, "ok"), {"call_0": f"pay(): {LINE}"}, 1, id="only half of it is shown"),
    ],
)
def test_an_edit_is_lost_where_its_text_stands_in_nothing_sent(
    results: tuple[str, ...], shown: dict[str, str], lost: int
) -> None:
    assert looked(edited(*results), shown).evidence == both(lost)


def test_a_match_of_a_search_is_quoted_without_its_path_and_number() -> None:
    trajectory = edited(FOUND, "ok", edit=call(9, "Edit", file_path="x", old_string=f"    {LINE}", new_string="y"))
    assert looked(trajectory, {"call_0": HIDDEN}).evidence == both(1)


@pytest.mark.parametrize("first", [PAGE, "Tidy it up."], ids=["the user said it", "nobody else did"])
def test_what_was_said_elsewhere_too_is_not_lost(first: str) -> None:
    found = looked(edited(PAGE, "ok", first=first), {"call_0": HIDDEN})
    assert found.evidence == both(int(first != PAGE))
    assert [use.elsewhere for use in found.reply.uses] == [first == PAGE]


def test_the_models_own_words_and_the_inputs_of_its_calls_are_elsewhere() -> None:
    own = talk(
        ([said("go")], [call(0, "Read", file_path="f")]),
        ([result(0, PAGE)], [call(1, "Write", file_path="g", content=PAGE)]),
        ([result(1, "ok")], [EDIT]),
    )
    assert looked(own, {"call_0": HIDDEN}).evidence == both(0)
    assert looked(edited(PAGE, "ok", before=PAGE), {"call_0": HIDDEN}).evidence == both(0)


def test_an_edit_of_what_no_result_shows_is_counted_and_cannot_be_lost() -> None:
    found = looked(edited("something else", "ok"), {"call_0": HIDDEN})
    assert (found.evidence, found.reply.uses) == (Evidence(edits=1, calls=1), ())


def test_a_text_that_stands_in_a_summary_is_shown() -> None:
    trajectory = edited(PAGE, "ok")
    own = bodies(trajectory)
    for summary, lost in ((f"It read:\n{PAGE}", 0), ("It read a file.", 1)):
        judge = Judge(Uses.of([trajectory]))
        request = json.loads(own[2])
        request["messages"][:3] = [json.loads(message("user", said(summary)))]
        sent = json.dumps(request, separators=(",", ":")).encode()
        judge.look(NAME, 0, own[0])
        judge.look(NAME, 1, own[1])
        assert judge.look(NAME, 2, sent).evidence == both(lost)


def test_marks_anywhere_change_nothing() -> None:
    mark = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
    trajectory = edited(PAGE, "ok")
    judge = Judge(Uses.of([trajectory]))
    for turn, body in bodies(trajectory).items():
        found = judge.look(NAME, turn, changed(body, lambda block: {**block, **mark}))
    assert found.evidence == both(0)


@pytest.mark.parametrize(
    ("shown", "lost"),
    [
        ("nothing at all", {"src/app/main.py", "3f9c2a17b"}),
        ("wrote src/app/main.py", {"3f9c2a17b"}),
        ("the build of src/app/main.py is 3f9c2a17b", set()),
        ("see ./src/app/main.py.orig and x3f9c2a17b9", set()),
    ],
    ids=["neither is shown", "the path is shown", "both are", "both are, inside of longer words"],
)
def test_identifiers_are_lost_that_stand_in_no_text_that_was_sent(shown: str, lost: set[str]) -> None:
    trajectory = talk(
        ([said("go on")], [call(0, "Bash", command="build")]),
        ([result(0, "built src/app/main.py as 3f9c2a17b, and unused_name")], [call(1, "Bash", command="look")]),
        ([result(1, "ok")], [call(2, "Bash", command="upload src/app/main.py 3f9c2a17b my_own_name")]),
    )
    found = looked(trajectory, {"call_0": shown})
    assert found.evidence == Evidence(identifiers=2, identifiers_lost=len(lost), calls=1)
    assert {one.use.text for one in found.lost} == lost


def test_an_identifier_inside_a_longer_word_of_the_clients_own_messages_is_shown() -> None:
    trajectory = talk(
        ([said("the file is /home/me/src/app/main.py")], [call(0, "Bash", command="build")]),
        ([result(0, "built src/app/main.py")], [call(1, "Bash", command="look")]),
        ([result(1, "ok")], [call(2, "Bash", command="upload src/app/main.py")]),
    )
    found = looked(trajectory, {"call_0": HIDDEN})
    assert found.evidence == Evidence(identifiers=1, calls=1)
    assert not found.reply.uses[0].elsewhere  # no word of its own there


def test_the_clients_own_body_shows_everything() -> None:
    trajectory = edited(PAGE, "ok")
    assert Judge(Uses.of([trajectory])).look(NAME, 2, None).evidence == both(0)


@pytest.mark.parametrize(
    ("age", "group"), [(1, 1), (5, 1), (6, 6), (10, 6), (11, 11), (20, 11), (21, 21), (50, 21), (51, 51), (400, 51)]
)
def test_ages_are_grouped_from_their_borders_on(age: int, group: int) -> None:
    assert age_group(age) == group
    if age <= 51:
        (use,) = _only_edit(edited(PAGE, *["ok"] * (age - 1)))
        assert (use.age, use.source.tool, use.source.turn) == (age, "Read", 1)


def _only_edit(trajectory: Trajectory) -> list[Use]:
    (told,) = Uses.of([trajectory]).conversations.values()
    return [use for reply in told.replies.values() for use in reply.uses if use.kind == "edit"]


def test_a_use_counts_for_the_newest_of_its_sources() -> None:
    (use,) = _only_edit(edited(PAGE, "ok", NUMBERED, "ok"))
    assert [source.call for source in use.sources] == ["call_0", "call_2"]
    assert (use.source.call, use.age) == ("call_2", 2)


def test_a_result_without_its_call_is_of_an_unknown_tool() -> None:
    (use,) = _only_edit(talk(([said("go"), result(7, PAGE)], [EDIT])))
    assert (use.source.tool, use.age) == (UNKNOWN_TOOL, 1)


def test_of_a_fork_only_its_own_replies_count_and_they_know_what_came_before() -> None:
    whole = edited(PAGE, "ok")
    fork = talk(*_pairs(whole), shared_turns=2, name="fork")
    uses = Uses.of([whole, fork])
    assert sorted(uses.conversations[NAME].replies) == [0, 1, 2]
    assert sorted(uses.conversations["fork"].replies) == [2]
    found = Judge(uses).look("fork", 2, with_results(bodies(fork)[2], {"call_0": HIDDEN}))
    assert found.evidence == both(1)
    assert found.lost[0].shown_turns == 1  # with the request before the fork, as far as it can tell


def _pairs(trajectory: Trajectory) -> list[tuple[list[Block], list[Block]]]:
    return [(json.loads(t.added[0])["content"], json.loads(t.reply)["content"]) for t in trajectory.turns]


@pytest.mark.parametrize(
    ("hidden_from", "back_from", "shown_turns"),
    [(1, None, 0), (2, None, 1), (5, None, 4), (2, 3, 3)],
    ids=["from the first", "after one request", "after four", "given back in between"],
)
def test_a_loss_says_for_how_many_requests_its_source_was_exact(
    hidden_from: int, back_from: int | None, shown_turns: int
) -> None:
    """The result comes with request 1 and is used in the reply to request 6; given back, it is hidden again at 4."""
    trajectory = edited(PAGE, *["ok"] * 5)
    judge = Judge(Uses.of([trajectory]))
    for turn, body in bodies(trajectory).items():
        is_hidden = turn >= hidden_from and turn != back_from
        found = judge.look(NAME, turn, with_results(body, {"call_0": HIDDEN}) if is_hidden else body)
    assert [one.shown_turns for one in found.lost] == [shown_turns]


def test_losses_are_grouped_by_tool_and_age() -> None:
    trajectory = talk(
        ([said("go")], [call(0, "Read", file_path="f"), call(1, "Bash", command="build")]),
        ([result(0, PAGE), result(1, "built as 3f9c2a17b")], [call(2, "Bash", command="show 3f9c2a17b")]),
        *(([result(n, "ok")], [call(n + 1, "Bash", command="wait")]) for n in range(2, 6)),
        ([result(6, "ok")], [EDIT, call(8, "Bash", command="upload 3f9c2a17b")]),
    )
    judge = Judge(Uses.of([trajectory]))
    hidden = {"call_0": HIDDEN}
    seen = [
        judge.look(NAME, turn, with_results(body, hidden if turn > 3 else {}))
        for turn, body in bodies(trajectory).items()
    ]
    lost = [one.use for one in seen[-1].lost]
    rows = losses(seen, recording="r", content="c", arm="a", tariff="t", refetched=lost)

    def row(tool: str, age_from: int, *counts: int) -> Loss:
        return Loss("r", "c", "a", "t", tool, age_from, *counts)

    # Of the words of `show 3f9c2a17b`, the second use is a turn and more behind the first.
    assert rows == (row("Bash", 1, 0, 0, 1, 0, 0), row("Bash", 6, 0, 0, 1, 0, 0), row("Read", 6, 1, 1, 0, 0, 1))
    total = sum((one.evidence for one in seen), Evidence())
    assert (total.edits_of_results, total.edits_lost, total.identifiers) == (1, 1, 2)


WORDS = ["src/a.py", "src/a.py.orig", "totalFee", "fee_2026", "plain", LINE, f"    {LINE}\n    return total"]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=3).map("\n".join)


@st.composite
def conversations(draw: st.DrawFn) -> tuple[Trajectory, dict[int, frozenset[int]]]:
    """A small conversation, and which results each of its requests hides."""
    length = draw(st.integers(2, 7))
    turns: list[tuple[list[Block], list[Block]]] = []
    for number in range(length):
        text = draw(TEXTS)
        if draw(st.booleans()):
            text = "\n".join(f"{n}\t{line}" for n, line in enumerate(text.split("\n")))
        added = [result(number - 1, text)] if number else [said(draw(TEXTS))]
        if draw(st.booleans()):
            reply = call(number, "Edit", file_path="x", old_string=draw(TEXTS), new_string=draw(TEXTS))
        else:
            reply = call(number, "Bash", command=draw(TEXTS))
        turns.append((added, [said(draw(TEXTS)), reply]))
    hidden = {n: draw(st.frozensets(st.integers(0, length - 1))) for n in range(length)}
    return talk(*turns), hidden


@given(conversations(), st.sampled_from([HIDDEN, "[src/a.py hidden]", LINE]))
def test_the_quick_count_is_the_slow_one(case: tuple[Trajectory, dict[int, frozenset[int]]], shown: str) -> None:
    trajectory, hidden = case
    uses = Uses.of([trajectory])
    for _ in range(2):  # a second run knows what the first has read
        judge = Judge(uses)
        for turn, body in bodies(trajectory).items():
            sent = with_results(body, {f"call_{number}": shown for number in hidden[turn]})
            expected = slow_evidence(body, sent, trajectory.turns[turn].reply)
            assert judge.look(NAME, turn, sent).evidence == expected


@pytest.mark.parametrize(
    ("name", "keep", "expected"),
    [
        ("claude-code-long/entire-a0_9495d15235_0", 4, Evidence(36, 34, 13, 697, 88, 222)),
        ("claude-code-long/entire-a0_9495d15235_0", 20, Evidence(36, 34, 0, 697, 13, 222)),
        ("claude-code-long/entire-e3_e035743cb8_0", 4, Evidence(27, 21, 2, 296, 16, 135)),
        ("claude-code/entire-36_1bace85e2c_0", 4, Evidence(15, 15, 2, 80, 1, 70)),
    ],
)
def test_real_sessions_come_to_what_was_counted_before(name: str, keep: int, expected: Evidence, shared: Path) -> None:
    """All results but the last ones are hidden; the figures are those of an earlier count that kept nothing in mind."""
    trajectories = read_file(shared / "trajectories" / "dev" / f"{name}.jsonl").trajectories
    judge, total = Judge(Uses.of(trajectories)), Evidence()
    for one in trajectories:
        for turn, body in enumerate(requests(one), one.shared_turns):
            calls = [b["tool_use_id"] for m in json.loads(body)["messages"] for b in m["content"] if "tool_use_id" in b]
            sent = with_results(body, dict.fromkeys(calls[:-keep], HIDDEN))
            total += (found := judge.look(one.name, turn, sent).evidence)
            if turn % 7 == 0:
                assert found == slow_evidence(body, sent, one.turns[turn].reply)
    assert total == expected


def test_messages_that_are_written_otherwise_are_understood() -> None:
    trajectory = edited(PAGE, "ok")
    judge = Judge(Uses.of([trajectory]))
    for turn, body in bodies(trajectory).items():
        found = judge.look(NAME, turn, json.dumps(json.loads(body), indent=1).encode())
    assert found.evidence == both(0)
