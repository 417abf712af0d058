"""A reply's tool calls pass through their filters, whatever the stream looks like, and nothing else changes."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wire.calls import (
    FILTERS,
    HABITS,
    SSE,
    Asking,
    Habit,
    Holding,
    Json,
    Made,
    Same,
    anthropic_stream,
    chat_stream,
    cut,
    event,
    read_anthropic,
    read_chat,
    through,
    without_why,
)

from coldpress.wire.registry import FormatName
from coldpress.wire.reply_calls import ReplyFilter

NEWLINES = st.sampled_from(["\n", "\r\n", "\r"])
CUTS = st.lists(st.integers(0, 20_000), max_size=30)
WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=12)
VALUES = st.one_of(WORDS, st.integers(-9, 9), st.lists(WORDS, max_size=2), st.dictionaries(WORDS, WORDS, max_size=2))


@st.composite
def made(draw: st.DrawFn, number: int) -> Made:
    arguments: Json = draw(st.dictionaries(st.sampled_from(["path", "cmd", "é"]), VALUES, max_size=3))
    if draw(st.booleans()):
        arguments = {"why": draw(WORDS), **arguments}
    text = json.dumps(arguments, ensure_ascii=draw(st.booleans()))
    places = sorted({0, len(text), *draw(st.lists(st.integers(0, len(text)), max_size=4))})
    fragments = tuple(text[a:b] for a, b in itertools.pairwise(places))
    return Made(f"call_{number}", draw(st.sampled_from(["Bash", "Read", "plain"])), fragments)


CALLS = st.integers(1, 3).flatmap(lambda count: st.tuples(*[made(number) for number in range(count)]))


def wanted(calls: tuple[Made, ...], habit: Habit | None = None) -> list[tuple[str, str, object]]:
    """What the client is to get, decoded."""
    anonymous = habit in ("no ids", "legacy")
    return [
        (
            "" if anonymous else call.call_id,
            call.name,
            json.loads(call.text if call.name == "plain" else without_why(call.text)),
        )
        for call in calls
    ]


def decoded(calls: list[tuple[str, str, str]]) -> list[tuple[str, str, object]]:
    return [(call_id, name, json.loads(text)) for call_id, name, text in calls]


@settings(max_examples=80, deadline=None)
@given(CALLS, NEWLINES, CUTS, st.sampled_from(["holding", "early"]))
def test_a_messages_stream_gives_the_filtered_calls(
    calls: tuple[Made, ...], newline: str, cuts: list[int], kind: str
) -> None:
    stream = anthropic_stream(calls, newline=newline)
    whole = through("anthropic", SSE, [stream], Asking(FILTERS[kind]))
    assert through("anthropic", SSE, cut(stream, cuts), Asking(FILTERS[kind])) == whole
    assert decoded(read_anthropic(whole)) == wanted(calls)


@settings(max_examples=100, deadline=None)
@given(
    CALLS,
    CUTS,
    st.sampled_from(["holding", "early"]),
    st.sampled_from(HABITS),
    st.tuples(NEWLINES, st.sampled_from(["own", "last", "never"])),
)
def test_a_chat_stream_gives_the_filtered_calls(
    calls: tuple[Made, ...], cuts: list[int], kind: str, habit: Habit, manner: tuple[str, str]
) -> None:
    newline, finish = manner
    calls = calls[:1] if habit == "legacy" else calls
    stream = chat_stream(calls, habit=habit, newline=newline, finish=finish)
    whole = through("openai_chat", SSE, [stream], Asking(FILTERS[kind]))
    assert through("openai_chat", SSE, cut(stream, cuts), Asking(FILTERS[kind])) == whole
    assert decoded(read_chat(whole)) == wanted(calls, habit)


@settings(max_examples=60, deadline=None)
@given(CALLS, NEWLINES, CUTS, st.sampled_from(HABITS))
def test_a_filter_that_changes_nothing_changes_no_byte(
    calls: tuple[Made, ...], newline: str, cuts: list[int], habit: Habit
) -> None:
    stream = anthropic_stream(calls, newline=newline)
    assert through("anthropic", SSE, cut(stream, cuts), Asking(Same)) == stream
    stream = chat_stream(calls, habit=habit, newline=newline)
    assert through("openai_chat", SSE, cut(stream, cuts), Asking(Same)) == stream


TWO = (Made("a", "Bash", ('{"why": "x', 'y", "cm', 'd": "ls"}')), Made("b", "Read", ('{"why": "z"}',)))


@pytest.mark.parametrize("kind", ["holding", "early"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"], ids=["LF", "CR LF", "CR"])
def test_one_byte_at_a_time(newline: str, kind: str) -> None:
    one = anthropic_stream(TWO, newline=newline)
    whole = through("anthropic", SSE, [one], Asking(FILTERS[kind]))
    assert through("anthropic", SSE, cut(one, range(len(one))), Asking(FILTERS[kind])) == whole
    assert decoded(read_anthropic(whole)) == wanted(TWO)
    other = chat_stream(TWO, newline=newline)
    whole = through("openai_chat", SSE, [other], Asking(FILTERS[kind]))
    assert through("openai_chat", SSE, cut(other, range(len(other))), Asking(FILTERS[kind])) == whole
    assert decoded(read_chat(whole)) == wanted(TWO)


FORMATS: list[FormatName] = ["anthropic", "openai_chat"]


@pytest.mark.parametrize("format_name", FORMATS)
@given(junk=st.binary(max_size=200), cuts=CUTS)
@settings(max_examples=60, deadline=None)
def test_bytes_that_are_no_events_pass(format_name: FormatName, junk: bytes, cuts: list[int]) -> None:
    assert through(format_name, SSE, cut(junk, cuts), Asking(Holding)) == junk


def start(index: int = 0, **more: object) -> bytes:
    block = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}, **more}
    payload = {"type": "content_block_start", "index": index, "content_block": block}
    return event(payload, name="content_block_start")


def delta(fragment: str, index: int = 0) -> bytes:
    inner = {"type": "input_json_delta", "partial_json": fragment}
    return event({"type": "content_block_delta", "index": index, "delta": inner}, name="content_block_delta")


def stop(index: int = 0) -> bytes:
    return event({"type": "content_block_stop", "index": index}, name="content_block_stop")


def over(reason: str | None) -> bytes:
    payload = {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 1}}
    return event(payload, name="message_delta")


PING = event({"type": "ping"}, name="ping")
ERROR = event({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, name="error")
COMPACT_DELTA = (
    b"event: content_block_delta\n"
    b'data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":%s}}\n\n'
)

MESSAGES = [
    pytest.param(
        start() + delta('{"why": "x"') + PING + delta(', "cmd": "ls"}') + stop(),
        start() + PING + COMPACT_DELTA % rb'"{\"cmd\": \"ls\"}"' + stop(),
        id="what is held goes out in front of the end of the block, and empty fragments go",
    ),
    pytest.param(start() + delta('{"why"') + ERROR, start() + ERROR, id="an error drops what is held"),
    pytest.param(start() + delta('{"why": "x"}'), start(), id="a stream without an end drops what is held"),
    pytest.param(
        start(input={"why": "x", "cmd": "ls"}) + stop(), start(input={"cmd": "ls"}) + stop(), id="input given whole"
    ),
    pytest.param(
        start(input={"why": "x"}) + delta('{"why": "x"}') + stop(),
        start(input={}) + COMPACT_DELTA % b'"{}"' + stop(),
        id="input given whole and in fragments",
    ),
    pytest.param(start(name="plain") + delta('{"why": "x"}') + stop(), None, id="a call without a filter"),
    pytest.param(start(type="server_tool_use") + delta('{"why": "x"}') + stop(), None, id="a call the provider runs"),
    pytest.param(
        start() + delta('{"why": 1}') + event({"type": "message_stop"}, name="message_stop"),
        start() + COMPACT_DELTA % b'"{}"' + event({"type": "message_stop"}, name="message_stop"),
        id="a block that is never stopped ends with the message",
    ),
    pytest.param(
        start() + delta('{"why": 1}') + over(None) + over("tool_use"),
        start() + over(None) + COMPACT_DELTA % b'"{}"' + over("tool_use"),
        id="a block that is never stopped ends with the reason to stop",
    ),
    pytest.param(
        start() + delta('{"why": 1,') + delta(rb'"a": "\u00e9"}'.decode()) + stop(),
        start() + COMPACT_DELTA % rb'"{\"a\": \"\u00e9\"}"' + stop(),
        id="a stream in ASCII stays one",
    ),
    pytest.param(
        start() + delta('{"why": 1}') + start(1, id="t2") + delta("{}", 1) + stop(1),
        start() + start(1, id="t2") + COMPACT_DELTA.replace(b'"index":0', b'"index":1') % b'"{}"' + stop(1),
        id="blocks are told apart by their index",
    ),
    pytest.param(
        start() + b": note\nid: 7\n" + delta("{}")[:-1] + b"\n" + stop(),
        start() + b": note\nid: 7\n" + delta("")[:-1] + b"\n" + COMPACT_DELTA % b'"{}"' + stop(),
        id="an event that carries an id stays, with an empty fragment",
    ),
    pytest.param(
        start()
        + b'data: {"type": "content_block_delta",\ndata:  "index": 0, "delta": {"type": "input_json_delta",\n'
        + b'data: "partial_json": "{}", "more": 1.0}}\n\n'
        + stop(),
        start()
        + b'data: {"type": "content_block_delta",\ndata:  "index": 0, "delta": {"type": "input_json_delta",\n'
        + b'data: "partial_json": "", "more": 1.0}}\n\n'
        + COMPACT_DELTA % b'"{}"'
        + stop(),
        id="data in several lines",
    ),
    pytest.param(start() + b"data: upstream timed out\n\n" + delta("") + stop(), None, id="data that is no JSON"),
]


@pytest.mark.parametrize(("stream", "expected"), MESSAGES)
def test_messages_event_by_event(stream: bytes, expected: bytes | None) -> None:
    assert through("anthropic", SSE, [stream], Asking(Holding)) == (stream if expected is None else expected)


def chunk(*calls: Json, reason: str | None = None, **more: object) -> bytes:
    delta = {"tool_calls": list(calls), **more} if calls else more
    return event({"id": "c", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})


def piece(arguments: str, index: int = 0, **more: object) -> Json:
    name = {"name": more.pop("name")} if "name" in more else {}
    return {"index": index, **more, "function": {**name, "arguments": arguments}}


def made_chunk(arguments: str, index: int = 0, more: str = "") -> bytes:
    call = f'{{"index":{index},{more}"function":{{"arguments":{json.dumps(arguments)}}}}}'
    inner = f'{{"tool_calls":[{call}]}}'
    return f'data: {{"id":"c","model":"m","choices":[{{"index":0,"delta":{inner},"finish_reason":null}}]}}\n\n'.encode()


def counted(chunks: bytes) -> bytes:
    return chunks.replace(b"}]}\n\n", b'}], "usage": {"prompt_tokens": 1}}\n\n')


DONE = b"data: [DONE]\n\n"
CHAT = [
    pytest.param(
        chunk(piece("", id="a", name="Bash")) + chunk(piece('{"why":1}')) + chunk(reason="tool_calls") + DONE,
        chunk(piece("", id="a", name="Bash")) + made_chunk("{}") + chunk(reason="tool_calls") + DONE,
        id="what is held goes out in front of the reason to stop",
    ),
    pytest.param(
        chunk(piece('{"why":1}', id="a", name="Bash"), reason="tool_calls"),
        chunk(piece("{}", id="a", name="Bash"), reason="tool_calls"),
        id="the reason in the same chunk: what is held goes with it",
    ),
    pytest.param(
        chunk(piece('{"why":1}', id="a", name="Bash"), piece('{"why":2}', id="b", name="Bash")) + DONE,
        chunk(piece("{}", id="a", name="Bash"), piece("", id="b", name="Bash")) + made_chunk("{}") + DONE,
        id="two calls at one index in one chunk",
    ),
    pytest.param(
        chunk(piece('{"why":', id="a", name="Bash"))
        + chunk(piece('{"why":', 1, id="b", name="Bash"))
        + chunk(piece("1}"))
        + chunk(piece("2}", 1))
        + chunk(reason="tool_calls"),
        chunk(piece("", id="a", name="Bash"))
        + chunk(piece("", 1, id="b", name="Bash"))
        + made_chunk("{}")
        + made_chunk("{}", 1)
        + chunk(reason="tool_calls"),
        id="fragments of two calls in turn",
    ),
    pytest.param(
        chunk(piece('{"why":', id="a", name="Bash"))
        + chunk(piece("1}", id="a"))
        + chunk(piece("{}", 1, id="b", name="plain")),
        chunk(piece("", id="a", name="Bash"))
        + made_chunk("{}", more='"id":"a",')
        + chunk(piece("{}", 1, id="b", name="plain")),
        id="the next call: what is held goes out in front of it, with the id where ids are repeated",
    ),
    pytest.param(
        chunk(piece('{"why"', id="a", name="Bash")) + chunk(piece("{}", id="b", name="plain")),
        chunk(piece("", id="a", name="Bash")) + made_chunk('{"why"') + chunk(piece("{}", id="b", name="plain")),
        id="another id at an index: the call before has ended, whole or not",
    ),
    pytest.param(
        counted(chunk(piece("", id="a", name="Bash")) + chunk(piece("{}"))) + DONE,
        counted(chunk(piece("", id="a", name="Bash")) + chunk(piece(""))) + made_chunk("{}") + DONE,
        id="usage in every chunk is said once for each",
    ),
    pytest.param(
        chunk(piece("", id="a", name="Bash")) + chunk(piece("{}"), content="so") + DONE,
        chunk(piece("", id="a", name="Bash")) + chunk(piece(""), content="so") + made_chunk("{}") + DONE,
        id="a chunk with text stays, with an empty fragment",
    ),
    pytest.param(
        chunk(piece("", id="a")) + chunk(piece('{"why":1}', name="Bash"), reason="tool_calls"),
        chunk(piece("", id="a")) + chunk(piece("{}", name="Bash"), reason="tool_calls"),
        id="the name comes after the id",
    ),
    pytest.param(
        chunk(piece("{", id="a", name="Bash")) + event({"error": {"message": "no"}}) + DONE[:-1],
        chunk(piece("", id="a", name="Bash")) + event({"error": {"message": "no"}}) + made_chunk("{") + DONE[:-1],
        id="an error goes by, and a stream may end without its last line feed",
    ),
    pytest.param(
        chunk(piece("{}", id="a", name="Bash")), chunk(piece("", id="a", name="Bash")), id="a stream without an end"
    ),
    pytest.param(
        chunk({"index": 0, "id": "a", "type": "custom", "custom": {"name": "Bash", "input": "{}"}}) + DONE,
        None,
        id="a custom tool",
    ),
    pytest.param(chunk(content="no", refusal="tool_calls") + DONE, None, id="a refusal"),
]


@pytest.mark.parametrize(("stream", "expected"), CHAT)
def test_chat_chunk_by_chunk(stream: bytes, expected: bytes | None) -> None:
    assert through("openai_chat", SSE, [stream], Asking(Holding)) == (stream if expected is None else expected)


def test_only_the_fragment_is_written_anew() -> None:
    odd = b'data:{"z" : 1.0,"choices":[ {"delta":{"tool_calls":[{"function":{"arguments":"'
    odd += b'\\u007b\\"why\\":\\"\\\\u00e9\\",\\"a\\":1}","name":"Bash"},"id":"q"}] } }],"obfuscation":"x\\u0041"}\n\n'
    out = through("openai_chat", SSE, [odd], Asking(FILTERS["early"]))
    assert out == odd.replace(b'\\u007b\\"why\\":\\"\\\\u00e9\\",', b"{")


def test_events_pass_as_soon_as_they_are_whole() -> None:
    reply = ReplyFilter("anthropic", SSE, Asking(Holding))
    assert reply.feed(b": waiting\n") == b": waiting\n"
    assert reply.feed(PING[:-1]) == b""
    assert reply.feed(PING[-1:] + start()) == PING + start()
    assert reply.feed(delta("{}") + PING) == PING
    assert reply.feed(stop()) == COMPACT_DELTA % b'"{}"' + stop()
