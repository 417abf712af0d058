"""Cache marks are read where they stand, and one more is set without a change to any other byte."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from bodies import conversation
from cases.captures import captured
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st
from strategies import STEPS, STYLES, Raw, Step, Style, anthropic_messages, anthropic_request, write

from coldpress.engine.anchor import life_at
from coldpress.measure.cache_rules import MAX_MARKS
from coldpress.model.conversation import Span
from coldpress.testing.anthropic_marks import check_marks
from coldpress.testing.anthropic_rules import check_messages_request
from coldpress.wire.marks import MARKABLE, Mark, entry_ends, insertion, read_marks
from coldpress.wire.prefix import Reader
from coldpress.wire.span import splice

SHORT, LONG = {"type": "ephemeral"}, {"type": "ephemeral", "ttl": "1h"}
QUOTES = '{"type":"text","cache_control":{"type":"ephemeral"}}'


def slow_marks(body: bytes) -> list[Mark]:
    """Every mark of a request, by decoding all of it."""
    request = json.loads(body)
    system = request.get("system") or []
    before = [*request.get("tools", []), *([{}] if isinstance(system, str) else system)]
    found = [Mark(None, at - len(before), long) for at, block in enumerate(before) for long in slow_block(block)]
    last = (None, -1)
    for index, message in enumerate(request["messages"]):
        content = message["content"]
        for place, block in enumerate([{"text": content}] if isinstance(content, str) else content):
            found += [Mark(index, place, long) for long in slow_block(block)]
            if "thinking" not in block.get("type", "") and block.get("text") != "":
                last = (index, place)
    automatic = request.get("cache_control")
    if automatic and last not in [(mark.message, mark.block) for mark in found]:
        found.append(Mark(*last, automatic.get("ttl") == "1h"))
    return found


def slow_block(block: dict[str, object]) -> Iterator[bool]:
    control, content, source = block.get("cache_control"), block.get("content"), block.get("source")
    if isinstance(control, dict):
        yield control.get("ttl") == "1h"
    for part in content if isinstance(content, list) else []:
        yield from slow_block(part)
    if isinstance(source, dict):
        yield from slow_block(source)


@dataclass(frozen=True)
class Written:
    """A request with a client's marks."""

    request: dict[str, object]
    body: bytes


@st.composite
def requests(draw: st.DrawFn) -> Written:
    steps: list[Step] = draw(st.lists(STEPS, min_size=1, max_size=4))
    if draw(st.booleans()):
        steps.append(Step((("Bash", QUOTES, draw(st.booleans())),), False, QUOTES, {"cache_control": SHORT}))
    request = anthropic_request(anthropic_messages(steps, QUOTES))
    request["system"] = draw(st.sampled_from(["", "You are an agent.", [{"type": "text", "text": QUOTES}]]))
    style: Style = draw(STYLES)
    places = draw(st.permutations(list(_places(request))))[: draw(st.integers(0, MAX_MARKS))]
    longs = draw(st.integers(0, MAX_MARKS))
    if draw(st.booleans()):
        request["cache_control"] = draw(st.sampled_from([SHORT, LONG, None]))
    number = 0
    for block in _places(request):
        if any(block is place for place in places):
            block["cache_control"] = LONG if number < longs else SHORT
            number += 1
    keys = list(request)
    ordered = {key: request[key] for key in (keys if draw(st.booleans()) else reversed(keys))}
    return Written(request, write(ordered, style))


def _places(request: dict[str, object]) -> Iterator[dict[str, object]]:
    """Everything that may carry a mark, in the order of the prompt."""
    system, messages = request["system"], request["messages"]
    assert isinstance(messages, list)
    yield from request["tools"]  # type: ignore[misc]
    if isinstance(system, list):
        yield from system
    for message in messages:
        for block in message["content"] if isinstance(message["content"], list) else []:
            if block["type"] == "thinking":
                continue
            if isinstance(block.get("content"), list):
                yield from (part for part in block["content"] if part["text"])
            yield block


@settings(max_examples=150, deadline=None)
@given(written=requests())
def test_marks_are_read_as_a_slow_reader_reads_them(written: Written) -> None:
    expected = slow_marks(written.body)
    event(f"{len(expected)} marks")
    assert read_marks(conversation(written.body)) == tuple(expected)


@settings(max_examples=150, deadline=None)
@given(written=requests(), long=st.booleans())
def test_a_mark_adds_its_own_bytes_and_nothing_else(written: Written, long: bool) -> None:
    found = conversation(written.body)
    before = json.loads(written.body)
    for index in range(len(found.messages)):
        ours = insertion(found, index, long=long)
        event("set" if ours else "refused")
        if ours is None:
            continue
        body = splice(written.body, [ours])
        at = ours.span.start
        assert body[:at] + body[at + len(ours.literal) :] == written.body
        after = json.loads(body)
        assert after["messages"][index]["content"][-1].pop("cache_control") == (LONG if long else SHORT)
        assert after == before
        marked = conversation(body)
        assert [(m.role, m.blocks) for m in marked.messages] == [(m.role, m.blocks) for m in found.messages]
        assert read_marks(marked) == tuple(slow_marks(body))
        assert insertion(marked, index, long=long) is None


@dataclass(frozen=True)
class Shorter:
    span: Span
    literal: bytes


@settings(max_examples=100, deadline=None)
@given(written=requests())
def test_a_mark_stands_beside_edits_of_the_same_message(written: Written) -> None:
    found = conversation(written.body)
    for index, message in enumerate(found.messages):
        ours = insertion(found, index, long=False)
        texts = [text for _, result in message.results for text in result.texts]
        if ours is None or not texts:
            continue
        edits = [Shorter(text.span, b'"pressed"') for text in texts]
        pressed = json.loads(splice(written.body, edits))
        both = json.loads(splice(written.body, sorted([ours, *edits], key=lambda patch: patch.span.start)))
        assert both["messages"][index]["content"][-1].pop("cache_control") == SHORT
        assert both == pressed


@settings(max_examples=150, deadline=None)
@given(written=requests())
def test_the_strict_rules_accept_what_they_accepted_before(written: Written) -> None:
    assume(check_marks(json.loads(written.body)) is None)
    found = conversation(written.body)
    marks = read_marks(found)
    assert marks is not None
    refused = check_messages_request(json.loads(written.body))
    for index in range(len(found.messages)):
        long = life_at(index, [(-1 if mark.message is None else mark.message, mark.long) for mark in marks])
        ours = insertion(found, index, long=bool(long))
        if len(marks) >= MAX_MARKS or long is None or ours is None:
            continue
        event("accepted" if refused is None else "refused before")
        body = json.loads(splice(written.body, [ours]))
        assert check_marks(body) is None
        assert check_messages_request(body) == refused


def message(role: str, content: object) -> dict[str, object]:
    return {"role": role, "content": content}


TEXT = {"type": "text", "text": "hello"}
RESULT = {"type": "tool_result", "tool_use_id": "t", "content": "a"}


@pytest.mark.parametrize(
    ("role", "content", "set_"),
    [
        pytest.param("user", [TEXT], True, id="text"),
        pytest.param("user", [TEXT, RESULT], True, id="result"),
        pytest.param("user", [{**RESULT, "content": []}], True, id="result without content"),
        pytest.param("user", [TEXT, {"type": "image", "source": {}}], True, id="image"),
        pytest.param("assistant", [{"type": "tool_use", "id": "t", "name": "x", "input": {}}], True, id="call"),
        pytest.param("assistant", [{"type": "server_tool_use", "id": "t", "input": {}}], True, id="server tool"),
        pytest.param("user", "hello", False, id="bare string"),
        pytest.param("user", [], False, id="no block"),
        pytest.param("user", None, False, id="no content"),
        pytest.param("user", [{"type": "text", "text": ""}], False, id="empty text"),
        pytest.param("user", [{"type": "text", "text": " \n"}], False, id="blank text"),
        pytest.param("user", [{"type": "text"}], False, id="text without text"),
        pytest.param("user", [{"type": "text", "text": 3}], False, id="text that is a number"),
        pytest.param(
            "assistant", [TEXT, {"type": "thinking", "thinking": "x", "signature": "s"}], False, id="thinking"
        ),
        pytest.param("assistant", [TEXT, {"type": "redacted_thinking", "data": "x"}], False, id="redacted thinking"),
        pytest.param("assistant", [{"type": "mcp_tool_listing"}], False, id="kind that takes no mark"),
        pytest.param("assistant", [{"type": "from_the_future"}], False, id="kind nobody knows"),
        pytest.param("user", [{**TEXT, "cache_control": SHORT}], False, id="marked already"),
        pytest.param("user", [{**TEXT, "cache_control": None}], False, id="the key stands there already"),
        pytest.param("user", [{**RESULT, "content": [{**TEXT, "cache_control": SHORT}]}], False, id="marked within"),
        pytest.param("user", [TEXT, "hello"], False, id="last block is no object"),
        pytest.param("user", [Raw('{"type":"text","text":"a","text":"b"}')], False, id="key repeated"),
        pytest.param("user", [Raw('{"type":"text","text":"\\ud83d"}')], True, id="lone surrogate"),
        pytest.param("system", [TEXT], False, id="system message"),
    ],
)
def test_where_a_mark_may_be_set(role: str, content: object, set_: bool) -> None:
    request = {"model": "m", "messages": [message("user", "task"), message(role, content)]}
    body = write(request, Style(seed=0, spaced=False, ascii_only=True, lone_surrogates=False))
    ours = insertion(conversation(body), 1, long=False)
    assert (ours is not None) == set_
    if ours is not None:
        assert json.loads(splice(body, [ours]))["messages"][1]["content"][-1]["cache_control"] == SHORT


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        pytest.param({"messages": [message("user", QUOTES)]}, (), id="quoted in a text"),
        pytest.param(
            {"messages": [message("assistant", [{"type": "tool_use", "input": {"cache_control": SHORT}}])]},
            (),
            id="an argument of a call",
        ),
        pytest.param(
            {"tools": [{"name": "x", "input_schema": {"properties": {"cache_control": SHORT}}}], "messages": []},
            (),
            id="in a tool's schema",
        ),
        pytest.param(
            {"system": "s", "tools": [{"cache_control": LONG}, {}], "messages": [message("user", "x")]},
            (Mark(None, -3, True),),
            id="tools stand before the system prompt",
        ),
        pytest.param(
            {"cache_control": SHORT, "messages": [message("user", "x"), message("user", "")]},
            (Mark(0, 0, False),),
            id="top level, on the last text that is not empty",
        ),
        pytest.param(
            {
                "cache_control": LONG,
                "messages": [message("assistant", [TEXT, {"type": "thinking"}, {"type": "redacted_thinking"}])],
            },
            (Mark(0, 0, True),),
            id="top level, not on thinking",
        ),
        pytest.param(
            {"cache_control": SHORT, "messages": [message("user", [{**TEXT, "cache_control": SHORT}])]},
            (Mark(0, 0, False),),
            id="top level, where a mark stands already",
        ),
        pytest.param(
            {"cache_control": SHORT, "system": "s", "messages": []}, (Mark(None, -1, False),), id="no message"
        ),
        pytest.param(
            {
                "messages": [
                    message("user", [{**RESULT, "content": [{**TEXT, "cache_control": LONG}], "cache_control": SHORT}])
                ]
            },
            (Mark(0, 0, False), Mark(0, 0, True)),
            id="on a result and on its part: two of four",
        ),
        pytest.param(
            {"messages": [message("user", [{"type": "document", "source": {"content": [{"cache_control": SHORT}]}}])]},
            (Mark(0, 0, False),),
            id="inside a document",
        ),
        pytest.param(
            {"messages": [message("user", [Raw('{"cache_control":{},"text":1,"text":2}')])]}, None, id="key repeated"
        ),
        pytest.param({"messages": [message("user", [TEXT, {**TEXT, "cache_control": None}])]}, (), id="null"),
    ],
)
def test_what_counts_as_a_mark(request_: dict[str, object], expected: tuple[Mark, ...] | None) -> None:
    body = write(request_, Style(seed=0, spaced=False, ascii_only=True, lone_surrogates=False))
    assert read_marks(conversation(body)) == expected


def test_other_formats_have_no_marks_and_get_none() -> None:
    request = {"messages": [message("user", [{**TEXT, "cache_control": SHORT}, TEXT])]}
    found = conversation(json.dumps(request).encode(), "openai_chat")
    assert read_marks(found) == ()
    assert insertion(found, 0, long=False) is None


def test_an_entry_ends_where_the_last_block_of_a_message_is_marked() -> None:
    marked = {**TEXT, "cache_control": SHORT}
    messages = [message("user", [TEXT, marked]), message("user", [marked, TEXT]), message("user", [marked])]
    request = {"system": [marked], "messages": [*messages, message("system", "note")]}
    found = conversation(json.dumps(request).encode())
    marks = read_marks(found)
    assert marks is not None
    assert entry_ends(found, marks) == (1, 3)


def test_no_kind_of_reasoning_takes_a_mark() -> None:
    assert not [kind for kind in MARKABLE if "thinking" in kind or "reasoning" in kind]


CAPTURED = {
    ("claude-code", "turn04"): (Mark(None, -2, False), Mark(None, -1, False), Mark(4, 0, False)),
    ("claude-code-1h", "turn04"): (Mark(None, -2, True), Mark(None, -1, True), Mark(4, 0, True)),
    ("claude-code-parallel", "turn02"): (Mark(None, -2, False), Mark(None, -1, False), Mark(0, 1, False)),
    ("opencode-anthropic", "turn04"): (Mark(None, -1, False), Mark(3, 1, False), Mark(4, 0, False)),
    ("mini-swe-agent-anthropic", "turn03"): (Mark(4, 0, False),),
    ("pydantic-ai", "turn03"): (Mark(None, -2, False), Mark(None, -1, False), Mark(4, 0, False)),
}


def test_real_requests_are_read_as_a_slow_reader_reads_them(shared: Path) -> None:
    readers: dict[str, Reader[None]] = {}
    named, known = {}, 0
    for request in captured(shared / "captures"):
        if request.format != "anthropic":
            continue
        reader = readers.setdefault(request.client, Reader(seed=1))
        reading = reader.read(request.body, request.format, reader.find(request.body, request.format))
        reader.remember(reading, None)
        known += reading.conversation.known
        named[request.client, request.turn] = read_marks(reading.conversation)
        assert named[request.client, request.turn] == tuple(slow_marks(request.body))
    assert known >= 50
    assert {key: named[key] for key in CAPTURED} == CAPTURED


def test_real_requests_take_one_more_mark(shared: Path) -> None:
    taken = 0
    for request in captured(shared / "captures"):
        found = conversation(request.body, request.format)
        marks = read_marks(found)
        if request.format != "anthropic" or marks is None or len(marks) == MAX_MARKS:
            continue
        counting = request.path.partition("?")[0].endswith("count_tokens")
        assert check_messages_request(json.loads(request.body), counting=counting) is None
        for index in range(len(found.messages)):
            long = life_at(index, [(-1 if mark.message is None else mark.message, mark.long) for mark in marks])
            assert long is not None
            ours = insertion(found, index, long=long)
            if ours is not None:
                taken += 1
                body = json.loads(splice(request.body, [ours]))
                assert check_messages_request(body, counting=counting) is None
    assert taken > 80
