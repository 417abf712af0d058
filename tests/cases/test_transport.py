"""X: whatever comes back or comes in between, the client sees what the provider said, and the provider what it sent."""

from __future__ import annotations

import gzip
import json
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import brotli
import pytest
import zstandard
from bodies import changed_literals, pressed
from cases.talk import (
    assistant,
    chat,
    chat_calls,
    chat_result,
    dump,
    log,
    messages,
    one_result,
    result,
    text,
    use,
    user,
)
from cases.through import KEY, gateway
from support import settings

from coldpress.gateway.settings import Limits
from coldpress.model.edits import Batch, Standing
from coldpress.model.records import Receipt
from coldpress.stores.memory import MemoryStore
from coldpress.testing import BreakOff, Disconnect, ErrorEvent, Fault, HttpError, Script, StrictUpstream

PRESSABLE = one_result(log(), command="make")
CHAT = chat(
    {"role": "user", "content": "go"},
    chat_calls(("c", "Bash", {"command": "make"})),
    chat_result("c", log()),
    stream=True,
)


@dataclass
class Recorder:
    """A provider that answers everything alike and keeps what came."""

    answer: bytes
    content_type: str = "application/json"
    url: str = ""
    bodies: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)


@contextmanager
def recorder(answer: bytes, content_type: str = "application/json") -> Iterator[Recorder]:
    kept = Recorder(answer, content_type)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            kept.headers.append({k.lower(): v for k, v in self.headers.items()})
            kept.bodies.append(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.send_header("content-type", kept.content_type)
            self.send_header("content-length", str(len(kept.answer)))
            self.end_headers()
            self.wfile.write(kept.answer)

        def log_message(self, format: str, *args: object) -> None:
            """Keep quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    kept.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield kept
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


ODD_REPLY = {
    "id": "msg_1",
    "type": "message",
    "content": [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
        {"type": "a_block_of_the_year_2031", "payload": [1.0, {"deep": None}]},
    ],
    "stop_reason": "a_new_reason",
    "usage": {"input_tokens": 1, "output_tokens": 2, "a_new_counter": 3},
}
ODD_STREAM = b"".join(
    b"event: %s\ndata: %s\n\n" % (kind.encode(), dump({"type": kind, **more}))
    for kind, more in [
        ("message_start", {"message": {**ODD_REPLY, "content": []}}),
        ("content_block_start", {"index": 0, "content_block": ODD_REPLY["content"][1]}),  # type: ignore[index]
        ("an_event_of_the_year_2031", {"x": "é"}),
        ("message_stop", {}),
    ]
)


@pytest.mark.parametrize(
    ("answer", "content_type"),
    [
        pytest.param(json.dumps(ODD_REPLY, indent=1).encode(), "application/json", id="a whole reply"),
        pytest.param(ODD_STREAM, "text/event-stream", id="a stream"),
        pytest.param(b"\xff\xfenot json at all", "application/json", id="no JSON"),
        pytest.param(b"", "text/event-stream", id="nothing"),
    ],
)
def test_x01_a_reply_with_blocks_nobody_knows_is_passed_on_byte_for_byte(answer: bytes, content_type: str) -> None:
    with recorder(answer, content_type) as provider, gateway(provider.url) as gate:
        reply = gate.post("/v1/messages", PRESSABLE)
    assert (reply.status, reply.body) == (200, answer)
    assert pressed(PRESSABLE, provider.bodies[0]) == 1


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/chat/completions"])
@pytest.mark.parametrize("status", [529, 429, 400, 500, 503])
@pytest.mark.parametrize("stream", [True, False])
def test_x03_a_refusal_is_the_clients_own_with_its_status_and_body(path: str, status: int, stream: bool) -> None:
    body = json.loads(PRESSABLE if path == "/v1/messages" else CHAT)
    script = Script(faults={0: HttpError(status, retry_after_seconds=7), 1: HttpError(status, retry_after_seconds=7)})
    with StrictUpstream(script) as upstream, gateway(upstream.url) as gate:
        raw = dump({**body, "stream": stream})
        reply = gate.post(path, raw)
        direct_body = upstream.exchanges[-1]
    assert reply.status == status
    assert reply.headers["retry-after"] == "7"
    assert json.loads(reply.body)["error"]["message"]
    assert direct_body.refusal in json.loads(reply.body)["error"]["message"]


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        pytest.param(Disconnect(), 502, id="no answer"),
        pytest.param(BreakOff(after=1), 200, id="broken in the middle"),
        pytest.param(ErrorEvent(after=2), 200, id="an error event after the head"),
    ],
)
def test_x03_what_breaks_ends_with_an_error_the_client_understands(fault: Fault, status: int) -> None:
    body = dump({**json.loads(PRESSABLE), "stream": True})
    with StrictUpstream(Script(faults={0: fault, 1: fault})) as upstream, gateway(upstream.url) as gate:
        reply = gate.post("/v1/messages", body)
    assert reply.status == status
    if status == 200:
        assert b"event: message_start" in reply.body
        assert reply.body.count(b"event: error") == 1
        assert b"message_stop" not in reply.body
    else:
        assert json.loads(reply.body)["type"] == "error"


class SlowStore(MemoryStore):
    """A disk that does not answer: what is put becomes durable only when told."""

    def __init__(self) -> None:
        super().__init__()
        self.held: list[Future[None]] = []
        self.slow = True

    def put(
        self,
        originals: Sequence[tuple[str, str]],
        standings: Sequence[Standing],
        receipt: Receipt | None,
        batch: Batch | None = None,
        *,
        require_log: bool = False,
    ) -> Future[None]:
        done = super().put(originals, standings, receipt, batch, require_log=require_log)
        if not (self.slow and originals):
            return done
        self.held.append(Future())
        return self.held[-1]


@pytest.mark.parametrize("encode", [None, gzip.compress])
def test_x05_over_its_time_budget_the_clients_own_bytes_go_on_and_stay_exact(
    encode: Callable[[bytes], bytes] | None,
) -> None:
    said: list[Any] = [user("x" * 300_000), assistant(use("t1")), user(result("t1", log(lines=5000)))]
    first = messages(*said)
    said += [assistant(use("t2")), user(result("t2", log("b")))]
    second = messages(*said)
    store = SlowStore()
    raw = encode(first) if encode else first
    headers = KEY + ((("content-encoding", "gzip"),) if encode else ())
    with StrictUpstream() as upstream, gateway(upstream.url, store=store, limits=Limits(prepare_seconds=0.3)) as gate:
        assert gate.post("/v1/messages", raw, headers).status == 200
        assert upstream.inference[-1].request.raw == raw
        store.slow = False
        assert gate.post("/v1/messages", second).status == 200
        ((old, _),) = changed_literals(second, upstream.inference[-1].request.body)
    assert old == log("b"), "what went out exact once is never touched later"


ENCODERS: dict[str, Callable[[bytes], bytes]] = {
    "zstd": zstandard.ZstdCompressor().compress,
    "gzip": gzip.compress,
    "br": lambda data: brotli.compress(data, quality=1),
    "deflate": zlib.compress,
    "gzip, zstd": lambda data: zstandard.ZstdCompressor().compress(gzip.compress(data)),
}


@pytest.mark.parametrize("encoding", ENCODERS)
@pytest.mark.parametrize("operation", ["press", "observe", "off"])
def test_x07_and_x09_a_compressed_body_is_read_and_goes_on_as_it_came_unless_it_changes(
    encoding: str, operation: Any
) -> None:
    small = messages(user("go"))
    headers = (*KEY, ("content-encoding", encoding))
    with StrictUpstream() as upstream, gateway(upstream.url, settings(operation)) as gate:
        for body in (small, PRESSABLE):
            raw = ENCODERS[encoding](body)
            assert gate.post("/v1/messages", raw, headers).status == 200
            received = upstream.inference[-1].request
            if operation == "press" and body is PRESSABLE:
                assert received.header("content-encoding") is None
                assert received.header("content-length") == str(len(received.raw))
                assert pressed(body, received.raw) == 1
            else:
                assert received.raw == raw
                assert received.header("content-encoding") == encoding
                assert received.header("content-length") == str(len(raw))


@pytest.mark.parametrize(
    "blocks",
    [
        pytest.param([result("a", log("a")), text("stop that"), result("b", log("b"))], id="between results"),
        pytest.param([text("stop that"), result("a", log("a")), result("b", log("b"))], id="before"),
        pytest.param([result("b", log("b")), result("a", log("a")), text("stop that")], id="behind"),
    ],
)
def test_x11_a_message_of_the_user_amid_results_is_kept_in_its_place(blocks: list[Any]) -> None:
    body = messages(user("go"), assistant(use("a"), use("b")), user(*blocks))
    with recorder(b"{}") as provider, gateway(provider.url) as gate:
        gate.post("/v1/messages", body)
    assert pressed(body, provider.bodies[0]) == 2
    kinds = [b["type"] for b in json.loads(provider.bodies[0])["messages"][-1]["content"]]
    assert kinds == [b["type"] for b in blocks]


def test_x11_a_message_of_the_user_between_tool_messages_of_a_chat_is_kept_in_its_place() -> None:
    calls = chat_calls(("a", "Bash", {"command": "x"}), ("b", "Bash", {"command": "y"}))
    said = [chat_result("a", log("a")), {"role": "user", "content": "stop that"}, chat_result("b", log("b"))]
    body = chat({"role": "user", "content": "go"}, calls, *said)
    with recorder(b"{}") as provider, gateway(provider.url) as gate:
        gate.post("/v1/chat/completions", body)
    assert pressed(body, provider.bodies[0], "openai_chat") == 2
