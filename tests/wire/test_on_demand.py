"""The request for a summary is the one that was sent, less what stays; what it answers is kept as it came."""

from __future__ import annotations

import json

import pytest
from bodies import conversation
from hypothesis import given
from hypothesis import strategies as st
from strategies import TEXTS

from coldpress.wire.addition import member
from coldpress.wire.on_demand import read_block, summary_body
from coldpress.wire.span import Misread

MARK = ', "cache_control": {"type": "ephemeral"}'


def body_of(texts: list[str], *, stream: bool = True, marked: bool = True) -> bytes:
    """A body in an odd way of writing, with a mark on its system prompt and on its last message."""
    last, listed = len(texts) - 1, list[str]()
    for n, text in enumerate(texts):
        mark, role = MARK if marked and n == last else "", ("user", "assistant")[n % 2]
        listed.append(f'{{"content" : [{{"type":"text","text": {json.dumps(text)}{mark}}}], "role":"{role}"}}')
    head = f'"system":[{{"type":"text","text":"s"{MARK if marked else ""}}}]'
    messages = " ,\n".join(listed)
    written = f'{{ "model":"claude-opus-5-5",{head}, "messages" : [ {messages} ] ,"stream": {json.dumps(stream)}}}'
    return written.encode()


@given(st.lists(TEXTS.filter(str.strip), min_size=3, max_size=6), st.booleans(), st.booleans(), st.data())
def test_all_but_what_stays_is_as_it_was_sent(
    texts: list[str], stream: bool, marked: bool, data: st.DataObject
) -> None:
    body = body_of(texts, stream=stream, marked=marked)
    found = conversation(body)
    stop = data.draw(st.integers(1, len(texts) - 1))
    asked = summary_body(found, (), stop, long=False)
    read, sent = json.loads(asked), json.loads(body)
    assert read["compaction"] == {"type": "summarize"}
    assert read["stream"] is False
    kept = read["messages"]
    assert len(kept) == stop
    marks = [block.pop("cache_control", None) for message in kept for block in message["content"]]
    assert [mark is not None for mark in marks] == [False] * (stop - 1) + [marked]
    assert kept == sent["messages"][:stop]
    assert asked.startswith(body[: found.messages[stop - 1].span.start])


def test_what_was_put_into_the_part_that_stays_is_left_out_and_a_question_too() -> None:
    body = body_of(["a", "b", "c", "d"])
    found = conversation(body)
    first, last = (block.literal for n in (0, 3) for block in found.messages[n].blocks[:1])  # type: ignore[union-attr]

    class Put:
        def __init__(self, span: object, literal: bytes) -> None:
            self.span, self.literal = span, literal

    question = member(body, "diagnostics", b"{}")
    puts = [Put(first.span, b'"A"'), Put(last.span, b'"D"'), question, member(body, "tools", b"[]")]
    read = json.loads(summary_body(found, puts, 2, long=True))  # type: ignore[arg-type]
    assert [message["content"][0]["text"] for message in read["messages"]] == ["A", "b"]
    assert "diagnostics" not in read
    assert read["tools"] == []
    assert read["messages"][1]["content"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}


BLOCK = '{ "type":"compaction","content":"caf\\u00e9", "encrypted_content":null,"signature":"s==","tool_changes":[] }'


def reply(content: str, stop_reason: str = '"compaction"') -> bytes:
    return f'{{"content": [{content}],"role":"assistant","stop_reason":{stop_reason}}}'.encode()


def test_a_block_is_kept_as_it_came() -> None:
    found = read_block(reply(BLOCK))
    assert found is not None
    assert found.text == "café"
    assert found.message == '{"role":"assistant","content":[' + BLOCK + "]}"


@pytest.mark.parametrize(
    "body",
    [
        reply(BLOCK, '"end_turn"'),
        reply(BLOCK, "null"),
        reply(BLOCK + "," + BLOCK),
        reply(""),
        reply(BLOCK.replace('"caf\\u00e9"', "null")),
        reply(BLOCK.replace('"caf\\u00e9"', '""')),
        reply(BLOCK.replace('"s=="', "null")),
        reply('{"type":"text","text":"A summary."}'),
        reply("1"),
        b'{"stop_reason":"compaction","content":"x"}',
        b"{}",
    ],
)
def test_what_is_no_summary_is_not_taken_for_one(body: bytes) -> None:
    assert read_block(body) is None


def test_what_cannot_be_read_is_said() -> None:
    with pytest.raises(Misread):
        read_block(b"<html>")
