"""Plain chats in every shape they are kept in: lists, objects, lines, benchmark results, bodies of requests."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldpress.lab.importers.chains import Imported
from coldpress.lab.importers.message_lists import read_file, read_lines, read_value, recognises
from coldpress.model.errors import RecordingError

from .accounts import refused, unaccounted

Json = dict[str, Any]

USER: Json = {"role": "user", "content": "hi"}
YES: Json = {"role": "assistant", "content": "yes"}
SYSTEM: Json = {"role": "system", "content": "be short"}
PNG = "data:image/png;base64,iVBORw0KGgo="


def calling(call_id: str, tool: str = "look", text: str | None = None, **arguments: object) -> Json:
    function = {"name": tool, "arguments": json.dumps(arguments)}
    return {
        "role": "assistant", "content": text, "tool_calls": [{"id": call_id, "type": "function", "function": function}]
    }  # fmt: skip


def result(call_id: str, content: object = "out") -> Json:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def sound(found: Imported) -> Imported:
    assert refused(found) == []
    assert unaccounted(found) == []
    return found


def chat(*messages: Json, **beside: object) -> Imported:
    return sound(read_value({"messages": list(messages), **beside} if beside else list(messages), name="c"))


def shown(found: Imported, turn: int = -1) -> list[Json]:
    """The blocks that the client added in front of a reply, and the reply's."""
    one = found.trajectories[0].turns[turn]
    return [block for message in (*one.added, one.reply) for block in json.loads(message)["content"]]


def reasons(found: Imported) -> dict[str, int]:
    return dict(found.counts.skipped)


ANTHROPIC: list[Json] = [
    {"role": "user", "content": [{"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}]},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "t1", "name": "look", "input": {"at": 1}},
        ],
    },
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "out", "is_error": True}]},
    {"role": "assistant", "content": "Done."},
]
OPENAI = [SYSTEM, USER, calling("t1", text="I look.", at=1), result("t1"), {"role": "assistant", "content": "Done."}]


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(OPENAI, id="a list of Chat messages"),
        pytest.param({"messages": OPENAI}, id="an object with messages"),
        pytest.param([{"messages": OPENAI}], id="a list of objects"),
        pytest.param([OPENAI], id="a list of lists"),
        pytest.param([{"task_id": 3, "reward": 1.0, "traj": OPENAI, "trial": 0}], id="tau-bench results"),
        pytest.param({"task_id": 3, "reward": 1.0, "traj": OPENAI, "trial": 0}, id="one tau-bench result"),
        pytest.param({"messages": ANTHROPIC, "system": "be short"}, id="Anthropic messages with the system beside"),
        pytest.param({"messages": ANTHROPIC, "system": [{"type": "text", "text": "be short"}]}, id="system in blocks"),
    ],
)
@pytest.mark.parametrize("kept", ["value", "laid out", "line", "lines with blank ones"])
def test_one_chat_in_every_shape(tmp_path: Path, value: object, kept: str) -> None:
    path = tmp_path / "chat.json"
    text = json.dumps(value, indent=2 if kept == "laid out" else None)
    path.write_text({"line": text + "\n", "lines with blank ones": f"\n{text}\n\n"}.get(kept, text), encoding="utf-8")
    assert recognises(value)
    found = sound(read_file(path))
    (one,) = found.trajectories
    assert [turn.tools for turn in one.turns] == [("look",), ()]
    texts = [block["text"] for turn in (0, 1) for block in shown(found, turn) if block["type"] == "text"]
    assert texts == ["hi", "I look.", "Done."]
    (call,) = [block for block in shown(found, 0) if block["type"] == "tool_use"]
    (answer,) = [block for block in shown(found, 1) if block["type"] == "tool_result"]
    assert (call["input"], answer["tool_use_id"], answer["content"]) == ({"at": 1}, call["id"], "out")
    assert found.head is not None
    assert (found.head.system, len(found.head.tools)) == ("be short", 1)
    assert [(turn.usage.known, turn.sent_at, turn.replied_at) for turn in one.turns] == [(False, None, None)] * 2
    assert b"cache_control" not in "".join(one.turns[0].added).encode()


def test_lines_of_chats_and_lines_of_messages() -> None:
    chats = sound(read_lines([json.dumps({"messages": [USER, YES]}), json.dumps([USER, YES])], name="c"))
    assert [(one.name, one.requests) for one in chats.trajectories] == [("c", 1), ("c#2", 1)]
    single = sound(read_lines([json.dumps(message) for message in OPENAI], name="c"))
    assert [one.requests for one in single.trajectories] == [2]
    assert (single.counts.lines, dict(single.counts.kinds)["message:assistant"]) == (5, 2)


def test_damaged_lines_are_counted_and_the_rest_is_read(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    good = json.dumps({"messages": [USER, YES]}).encode()
    path.write_bytes(b"\n".join([b'{"messages": [', good, b"\xff\xfe", b"7", b'{"note": 1}', good + good]))
    found = sound(read_file(path))
    assert len(found.trajectories) == 3
    assert (found.counts.broken, found.counts.unknown) == (3, 1)


@pytest.mark.parametrize(
    ("definition", "beside"),
    [
        pytest.param(
            {"type": "function", "function": {"name": "look", "description": "d", "parameters": {"type": "object"}}},
            "tools", id="Chat",
        ),
        pytest.param({"name": "look", "description": "d", "parameters": {"type": "object"}}, "functions", id="of 2023"),
        pytest.param({"name": "look", "description": "d", "input_schema": {"type": "object"}}, "tools", id="Anthropic"),
    ],
)  # fmt: skip
def test_recorded_definitions_of_tools_become_the_heads(definition: Json, beside: str) -> None:
    found = chat(SYSTEM, USER, calling("t1"), result("t1"), YES, **{beside: [definition]})
    assert found.head is not None
    assert [json.loads(tool) for tool in found.head.tools] == [
        {"name": "look", "description": "d", "input_schema": {"type": "object"}}
    ]


def test_a_server_tool_keeps_its_definition() -> None:
    search = {"type": "web_search_20250305", "name": "web_search", "max_uses": 3}
    found = chat(USER, YES, tools=[search], system="s")
    assert found.head is not None
    assert [json.loads(tool) for tool in found.head.tools] == [search]


def test_system_messages_after_the_first_are_said_as_the_users() -> None:
    found = chat(SYSTEM, {"role": "developer", "content": "and kind"}, USER, YES, SYSTEM, USER, YES)
    assert found.head is not None
    assert found.head.system == "be short"
    assert [block["text"] for block in shown(found, 0)] == ["and kind", "hi", "yes"]
    assert [block["text"] for block in shown(found, 1)] == ["be short", "hi", "yes"]
    assert reasons(found) == {"system messages after the first (said as the user's)": 2}


def test_a_function_call_of_2023_finds_its_result_by_name() -> None:
    call = {"role": "assistant", "content": None, "function_call": {"name": "look", "arguments": '{"at": 1}'}}
    found = chat(USER, call, {"role": "function", "name": "look", "content": "out"}, call,
                 {"role": "function", "name": "look", "content": "again"}, YES)  # fmt: skip
    ids = [shown(found, turn)[-1]["id"] for turn in (0, 1)]
    answers = [shown(found, turn)[0] for turn in (1, 2)]
    assert [(answer["tool_use_id"], answer["content"]) for answer in answers] == [(ids[0], "out"), (ids[1], "again")]
    assert len(set(ids)) == 2


def test_ids_that_are_used_again_are_told_apart() -> None:
    found = chat(USER, calling("call_0"), result("call_0", "one"), calling("call_0"), result("call_0", "two"), YES)
    answers = [shown(found, turn)[0] for turn in (1, 2)]
    assert [answer["content"] for answer in answers] == ["one", "two"]
    assert answers[0]["tool_use_id"] != answers[1]["tool_use_id"]


@pytest.mark.parametrize(
    ("part", "expected", "reason"),
    [
        pytest.param(
            {"type": "image_url", "image_url": {"url": PNG}},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}},
            None, id="an image in the file",
        ),
        pytest.param(
            {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
            {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
            None, id="an image's address",
        ),
        pytest.param(
            {"type": "image_url", "image_url": {"url": "<removed>"}}, None, "images that are not in the file",
            id="an image that was taken out",
        ),
        pytest.param(
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aa"}},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aa"}},
            None, id="an image in Anthropic's form",
        ),
        pytest.param(
            {"type": "input_audio", "input_audio": {"data": "aa"}}, None, "content of an unknown kind: input_audio",
            id="sound",
        ),
        pytest.param({"type": "text", "text": " "}, None, "text blocks without text", id="blank text"),
        pytest.param({"type": "input_text", "text": "x"}, {"type": "text", "text": "x"}, None, id="by another name"),
        pytest.param(
            {"type": "tool_use", "id": "t", "name": "look", "input": {}}, None,
            "calls and thinking in a message of the client", id="a call in the client's name",
        ),
    ],
)  # fmt: skip
def test_parts_of_content(part: Json, expected: Json | None, reason: str | None) -> None:
    found = chat({"role": "user", "content": [{"type": "text", "text": "see"}, part]}, YES)
    assert shown(found)[1:-1] == ([] if expected is None else [expected])
    assert reasons(found) == ({} if reason is None else {reason: 1})


def test_results_may_hold_parts() -> None:
    parts = [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": PNG}}]
    found = chat(USER, calling("t"), result("t", parts), YES)
    assert [part["type"] for part in shown(found)[0]["content"]] == ["text", "image"]


@pytest.mark.parametrize(
    ("messages", "requests", "reason"),
    [
        pytest.param([YES, USER, YES], 1, "replies to nothing (said again by the client)", id="begins with a greeting"),
        pytest.param([USER, YES, YES], 1, "replies in several messages (made into one)", id="a reply in two messages"),
        pytest.param([USER, YES, USER], 1, "client messages that no reply follows", id="ends with the client"),
        pytest.param(
            [USER, calling("t"), USER, YES], 2, "calls without a result (a failed one stands in)", id="unanswered"
        ),
        pytest.param([USER, result("t"), YES], 1, "tool results without their call", id="a result without a call"),
        pytest.param(
            [result("t"), YES], 1, "words of the client that are not recorded (a note stands in)",
            id="nothing but a result without a call",
        ),
        pytest.param([USER, {**YES, "content": ""}, USER, YES], 1, "messages that say nothing", id="empty"),
        pytest.param([USER, {**YES, "role": "critic"}, YES], 1, "messages of an unknown role: critic", id="role"),
        pytest.param(
            [USER, {**YES, "reasoning_content": "hm"}], 1, "reasoning that was not sent again", id="reasoning beside"
        ),
        pytest.param(
            [USER, {**YES, "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "y"}]}],
            1, "thinking blocks without a signature", id="thinking without a signature",
        ),
        pytest.param(
            [USER, {"role": "assistant", "tool_calls": [{"id": "t", "function": {"name": "x", "arguments": "{"}}],
                    "content": None}, result("t"), YES],
            2, "arguments that are no JSON object (kept as text)", id="broken arguments",
        ),
    ],
)  # fmt: skip
def test_what_is_odd_is_counted_and_the_requests_stay_valid(messages: list[Json], requests: int, reason: str) -> None:
    found = chat(*messages, note="beside")
    assert sum(one.requests for one in found.trajectories) == requests
    assert reasons(found)[reason] == 1


def test_usage_model_and_time_where_a_message_bears_them() -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}
    told = {**YES, "usage": usage, "model": "gpt-x", "id": "r1", "timestamp": "2026-01-01T00:00:02Z"}
    found = chat({**USER, "timestamp": 1767225600.5}, told, USER, YES, model="m")
    first, second = found.trajectories[0].turns
    assert (first.usage.fresh, first.usage.read, first.usage.output) == (6, 4, 2)
    assert (first.model, first.request_id) == ("gpt-x", "r1")
    assert (first.sent_at, first.replied_at) == (1767225600.5, 1767225602.0)
    assert (second.model, second.usage.known, second.usage.output) == ("m", False, None)


def bodies(*lists: list[Json], **beside: object) -> Imported:
    return sound(read_lines([json.dumps({"model": "m", "messages": found, **beside}) for found in lists], name="b"))


def test_bodies_that_continue_each_other_are_one_conversation() -> None:
    marked = {"role": "user", "content": [{"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}]}
    found = bodies([marked], [USER, YES, USER], [USER, YES, USER, YES, USER])
    (one,) = found.trajectories
    assert one.requests == 2
    assert dict(found.counts.kinds) == {"record": 3, "message:user": 3, "message:assistant": 2}
    assert reasons(found) == {"client messages that no reply follows": 1}
    assert one.turns[0].model == "m"


def test_bodies_of_two_conversations_at_once_and_a_fork() -> None:
    other = {"role": "user", "content": "else"}
    no = {"role": "assistant", "content": "no"}
    found = bodies([USER], [other], [USER, YES, other], [other, YES, USER], [USER, YES, other, no, USER],
                   [USER, YES, USER, no, USER])  # fmt: skip
    assert [(one.requests, one.shared_turns) for one in found.trajectories] == [(2, 0), (1, 0), (1, 1)]


def test_heads_that_differ_are_kept_for_each_conversation() -> None:
    lines = [{"model": "m", "system": text, "messages": [USER, YES, {**USER, "content": text}]} for text in ("a", "b")]
    first, second = lines
    tools = [{"name": "look", "input_schema": {"type": "object"}}]
    second = {**second, "tools": tools, "messages": [{**USER, "content": "else"}, calling("t"), result("t"), YES, USER]}
    found = sound(read_lines([json.dumps(first), json.dumps(second)], name="b"))
    assert [head and head.system for head in found.heads] == ["a", "b"]
    assert found.head is not None
    assert (found.head.system, len(found.head.tools)) == ("b", 1)


def test_the_files_head_has_everybodys_tools_and_the_own_definition_counts() -> None:
    def tool(name: str, description: str) -> Json:
        return {"name": name, "description": description, "input_schema": {"type": "object"}}

    short = {"model": "m", "system": "a", "messages": [USER, YES], "tools": [tool("look", "a's"), tool("cut", "a's")]}
    long = {"model": "m", "system": "b", "messages": [USER, YES, USER, YES], "tools": [tool("look", "b's")]}
    found = sound(read_lines([json.dumps(short), json.dumps(long)], name="b"))
    assert found.head is not None
    told = {json.loads(text)["name"]: json.loads(text)["description"] for text in found.head.tools}
    assert (found.head.system, told) == ("b", {"look": "b's", "cut": "a's"})


def test_a_record_that_nobody_answers_is_set_aside() -> None:
    found = bodies([USER, YES, USER], [{"role": "user", "content": "else"}])
    assert reasons(found) == {"client messages that no reply follows": 2, "records without a reply": 1}
    assert (found.counts.used, found.counts.set_aside) == (3, 3)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        pytest.param({}, "no list of messages", id="an empty object"),
        pytest.param({"messages": []}, "no list of messages", id="no messages"),
        pytest.param([], "no list of messages", id="an empty list"),
        pytest.param(None, "no list of messages", id="null"),
        pytest.param([USER], "no message in it is a model's reply", id="nobody answers"),
        pytest.param({"messages": [{"role": 1}]}, "no list of messages", id="no roles"),
    ],
)
def test_what_holds_no_chat_is_refused(value: object, words: str) -> None:
    with pytest.raises(RecordingError, match=words):
        read_value(value, name="c")


ROLES = st.sampled_from(["system", "user", "assistant", "tool", "function", "developer", "critic"])
PARTS = st.one_of(
    st.builds(lambda text: {"type": "text", "text": text}, st.text(max_size=3)),
    st.builds(lambda name: {"type": "tool_use", "id": name, "name": "look", "input": {}}, st.sampled_from("ab")),
    st.builds(lambda name: {"type": "tool_result", "tool_use_id": name, "content": "x"}, st.sampled_from("ab")),
    st.just({"type": "thinking", "thinking": "t", "signature": "s"}),
    st.just({"type": "image_url", "image_url": {"url": PNG}}),
    st.just("bare"),
    st.just({}),
)
CONTENT = st.one_of(st.none(), st.text(max_size=3), st.lists(PARTS, max_size=3))
FUNCTIONS = st.builds(lambda name: {"name": name, "arguments": "{}"}, st.text(max_size=2))
CALLS = st.lists(
    st.builds(lambda call_id, function: {"id": call_id, "function": function}, st.sampled_from("ab"), FUNCTIONS),
    max_size=2,
)
MESSAGES = st.lists(
    st.one_of(
        st.builds(lambda role, content: {"role": role, "content": content}, ROLES, CONTENT),
        st.builds(lambda content, calls: {**YES, "content": content, "tool_calls": calls}, CONTENT, CALLS),
        st.builds(result, st.sampled_from("ab")),
        st.just({"role": "assistant", "content": None, "function_call": {"name": "look", "arguments": ""}}),
    ),
    min_size=1, max_size=8,
)  # fmt: skip


@given(st.lists(MESSAGES, min_size=1, max_size=3), st.booleans())
def test_whatever_stands_in_a_chat_requests_are_valid_and_all_is_accounted_for(
    lists: list[list[Json]], as_bodies: bool
) -> None:
    beside = {"model": "m"} if as_bodies else {}
    try:
        found = read_lines([json.dumps({"messages": one, **beside}) for one in lists], name="c")
    except RecordingError:
        return
    sound(found)


def test_lines_are_read_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "big.jsonl"
    padding = "x" * 200_000
    line = json.dumps({"messages": [USER, YES], "note": padding})
    path.write_text(f"{line}\n" * 100, encoding="utf-8")
    tracemalloc.start()
    read_file(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < path.stat().st_size / 5


def test_real_results(shared: Path) -> None:
    requests = 0
    for path in sorted((shared / "trajectories" / "dev" / "tau-bench").iterdir()):
        recorded = json.loads(path.read_bytes())
        found = sound(read_file(path))
        (one,) = found.trajectories
        replies = [message for message in recorded["traj"] if message["role"] == "assistant"]
        assert one.requests == len(replies)
        assert found.counts.objects == len(recorded["traj"]) + 1
        names = [call["function"]["name"] for message in replies for call in message.get("tool_calls") or ()]
        assert [tool for turn in one.turns for tool in turn.tools] == names
        said = "".join(message for turn in one.turns for message in (*turn.added, turn.reply))
        outputs = [message["content"] for message in recorded["traj"] if message["role"] == "tool"]
        assert all(json.dumps(output, ensure_ascii=False) in said for output in outputs)
        requests += one.requests
    assert requests == 198


def test_real_bodies_of_clients_continue_each_other(shared: Path) -> None:
    counts: dict[str, list[int]] = {}
    for folder in sorted((shared / "captures").iterdir()):
        lines = []
        for path in sorted(folder.glob("turn*.json")) if folder.is_dir() else ():
            body = json.loads(path.read_bytes())["body"]
            if isinstance(body, dict) and "messages" in body:
                lines.append(json.dumps(body))
        if lines:
            found = sound(read_lines(lines, name=folder.name))
            counts[folder.name] = [one.requests for one in found.trajectories]
    assert counts["claude-code"] == counts["pi-chat"] == counts["pi-anthropic"] == [2]
    assert counts["claude-code-subagent"] == [2, 1]
