"""A mini-swe-agent trajectory file becomes trajectories with calls, results, usage and cost."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from lab.recording import messages_bytes, objections

from coldpress.lab.importers.chains import Imported
from coldpress.lab.importers.mini_swe_agent import Actions, read_bytes, read_file
from coldpress.lab.rebuild import requests
from coldpress.model.errors import RecordingError
from coldpress.model.usage import Usage
from coldpress.testing.anthropic_rules import check_messages_request

Json = dict[str, object]

USAGE: Json = {
    "prompt_tokens": 100,
    "completion_tokens": 9,
    "prompt_tokens_details": {"cached_tokens": 60},
    "completion_tokens_details": {"reasoning_tokens": 4},
    "cost": 0.25,
}


def response(message: Json, *, created: int = 50, usage: Json | None = None) -> Json:
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {
        "id": f"gen-{created}",
        "model": "gemini-x",
        "created": created,
        "choices": [choice],
        "usage": USAGE if usage is None else usage,
    }


def said(text: str, *, created: int = 50, reasoning: str | None = None, usage: Json | None = None) -> Json:
    """A reply of program 1.x: text alone, the whole response beside it."""
    message = {"role": "assistant", "content": text, "reasoning": reasoning}
    return {
        "role": "assistant",
        "content": text,
        "extra": {"response": response(message, created=created, usage=usage)},
    }


def called(*calls: tuple[str, str], at: float, **fields: object) -> Json:
    """A reply of program 2.x: calls of the tool."""
    asked = [{"id": name, "type": "function", "function": {"name": "bash", "arguments": args}} for name, args in calls]
    message: Json = {"role": "assistant", "content": None, "tool_calls": asked, **fields}
    bare = {key: value for key, value in USAGE.items() if key != "cost"}
    return {**message, "extra": {"response": response(message, usage=bare), "timestamp": at, "cost": 0.125}}


def outcome(call: str, text: str, *, code: int | None, at: float) -> Json:
    return {"role": "tool", "tool_call_id": call, "content": text, "extra": {"returncode": code, "timestamp": at}}


def user(text: str) -> Json:
    return {"role": "user", "content": text}


def action(command: str) -> str:
    return f"THOUGHT: go\n\n```bash\n{command}\n```"


def read(
    *messages: Json, version: str = "mini-swe-agent-1", actions: Actions = "calls", config: Json | None = None
) -> Imported:
    file = {
        "trajectory_format": version,
        "instance_id": "task-1",
        "info": {"config": config or {"agent": {"timeout_template": "The command took too long: {{action}}"}}},
        "messages": [{"role": "system", "content": "You run commands."}, user("fix it"), *messages],
    }
    return read_bytes(json.dumps(file).encode(), name="run", actions=actions)


def content(message: str) -> list[Json]:
    blocks = json.loads(message)["content"]
    assert isinstance(blocks, list)
    return blocks


def skipped(found: Imported) -> dict[str, int]:
    return dict(found.counts.skipped)


def test_an_action_in_a_text_becomes_a_call_and_its_outcome_a_result() -> None:
    found = read(
        said(action("ls")), user("<returncode>0</returncode>\n<output>\na.py\n</output>"), said(action("exit"))
    )
    (run,) = found.trajectories
    first, second = run.turns
    assert (run.name, run.session, run.side_chain) == ("run", "task-1", False)
    assert [content(message) for message in first.added] == [[{"type": "text", "text": "fix it"}]]
    assert content(first.reply) == [
        {"type": "text", "text": "THOUGHT: go"},
        {"type": "tool_use", "id": "call_1", "name": "bash", "input": {"command": "ls"}},
    ]
    assert content(second.added[0]) == [
        {
            "tool_use_id": "call_1",
            "type": "tool_result",
            "content": "<returncode>0</returncode>\n<output>\na.py\n</output>",
            "is_error": False,
        }
    ]
    assert first.tools == ("bash",)


def test_actions_stay_text_where_the_caller_says_so() -> None:
    found = read(said(action("ls")), user("<returncode>1</returncode>"), said(action("exit")), actions="text")
    first, second = found.trajectories[0].turns
    assert content(first.reply) == [{"type": "text", "text": action("ls")}]
    assert content(second.added[0]) == [{"type": "text", "text": "<returncode>1</returncode>"}]
    assert (first.tools, skipped(found)) == ((), {})


@pytest.mark.parametrize(
    ("text", "failed"),
    [
        pytest.param(
            "<returncode>0</returncode>\n<output>\nerror: x\n</output>", False, id="what it printed is no sign"
        ),
        pytest.param("<returncode>2</returncode>\n<output>\n</output>", True, id="a return code other than zero"),
        pytest.param("<returncode>-1</returncode>", True, id="a negative return code"),
        pytest.param('{\n  "returncode": 1,\n  "output": ""\n}', True, id="the code in a JSON outcome"),
        pytest.param("The command took too long: sleep 99", True, id="the run's own words for a timeout"),
        pytest.param("diff --git a/x b/x", False, id="the submission"),
    ],
)
def test_failure_is_told_by_the_return_code(text: str, failed: bool) -> None:
    found = read(said(action("x")), user(text), said("done"))
    assert content(found.trajectories[0].turns[1].added[0])[0]["is_error"] is failed


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("no action at all", id="none"),
        pytest.param(f"{action('ls')}\nor\n{action('pwd')}", id="two"),
    ],
)
def test_a_reply_without_exactly_one_action_stays_text_and_so_does_the_complaint(text: str) -> None:
    found = read(said(text), user("Please give ONE action"), said(action("ls")))
    first, second = found.trajectories[0].turns
    assert content(first.reply) == [{"type": "text", "text": text}]
    assert content(second.added[0]) == [{"type": "text", "text": "Please give ONE action"}]


def test_the_file_may_name_what_it_took_for_an_action() -> None:
    config: Json = {"model": {"action_regex": r"<do>(.*?)</do>"}}
    found = read(said("<do>ls</do>"), user("<returncode>0</returncode>"), said("<do>x</do>"), config=config)
    assert content(found.trajectories[0].turns[0].reply)[0]["input"] == {"command": "ls"}


def test_a_word_of_the_user_in_place_of_the_outcome_stays_text() -> None:
    config: Json = {"model": {"action_regex": r"<do>(.*?)</do>"}}
    stop: Json = {"role": "user", "content": "no, wait", "extra": {"interrupt_type": "UserInterruption"}}
    found = read(said("<do>ls</do>"), stop, said("x"), config=config, version="mini-swe-agent-1.1")
    first, second = found.trajectories[0].turns
    assert [content(first.reply)[0]["text"], content(second.added[0])[0]["text"]] == ["<do>ls</do>", "no, wait"]


def test_a_pattern_that_is_none_is_refused() -> None:
    with pytest.raises(RecordingError, match=r"action_regex .*'\(' is no pattern"):
        read(said("x"), config={"model": {"action_regex": "("}})


def test_cached_tokens_are_taken_out_of_the_prompt() -> None:
    turn = read(said(action("ls"))).trajectories[0].turns[0]
    assert turn.usage == Usage(fresh=40, read=60, output=9, reasoning=4)
    assert (turn.reported_usd, turn.model, turn.request_id) == (0.25, "gemini-x", "gen-50")


def test_what_was_not_reported_is_unknown() -> None:
    turn = read(said(action("ls"), usage={"prompt_tokens": 7})).trajectories[0].turns[0]
    assert (turn.usage, turn.reported_usd) == (Usage(fresh=7), None)


def test_program_1_knows_only_when_the_provider_began_to_answer() -> None:
    turns = (
        read(said(action("ls"), created=50), user("<returncode>0</returncode>"), said("x", created=58))
        .trajectories[0]
        .turns
    )
    assert [(turn.sent_at, turn.replied_at) for turn in turns] == [(50.0, None), (58.0, None)]


def test_the_system_prompt_is_the_head_of_every_request() -> None:
    found = read(said(action("ls")), user("<returncode>0</returncode>"), said("x"))
    assert found.head is not None
    for body in requests(found.trajectories[0], found.head):
        assert json.loads(body)["system"][0]["text"] == "You run commands."
        assert objections(body) == []


@pytest.mark.parametrize(("actions", "tools"), [("calls", 1), ("text", 0)])
def test_the_tool_is_offered_where_it_is_called(actions: Actions, tools: int) -> None:
    head = read(said(action("ls")), user("<returncode>0</returncode>"), said("x"), actions=actions).head
    assert head is not None
    assert len(head.tools) == tools


def test_without_a_system_prompt_there_is_no_head_and_a_reply_to_nothing_is_no_turn() -> None:
    messages = [{"role": "assistant", "content": "hello?"}, user("hi"), said("yes")]
    found = read_bytes(json.dumps({"trajectory_format": "mini-swe-agent-1", "messages": messages}).encode(), name="run")
    assert (found.head, found.trajectories[0].requests) == (None, 1)
    assert skipped(found) == {"replies to nothing": 1}


def test_program_2_calls_the_tool_several_times_and_says_when() -> None:
    found = read(
        called(("a|1", '{"command": "ls"}'), ("b", '{"command": "pwd"}'), at=10.5),
        outcome("a|1", '{"returncode": 0, "output": "x"}', code=0, at=11.0),
        outcome("b", "gone", code=3, at=11.5),
        called(("a|1", '{"command": "id"}'), at=12.5),
        version="mini-swe-agent-1.1",
    )
    first, second = found.trajectories[0].turns
    assert [(block["id"], block["input"]) for block in content(first.reply)] == [
        ("a_1", {"command": "ls"}),
        ("b", {"command": "pwd"}),
    ]
    assert [(block["tool_use_id"], block["is_error"]) for block in content(second.added[0])] == [
        ("a_1", False),
        ("b", True),
    ]
    assert content(second.reply)[0]["id"] == "a_1-2"
    assert (first.replied_at, second.sent_at, second.replied_at) == (10.5, 11.5, 12.5)
    assert first.reported_usd == 0.125


def test_thinking_that_goes_back_to_the_model_is_carried_and_other_is_counted() -> None:
    signed = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    found = read(
        called(("a", "{}"), at=1.0, thinking_blocks=[signed], reasoning_content="hm"), version="mini-swe-agent-1.1"
    )
    assert content(found.trajectories[0].turns[0].reply)[0] == signed
    found = read(said("x", reasoning="hm"))
    assert skipped(found) == {"reasoning that was not sent again": 1}


def test_a_reply_that_was_thrown_away_was_paid_for_and_is_shown_to_nobody() -> None:
    wrong = {"role": "assistant", "content": "I am done", "tool_calls": None}
    complaint: Json = {
        "role": "user",
        "content": "No tool calls found",
        "extra": {"interrupt_type": "FormatError", "response": response(wrong), "cost": 0.25},
    }
    found = read(
        called(("a", "{}"), at=1.0), outcome("a", "", code=0, at=2.0), complaint, called(("b", "{}"), at=4.0),
        version="mini-swe-agent-1.1",
    )  # fmt: skip
    run, thrown = found.trajectories
    assert (run.requests, thrown.requests, thrown.shared_turns) == (2, 1, 1)
    assert content(thrown.turns[1].reply) == [{"type": "text", "text": "I am done"}]
    assert (thrown.turns[1].usage.read, thrown.turns[1].reported_usd) == (60, 0.25)
    assert [block["type"] for block in content(run.turns[1].added[0])] == ["tool_result", "text"]
    assert "I am done" not in "".join(run.turns[1].added)


def test_messages_that_are_not_sent_are_counted() -> None:
    found = read(said(action("ls")), user("the submission"), {"role": "exit", "content": "x"}, {"role": "oracle"})
    assert skipped(found) == {
        "actions in a reply's text (made into calls)": 1,
        "client messages that no reply follows": 1,
        "exit messages (never sent)": 1,
        "messages of an unknown role: oracle": 1,
    }


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        pytest.param(b"{", r"trajectory run: no JSON \(", id="broken JSON"),
        pytest.param(b"[]", "trajectory run: no JSON object", id="no object"),
        pytest.param(
            b'{"trajectory_format":"mini-swe-agent-9"}', "'mini-swe-agent-9'.*mini-swe-agent-1 and", id="another format"
        ),
    ],
)
def test_what_is_no_trajectory_is_refused(raw: bytes, words: str) -> None:
    with pytest.raises(RecordingError, match=words):
        read_bytes(raw, name="run")


def test_read_file_names_the_run_after_the_file(tmp_path: Path) -> None:
    path = tmp_path / "task__9.traj.json"
    path.write_text(json.dumps({"trajectory_format": "mini-swe-agent-1", "messages": [user("a"), said("b")]}))
    (run,) = read_file(path).trajectories
    assert (run.name, run.session) == ("task__9", "task__9")


def test_real_turns_usage_and_cost_are_those_of_the_files(shared: Path) -> None:
    for path in sorted((shared / "trajectories" / "dev" / "mini-swe-agent").glob("*.traj.json")):
        file = json.loads(path.read_text(encoding="utf-8"))
        reported = [m["extra"]["response"]["usage"] for m in file["messages"] if m["role"] == "assistant"]
        (run,) = read_file(path).trajectories
        assert len(run.turns) == file["info"]["model_stats"]["api_calls"]
        assert [turn.usage.prompt for turn in run.turns] == [usage["prompt_tokens"] for usage in reported]
        assert [turn.usage.read for turn in run.turns] == [
            u["prompt_tokens_details"]["cached_tokens"] for u in reported
        ]
        assert [turn.usage.output for turn in run.turns] == [usage["completion_tokens"] for usage in reported]
        total = sum(turn.reported_usd or 0 for turn in run.turns)
        assert total == pytest.approx(file["info"]["model_stats"]["instance_cost"])


@pytest.mark.parametrize("actions", ["calls", "text"])
def test_real_requests_are_valid_and_grow(shared: Path, actions: Actions) -> None:
    for path in sorted((shared / "trajectories" / "dev" / "mini-swe-agent").glob("*.traj.json")):
        found = read_file(path, actions=actions)
        bodies = list(requests(found.trajectories[0], found.head))
        assert check_messages_request(json.loads(bodies[-1])) is None
        assert [objections(body) for body in (bodies[0], bodies[-1])] == [[], []]
        assert all(messages_bytes(b).startswith(messages_bytes(a)) for a, b in pairwise(bodies))
