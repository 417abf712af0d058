"""What gemini-cli sends arrives as it was, except for the texts of tool results that were pressed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from bodies import changed_literals
from cases.captures import Captured, captured, grown
from support import Press, failed_quietly, pressing
from support import settings as made

from coldpress.drive import Inbound, Prepared
from coldpress.model.records import Operation
from coldpress.wire.registry import read_address


@pytest.fixture(scope="module")
def requests(shared: Path) -> tuple[Captured, ...]:
    found = tuple(captured(shared / "captures", ("gemini",)))
    assert len(found) == 3
    return found


def play(press: Press, requests: Sequence[Captured]) -> list[Prepared]:
    async def run() -> list[Prepared]:
        found = []
        for number, request in enumerate(requests):
            address = read_address(request.path.partition("?")[0])
            inbound = Inbound(f"r{number}", float(number), "gemini", "gemini", request.body, None, {}, address=address)
            found.append(await press.driver.prepare(inbound))
        return found

    return asyncio.run(run())


def enclosed(request: Captured) -> Captured:
    """The same request as a Code Assist sign-in sends it."""
    inner = json.loads(request.body)
    envelope = {"model": "gemini-2.5-flash", "project": "p", "user_prompt_id": "u#1", "request": inner}
    body = json.dumps(envelope, ensure_ascii=False, separators=(",", ":")).encode()
    return Captured(
        request.client, request.turn, "/v1internal:streamGenerateContent?alt=sse", request.headers, body, "gemini"
    )


def in_both_hands(requests: Sequence[Captured]) -> list[list[Captured]]:
    return [[grown(request, ascii_only=ascii_only) for request in requests] for ascii_only in (True, False)]


@pytest.mark.parametrize("operation", ["observe", "off"])
@pytest.mark.parametrize("wrap", [False, True], ids=["bare", "in Code Assist's envelope"])
def test_observed_every_byte_arrives(requests: tuple[Captured, ...], operation: Operation, wrap: bool) -> None:
    sent = [enclosed(request) for request in requests] if wrap else requests
    for conversation in [sent, *in_both_hands(sent)]:
        with pressing(made(operation)) as press:
            for request, prepared in zip(conversation, play(press, conversation), strict=True):
                assert prepared.body is request.body
                assert not failed_quietly(prepared)
                assert prepared.receipt.model == "gemini-2.5-flash"


@pytest.mark.parametrize("wrap", [False, True], ids=["bare", "in Code Assist's envelope"])
def test_pressed_nothing_differs_but_texts_of_results(requests: tuple[Captured, ...], wrap: bool) -> None:
    sent = [enclosed(request) for request in requests] if wrap else requests
    for conversation in in_both_hands(sent):
        with pressing() as press:
            pressed = play(press, conversation)
            for request, prepared in zip(conversation, pressed, strict=True):
                assert not failed_quietly(prepared)
                pairs = changed_literals(request.body, prepared.body, "gemini")
                originals = {press.store.recall(line.original) for line in prepared.receipt.lines if line.original}
                assert originals <= {old for old, _ in pairs}
                for old, new in pairs:
                    assert len(new.encode()) < len(old.encode())
                    assert new.strip()
            assert changed_literals(conversation[-1].body, pressed[-1].body, "gemini"), "the log is pressed"
            assert pressed[-1].body.startswith(_kept(pressed[-2].body)), "and stays the prefix"


def _kept(body: bytes) -> bytes:
    """A body up to the end of its last turn."""
    return body[: body.rindex(b'],"systemInstruction"')]


def test_as_captured_nothing_is_large_enough_to_press(requests: tuple[Captured, ...]) -> None:
    with pressing() as press:
        assert [p.body for p in play(press, requests)] == [r.body for r in requests]


def test_what_a_failed_command_printed_stays_exact(requests: tuple[Captured, ...]) -> None:
    """gemini-cli writes a failed command into `output`, and only a label tells of it."""
    log = "\n".join(f"step {n} of the build went on and on" for n in range(900))
    failed = f"<untrusted_context>\nOutput: {log}\nExit Code: 2\nProcess Group PGID: 1052\n</untrusted_context>"

    def saying(text: str) -> Captured:
        body: dict[str, Any] = json.loads(requests[1].body)
        body["contents"][-1]["parts"][-1]["functionResponse"]["response"]["output"] = text
        return requests[1].with_body(json.dumps(body).encode())

    with pressing() as press:
        bad, good = saying(failed), saying(failed.replace("Exit Code: 2\n", ""))
        assert play(press, [bad])[0].body is bad.body
        assert play(press, [good])[0].changed
