"""A Claude Code session file becomes trajectories that hold what was said, once, in order."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lab.recording import Session

from coldpress.lab.importers.chains import Imported
from coldpress.lab.importers.claude_code import read_file, read_lines
from coldpress.lab.importers.dialogue import LOST_RESULT
from coldpress.model.usage import Usage


def imported(session: Session) -> Imported:
    return read_lines(session.lines, name="run")


def content(message: str) -> list[dict[str, object]]:
    blocks = json.loads(message)["content"]
    assert isinstance(blocks, list)
    return blocks


def answered(message: str) -> list[object]:
    return [block["tool_use_id"] for block in content(message) if block["type"] == "tool_result"]


def two_calls() -> Session:
    session = Session()
    session.user("do it")
    session.reply("m1", {"type": "thinking", "thinking": "hm", "signature": "c2ln"})
    first = session.calls("m1", "c1")
    second = session.calls("m1", "c2", "Read", stop="tool_use", output=77)
    session.result("c2", "two", parent=second)
    session.result("c1", "one", parent=first)
    session.says("m2", "done")
    return session


def test_lines_of_one_reply_become_one_message() -> None:
    turns = imported(two_calls()).trajectories[0].turns
    assert [block["type"] for block in content(turns[0].reply)] == ["thinking", "tool_use", "tool_use"]
    assert content(turns[0].reply)[0]["signature"] == "c2ln"
    assert turns[0].tools == ("Bash", "Read")
    assert len(turns) == 2


def test_usage_of_a_reply_counts_once_and_output_only_with_a_stop_reason() -> None:
    turns = imported(two_calls()).trajectories[0].turns
    assert turns[0].usage == Usage(fresh=3, read=100, write_short=20, write_long=0, output=77)
    assert turns[1].usage.output is None


def test_parallel_results_come_in_one_message_in_the_order_they_came_in() -> None:
    turns = imported(two_calls()).trajectories[0].turns
    assert len(turns[1].added) == 1
    assert answered(turns[1].added[0]) == ["c2", "c1"]


def test_tool_output_stands_once_although_the_file_repeats_it() -> None:
    turns = imported(two_calls()).trajectories[0].turns
    assert turns[1].added[0].count('"two"') == 1


def test_times_are_those_of_the_last_thing_said_before_and_of_the_reply() -> None:
    turns = imported(two_calls()).trajectories[0].turns
    start = 1767225600.0
    assert (turns[0].sent_at, turns[0].replied_at) == (start, start + 3)
    assert (turns[1].sent_at, turns[1].replied_at) == (start + 5, start + 6)


def test_two_objects_on_one_line_are_both_read() -> None:
    session = two_calls()
    lines = [*session.lines[:1], session.lines[1] + session.lines[2], *session.lines[3:]]
    found = read_lines(lines, name="run")
    assert found.trajectories == imported(session).trajectories
    assert (found.counts.lines, found.counts.objects) == (len(session.lines) - 1, len(session.lines))


@pytest.mark.parametrize(
    ("text", "fields", "thinking"),
    [
        pytest.param("go", {"thinkingMetadata": {"maxThinkingTokens": 31999}}, True, id="typed, with thinking"),
        pytest.param("go", {"thinkingMetadata": {"level": "high", "disabled": False}}, True, id="typed, older version"),
        pytest.param("go", {"thinkingMetadata": {"level": "high", "disabled": True}}, False, id="turned off"),
        pytest.param("go", {"thinkingMetadata": {"maxThinkingTokens": 0}}, False, id="no tokens for it"),
        pytest.param("<command-message>review</command-message>", {}, False, id="a slash command thinks not"),
        pytest.param("go", {}, None, id="nothing is said"),
    ],
)
def test_whether_thinking_was_asked_for(text: str, fields: dict[str, object], thinking: bool | None) -> None:
    session = Session()
    session.user(text)
    session.lines[-1] = json.dumps({**json.loads(session.lines[-1]), **fields})
    session.says("m1", "done")
    assert imported(session).trajectories[0].turns[0].thinking is thinking


def test_a_line_written_twice_is_used_once_and_counted() -> None:
    session = two_calls()
    found = read_lines([*session.lines, session.lines[-1]], name="run")
    assert found.trajectories == imported(session).trajectories
    assert dict(found.counts.skipped)["lines that repeat an earlier one (same uuid)"] == 1


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        pytest.param("{broken", "text that is not JSON", id="a line that is not JSON"),
        pytest.param("[1]", "JSON that is not an object", id="a line that is no object"),
        pytest.param('{"type":"novelty"}', "lines of an unknown kind: novelty", id="a kind nobody knows"),
        pytest.param(
            '{"type":"summary","summary":"x"}', "summary lines (never sent)", id="a known kind that is not sent"
        ),
        pytest.param('{"type":"user","message":{}}', "user lines without a uuid", id="a user line without a place"),
    ],
)
def test_what_is_left_out_is_counted(line: str, reason: str) -> None:
    session = two_calls()
    found = read_lines([*session.lines, line], name="run")
    assert dict(found.counts.skipped)[reason] == 1
    assert found.trajectories == imported(session).trajectories


def test_a_rewind_makes_a_fork_that_shares_the_turns_before_it() -> None:
    session = Session()
    session.user("a")
    first = session.says("m1", "b")
    session.user("c")
    session.says("m2", "d")
    session.user("c, but better", parent=first)
    session.says("m3", "e")
    main, fork = imported(session).trajectories
    assert [turn.reply for turn in fork.turns[:1]] == [turn.reply for turn in main.turns[:1]]
    assert (main.requests, fork.requests, fork.shared_turns) == (2, 1, 1)
    assert "c, but better" in fork.turns[1].added[0]
    assert main.name != fork.name


def test_a_prompt_that_was_taken_back_before_any_reply_is_not_sent() -> None:
    session = Session()
    session.user("a")
    first = session.says("m1", "b")
    session.user("mistyped")
    session.user("typed well", parent=first)
    session.says("m2", "c")
    found = imported(session)
    (main,) = found.trajectories
    assert [block["text"] for block in content(main.turns[1].added[0])] == ["typed well"]
    assert dict(found.counts.skipped)["client messages that no reply follows"] == 1


def test_a_compaction_begins_a_conversation_with_its_summary() -> None:
    session = two_calls()
    session.write("system", subtype="compact_boundary", parent=None, logicalParentUuid="u6")
    session.user("This session is being continued", isCompactSummary=True)
    session.says("m3", "going on")
    before, after = imported(session).trajectories
    assert (before.requests, after.requests, after.shared_turns) == (2, 1, 0)
    assert "This session is being continued" in after.turns[0].added[0]
    assert before.session == after.session


def test_a_compaction_that_names_a_parent_ends_the_conversation_too() -> None:
    session = two_calls()
    session.write("system", subtype="compact_boundary")
    session.user("summary")
    session.says("m3", "going on")
    assert [trajectory.requests for trajectory in imported(session).trajectories] == [2, 1]


def test_side_chains_stand_apart() -> None:
    session = Session()
    session.user("main task")
    main = session.calls("m1", "c1", "Task")
    for agent, name in (("a1", "first"), ("a2", "second")):
        session.user(f"{name} subtask", parent=None, isSidechain=True, agentId=agent)
        session.says(f"m-{agent}", f"{name} answer", isSidechain=True, agentId=agent)
    session.result("c1", "both", parent=main)
    session.says("m2", "done")
    found = imported(session)
    assert [(t.side_chain, t.requests) for t in found.trajectories] == [(False, 2), (True, 1), (True, 1)]
    assert "subtask" not in "".join(m for t in found.trajectories[0].turns for m in t.added)


def test_a_side_chain_that_hangs_off_the_main_chain_does_not_show_it() -> None:
    session = Session()
    session.user("main task")
    session.calls("m1", "c1", "Task")
    session.user("subtask", isSidechain=True, agentId="a1")
    session.says("s1", "sub answer", isSidechain=True, agentId="a1")
    _, side = imported(session).trajectories
    assert (side.requests, side.shared_turns) == (1, 0)
    assert [block["text"] for block in content(side.turns[0].added[0])] == ["subtask"]


def test_a_sub_agent_recorded_in_progress_lines_is_a_side_chain() -> None:
    session = Session()
    session.user("main task")
    main = session.calls("m1", "c1", "Task")
    said: list[dict[str, object]] = [
        {"type": "user", "uuid": "p1", "message": {"role": "user", "content": [{"type": "text", "text": "subtask"}]}},
        {
            "type": "assistant",
            "uuid": "p2",
            "message": {
                "id": "s1",
                "model": "claude-y",
                "content": [{"type": "tool_use", "id": "k", "name": "Grep", "input": {}}],
            },
        },
    ]
    for message in said:
        session.write("progress", data={"type": "agent_progress", "agentId": "a9", "message": message})
    session.result("c1", "ok", parent="u3")
    session.says("m2", "done")
    trunk, side = imported(session).trajectories
    assert main == "u1"
    assert (trunk.requests, side.requests, side.side_chain) == (2, 1, True)
    assert side.turns[0].tools == ("Grep",)
    assert "subtask" in side.turns[0].added[0]


def test_error_notes_of_the_client_are_not_sent_but_its_own_replies_are() -> None:
    session = Session()
    session.user("a")
    session.says("x1", "API Error: 529", isApiErrorMessage=True)
    session.user("again")
    session.write(
        "assistant",
        message={"id": "x2", "model": "<synthetic>", "content": [{"type": "text", "text": "No response requested."}]},
    )
    session.user("now")
    session.says("m1", "fine")
    (main,) = imported(session).trajectories
    assert [json.loads(message)["role"] for message in main.turns[0].added] == ["user", "assistant", "user"]
    assert [block["text"] for block in content(main.turns[0].added[0])] == ["a", "again"]
    assert main.requests == 1


def test_a_call_without_a_result_gets_a_failed_one_and_is_counted() -> None:
    session = Session()
    session.user("a")
    session.calls("m1", "c1")
    session.user("never mind")
    session.says("m2", "ok")
    found = imported(session)
    blocks = content(found.trajectories[0].turns[1].added[0])
    assert blocks[0] == {"tool_use_id": "c1", "type": "tool_result", "content": LOST_RESULT, "is_error": True}
    assert dict(found.counts.skipped)["calls without a result (a failed one stands in)"] == 1


def test_results_stand_before_what_the_user_said_meanwhile() -> None:
    session = Session()
    session.user("a")
    session.calls("m1", "c1")
    session.user("[interrupted]", isMeta=True)
    session.result("c1", parent="u1")
    session.last = "u2"
    session.says("m2", "ok")
    blocks = content(imported(session).trajectories[0].turns[1].added[0])
    assert [block["type"] for block in blocks] == ["tool_result", "text"]


def test_a_parent_that_is_missing_is_the_line_before() -> None:
    session = Session()
    session.user("a")
    session.says("m1", "b")
    session.user("c", parent="gone")
    session.says("m2", "d")
    found = imported(session)
    assert [t.requests for t in found.trajectories] == [2]
    assert dict(found.counts.skipped)["parents that are not in the file (the line before stands in)"] == 1


@pytest.mark.parametrize(
    ("block", "kept"),
    [
        pytest.param({"type": "text", "text": " \n"}, False, id="blank text is left out"),
        pytest.param(
            {"type": "thinking", "thinking": "", "signature": ""}, False, id="unsigned empty thinking is left out"
        ),
        pytest.param({"type": "thinking", "thinking": "", "signature": "s"}, True, id="signed empty thinking is kept"),
        pytest.param({"type": "redacted_thinking", "data": "x"}, True, id="redacted thinking is kept"),
        pytest.param(
            {"type": "server_tool_use", "id": "srv", "name": "w", "input": {}}, True, id="server tools are kept"
        ),
    ],
)
def test_blocks_of_a_reply(block: dict[str, object], kept: bool) -> None:
    session = Session()
    session.user("a")
    session.reply("m1", block)
    session.says("m1", "said")
    blocks = content(imported(session).trajectories[0].turns[0].reply)
    assert (block in blocks) is kept


def test_images_are_kept_and_cache_marks_are_not() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0="}}
    session = Session()
    session.user([{**image, "cache_control": {"type": "ephemeral"}}, {"type": "text", "text": "look"}])
    session.says("m1", "a cat")
    assert content(imported(session).trajectories[0].turns[0].added[0])[0] == image


def test_text_is_written_as_utf8_and_half_a_character_as_its_stand_in() -> None:
    session = Session()
    session.user("köld \ud83d cut")
    session.says("m1", "x")
    (message,) = imported(session).trajectories[0].turns[0].added
    assert "köld \ufffd cut" in message
    message.encode()


def test_a_reply_that_only_thought_is_counted_and_stands_in_no_history() -> None:
    session = Session()
    session.user("a")
    session.reply("m1", {"type": "thinking", "thinking": "hm", "signature": "s"})
    session.user("go on")
    session.says("m2", "b")
    found = imported(session)
    assert [block["text"] for block in content(found.trajectories[0].turns[0].added[0])] == ["a", "go on"]
    assert dict(found.counts.skipped)["replies that say nothing"] == 1


def test_read_file_names_trajectories_after_the_file(tmp_path: Path) -> None:
    path = tmp_path / "session-9.jsonl"
    path.write_text("\n".join(two_calls().lines), encoding="utf-8")
    assert [t.name for t in read_file(path).trajectories] == ["session-9"]
