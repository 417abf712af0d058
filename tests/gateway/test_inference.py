"""An inference request is read, decided on and sent; what the driver does not change is not changed."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import zlib

import brotli
import pytest
import zstandard
from gateway.world import (
    ANTHROPIC_PATH,
    END,
    OPENAI_PATH,
    SSE_HEAD,
    NotingDriver,
    Request,
    answering,
    chunk,
    closing,
    ok,
    post,
    run,
    world,
)

from coldpress.config.secret import Secret
from coldpress.gateway.settings import Limits
from coldpress.wire.sse import UsageTap

BODY = b'{"model": "m",  "max_tokens":1.0, "messages":[{"role":"user","content":"caf\\u00e9 \xc3\xa9"}]}'
ENCODERS = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}


def asked(driver: NotingDriver, body: bytes, *headers: str, path: str = ANTHROPIC_PATH, **options: object) -> Request:
    """Send one request through and give what the provider got."""

    async def scenario() -> Request:
        seen: list[Request] = []
        async with world(answering(ok(), seen), driver=driver, **options) as w:  # type: ignore[arg-type]
            reply = await w.ask(post(path, body, *headers))
            assert reply.status == 200
        return seen[0]

    return run(scenario())


@pytest.mark.parametrize(
    ("path", "format_name"),
    [
        pytest.param("/v1/messages", "anthropic", id="bare messages"),
        pytest.param("/v1/chat/completions", "openai_chat", id="bare chat completions"),
        pytest.param("/provider/up/v1/messages?beta=true", "anthropic", id="messages of a provider, with a query"),
        pytest.param("/provider/up/openai/v1/chat/completions", "openai_chat", id="a longer path"),
        pytest.param("/v1/responses", "openai_responses", id="bare responses"),
        pytest.param("/provider/up/backend-api/codex/responses", "openai_responses", id="Codex with an account"),
    ],
)
def test_what_the_driver_is_told(path: str, format_name: str) -> None:
    driver = NotingDriver()
    request = asked(driver, BODY, "X-Session-Id: s", "authorization: Bearer k", "x-api-key: k", "cookie: c", path=path)
    (inbound,) = driver.inbound
    assert (inbound.body, inbound.format, inbound.provider) == (BODY, format_name, "up")
    assert inbound.operation is None
    assert inbound.headers == {"x-session-id": "s"}
    assert request.body == BODY
    assert request.header("authorization") == "Bearer k"
    assert [outcome.request_id for outcome in driver.outcomes] == [inbound.request_id]


@pytest.mark.parametrize("name", ["press", "observe", "drain"])
def test_an_operation_asked_for_by_header_reaches_the_driver(name: str) -> None:
    driver = NotingDriver()
    asked(driver, BODY, f"X-Coldpress-Mode: {name}")
    assert driver.inbound[0].operation == name


@pytest.mark.parametrize(
    ("header", "provider", "read"),
    [
        pytest.param("off", "press", False, id="the request says off"),
        pytest.param(None, "off", False, id="the provider says off"),
        pytest.param("press", "off", True, id="the request overrules the provider"),
    ],
)
def test_off_relays_without_reading(header: str | None, provider: str, read: bool) -> None:
    driver = NotingDriver()
    headers = ["accept-encoding: gzip"] + ([f"x-coldpress-mode: {header}"] if header else [])
    request = asked(driver, BODY, *headers, operation=provider)
    assert bool(driver.inbound) is read
    assert request.body == BODY
    assert request.header("accept-encoding") == ("identity" if read else "gzip")


@pytest.mark.parametrize(
    ("path", "shape"),
    [
        pytest.param(ANTHROPIC_PATH, ("error", "type"), id="anthropic"),
        pytest.param(OPENAI_PATH, ("error", "code"), id="openai"),
    ],
)
def test_an_operation_that_does_not_exist_is_refused(path: str, shape: tuple[str, str]) -> None:
    async def scenario() -> None:
        driver = NotingDriver()
        async with world(answering(ok()), driver=driver) as w:
            reply = await w.ask(post(path, BODY, "x-coldpress-mode: squeeze"))
            assert w.upstream.connections == 0
        error = json.loads(reply.body)[shape[0]]
        assert reply.status == 400
        assert shape[1] in error
        assert "'squeeze'" in error["message"]
        assert "press, observe, drain, off" in error["message"]

    run(scenario())


def test_a_format_the_provider_is_not_read_for_is_relayed() -> None:
    driver = NotingDriver()
    asked(driver, BODY, path=OPENAI_PATH, formats=("anthropic",))
    assert driver.inbound == []


@pytest.mark.parametrize(
    "path",
    [
        "/v1/messages/count_tokens",
        "/v1/messages/batches",
        "/v1/messages/",
        "/v1/responses/compact",
        "/v1/responses/input_tokens",
        "/v1/responses/resp_1/cancel",
    ],
)
def test_paths_that_are_no_inference_are_not_read(path: str) -> None:
    driver = NotingDriver()
    request = asked(driver, BODY, path=path)
    assert (driver.inbound, request.body, request.target) == ([], BODY, path)


@pytest.mark.parametrize("encoding", sorted(ENCODERS))
def test_an_unchanged_compressed_body_goes_on_with_its_bytes_and_header(encoding: str) -> None:
    sent = ENCODERS[encoding](BODY)
    driver = NotingDriver()
    request = asked(driver, sent, f"content-encoding: {encoding}")
    assert driver.inbound[0].body == BODY
    assert request.body == sent
    assert request.header("content-encoding") == encoding
    assert request.header("content-length") == str(len(sent))


@pytest.mark.parametrize("encoding", [None, *sorted(ENCODERS)])
def test_a_changed_body_goes_on_plain_with_its_own_length(encoding: str | None) -> None:
    sent = ENCODERS[encoding](BODY) if encoding else BODY
    headers = [f"content-encoding: {encoding}"] if encoding else []
    driver = NotingDriver(rewrite=lambda body: body.replace(b"caf", b"CAFE"))
    request = asked(driver, sent, *headers, "content-md5: x", "x-kept: 1")
    assert request.body == BODY.replace(b"caf", b"CAFE")
    assert request.header("content-encoding") is None
    assert request.header("content-md5") is None
    assert request.header("x-kept") == "1"
    assert request.all("content-length") == [str(len(request.body))]


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        pytest.param("lzma", b"\x5d\x00", id="an encoding nobody knows"),
        pytest.param("gzip", b"plain after all", id="bytes that are not what the header says"),
        pytest.param("zstd", zstandard.ZstdCompressor().compress(BODY * 50)[:-9], id="bytes cut short"),
    ],
)
def test_a_body_that_cannot_be_decoded_goes_on_unread(encoding: str, body: bytes) -> None:
    driver = NotingDriver()
    request = asked(driver, body, f"content-encoding: {encoding}")
    assert driver.inbound == []
    assert driver.outcomes == []
    assert (request.body, request.header("content-encoding")) == (body, encoding)


def test_a_driver_over_its_time_budget_costs_only_the_budget() -> None:
    body = BODY.replace(b"caf", b"c" * 700_000)
    driver = NotingDriver(rewrite=lambda _: b"never sent", hold=asyncio.Event())
    sent = gzip.compress(body)
    request = asked(driver, sent, "content-encoding: gzip", limits=Limits(prepare_seconds=0.05))
    assert request.body == sent
    assert request.header("content-encoding") == "gzip"
    assert driver.outcomes[0].ended == "complete"


@pytest.mark.parametrize(
    ("path", "formats", "expected", "gone"),
    [
        pytest.param(ANTHROPIC_PATH, None, ("x-api-key", "sk-ours"), "authorization", id="messages"),
        pytest.param(OPENAI_PATH, None, ("authorization", "Bearer sk-ours"), "x-api-key", id="chat completions"),
        pytest.param("/v1/models", ("anthropic",), ("x-api-key", "sk-ours"), "authorization", id="unread, anthropic"),
        pytest.param("/v1/models", None, ("authorization", "Bearer sk-ours"), "x-api-key", id="unread, other"),
    ],
)
def test_a_key_of_ours_takes_the_place_of_the_clients(
    path: str, formats: tuple[str, ...] | None, expected: tuple[str, str], gone: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    options: dict[str, object] = {"formats": formats} if formats else {}
    driver = NotingDriver()
    request = asked(
        driver, BODY, "authorization: Bearer sk-theirs", "x-api-key: sk-theirs",
        path=path, api_key=Secret("UP_KEY", "sk-ours"), **options,
    )  # fmt: skip
    assert request.all(expected[0]) == [expected[1]]
    assert request.header(gone) is None
    for text in (caplog.text, repr(driver.inbound), str([record.__dict__ for record in caplog.records])):
        assert "sk-" not in text


ANTHROPIC_STREAM = (
    b'event: message_start\ndata: {"type":"message_start","message":{"model":"m","usage":{"input_tokens":7,'
    b'"cache_read_input_tokens":5,"output_tokens":1}}}\n\n',
    b'event: message_delta\ndata: {"type":"message_delta","delta":{},"usage":{"output_tokens":9}}\n\n',
    b'event: message_stop\ndata: {"type":"message_stop"}\n\n',
)


@pytest.mark.parametrize(
    "cut", [pytest.param(1, id="byte by byte"), pytest.param(7, id="odd"), pytest.param(10_000, id="whole")]
)
def test_usage_is_read_off_a_stream_cut_anywhere(cut: int) -> None:
    stream = b"".join(ANTHROPIC_STREAM)
    pieces = [stream[i : i + cut] for i in range(0, len(stream), cut)]
    driver = NotingDriver()

    async def scenario() -> None:
        reply_bytes = SSE_HEAD + b"".join(chunk(piece) for piece in pieces) + END
        async with world(answering(reply_bytes), driver=driver) as w:
            reply = await w.ask(post(ANTHROPIC_PATH, BODY))
            assert reply.body == stream
            assert reply.header(b"x-coldpress-request") == driver.inbound[0].request_id.encode()

    run(scenario())
    (outcome,) = driver.outcomes
    assert (outcome.status, outcome.ended) == (200, "complete")
    assert (outcome.usage.fresh, outcome.usage.read, outcome.usage.output) == (7, 5, 9)
    assert outcome.duration_seconds > 0


def test_usage_of_a_plain_reply() -> None:
    driver = NotingDriver()
    body = json.dumps({"model": "m", "usage": {"prompt_tokens": 10, "completion_tokens": 3}}).encode()

    async def scenario() -> None:
        async with world(answering(ok(body)), driver=driver) as w:
            await w.ask(post(OPENAI_PATH, BODY))

    run(scenario())
    assert (driver.outcomes[0].usage.fresh, driver.outcomes[0].usage.output) == (10, 3)


def test_an_error_event_after_200_is_relayed_and_noted() -> None:
    event = b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"busy"}}\n\n'
    driver = NotingDriver()

    async def scenario() -> None:
        async with world(answering(SSE_HEAD + chunk(ANTHROPIC_STREAM[0]) + chunk(event) + END), driver=driver) as w:
            reply = await w.ask(post(ANTHROPIC_PATH, BODY))
            assert reply.body == ANTHROPIC_STREAM[0] + event
            assert w.serving.gateway.counters.error_events == 1

    run(scenario())
    assert driver.outcomes[0].ended == "error_event"


@pytest.mark.parametrize(
    "reply_bytes",
    [
        pytest.param(ok(b"\x00\x01 compressed", "content-encoding: br"), id="a reply compressed against our wish"),
        pytest.param(ok(b"no json"), id="a reply that is not JSON"),
        pytest.param(ok(b'{"content":[{"type":"server_tool_use"},{"type":"from_the_future"}]}'), id="unknown blocks"),
    ],
)
def test_usage_that_cannot_be_read_is_unknown(reply_bytes: bytes) -> None:
    driver = NotingDriver()

    async def scenario() -> None:
        async with world(answering(reply_bytes), driver=driver) as w:
            reply = await w.ask(post(ANTHROPIC_PATH, BODY))
            assert reply.body == reply_bytes.partition(b"\r\n\r\n")[2]

    run(scenario())
    assert driver.outcomes[0].usage.fresh is None
    assert driver.outcomes[0].usage.output is None


def test_a_fault_in_reading_usage_does_not_touch_the_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    def fault(self: UsageTap, piece: bytes) -> None:
        raise IndexError("a bug")

    monkeypatch.setattr(UsageTap, "feed", fault)
    driver = NotingDriver()

    async def scenario() -> None:
        async with world(answering(SSE_HEAD + b"".join(map(chunk, ANTHROPIC_STREAM)) + END), driver=driver) as w:
            reply = await w.ask(post(ANTHROPIC_PATH, BODY))
            assert (reply.body, reply.complete) == (b"".join(ANTHROPIC_STREAM), True)
            assert w.serving.gateway.counters.tap_faults == 1

    run(scenario())
    assert driver.outcomes[0].ended == "complete"
    assert driver.outcomes[0].usage.fresh is None


def test_the_provider_gets_its_own_error_relayed_as_it_is() -> None:
    body = b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'
    driver = NotingDriver()
    raw_reply = b"HTTP/1.1 529 Overloaded\r\nretry-after: 3\r\ncontent-length: %d\r\n\r\n" % len(body) + body

    async def scenario() -> None:
        async with world(closing(raw_reply), driver=driver) as w:
            reply = await w.ask(post(ANTHROPIC_PATH, BODY))
            assert (reply.status, reply.body, reply.header(b"retry-after")) == (529, body, b"3")

    run(scenario())
    assert (driver.outcomes[0].status, driver.outcomes[0].ended) == (529, "complete")


@pytest.mark.parametrize("on", [True, False], ids=["raw log on", "raw log off"])
def test_a_reply_goes_into_the_raw_log_only_where_that_is_on(on: bool) -> None:
    driver = NotingDriver(replies=[] if on else None)

    async def scenario() -> bytes:
        async with world(answering(ok(b'{"usage":{"input_tokens":1}}')), driver=driver) as w:
            reply = await w.ask(post(ANTHROPIC_PATH, BODY))
            await asyncio.wait_for(driver.finished.wait(), 5)
            return reply.body

    body = run(scenario())
    if not on:
        assert driver.replies is None
        return
    assert driver.replies is not None
    [(request_id, headers, kept)] = driver.replies
    assert kept == body
    assert request_id == driver.outcomes[0].request_id
    assert "content-type" in headers
