"""Whatever goes, what stays is a conversation that its provider takes, with the task and the last turns in it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bodies import conversation
from hypothesis import given
from hypothesis import strategies as st
from strategies import STEPS, STYLES, Step, Style, anthropic_messages, anthropic_request, chat_messages, chat_request
from strategies import write as write_json

from coldpress.engine.pairs import turns
from coldpress.engine.plan import propose
from coldpress.engine.policy import Policy
from coldpress.engine.session import Session
from coldpress.engine.zones import Zones, evictable, kept_texts, zones
from coldpress.lab.importers.any import read_file
from coldpress.lab.rebuild import requests
from coldpress.model.conversation import Conversation, Text
from coldpress.testing.anthropic_rules import check_messages_request
from coldpress.testing.chat_rules import check_chat_request
from coldpress.wire.registry import FormatName

PLAIN = Style(seed=0, spaced=False, ascii_only=False, lone_surrogates=False)
Json = dict[str, Any]


def said(text: str, role: str = "user") -> Json:
    return {"role": role, "content": text}


def used(*ids: str, kind: str = "tool_use") -> Json:
    return {"role": "assistant", "content": [{"type": kind, "id": i, "name": "Bash", "input": {}} for i in ids]}


def came(*ids: str, kind: str = "tool_result", text: str | None = None) -> Json:
    blocks: list[Json] = [{"type": kind, "tool_use_id": i, "content": f"result {i}"} for i in ids]
    return {"role": "user", "content": [*blocks, *([{"type": "text", "text": text}] if text else [])]}


def called(*ids: str) -> Json:
    calls = [{"id": i, "type": "function", "function": {"name": "bash", "arguments": "{}"}} for i in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def gave(call: str) -> Json:
    return {"role": "tool", "tool_call_id": call, "content": f"result {call}"}


def read(messages: list[Json], name: FormatName) -> tuple[Conversation, Session]:
    body = anthropic_request(messages) if name == "anthropic" else chat_request(messages)
    return read_body(write_json(body, PLAIN), name)


def read_body(body: bytes, name: FormatName = "anthropic") -> tuple[Conversation, Session]:
    found = conversation(body, name)
    return found, propose(found, Session(), {}, Policy(()), "observe").session


def range_of(messages: list[Json], name: FormatName, keep_turns: int) -> tuple[int, int] | None:
    found, session = read(messages, name)
    return evictable(found, zones(found, session, keep_turns=keep_turns), floor=0)


def rebuilt(messages: list[Json], gone: tuple[int, int], carried: Sequence[int] = ()) -> list[Json]:
    return [*messages[: gone[0]], said("the summary"), *(messages[i] for i in carried), *messages[gone[1] :]]


def in_doubt(messages: list[Json], name: FormatName, gone: tuple[int, int]) -> list[int]:
    """The messages among those that go that are carried over whole."""
    found, session = read(messages, name)
    return [i for turn in turns(found, session.replies, *gone) if turn.doubtful for i in range(turn.start, turn.stop)]


def unmatched(messages: list[Json]) -> set[int]:
    """Places in memory of calls without a result and of results without a call; a result means the latest call."""
    latest: dict[str, int] = {}
    left: set[int] = set()
    for message in messages:
        answers = [message["tool_call_id"]] if message["role"] == "tool" else []
        for block in message["content"] if isinstance(message["content"], list) else ():
            kind = block.get("type", "")
            if kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
                latest[block["id"]] = id(block)
                left.add(id(block))
            elif kind.endswith("tool_result"):
                answers.append(block["tool_use_id"])
        for call in message.get("tool_calls", ()):
            latest[call["id"]] = id(call)
            left.add(id(call))
        for call_id in answers:
            if call_id in latest:
                left.discard(latest[call_id])
            else:
                left.add(id(message))
    return left


TASK = said("the task")
A1, A2, A3 = (used("a1"), came("a1")), (used("a2"), came("a2")), (used("a3"), came("a3"))
C1, C2, C3 = (called("c1"), gave("c1")), (called("c2"), gave("c2")), (called("c3"), gave("c3"))
TWO = (used("p1", "p2"), came("p1", "p2"))


@pytest.mark.parametrize(
    ("name", "messages", "expected"),
    [
        pytest.param("anthropic", [TASK, *A1, *A2, *A3], (1, 5), id="all turns but the last kept one go"),
        pytest.param("openai_chat", [TASK, *C1, *C2, *C3], (1, 5), id="so they do in Chat Completions"),
        pytest.param("anthropic", [TASK, *A1], None, id="nothing goes where there is only the kept turn"),
        pytest.param("anthropic", [TASK], None, id="nothing goes before the first reply"),
        pytest.param("openai_chat", [said("x", "system"), TASK, *C1, *C2], (2, 4), id="system and task stay"),
        pytest.param(
            "openai_chat",
            [TASK, called("c1", "c2"), gave("c2"), gave("c1"), *C3],
            (1, 4),
            id="P03 parallel results in another order go with their calls",
        ),
        pytest.param(
            "openai_chat",
            [TASK, called("c1", "c2"), gave("c1"), *C3, called("c4"), gave("c4")],
            (3, 5),
            id="P03 a parallel batch with one answer missing stays whole",
        ),
        pytest.param("anthropic", [TASK, *A1, *TWO, *A3], (1, 5), id="P03 a parallel batch goes whole"),
        pytest.param(
            "openai_chat",
            [TASK, said("thinking", "assistant"), called("c1"), gave("c1"), *C2],
            (1, 4),
            id="several assistant messages in a row are one reply",
        ),
        pytest.param(
            "openai_chat",
            [TASK, *C1, said("one", "assistant"), called("c2"), gave("c2")],
            (1, 3),
            id="the tail begins with the first message of its reply",
        ),
        pytest.param(
            "anthropic",
            [TASK, *A1, used("late"), said("wait"), *A2, came("late"), *A3],
            (1, 3),
            id="P01 a result that comes a turn late stays, and so does its call",
        ),
        pytest.param(
            "anthropic",
            [TASK, *A1, used("late"), said("wait"), said("ok", "assistant"), came("late")],
            (1, 3),
            id="P01 the tail reaches back to the call of a late result in it",
        ),
        pytest.param(
            "anthropic",
            [TASK, used("a1"), came("a1", text="x" * 900), *A2, came("a1"), *A3, used("a4"), came("a4")],
            (6, 8),
            id="P13 a second result that comes turns later stays, and so does the call it repeats",
        ),
        pytest.param(
            "anthropic",
            [TASK, *A1, said("done", "assistant"), came("z", text="keep this"), *A2, *A3, used("a4"), came("a4")],
            (1, 9),
            id="P07 a turn with a result without a call is in the range, to be carried over whole",
        ),
        pytest.param(
            "openai_chat",
            [TASK, *C1, said("on"), *C2, called("p"), *C3, called("c4"), gave("c4")],
            (1, 6),
            id="P09 a call that was never answered stays",
        ),
        pytest.param(
            "openai_chat",
            [TASK, *C1, gave("c1"), *C2, *C3, called("c4"), gave("c4")],
            (4, 8),
            id="P13 two results for one id stay with their call",
        ),
        pytest.param(
            "openai_chat",
            [TASK, called("d", "d"), gave("d"), gave("d"), *C2, *C3],
            (4, 6),
            id="calls that share an id stay",
        ),
        pytest.param(
            "openai_chat",
            [TASK, called("r"), gave("r"), called("r"), gave("r"), *C3],
            (1, 5),
            id="ids that begin anew every turn are beyond doubt",
        ),
        pytest.param(
            "anthropic",
            [
                TASK,
                {"role": "assistant", "content": [*came("s1", "s2", kind="web_search_tool_result")["content"]]},
                said("go on"),
                *A2,
                *A3,
            ],
            (3, 5),
            id="P05 results of server tools without their calls stay",
        ),
        pytest.param(
            "anthropic",
            [
                TASK,
                {
                    "role": "assistant",
                    "content": [
                        *used("s1", kind="server_tool_use")["content"],
                        *came("s1", kind="web_search_tool_result")["content"],
                    ],
                },
                said("go on"),
                *A3,
            ],
            (1, 2),
            id="a server tool that pairs inside its reply goes",
        ),
        pytest.param(
            "anthropic",
            [TASK, used("s1", kind="mcp_tool_use"), *A2, *A3],
            None,
            id="P05 a call of an MCP server without its result keeps its turn, here all there is",
        ),
        pytest.param("anthropic", [TASK, *A1, *A2, said("I will", "assistant")], (1, 3), id="a prefill is in the tail"),
        pytest.param(
            "anthropic",
            [TASK, *A1, said("now this"), *A2],
            (1, 3),
            id="a user's text in front of the first kept reply is kept",
        ),
        pytest.param(
            "openai_chat",
            [TASK, *C1, {"role": "narrator", "content": "x"}, *C2, *C3],
            (4, 6),
            id="a message of a role that nobody knows stays",
        ),
        pytest.param(
            "anthropic",
            [said("This session is being continued from a previous conversation that ran out of context."), *A1, *A2],
            (1, 3),
            id="a client's summary at the head stays",
        ),
        pytest.param(
            "anthropic",
            [
                TASK,
                said("Hello.", "assistant"),
                said("What did we do so far?"),
                said("We fixed it.", "assistant"),
                said("Continue if you have next steps"),
                *A1,
                *A2,
            ],
            (5, 7),
            id="a client's summary that stands as a reply stays, and what the user said to it",
        ),
        pytest.param(
            "anthropic",
            [TASK, *A1, said("<state_snapshot> is a word we grep for"), *A2, *A3],
            (1, 6),
            id="words of a summary behind tool calls are a user's",
        ),
        pytest.param(
            "anthropic",
            [TASK, *A1, {"role": "assistant", "content": [{"type": "compaction", "content": "s"}]}, TASK, *A2, *A3],
            (5, 7),
            id="a summary of the server's stays, wherever it stands",
        ),
    ],
)
def test_what_may_go(name: FormatName, messages: list[Json], expected: tuple[int, int] | None) -> None:
    gone = range_of(messages, name, keep_turns=1)
    assert gone == expected
    if gone is not None:
        assert unmatched(rebuilt(messages, gone)) <= unmatched(messages)


def test_reasoning_that_is_bound_behind_the_anchor_keeps_everything() -> None:
    found, session = read([TASK, *A1, *A2, *A3], "anthropic")
    kept = zones(found, session, keep_turns=1)
    assert evictable(found, kept, floor=1) == (1, 5)
    assert evictable(found, kept, floor=2) is None


def test_the_tail_reaches_back_to_the_call_of_a_result_in_it() -> None:
    found, session = read([TASK, *A1, used("late"), said("wait"), said("ok", "assistant"), came("late")], "anthropic")
    assert zones(found, session, keep_turns=1) == Zones(anchor=0, tail=3)


def test_more_kept_turns_than_there_are_keep_everything() -> None:
    found, session = read([TASK, *A1, *A2], "anthropic")
    assert zones(found, session, keep_turns=6) == Zones(anchor=0, tail=1)


def cleaned(step: Step) -> Step:
    """The same step with no blank text, which no provider takes."""
    calls = tuple((tool, text if text.strip() else "x", array) for tool, text, array in step.calls)
    return replace(step, calls=calls, prose=step.prose.strip() or ".")


GROWN = st.lists(STEPS.map(cleaned), min_size=1, max_size=8)


@given(GROWN, st.integers(1, 4), STYLES)
def test_what_is_left_is_taken_by_the_messages_api(steps: list[Step], keep_turns: int, style: Style) -> None:
    body = write_json(anthropic_request(anthropic_messages(steps)), style)
    check_cut(body, "anthropic", keep_turns)


@given(GROWN, st.integers(1, 4), STYLES)
def test_what_is_left_is_taken_by_chat_completions(steps: list[Step], keep_turns: int, style: Style) -> None:
    check_cut(write_json(chat_request(chat_messages(steps)), style), "openai_chat", keep_turns)


def check_cut(body: bytes, name: FormatName, keep_turns: int) -> tuple[int, int] | None:
    """Cut a valid request and check the rest of it as its provider would."""
    found, session = read_body(body, name)
    check = check_messages_request if name == "anthropic" else check_chat_request
    tree: Mapping[str, Any] = json.loads(body)
    assert check(tree) is None
    kept = zones(found, session, keep_turns=keep_turns)
    gone = evictable(found, kept, floor=0)
    # A valid request holds no doubts: all between the keep zones may go.
    assert gone == ((kept.anchor + 1, kept.tail) if kept.tail > kept.anchor + 1 else None)
    replies = [index for index in session.replies if index >= kept.tail]
    assert len(replies) >= min(keep_turns, len(session.replies))
    if gone is not None:
        assert check({**tree, "messages": rebuilt(tree["messages"], gone)}) is None
    return gone


@st.composite
def damaged(draw: st.DrawFn) -> tuple[list[Json], FormatName]:
    """A conversation in which messages were lost, doubled and moved."""
    name: FormatName = draw(st.sampled_from(["anthropic", "openai_chat"]))
    steps = draw(GROWN)
    messages: list[Json] = anthropic_messages(steps) if name == "anthropic" else chat_messages(steps)
    for _ in range(draw(st.integers(1, 3))):
        at, to = draw(st.integers(1, len(messages))), draw(st.integers(1, len(messages)))
        moved = messages[at - 1 : at]
        if draw(st.booleans()):
            messages = messages[: at - 1] + messages[at:]
        messages = messages[:to] + (moved if draw(st.booleans()) else []) + messages[to:]
    return messages, name


@given(damaged(), st.integers(1, 4))
def test_no_half_of_a_pair_loses_the_other(found: tuple[list[Json], FormatName], keep_turns: int) -> None:
    messages, name = found
    gone = range_of(messages, name, keep_turns)
    if gone is not None:
        tree = json.loads(write_json(messages, PLAIN))
        assert unmatched(rebuilt(tree, gone, in_doubt(messages, name, gone))) <= unmatched(tree)


REMINDER = "<system-reminder>\nThe file was changed.\n</system-reminder>"


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        pytest.param(said("never touch prod"), ["never touch prod"], id="what a user says is kept"),
        pytest.param(said("be brief", "system"), ["be brief"], id="so is a system message among the others"),
        pytest.param(said("I looked", "assistant"), [], id="what the model says is not"),
        pytest.param(came("a1", text="and use tabs"), ["and use tabs"], id="a text beside results is kept"),
        pytest.param(came("a1", text=REMINDER), [], id="a reminder beside results is the harness's"),
        pytest.param(came("a1", text=f"{REMINDER}\n{REMINDER}"), [], id="so are two of them"),
        pytest.param(
            came("a1", text=f"{REMINDER}\nuse tabs"),
            [f"{REMINDER}\nuse tabs"],
            id="a reminder with a user's words is kept whole",
        ),
        pytest.param(
            said("what does <system-reminder>x</system-reminder> mean?"),
            ["what does <system-reminder>x</system-reminder> mean?"],
            id="a user may speak of reminders",
        ),
        pytest.param(
            said("OBSERVATION:\nx = 1"), ["OBSERVATION:\nx = 1"], id="where calls are on the wire, no text is a result"
        ),
        pytest.param(said("<spec>twice</spec>"), ["<spec>twice</spec>"], id="other elements are a user's"),
        pytest.param(said(" \n"), [], id="a blank text is none"),
    ],
)
def test_words_that_outlive_their_messages(message: Json, expected: list[str]) -> None:
    found, _ = read([TASK, *A1, message, said("on", "assistant")], "anthropic")
    places = kept_texts(found, 3, 5)
    assert [text_at(found, *place) for place in places] == expected


CLINE = "[read_file for 'src/a.py'] Result:"
DETAILS = "<environment_details>\n# Mode\nact\n</environment_details>"
READS = "I read it.\n<read_file>\n<path>src/a.py</path>\n</read_file>"
RUNS = "I run it.\n```bash\nmake\n```"


@pytest.mark.parametrize(
    ("reply", "texts", "kept"),
    [
        pytest.param(RUNS, ["<returncode>0</returncode>\n<output>\nall good\n</output>"], [], id="mini-swe-agent"),
        pytest.param(RUNS, ["OBSERVATION:\nx = 1"], [], id="SWE-agent"),
        pytest.param("Thought: so\nAction: search[x]", ["Observation: x = 1"], [], id="ReAct"),
        pytest.param(
            "<function=execute_bash>\n<parameter=command>ls</parameter>\n</function>",
            ["EXECUTION RESULT of [execute_bash]:\na.py"],
            [],
            id="OpenHands",
        ),
        pytest.param(
            '<tool_call>{"name":"ls"}</tool_call>', ["<tool_response>\na.py\n</tool_response>"], [], id="Hermes"
        ),
        pytest.param("<invoke name='ls'>", ["<function_results>a.py</function_results>"], [], id="prompted tools"),
        pytest.param(READS, [f"{CLINE}\nx = 1\n{DETAILS}"], [], id="Cline in one text"),
        pytest.param(READS, [CLINE, "Never do this", DETAILS], [], id="Cline in three"),
        pytest.param(READS, ["[list_files] Result:\na.py"], [], id="Roo without arguments"),
        pytest.param(READS, [CLINE, "x = 1", DETAILS, "use tabs"], ["use tabs"], id="words beside a result"),
        pytest.param(
            READS,
            [f"{CLINE}\nThe user denied this.\n<feedback>\nnot that one\n</feedback>"],
            [f"{CLINE}\nThe user denied this.\n<feedback>\nnot that one\n</feedback>"],
            id="a user's answer in a result",
        ),
        pytest.param(
            READS,
            ["<tool_response>x</tool_response>\nis what I got"],
            ["<tool_response>x</tool_response>\nis what I got"],
            id="words behind an element",
        ),
        pytest.param(
            "I looked.", ["Observation: it is slow"], ["Observation: it is slow"], id="a reply without an action"
        ),
        pytest.param(READS, ["Here is the log:\nx = 1"], ["Here is the log:\nx = 1"], id="a log that a user pasted"),
    ],
)
def test_results_of_harnesses_without_calls_on_the_wire_are_nobodys_words(
    reply: str, texts: list[str], kept: list[str]
) -> None:
    message = {"role": "user", "content": [*({"type": "text", "text": text} for text in texts), PICTURE]}
    found, _ = read([TASK, said(reply, "assistant"), message, said("on", "assistant")], "anthropic")
    places = kept_texts(found, 1, 3)
    is_result = texts != kept
    shown = [text_at(found, *place) for place in places if isinstance(found.messages[2].blocks[place[1]], Text)]
    assert shown == kept
    assert ((2, len(texts)) in places) is not is_result, "a picture goes with the result that it belongs to"


PICTURE: Json = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}


def test_what_users_attach_is_kept_and_what_tools_show_is_not() -> None:
    shown = {"type": "tool_result", "tool_use_id": "a1", "content": [PICTURE]}
    document = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "Spec"}}
    message = {"role": "user", "content": [shown, document, {"type": "text", "text": "the spec"}, PICTURE]}
    found, _ = read([TASK, A1[0], message, said("on", "assistant")], "anthropic")
    assert kept_texts(found, 1, 3) == ((2, 1), (2, 2), (2, 3))


def test_what_a_user_attaches_in_front_of_the_tail_is_in_it() -> None:
    messages = [TASK, *A1, *A2, {"role": "user", "content": [PICTURE]}, *A3]
    found, session = read(messages, "anthropic")
    assert zones(found, session, keep_turns=1).tail == 5


def text_at(found: Conversation, message: int, block: int) -> str:
    text = found.messages[message].blocks[block]
    assert isinstance(text, Text)
    return found.text(text.literal)


def test_real_sessions_are_cut_legally_at_every_request(shared: Path) -> None:
    cuts = 0
    for file in sorted((shared / "trajectories" / "dev" / "claude-code").glob("entire-4*.jsonl")):
        for trajectory in read_file(file).trajectories:
            cuts += sum(check_cut(body, "anthropic", 6) is not None for body in requests(trajectory))
    assert cuts > 50


def test_a_call_that_goes_is_carried_where_a_second_result_of_it_stays() -> None:
    plain: list[Json] = [{"role": "assistant", "content": "."}, {"role": "user", "content": "."}]
    call = {"id": "c", "type": "function", "function": {"name": "Read", "arguments": "{}"}}
    result = {"role": "tool", "tool_call_id": "c", "content": "x"}
    messages: list[Json] = [
        {"role": "user", "content": "the task"},
        *plain,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        result,
        *plain,
        plain[0],
        result,
        plain[1],
        *plain * 4,
    ]
    gone = range_of(messages, "openai_chat", 4)
    assert gone == (1, 7)
    assert in_doubt(messages, "openai_chat", gone) == [3, 4]
