"""A Codex rollout becomes trajectories that show what each request showed, and what it cost."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lab.rebuilt import Json, content, refused, settled, skipped, words

from coldpress.lab.importers.chains import Imported
from coldpress.lab.importers.codex import read_file, read_lines, recognises
from coldpress.lab.importers.codex_usage import usage_of
from coldpress.lab.importers.conversation import NOT_RECORDED
from coldpress.lab.importers.dialogue import LOST_RESULT
from coldpress.model.errors import RecordingError
from coldpress.model.usage import Usage

START = 1767225600
DATA = Path(__file__).parent.parent / "data"


@dataclass
class Rollout:
    """A rollout under construction; one second passes from line to line."""

    lines: list[str] = field(default_factory=list)
    total: int = 0

    def __post_init__(self) -> None:
        self.line("session_meta", id="s1", cwd="/w", source="cli", base_instructions={"text": "Be a coding agent."})
        self.line("turn_context", model="gpt-x", cwd="/w")

    def line(self, kind: str, **payload: object) -> None:
        stamp = f"2026-01-01T00:{len(self.lines) // 60:02d}:{len(self.lines) % 60:02d}.000Z"
        self.lines.append(json.dumps({"timestamp": stamp, "type": kind, "payload": payload}))

    def item(self, kind: str, **fields: object) -> None:
        self.line("response_item", type=kind, **fields)

    def user(self, text: str, role: str = "user") -> None:
        self.item("message", role=role, content=[{"type": "input_text", "text": text}])

    def says(self, text: str) -> None:
        self.item("message", role="assistant", content=[{"type": "output_text", "text": text}])

    def calls(self, name: str, tool: str = "exec_command") -> None:
        self.item("function_call", call_id=name, name=tool, arguments='{"cmd": "ls"}')

    def result(self, name: str, output: object = "out") -> None:
        self.item("function_call_output", call_id=name, output=output)

    def count(self, prompt: int = 100, cached: int = 80) -> None:
        """Tell the tokens of one more request."""
        self.total += prompt
        last = {"input_tokens": prompt, "cached_input_tokens": cached, "output_tokens": 7, "reasoning_output_tokens": 5}
        self.line("event_msg", type="token_count", info=self.info(last))

    def info(self, last: Json) -> Json:
        return {"last_token_usage": last, "total_token_usage": {"input_tokens": self.total}}

    def event(self, kind: str, **fields: object) -> None:
        self.line("event_msg", type=kind, **fields)

    def read(self) -> Imported:
        found = read_lines(self.lines, name="run")
        assert refused(found) == []
        assert settled(found)
        assert (found.counts.lines, found.counts.objects) == (len(self.lines), len(self.lines))
        return found


PAID = Usage(fresh=20, read=80, output=7, reasoning=5)


def test_a_run_becomes_turns_with_calls_results_usage_times_and_model() -> None:
    rollout = Rollout()
    rollout.user("do it")
    rollout.item("reasoning", summary=[], encrypted_content="gAAA")
    rollout.calls("c1")
    rollout.calls("c2", "apply_patch")
    rollout.count()
    rollout.result("c1", "one")
    rollout.result("c2", "Exit code: 1\nWall time: 0 seconds\nOutput:\nno")
    rollout.says("done")
    rollout.count(200, 150)
    found = rollout.read()
    (run,) = found.trajectories
    first, second = run.turns
    assert (run.name, run.session, run.side_chain, run.shared_turns) == ("run", "s1", False, 0)
    assert words(*first.added) == ["do it"]
    assert content(first.reply)[0] == {"type": "tool_use", "id": "c1", "name": "exec_command", "input": {"cmd": "ls"}}
    assert content(second.added[0]) == [
        {"tool_use_id": "c1", "type": "tool_result", "content": "one", "is_error": False},
        {
            "tool_use_id": "c2",
            "type": "tool_result",
            "content": "Exit code: 1\nWall time: 0 seconds\nOutput:\nno",
            "is_error": True,
        },
    ]
    assert (first.usage, second.usage) == (PAID, Usage(fresh=50, read=150, output=7, reasoning=5))
    assert (first.sent_at, first.replied_at, second.sent_at) == (START + 2, START + 5, START + 8)
    assert (first.model, first.tools) == ("gpt-x", ("exec_command", "apply_patch"))
    assert found.head is not None
    assert found.head.system == "Be a coding agent."
    assert skipped(found) == {"reasoning (encrypted or not sent again)": 1}


def test_a_count_belongs_to_its_reply_wherever_the_program_writes_it() -> None:
    behind, between, before = Rollout(), Rollout(), Rollout()
    for rollout in (behind, between, before):
        rollout.user("go")
        if rollout is before:
            rollout.count(1000, 0)
        rollout.calls("c1")
        if rollout is behind:
            rollout.count(1000, 0)
        rollout.result("c1")
        if rollout is between:
            rollout.count(1000, 0)
        if rollout is before:  # this program writes each result right behind its call
            rollout.calls("c2")
            rollout.result("c2")
            rollout.count(2000, 900)
        rollout.says("done")
        if rollout is not before:
            rollout.count(2000, 900)
        turns = rollout.read().trajectories[0].turns
        assert [turn.usage.prompt for turn in turns] == [1000, 2000]
        assert len(turns[0].tools) == (2 if rollout is before else 1)


def test_counts_that_tell_of_no_request_are_counted_and_pay_for_none() -> None:
    rollout = Rollout()
    rollout.event("token_count", info=None, rate_limits={})
    rollout.user("go")
    rollout.says("one")
    rollout.count()
    rollout.event("token_count", info=rollout.info({"input_tokens": 100}))
    rollout.total += 1
    rollout.event("token_count", info=rollout.info({"input_tokens": 0, "total_tokens": 5000}))
    rollout.count(300)
    rollout.user("on")
    rollout.says("two")
    found = rollout.read()
    assert [turn.usage for turn in found.trajectories[0].turns] == [PAID, Usage()]
    assert skipped(found) == {
        "token counts of no request": 2,
        "token counts of requests whose reply is not recorded": 1,
        "token counts that were written before": 1,
    }


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({}, None),
        ({"input_tokens": 0, "output_tokens": 3}, None),
        ({"input_tokens": 10}, Usage(fresh=10)),
        (
            {"input_tokens": 10, "cached_input_tokens": 4, "cache_write_input_tokens": 5, "output_tokens": 1},
            Usage(fresh=1, read=4, write_short=5, output=1),
        ),
        ({"input_tokens": 10, "cached_input_tokens": 11, "output_tokens": 1}, Usage(output=1)),
    ],
    ids=["nothing", "no prompt", "cache unknown", "all", "more cached than there is"],
)
def test_cached_tokens_are_inside_the_prompt_and_unknown_stays_unknown(counts: Json, expected: Usage | None) -> None:
    assert usage_of(counts) == expected


def test_a_compaction_begins_a_line_with_what_the_program_says_stands_for_the_history() -> None:
    rollout = Rollout()
    rollout.user("task")
    rollout.calls("c1")
    rollout.result("c1")
    rollout.says("so far")
    history = [
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "kept reply"}]},
        {"type": "function_call", "call_id": "c9", "name": "shell", "arguments": "{}"},
        {"type": "compaction", "encrypted_content": "gAAA"},
    ]
    rollout.line("compacted", message="", replacement_history=history)
    rollout.user("go on")
    rollout.says("end")
    found = rollout.read()
    first, second = found.trajectories
    assert (len(first.turns), len(second.turns), second.shared_turns) == (2, 1, 0)
    assert words(*second.turns[0].added) == [NOT_TEXT, "kept reply", {}, LOST_RESULT, "go on"]
    assert skipped(found)["summaries that are encrypted"] == 1


NOT_TEXT = json.loads(NOT_RECORDED.json)["text"]


def test_an_older_compaction_leaves_the_users_own_words_and_the_summary() -> None:
    rollout = Rollout()
    rollout.user("<environment_context>here</environment_context>")
    rollout.user("task")
    rollout.says("so far")
    rollout.line("compacted", message="It went well.")
    rollout.user("go on")
    rollout.says("end")
    second = rollout.read().trajectories[1]
    assert words(*second.turns[0].added) == ["task", "Summary of what was said before:\n\nIt went well.", "go on"]


def test_going_back_forks_the_line_where_the_user_went_back_to() -> None:
    rollout = Rollout()
    for text in ("one", "two", "three"):
        rollout.user(text)
        rollout.says(f"re {text}")
    rollout.event("thread_rolled_back", num_turns=2)
    rollout.user("other")
    rollout.says("end")
    first, second = rollout.read().trajectories
    assert [words(*turn.added) for turn in first.turns] == [["one"], ["two"], ["three"]]
    assert [words(*turn.added) for turn in second.turns] == [["one"], ["other"]]
    assert second.shared_turns == 1


@pytest.mark.parametrize(
    ("kind", "fields", "name", "given"),
    [
        ("custom_tool_call", {"name": "apply_patch", "input": "*** Begin"}, "apply_patch", {"input": "*** Begin"}),
        (
            "local_shell_call",
            {"action": {"type": "exec", "command": ["ls"]}},
            "local_shell",
            {"command": ["ls"]},
        ),
        ("tool_search_call", {"arguments": {"query": "x"}}, "tool_search", {"query": "x"}),
        ("function_call", {"name": "add", "namespace": "mcp__notes", "arguments": ""}, "mcp__notes__add", {}),
        ("function_call", {"name": "container.exec", "arguments": "[1"}, "container_exec", {"arguments": "[1"}),
    ],
)
def test_every_kind_of_call_keeps_its_name_and_arguments(kind: str, fields: Json, name: str, given: Json) -> None:
    rollout = Rollout()
    rollout.user("go")
    rollout.item(kind, call_id="c1", **fields)
    rollout.item("custom_tool_call_output", call_id="c1", output="fine")
    rollout.says("done")
    first, second = rollout.read().trajectories[0].turns
    assert content(first.reply) == [{"type": "tool_use", "id": "c1", "name": name, "input": given}]
    assert words(*second.added) == ["fine"]


@pytest.mark.parametrize(
    ("output", "shown", "failed"),
    [
        ("Process exited with code 2\nOutput:\nno", "Process exited with code 2\nOutput:\nno", True),
        ("Exit code: 0\nOutput:\nExit code: 1", "Exit code: 0\nOutput:\nExit code: 1", False),
        ("Wall time: 1\nOutput:\nExit code: 1", "Wall time: 1\nOutput:\nExit code: 1", False),
        ('{"output":"x","metadata":{"exit_code":1}}', '{"output":"x","metadata":{"exit_code":1}}', True),
        ({"content": "no", "success": False}, "no", True),
        ([{"type": "input_text", "text": "a"}], [{"type": "text", "text": "a"}], False),
        (None, [], False),
    ],
    ids=["code above", "code inside too", "code only inside", "code beside", "no success", "parts", "nothing"],
)
def test_a_result_is_shown_as_sent_and_failed_where_its_exit_code_says_so(
    output: object, shown: object, failed: bool
) -> None:
    rollout = Rollout()
    rollout.user("go")
    rollout.calls("c1")
    rollout.result("c1", output)
    rollout.says("done")
    (block,) = content(rollout.read().trajectories[0].turns[1].added[0])
    assert (block["content"], block["is_error"]) == (shown, failed)


def test_images_are_shown_where_the_file_holds_them_and_counted_where_not() -> None:
    rollout = Rollout()
    images = [
        {"type": "input_image", "image_url": "data:image/png;base64,iVBO"},
        {"type": "input_image", "image_url": "https://example.org/a.png"},
        {"type": "input_image", "image_url": None},
    ]
    rollout.item("message", role="user", content=images)
    rollout.says("a cat")
    found = rollout.read()
    assert words(*found.trajectories[0].turns[0].added) == [
        {"type": "base64", "media_type": "image/png", "data": "iVBO"}
    ]
    assert skipped(found) == {"images that are not in the file": 2}


def test_calls_without_results_results_without_calls_and_ids_that_come_twice() -> None:
    rollout = Rollout()
    rollout.user("go")
    rollout.calls("c1")
    rollout.calls("lost")
    rollout.result("c1", "first")
    rollout.result("c1", "second")
    rollout.result("nobody")
    rollout.calls("c1")
    rollout.result("c1", "of the other call")
    rollout.says("done")
    found = rollout.read()
    _, second, third = found.trajectories[0].turns
    assert words(*second.added) == ["first", LOST_RESULT]
    assert words(*third.added) == ["of the other call"]
    assert skipped(found) == {
        "calls without a result (a failed one stands in)": 1,
        "second results of one call": 1,
        "tool results without their call": 1,
    }


def test_replies_without_words_were_paid_for_and_are_not_shown_again() -> None:
    rollout = Rollout()
    rollout.user("go")
    rollout.item("reasoning", summary=[], encrypted_content="gAAA")
    rollout.count()
    rollout.item("web_search_call", status="completed", action={"type": "search", "query": "x"})
    rollout.says("done")
    rollout.count(120)
    found = rollout.read()
    first, second = found.trajectories
    assert [turn.usage.prompt for turn in first.turns] == [100]
    assert [(words(*turn.added), words(turn.reply)) for turn in second.turns] == [(["go"], ["done"])]
    assert skipped(found)["replies without words (no later request shows them)"] == 1


def test_the_line_goes_on_behind_a_reply_that_is_not_shown_again() -> None:
    rollout = Rollout()
    rollout.user("go")
    rollout.says("one")
    rollout.count()
    rollout.user("on")
    rollout.item("reasoning", summary=[], encrypted_content="gAAA")
    rollout.count(120)
    rollout.says("two")
    first, second = rollout.read().trajectories
    assert [words(turn.reply) for turn in first.turns] == [["one"], ["two"]]
    assert ([turn.usage.prompt for turn in second.turns], second.shared_turns) == ([100, 120], 1)


def test_a_request_with_nothing_new_shows_a_note_in_the_place_of_what_is_not_recorded() -> None:
    rollout = Rollout()
    rollout.user("go")
    rollout.says("one")
    rollout.count()
    rollout.says("two")
    found = rollout.read()
    assert [words(*turn.added) for turn in found.trajectories[0].turns] == [["go"], [NOT_TEXT]]
    assert skipped(found) == {"words of the client that are not recorded (a note stands in)": 1}


def test_rollouts_from_before_autumn_2025_have_bare_items() -> None:
    lines = [
        {"id": "s0", "timestamp": "2025-07-01T00:00:00Z", "instructions": None},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]},
        {"type": "function_call", "call_id": "c1", "name": "shell", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "x"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]},
    ]
    found = read_lines([json.dumps(line) for line in lines], name="old")
    (run,) = found.trajectories
    assert refused(found) == []
    assert settled(found)
    assert (run.session, [words(*turn.added) for turn in run.turns]) == ("s0", [["go"], ["x"]])
    assert {(turn.sent_at, turn.replied_at, turn.usage) for turn in run.turns} == {(None, None, Usage())}
    assert skipped(found) == {"(state) lines (never sent)": 1}


def test_a_torn_file_is_read_up_to_its_end_and_two_objects_on_a_line_are_two(tmp_path: Path) -> None:
    rollout = Rollout()
    rollout.user("go")
    rollout.says("déjà")
    joined = [*rollout.lines[:2], rollout.lines[2] + rollout.lines[3], "", '["no object"]', rollout.lines[3]]
    path = tmp_path / "torn.jsonl"
    path.write_bytes("\n".join(joined).encode() + b'\n{"timestamp":"2026\n{"type":"\xc3')
    found = read_file(path)
    assert (found.counts.lines, found.counts.objects) == (8, 5)
    assert skipped(found) == {
        "JSON that is not an object": 1,
        "lines that are not UTF-8 text": 1,
        "text that is not JSON": 1,
    }
    assert [words(turn.reply) for turn in found.trajectories[0].turns] == [["déjà", "déjà"]]


@pytest.mark.parametrize("raw", [b"", b"hello", b"\xff\xfe", b'{"type":"user","sessionId":"x"}', b"[" * 5000])
def test_a_file_that_is_no_rollout_is_refused_by_name(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "other.jsonl"
    path.write_bytes(raw)
    with pytest.raises(RecordingError, match=r"Codex rollout other: no line"):
        read_file(path)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ({"timestamp": "2026", "type": "world_state", "payload": {}}, True),
        ({"record_type": "state"}, True),
        ({"id": "s", "timestamp": "2025", "instructions": ""}, True),
        ({"type": "session", "id": "s", "timestamp": "2025", "cwd": "/w"}, False),
        ({"type": "message", "role": "user", "content": "x"}, False),
        ({"type": "event_msg", "payload": {}}, False),
    ],
)
def test_one_line_that_only_codex_writes_is_enough_to_know_it(line: Json, expected: bool) -> None:
    assert recognises(line) is expected


STEPS = st.lists(
    st.sampled_from(
        ["user", "context", "says", "call", "result", "twice", "count", "reason", "compact", "old compact", "back"]
    ),
    max_size=30,
)


@given(STEPS)
def test_whatever_a_rollout_holds_every_rebuilt_request_is_valid(steps: list[str]) -> None:
    rollout, number = Rollout(), 0
    kept = {"type": "message", "role": "assistant", "content": "kept"}
    for step in steps:
        number += step == "call"
        match step:
            case "user" | "context":
                rollout.user("hello", "user" if step == "user" else "developer")
            case "says":
                rollout.says("well")
            case "call":
                rollout.calls(f"c{number}")
            case "result" | "twice":
                rollout.result(f"c{number}" if step == "result" else "c1")
            case "count":
                rollout.count()
            case "reason":
                rollout.item("reasoning", summary=[])
            case "compact":
                rollout.line("compacted", message="", replacement_history=[kept])
            case "old compact":
                rollout.line("compacted", message="short")
            case "back":
                rollout.event("thread_rolled_back", num_turns=1)
    rollout.read()


def test_what_codex_recorded_here_is_what_it_sent() -> None:
    """Counted by hand in the four requests that the upstream received from this very session, whose texts are cut."""
    found = read_file(DATA / "codex-rollout.jsonl")
    (run,) = found.trajectories
    assert refused(found) == []
    assert settled(found)
    assert [len(words(*turn.added)) for turn in run.turns] == [3, 2, 1, 1]
    assert [turn.tools for turn in run.turns] == [("exec_command", "exec_command"), ("exec_command",), (), ()]
    assert [turn.usage.prompt for turn in run.turns] == [10133, 10381, 10525, 10608]
    assert [turn.usage.read for turn in run.turns] == [0, 10081, 10225, 10308]
    assert str(run.turns[0].request_id) == "resp_4b5e7541637c4729bd97"
    assert (found.counts.lines, found.counts.objects) == (41, 41)
    assert skipped(found) == {
        "events (never sent)": 15,
        "reasoning (encrypted or not sent again)": 2,
        "token counts that were written before": 4,
        "world_state lines (never sent)": 1,
    }


def test_a_recorded_compaction_is_one_request_more_and_begins_another_line() -> None:
    found = read_file(DATA / "codex-rollout-compacted.jsonl")
    first, second = found.trajectories
    assert refused(found) == []
    assert settled(found)
    assert [turn.usage.prompt for turn in first.turns] == [10133, 10277, 10421, 6073]
    assert words(first.turns[-1].reply) == ["Short title"]
    assert [turn.usage.prompt for turn in second.turns] == [10305, 10448]
    said = words(*second.turns[0].added)
    assert said[-1] == "And now once more"
    assert said.count("Say what hello.txt says") == 1
    assert sum("Another language model" in str(text) for text in said) == 1


def test_the_shared_rollouts_are_accounted_for_line_by_line(shared: Path) -> None:
    large = read_file(shared / "trajectories/dev/codex/agent-sessions-large.jsonl")
    assert (large.counts.lines, large.counts.objects, len(large.trajectories[0].turns)) == (20, 20, 7)
    assert skipped(large)["items of an unknown kind: tool_call"] == 1
    assert large.trajectories[0].turns[0].usage == Usage(fresh=1211, read=10880, output=182, reasoning=128)
    small = read_file(shared / "trajectories/dev/codex/agent-sessions-small.jsonl")
    assert (small.counts.lines, small.counts.objects) == (118, 118)
    assert not [reason for reason in skipped(small) if "unknown" in reason]
    assert refused(large) == refused(small) == []
