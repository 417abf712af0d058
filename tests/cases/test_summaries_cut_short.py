"""While a summary is being written its client leaves, or the gateway stops: nothing hangs, leaks or is paid twice."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from http.client import HTTPConnection

import pytest
from cases.agents import Agent, ChatAgent, Json
from cases.compacting import (
    BUDGET,
    MODEL,
    PATHS,
    URGENT_AT_ONCE,
    WIRES,
    Wire,
    accepted,
    agent,
    asking,
    literal,
    reasons,
    settings,
    small,
    summarising,
    until,
    writes,
)
from cases.through import KEY, Gate, send

from coldpress.stores.base import LedgerEntry

PROMPT_SECONDS = 5.0
LONG_SECONDS = 0.3


def next_body(one: Agent | ChatAgent) -> bytes:
    """The request that an agent would send next."""
    said = one._marked() if isinstance(one, Agent) else one.said
    return json.dumps({**json.loads(one.turns[-1].body), "messages": said}).encode()


def open_request(gate: Gate, wire: Wire, body: bytes) -> HTTPConnection:
    """Send a request and read nothing."""
    connection = HTTPConnection(gate.url.removeprefix("http://"), timeout=20)
    connection.request("POST", PATHS[wire], body, dict(KEY))
    return connection


def nearly(one: Agent | ChatAgent) -> bytes:
    """Go on until the next request is one that waits for a summary, and give it."""
    one.go(1)
    while one.turns[-1].prompt < 15_800:
        one.go(1)
    assert not reasons(one.turns[-1])
    return next_body(one)


def ended(entry: LedgerEntry) -> str:
    """How an exchange closed, empty where it has not."""
    return entry.outcome.ended if entry.outcome else ""


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait for something that takes a moment."""
    until_at = time.monotonic() + PROMPT_SECONDS
    while not holds():
        assert time.monotonic() < until_at
        time.sleep(0.002)


def gateway_stats(gate: Gate) -> Json:
    found: Json = json.loads(send(gate.url, "GET", "/stats", b"").body)
    return found


@pytest.mark.parametrize("wire", WIRES)
def test_a_client_that_leaves_meanwhile_costs_no_answer_and_no_second_summary(wire: Wire) -> None:
    with summarising(held=True) as model:
        found = settings(asking(model.upstream.url), URGENT_AT_ONCE)
        with small(writes(), found, wire=wire) as stage:
            one = agent(stage, wire)
            body, began = nearly(one), time.monotonic()
            connection = open_request(stage.gate, wire, body)
            assert model.asked.wait(10)
            answered = len(stage.upstream.inference)
            connection.close()
            while time.monotonic() - began < LONG_SECONDS:
                time.sleep(0.01)  # what takes less is not taken for a wait
            model.free.set()
            wait_until(lambda: gateway_stats(stage.gate)["transport"]["active"] == 0)
            gone = gateway_stats(stage.gate)["transport"]
            assert (gone["client_gone"], gone["in_flight_bytes"]) == (1, 0)
            assert len(stage.upstream.inference) == answered, "nobody was there to read an answer"
            turn, later = one.go(1)[-1], one.go(1)[-1]
            entries = stage.gate.store.receipts(limit=99, lineage=None, before=None)
            (left,) = [entry for entry in entries if ended(entry) == "client_gone"]
            text = stage.gate.store.recall(left.receipt.pressure.summary) if left.receipt.pressure else ""
    accepted(one.turns)
    assert len(model.questions) == 1
    assert left.receipt.pressure is not None
    assert left.receipt.pressure.summariser == MODEL
    for sent in (turn.sent, later.sent):
        assert literal(text, sent) in sent, "what was decided stands"


@pytest.mark.parametrize("waits", [False, True], ids=["behind the requests", "while a request waits for it"])
def test_a_gateway_that_stops_meanwhile_ends_at_once_and_quietly(waits: bool, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with summarising(held=True) as model:
        found = settings(asking(model.upstream.url, timeout_seconds=60.0), URGENT_AT_ONCE if waits else BUDGET)
        with small(writes(), found) as stage:
            one = agent(stage, "anthropic")
            if waits:
                connection = open_request(stage.gate, "anthropic", nearly(one))
            else:
                until(one, "summary_awaited")
            assert model.asked.wait(10)
            began = time.monotonic()
        assert time.monotonic() - began < PROMPT_SECONDS
        assert not model.free.is_set()
        if waits:
            assert connection.getresponse().status == 200, "it went on without the model's summary"
            connection.close()
            (last,) = stage.gate.store.receipts(limit=1, lineage=None, before=None)
            made = last.receipt.pressure
            assert made is not None
            assert (made.summariser, made.refused) == ("structural", ("fault_cancelled",))
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []
    assert len(model.questions) == 1
