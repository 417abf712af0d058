"""A refusal for length teaches the window: the same request repeated is made to fit, and none is too long after it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from cases.through import Gate, Reply, gateway
from compacting import FORMATS, MODEL, growing, run
from support import settings

from coldpress.config import Settings
from coldpress.engine.budget import BudgetRule, Budgets
from coldpress.model.records import Finding
from coldpress.stores.memory import MemoryStore
from coldpress.testing import Rules, Say, Script, StrictUpstream, Turn
from coldpress.wire.registry import FormatName

WINDOW_TOKENS = 12_000
PATHS = {"anthropic": "/v1/messages", "openai_chat": "/v1/chat/completions"}
SETTINGS = settings()

pytestmark = pytest.mark.parametrize("name", FORMATS)


@contextmanager
def world(found: Settings = SETTINGS, store: MemoryStore | None = None) -> Iterator[tuple[Gate, StrictUpstream]]:
    """A gateway in front of a strict server with a small window."""
    answering = Script(closing=Turn((Say("ok"),)))
    with (
        StrictUpstream(answering, rules=Rules(window_tokens=WINDOW_TOKENS)) as upstream,
        gateway(upstream.url, found, store=store) as gate,
    ):
        yield gate, upstream


def findings(gate: Gate, reply: Reply) -> tuple[Finding, ...]:
    until = time.monotonic() + 10
    while (entry := gate.store.receipt(reply.request_id)) is None or entry.outcome is None:
        assert time.monotonic() < until, "the outcome is written down behind the reply"
        time.sleep(0.005)
        gate.store.flush()
    assert entry.outcome.overflow is None, "the ledger keeps the finding"
    return entry.outcome.findings


def until_refused(gate: Gate, name: FormatName, bodies: list[bytes]) -> tuple[int, Reply]:
    """Send the requests of a conversation up to the first that is refused."""
    for number, body in enumerate(bodies):
        reply = gate.post(PATHS[name], body)
        if reply.status != 200:
            return number, reply
    raise AssertionError("nothing was refused")


def prompt_tokens(upstream: StrictUpstream) -> int:
    usage = upstream.exchanges[-1].usage
    assert usage is not None and usage.prompt is not None
    return usage.prompt


def test_a_repeated_request_fits_and_none_is_refused_after_it(name: FormatName) -> None:
    bodies = growing(name, [run(n) for n in range(30)], model=MODEL)
    with world() as (gate, upstream):
        number, refused = until_refused(gate, name, bodies)
        assert 4 < number < 20
        assert refused.status == 400
        assert upstream.exchanges[-1].request.body == bodies[number], "it went out as it came"
        assert json.loads(refused.body)["error"]["message"] == upstream.exchanges[-1].refusal
        assert findings(gate, refused) == (Finding("window_overflow", tokens=WINDOW_TOKENS),)

        again = gate.post(PATHS[name], bodies[number])
        assert again.status == 200, again.body
        pressure = gate.receipt(again).pressure
        assert pressure is not None and pressure.window_tokens == WINDOW_TOKENS
        assert pressure.before_tokens > WINDOW_TOKENS
        assert prompt_tokens(upstream) <= pressure.target_tokens * 1.2
        assert findings(gate, again) == ()

        shown = upstream.exchanges[-1].request.body
        repeated = gate.post(PATHS[name], bodies[number])
        assert repeated.status == 200
        assert upstream.exchanges[-1].request.body == shown, "the decision stands"

        for body in bodies[number + 1 :]:
            assert gate.post(PATHS[name], body).status == 200
            assert prompt_tokens(upstream) <= WINDOW_TOKENS


def test_the_next_turn_fits_where_the_client_does_not_repeat(name: FormatName) -> None:
    bodies = growing(name, [run(n) for n in range(30)], model=MODEL)
    with world() as (gate, _):
        number, _refused = until_refused(gate, name, bodies)
        assert gate.post(PATHS[name], bodies[number + 1]).status == 200


def test_another_conversation_of_the_model_is_never_refused(name: FormatName) -> None:
    first = growing(name, [run(n) for n in range(30)], model=MODEL)
    other = growing(name, [run(n + 100) for n in range(30)], model=MODEL, task="Write the changelog.")
    with world() as (gate, upstream):
        until_refused(gate, name, first)
        for body in other:
            assert gate.post(PATHS[name], body).status == 200
        assert prompt_tokens(upstream) < WINDOW_TOKENS


def test_after_a_restart_it_is_learned_again_and_what_was_decided_stands(name: FormatName) -> None:
    bodies = growing(name, [run(n) for n in range(30)], model=MODEL)
    store = MemoryStore()
    with world(store=store) as (gate, upstream):
        number, _ = until_refused(gate, name, bodies)
        assert gate.post(PATHS[name], bodies[number]).status == 200
        shown = upstream.exchanges[-1].request.body
    with world(store=store) as (gate, upstream):
        assert gate.post(PATHS[name], bodies[number]).status == 200
        assert upstream.exchanges[-1].request.body == shown
        later, refused = until_refused(gate, name, bodies[number + 1 :])
        assert findings(gate, refused) == (Finding("window_overflow", tokens=WINDOW_TOKENS),)
        for body in bodies[number + 1 + later :]:
            assert gate.post(PATHS[name], body).status == 200


@pytest.mark.parametrize("where", ["settings", "price data"])
def test_a_window_that_is_said_too_large_is_corrected_when_it_is_refused(name: FormatName, where: str) -> None:
    """What the settings say holds on other requests: the user may know why. What was just refused is made to fit."""
    rule = BudgetRule(window_tokens=100_000 if where == "settings" else None)
    model = MODEL if where == "settings" else "claude-sonnet-4-5"
    bodies = growing(name, [run(n) for n in range(30)], model=model)
    with world(replace(SETTINGS, budgets=Budgets(rule))) as (gate, upstream):
        number, _ = until_refused(gate, name, bodies)
        again = gate.post(PATHS[name], bodies[number])
        assert again.status == 200
        pressure = gate.receipt(again).pressure
        assert pressure is not None and pressure.window_tokens == WINDOW_TOKENS
        assert prompt_tokens(upstream) <= WINDOW_TOKENS
        statuses = [gate.post(PATHS[name], body).status for body in bodies[number + 1 :]]
        assert (400 in statuses) == (where == "settings")


def test_nothing_is_done_where_nothing_may_be(name: FormatName) -> None:
    bodies = growing(name, [run(n) for n in range(30)], model=MODEL)
    with world(settings("observe")) as (gate, upstream):
        number, _ = until_refused(gate, name, bodies)
        again = gate.post(PATHS[name], bodies[number])
        assert again.status == 400
        assert upstream.exchanges[-1].request.body == bodies[number]
        pressure = gate.receipt(again).pressure
        assert pressure is not None and pressure.reason == "observe"
