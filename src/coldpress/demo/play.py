"""Play a recorded session through a gateway on loopback to a strict upstream, and keep what went over the wire."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import aiohttp

from coldpress.config import Settings
from coldpress.drive import Driver
from coldpress.gateway.serve import serving
from coldpress.gateway.settings import gateway_settings
from coldpress.lab.importers.recording import Recording
from coldpress.lab.rebuild import requests
from coldpress.model.errors import ColdpressError
from coldpress.model.records import Line, Operation, Receipt
from coldpress.model.usage import Usage
from coldpress.stores.base import Store
from coldpress.testing import Asked, Call, Part, Rules, Say, Script, StrictUpstream, Turn

Progress = Callable[[int, int], None]
_TOO_LONG = b"prompt is too long"
"""What the upstream says of a prompt above its window."""

_KEY = {"x-api-key": "demo", "anthropic-version": "2023-06-01", "content-type": "application/json"}


class DemoFailed(ColdpressError):
    """The upstream refused a request of the demonstration, or one got lost."""


@dataclass(frozen=True, slots=True)
class Played:
    """One request as the client sent it, as the upstream received it, and what it was counted at.

    `receipt` is `None` where the gateway was off and read nothing. `refused` says in the upstream's words that the
    prompt was too long for its window; there is no usage then.
    """

    sent: bytes
    received: bytes
    usage: Usage
    receipt: Receipt | None
    refused: str | None = None

    @property
    def pressed(self) -> tuple[Line, ...]:
        """What was made smaller on this request."""
        lines = self.receipt.lines if self.receipt else ()
        return tuple(line for line in lines if line.reason in ("pressed", "aged", "restored"))


def play(
    recording: Recording,
    settings: Settings,
    store: Store,
    *,
    operation: Operation,
    progress: Progress,
    window_tokens: int | None = None,
) -> list[Played]:
    """Send every request of the session through a gateway of its own, one after the other.

    The clocks of upstream and gateway run at the recorded times, so that the cache forgets what a real one would have
    forgotten, and the gateway expects it to.

    Args:
        recording: the session.
        settings: of the gateway; listening address and providers are replaced.
        store: the gateway's.
        operation: of the gateway.
        progress: told after each request: how many are done, how many there are.
        window_tokens: of the upstream; it refuses longer prompts, and the session goes on all the same. Without it, any
            refusal is a failure.

    Raises:
        DemoFailed: a request was refused or lost.
    """
    clock = _Clock()
    rules = Rules() if window_tokens is None else Rules(window_tokens=window_tokens)
    with StrictUpstream(Script(answer=_answers(recording)), rules=rules, clock=clock) as upstream:
        provider = replace(
            settings.bare_path_provider("anthropic"), url=upstream.url, operation=operation, api_key=None
        )
        default = replace(settings.default_provider, anthropic=provider.name, openai=provider.name)
        local = replace(settings, host="127.0.0.1", port=0, providers=(provider,), default_provider=default)
        with closing(Driver(local, store, clock=clock)) as driver:
            return asyncio.run(
                _play(
                    recording,
                    local,
                    driver,
                    upstream=upstream,
                    clock=clock,
                    progress=progress,
                    store=store,
                    may_overflow=window_tokens is not None,
                )
            )


class _Clock:
    """Seconds of the recording; moved by the player."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


async def _play(
    recording: Recording,
    settings: Settings,
    driver: Driver,
    *,
    upstream: StrictUpstream,
    clock: _Clock,
    progress: Progress,
    store: Store,
    may_overflow: bool,
) -> list[Played]:
    trajectory = recording.trajectory
    found: list[Played] = []
    async with (
        serving(gateway_settings(settings, control_port=0), driver, clock=clock) as gateway,
        aiohttp.ClientSession() as client,
    ):
        for turn, body in zip(trajectory.turns, requests(trajectory, recording.head), strict=True):
            clock.now = turn.sent_at or clock.now
            request_id = await _send(client, gateway.url, body, may_overflow=may_overflow)
            exchange = upstream.inference[-1]
            receipt = await asyncio.to_thread(_receipt, store, request_id) if request_id else None
            usage = exchange.usage or Usage()
            found.append(Played(body, exchange.request.body, usage, receipt, exchange.refusal))
            progress(len(found), len(trajectory.turns))
    return found


async def _send(client: aiohttp.ClientSession, url: str, body: bytes, *, may_overflow: bool) -> str:
    """Post one request, read its stream to the end, and give the gateway's name for it, empty where it has none."""
    async with client.post(f"{url}/v1/messages", data=body, headers=_KEY) as response:
        answer = await response.read()
        if response.status != 200 and not (may_overflow and _TOO_LONG in answer):
            raise DemoFailed(f"the upstream answered {response.status}: {answer.decode(errors='replace')[:300]}")
        return response.headers.get("x-coldpress-request", "")


def _receipt(store: Store, request_id: str) -> Receipt:
    store.flush()  # receipts wait a little for company
    entry = store.receipt(request_id)
    if entry is None:
        raise DemoFailed(f"the ledger has no receipt for request {request_id!r}")
    return entry.receipt


def _answers(recording: Recording) -> Callable[[Asked], Turn | None]:
    """Answer the n-th request with the n-th recorded reply."""
    replies = [Turn(_parts(turn.reply)) for turn in recording.trajectory.turns]
    return lambda asked: replies[asked.number] if asked.number < len(replies) else None


def _parts(reply: str) -> tuple[Part, ...]:
    parts: list[Part] = []
    for block in json.loads(reply)["content"]:
        if block["type"] == "text":
            parts.append(Say(block["text"]))
        elif block["type"] == "tool_use":
            parts.append(Call(block["name"], block["input"]))
    return tuple(parts)


def recording_path() -> Path:
    """Where the bundled recording lies."""
    return Path(__file__).with_name("recording.json")
