"""A body read behind a known prefix is the same conversation as one read whole, and only new bytes are parsed."""

from __future__ import annotations

import json
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import (
    STEPS,
    STYLES,
    Step,
    Style,
    anthropic_messages,
    anthropic_request,
    chat_messages,
    chat_request,
    code_assist_request,
    gemini_contents,
    gemini_request,
    responses_items,
    responses_request,
    write,
)

from coldpress.model.conversation import Conversation, ToolCall, ToolResult
from coldpress.wire.prefix import Reader
from coldpress.wire.registry import FormatName
from coldpress.wire.span import Misread


def read(reader: Reader[None], body: bytes, name: FormatName) -> Conversation:
    reading = reader.read(body, name, reader.find(body, name))
    reader.remember(reading, None)
    return reading.conversation


def same(one: Conversation, other: Conversation) -> None:
    """Equal, and every span in the same place."""
    assert one == other
    for a, b in zip(one.messages, other.messages, strict=True):
        assert a.span == b.span
        for x, y in zip(a.blocks, b.blocks, strict=True):
            if isinstance(x, ToolResult) and isinstance(y, ToolResult):
                assert [t.span for t in x.texts] == [t.span for t in y.texts]
                if x.call and y.call:
                    assert one.arguments(x.call) == other.arguments(y.call)
            if isinstance(x, ToolCall) and isinstance(y, ToolCall):
                assert x.arguments == y.arguments


@pytest.mark.parametrize("name", ["anthropic", "openai_chat", "openai_responses", "gemini", "gemini, enclosed"])
@settings(max_examples=60, deadline=None)
@given(steps=st.lists(STEPS, min_size=1, max_size=5), style=STYLES)
def test_reading_on_equals_reading_whole(name: str, steps: list[Step], style: Style) -> None:
    plain = Style(style.seed, False, style.ascii_only, False)  # spacing drawn anew each turn would be another prefix
    reader: Reader[None] = Reader(seed=1)
    for upto in range(1, len(steps) + 1):
        if name == "anthropic":
            request = anthropic_request(anthropic_messages(steps[:upto]))
        elif name == "openai_responses":
            request = responses_request(responses_items(steps[:upto]))
        elif name.startswith("gemini"):
            request = (gemini_request if name == "gemini" else code_assist_request)(gemini_contents(steps[:upto]))
        else:
            request = chat_request(chat_messages(steps[:upto]))
        body = write(request, plain)
        format_name = cast(FormatName, name.partition(",")[0])
        whole = Reader[None](seed=2).read(body, format_name, None).conversation
        same(read(reader, body, format_name), whole)


def grown(turns: int, marks: int = 1) -> bytes:
    """A conversation of so many turns, its last user messages marked."""
    steps = [Step((("Bash", f"output {i} " * 40, False),), False, "", None) for i in range(turns)]
    messages = anthropic_messages(steps)
    for back in range(marks):
        messages[-1 - 2 * back]["content"][-1]["cache_control"] = {"type": "ephemeral"}  # type: ignore[index]
    return write(anthropic_request(messages), Style(0, False, False, False))


@pytest.mark.parametrize(("marks", "most"), [(0, 2), (1, 3), (2, 5), (3, 7)])
def test_only_new_messages_are_parsed_although_the_marks_move(marks: int, most: int) -> None:
    reader: Reader[None] = Reader(seed=1)
    for turns in range(4, 30):
        conversation = read(reader, grown(turns, marks), "anthropic")
        if turns > 4:
            assert len(conversation.messages) - conversation.known <= most


def test_the_same_request_again_parses_no_message() -> None:
    reader: Reader[None] = Reader(seed=1)
    read(reader, grown(9, 0), "anthropic")
    again = read(reader, grown(9, 0), "anthropic")
    assert again.known == len(again.messages)


@pytest.mark.parametrize("marks", [0, 1, 2])
def test_many_requests_that_continue_from_one_point_do_not_push_that_point_out(marks: int) -> None:
    reader: Reader[None] = Reader(seed=1)
    for turns in range(4, 20):
        read(reader, grown(turns, marks), "anthropic")
    for branch in range(60):
        body = grown(20, marks).replace(b"output 19 ", b"branch %2d " % branch)
        conversation = read(reader, body, "anthropic")
        assert len(conversation.messages) - conversation.known <= 3 + 2 * marks


def test_a_rewind_finds_an_earlier_checkpoint_or_reads_anew() -> None:
    reader: Reader[None] = Reader(seed=1)
    for turns in range(2, 12):
        read(reader, grown(turns), "anthropic")
    back = grown(8)
    same(read(reader, back, "anthropic"), Reader[None](seed=2).read(back, "anthropic", None).conversation)


def test_many_conversations_with_one_beginning_do_not_push_each_other_out() -> None:
    reader: Reader[None] = Reader(seed=1)
    preamble = "the same long preamble " * 400

    def body(who: int, turns: int) -> bytes:
        steps = [Step((("Bash", f"{who} says {i} " * 90, False),), False, "", None) for i in range(turns)]
        return write(anthropic_request(anthropic_messages(steps, preamble + str(who))), Style(0, False, False, False))

    for who in range(60):
        read(reader, body(who, 8), "anthropic")
    known = [read(reader, body(who, 9), "anthropic").known for who in range(60)]
    assert min(known) >= 8


def test_a_key_repeated_behind_the_known_prefix_is_not_believed() -> None:
    reader: Reader[None] = Reader(seed=1)
    body = grown(10)
    read(reader, body, "anthropic")
    forged = body[:-1] + b',"model":"other"}'
    with pytest.raises(Misread):
        read(reader, forged, "anthropic")


def test_checkpoints_are_bounded_by_the_messages_they_hold() -> None:
    reader: Reader[None] = Reader(seed=1, max_messages=200)
    for who in range(100):
        steps = [Step((("Bash", f"{who} {i} " * 60, False),), False, "", None) for i in range(10)]
        read(
            reader,
            write(anthropic_request(anthropic_messages(steps, str(who))), Style(0, False, False, False)),
            "anthropic",
        )
    assert reader._held <= 200 + 21


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"[]", id="an array"),
        pytest.param(b'{"model":"m"}', id="no messages"),
        pytest.param(b'{"messages":"hi"}', id="messages are a string"),
        pytest.param(b'{"messages":[],"messages":[]}', id="messages twice"),
        pytest.param(b'{"messages":[{"role":"user","content":"a"}]', id="cut short"),
        pytest.param(b'\xef\xbb\xbf{"messages":[]}', id="a byte order mark"),
        pytest.param(b'{"messages":[{"content":"\xff"}]', id="not UTF-8"),
    ],
)
def test_what_is_no_conversation_is_refused(body: bytes) -> None:
    with pytest.raises(Misread):
        read(Reader(seed=1), body, "anthropic")


def test_one_unreadable_message_does_not_hide_the_others() -> None:
    messages = anthropic_messages([Step((("Bash", "x" * 300, False),), False, "", None)])
    body = json.dumps(anthropic_request(messages)).encode()
    body = body.replace(b'"messages": [', b'"messages": [{"role":"user","role":"user","content":"twice"},')
    conversation = read(Reader(seed=1), body, "anthropic")
    assert conversation.messages[0].role == "user"
    assert conversation.messages[-1].results[0][1].call is not None


def test_spacing_before_and_after_the_body_is_fine() -> None:
    body = b" \n" + grown(9) + b"\n\n"
    reader: Reader[None] = Reader(seed=1)
    same(read(reader, body, "anthropic"), read(reader, body, "anthropic"))


@pytest.mark.parametrize("marks", [0, 1])
def test_what_is_remembered_anew_takes_the_place_of_what_was(marks: int) -> None:
    reader, body = Reader[str](seed=0), grown(6, marks)
    reader.remember(reader.read(body, "anthropic", None), "first")
    for extra in ("ignored", "second", "third"):
        found = reader.find(body, "anthropic")
        assert found is not None
        reader.remember(reader.read(body, "anthropic", found), extra, anew=extra != "ignored")
    again = reader.find(body, "anthropic")
    assert again is not None
    assert again.extra == "third"
    assert again.messages == found.messages
    longer = grown(7, marks)
    onward = reader.read(longer, "anthropic", reader.find(longer, "anthropic"))
    assert onward.extra == "third"
    same(onward.conversation, Reader[None](seed=1).read(longer, "anthropic", None).conversation)
