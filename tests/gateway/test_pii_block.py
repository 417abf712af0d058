"""What a client gets where `pii` holds its request back, what the provider gets, and what no log or page tells."""

from __future__ import annotations

import gzip
import json
import logging
from typing import Any

import pytest
from cases.through import KEY, Gate, gateway
from compacting import FORMATS, Call, Step, request, written
from support import settings

from coldpress.config import Settings
from coldpress.config.pii_keys import PiiKeys
from coldpress.config.plugin_keys import PluginConfigKeys
from coldpress.config.plugin_settings import PluginSettings
from coldpress.testing import StrictUpstream
from coldpress.wire.registry import FormatName

WHO = "ada@lovelace.uk"
PATHS: dict[FormatName, str] = {"anthropic": "/v1/messages", "openai_chat": "/v1/chat/completions"}
ENCODED = (*KEY, ("content-encoding", "gzip"))

both = pytest.mark.parametrize("name", FORMATS)


def guarded(**keys: Any) -> Settings:
    return settings(plugins=PluginSettings(order=("pii",), builtin=PluginConfigKeys(pii=PiiKeys(**keys))))


def body(name: FormatName, output: str = f"from {WHO}, to {WHO}") -> bytes:
    return request(name, written(name, [Step((Call("c1", output),))]), max_tokens=100)


def refusal(raw: bytes, name: FormatName) -> tuple[str, str]:
    """Kind and message of an error, as the client's SDK reads it."""
    read = json.loads(raw)
    if name == "anthropic":
        assert read["type"] == "error"
        return read["error"]["type"], read["error"]["message"]
    assert read["error"]["code"] in ("sensitive_content", "not_screened")
    return read["error"]["type"], read["error"]["message"]


def pages(gate: Gate) -> bytes:
    return b"".join(repr(entry).encode() for entry in gate.store.receipts(limit=9, lineage=None, before=None))


@both
def test_a_blocked_request_is_refused_in_the_clients_format(name: FormatName, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with StrictUpstream() as up, gateway(up.url, guarded(action="block")) as gate:
        reply = gate.post(PATHS[name], body(name))
        assert reply.status == 400 and reply.headers["x-should-retry"] == "false"
        kind, message = refusal(reply.body, name)
        assert kind == "invalid_request_error"
        assert "Bash" in message and "email 2" in message and WHO not in message
        assert not up.exchanges
        gate.store.flush()
        (entry,) = gate.store.receipts(limit=9, lineage=None, before=None)
        assert entry.receipt.notes == ("withheld:sensitive",) and entry.receipt.sent_bytes == 0
        assert WHO.encode() not in pages(gate)
        assert gate.post(PATHS[name], body(name, "nothing")).status == 200
    assert len(up.exchanges) == 1 and WHO not in caplog.text


@both
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_a_redacted_request_reaches_the_provider_without_it(name: FormatName, packed: bool) -> None:
    with StrictUpstream() as up, gateway(up.url, guarded()) as gate:
        raw = gzip.compress(body(name)) if packed else body(name)
        reply = gate.post(PATHS[name], raw, ENCODED if packed else KEY)
        assert reply.status == 200, reply.body
    (exchange,) = up.exchanges
    sent = exchange.request.body
    assert WHO.encode() not in sent and sent.count(b"[redacted email 1]") == 2


@both
@pytest.mark.parametrize("on_failure", ["closed", "open"])
def test_a_body_in_an_encoding_that_nobody_can_read(name: FormatName, on_failure: str) -> None:
    with StrictUpstream() as up, gateway(up.url, guarded(on_failure=on_failure)) as gate:
        reply = gate.post(PATHS[name], body(name), (*KEY, ("content-encoding", "unheard-of")))
        assert len(up.exchanges) == (1 if on_failure == "open" else 0)
        if on_failure == "closed":
            assert reply.status == 400 and "content-encoding" in refusal(reply.body, name)[1]


def test_a_count_of_tokens_holds_no_more_than_the_request_will() -> None:
    asked = json.loads(body("anthropic"))
    del asked["max_tokens"]
    raw = json.dumps(asked).encode()
    with StrictUpstream() as up, gateway(up.url, guarded()) as gate:
        gate.post("/v1/messages/count_tokens", raw)
        (exchange,) = up.exchanges
        assert WHO.encode() not in exchange.request.body and b"[redacted email 1]" in exchange.request.body
        gate.store.flush()
        assert not gate.store.receipts(limit=9, lineage=None, before=None)
    with StrictUpstream() as up, gateway(up.url, guarded(action="block")) as gate:
        assert gate.post("/v1/messages/count_tokens", raw).status == 400
        assert not up.exchanges
