"""What we ask a provider ourselves goes where the client's request went, in the client's name, and is bounded."""

from __future__ import annotations

import gzip
from dataclasses import dataclass

import pytest
from gateway.world import ANTHROPIC_PATH, NotingDriver, Request, Wire, answering, ok, post, run, world

from coldpress.config.secret import Secret
from coldpress.drive.exchange import OwnReply
from coldpress.gateway.headers import with_betas
from coldpress.gateway.own_calls import MOST_REPLY_BYTES

BODY = b'{"model":"m","messages":[]}'
OURS = b'{"model":"m","messages":[],"max_tokens":0}'


@dataclass
class Asked:
    """The client's request and ours as the provider got them, and what we got for ours."""

    client: Request
    ours: Request
    reply: OwnReply | None


def asked(reply: bytes, *headers: str, betas: tuple[str, ...] = (), seconds: float = 5.0, **provider: object) -> Asked:
    async def scenario() -> Asked:
        seen: list[Request] = []
        driver = NotingDriver()
        async with world(answering(reply, seen), driver=driver, **provider) as w:  # type: ignore[arg-type]
            await w.ask(post(ANTHROPIC_PATH + "?beta=true", BODY, *headers))
            ask = driver.inbound[0].ask
            assert ask is not None
            found = await ask(OURS, betas=betas, timeout_seconds=seconds)
        return Asked(seen[0], seen[1], found)

    return run(scenario())


def test_goes_to_the_same_address_with_what_authorises_the_client() -> None:
    found = asked(ok(b"{}"), "x-api-key: theirs", "anthropic-version: 2023-06-01")
    assert found.ours.target == found.client.target
    assert (found.ours.body, found.reply) == (OURS, OwnReply(200, b"{}"))
    sent = dict(found.ours.headers)
    assert (sent["x-api-key"], sent["anthropic-version"]) == ("theirs", "2023-06-01")


def test_describes_its_own_body_and_not_the_clients() -> None:
    packed = gzip.compress(BODY)
    found = asked(ok(b"{}"), "content-encoding: identity", f"x-note: {len(packed)}")
    assert "content-encoding" not in dict(found.ours.headers)


def test_our_key_goes_where_the_settings_put_it_in_the_place_of_the_clients() -> None:
    found = asked(ok(b"{}"), "x-api-key: theirs", api_key=Secret("KEY", "ours"))
    assert [value for name, value in found.ours.headers if name == "x-api-key"] == ["ours"]


@pytest.mark.parametrize(
    ("header", "wanted"),
    [
        pytest.param((), "new", id="none"),
        pytest.param(("anthropic-beta: old",), "old,new", id="beside the client's"),
        pytest.param(("anthropic-beta: new",), "new", id="named already"),
    ],
)
def test_asks_for_betas_beside_the_clients(header: tuple[str, ...], wanted: str) -> None:
    found = asked(ok(b"{}"), *header, betas=("new",))
    assert dict(found.ours.headers)["anthropic-beta"] == wanted


def test_a_refusal_is_an_answer() -> None:
    refused = ok(b'{"error":{}}').replace(b"200 OK", b"400 Bad Request")
    assert asked(refused).reply == OwnReply(400, b'{"error":{}}')


def test_a_packed_answer_is_unpacked() -> None:
    assert asked(ok(gzip.compress(b"{}"), "content-encoding: gzip")).reply == OwnReply(200, b"{}")


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(ok(b"x" * (MOST_REPLY_BYTES + 1)), id="too long"),
        pytest.param(ok(gzip.compress(b" " * (MOST_REPLY_BYTES + 1)), "content-encoding: gzip"), id="expands too far"),
        pytest.param(ok(b"{}", "content-encoding: rot13"), id="unknown encoding"),
        pytest.param(ok(b"nothing", "content-encoding: gzip"), id="broken encoding"),
    ],
)
def test_what_cannot_be_taken_is_no_answer(reply: bytes) -> None:
    assert asked(reply, seconds=0.5).reply is None


def test_an_answer_that_never_ends_is_not_waited_for() -> None:
    async def handle(wire: Wire) -> None:
        await wire.request()
        await wire.send(ok(b"{}"))
        await wire.request()
        await wire.send(ok(b"{}").replace(b"content-length: 2", b"content-length: 9"))
        await wire.request()

    async def scenario() -> OwnReply | None:
        driver = NotingDriver()
        async with world(handle, driver=driver) as w:
            await w.ask(post(ANTHROPIC_PATH, BODY))
            ask = driver.inbound[0].ask
            assert ask is not None
            return await ask(OURS, betas=(), timeout_seconds=0.2)

    assert run(scenario()) is None


@pytest.mark.parametrize(
    ("given", "betas", "wanted"),
    [
        ([], (), []),
        ([("anthropic-beta", "a , b")], ("b", "a"), [("anthropic-beta", "a , b")]),
        ([("anthropic-beta", "")], ("a",), [("anthropic-beta", ""), ("anthropic-beta", "a")]),
        (
            [("anthropic-beta", "a"), ("anthropic-beta", "b")],
            ("b", "c"),
            [("anthropic-beta", "a,c"), ("anthropic-beta", "b")],
        ),
    ],
)
def test_betas_are_named_once(given: list[tuple[str, str]], betas: tuple[str, ...], wanted: object) -> None:
    assert with_betas(given, betas) == wanted
