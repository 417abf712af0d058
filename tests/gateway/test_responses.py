"""Responses clients at the gateway: no WebSockets, compressed bodies, errors in their shape, paths relayed unread."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import websockets
import zstandard
from cases.talk import log
from cases.through import gateway as real_gateway
from cases.through import send
from gateway.world import NotingDriver, Request, answering, ok, post, raw, run, world
from support import settings

from coldpress.config.secret import Secret
from coldpress.gateway.errors import Code, error_body, error_event
from coldpress.gateway.settings import Limits
from coldpress.testing import Rules, StrictUpstream
from coldpress.testing.exchange import Exchange

PATH = "/v1/responses"
CALL = {"type": "function_call", "call_id": "c1", "name": "Bash", "arguments": '{"command":"make"}'}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": log("n1", 400)}
ITEMS = [{"type": "message", "role": "user", "content": "Make it."}, CALL, OUTPUT]
TOOL = {"type": "function", "name": "Bash", "parameters": {"type": "object"}}
BODY = json.dumps({"model": "gpt-5.3-codex", "store": False, "tools": [TOOL], "input": ITEMS}, indent=1).encode()


@pytest.mark.parametrize("path", [PATH, "/provider/up/v1/responses", "/provider/up/backend-api/codex/responses"])
def test_a_websocket_is_refused_each_time_and_nobody_hears_of_it(path: str) -> None:
    driver = NotingDriver()

    async def scenario() -> None:
        async with world(answering(ok()), driver=driver) as w:
            for _ in range(7):
                with pytest.raises(websockets.InvalidStatus) as caught:
                    async with websockets.connect(f"ws://127.0.0.1:{w.serving.port}{path}", proxy=None):
                        pass
                assert caught.value.response.status_code == 426
                told = json.loads(caught.value.response.body)
                assert told["error"]["code"] == "websocket_unsupported"
            assert (await w.ask(post(path, BODY))).status == 200, "over HTTP it goes on"
            assert w.upstream.connections == 1

    run(scenario())
    assert len(driver.inbound) == 1
    assert len(driver.outcomes) == 1


@contextmanager
def strict(operation: str) -> Iterator[tuple[StrictUpstream, str]]:
    found = settings(operation)  # type: ignore[arg-type]
    with StrictUpstream(rules=Rules(check_signatures=False)) as upstream, real_gateway(upstream.url, found) as gate:
        yield upstream, gate.url


def compressed(operation: str) -> tuple[bytes, Exchange]:
    sent = zstandard.ZstdCompressor().compress(BODY)
    with strict(operation) as (upstream, url):
        reply = send(url, "POST", PATH, sent, (("content-encoding", "zstd"), ("content-type", "application/json")))
        assert reply.status == 200, reply.body
        return sent, upstream.exchanges[-1]


def test_x07_an_observed_body_goes_on_with_its_bytes_and_header() -> None:
    sent, exchange = compressed("observe")
    assert exchange.request.header("content-encoding") == "zstd"
    assert exchange.request.header("content-length") == str(len(sent))
    assert exchange.request.json == json.loads(BODY)


def test_x07_a_pressed_body_goes_on_plain_with_its_own_length() -> None:
    _, exchange = compressed("press")
    body = exchange.request.body
    assert exchange.request.header("content-encoding") is None
    assert exchange.request.header("content-length") == str(len(body))
    assert len(body) < len(BODY)
    start = BODY.index(b'"step')
    assert body[:start] == BODY[:start]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        pytest.param("POST", "/v1/responses/compact", id="compact"),
        pytest.param("POST", "/v1/responses/input_tokens", id="a count of tokens"),
        pytest.param("POST", "/v1/responses/resp_1/cancel", id="cancel"),
        pytest.param("GET", "/v1/responses/resp_1?stream=true&starting_after=4", id="a reply once more"),
        pytest.param("GET", "/v1/responses/resp_1/input_items?limit=3", id="what was sent"),
        pytest.param("DELETE", "/v1/responses/resp_1", id="delete"),
        pytest.param("POST", "/v1beta/models/gemini-x:countTokens", id="Gemini counts"),
        pytest.param("POST", "/v1beta/models/gemini-x:embedContent", id="Gemini embeds"),
        pytest.param("POST", "/v1beta/cachedContents", id="Gemini caches"),
        pytest.param("PATCH", "/v1beta/cachedContents/c1?updateMask=ttl", id="Gemini keeps a cache"),
        pytest.param("GET", "/v1beta/models?pageSize=5", id="Gemini's models"),
        pytest.param("POST", "/v1internal:countTokens", id="Code Assist counts"),
        pytest.param("POST", "/v1internal:loadCodeAssist", id="Code Assist begins"),
    ],
)
def test_what_is_no_inference_goes_through_unread(method: str, path: str) -> None:
    driver, seen = NotingDriver(rewrite=lambda body: b"changed"), list[Request]()
    body = b'{ "input": [ ] }' if method in ("POST", "PATCH") else b""
    asked = raw(method, f"/provider/up{path}", *([f"content-length: {len(body)}"] if body else [])) + body

    async def scenario() -> None:
        formats = ("openai_responses", "gemini")
        async with world(answering(ok(b'{ "as": "it came" }'), seen), driver=driver, formats=formats) as w:
            reply = await w.ask(asked)
            assert (reply.status, reply.body) == (200, b'{ "as": "it came" }')

    run(scenario())
    assert (seen[0].method, seen[0].target, seen[0].body) == (method, path, body)
    assert not driver.inbound
    assert not driver.outcomes


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        pytest.param(400, "invalid_mode", "invalid_request_error", id="a bad request"),
        pytest.param(404, "unknown_provider", "invalid_request_error", id="nobody there"),
        pytest.param(413, "body_too_large", "invalid_request_error", id="too large"),
        pytest.param(429, "spend_cap", "rate_limit_error", id="the day's money"),
        pytest.param(502, "upstream_unreachable", "server_error", id="no connection"),
        pytest.param(503, "overloaded", "server_error", id="overloaded"),
    ],
)
def test_an_error_in_openais_shape(status: int, code: Code, kind: str) -> None:
    told = json.loads(error_body("openai_responses", status, code, "what now"))
    assert told == {"error": {"message": "what now", "type": kind, "code": code, "param": None}}


@pytest.mark.parametrize(
    ("before", "begins"),
    [
        pytest.param(b"", b"event: error\ndata: {", id="at the start"),
        pytest.param(b"data: {}\n\n", b"event: error\ndata: {", id="between events"),
        pytest.param(b'data: {"a"', b"\n\nevent: error\ndata: {", id="inside an event"),
    ],
)
def test_an_error_in_a_stream_is_an_event_of_responses_and_an_error_to_the_sdks(before: bytes, begins: bytes) -> None:
    said = error_event("openai_responses", "upstream_broken", "it broke", sent_before=before)
    assert said.startswith(begins)
    assert said.endswith(b"}\n\n")
    told = json.loads(said.strip().partition(b"data: ")[2])
    assert (told["type"], told["code"], told["message"], told["param"]) == (
        "error",
        "upstream_broken",
        "it broke",
        None,
    )
    assert told["error"] == {"message": "it broke", "type": "server_error", "code": "upstream_broken", "param": None}


GEMINI_PATH = "/v1beta/models/gemini-x:generateContent"


@pytest.mark.parametrize("gemini", [False, True], ids=["responses", "gemini"])
@pytest.mark.parametrize(
    ("provider", "headers", "status", "code"),
    [
        pytest.param("nobody", (), 404, "unknown_provider", id="no such provider"),
        pytest.param("up", ("x-coldpress-mode: squeeze",), 400, "invalid_mode", id="no such operation"),
        pytest.param("up", (), 413, "body_too_large", id="too large"),
        pytest.param("up", ("origin: https://a.test",), 403, "web_page_refused", id="a web page"),
    ],
)
def test_what_the_gateway_refuses_is_told_as_the_wire_has_it(
    gemini: bool, provider: str, headers: tuple[str, ...], status: int, code: str
) -> None:
    path = f"/provider/{provider}{GEMINI_PATH if gemini else PATH}"
    formats = ("openai_responses", "gemini")
    limits = Limits(body_bytes=8, expanded_bytes=8) if code == "body_too_large" else Limits()

    async def scenario() -> None:
        # A page is refused where a key of ours would go along.
        async with world(answering(ok()), limits=limits, formats=formats, api_key=Secret("KEY", "ours")) as w:
            reply = await w.ask(post(path, b'{"model":"m"}', *headers))
            error = json.loads(reply.body)["error"]
            assert reply.status == status
            if gemini:
                assert error["code"] == status
                assert error["details"][0]["reason"] == code.upper()
            else:
                assert error["code"] == code
                assert isinstance(error["type"], str)
            assert w.upstream.connections == 0

    run(scenario())
