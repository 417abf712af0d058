"""A pi session file becomes trajectories that show what each request showed, and what it cost."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pytest
from lab.recording import messages_bytes, objections

from coldpress.lab.importers.chains import Imported
from coldpress.lab.importers.dialogue import LOST_RESULT
from coldpress.lab.importers.pi import read_file, read_lines
from coldpress.lab.rebuild import requests
from coldpress.model.usage import Usage
from coldpress.testing.anthropic_rules import check_messages_request

START = 1767225600
Json = dict[str, object]


@dataclass
class Session:
    """A session file under construction; every method returns the name of the entry it wrote."""

    version: int = 3
    lines: list[str] = field(default_factory=list)
    last: str | None = None

    def __post_init__(self) -> None:
        header: Json = {"type": "session", "id": "s1", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/w"}
        self.lines.append(json.dumps({**header, "version": self.version} if self.version > 1 else header))

    def write(self, kind: str, *, parent: str | None = "last", **fields: object) -> str:
        name = f"e{len(self.lines)}"
        tree = {"id": name, "parentId": self.last if parent == "last" else parent} if self.version > 1 else {}
        stamp = f"2026-01-01T00:00:{len(self.lines):02d}Z"
        self.lines.append(json.dumps({"type": kind, **tree, "timestamp": stamp, **fields}))
        self.last = name
        return name

    def user(self, text: str, **fields: object) -> str:
        return self.write("message", message={"role": "user", "content": [{"type": "text", "text": text}]}, **fields)

    def result(self, call: str, text: str = "out", *, failed: bool = False, **fields: object) -> str:
        message = {"role": "toolResult", "toolCallId": call, "toolName": "bash", "isError": failed}
        return self.write("message", message={**message, "content": [{"type": "text", "text": text}]}, **fields)

    def reply(self, *blocks: Json, stop: str = "stop", usage: Json | None = None, **fields: object) -> str:
        counts = {"input": 3, "cacheRead": 100, "cacheWrite": 20, "output": 7, "cost": {"total": 0.5}}
        message = {
            "role": "assistant",
            "content": list(blocks),
            "model": "claude-x",
            "usage": counts if usage is None else usage,
            "stopReason": stop,
            "timestamp": (START + len(self.lines)) * 1000 - 250,
            "responseId": f"msg_{len(self.lines)}",
        }
        return self.write("message", message=message, **fields)

    def says(self, words: str, **fields: object) -> str:
        return self.reply(text(words), **fields)  # type: ignore[arg-type]

    def calls(self, *ids: str, stop: str = "toolUse", **fields: object) -> str:
        return self.reply(*(call(one) for one in ids), stop=stop, **fields)  # type: ignore[arg-type]

    def read(self) -> Imported:
        return read_lines(self.lines, name="run")


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def call(name: str, tool: str = "bash") -> Json:
    return {"type": "toolCall", "id": name, "name": tool, "arguments": {"command": "ls"}}


def content(message: str) -> list[Json]:
    blocks = json.loads(message)["content"]
    assert isinstance(blocks, list)
    return blocks


def words(messages: tuple[str, ...]) -> list[object]:
    return [block.get("text") for message in messages for block in content(message)]


def roles(messages: tuple[str, ...]) -> list[str]:
    return [json.loads(message)["role"] for message in messages]


def skipped(found: Imported) -> dict[str, int]:
    return dict(found.counts.skipped)


NOTHING: Json = {"input": 0, "cacheRead": 0, "cacheWrite": 0, "output": 0, "cost": {"total": 0}}

both_versions = pytest.mark.parametrize("version", [1, 3])


@both_versions
def test_a_run_becomes_turns_with_calls_results_usage_times_and_cost(version: int) -> None:
    session = Session(version)
    session.user("do it")
    session.calls("c1", "c2")
    session.result("c1", "one")
    session.result("c2", "two", failed=True)
    session.says("done")
    (run,) = session.read().trajectories
    first, second = run.turns
    assert (run.name, run.session, run.side_chain, run.shared_turns) == ("run", "s1", False, 0)
    assert content(first.added[0]) == [text("do it")]
    assert content(first.reply)[1] == {"type": "tool_use", "id": "c2", "name": "bash", "input": {"command": "ls"}}
    assert content(second.added[0]) == [
        {"tool_use_id": "c1", "type": "tool_result", "content": "one", "is_error": False},
        {"tool_use_id": "c2", "type": "tool_result", "content": "two", "is_error": True},
    ]
    assert first.usage == Usage(fresh=3, read=100, write_short=20, output=7)
    assert (first.sent_at, first.replied_at) == (START + 1.75, START + 2)
    assert (first.model, first.request_id, first.tools) == ("claude-x", "msg_2", ("bash", "bash"))
    assert first.reported_usd == 0.5


def test_a_request_was_sent_after_the_last_result_even_where_pi_noted_it_earlier() -> None:
    session = Session()
    session.user("go", timestamp="2026-01-01T00:00:01.900Z")
    session.says("done")
    assert session.read().trajectories[0].turns[0].sent_at == pytest.approx(START + 1.9)


@pytest.mark.parametrize(
    ("usage", "stop", "expected", "usd"),
    [
        pytest.param(NOTHING, "stop", Usage(), None, id="zeros mean that nothing was reported"),
        pytest.param({}, "stop", Usage(), None, id="no usage is unknown, not zero"),
        pytest.param(
            {"input": 5, "cacheRead": 0, "cacheWrite": 0, "output": 1, "cost": {"total": 0.1}},
            "aborted",
            Usage(fresh=5, read=0, write_short=0),
            0.1,
            id="output of a stopped reply is not final",
        ),
        pytest.param(
            {"input": 5, "output": 1, "cost": {"total": 0}},
            "stop",
            Usage(fresh=5, output=1),
            None,
            id="a cost of zero is the lack of a price",
        ),
    ],
)
def test_usage_and_cost(usage: Json, stop: str, expected: Usage, usd: float | None) -> None:
    session = Session(1)
    session.user("a")
    session.says("b", usage=usage, stop=stop)
    (turn,) = session.read().trajectories[0].turns
    assert (turn.usage, turn.reported_usd) == (expected, usd)


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        pytest.param(
            {"type": "thinking", "thinking": "hm", "thinkingSignature": "c2ln"},
            [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}],
            id="signed thinking is carried",
        ),
        pytest.param({"type": "thinking", "thinking": "hm"}, [text("hm")], id="unsigned thinking is sent as text"),
        pytest.param({"type": "thinking", "thinking": " "}, [], id="empty thinking is left out"),
        pytest.param(
            {"type": "thinking", "thinking": "", "thinkingSignature": "xyz", "redacted": True},
            [{"type": "redacted_thinking", "data": "xyz"}],
            id="pi's redacted thinking is carried",
        ),
        pytest.param(
            {"type": "redactedThinking", "data": "xyz"},
            [{"type": "redacted_thinking", "data": "xyz"}],
            id="OMP's redacted thinking is carried",
        ),
        pytest.param({"type": "novelty"}, [], id="an unknown block is left out"),
    ],
)
def test_blocks_of_a_reply(block: Json, expected: list[Json]) -> None:
    session = Session()
    session.user("a")
    session.reply(block, text("said"))
    found = session.read()
    assert content(found.trajectories[0].turns[0].reply) == [*expected, text("said")]
    assert bool(found.counts.skipped) == (not expected or expected == [text("hm")])


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        pytest.param({"role": "user", "content": "plain"}, "plain", id="a string is a text"),
        pytest.param({"role": "developer", "content": "rule"}, "rule", id="a developer message is the user's"),
        pytest.param({"role": "custom", "content": [text("hook")]}, "hook", id="an extension's message"),
        pytest.param(
            {"role": "bashExecution", "command": "ls /x", "output": "no such", "exitCode": 2},
            "The user ran this:\nls /x\n\nOutput:\nno such\n\n(exit code 2)",
            id="a command of the user",
        ),
        pytest.param(
            {"role": "pythonExecution", "code": "1/1", "output": "", "exitCode": 0},
            "The user ran this:\n1/1\n\nOutput:\n(none)",
            id="code of the user, without output",
        ),
        pytest.param(
            {"role": "fileMention", "files": [{"path": "a.py", "content": "x = 1"}]}, "a.py\nx = 1", id="a file"
        ),
    ],
)
def test_what_the_client_says(message: Json, expected: str) -> None:
    session = Session()
    session.write("message", message=message)
    session.says("ok")
    assert words(session.read().trajectories[0].turns[0].added) == [expected]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        pytest.param('{"type":"label","id":"z","parentId":"e1"}', "label lines (never sent)", id="a known kind"),
        pytest.param(
            '{"type":"novelty","id":"z","parentId":"e1"}', "lines of an unknown kind: novelty", id="a new kind"
        ),
        pytest.param("{broken", "text that is not JSON", id="a line that is not JSON"),
        pytest.param(
            '{"type":"message","id":"z","parentId":"e1","message":{"role":"oracle","content":"x"}}',
            "messages of an unknown role: oracle",
            id="an unknown role",
        ),
        pytest.param(
            '{"type":"message","id":"z","parentId":"e1","message":{"role":"bashExecution","excludeFromContext":true}}',
            "commands that the user kept out of the conversation",
            id="a command that is kept from the model",
        ),
    ],
)
def test_what_is_left_out_is_counted_and_does_not_break_the_path(line: str, reason: str) -> None:
    session = Session()
    session.user("a")
    session.lines.append(line)
    session.last = "e1" if "broken" in line else "z"
    session.says("b")
    found = session.read()
    assert words(found.trajectories[0].turns[0].added) == ["a"]
    assert skipped(found) == {reason: 1}


def test_omps_title_slot_and_init_line_are_no_messages() -> None:
    session = Session()
    session.lines.insert(0, '{"type":"title","v":1,"title":"t","updatedAt":"2026-01-01T00:00:00Z","pad":" "}')
    session.last = None
    session.write("session_init", systemPrompt="You are", task="x", tools=["bash"])
    session.user("a")
    session.says("b")
    (run,) = session.read().trajectories
    assert (run.session, words(run.turns[0].added)) == ("s1", ["a"])


def test_a_text_that_is_written_down_late_is_the_first_in_a_new_process() -> None:
    session = Session()
    for late in (9, 8, 20, 9, 4000, 14):
        text_made = (START + len(session.lines)) * 1000 - late
        session.write("message", message={"role": "user", "content": "go on", "timestamp": text_made})
        session.reply(text("done"))
    # Of the usual 9 ms 14 is no more than a delay; after 4 s a text had waited for the model.
    turns = read_lines(session.lines, name="run").trajectories[0].turns
    assert [turn.restarted for turn in turns] == [False, False, True, False, False, False]


def test_a_start_counts_once_although_a_compaction_shows_its_text_again() -> None:
    session = Session()
    names = []
    for late in (9, 9, 20):
        text_made = (START + len(session.lines)) * 1000 - late
        names.append(session.write("message", message={"role": "user", "content": "go on", "timestamp": text_made}))
        session.reply(text("done"))
    session.write("compaction", summary="short", firstKeptEntryId=names[2])
    session.user("and now")
    session.reply(text("done"))
    found = read_lines(session.lines, name="run").trajectories
    assert [[turn.restarted for turn in line.turns] for line in found] == [[False, False, True], [False]]


def test_a_fork_shares_what_stands_before_it() -> None:
    session = Session()
    session.user("a")
    first = session.says("b")
    session.user("c")
    session.says("d")
    session.user("other", parent=first)
    session.says("e")
    main, fork = session.read().trajectories
    assert [(run.requests, run.shared_turns) for run in (main, fork)] == [(2, 0), (1, 1)]
    assert fork.turns[0] == main.turns[0]
    assert words(fork.turns[1].added) == ["other"]


@both_versions
def test_a_compaction_begins_with_the_summary_and_what_it_kept(version: int) -> None:
    session = Session(version)
    session.user("old")
    session.calls("c1")
    session.result("c1")
    kept = session.user("kept question")
    session.calls("c2")
    session.result("c2", "kept result")
    session.says("kept answer")
    where: Json = {"firstKeptEntryIndex": 4} if version == 1 else {"firstKeptEntryId": kept}
    session.write("compaction", summary="what was", tokensBefore=9, **where)
    session.user("new")
    session.says("done")
    before, after = session.read().trajectories
    assert (before.requests, after.requests, after.shared_turns, after.session) == (3, 1, 0, "s1")
    added = after.turns[0].added
    assert roles(added) == ["user", "assistant", "user", "assistant", "user"]
    assert words(added[:1]) == ["Summary of what was said before:\n\nwhat was", "kept question"]
    assert content(added[2])[0]["content"] == "kept result"
    assert words(added[3:]) == ["kept answer", "new"]
    (body,) = requests(after)
    assert objections(body) == []


def test_a_second_compaction_keeps_nothing_of_the_first_summary() -> None:
    session = Session()
    session.user("a")
    session.says("b")
    kept = session.user("c")
    session.says("d")
    session.write("compaction", summary="one", firstKeptEntryId=kept)
    session.user("e")
    session.says("f")
    session.write("compaction", summary="two", firstKeptEntryId=kept)
    session.user("g")
    session.says("h")
    last = session.read().trajectories[-1]
    assert words(last.turns[0].added) == ["Summary of what was said before:\n\ntwo", "c", "d", "e", "f", "g"]


def test_a_compaction_whose_first_kept_entry_is_gone_keeps_nothing_and_is_counted() -> None:
    session = Session()
    session.user("a")
    session.says("b")
    session.write("compaction", summary="s", firstKeptEntryId="gone")
    session.user("c")
    session.says("d")
    found = session.read()
    assert words(found.trajectories[-1].turns[0].added) == ["Summary of what was said before:\n\ns", "c"]
    assert skipped(found) == {"compactions that kept nothing": 1}


def test_a_reset_forgets_what_stands_above() -> None:
    session = Session()
    session.user("a")
    session.says("b")
    session.write("reset_boundary")
    session.user("c")
    session.says("d")
    _, fresh = session.read().trajectories
    assert (words(fresh.turns[0].added), fresh.shared_turns) == (["c"], 0)


def test_a_stopped_reply_is_a_line_of_its_own_and_the_run_goes_on_without_it() -> None:
    session = Session()
    session.user("a")
    session.says("b")
    session.user("c")
    session.says("half", stop="aborted")
    session.user("d")
    session.says("e")
    main, stopped = session.read().trajectories
    assert [words((turn.reply,)) for turn in main.turns] == [["b"], ["e"]]
    assert words(main.turns[1].added) == ["c", "d"]
    assert (stopped.requests, stopped.shared_turns, words((stopped.turns[1].reply,))) == (1, 1, ["half"])


def test_before_version_2_a_stopped_reply_stays_without_the_calls_that_never_ran() -> None:
    session = Session(1)
    session.user("a")
    session.reply(text("half"), call("c1"), stop="aborted")
    session.user("b")
    session.says("c")
    found = session.read()
    (run,) = found.trajectories
    assert content(run.turns[0].reply) == [text("half")]
    assert words(run.turns[1].added) == ["b"]
    assert LOST_RESULT not in "".join(run.turns[1].added)


def test_before_version_2_a_stopped_reply_of_calls_alone_is_shown_to_nobody() -> None:
    session = Session(1)
    session.user("a")
    session.calls("c1", stop="aborted")
    session.user("b")
    session.says("c")
    stopped, run = session.read().trajectories
    assert (stopped.turns[0].tools, words(run.turns[0].added)) == (("bash",), ["a", "b"])


def test_before_version_2_a_stopped_reply_that_was_tried_again_at_once_is_not_shown() -> None:
    session = Session(1)
    session.user("a")
    session.says("half", stop="error")
    session.says("whole")
    session.user("b")
    session.says("c")
    failed, run = session.read().trajectories
    assert [words((turn.reply,)) for turn in run.turns] == [["whole"], ["c"]]
    assert (words(run.turns[0].added), failed.requests) == (["a"], 1)


def test_a_request_that_was_stopped_before_any_reply_is_no_turn() -> None:
    session = Session()
    session.user("a")
    session.reply(stop="aborted", usage=NOTHING)
    session.user("b")
    session.says("c")
    found = session.read()
    (run,) = found.trajectories
    assert (run.requests, words(run.turns[0].added)) == (1, ["a", "b"])
    assert skipped(found) == {"replies that say nothing": 1}


def test_a_call_without_a_result_gets_a_failed_one_and_is_counted() -> None:
    session = Session()
    session.user("a")
    session.calls("c1")
    session.user("b")
    session.says("c")
    found = session.read()
    (block, _) = content(found.trajectories[0].turns[1].added[0])
    assert block == {"tool_use_id": "c1", "type": "tool_result", "content": LOST_RESULT, "is_error": True}
    assert skipped(found) == {"calls without a result (a failed one stands in)": 1}


def test_ids_that_repeat_or_do_not_fit_are_written_anew_and_stay_paired() -> None:
    session = Session()
    session.user("a")
    for _ in range(2):
        session.calls("functions.bash:0|fc_1")
        session.result("functions.bash:0|fc_1")
    session.says("done")
    found = session.read()
    (run,) = found.trajectories
    assert skipped(found) == {}
    assert [content(turn.reply)[0]["id"] for turn in run.turns[:2]] == [
        "functions_bash_0_fc_1",
        "functions_bash_0_fc_1-2",
    ]
    assert check_messages_request(json.loads(list(requests(run))[-1])) is None


def test_images_are_carried_and_those_kept_elsewhere_are_named() -> None:
    session = Session()
    image = {"type": "image", "data": "iVBORw0=", "mimeType": "image/png"}
    session.user("look")
    session.calls("c1")
    message = {"role": "toolResult", "toolCallId": "c1", "content": [text("shot"), image], "isError": False}
    session.write("message", message=message)
    session.says("seen")
    session.write("message", message={"role": "user", "content": [{**image, "data": "blob:sha256:00"}]})
    session.says("?")
    _, second, third = session.read().trajectories[0].turns
    source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0="}
    assert content(second.added[0])[0]["content"] == [text("shot"), {"type": "image", "source": source}]
    assert words(third.added) == ["(an image that is kept outside of the recording)"]


def test_a_parent_that_is_missing_is_the_line_before() -> None:
    session = Session()
    session.user("a")
    session.says("b", parent="gone")
    found = session.read()
    assert words(found.trajectories[0].turns[0].added) == ["a"]
    assert skipped(found) == {"parents that are not in the file (the line before stands in)": 1}


def test_read_file_names_trajectories_after_the_file(tmp_path: Path) -> None:
    session = Session()
    session.user("a")
    session.says("b")
    path = tmp_path / "session-9.jsonl"
    path.write_text("\n".join(session.lines), encoding="utf-8")
    assert [run.name for run in read_file(path).trajectories] == ["session-9"]


@pytest.fixture(scope="module")
def path(shared: Path) -> Path:
    """The one real session at hand, with 13 requests that were stopped before any reply."""
    return shared / "trajectories" / "dev" / "pi" / "pi-before-compaction.jsonl"


@pytest.fixture(scope="module")
def found(path: Path) -> Imported:
    return read_file(path)


def test_real_turns_usage_and_cost_are_those_of_the_file(path: Path, found: Imported) -> None:
    reported = [
        line["message"]["usage"]
        for line in map(json.loads, path.read_text(encoding="utf-8").split("\n")[:-1])
        if line["type"] == "message" and line["message"]["role"] == "assistant"
    ]
    calls = [usage for usage in reported if usage["totalTokens"]]
    turns = [turn for run in found.trajectories for turn in run.turns[run.shared_turns :]]
    assert len(turns) == len(calls) == 471
    for bucket, name in (("fresh", "input"), ("read", "cacheRead"), ("write_short", "cacheWrite")):
        assert sum(getattr(turn.usage, bucket) for turn in turns) == sum(usage[name] for usage in calls)
    assert sum(turn.reported_usd or 0 for turn in turns) == pytest.approx(sum(u["cost"]["total"] for u in reported))
    assert skipped(found)["replies that say nothing"] == len(reported) - len(calls) == 13


def test_real_requests_are_valid_and_grow(found: Imported) -> None:
    assert [(run.requests, run.shared_turns) for run in found.trajectories] == [
        (171, 0),
        (122, 0),
        (1, 7),
        (177, 0),
    ]
    for run in found.trajectories:
        bodies = list(requests(run))
        assert check_messages_request(json.loads(bodies[-1])) is None
        assert [objections(body) for body in (bodies[0], bodies[-1])] == [[], []]
        assert all(messages_bytes(b).startswith(messages_bytes(a)) for a, b in pairwise(bodies))


def test_real_requests_leave_after_the_reply_before_them(found: Imported) -> None:
    for run in found.trajectories:
        for before, after in pairwise(run.turns):
            assert before.sent_at and before.replied_at and after.sent_at
            assert before.sent_at <= before.replied_at <= after.sent_at
