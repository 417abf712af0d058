"""SWE-agent's `.traj` files: recorded calls, calls made of actions in text, demonstrations, hidden replies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from coldpress.lab.importers.chains import Imported
from coldpress.lab.importers.swe_agent import Actions, read_bytes, read_file, recognises
from coldpress.model.errors import RecordingError

from .accounts import refused, unaccounted

Json = dict[str, Any]

SYSTEM: Json = {"role": "system", "content": "be able", "agent": "main"}
TASK: Json = {"role": "user", "content": "mend it", "agent": "main"}


def said(text: str, action: str = "", **more: object) -> Json:
    return {"role": "assistant", "content": text, "thought": text, "action": action, "agent": "main", **more}


def calls(text: str, call_id: str, tool: str, **arguments: object) -> Json:
    call = {"id": call_id, "type": "function", "function": {"name": tool, "arguments": json.dumps(arguments)}}
    return said(text, f"{tool} ...", tool_calls=[call], message_type="action")


def seen(text: object, *call_ids: str, **more: object) -> Json:
    if call_ids:
        return {"role": "tool", "content": text, "tool_call_ids": list(call_ids), "agent": "main", **more}
    return {"role": "user", "content": text, "agent": "main", **more}


def step(response: str, **more: object) -> Json:
    return {"action": "a", "observation": "o", "response": response, "thought": "", "state": {}, **more}


def run(*history: Json, steps: list[Json] | None = None, actions: Actions = "calls", **more: object) -> Imported:
    replies = [one["content"] for one in history if one["role"] == "assistant" and not one.get("is_demo")]
    file = {
        "environment": "e", "history": list(history), "info": {},
        "trajectory": [step(reply) for reply in replies] if steps is None else steps, **more,
    }  # fmt: skip
    found = read_bytes(json.dumps(file).encode(), name="t", actions=actions)
    assert refused(found) == []
    assert unaccounted(found) == []
    return found


def reasons(found: Imported) -> dict[str, int]:
    return dict(found.counts.skipped)


def blocks(message: str) -> list[Json]:
    found: list[Json] = json.loads(message)["content"]
    return found


LISTING = said("I look.\n```\nls -F\n```", "ls -F\n")


def test_recorded_calls_and_their_results() -> None:
    found = run(
        SYSTEM, TASK, calls("I look.", "c1", "bash", command="ls"), seen([{"type": "text", "text": "a.py"}], "c1"),
        calls("", "c2", "submit"), seen("bye", "c2"),
    )  # fmt: skip
    (one,) = found.trajectories
    assert [turn.tools for turn in one.turns] == [("bash",), ("submit",)]
    assert blocks(one.turns[0].reply)[1]["input"] == {"command": "ls"}
    assert blocks(one.turns[1].added[0])[0]["tool_use_id"] == "c1"
    assert found.head is not None
    assert found.head.system == "be able"
    assert reasons(found) == {"client messages that no reply follows": 1}


def test_an_action_in_text_becomes_a_call_named_after_its_first_word() -> None:
    found = run(SYSTEM, TASK, LISTING, seen("a.py"), said("Done.\n```\nsubmit\n```", "submit\n"))
    (one,) = found.trajectories
    text, call = blocks(one.turns[0].reply)
    assert (text["text"], call["name"], call["input"]) == ("I look.", "ls", {"command": "ls -F"})
    (result,) = blocks(one.turns[1].added[0])
    assert (result["tool_use_id"], result["content"]) == (call["id"], "a.py")
    assert reasons(found) == {"actions in a reply's text (made into calls)": 2}


def test_text_stays_text_where_that_is_asked_for() -> None:
    found = run(SYSTEM, TASK, LISTING, seen("a.py"), said("Done."), actions="text")
    (one,) = found.trajectories
    assert one.tools == ()
    assert blocks(one.turns[0].reply) == [{"type": "text", "text": LISTING["content"]}]
    assert blocks(one.turns[1].added[0]) == [{"type": "text", "text": "a.py"}]


@pytest.mark.parametrize(
    ("reply", "text", "name", "command"),
    [
        pytest.param(said("```\nls\n```", "ls"), None, "ls", "ls", id="nothing but the action"),
        pytest.param(
            said("`ls` first.\n```bash\nls\n```", "ls\n"), "`ls` first.", "ls", "ls", id="named before it is given"
        ),
        pytest.param(
            said("So:\n```\nedit 1:2\nx\nend_of_edit\n```", "edit 1:2\nx\nend_of_edit\n"),
            "So:", "edit", "edit 1:2\nx\nend_of_edit", id="of several lines",
        ),
        pytest.param(
            said("Not\n```\nls\n```\nbut\n```\nls\n```", "ls\n"), "Not\n```\nls\n```\nbut", "ls", "ls", id="twice"
        ),
        pytest.param(
            said("So: <command>ls</command>", "ls"), "So:", "ls", "ls", id="in tags"
        ),
        pytest.param(said("x\n```\n./a.sh 1\n```", "./a.sh 1"), "x", "__a_sh", "./a.sh 1", id="a path as command"),
    ],
)  # fmt: skip
def test_where_an_action_stands(reply: Json, text: str | None, name: str, command: str) -> None:
    (one,) = run(TASK, reply, seen("o")).trajectories
    *texts, call = blocks(one.turns[0].reply)
    assert [block["text"] for block in texts] == ([] if text is None else [text])
    assert (call["name"], call["input"]) == (name, {"command": command})


def test_an_action_that_is_not_in_the_text_leaves_it_as_the_model_saw_it() -> None:
    found = run(TASK, said("I rather think.", "exit_format"), seen("Say it properly."), said("ok"))
    (one,) = found.trajectories
    assert one.tools == ()
    assert reasons(found)["actions that do not stand in the reply's text (it stays as it is)"] == 1


def test_demonstrations_are_said_again_by_the_client_and_no_request_brought_them() -> None:
    found = run(
        SYSTEM, seen("how to do it", is_demo=True), said("Like so.\n```\nls\n```", "ls", is_demo=True),
        seen("b.py", is_demo=True), TASK, LISTING, seen("a.py"), said("Done."),
    )  # fmt: skip
    (one,) = found.trajectories
    assert one.requests == 2
    assert [json.loads(message)["role"] for message in one.turns[0].added] == ["user", "assistant", "user"]
    assert "b.py" in one.turns[0].added[2]
    assert "mend it" in one.turns[0].added[2]


def test_a_reply_that_only_a_step_tells_of_was_paid_for_and_is_shown_to_nobody() -> None:
    steps = [step(LISTING["content"]), step("gibberish"), step("Done.")]
    found = run(SYSTEM, TASK, LISTING, seen("a.py"), said("Done."), steps=steps)
    main, thrown = found.trajectories if found.trajectories[0].requests == 2 else found.trajectories[::-1]
    assert "gibberish" in thrown.turns[-1].reply
    assert thrown.turns[-1].added == main.turns[1].added
    assert (thrown.shared_turns, thrown.requests) == (1, 1)
    assert reasons(found)["replies that the history does not show"] == 1


def test_agents_have_conversations_of_their_own() -> None:
    other = {"agent": "helper"}
    found = run(
        SYSTEM, TASK, LISTING, {**seen("sum it up"), **other}, {**said("short"), **other}, seen("a.py"), said("Done."),
        steps=[step(LISTING["content"]), step("Done.")],
    )  # fmt: skip
    assert [(one.side_chain, one.requests) for one in found.trajectories] == [(False, 2), (True, 1)]
    assert not any("sum it up" in message for turn in found.trajectories[0].turns for message in turn.added)


def test_attempts_are_runs_of_their_own() -> None:
    attempt = {"history": [SYSTEM, TASK, LISTING], "trajectory": [step(LISTING["content"])], "info": {}}
    settings = json.dumps({"agent": {"model": {"name": "gpt-4o"}}})
    file = {"attempts": [attempt, attempt], "environment": "e", "replay_config": settings}
    found = read_bytes(json.dumps(file).encode(), name="t")
    assert [one.requests for one in found.trajectories] == [1, 1]
    assert {turn.model for one in found.trajectories for turn in one.turns} == {"gpt-4o"}
    assert (refused(found), unaccounted(found)) == ([], [])


@pytest.mark.parametrize(
    ("config", "model"),
    [
        pytest.param({"agent": {"model": {"name": "claude-x"}}}, "claude-x", id="an object"),
        pytest.param('{"agent": {"model": {"name": "claude-x"}}}', "claude-x", id="a text"),
        pytest.param({"agent": {"model": {"name": "replay"}}}, "unknown", id="a replay asks no model"),
        pytest.param("{", "unknown", id="broken"),
        pytest.param(None, "unknown", id="none"),
    ],
)
def test_the_model_is_that_of_the_settings(config: object, model: str) -> None:
    (one,) = run(TASK, said("ok"), replay_config=config).trajectories
    assert one.turns[0].model == model


def test_what_is_known_of_the_run_as_a_whole_is_no_requests_usage() -> None:
    found = run(TASK, said("ok"), info={"model_stats": {"tokens_sent": 9, "instance_cost": 1.0}})
    (turn,) = found.trajectories[0].turns
    assert (turn.usage.known, turn.usage.output, turn.reported_usd, turn.sent_at) == (False, None, None, None)
    assert reasons(found) == {"sums of tokens over a run (no request's own)": 1}


def test_requests_that_showed_less_than_the_history_are_counted() -> None:
    elided = {**seen("Old output: (1 line omitted)")}
    steps = [step(LISTING["content"], messages=[SYSTEM, TASK]), step("ok", query=[SYSTEM, TASK, LISTING, elided])]
    found = run(SYSTEM, TASK, LISTING, seen("a.py"), said("ok"), steps=steps)
    assert reasons(found)["requests that showed less than the history (a history processor)"] == 1
    assert "a.py" in found.trajectories[0].turns[1].added[0]


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"[]", id="a list"),
        pytest.param(b'{"trajectory": [], "history": []}', id="nothing in it"),
        pytest.param(b'{"trajectory": [{"x": 1}], "history": [{}]}', id="other steps"),
        pytest.param(b'{"attempts": "none"}', id="attempts of another kind"),
    ],
)
def test_anything_else_is_refused(raw: bytes) -> None:
    with pytest.raises(RecordingError, match="SWE-agent trajectory t"):
        read_bytes(raw, name="t")


def test_damaged_entries_are_counted_and_the_rest_goes_on() -> None:
    file = {
        "history": [SYSTEM, TASK, 7, LISTING, {"role": "oracle", "content": "x"}, {"content": "no role"}],
        "trajectory": [step(LISTING["content"]), None, {"response": 5}],
    }  # fmt: skip
    found = read_bytes(json.dumps(file).encode(), name="t")
    assert (refused(found), unaccounted(found)) == ([], [])
    assert (found.counts.unknown, found.counts.broken, found.trajectories[0].requests) == (2, 2, 1)


@pytest.mark.parametrize("actions", ["calls", "text"])
def test_real_files(shared: Path, actions: Actions) -> None:
    requests = 0
    for path in sorted((shared / "trajectories" / "dev" / "swe-agent").iterdir()):
        recorded = json.loads(path.read_bytes())
        assert recognises(recorded)
        found = read_file(path, actions=actions)
        assert (refused(found), unaccounted(found), found.counts.unknown, found.counts.broken) == ([], [], 0, 0)
        assert found.counts.objects == len(recorded["history"]) + len(recorded["trajectory"])
        everything = "".join(m for one in found.trajectories for t in one.turns for m in (*t.added, t.reply))
        for message in recorded["history"][1:-1]:
            content = message["content"]
            text = content if isinstance(content, str) else content[0]["text"]
            last = text.strip().splitlines()[-1] if text.strip() else ""
            assert json.dumps(last, ensure_ascii=False)[1:-1] in everything or last == "```"
        requests += sum(one.requests for one in found.trajectories)
    assert requests == 145
