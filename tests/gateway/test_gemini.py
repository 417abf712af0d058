"""Gemini's clients at the gateway: keys in headers and addresses, errors their SDKs understand, the model's name."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Coroutine
from dataclasses import replace

import pytest
from gateway.world import (
    SSE_HEAD,
    Handler,
    NotingDriver,
    Request,
    Wire,
    World,
    answering,
    chunk,
    gateway,
    ok,
    post,
    raw,
    run,
    upstream,
)

from coldpress.config.secret import Secret
from coldpress.gateway.errors import Code, error_body, error_event
from coldpress.gateway.headers import sort_request_headers, with_own_key, without_key
from coldpress.gateway.routes import Routes
from coldpress.gateway.settings import GatewaySettings, Limits, Provider
from coldpress.model.records import Failover

PATH = "/provider/gemini/v1beta/models/gemini-x:streamGenerateContent?alt=sse"
BODY = b'{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}'
CLIENTS = "AIza-client-0123456789"
OURS = "AIza-ours-0123456789"
GEMINI = Provider("gemini", "https://gemini.test", formats=("gemini", "openai_chat"))


def play(
    scenario: Callable[[World], Coroutine[object, object, None]],
    handler: Handler,
    *,
    driver: NotingDriver | None = None,
    limits: Limits | None = None,
    beside: Handler | None = None,
    **own: object,
) -> None:
    async def whole() -> None:
        driver_ = driver or NotingDriver()
        async with upstream(handler) as up, upstream(beside or handler) as other:
            providers = (
                replace(GEMINI, url=f"http://127.0.0.1:{up.port}", **own),  # type: ignore[arg-type]
                replace(GEMINI, name="beside", url=f"http://127.0.0.1:{other.port}"),
            )
            async with gateway(providers, driver_, limits=limits) as ready:
                await scenario(World(ready, up, driver_))

    run(whole())


@pytest.mark.parametrize(
    ("status", "code", "word"),
    [
        pytest.param(400, "not_screened", "INVALID_ARGUMENT", id="a bad request"),
        pytest.param(403, "unpriced", "PERMISSION_DENIED", id="not allowed"),
        pytest.param(404, "unknown_provider", "NOT_FOUND", id="nobody there"),
        pytest.param(413, "body_too_large", "INVALID_ARGUMENT", id="too large"),
        pytest.param(429, "spend_cap", "RESOURCE_EXHAUSTED", id="the day's money"),
        pytest.param(502, "upstream_unreachable", "UNAVAILABLE", id="no connection"),
        pytest.param(503, "overloaded", "UNAVAILABLE", id="overloaded"),
        pytest.param(504, "upstream_timeout", "DEADLINE_EXCEEDED", id="no answer in time"),
        pytest.param(500, "busy", "INTERNAL", id="any other fault of a server"),
        pytest.param(418, "busy", "INVALID_ARGUMENT", id="any other fault of a client"),
    ],
)
def test_an_error_in_googles_shape(status: int, code: Code, word: str) -> None:
    told = json.loads(error_body("gemini", status, code, "what now"))["error"]
    assert (told["code"], told["message"], told["status"]) == (status, "what now", word)
    assert told["details"][0]["reason"] == code.upper()


@pytest.mark.parametrize(
    ("before", "begins"),
    [
        pytest.param(b"", b"data: {", id="at the start"),
        pytest.param(b'data: {"a":1}\r\n\r\n', b"data: {", id="between events"),
        pytest.param(b'data: {"a"', b"\n\ndata: {", id="inside an event"),
    ],
)
def test_an_error_in_a_stream_is_an_event_and_stands_bare_behind_it(before: bytes, begins: bytes) -> None:
    said = error_event("gemini", "upstream_broken", "it broke", sent_before=before)
    assert said.startswith(begins)
    event, _, bare = said.strip().partition(b"\n\n")
    assert json.loads(event.removeprefix(b"data: ")) == json.loads(bare)
    assert json.loads(bare)["error"]["code"] == 502


def test_a_key_of_ours_takes_the_place_of_every_key_of_the_clients() -> None:
    forward = [("x-goog-api-key", "a"), ("authorization", "b"), ("z", "1")]
    assert with_own_key(forward, Secret("N", "k"), "gemini") == [("z", "1"), ("x-goog-api-key", "k")]
    assert ("x-goog-api-key", "a") not in with_own_key(forward, Secret("N", "k"), "openai_chat")


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        pytest.param("?key=s", "", id="only a key"),
        pytest.param("?alt=sse&key=s", "?alt=sse", id="behind another"),
        pytest.param("?key=s&alt=sse", "?alt=sse", id="in front of another"),
        pytest.param("?%6bey=s&alt=sse", "?alt=sse", id="escaped"),
        pytest.param("?access_token=s&$key=t&key=u&keyed=1", "?keyed=1", id="every name of one"),
        pytest.param("?alt=sse&&x", "?alt=sse&&x", id="no key, not a byte changes"),
        pytest.param("", "", id="no query"),
    ],
)
def test_an_address_without_the_clients_key(query: str, kept: str) -> None:
    assert without_key(f"https://gemini.test/v1beta/models/m:generateContent{query}").partition("Content")[2] == kept


@pytest.mark.parametrize(
    ("asked", "key"),
    [
        pytest.param(post(PATH + f"&key={CLIENTS}", BODY), None, id="a call, with the client's key in its address"),
        pytest.param(post(PATH, BODY, f"x-goog-api-key: {CLIENTS}"), None, id="a call, with it in a header"),
        pytest.param(post(PATH + f"&key={CLIENTS}", BODY, f"x-goog-api-key: {CLIENTS}"), OURS, id="a call, ours given"),
        pytest.param(
            raw("GET", f"/provider/gemini/v1beta/models?key={CLIENTS}"), OURS, id="a list of models, ours given"
        ),
        pytest.param(
            post(f"/provider/gemini/v1beta/models/m:countTokens?key={CLIENTS}", BODY),
            OURS,
            id="a count of tokens, ours given",
        ),
    ],
)
def test_the_key_that_reaches_the_provider(asked: bytes, key: str | None) -> None:
    seen: list[Request] = []

    async def scenario(world: World) -> None:
        assert (await world.ask(asked)).status == 200

    play(scenario, answering(ok(), seen), api_key=Secret("GEMINI", key) if key else None)
    sent = repr(seen)
    if key is None:
        assert sent.count(CLIENTS) == asked.decode().count(CLIENTS), "the client's own goes as it came"
    else:
        assert CLIENTS not in sent
        assert seen[0].all("x-goog-api-key") == [key]
        assert not seen[0].all("authorization")


def test_no_key_of_an_address_gets_into_logs_errors_or_records(caplog: pytest.LogCaptureFixture) -> None:
    driver = NotingDriver()

    async def hangs_up(wire: Wire) -> None:
        await wire.request()
        wire.close()

    async def scenario(world: World) -> None:
        reply = await world.ask(post(f"{PATH}&key={CLIENTS}", BODY, f"x-goog-api-key: {CLIENTS}"))
        assert reply.status == 502
        assert json.loads(reply.body)["error"]["status"] == "UNAVAILABLE"
        assert CLIENTS not in repr(reply)

    with caplog.at_level(logging.DEBUG, logger="coldpress"):
        play(scenario, hangs_up, driver=driver)
    assert driver.inbound and driver.outcomes
    assert caplog.records
    for said in (caplog.text, *(repr(record.__dict__) for record in caplog.records)):
        assert CLIENTS not in said
    assert CLIENTS not in repr((driver.inbound, driver.outcomes))


def test_a_stream_that_breaks_ends_with_an_error() -> None:
    async def breaks(wire: Wire) -> None:
        await wire.request()
        await wire.send(SSE_HEAD + chunk(b'data: {"candidates":[]}\n\n'))

    async def scenario(world: World) -> None:
        reply = await world.ask(post(PATH, BODY))
        assert reply.status == 200
        event, bare = reply.body.split(b"\n\n")[1:]
        assert json.loads(event.removeprefix(b"data: ")) == json.loads(bare)
        assert json.loads(bare)["error"]["status"] == "UNAVAILABLE"

    play(scenario, breaks)


@pytest.mark.parametrize("body", [BODY, b'{"model":"another","contents":[]}'], ids=["no name in it", "another in it"])
def test_a_model_that_stands_in_the_path_is_asked_of_nobody_else(body: bytes) -> None:
    fails = b"HTTP/1.1 503 No\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"
    driver, beside = NotingDriver(), list[Request]()

    async def scenario(world: World) -> None:
        assert (await world.ask(post(PATH, body))).status == 503
        await world.idle()

    play(scenario, answering(fails), driver=driver, beside=answering(ok(), beside), failover="beside")
    assert not beside
    assert [outcome.failover for outcome in driver.outcomes] == [Failover("beside", "503", "unknown_model")]


@pytest.mark.parametrize(
    ("unpriced", "status", "said"),
    [
        pytest.param(set(), 200, b"", id="priced"),
        pytest.param({("gemini", "gemini-x")}, 403, b"the price of model 'gemini-x'", id="not priced"),
        pytest.param({("gemini", "another")}, 200, b"", id="the name in the body does not count"),
    ],
)
def test_a_spend_cap_takes_the_model_from_the_path(
    unpriced: set[tuple[str, str | None]], status: int, said: bytes
) -> None:
    async def scenario(world: World) -> None:
        reply = await world.ask(post(PATH, b'{"model":"another","contents":[]}'))
        assert reply.status == status
        assert said in reply.body

    limits = Limits(daily_usd=1.0, unpriced="refuse")
    play(scenario, answering(ok()), driver=NotingDriver(unpriced=unpriced), limits=limits)


@pytest.mark.parametrize(
    ("path", "header", "dialect"),
    [
        pytest.param(b"/provider/gemini/v1beta/models", None, "gemini", id="by the path"),
        pytest.param(b"/provider/gemini/v1/models", b"x-goog-api-key", "gemini", id="by the header"),
        pytest.param(b"/provider/gemini/v1beta/openai/models", b"x-goog-api-key", "openai_chat", id="its OpenAI face"),
        pytest.param(b"/provider/gemini/v1/models", None, "openai_chat", id="nothing known"),
        pytest.param(b"/provider/both/v1beta/models", b"x-goog-api-key", "openai_chat", id="who does not speak it"),
    ],
)
def test_how_an_unread_request_is_spoken_to(path: bytes, header: bytes | None, dialect: str) -> None:
    routes = Routes(
        GatewaySettings(
            "127.0.0.1", 0, (GEMINI, Provider("both", "https://both.test", formats=("anthropic", "openai_chat")))
        )
    )
    sent = [(header, CLIENTS.encode())] if header else []
    scope = {"type": "http", "method": "GET", "raw_path": path, "query_string": b"", "headers": sent}
    assert routes.find(scope, sort_request_headers(sent)).dialect == dialect  # type: ignore[arg-type]
