"""Replies that come as one JSON document, and what happens where a reply or a filter is not as it should be."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import STYLES, Style, write
from wire.calls import JSON, SSE, Asking, Early, Holding, Json, Same, cut, event, through

from coldpress.wire.call_stream import MOST_ARGUMENT_CHARS
from coldpress.wire.registry import FormatName
from coldpress.wire.reply_calls import CallFilter, ReplyFilter

CUTS = st.lists(st.integers(0, 5_000), max_size=6)


def message(*inputs: object, name: str = "Bash") -> Json:
    calls = [{"type": "tool_use", "id": f"t{n}", "name": name, "input": given} for n, given in enumerate(inputs)]
    return {"id": "m", "content": [{"type": "text", "text": "é"}, *calls, {"type": "odd"}], "usage": {"a": 1}}


def completion(*arguments: object, name: str = "Bash", **more: object) -> Json:
    calls = [
        {"id": f"t{n}", "type": "function", "function": {"name": name, "arguments": given}}
        for n, given in enumerate(arguments)
    ]
    return {"choices": [{"index": 0, "message": {"content": None, "tool_calls": calls, **more}}], "usage": {"a": 1}}


@settings(max_examples=60, deadline=None)
@given(STYLES, CUTS)
def test_only_the_calls_of_a_document_change(style: Style, cuts: list[int]) -> None:
    calls = ({"why": "é", "cmd": "a/b"}, {"n": 1}, {})
    pairs: list[tuple[FormatName, Json, Json]] = [
        ("anthropic", message(*calls), message({"cmd": "a/b"}, {"n": 1}, {})),
        (
            "openai_chat",
            completion('{"why": 1, "a": "é"}', "no JSON", ""),
            completion('{"a": "é"}', "no JSON", ""),
        ),
    ]
    for format_name, sent, expected in pairs:
        body = write(sent, style)
        asking = Asking(Holding)
        out = through(format_name, JSON, cut(body, cuts), asking)
        assert json.loads(out) == expected
        assert [call_id for _, call_id in asking.asked] == ["t0", "t1", "t2"]
        assert through(format_name, JSON, cut(body, cuts), Asking(Same)) == body


DOCUMENTS = [
    pytest.param(
        "openai_chat", completion(function_call={"name": "Bash", "arguments": '{"why":1}'}), "{}", id="legacy"
    ),
    pytest.param("openai_chat", completion({"why": 1, "cmd": "ls"}), '{"cmd": "ls"}', id="arguments as an object"),
]


@pytest.mark.parametrize(("format_name", "document", "expected"), DOCUMENTS)
def test_documents_of_other_shapes(format_name: FormatName, document: Json, expected: str) -> None:
    out = json.loads(through(format_name, JSON, [json.dumps(document).encode()], Asking(Holding)))
    inside = out["choices"][0]["message"]
    given = (inside.get("function_call") or inside["tool_calls"][0]["function"])["arguments"]
    assert (given if isinstance(given, str) else json.dumps(given)) == expected


UNTOUCHED = [
    pytest.param("application/json", b'{"content": [{"type": "text", "text": "why', id="cut off"),
    pytest.param("application/json", b'{"content": 1, "content": [], "x": "\xff"}', id="a key twice"),
    pytest.param("application/json", b'{"error": {"message": "no"}}', id="an error"),
    pytest.param("application/json", b" \n ", id="white space"),
    pytest.param("application/json", b"", id="nothing"),
    pytest.param("text/html", b"<html>data: {}</html>", id="a page"),
    pytest.param("application/json", b"[1, 2]", id="a list"),
]


@pytest.mark.parametrize(("content_type", "body"), UNTOUCHED)
def test_what_holds_no_calls_passes(content_type: str, body: bytes) -> None:
    for format_name in ("anthropic", "openai_chat"):
        for chunks in ([body], cut(body, range(len(body)))):
            assert through(format_name, content_type, chunks, Asking(Holding)) == body


def test_white_space_in_front_of_a_document_goes_out_at_once() -> None:
    reply = ReplyFilter("openai_chat", JSON, Asking(Holding))
    assert reply.feed(b"\n") == b"\n"
    assert reply.feed(b"\n {") == b"\n "
    assert reply.feed(b"}") == b""
    assert reply.end() == b"{}"


def test_a_stream_that_is_called_something_else_is_still_a_stream() -> None:
    stream = event({"choices": [{"delta": {"content": "hi"}}]})
    reply = ReplyFilter("openai_chat", "text/plain", Asking(Holding))
    assert reply.feed(stream) == stream


def test_a_document_that_is_too_long_passes_and_is_counted() -> None:
    body = json.dumps(message({"why": "x" * 100})).encode()
    chunks = cut(body, range(0, len(body), 10))
    assert through("anthropic", JSON, chunks, Asking(Holding), faults=1, most_document_bytes=len(body) - 1) == body
    assert through("anthropic", JSON, chunks, Asking(Holding), most_document_bytes=len(body)) != body


def begins(name: str = "Bash") -> bytes:
    block = {"type": "tool_use", "id": "t", "name": name, "input": {}}
    return event({"type": "content_block_start", "index": 0, "content_block": block}, name="content_block_start")


def says(fragment: str) -> bytes:
    inner = {"type": "input_json_delta", "partial_json": fragment}
    return event({"type": "content_block_delta", "index": 0, "delta": inner}, name="content_block_delta")


ENDS = event({"type": "content_block_stop", "index": 0}, name="content_block_stop")


def arguments(stream: bytes) -> str:
    lines = [line[6:] for line in stream.split(b"\n") if line.startswith(b"data: ")]
    return "".join(json.loads(line).get("delta", {}).get("partial_json", "") for line in lines)


@pytest.mark.parametrize("cuts", [(), (10, 200, 300), tuple(range(400))], ids=["whole", "pieces", "bytes"])
def test_an_event_that_is_too_long_passes_with_what_was_held(cuts: tuple[int, ...]) -> None:
    stream = begins() + says('{"why": ') + says('"' + "x" * 500 + '"') + says("}") + ENDS
    out = through("anthropic", SSE, cut(stream, cuts), Asking(Holding), faults=2, most_event_bytes=300)
    assert out.endswith(says("}") + ENDS)
    assert arguments(out) == '{"why": "' + "x" * 500 + '"}'


class Failing(Early):
    """Fails at a fragment that holds a word, or at its end."""

    def __init__(self, word: str) -> None:
        super().__init__()
        self.word = word

    def feed(self, fragment: str) -> str:
        if self.word in fragment:
            raise KeyError(fragment)
        return super().feed(fragment)

    def end(self) -> str:
        if self.word == "end":
            raise RuntimeError
        return super().end()


FAILURES = [
    pytest.param("cmd", ['{"why": "x"', ', "cmd": 1', "}"], '{"why": "x", "cmd": 1}', id="before anything went out"),
    pytest.param("n", ['{"why": "x", "cmd": 1', ', "n": 2', "}"], '{"cmd": 1, "n": 2}', id="behind the field"),
    pytest.param("n", ['{"cmd": 1', ', "n": 2', "}"], '{"cmd": 1, "n": 2}', id="where there is no field"),
    pytest.param("end", ['{"why": "x"'], '{"why": "x"', id="at the end, and all was held"),
    pytest.param("end", ['{"why": "x"', "}"], "{}", id="at the end, and nothing was held"),
]


@pytest.mark.parametrize(("word", "fragments", "expected"), FAILURES)
def test_a_filter_that_fails_leaves_a_whole_call(word: str, fragments: list[str], expected: str) -> None:
    stream = begins() + b"".join(map(says, fragments)) + ENDS
    out = through("anthropic", SSE, [stream], lambda name, call_id: Failing(word), faults=1)
    assert arguments(out) == expected
    chunks = [{"choices": [{"index": 0, "delta": {"tool_calls": [piece]}}]} for piece in chat_pieces(fragments)]
    out = through(
        "openai_chat", SSE, [b"".join(map(event, chunks)) + event("[DONE]")], lambda *_: Failing(word), faults=1
    )
    lines = [line[6:] for line in out.split(b"\n") if line.startswith(b"data: {")]
    pieces = [json.loads(line)["choices"][0]["delta"]["tool_calls"][0]["function"] for line in lines]
    assert "".join(piece["arguments"] for piece in pieces) == expected


def chat_pieces(fragments: list[str]) -> list[Json]:
    first = {"index": 0, "id": "t", "function": {"name": "Bash", "arguments": fragments[0]}}
    return [first, *[{"index": 0, "function": {"arguments": fragment}} for fragment in fragments[1:]]]


@pytest.mark.parametrize(
    ("format_name", "body"),
    [
        pytest.param("anthropic", json.dumps(message({"cmd": 1})).encode(), id="messages"),
        pytest.param("openai_chat", json.dumps(completion('{"cmd": 1}')).encode(), id="chat"),
    ],
)
@pytest.mark.parametrize("made", [lambda *_: Failing("cmd"), lambda *_: Failing("end"), lambda *_: 1 / 0])
def test_a_failing_filter_leaves_a_document_as_it_came(
    format_name: FormatName, body: bytes, made: Callable[[str, str], CallFilter]
) -> None:
    assert through(format_name, JSON, [body], made, faults=1) == body


class Broken(Same):
    def feed(self, fragment: str) -> str:
        return fragment[:-1]


def test_an_input_that_a_filter_breaks_stays_as_it_was() -> None:
    body = json.dumps(message({"cmd": 1})).encode()
    assert through("anthropic", JSON, [body], Asking(Broken), faults=1) == body


def test_a_filter_sees_whole_characters_though_a_server_cuts_them() -> None:
    seen: list[str] = []

    class Noting(Early):
        def feed(self, fragment: str) -> str:
            seen.append(fragment)
            return super().feed(fragment)

    halves = [says("@").replace(b"@", half) for half in (rb"{\"a\": \"\ud83d", rb"\ude42", rb"\"}")]
    out = through("anthropic", SSE, [begins() + b"".join(halves) + ENDS], Asking(Noting))
    assert seen == ['{"a": "', "\U0001f642", '"}']
    assert arguments(out) == '{"a": "\U0001f642"}'


def test_half_a_character_without_its_other_half_stays_one() -> None:
    lone = says("@").replace(b"@", rb"{\"a\": \"\ud83d\"}")
    assert through("anthropic", SSE, [begins() + lone + ENDS], Asking(Same)) == begins() + lone + ENDS


def test_arguments_that_never_end_are_let_go() -> None:
    stream = begins() + says('{"a": "') + says("x" * MOST_ARGUMENT_CHARS) + says('"}') + ENDS
    out = through("anthropic", SSE, [stream], Asking(Holding), faults=1, most_event_bytes=2 * MOST_ARGUMENT_CHARS)
    assert len(arguments(out)) == MOST_ARGUMENT_CHARS + 9


def test_a_chunk_that_says_something_twice_ends_the_filter() -> None:
    inner = '{"type": "input_json_delta", "partial_json": "}"}'
    twice = event('{"type": "content_block_delta", "index": 0, "index": 0, "delta": ' + inner + "}")
    out = through("anthropic", SSE, [begins() + says('{"why": 1') + twice + ENDS], Asking(Holding), faults=2)
    assert arguments(out) == '{"why": 1}'
    assert twice in out
