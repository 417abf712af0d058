"""A plugin that hears how requests end is told the tools that were called, and why the model stopped, on every wire."""

from __future__ import annotations

import importlib.metadata
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import IncompleteRead
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest
from cases.through import Gate, gateway, send
from plugins.world import Asks
from support import settings
from wire.replies import JSON, SSE
from wire.test_reply_cuts import EVERY, STREAMS, WHOLE, streamed

from coldpress.config import Settings
from coldpress.config.plugin_settings import Approval, PluginSettings
from coldpress.plugins import ReplySummary
from coldpress.plugins.discovery import GROUP
from coldpress.wire.registry import FORMATS, FormatName

PATIENCE_SECONDS = 20.0
PATHS: dict[FormatName, str] = {
    "anthropic": "/v1/messages",
    "openai_chat": "/v1/chat/completions",
    "openai_responses": "/v1/responses",
    "gemini": "/v1beta/models/gemini-x:streamGenerateContent",
}
USER = {"role": "user", "content": "hi"}
REQUESTS: dict[FormatName, dict[str, object]] = {
    "anthropic": {"model": "claude-x", "max_tokens": 9, "messages": [USER]},
    "openai_chat": {"model": "gpt-x", "messages": [USER]},
    "openai_responses": {"model": "gpt-x", "store": False, "input": [USER | {"type": "message"}]},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
}
STOPS: dict[FormatName, str] = {
    "anthropic": "länge",
    "openai_chat": "länge",
    "openai_responses": "incomplete:länge",
    "gemini": "blockReason:SAFETY",
}


@dataclass
class Heard:
    """What a plugin was told."""

    told: list[ReplySummary] = field(default_factory=list)
    came: threading.Event = field(default_factory=threading.Event)

    def hear(self, summary: ReplySummary) -> None:
        self.told.append(summary)
        self.came.set()

    def one(self) -> ReplySummary:
        assert self.came.wait(PATIENCE_SECONDS)
        self.came.clear()
        return self.told.pop()


@pytest.fixture
def hearing(monkeypatch: pytest.MonkeyPatch) -> tuple[Heard, Settings]:
    """A plugin that only hears how requests end, and settings in which it is on."""
    heard = Heard()
    plugin = Asks("hears", may=(), after=heard.hear)
    package = SimpleNamespace(name="a-package", version="1.0")
    point = SimpleNamespace(name="hears", dist=package, load=lambda: plugin)
    real = importlib.metadata.entry_points
    monkeypatch.setattr(
        importlib.metadata, "entry_points", lambda **of: [point] if of.get("group") == GROUP else real(**of)
    )
    on = PluginSettings(order=("hears",), approved=(Approval("hears", "1.0", ()),), hook_seconds=PATIENCE_SECONDS)
    return heard, settings(plugins=on)


@contextmanager
def answering(content_type: str, body: bytes, found: Settings, *, claimed: int | None = None) -> Iterator[Gate]:
    """The gateway in front of a provider with one answer, of which it may claim more bytes than it sends."""

    class Provider(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("content-type", content_type)
            self.send_header("content-length", str(len(body) if claimed is None else claimed))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        with gateway(f"http://127.0.0.1:{server.server_port}", found) as gate:
            yield gate
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def bodies(wire: FormatName) -> dict[str, bytes]:
    return {
        SSE: streamed(STREAMS[wire](EVERY), "\r\n", ascii_only=False),
        JSON: json.dumps(WHOLE[wire](EVERY), ensure_ascii=False).encode(),
    }


@pytest.mark.parametrize("content_type", [SSE, JSON], ids=["streamed", "whole"])
@pytest.mark.parametrize("wire", FORMATS)
def test_the_called_tools_are_told(wire: FormatName, content_type: str, hearing: tuple[Heard, Settings]) -> None:
    heard, found = hearing
    body = bodies(wire)[content_type]
    with answering(content_type, body, found) as gate:
        reply = gate.post(PATHS[wire], json.dumps(REQUESTS[wire]).encode())
        summary = heard.one()
        gate.store.flush()
        entry = gate.store.receipt(reply.request_id)
    assert reply.body == body
    if wire in ("openai_responses", "gemini"):
        assert reply.headers["content-length"] == str(len(body)), "nobody touches it"
    assert summary.calls == tuple(EVERY.tools)
    assert (summary.format, summary.ended, summary.stop) == (wire, "complete", STOPS[wire])
    assert summary.usage.output == EVERY.output
    assert entry is not None and entry.outcome is not None
    assert entry.outcome.stop == STOPS[wire]


@pytest.mark.parametrize("wire", ["openai_responses", "gemini"])
def test_a_stream_that_breaks_off_tells_what_had_begun_and_no_end(
    wire: FormatName, hearing: tuple[Heard, Settings]
) -> None:
    heard, found = hearing
    body = bodies(wire)[SSE]
    word = b'"response.output_item.added", "output_index": 2' if wire == "openai_responses" else b'"functionCall"'
    cut = body[: body.index(b"\r\n\r\n", body.index(word)) + 4]
    with answering(SSE, cut, found, claimed=len(body)) as gate:
        with suppress(IncompleteRead):
            send(gate.url, "POST", PATHS[wire], json.dumps(REQUESTS[wire]).encode())
        summary = heard.one()
    assert (summary.calls, summary.ended, summary.stop) == (("Read",), "upstream_broken", None)
    if wire == "openai_responses":
        assert not summary.usage.known
