"""Records of OpenHands become trajectories that show what each request showed, and what it cost."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lab.rebuilt import Json, content, refused, settled, skipped, words

from coldpress.lab.importers.chains import Imported
from coldpress.lab.importers.dialogue import LOST_RESULT
from coldpress.lab.importers.openhands import read_file, read_lines, recognises, recognises_list
from coldpress.model.errors import RecordingError
from coldpress.model.usage import Usage

START = 1767225600


@dataclass
class Run:
    """A record under construction; one second passes from event to event. Methods return the event's id."""

    history: list[object] = field(default_factory=list)
    record: Json = field(default_factory=lambda: {"instance_id": "task-1", "metadata": {"llm_config": {"model": "m"}}})
    prompt: int = 0
    output: int = 0

    def event(self, **fields: object) -> int:
        stamp = f"2026-01-01T00:00:{len(self.history):02d}"
        self.history.append({"id": len(self.history), "timestamp": stamp, **fields})
        return len(self.history) - 1

    def system(self) -> int:
        tool = {"type": "function", "function": {"name": "execute_bash", "description": "Runs.", "parameters": {}}}
        return self.event(source="agent", action="system", args={"content": "Be an agent.", "tools": [tool]})

    def user(self, text: str) -> int:
        return self.event(source="user", action="message", args={"content": text, "image_urls": None})

    def acts(self, *calls: str, of: int = 0, response: Json | None = None, grows: int = 100) -> int:
        """One action of a response that makes these calls; it is the one that makes call number `of`."""
        made = [
            {"id": call, "type": "function", "function": {"name": "execute_bash", "arguments": '{"command": "ls"}'}}
            for call in calls
        ]
        said = {"role": "assistant", "content": "thinking aloud", "tool_calls": made}
        answer = {"id": f"r-{'-'.join(calls)}", "model": "gpt-x", "choices": [{"message": said}], **(response or {})}
        self.prompt += grows
        self.output += 7
        return self.event(
            source="agent",
            action="run",
            args={"command": "ls", "thought": "thinking aloud"},
            tool_call_metadata={"tool_call_id": calls[of], "function_name": "execute_bash", "model_response": answer},
            llm_metrics=self.metrics(),
        )

    def metrics(self) -> Json:
        total = {"prompt_tokens": self.prompt, "completion_tokens": self.output, "cache_read_tokens": 0}
        return {"accumulated_cost": self.prompt / 1000, "accumulated_token_usage": total}

    def sees(self, call: str, text: str = "out", *, cause: int = 0, code: int = 0) -> int:
        extras = {"metadata": {"exit_code": code, "prefix": "", "suffix": "\n[end]"}}
        told = {"tool_call_id": call, "function_name": "execute_bash"}
        return self.event(
            source="agent", observation="run", cause=cause, content=text, extras=extras, tool_call_metadata=told
        )

    def says(self, text: str) -> int:
        return self.event(source="agent", action="message", args={"content": text}, llm_metrics=self.metrics())

    def read(self) -> Imported:
        found = read_lines([json.dumps({**self.record, "history": self.history})], name="run")
        assert refused(found) == []
        assert settled(found)
        assert (found.counts.lines, found.counts.objects) == (1, len(self.history))
        return found


def test_a_run_becomes_turns_with_calls_results_usage_times_and_the_head() -> None:
    run = Run()
    run.system()
    run.user("do it")
    run.acts("c1", response={"usage": {"prompt_tokens": 50, "completion_tokens": 5}})
    run.sees("c1", "no", code=2)
    run.says("done")
    found = run.read()
    (line,) = found.trajectories
    first, second = line.turns
    assert (line.name, line.session) == ("run", "task-1")
    assert words(*first.added, first.reply) == ["do it", "thinking aloud", {"command": "ls"}]
    assert content(second.added[0]) == [
        {"tool_use_id": "c1", "type": "tool_result", "content": "no\n[end]", "is_error": True}
    ]
    assert (first.sent_at, first.replied_at, second.sent_at) == (START + 1, START + 2, START + 3)
    assert (first.model, first.request_id, second.model) == ("gpt-x", "r-c1", "m")
    assert first.usage == Usage(fresh=50, output=5)
    assert found.head is not None
    assert (found.head.system, [json.loads(tool)["name"] for tool in found.head.tools]) == (
        "Be an agent.",
        ["execute_bash"],
    )


def test_running_totals_are_differenced_where_the_response_does_not_say() -> None:
    run = Run()
    run.user("go")
    for name, grows in (("a", 100), ("b", 250), ("nothing reported", 0)):
        run.acts(name, grows=grows)
        run.sees(name)
    turns = run.read().trajectories[0].turns
    assert [turn.usage for turn in turns] == [
        Usage(fresh=100, output=7),
        Usage(fresh=250, output=7),
        Usage(output=7),
    ]
    assert [turn.reported_usd for turn in turns] == [pytest.approx(0.1), pytest.approx(0.25), None]


def test_the_metrics_of_a_response_are_found_by_its_id() -> None:
    run = Run()
    named = {"prompt_tokens": 90, "cache_read_tokens": 60, "cache_write_tokens": 20, "completion_tokens": 3}
    run.record["metrics"] = {"token_usages": [{"response_id": "r-a", **named}]}
    run.user("go")
    run.acts("a")
    assert run.read().trajectories[0].turns[0].usage == Usage(fresh=10, read=60, write_short=20, output=3)


@pytest.mark.parametrize(
    ("listed", "expected"),
    [([0.5, {"cost": 0.25}], [0.5, 0.25]), ([0.5, 0], [0.5, None]), ([0.5], [None, None]), (None, [None, None])],
    ids=["one each", "zero is no price", "one is missing", "none"],
)
def test_costs_are_believed_where_there_is_one_for_each_request(listed: object, expected: object) -> None:
    run = Run()
    run.record["metrics"] = {"costs": listed}
    run.user("go")
    run.event(source="agent", action="run", args={"command": "ls", "thought": ""})
    run.event(source="agent", observation="run", content="x", cause=1, extras={})
    run.event(source="agent", action="finish", args={"thought": "done", "outputs": {}})
    found = run.read()
    assert [turn.reported_usd for turn in found.trajectories[0].turns] == expected
    assert skipped(found) == {"actions in a reply's text (made into calls)": 2}


def test_events_of_one_response_are_one_reply_and_a_second_observation_is_counted() -> None:
    run = Run()
    run.user("go")
    run.acts("a", "b")
    run.sees("a", "one")
    run.acts("a", "b", of=1)
    run.sees("b", "two")
    run.sees("b", "again")
    run.acts("lost")
    run.sees("nobody")
    run.says("end")
    found = run.read()
    turns = found.trajectories[0].turns
    assert [words(*turn.added) for turn in turns] == [["go"], ["one\n[end]", "two\n[end]"], [LOST_RESULT]]
    assert skipped(found) == {
        "calls without a result (a failed one stands in)": 1,
        "second results of one call": 1,
        "tool results without their call": 1,
    }


def test_a_result_that_comes_after_the_next_reply_is_counted() -> None:
    run = Run()
    run.user("go")
    run.acts("a")
    run.says("well")
    run.sees("a")
    run.says("end")
    found = run.read()
    added = [words(*turn.added) for turn in found.trajectories[0].turns]
    assert added[:2] == [["go"], [LOST_RESULT]]
    assert skipped(found)["tool results that came after the next reply"] == 1


def test_times_without_a_zone_mean_the_same_on_every_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        run = Run()
        run.user("go")
        run.says("end")
        assert run.read().trajectories[0].turns[0].replied_at == START + 1
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    "forgotten",
    [{"forgotten_event_ids": [2, 3]}, {"forgotten_events_start_id": 2, "forgotten_events_end_id": 3}],
    ids=["listed", "a range"],
)
def test_a_condensation_begins_a_line_in_which_a_summary_stands_for_what_was_forgotten(forgotten: Json) -> None:
    run = Run()
    run.system()
    run.user("task")
    for name in ("a", "b"):
        run.acts(name)
        run.sees(name, name)
    run.event(source="agent", action="condensation", args={**forgotten, "summary": "a was done", "summary_offset": 2})
    run.says("end")
    found = run.read()
    first, second = found.trajectories
    assert (len(first.turns), len(second.turns), second.shared_turns) == (2, 1, 0)
    assert words(*second.turns[0].added) == ["task", "a was done", "thinking aloud", {"command": "ls"}, "b\n[end]"]
    assert skipped(found) == {"condensations (what they kept is said again)": 1}


def test_what_the_user_does_and_what_is_recalled_are_texts_of_the_user() -> None:
    run = Run()
    run.user("go")
    run.event(source="user", action="recall", args={"query": "go"})
    known = [{"name": "git", "content": "Use git."}]
    run.event(source="environment", observation="recall", cause=1, content="", extras={"microagent_knowledge": known})
    run.event(source="user", action="run", args={"command": "pwd"})
    run.event(source="user", observation="run", cause=3, content="/w", extras={})
    run.event(source="agent", observation="agent_state_changed", content="", extras={})
    run.event(source="agent", action="never heard of it", args={})
    run.event(source="agent", nothing=True)
    run.says("well")
    found = run.read()
    turns = [turn for line in found.trajectories for turn in line.turns]
    assert words(*turns[0].added) == ["go", "Use git.", "The user did this: run pwd", "/w"]
    assert skipped(found)["agent_state_changed observations (never sent)"] == 1
    assert skipped(found)["history entries of no kind"] == 1


def sdk(*events: Json) -> list[Json]:
    return [
        {"id": f"e{at}", "timestamp": f"2026-01-01T00:00:{at:02d}", "source": "agent", **event}
        for at, event in enumerate(events)
    ]


def act(call: str, response: str, **fields: object) -> Json:
    tool_call = {"id": call, "name": "execute_bash", "arguments": '{"command":"ls"}', "origin": "completion"}
    return {"kind": "ActionEvent", "llm_response_id": response, "tool_call": tool_call, "thought": [], **fields}


def saw(call: str, text: str, **fields: object) -> Json:
    observation = {"content": [{"type": "text", "text": text}], "is_error": False}
    return {"kind": "ObservationEvent", "tool_call_id": call, "observation": observation, **fields}


def test_the_agent_sdks_events_are_read_as_well() -> None:
    signed = {"type": "thinking", "thinking": "hm", "signature": "sig"}
    user = {"role": "user", "content": [{"type": "text", "text": "task"}]}
    agent = {"role": "assistant", "content": [{"type": "text", "text": "end"}]}
    history = sdk(
        {"kind": "SystemPromptEvent", "system_prompt": {"type": "text", "text": "Be."}, "tools": []},
        {"kind": "MessageEvent", "source": "user", "llm_message": user},
        act("a", "r1", thought=[{"type": "text", "text": "both"}], thinking_blocks=[signed]),
        act("b", "r1"),
        saw("a", "one"),
        {"kind": "AgentErrorEvent", "tool_call_id": "b", "error": "broke"},
        act("c", "r2"),
        {"kind": "UserRejectObservation", "tool_call_id": "c", "rejection_reason": "no"},
        {"kind": "Condensation", "forgotten_event_ids": ["e2", "e3", "e4", "e5"], "summary": "so", "summary_offset": 2},
        {"kind": "MessageEvent", "llm_message": agent, "llm_response_id": "r3"},
        {"kind": "PauseEvent"},
        {"kind": "NewEvent"},
    )
    found = read_lines([json.dumps({"history": history, "metadata": {"llm": {"model": "gpt-x"}}})], name="run")
    assert refused(found) == []
    assert settled(found)
    first, second = found.trajectories
    assert words(first.turns[0].reply) == ["hm", "both", {"command": "ls"}, {"command": "ls"}]
    assert words(*first.turns[1].added) == ["one", "broke"]
    assert words(*second.turns[0].added) == ["task", "so", {"command": "ls"}, "no"]
    assert {turn.model for line in found.trajectories for turn in line.turns} == {"gpt-x"}
    assert skipped(found) == {
        "PauseEvent events (never sent)": 1,
        "condensations (what they kept is said again)": 1,
        "events of an unknown kind: NewEvent": 1,
    }


def test_a_history_that_begins_with_the_agent_has_its_task_in_the_record() -> None:
    record = {"instruction": "the task", "history": sdk(act("a", "r1"), saw("a", "one"))}
    found = read_lines([json.dumps(record)], name="run")
    assert words(*found.trajectories[0].turns[0].added) == ["the task"]
    assert skipped(found)["tasks that no event says (taken from the record)"] == 1


def test_pairs_and_flat_events_of_2024_answer_the_call_before_them() -> None:
    pairs = [
        [{"action": "message", "content": "go", "images_urls": []}, {"observation": "null", "content": ""}],
        [
            {"action": "run", "command": "ls", "thought": "look", "is_confirmed": "confirmed", "action_risk": None},
            {"observation": "run", "content": "a.txt", "exit_code": 1},
        ],
        [{"action": "finish", "outputs": {}, "thought": "done"}],
    ]
    found = read_lines([json.dumps({"history": pairs})], name="run")
    first, second = found.trajectories[0].turns
    assert refused(found) == []
    assert settled(found)
    assert words(*first.added, first.reply) == ["go", "look", {"command": "ls"}]
    assert content(second.added[0])[0]["is_error"] is True
    assert found.counts.objects == 5


def test_images_are_shown_where_the_record_holds_them_and_counted_where_not() -> None:
    run = Run()
    urls = ["data:image/png;base64,iVBO", "https://example.org/a.png"]
    run.event(source="user", action="message", args={"content": "look", "image_urls": urls})
    run.says("a cat")
    found = run.read()
    source = {"type": "base64", "media_type": "image/png", "data": "iVBO"}
    assert words(*found.trajectories[0].turns[0].added) == ["look", source]
    assert skipped(found) == {"images that are not in the file": 1}


def simple() -> Json:
    run = Run()
    run.user("go")
    run.says("done")
    return {**run.record, "history": run.history}


def test_a_torn_file_is_read_up_to_its_end_and_two_records_on_a_line_are_two(tmp_path: Path) -> None:
    one = json.dumps(simple())
    path = tmp_path / "output.jsonl"
    path.write_bytes(f'{one}{one}\n{{"no": "record"}}\n\n{one[:80]}\n'.encode() + b"\xc3\n")
    found = read_file(path)
    assert [line.name for line in found.trajectories] == ["output/1", "output/2"]
    assert (found.counts.lines, found.counts.objects) == (5, 5)
    assert skipped(found) == {
        "lines that are not UTF-8 text": 1,
        "objects that are no record of a run": 1,
        "text that is not JSON": 1,
    }


@pytest.mark.parametrize("layout", ["one line", "many lines", "list", "lines of events"])
def test_one_run_may_be_laid_out_in_four_ways(tmp_path: Path, layout: str) -> None:
    record, path = simple(), tmp_path / "run.json"
    history = record["history"]
    assert isinstance(history, list)
    texts = {
        "one line": json.dumps(record),
        "many lines": json.dumps(record, indent=1),
        "list": json.dumps(history, indent=1),
        "lines of events": "\n".join(json.dumps(event) for event in history),
    }
    path.write_text(texts[layout])
    (run,) = read_file(path).trajectories
    assert [words(*turn.added, turn.reply) for turn in run.turns] == [["go", "done"]]
    assert recognises_list(history)


@pytest.mark.parametrize("raw", [b"", b"[]", b"\xff\xfe", b'{"history": []}', b"[" * 5000, b"17"])
def test_a_file_that_is_no_record_is_refused_by_name(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "other.json"
    path.write_bytes(raw)
    with pytest.raises(RecordingError, match=r"OpenHands records other: no record"):
        read_file(path)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ({"history": [{"action": "message", "args": {}}]}, True),
        ({"history": [[{"action": "message", "content": ""}, {}]]}, True),
        ({"history": [{"kind": "ActionEvent", "source": "agent", "id": "1"}]}, True),
        ({"history": [{"role": "system", "content": "", "action": "ls", "thought": ""}]}, False),
        ({"history": [], "trajectory": []}, False),
        ({"action": "ls -la\n", "observation": "a b", "thought": "x"}, False),
    ],
)
def test_a_record_is_known_by_the_first_event_of_its_history(found: Json, expected: bool) -> None:
    assert recognises(found) is expected


STEPS = st.lists(st.sampled_from(["user", "act", "both", "see", "again", "say", "error", "forget"]), max_size=25)


@given(STEPS, st.booleans())
def test_whatever_a_record_holds_every_rebuilt_request_is_valid(steps: list[str], opened: bool) -> None:
    run, number = Run(), 0
    if opened:
        run.system()
    for step in steps:
        number += step in ("act", "both")
        match step:
            case "user":
                run.user("hello")
            case "act" | "both":
                run.acts(f"c{number}", *([f"d{number}"] if step == "both" else []))
            case "see" | "again":
                run.sees(f"c{number if step == 'see' else 1}")
            case "say":
                run.says("well")
            case "error":
                run.event(source="agent", observation="error", content="broke", extras={})
            case "forget":
                span = {"forgotten_events_start_id": 2, "forgotten_events_end_id": len(run.history) // 2}
                run.event(source="agent", action="condensation", args={**span, "summary": "so", "summary_offset": 1})
    if run.history:
        run.read()


@dataclass(frozen=True)
class Known:
    """What a shared record holds, counted by hand and taken from its own totals."""

    events: int
    requests: int
    prompt: int
    output: int
    unanswered: int


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("multi_swe_bench-0", Known(49, 23, 565158, 2558, 0)),
        ("multi_swe_bench-2", Known(103, 49, 938015, 5627, 1)),
    ],
)
def test_the_shared_records_add_up_to_their_own_totals(shared: Path, name: str, known: Known) -> None:
    found = read_file(shared / f"trajectories/dev/openhands/{name}.json")
    (run,) = found.trajectories
    assert (found.counts.lines, found.counts.objects, run.requests) == (1, known.events, known.requests)
    assert sum(turn.usage.prompt or 0 for turn in run.turns) == known.prompt
    assert sum(turn.usage.output or 0 for turn in run.turns) == known.output
    assert {turn.usage.read for turn in run.turns} == {None}
    left = skipped(found)
    assert left.pop("client messages that no reply follows", 0) == known.unanswered
    assert left == {"recall actions (never sent)": 1}
    assert refused(found) == []
    assert settled(found)


def test_the_shared_record_of_2024_has_a_cost_for_each_request(shared: Path) -> None:
    found = read_file(shared / "trajectories/dev/openhands/resolver-1.json")
    (run,) = found.trajectories
    assert (found.counts.objects, run.requests) == (44, 22)
    assert sum(turn.reported_usd or 0.0 for turn in run.turns) == pytest.approx(1.152933)
    assert {turn.usage.known for turn in run.turns} == {False}
    assert skipped(found) == {"actions in a reply's text (made into calls)": 22}
    assert refused(found) == []
    assert settled(found)
