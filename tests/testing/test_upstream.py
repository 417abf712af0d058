"""The server: what it records, how answers travel, and everything that can be made to go wrong."""

from __future__ import annotations

import gzip
import http.client
import json
import zlib
from collections.abc import Callable

import brotli
import pytest
import zstandard
from testing.wires import CHAT_TOOLS, TOOLS, Json, answered, chat, exchange, messages, post, user

from coldpress.testing import (
    Asked,
    BreakOff,
    Call,
    Delivery,
    Disconnect,
    ErrorEvent,
    Fault,
    HttpError,
    Read,
    Rules,
    Say,
    Script,
    Shell,
    StrictUpstream,
    Think,
    Turn,
    closed_port_url,
    task,
)

MESSAGES, CHAT = "/v1/messages", "/v1/chat/completions"
HELLO = Script(closing=Turn((Say("Hello there, this is an answer of some length, long enough for several deltas."),)))
TEXT = HELLO.closing.parts[0].text  # type: ignore[union-attr]


def spoken(events: list[Json]) -> str:
    """The text that the deltas of either wire add up to."""
    texts = [event.get("delta", {}).get("text", "") for event in events]
    texts += [choice["delta"].get("content") or "" for event in events for choice in event.get("choices", [])]
    return "".join(texts)


def test_everything_received_is_recorded_as_it_came() -> None:
    raw = json.dumps(messages(user("hé")), indent=3).encode()
    with StrictUpstream(HELLO) as upstream:
        post(upstream.url, MESSAGES + "?beta=true", raw, {"X-Api-Key": "k", "anthropic-beta": "a,b"})
        got = upstream.exchanges[0]
    assert (got.request.method, got.request.target) == ("POST", "/v1/messages?beta=true")
    assert got.request.raw == got.request.body == raw
    assert got.request.json["messages"] == [user("hé")]
    assert (got.request.header("x-api-key"), got.request.header("anthropic-beta")) == ("k", "a,b")
    assert (got.number, got.status, got.finished, got.refusal) == (0, 200, True, None)


@pytest.mark.parametrize(
    ("name", "compress"),
    [
        pytest.param("gzip", gzip.compress, id="gzip"),
        pytest.param("deflate", zlib.compress, id="deflate"),
        pytest.param("br", brotli.compress, id="br"),
        pytest.param("zstd", zstandard.ZstdCompressor().compress, id="zstd"),
    ],
)
def test_compressed_bodies_are_read(name: str, compress: Callable[[bytes], bytes]) -> None:
    raw = json.dumps(messages(user("go"))).encode()
    with StrictUpstream(HELLO) as upstream:
        assert post(upstream.url, MESSAGES, compress(raw), {"content-encoding": name}).status == 200
        assert upstream.exchanges[0].request.body == raw
        assert upstream.exchanges[0].request.raw == compress(raw)
        assert post(upstream.url, MESSAGES, b"not " + raw, {"content-encoding": name}).status == 400


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        pytest.param("HEAD", "/", 200, id="the probe of Claude Code"),
        pytest.param("GET", "/v1/models", 200, id="the list of models"),
        pytest.param("GET", "/v1/nothing", 404, id="an unknown path"),
        pytest.param("POST", "/v1/nothing", 404, id="an unknown call"),
    ],
)
def test_other_paths(method: str, path: str, status: int) -> None:
    with StrictUpstream(HELLO) as upstream:
        reply = exchange(upstream.url, method, path)
        assert upstream.inference == []
    assert reply.status == status
    assert method != "HEAD" or reply.body == b""


@pytest.mark.parametrize(
    "path", ["/v1/chat/completions", "/openai/deployments/x/chat/completions", "/chat/completions"]
)
def test_chat_is_served_under_any_prefix(path: str) -> None:
    with StrictUpstream(HELLO) as upstream:
        assert post(upstream.url, path, chat(user("go"))).json["choices"][0]["message"]["content"] == TEXT


@pytest.mark.parametrize(
    ("path", "body", "headers", "status", "kind"),
    [
        pytest.param(MESSAGES, b"{", {}, 400, "invalid_request_error", id="Messages, invalid JSON"),
        pytest.param(MESSAGES, b"[]", {}, 400, "invalid_request_error", id="Messages, no object"),
        pytest.param(MESSAGES, b"[" * 4000, {}, 400, "invalid_request_error", id="Messages, endless nesting"),
        pytest.param(MESSAGES, messages(user("x" * 5000)), {}, 413, "request_too_large", id="Messages, body too large"),
        pytest.param(
            MESSAGES, messages(user("x")), {"authorization": ""}, 401, "authentication_error", id="Messages, no key"
        ),
        pytest.param(CHAT, b"{", {}, 400, "invalid_request_error", id="chat, invalid JSON"),
        pytest.param(CHAT, chat(user("x" * 5000)), {}, 413, "invalid_request_error", id="chat, body too large"),
        pytest.param(CHAT, chat(user("x")), {"authorization": ""}, 401, "invalid_request_error", id="chat, no key"),
    ],
)
def test_requests_refused_before_they_are_read(
    path: str, body: Json | bytes, headers: Json, status: int, kind: str
) -> None:
    with StrictUpstream(HELLO, rules=Rules(require_key=True, max_body_bytes=4096)) as upstream:
        reply = post(upstream.url, path, body, {"authorization": "Bearer k", **headers})
        assert post(upstream.url, path, messages(user("x")), {"authorization": "Bearer k"}).status == 200
    assert (reply.status, reply.json["error"]["type"]) == (status, kind)
    assert (reply.json.get("type") == "error") is (path == MESSAGES)


def test_a_bomb_is_too_large_however_small_it_arrives() -> None:
    with StrictUpstream(HELLO, rules=Rules(max_body_bytes=4096)) as upstream:
        bomb = gzip.compress(json.dumps(messages(user("x" * 100_000))).encode())
        assert len(bomb) < 4096
        assert post(upstream.url, MESSAGES, bomb, {"content-encoding": "gzip"}).status == 413


def test_messages_without_a_version_are_refused() -> None:
    with StrictUpstream(HELLO) as upstream:
        reply = exchange(upstream.url, "POST", MESSAGES, json.dumps(messages(user("x"))).encode())
    assert (reply.status, reply.json["error"]["message"]) == (400, "anthropic-version: header is required")


@pytest.mark.parametrize("path", [MESSAGES, CHAT])
@pytest.mark.parametrize(
    "delivery",
    [
        pytest.param(Delivery(), id="event by event"),
        pytest.param(Delivery(chunk_bytes=1), id="split at every byte"),
        pytest.param(Delivery(chunk_bytes=7), id="split anywhere"),
        pytest.param(Delivery(crlf=True), id="with CR LF"),
        pytest.param(Delivery(crlf=True, chunk_bytes=1), id="with CR LF, split at every byte"),
    ],
)
def test_a_stream_says_the_same_however_it_is_cut(path: str, delivery: Delivery) -> None:
    script = Script(closing=HELLO.closing, delivery=delivery)
    body = messages(user("go")) if path == MESSAGES else chat(user("go"))
    with StrictUpstream(script) as upstream:
        reply = post(upstream.url, path, {**body, "stream": True})
    assert reply.headers["content-type"].startswith("text/event-stream")
    assert spoken(reply.events) == TEXT
    assert (b"\r\n\r\n" in reply.body) is delivery.crlf
    assert path == MESSAGES or reply.body.rstrip().endswith(b"data: [DONE]")


@pytest.mark.parametrize("path", [MESSAGES, CHAT])
def test_events_hold_as_much_as_the_script_says(path: str) -> None:
    turn = Turn((Say("One moment."), Call("bash", {"command": "echo é"})))
    body = messages(user("go")) if path == MESSAGES else chat(user("go"))
    with StrictUpstream(Script(closing=turn, delivery=Delivery(delta_characters=3))) as upstream:
        events = post(upstream.url, path, {**body, "stream": True}).events
    pieces = [event["delta"].get("partial_json") for event in events if event.get("type") == "content_block_delta"]
    deltas = [choice["delta"] for event in events for choice in event.get("choices", [])]
    pieces += [call["function"]["arguments"] for delta in deltas for call in delta.get("tool_calls", [])]
    written = [piece for piece in pieces if piece]
    assert "".join(written) == '{"command": "echo é"}'
    assert {len(piece) for piece in written} == {3}
    assert spoken(events) == "One moment."


@pytest.mark.parametrize("stream", [False, True], ids=["document", "stream"])
def test_gzip_answers(stream: bool) -> None:
    with StrictUpstream(Script(closing=HELLO.closing, delivery=Delivery(gzip=True))) as upstream:
        reply = post(upstream.url, MESSAGES, {**messages(user("go")), "stream": stream})
    assert reply.headers["content-encoding"] == "gzip"
    assert b"Hello there" in gzip.decompress(reply.body)


@pytest.mark.parametrize("stream", [False, True], ids=["document", "stream"])
@pytest.mark.parametrize("path", [MESSAGES, CHAT])
def test_usage_may_be_missing(path: str, stream: bool) -> None:
    body = messages(user("go")) if path == MESSAGES else chat(user("go"), stream_options={"include_usage": True})
    for omit in (True, False):
        with StrictUpstream(Script(closing=HELLO.closing, delivery=Delivery(omit_usage=omit))) as upstream:
            reply = post(upstream.url, path, {**body, "stream": stream})
        assert (b'"usage"' in reply.body) is not omit


def test_a_chat_stream_has_usage_only_where_it_is_asked_for() -> None:
    with StrictUpstream(HELLO) as upstream:
        assert b'"usage"' not in post(upstream.url, CHAT, chat(user("go"), stream=True)).body


@pytest.mark.parametrize(
    ("fault", "path", "status", "kind", "header"),
    [
        pytest.param(HttpError(429, retry_after_seconds=7), MESSAGES, 429, "rate_limit_error", "7", id="Messages 429"),
        pytest.param(HttpError(529), MESSAGES, 529, "overloaded_error", None, id="Messages 529"),
        pytest.param(HttpError(500), MESSAGES, 500, "api_error", None, id="Messages 500"),
        pytest.param(HttpError(429, retry_after_seconds=7), CHAT, 429, "requests", "7", id="chat 429"),
        pytest.param(HttpError(503), CHAT, 503, "server_error", None, id="chat 503"),
        pytest.param(HttpError(418, message="teapot", kind="tea"), CHAT, 418, "tea", None, id="any status and words"),
    ],
)
def test_scripted_errors(fault: HttpError, path: str, status: int, kind: str, header: str | None) -> None:
    body = messages(user("go")) if path == MESSAGES else chat(user("go"))
    with StrictUpstream(Script(closing=HELLO.closing, faults={0: fault})) as upstream:
        failed, retried = post(upstream.url, path, body), post(upstream.url, path, body)
        assert upstream.exchanges[0].usage is None
    assert (failed.status, failed.json["error"]["type"], failed.headers.get("retry-after")) == (status, kind, header)
    assert retried.status == 200


@pytest.mark.parametrize(
    ("fault", "stream", "error"),
    [
        pytest.param(Disconnect(), False, http.client.RemoteDisconnected, id="closed without an answer"),
        pytest.param(BreakOff(after=20), False, http.client.IncompleteRead, id="a document breaks off"),
        pytest.param(BreakOff(after=3), True, http.client.IncompleteRead, id="a stream breaks off"),
    ],
)
@pytest.mark.parametrize("path", [MESSAGES, CHAT])
def test_broken_connections(path: str, fault: Fault, stream: bool, error: type[Exception]) -> None:
    body = messages(user("go")) if path == MESSAGES else chat(user("go"))
    with StrictUpstream(Script(closing=HELLO.closing, faults={0: fault})) as upstream:
        with pytest.raises(error):
            post(upstream.url, path, {**body, "stream": stream})
        assert not upstream.exchanges[0].finished
        assert post(upstream.url, path, {**body, "stream": stream}).status == 200


@pytest.mark.parametrize("path", [MESSAGES, CHAT])
def test_an_error_event_comes_after_200_and_ends_the_stream(path: str) -> None:
    body = messages(user("go")) if path == MESSAGES else chat(user("go"))
    with StrictUpstream(Script(closing=HELLO.closing, faults={0: ErrorEvent(after=3)})) as upstream:
        reply = post(upstream.url, path, {**body, "stream": True})
    assert reply.status == 200
    assert len(reply.events) == 4
    assert reply.events[-1]["error"]["message"] == "Overloaded"
    assert (b"event: error" in reply.body) is (path == MESSAGES)


def test_delays_go_through_the_given_sleep() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    delivery = Delivery(first_byte_delay_seconds=30, event_delay_seconds=2)
    with StrictUpstream(Script(closing=HELLO.closing, delivery=delivery), sleep=sleep) as upstream:
        events = post(upstream.url, MESSAGES, messages(user("go"), stream=True)).events
    assert slept == [30, *[2] * len(events)]


def test_nobody_listens_on_a_closed_port() -> None:
    with pytest.raises(ConnectionRefusedError):
        post(closed_port_url(), MESSAGES, messages(user("go")))


def test_a_huge_answer_arrives_whole() -> None:
    huge = "0123456789" * 1_000_000
    with StrictUpstream(Script(closing=Turn((Say(huge),)))) as upstream:
        assert post(upstream.url, MESSAGES, messages(user("go"))).json["content"][0]["text"] == huge


def test_turns_follow_the_conversation_and_not_the_count_of_requests() -> None:
    script = task(Shell("one"), (Shell("two"), Shell("three")), done="finished")
    with StrictUpstream(script) as upstream:
        said = [user("go")]
        for expected in (["one"], ["two", "three"]):
            first = post(upstream.url, MESSAGES, messages(*said)).json
            again = post(upstream.url, MESSAGES, messages(*said)).json
            commands = [b["input"]["command"] for b in first["content"] if b["type"] == "tool_use"]
            assert commands == expected == [b["input"]["command"] for b in again["content"] if b["type"] == "tool_use"]
            said += answered(first["content"], "out")
        last = post(upstream.url, MESSAGES, messages(*said)).json
    assert (last["content"][0]["text"], last["stop_reason"]) == ("finished", "end_turn")


def test_a_request_without_tools_is_a_side_request() -> None:
    with StrictUpstream(task(Shell("one"))) as upstream:
        reply = post(upstream.url, MESSAGES, {**messages(user("title?")), "tools": []}).json
    assert reply["content"] == [{"type": "text", "text": "A short title"}]


def test_a_function_may_decide_instead() -> None:
    def answer(asked: Asked) -> Turn | None:
        return Turn((Say(f"{asked.format} {asked.tools}"),)) if asked.number else None

    with StrictUpstream(Script(closing=Turn((Say("first"),)), answer=answer)) as upstream:
        replies = [
            post(upstream.url, CHAT, chat(user("go"))).json["choices"][0]["message"]["content"] for _ in range(2)
        ]
    assert replies == ["first", "openai_chat ('bash',)"]


def test_a_turn_may_end_for_any_reason() -> None:
    with StrictUpstream(Script(closing=Turn((Say("cut"),), stop_reason="max_tokens"))) as upstream:
        assert post(upstream.url, MESSAGES, messages(user("go"))).json["stop_reason"] == "max_tokens"
        assert post(upstream.url, CHAT, chat(user("go"))).json["choices"][0]["finish_reason"] == "length"


def test_max_tokens_zero_fills_the_cache_and_says_nothing() -> None:
    with StrictUpstream(HELLO) as upstream:
        assert post(upstream.url, MESSAGES, {**messages(user("go")), "max_tokens": 0}).json["content"] == []


def test_the_same_requests_get_the_same_bytes() -> None:
    def play() -> list[bytes]:
        with StrictUpstream(task(Shell("one"), Read("a.py"), thinking=True)) as upstream:
            said, bodies = [user("go")], []
            for _ in range(3):
                bodies.append(post(upstream.url, MESSAGES, messages(*said, thinking={"type": "adaptive"})).body)
                said += answered(json.loads(bodies[-1])["content"], "out")[: 2 if len(bodies) < 3 else 0]
            return bodies

    assert play() == play()


def test_deepseek_sends_its_reasoning_and_wants_it_back() -> None:
    script = Script(turns=(Turn((Think("hm"), Call("bash", {"command": "ls"}))),))
    with StrictUpstream(script, rules=Rules(dialect="deepseek")) as upstream:
        message = post(upstream.url, CHAT, chat(user("go"))).json["choices"][0]["message"]
        result = {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "a.py"}
        kept = post(upstream.url, CHAT, chat(user("go"), message, result))
        del message["reasoning_content"]
        lost = post(upstream.url, CHAT, chat(user("go"), message, result))
    assert kept.status == 200
    assert lost.status == 400
    assert "must be passed back" in lost.json["error"]["message"]


@pytest.mark.parametrize(
    ("tools", "expected"),
    [
        pytest.param(TOOLS, [("Bash", {"command": "ls"}), ("Bash", {"command": "cat a.py"})], id="a shell does both"),
        pytest.param(
            [
                {"name": "exec_command", "input_schema": {"properties": {"cmd": {"type": "array"}}}},
                {
                    "name": "Read",
                    "input_schema": {
                        "properties": {"filePath": {}, "limit": {"type": "integer"}},
                        "required": ["filePath", "limit"],
                    },
                },
            ],
            [("exec_command", {"cmd": ["bash", "-lc", "ls"]}), ("Read", {"filePath": "a.py", "limit": 1})],
            id="arguments by the schema, other required ones filled",
        ),
    ],
)
def test_intents_use_the_tools_a_client_has(tools: list[Json], expected: list[tuple[str, Json]]) -> None:
    with StrictUpstream(task((Shell("ls"), Read("a.py")))) as upstream:
        content = post(upstream.url, MESSAGES, {**messages(user("go")), "tools": tools}).json["content"]
    assert [(b["name"], b["input"]) for b in content if b["type"] == "tool_use"] == expected


def test_intents_read_chat_tools_too() -> None:
    with StrictUpstream(task(Shell("ls"))) as upstream:
        call = post(upstream.url, CHAT, chat(user("go"))).json["choices"][0]["message"]["tool_calls"][0]
    assert call["function"] == {"name": CHAT_TOOLS[0]["function"]["name"], "arguments": '{"command": "ls"}'}


def test_without_a_fitting_tool_the_model_says_so() -> None:
    with StrictUpstream(task(Shell("ls"))) as upstream:
        body = {**messages(user("go")), "tools": [{"name": "weather", "input_schema": {}}]}
        content = post(upstream.url, MESSAGES, body).json["content"]
    assert "offers no shell tool to run 'ls'; it offers: weather" in content[0]["text"]


@pytest.mark.parametrize("path", [MESSAGES, CHAT])
def test_a_lone_surrogate_is_served_like_any_text(path: str) -> None:
    odd = {"role": "user", "content": [{"type": "text", "text": "a\ud800b"}, {"type": "image_url", "x": "\udfff"}]}
    body = messages(odd) if path == MESSAGES else chat(odd)
    with StrictUpstream(HELLO) as upstream:
        assert post(upstream.url, path, body).status == 200
        assert post(upstream.url, path, {**body, "messages": [{"role": "\ud800", "content": "x"}]}).status == 400
