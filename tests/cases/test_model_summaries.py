"""A model summarises, or fails to: the agent's model reads no error, its request goes, and the ledger says why."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from cases.agents import Agent
from cases.compacting import (
    BUDGET,
    CHEAP,
    MODEL,
    SUMMARY,
    URGENT_AT_ONCE,
    WIRES,
    Held,
    Wire,
    accepted,
    agent,
    asking,
    once,
    pressure,
    reasons,
    settings,
    short,
    small,
    summarising,
    summary_text,
    until,
    writes,
)

from coldpress.config import Settings
from coldpress.measure.rates import Prices, Rates
from coldpress.testing import BreakOff, Disconnect, HttpError, Say, Script, closed_port_url
from coldpress.testing import Turn as Answer

SECRET = "ZEBRA-4711"
"""Stands in everything that is no summary; no model may ever read it."""

DEAR = (Prices(MODEL, ((0, Rates(300.0, 300.0, 300.0, None, 300.0, "settings", "undated")),)),)
ITEM = {"message": 2, "text": f"Wrote {SECRET}/part_0.txt", "quotes": [f"{SECRET}/part_0.txt"]}
TRUE = {"message": 2, "text": "Wrote reports/part_0.txt", "quotes": ["reports/part_0.txt"]}


def urgent(model: Held, **more: Any) -> Settings:
    """Settings by which every summary is waited for."""
    return settings(asking(model.upstream.url, **more), URGENT_AT_ONCE)


def ends(text: str, stop: Any) -> Script:
    """A summariser whose answer ends for this reason."""
    return Script(closing=Answer((Say(text),), stop_reason=stop))


def fails(fault: Any) -> Script:
    """A summariser that fails each time."""
    return Script(closing=Answer((Say(SECRET),), fault=fault))


FAILURES = [
    pytest.param(ends(f"I cannot {SECRET}.", "refusal"), {}, "refused_by_provider", True, id="content filter"),
    pytest.param(ends('{"goal": [' + SECRET, "max_tokens"), {}, "stopped_early", True, id="cut off"),
    pytest.param(once(f"Here is what happened: {SECRET}"), {}, "not_json", True, id="prose"),
    pytest.param(once(f"<html>502 {SECRET}</html>"), {}, "error_like", True, id="an error page as its answer"),
    pytest.param(once(f"I'm sorry, I can't help with {SECRET}"), {}, "refused", True, id="refusal in words"),
    pytest.param(once("{}"), {}, "empty", True, id="nothing to say"),
    pytest.param(once(json.dumps({"artifacts": [ITEM]})), {}, "nothing_held", True, id="all quotes wrong"),
    pytest.param(fails(HttpError(500, message=SECRET)), {}, "http_error", False, id="500"),
    pytest.param(fails(HttpError(401, message=SECRET)), {}, "http_error", False, id="401"),
    pytest.param(fails(Disconnect()), {}, "http_error", None, id="connection closed"),
    pytest.param(fails(BreakOff(40)), {}, "http_error", None, id="half an answer"),
    pytest.param(SUMMARY, {"max_usd_per_call": 1e-6}, "too_expensive", False, id="too expensive"),
    pytest.param(SUMMARY, {"pricing": DEAR}, "too_expensive", False, id="too expensive by its price"),
    pytest.param(SUMMARY, {"pricing": ()}, "unpriced", False, id="no price"),
    pytest.param(SUMMARY, {"needs_key": True}, "no_key", False, id="no key"),
    pytest.param(SUMMARY, {"endpoint": closed_port_url()}, "http_error", False, id="nobody there"),
]


@pytest.mark.parametrize(("script", "more", "why", "paid"), FAILURES)
@pytest.mark.parametrize("wire", WIRES)
def test_rules_take_the_place_of_a_summary_that_is_none(
    wire: Wire, script: Script, more: dict[str, Any], why: str, paid: bool | None
) -> None:
    with summarising(script) as model:
        found = settings(asking(model.upstream.url, kind=wire, **more), URGENT_AT_ONCE)
        with small(writes(), found, wire=wire) as stage:
            one = agent(stage, wire)
            used = until(one, "summarised")
            later = one.go(3)[-3:]
            text = summary_text(stage, used)
    accepted(one.turns)
    assert (pressure(used).summariser, pressure(used).refused) == ("structural", (why,))
    usd = pressure(used).summariser_usd
    assert (usd is None) if paid is None else (usd is not None and (usd > 0) is paid)
    assert SECRET not in text
    for turn in one.turns:
        assert SECRET.encode() not in turn.sent
    assert "reports/part_0.txt" in text
    assert {reasons(turn) for turn in later} == {""}
    assert len(model.questions) == (0 if (paid is False and why != "http_error") or "endpoint" in more else 1)


@contextmanager
def raw(reply: bytes) -> Iterator[str]:
    """An endpoint that answers every connection with these bytes."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    read = b""
                    while b"\r\n\r\n" not in read:
                        read += connection.recv(65536)
                    head, _, body = read.partition(b"\r\n\r\n")
                    length = int(re.search(rb"content-length: (\d+)", head, re.IGNORECASE)[1])  # type: ignore[index]
                    while len(body) < length:
                        body += connection.recv(65536)
                    connection.sendall(reply)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(10)


PAGE = f"<!doctype html><title>{SECRET}</title>".encode()


@pytest.mark.parametrize(
    ("status", "kind", "body", "why"),
    [
        pytest.param(b"200 OK", b"text/html", PAGE, "bad_reply", id="a page with 200"),
        pytest.param(b"502 Bad Gateway", b"text/html", PAGE, "http_error", id="a page with 502"),
        pytest.param(b"200 OK", b"application/json", b"", "bad_reply", id="nothing with 200"),
        pytest.param(b"200 OK", b"application/json", b'{"error":"' + SECRET.encode() + b'"}', "bad_reply", id="error"),
        pytest.param(b"200 OK", b"application/json", b"[" * 90_000, "bad_reply", id="endless nesting"),
    ],
)
def test_an_endpoint_that_speaks_something_else_is_not_listened_to(
    status: bytes, kind: bytes, body: bytes, why: str
) -> None:
    head = b"HTTP/1.1 %s\r\ncontent-type: %s\r\nconnection: close\r\ncontent-length: %d\r\n\r\n"
    reply = head % (status, kind, len(body)) + body
    with raw(reply) as url, small(writes(), settings(asking(url), URGENT_AT_ONCE)) as stage:
        one = agent(stage, "anthropic")
        used = until(one, "summarised")
    accepted(one.turns)
    assert (pressure(used).summariser, pressure(used).refused) == ("structural", (why,))
    assert SECRET.encode() not in used.sent


def test_an_urgent_request_waits_no_longer_than_the_summariser_may_take() -> None:
    with summarising(held=True) as model:
        found = settings(asking(model.upstream.url, timeout_seconds=0.3), URGENT_AT_ONCE)
        with small(writes(), found) as stage:
            one = agent(stage, "anthropic")
            used = until(one, "summarised")
            assert not model.free.is_set()
    accepted(one.turns)
    assert (pressure(used).summariser, pressure(used).refused) == ("structural", ("timeout",))
    assert pressure(used).summariser_usd is None, "the endpoint may bill what it was asked"


@pytest.mark.parametrize("wire", WIRES)
def test_an_urgent_request_waits_for_the_model_and_goes_with_its_summary(wire: Wire) -> None:
    with summarising() as model:
        found = settings(asking(model.upstream.url, kind=wire), URGENT_AT_ONCE)
        with small(writes(), found, wire=wire) as stage:
            one = agent(stage, wire, stream=True)
            used = until(one, "summarised")
    accepted(one.turns)
    assert "summary_awaited" not in {reasons(turn) for turn in one.turns}
    assert (pressure(used).summariser, pressure(used).refused) == (MODEL, ())
    assert used.entry.outcome is not None
    assert used.entry.outcome.money is not None
    assert used.entry.outcome.money.summariser_usd == pressure(used).summariser_usd


def test_items_that_quote_wrongly_are_dropped_and_counted() -> None:
    script = once(json.dumps({"artifacts": [ITEM, TRUE, ITEM]}))
    with summarising(script) as model, small(writes(), urgent(model)) as stage:
        used = until(agent(stage, "anthropic"), "summarised")
        text = summary_text(stage, used)
    assert (pressure(used).summariser, pressure(used).dropped) == (MODEL, 2)
    assert SECRET not in text
    assert "Wrote reports/part_0.txt [m2]" in text


def test_a_model_that_keeps_failing_is_not_asked_a_fourth_time() -> None:
    with summarising(fails(HttpError(503))) as model, small(writes(), urgent(model)) as stage:
        refused = []
        for number in range(4):
            one = agent(stage, "anthropic")
            one.said[0] = {"role": "user", "content": f"Repair bug {number}."}
            refused.append(pressure(until(one, "summarised")).refused)
            accepted(one.turns)
    assert refused == [("http_error",)] * 3 + [("breaker_open",)]
    assert len(model.questions) == 3


@pytest.mark.parametrize("urgent", [False, True], ids=["at the trigger", "urgent"])
def test_the_gate_is_asked_before_a_summary_is_paid_for_and_an_urgent_prompt_overrules_it(urgent: bool) -> None:
    """Nobody knows what this agent's model costs, so nobody knows what a summary would save."""
    with summarising() as model:
        budget = URGENT_AT_ONCE if urgent else BUDGET
        with small(writes(), settings(asking(model.upstream.url), budget)) as stage:
            one = Agent(stage, model="nobody-knows-1", output=short)
            used = until(one, "summarised")
    accepted(one.turns)
    assert len(model.questions) == (1 if urgent else 0)
    said = (MODEL, ()) if urgent else ("structural", ("gate_unpriced",))
    assert (pressure(used).summariser, pressure(used).refused) == said
    assert pressure(used).summariser_usd is not None
    assert (pressure(used).summariser_usd > 0) is urgent


def test_a_summary_that_costs_more_than_it_saves_is_not_ordered() -> None:
    dear = (Prices(MODEL, ((0, replace(CHEAP, input_usd_per_mtok=20.0, output_usd_per_mtok=60.0)),)),)
    with summarising() as model:
        found = settings(asking(model.upstream.url, pricing=dear, max_usd_per_call=9.0), expected_applications=3.0)
        with small(writes(), found) as stage:
            used = until(agent(stage, "anthropic"), "summarised")
    assert model.questions == []
    assert pressure(used).refused == ("gate_does_not_pay",)
