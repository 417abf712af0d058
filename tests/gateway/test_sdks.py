"""The official SDKs understand what the gateway says, and notice every broken reply."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import anthropic
import openai
import pytest
from gateway.world import SSE_HEAD, Handler, NotingDriver, Wire, chunk, gateway, upstream

from coldpress.gateway.settings import Limits, Provider

ANTHROPIC_START = (
    b'event: message_start\ndata: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant",'
    b'"model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}}\n\n'
)
OPENAI_START = (
    b'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":'
    b'{"content":"hi"},"finish_reason":null}]}\n\n'
)
RESPONSES_START = (
    b'event: response.created\ndata: {"type":"response.created","sequence_number":0,"response":{"id":"r"}}\n\n'
)


@contextmanager
def served(url: str | None, handler: Handler | None = None, *, limits: Limits | None = None) -> Iterator[str]:
    """A gateway in a thread of its own, in front of an address or a scripted upstream."""
    ready, stop = threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()
    found: list[str] = []

    async def serve() -> None:
        async with upstream(handler or _nothing) as up:
            provider = Provider("up", url or f"http://127.0.0.1:{up.port}")
            async with gateway((provider,), NotingDriver(), limits=limits) as serving:
                found.append(serving.url)
                ready.set()
                await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    assert ready.wait(10)
    try:
        yield found[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        loop.close()


async def _nothing(wire: Wire) -> None:
    await wire.closed_by_peer()


def breaking(sent: bytes) -> Handler:
    async def handle(wire: Wire) -> None:
        await wire.request()
        await wire.send(SSE_HEAD + chunk(sent))

    return handle


def test_anthropic_unreachable_provider() -> None:
    with served("http://127.0.0.1:1") as url:
        client = anthropic.Anthropic(base_url=url, api_key="k", max_retries=0)
        with pytest.raises(anthropic.InternalServerError, match="Connection refused") as caught:
            client.messages.create(model="m", max_tokens=1, messages=[{"role": "user", "content": "x"}])
    assert caught.value.status_code == 502


def test_openai_unreachable_provider() -> None:
    with served("http://127.0.0.1:1") as url:
        client = openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0)
        with pytest.raises(openai.InternalServerError, match="Connection refused") as caught:
            client.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}])
    assert (caught.value.status_code, caught.value.code) == (502, "upstream_unreachable")


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(ANTHROPIC_START, id="between events"),
        pytest.param(ANTHROPIC_START + b'event: ping\ndata: {"ty', id="in the middle of an event"),
        pytest.param(ANTHROPIC_START[:-1], id="before the blank line"),
    ],
)
def test_anthropic_broken_stream(sent: bytes) -> None:
    with served(None, breaking(sent)) as url:
        client = anthropic.Anthropic(base_url=url, api_key="k", max_retries=0)
        with pytest.raises(anthropic.APIError, match="broke off in the middle of its answer"):
            list(
                client.messages.create(
                    model="m", max_tokens=1, stream=True, messages=[{"role": "user", "content": "x"}]
                )
            )


@pytest.mark.parametrize(
    ("sent", "error"),
    [
        pytest.param(OPENAI_START, openai.APIError, id="between events"),
        pytest.param(OPENAI_START + b'data: {"id', ValueError, id="in the middle of an event"),
    ],
)
def test_openai_broken_stream(sent: bytes, error: type[Exception]) -> None:
    with served(None, breaking(sent)) as url:
        client = openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0)
        with pytest.raises(error):
            list(client.chat.completions.create(model="m", stream=True, messages=[{"role": "user", "content": "x"}]))


@pytest.mark.parametrize(
    ("sent", "error"),
    [
        pytest.param(RESPONSES_START, openai.APIError, id="between events"),
        pytest.param(RESPONSES_START + b"event: response.output_te", ValueError, id="in the middle of a name"),
        pytest.param(RESPONSES_START + b'data: {"type', ValueError, id="in the middle of an event"),
    ],
)
def test_openai_broken_responses_stream(sent: bytes, error: type[Exception]) -> None:
    with served(None, breaking(sent)) as url:
        client = openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0)
        with pytest.raises(error):
            list(client.responses.create(model="m", stream=True, input="x"))


def test_openai_responses_unreachable_provider() -> None:
    with served("http://127.0.0.1:1") as url:
        client = openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0)
        with pytest.raises(openai.InternalServerError, match="Connection refused") as caught:
            client.responses.create(model="m", input="x")
    assert (caught.value.status_code, caught.value.code) == (502, "upstream_unreachable")
