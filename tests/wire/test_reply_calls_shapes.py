"""Replies as compatible servers shape them: calls are filtered all the same, and those that cannot be, counted."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wire.calls import (
    FILTERS,
    JSON,
    SSE,
    Asking,
    Early,
    Holding,
    Json,
    Made,
    chat_stream,
    cut,
    event,
    payloads,
    through,
)

from coldpress.wire.call_stream import CallStream, FaultCount
from coldpress.wire.named_stream import MOST_NAMELESS_CHARS
from coldpress.wire.registry import FormatName
from coldpress.wire.reply_calls import CallFilter, ReplyFilter

CUTS = st.lists(st.integers(0, 5_000), max_size=8)
ARGUMENTS = '{"why": "x", "cmd": "ls"}'
KINDS = pytest.mark.parametrize("kind", ["holding", "early"])


def only(name: str, kind: str = "holding") -> Callable[[str, str], CallFilter | None]:
    """Gives filters to the calls of one tool."""
    return lambda called, call_id: FILTERS[kind]() if called == name else None


def stream(*deltas: Json, home: str = "delta") -> bytes:
    chunks: list[Json] = [{"choices": [{"index": 0, home: delta, "finish_reason": None}]} for delta in deltas]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    return b"".join(map(event, chunks)) + event("[DONE]")


def calls(*pieces: Json) -> tuple[Json, ...]:
    """Deltas with a fragment each; of a piece, `name` and `arguments` stand in its function."""
    inner = ("name", "arguments")
    return tuple(
        {
            "tool_calls": [
                {key: piece[key] for key in piece if key not in inner}
                | {"function": {key: piece[key] for key in inner if key in piece}}
            ]
        }
        for piece in pieces
    )


def joined(out: bytes, home: str = "delta") -> list[Json]:
    """Names and arguments of the calls by their index, put together as clients do."""
    found: dict[int, Json] = {}
    for payload in payloads(out):
        inside = [choice.get(home, {}).get("tool_calls", []) for choice in payload["choices"]]
        for call in itertools.chain(*inside):
            known = found.setdefault(call.get("index", 0), {"name": "", "arguments": ""})
            function = call["function"]
            known["name"] += function.get("name", "")
            given = function.get("arguments", "")
            known["arguments"] = known["arguments"] + given if isinstance(given, str) else given
    return list(found.values())


@KINDS
@settings(max_examples=30, deadline=None)
@given(cuts=CUTS, where=st.lists(st.integers(0, len(ARGUMENTS)), max_size=5), named=st.integers(0, 6))
def test_a_name_may_come_in_pieces_and_behind_the_arguments(
    kind: str, cuts: list[int], where: list[int], named: int
) -> None:
    places = sorted({0, len(ARGUMENTS), *where})
    fragments = [ARGUMENTS[a:b] for a, b in itertools.pairwise(places)]
    late: list[Json] = [{"index": 0, "arguments": fragment} for fragment in fragments]
    at = min(named, len(late))
    late.insert(at, {"index": 0, "name": "Bash"})
    late[0] |= {"id": "c"}
    pieces: list[Json] = [{"index": 0, "id": "c", "name": "Ba", "arguments": ""}, {"index": 0, "name": "s"}]
    pieces += [{"index": 0, "name": "h", "arguments": fragments[0]}]
    pieces += [{"index": 0, "arguments": fragment} for fragment in fragments[1:]]
    for body in (stream(*calls(*late)), stream(*calls(*pieces))):
        out = through("openai_chat", SSE, cut(body, cuts), only("Bash", kind))
        assert [call["name"] for call in joined(out)] == ["Bash"]
        assert json.loads(joined(out)[0]["arguments"]) == {"cmd": "ls"}


def test_a_name_that_grows_or_is_said_again_is_one_name() -> None:
    again = [{"index": 0, "id": "c", "name": "Ba"}, {"index": 0, "name": "Bash"}]
    again += [{"index": 0, "name": "Bash", "arguments": sign} for sign in ARGUMENTS]
    out = through("openai_chat", SSE, [stream(*calls(*again))], only("Bash"))
    assert json.loads(joined(out)[0]["arguments"]) == {"cmd": "ls"}


def test_arguments_of_a_tool_without_a_filter_lose_nothing_by_waiting_for_its_name() -> None:
    body = stream(*calls({"index": 0, "arguments": '{"why"'}, {"index": 0, "name": "plain", "arguments": ": 1}"}))
    out = through("openai_chat", SSE, [body], only("Bash"))
    assert joined(out) == [{"name": "plain", "arguments": '{"why": 1}'}]


LONG = '{"a": "' + "x" * MOST_NAMELESS_CHARS
COUNTED = [
    pytest.param([{"index": 0, "id": "c", "arguments": ARGUMENTS}], id="a name that never comes"),
    pytest.param([{"index": 0, "arguments": LONG}, {"index": 0, "arguments": '"}'}], id="a name that stays away long"),
    pytest.param([{"index": 0, "arguments": {"why": 1}}], id="an object without a name"),
    pytest.param(
        [{"index": 0, "name": "Ba", "arguments": "{"}, {"index": 0, "name": "sh", "arguments": '"why": 1}'}],
        id="a piece of the name behind arguments that went out",
    ),
    pytest.param([{"index": 0, "name": "Bash", "arguments": ["why"]}], id="arguments as a list"),
]


@pytest.mark.parametrize("pieces", COUNTED)
def test_a_call_of_a_chat_stream_that_cannot_be_filtered_is_counted(pieces: list[Json]) -> None:
    body = stream(*calls(*pieces))
    out = through("openai_chat", SSE, [body], only("Bash"), faults=1)
    assert joined(out) == joined(body) if isinstance(pieces[0]["arguments"], str) else out == body


FLAT = {"index": 0, "id": "c", "name": "Bash", "arguments": ARGUMENTS}
UNREAD: list[object] = [
    pytest.param("openai_chat", SSE, stream({"tool_calls": [FLAT]}), id="no function around the arguments"),
    pytest.param("openai_chat", SSE, stream({"tool_calls": {"function": FLAT}}), id="one call and no list"),
    pytest.param("openai_chat", JSON, b'{"choices": [{"message": {"tool_calls": [', id="a document cut off"),
    pytest.param("anthropic", JSON, b'{"content": [{"type": "tool_use", "input": {"why": 1}', id="a message cut off"),
    pytest.param("anthropic", JSON, b'{"content": [{"type": "tool_use", "input": "{}"}]}', id="input as text"),
    pytest.param(
        "openai_chat", JSON,
        b'{"choices": [{"message": {"tool_calls": [{"function": {"name": "Bash", "arguments": ["why"]}}]}}]}',
        id="arguments of a document as a list",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("format_name", "content_type", "body"), UNREAD)
def test_calls_of_a_shape_that_nobody_knows_pass_and_are_counted(
    format_name: FormatName, content_type: str, body: bytes
) -> None:
    assert through(format_name, content_type, [body], Asking(Holding), faults=1) == body


@KINDS
@given(cuts=CUTS)
@settings(max_examples=20, deadline=None)
def test_arguments_that_stream_as_an_object_come_out_as_one(kind: str, cuts: list[int]) -> None:
    given: Json = {"why": "é", "cmd": "ls"}
    pieces = [{"index": index, "id": f"c{index}", "name": "Bash", "arguments": given} for index in range(2)]
    body = stream({"content": "é"}, *calls(*pieces, {"index": 2, "id": "p", "name": "plain", "arguments": given}))
    out = through("openai_chat", SSE, cut(body, cuts), only("Bash", kind))
    assert [call["arguments"] for call in joined(out)] == [{"cmd": "ls"}, {"cmd": "ls"}, given]


@pytest.mark.parametrize("given", [ARGUMENTS, json.loads(ARGUMENTS)], ids=["text", "object"])
@pytest.mark.parametrize("more", [{"id": "c"}, {}, {"id": "c", "name": "Bash"}], ids=["id", "bare", "named"])
def test_whole_arguments_that_a_server_sends_once_more_are_filtered_once_more(given: object, more: Json) -> None:
    first = {"index": 0, "id": "c", "name": "Bash", "arguments": given}
    out = through("openai_chat", SSE, [stream(*calls(first, {"index": 0, **more, "arguments": given}))], only("Bash"))
    assert b"why" not in out
    assert out.count(b"cmd") == 2


@KINDS
@given(cuts=CUTS)
@settings(max_examples=20, deadline=None)
def test_calls_of_a_chunk_may_stand_in_a_message(kind: str, cuts: list[int]) -> None:
    pieces = [{"index": 0, "id": "c", "name": "Bash", "arguments": ARGUMENTS[:9]}]
    pieces += [{"index": 0, "arguments": ARGUMENTS[9:]}]
    out = through("openai_chat", SSE, cut(stream(*calls(*pieces), home="message"), cuts), only("Bash", kind))
    assert json.loads(joined(out, "message")[0]["arguments"]) == {"cmd": "ls"}


def test_a_message_that_says_the_calls_of_the_deltas_again_is_filtered_too() -> None:
    (delta,) = calls({"index": 0, "id": "c", "name": "Bash", "arguments": ARGUMENTS})
    chunk = event({"choices": [{"index": 0, "delta": delta, "message": delta, "finish_reason": "tool_calls"}]})
    out = through("openai_chat", SSE, [chunk, chunk, event("[DONE]")], only("Bash"))
    assert b"why" not in out
    assert out.count(b"cmd") == 4


def test_a_message_that_begins_with_calls_is_filtered() -> None:
    block = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"why": 1, "cmd": "ls"}}
    begins = {"type": "message_start", "message": {"id": "m", "content": [block]}}
    out = through("anthropic", SSE, [event(begins, name="message_start")], Asking(Holding))
    assert [payload["message"]["content"][0]["input"] for payload in payloads(out)] == [{"cmd": "ls"}]


def documents() -> Iterator[tuple[FormatName, Json]]:
    block = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"why": 1, "cmd": "ls"}}
    yield "anthropic", {"content": [block]}
    call = {"id": "t", "function": {"name": "Bash", "arguments": ARGUMENTS}}
    yield "openai_chat", {"choices": [{"message": {"tool_calls": [call]}}]}
    yield "openai_chat", {"choices": [{"delta": {"tool_calls": [call]}}]}


@pytest.mark.parametrize("front", [b"", b"\xef\xbb\xbf", b"\r\n \t", b"\xef\xbb\xbf \n"], ids=repr)
@pytest.mark.parametrize("content_type", [SSE, JSON, ""])
def test_the_first_byte_says_what_a_reply_is(content_type: str, front: bytes) -> None:
    for format_name, document in documents():
        body = front + json.dumps(document).encode()
        for chunks in ([body], cut(body, range(len(body)))):
            out = through(format_name, content_type, chunks, Asking(Holding))
            assert out.startswith(front + b"{")
            assert b"why" not in out
            assert b"cmd" in out
    made = Made("c", "Bash", (ARGUMENTS,))
    body = front.rstrip(b" \t") + chat_stream([made])
    for chunks in ([body], cut(body, range(len(body)))):
        out = through("openai_chat", content_type, chunks, Asking(Holding))
        assert out.startswith(front.rstrip(b" \t") + b": PROC")
        assert json.loads(joined(out)[0]["arguments"]) == {"cmd": "ls"}


@pytest.mark.parametrize("junk", [b"", b"\xef", b"\xef\xbb", b"\xef\xbb\xbf", b"  ", b" \n ", b" " * 5000, b" x\n\n"])
def test_what_stands_in_front_of_nothing_passes(junk: bytes) -> None:
    for content_type in (SSE, JSON):
        assert through("openai_chat", content_type, cut(junk, range(len(junk))), Asking(Holding)) == junk
        assert through("openai_chat", content_type, [junk], Asking(Holding)) == junk


def test_a_line_that_begins_with_a_blank_is_no_data_however_it_is_cut() -> None:
    body = b"  " + stream(*calls({"index": 0, "id": "c", "name": "Bash", "arguments": ARGUMENTS}))
    whole = through("openai_chat", SSE, [body], Asking(Early))
    assert through("openai_chat", SSE, cut(body, range(len(body))), Asking(Early)) == whole


def test_a_reply_says_how_much_it_holds_for_its_end() -> None:
    reply = ReplyFilter("openai_chat", JSON, Asking(Holding))
    reply.feed(b'\n{"a": ')
    assert reply.held_bytes == 6
    reply.feed(b"1}")
    reply.end()
    assert reply.held_bytes == 0


WHOLE = [
    ('{"a": "}{\\"", "b": [{}, "\\\\"]}', True),
    (" {} \n", True),
    ('{"a": 1', False),
    ('{"a": "}', False),
    ("{}{}", False),
    ("{} x", False),
    ("x{}", False),
    ("{]", False),
    ("}{", False),
    ("[{}]", False),
    ('"{}"', False),
    ("{a}", False),
    ("", False),
    (" ", False),
    ('{"a": "\\\\"}', True),
]


@pytest.mark.parametrize(("text", "is_whole"), WHOLE)
def test_arguments_are_whole_where_nothing_can_follow(text: str, is_whole: bool) -> None:
    for size in (1, 2, 3, 99):
        call = CallStream(None, FaultCount())
        seen = [call.whole]
        for at in range(0, len(text), size):
            call.feed(text[at : at + size])
            seen.append(call.whole)
        assert seen[-1] == is_whole


def test_asking_for_the_end_at_every_fragment_costs_no_more_than_their_length() -> None:
    call = CallStream(None, FaultCount())
    call.feed('{"a": "')
    began = time.thread_time()
    for _ in range(20_000):
        call.feed("ab } {" * 16 + "}")
        assert not call.whole
    assert time.thread_time() - began < 5
    call.feed('"}')
    assert call.whole


def test_many_calls_that_do_not_end_cost_no_more_than_their_number() -> None:
    pieces = [{"index": n, "id": f"c{n}", "name": "Bash", "arguments": '{"why": 1, "a": 1'} for n in range(8_000)]
    body = stream(*calls(*pieces))
    began = time.thread_time()
    through("openai_chat", SSE, [body], Asking(Early))
    assert time.thread_time() - began < 5
