"""What real clients send arrives as it was, except for the texts of tool results that were pressed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from bodies import changed_literals
from cases.captures import Captured, captured, grown, kept_headers
from cases.through import Gate, Reply, gateway, send
from support import settings

from coldpress.model.records import Operation
from coldpress.testing import Exchange, Rules, StrictUpstream
from coldpress.wire.registry import FORMATS

RULES = Rules(check_signatures=False)
PRESSED_CLIENTS = {
    "anthropic-sdk",
    "claude-code",
    "claude-code-parallel",
    "claude-code-subagent",
    "codex",
    "codex-chatgpt",
    "gemini-cli",
    "mini-swe-agent-anthropic",
    "mini-swe-agent-chat",
    "omp-anthropic",
    "omp-chat",
    "opencode-anthropic",
    "opencode-openai",
    "pi-anthropic",
    "pi-chat",
    "pi-responses",
    "qwen-code",
}


@pytest.fixture(scope="module")
def requests(shared: Path) -> tuple[Captured, ...]:
    found = tuple(captured(shared / "captures"))
    assert {request.format for request in found} == set(FORMATS)
    assert len(found) > 60
    return found


def post(url: str, request: Captured) -> Reply:
    return send(url, "POST", request.path, request.body, request.headers)


def played(requests: Iterable[Captured], operation: Operation) -> Iterable[tuple[Captured, Reply, Exchange, Gate]]:
    """Send requests through the gateway; give what the client got and what the provider received."""
    made = settings(operation, press_subscription=True)
    with StrictUpstream(rules=RULES) as upstream, gateway(upstream.url, made) as gate:
        for request in requests:
            reply = post(gate.url, request)
            yield request, reply, upstream.exchanges[-1], gate


def accepted_directly(requests: Iterable[Captured]) -> list[int]:
    with StrictUpstream(rules=RULES) as upstream:
        return [post(upstream.url, request).status for request in requests]


def in_both_hands(requests: Iterable[Captured]) -> list[Captured]:
    """Every request with large results, non-ASCII characters escaped and not."""
    listed = list(requests)
    return [grown(request, ascii_only=ascii_only) for ascii_only in (True, False) for request in listed]


@pytest.mark.parametrize("operation", ["observe", "off"])
@pytest.mark.parametrize("large", [False, True], ids=["as captured", "with large results"])
def test_observed_or_off_every_byte_and_every_header_arrives(
    requests: tuple[Captured, ...], operation: Operation, large: bool
) -> None:
    sent = in_both_hands(requests) if large else list(requests)
    would, statuses = Counter[str](), list[int]()
    for request, reply, exchange, gate in played(sent, operation):
        assert exchange.request.raw == request.body, (request.client, request.turn)
        assert kept_headers(exchange.request.headers) == kept_headers(request.headers)
        assert exchange.request.target == request.path
        statuses.append(reply.status)
        if operation == "observe":
            receipt = gate.receipt(reply)
            assert not [note for note in receipt.notes if note.startswith("pass_through")]
            would[request.client] += sum(line.reason == "observe" for line in receipt.lines)
    assert statuses == accepted_directly(sent)
    if large and operation == "observe":
        assert set(+would) >= PRESSED_CLIENTS, "observing tells what pressing would do"


@pytest.mark.parametrize("large", [False, True], ids=["as captured", "with large results"])
def test_pressed_nothing_differs_but_texts_of_tool_results_that_can_be_recalled(
    requests: tuple[Captured, ...], large: bool
) -> None:
    sent = in_both_hands(requests) if large else list(requests)
    changed, statuses = Counter[str](), list[int]()
    for request, reply, exchange, gate in played(sent, "press"):
        where = (request.client, request.turn)
        statuses.append(reply.status)
        receipt = gate.receipt(reply)
        assert not [note for note in receipt.notes if note.startswith("pass_through")], where
        pairs = changed_literals(request.body, exchange.request.raw, request.format)
        assert kept_headers(exchange.request.headers) == kept_headers(request.headers), where
        assert exchange.request.header("content-length") == str(len(exchange.request.raw))
        for old, new in pairs:
            assert len(new.encode()) < len(old.encode()), where
        originals = {gate.store.recall(line.original) for line in receipt.lines if line.reason == "pressed"}
        assert originals <= {old for old, _ in pairs}, where
        assert len(pairs) == receipt.reused + sum(line.reason == "pressed" for line in receipt.lines), where
        changed[request.client] += len(pairs)
        if not pairs:
            assert exchange.request.raw == request.body, where
    assert statuses == accepted_directly(sent)
    assert statuses.count(200) > 60
    if large:
        assert set(+changed) >= PRESSED_CLIENTS
