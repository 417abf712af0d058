"""Calls that are to be turned back reach the client so; what is logged and billed is as the provider sent it."""

from __future__ import annotations

import asyncio
import gzip
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import brotli
import pytest
import zstandard
from gateway.world import (
    ANTHROPIC_PATH,
    END,
    OPENAI_PATH,
    PATIENCE_SECONDS,
    SSE_HEAD,
    NotingDriver,
    Reply,
    Wire,
    answering,
    chunk,
    gateway,
    ok,
    post,
    raw,
    run,
    world,
)
from wire.calls import Early, Holding, Made, anthropic_stream, chat_stream, read_anthropic, read_chat

from coldpress.gateway.filtering import MOST_BYTES_AT_ONCE
from coldpress.gateway.settings import Provider
from coldpress.testing import BreakOff, Call, Delivery, ErrorEvent, Fault, Say, Script, StrictUpstream, Turn
from coldpress.wire.reply_calls import CallFilter

PATHS = [pytest.param(ANTHROPIC_PATH, id="messages"), pytest.param(OPENAI_PATH, id="chat")]
LONG = "x" * 300
TURN = (
    Say("Let me see."),
    Call("Bash", {"why": "to see it", "cmd": "ls é"}),
    Call("Read", {"path": LONG, "why": "z"}),
    Call("plain", {"why": "stays"}),
)
WANTED = [("Bash", {"cmd": "ls é"}), ("Read", {"path": LONG}), ("plain", {"why": "stays"})]


@dataclass
class TakingOut:
    """Takes `why` out of every call but those of `plain`, and notes when the reply was over.

    Attributes:
        driver: who is told after it.
        blocks: whether the filters run in a thread.
        is_pending: whether a call has to be waited for before the client gets its end; `waited` how often it was.
        told_before: whether the driver knew of the end when the reply was said to be over, once for each time.
    """

    driver: NotingDriver
    make: Callable[[], CallFilter] = Holding
    blocks: bool = False
    told_before: list[bool] = field(default_factory=list)
    is_pending: bool = False
    waited: int = 0

    async def settled(self) -> None:
        self.is_pending = False
        self.waited += 1

    def filter_of(self, name: str, call_id: str) -> CallFilter | None:
        return None if name == "plain" else self.make()

    def taken(self, called: tuple[str, ...] = ()) -> None:
        assert not called, "its filters meet them"
        self.told_before.append(self.driver.finished.is_set())


def taking_out(make: Callable[[], CallFilter] = Holding) -> tuple[NotingDriver, TakingOut]:
    driver = NotingDriver(replies=[])
    driver.calls = calls = TakingOut(driver, make)
    return driver, calls


def request_of(path: str, *, stream: bool) -> bytes:
    schema = {"type": "object", "properties": {}}
    names = ("Bash", "Read", "plain")
    body: dict[str, Any] = {"model": "m", "stream": stream, "messages": [{"role": "user", "content": "x"}]}
    if path == ANTHROPIC_PATH:
        body |= {"max_tokens": 99, "tools": [{"name": name, "input_schema": schema} for name in names]}
    else:
        functions = [{"name": name, "parameters": schema} for name in names]
        body |= {"tools": [{"type": "function", "function": function} for function in functions]}
        body |= {"stream_options": {"include_usage": True}} if stream else {}
    return post(path, json.dumps(body).encode(), "anthropic-version: 2023-06-01", "content-type: application/json")


def asked(
    driver: NotingDriver, path: str, *, stream: bool, deliveries: tuple[Delivery, ...], fault: Fault | None = None
) -> list[Reply]:
    """Ask the strict upstream through the gateway, once for each delivery."""
    script = Script(answer=lambda asked: Turn(TURN, delivery=deliveries[asked.number], fault=fault))
    with StrictUpstream(script) as upstream:

        async def scenario() -> list[Reply]:
            async with gateway((Provider("up", upstream.url),), driver) as serving:
                replies = []
                for _ in deliveries:
                    driver.finished.clear()
                    wire = Wire(*await asyncio.open_connection("127.0.0.1", serving.port))
                    await wire.send(request_of(path, stream=stream))
                    replies.append(await wire.reply())
                    await driver.finished.wait()
                    wire.close()
                counters = serving.gateway.counters
                assert counters.filtered_replies == (len(deliveries) if driver.calls else 0)
                assert (counters.filter_faults, counters.tap_faults) == (0, 0)
            return replies

        replies = run(scenario())
        assert [one.request.header("accept-encoding") for one in upstream.inference] == ["identity"] * len(deliveries)
        return replies


def calls_of(path: str, body: bytes, *, stream: bool) -> list[tuple[str, object]]:
    if stream:
        found = (read_anthropic if path == ANTHROPIC_PATH else read_chat)(body)
        return [(name, json.loads(arguments)) for _, name, arguments in found]
    document = json.loads(body)
    if path == ANTHROPIC_PATH:
        return [(block["name"], block["input"]) for block in document["content"] if block["type"] == "tool_use"]
    functions = [call["function"] for call in document["choices"][0]["message"]["tool_calls"]]
    return [(function["name"], json.loads(function["arguments"])) for function in functions]


DELIVERIES = (
    Delivery(),
    Delivery(chunk_bytes=7),
    Delivery(crlf=True),
    Delivery(gzip=True),
    Delivery(gzip=True, chunk_bytes=11),
)


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("path", PATHS)
def test_the_client_gets_its_own_arguments(path: str, stream: bool) -> None:
    driver, calls = taking_out()
    replies = asked(driver, path, stream=stream, deliveries=DELIVERIES)
    assert calls.told_before == [False] * len(DELIVERIES)
    for reply in replies:
        assert (reply.status, reply.complete) == (200, True)
        assert calls_of(path, reply.body, stream=stream) == WANTED
        assert reply.header(b"content-encoding") is None
        assert (reply.header(b"content-type") == b"application/json") != stream
    assert driver.replies is not None
    for delivery, reply, (_, _, logged), outcome in zip(
        DELIVERIES, replies, driver.replies, driver.outcomes, strict=True
    ):
        sent = gzip.decompress(logged) if delivery.gzip else logged
        assert b"to see it" in sent
        assert len(sent) > len(reply.body)
        assert outcome.ended == "complete"
        assert (outcome.usage.output is None) == delivery.gzip  # a compressed reply is not read along


@pytest.mark.parametrize("path", PATHS)
def test_filters_may_run_in_a_thread(path: str) -> None:
    driver, calls = taking_out()
    calls.blocks = True
    for reply in asked(driver, path, stream=True, deliveries=(Delivery(), Delivery(gzip=True))):
        assert calls_of(path, reply.body, stream=True) == WANTED


@pytest.mark.parametrize("path", PATHS)
def test_a_long_document_is_filtered_while_other_replies_go_on(path: str) -> None:
    """The shorter one costs no thread."""
    threads: list[int] = []

    class Noting(Holding):
        def feed(self, fragment: str) -> str:
            threads.append(threading.get_ident())
            return super().feed(fragment)

    def document(size: int) -> bytes:
        given = {"why": "z", "cmd": "x" * size}
        if path == ANTHROPIC_PATH:
            return json.dumps({"content": [{"type": "tool_use", "id": "t", "name": "Bash", "input": given}]}).encode()
        function = {"name": "Bash", "arguments": json.dumps(given)}
        return json.dumps({"choices": [{"message": {"tool_calls": [{"id": "t", "function": function}]}}]}).encode()

    async def scenario(size: int) -> None:
        driver, _ = taking_out(Noting)
        handle = answering(ok(document(size)))
        async with world(handle, driver=driver) as w:
            reply = await w.ask(post(path, b"{}"))
            ((_, given),) = calls_of(path, reply.body, stream=False)
            assert given == {"cmd": "x" * size}

    run(scenario(MOST_BYTES_AT_ONCE // 2))
    assert threads == [threading.get_ident()]
    run(scenario(MOST_BYTES_AT_ONCE))
    assert threads[1] != threading.get_ident()


@pytest.mark.parametrize("path", PATHS)
def test_without_filters_the_reply_passes_byte_for_byte(path: str) -> None:
    driver = NotingDriver(replies=[])
    (reply,) = asked(driver, path, stream=True, deliveries=(Delivery(),))
    assert driver.replies is not None
    assert reply.body == driver.replies[0][2]
    assert b"to see it" in reply.body


@pytest.mark.parametrize("make", [Holding, Early], ids=["held to the end", "as it comes"])
@pytest.mark.parametrize("after", [4, 7, 9])
def test_a_stream_that_breaks_off_ends_with_an_error_and_no_half_json(
    make: Callable[[], CallFilter], after: int
) -> None:
    for path in (ANTHROPIC_PATH, OPENAI_PATH):
        driver, calls = taking_out(make)
        (reply,) = asked(driver, path, stream=True, deliveries=(Delivery(chunk_bytes=50),), fault=BreakOff(after))
        events = [part for part in reply.body.decode().split("\n\n") if part]
        payloads = [json.loads(part[part.index("data: ") + 6 :]) for part in events]
        assert "broke off" in payloads[-1]["error"]["message"]
        assert "why" not in reply.body.decode()
        assert [outcome.ended for outcome in driver.outcomes] == ["upstream_broken"]
        assert calls.told_before == [False]


def test_an_error_inside_a_stream_goes_on() -> None:
    driver, _ = taking_out()
    (reply,) = asked(driver, ANTHROPIC_PATH, stream=True, deliveries=(Delivery(),), fault=ErrorEvent(after=8))
    assert b'"error"' in reply.body
    assert b"why" not in reply.body
    assert [outcome.ended for outcome in driver.outcomes] == ["error_event"]


@pytest.mark.parametrize("path", PATHS)
def test_a_document_that_breaks_off_is_not_passed_for_a_whole_one(path: str) -> None:
    driver, calls = taking_out()
    (reply,) = asked(driver, path, stream=False, deliveries=(Delivery(),), fault=BreakOff(200))
    assert (reply.body, reply.complete) == (b"", False)
    assert calls.told_before == [False]


def spoken(reply: bytes, path: str = ANTHROPIC_PATH) -> tuple[Reply, NotingDriver, dict[str, int]]:
    """Send one request to an upstream with one answer; gives the reply and the counters of filtering."""
    driver, calls = taking_out()

    async def scenario() -> tuple[Reply, dict[str, int]]:
        async with world(answering(reply), driver=driver) as w:
            got = await w.ask(post(path, b"{}"))
            await driver.finished.wait()
            counters = w.serving.gateway.counters
            return got, {"replies": counters.filtered_replies, "faults": counters.filter_faults}

    got, counted = run(scenario())
    assert calls.told_before == [False]
    return got, driver, counted


DOCUMENT = json.dumps({"content": [{"type": "tool_use", "name": "Bash", "id": "t", "input": {"why": 1}}]}).encode()


def test_an_error_of_the_provider_is_left_alone() -> None:
    refused = ok(DOCUMENT, "content-md5: x").replace(b"200 OK", b"400 Bad Request")
    reply, _, counted = spoken(refused)
    assert (reply.status, reply.body) == (400, DOCUMENT)
    assert reply.header(b"content-length") == str(len(DOCUMENT)).encode()
    assert counted == {"replies": 0, "faults": 0}


def test_headers_that_describe_another_body_are_dropped() -> None:
    reply, _, _ = spoken(ok(DOCUMENT, "content-md5: x", "digest: y", "x-kept: z"))
    assert json.loads(reply.body)["content"][0]["input"] == {}
    names = {name.lower() for name, _ in reply.headers}
    assert names & {b"content-length", b"content-md5", b"digest"} == set()
    assert reply.header(b"x-kept") == b"z"


PACKERS = [
    pytest.param("gzip", gzip.compress, id="gzip"),
    pytest.param("br", brotli.compress, id="brotli"),
    pytest.param("zstd", zstandard.ZstdCompressor().compress, id="zstd"),
]


@pytest.mark.parametrize(("encoding", "pack"), PACKERS)
def test_a_compressed_reply_is_read_and_logged_as_it_came(encoding: str, pack: Callable[[bytes], bytes]) -> None:
    packed = pack(DOCUMENT)
    reply, driver, counted = spoken(ok(packed, f"content-encoding: {encoding}"))
    assert json.loads(reply.body)["content"][0]["input"] == {}
    assert driver.replies is not None
    assert driver.replies[0][2] == packed
    assert driver.replies[0][1]["content-encoding"] == encoding
    assert counted == {"replies": 1, "faults": 0}


def test_an_encoding_that_cannot_be_undone_passes_and_is_counted() -> None:
    reply, _, counted = spoken(ok(b"??", "content-encoding: compress"))
    assert (reply.body, reply.header(b"content-encoding")) == (b"??", b"compress")
    assert counted == {"replies": 0, "faults": 1}


@pytest.mark.parametrize("cut", [-12, -1], ids=["in its middle", "in its end"])
def test_a_damaged_compressed_reply_is_a_broken_one(cut: int) -> None:
    packed = gzip.compress(DOCUMENT * 50)[:cut]
    reply, driver, _ = spoken(ok(packed, "content-encoding: gzip"))
    assert (reply.body, reply.complete) == (b"", False)
    assert [outcome.ended for outcome in driver.outcomes] == ["upstream_broken"]


class Failing(Holding):
    def end(self) -> str:
        raise LookupError


def test_a_filter_that_fails_is_counted_and_the_reply_goes_on() -> None:
    driver, _ = taking_out(Failing)

    async def scenario() -> None:
        async with world(answering(ok(DOCUMENT)), driver=driver) as w:
            assert (await w.ask(post(ANTHROPIC_PATH, b"{}"))).body == DOCUMENT
            await driver.finished.wait()
            assert w.serving.gateway.counters.filter_faults == 1

    run(scenario())


def test_nobody_answers_and_the_calls_are_still_told() -> None:
    driver, calls = taking_out()

    async def scenario() -> None:
        async def hang_up(wire: Wire) -> None:
            await wire.request()

        async with world(hang_up, driver=driver) as w:
            assert (await w.ask(post(ANTHROPIC_PATH, b"{}"))).status == 502
            await driver.finished.wait()

    run(scenario())
    assert calls.told_before == [False]


CALLS = (Made("t1", "Bash", ('{"why": "x", "cmd": "l', 's"}')),)
STREAMS = [pytest.param(ANTHROPIC_PATH, anthropic_stream(CALLS), id="messages"),
           pytest.param(OPENAI_PATH, chat_stream(CALLS), id="chat")]  # fmt: skip


@pytest.mark.parametrize(("path", "stream"), STREAMS)
def test_each_event_goes_out_before_the_next_is_in(path: str, stream: bytes) -> None:
    events = [part + b"\n\n" for part in stream.split(b"\n\n") if part]
    driver, _ = taking_out(Early)

    async def scenario() -> bytes:
        read = asyncio.Event()

        async def handle(wire: Wire) -> None:
            await wire.request()
            await wire.send(SSE_HEAD)
            for event in events:
                await wire.send(chunk(event))
                await read.wait()
                read.clear()
            await wire.send(END)

        async with world(handle, driver=driver) as w:
            wire = await w.client()
            await wire.send(post(path, b"{}"))
            await wire.head()
            got = b""
            async for piece in wire.chunks():
                got += piece
                read.set()
            wire.close()
        return got

    body = run(scenario())
    found = (read_anthropic if path == ANTHROPIC_PATH else read_chat)(body)
    assert found == [("t1", "Bash", '{"cmd": "ls"}')]


def test_a_client_that_leaves_cancels_the_provider_and_the_calls_are_told() -> None:
    driver, calls = taking_out()

    async def scenario() -> None:
        cancelled = asyncio.Event()

        async def handle(wire: Wire) -> None:
            await wire.request()
            await wire.send(SSE_HEAD + chunk(anthropic_stream(CALLS)[:700]))
            await wire.closed_by_peer()
            cancelled.set()

        async with world(handle, driver=driver) as w:
            wire = await w.client()
            await wire.send(post(ANTHROPIC_PATH, b"{}"))
            await wire.head()
            await anext(wire.chunks())
            wire.close()
            async with asyncio.timeout(1):
                await cancelled.wait()
                await driver.finished.wait()

    run(scenario())
    assert [outcome.ended for outcome in driver.outcomes] == ["client_gone"]
    assert calls.told_before == [False]


def test_a_reply_is_not_over_before_the_filter_that_is_at_work() -> None:
    """A plugin that is asked in a thread goes on for a while where the client has left."""
    driver, calls = taking_out()
    at_work, go_on, worked = threading.Event(), threading.Event(), threading.Event()

    class Slow(Holding):
        def feed(self, fragment: str) -> str:
            at_work.set()
            go_on.wait(PATIENCE_SECONDS)
            assert not calls.told_before
            worked.set()
            return super().feed(fragment)

    calls.make, calls.blocks = Slow, True

    async def scenario() -> None:
        async def handle(wire: Wire) -> None:
            await wire.request()
            await wire.send(SSE_HEAD + chunk(anthropic_stream(CALLS)))
            await wire.closed_by_peer()

        async with world(handle, driver=driver) as w:
            wire = await w.client()
            await wire.send(post(ANTHROPIC_PATH, b"{}"))
            await asyncio.to_thread(at_work.wait)
            wire.writer.transport.abort()
            # An exchange that begins when this one's client is gone is served after its leaving was noticed.
            assert b"active" in (await w.ask(raw("GET", "/stats"))).body
            go_on.set()
            await driver.finished.wait()

    run(scenario())
    assert worked.is_set()
    assert calls.told_before == [False]
    assert [outcome.ended for outcome in driver.outcomes] == ["client_gone"]


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "compressed"])
def test_a_client_that_stops_reading_stops_the_provider(packed: bool) -> None:
    """A megabyte of the stream takes a kilobyte on the wire, where it is compressed."""
    events = (b"data: " + b"x" * 65_000 + b"\n\n") * 16
    piece = gzip.compress(events, 1) if packed else events
    total = 128 if packed else 256
    driver, _ = taking_out()

    async def scenario() -> int:
        written = 0
        standstill = asyncio.Event()

        async def handle(wire: Wire) -> None:
            nonlocal written
            await wire.request()
            head = b"content-encoding: gzip\r\n" if packed else b""
            await wire.send(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n" + head + b"\r\n")
            while written < total:
                wire.writer.write(piece)
                try:
                    await asyncio.wait_for(wire.writer.drain(), 0.3)
                except TimeoutError:
                    standstill.set()
                    await wire.writer.drain()
                written += 1
            standstill.set()

        async with world(handle, driver=driver) as w:
            wire = await w.client()
            await wire.send(post(ANTHROPIC_PATH, b"{}"))
            await standstill.wait()
            held = w.serving.gateway.counters.reply_bytes // len(piece)
            wire.writer.transport.abort()
        return held

    assert run(scenario()) < 24


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("path", PATHS)
def test_what_has_to_be_durable_is_waited_for_before_the_client_gets_it(path: str, stream: bool) -> None:
    driver, calls = taking_out()
    calls.is_pending = True
    (reply,) = asked(driver, path, stream=stream, deliveries=(Delivery(),))
    assert reply.status == 200
    assert calls.waited == 1
