"""An error reply is read on the side for what it tells of the window, up to a bound, and passed on as it came."""

from __future__ import annotations

import gzip
import json

import pytest
from gateway.world import ANTHROPIC_PATH, OPENAI_PATH, World, answering, closing, post, run, world

from coldpress.model.overflow import Overflow
from coldpress.wire.overflow import MOST_BODY_BYTES

MESSAGE = "prompt is too long: 202095 tokens > 200000 maximum"
ANTHROPIC = json.dumps({"type": "error", "error": {"type": "invalid_request_error", "message": MESSAGE}}).encode()
CHAT = json.dumps(
    {"error": {"message": "too long", "type": "invalid_request_error", "code": "context_length_exceeded"}}
)
TOLD = Overflow(202_095, 200_000)


def reply(status: int, body: bytes, *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} No", "content-type: application/json", f"content-length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


async def outcome_of(w: World, path: str, body: bytes) -> Overflow | None:
    """Ask once; what the client gets is what the provider sent."""
    got = await w.ask(post(path, b'{"messages":[]}', "content-type: application/json"))
    assert got.body == body
    await w.driver.finished.wait()
    (outcome,) = w.driver.outcomes
    assert outcome.status == got.status
    return outcome.overflow


@pytest.mark.parametrize(
    ("status", "path", "body", "headers", "told"),
    [
        pytest.param(400, ANTHROPIC_PATH, ANTHROPIC, (), TOLD, id="Messages"),
        pytest.param(413, ANTHROPIC_PATH, ANTHROPIC, (), TOLD, id="413"),
        pytest.param(400, OPENAI_PATH, CHAT.encode(), (), Overflow(), id="Chat Completions"),
        pytest.param(400, OPENAI_PATH, ANTHROPIC, (), TOLD, id="a sentence of another provider"),
        pytest.param(400, ANTHROPIC_PATH, gzip.compress(ANTHROPIC), ("content-encoding: gzip",), TOLD, id="compressed"),
        pytest.param(400, ANTHROPIC_PATH, ANTHROPIC, ("content-encoding: gzip",), None, id="said to be compressed"),
        pytest.param(400, ANTHROPIC_PATH, ANTHROPIC, ("content-encoding: x",), None, id="an encoding nobody knows"),
        pytest.param(
            400,
            ANTHROPIC_PATH,
            gzip.compress(b" " * (2 * MOST_BODY_BYTES) + ANTHROPIC),
            ("content-encoding: gzip",),
            None,
            id="expands to more than is read",
        ),
        pytest.param(400, ANTHROPIC_PATH, b" " * MOST_BODY_BYTES + ANTHROPIC, (), None, id="behind the bound"),
        pytest.param(500, ANTHROPIC_PATH, ANTHROPIC, (), None, id="another status"),
        pytest.param(400, ANTHROPIC_PATH, b"", (), None, id="no body"),
    ],
)
def test_what_an_error_reply_tells(
    status: int, path: str, body: bytes, headers: tuple[str, ...], told: Overflow | None
) -> None:
    async def scenario() -> None:
        async with world(answering(reply(status, body, *headers))) as w:
            assert await outcome_of(w, path, body) == told
            assert w.serving.gateway.counters.tap_faults == 0

    run(scenario())


def test_a_reply_that_breaks_off_tells_nothing_and_breaks_nothing() -> None:
    async def scenario() -> None:
        cut = reply(400, ANTHROPIC)[:-30]
        async with world(closing(cut)) as w:
            got = await w.ask(post(ANTHROPIC_PATH, b'{"messages":[]}'))
            assert not got.complete
            await w.driver.finished.wait()
            assert w.driver.outcomes[0].ended == "upstream_broken"
            assert w.serving.gateway.counters.tap_faults == 0

    run(scenario())
