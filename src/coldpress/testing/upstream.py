"""A strict scripted upstream: an HTTP server that answers like a provider and refuses what a provider refuses."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from types import TracebackType

from coldpress.model.errors import BodyTooLarge
from coldpress.testing.delivery import Sleep, Written, send_pieces, write_document
from coldpress.testing.exchange import Exchange, ReceivedRequest
from coldpress.testing.gemini_provider import Addressed, GeminiProvider, read_call
from coldpress.testing.provider import Provider, Rules, Served, decode_json, refused
from coldpress.testing.refusal import Refusal, WireFormat, refusal_for
from coldpress.testing.responses_provider import ResponsesProvider
from coldpress.testing.script import Delivery, Script
from coldpress.testing.server import LoopbackServer, Receive, Scope, Send, cut_connection
from coldpress.wire.encoding import UnknownEncoding, decode_body

_MODELS = {
    "object": "list",
    "data": [
        {
            "id": "scripted-model",
            "object": "model",
            "type": "model",
            "display_name": "Scripted model",
            "created": 1_767_225_600,
            "created_at": "2026-01-01T00:00:00Z",
            "owned_by": "coldpress",
        }
    ],
    "has_more": False,
    "first_id": "scripted-model",
    "last_id": "scripted-model",
}

_GEMINI_MODELS = {
    "models": [
        {
            "name": "models/scripted-model",
            "displayName": "Scripted model",
            "inputTokenLimit": 1_048_576,
            "outputTokenLimit": 65_536,
            "supportedGenerationMethods": ["generateContent", "countTokens"],
        }
    ]
}

_RESPONSES_PATHS = ("/responses", "/responses/compact", "/responses/input_tokens")
_PATHS = ("/messages", "/messages/count_tokens", "/chat/completions", *_RESPONSES_PATHS)
_KEY_HEADERS = ("x-api-key", "authorization", "x-goog-api-key")
_COUNTING_PATHS = ("/count_tokens", "/responses/input_tokens", ":countTokens")


class StrictUpstream:
    """Speak Messages, Chat Completions, Responses and Gemini on a free loopback port, from a thread, until left.

    Args:
        script: what the model answers; without one, every request gets a short text.
        rules: what is enforced beyond the shape of requests.
        clock: seconds for the prefix cache's lifetimes, not running backwards.
        sleep: waits of scripted delays.
        port: a fixed port; 0 for a free one.

    Use it as a context manager, or call `start` and `stop`. Everything received is in `exchanges`, in order of
    arrival.

        with StrictUpstream(task(Shell("git log"))) as upstream:
            client = anthropic.Anthropic(base_url=upstream.url, api_key="any")
            ...
            assert upstream.exchanges[-1].usage.read > 0
    """

    def __init__(
        self,
        script: Script | None = None,
        *,
        rules: Rules | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Sleep = asyncio.sleep,
        port: int = 0,
    ) -> None:
        self._rules = rules or Rules()
        self._provider = Provider(script or Script(), self._rules, clock=clock)
        self._responses = ResponsesProvider(script or Script(), self._rules, clock=clock)
        self._gemini = GeminiProvider(script or Script(), self._rules, clock=clock)
        self._sleep = sleep
        self._server = LoopbackServer(self._app, port=port)
        self._inference_requests = 0
        self.exchanges: list[Exchange] = []

    @property
    def url(self) -> str:
        """Where it listens: the base URL without `/v1`."""
        return self._server.url

    @property
    def inference(self) -> list[Exchange]:
        """The exchanges that were inference requests."""
        return [exchange for exchange in self.exchanges if exchange.number is not None]

    def start(self) -> None:
        """Listen, and return once requests are served."""
        self._server.start()

    def stop(self) -> None:
        """Stop listening; `exchanges` stay."""
        self._server.stop()

    def __enter__(self) -> StrictUpstream:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    async def _app(self, scope: Scope, receive: Receive, send: Send) -> None:
        raw, fits = await _read_body(receive, limit_bytes=self._rules.max_body_bytes)
        exchange = Exchange(_received(scope, raw))
        self.exchanges.append(exchange)
        exchange.request_id = f"req_{len(self.exchanges):08d}"
        served = self._serve(exchange, fits=fits)
        exchange.usage, exchange.others, exchange.refusal = served.usage, served.others, served.refusal
        await self._answer(scope, send, exchange, served)

    def _serve(self, exchange: Exchange, *, fits: bool) -> Served:
        """Route one request and give its answer."""
        request = exchange.request
        request_id = exchange.request_id
        wire = _wire(request.target)
        if request.method in ("GET", "HEAD"):
            return self._serve_get(request, wire, request_id)
        call = read_call(request.target)
        if request.method != "POST" or (call is None and not request.path.endswith(_PATHS)):
            return refused(refusal_for(404, wire), wire, request_id)
        if not request.path.endswith(_COUNTING_PATHS):
            exchange.number = self._inference_requests
            self._inference_requests += 1
        if (refusal := self._check_transport(request, wire, fits=fits)) is not None:
            return refused(refusal, wire, request_id)
        try:
            decoded = decode_body(
                request.raw, request.header("content-encoding"), limit_bytes=self._rules.max_body_bytes
            )
        except BodyTooLarge:
            return refused(refusal_for(413, wire), wire, request_id)
        except UnknownEncoding as error:
            return refused(Refusal(str(error)), wire, request_id)
        exchange.request = ReceivedRequest(request.method, request.target, request.headers, request.raw, decoded)
        body = decode_json(decoded)
        if isinstance(body, Refusal):
            return refused(body, wire, request_id)
        if wire == "openai_responses":
            return self._serve_responses(body, exchange)
        if call is not None:
            return self._serve_gemini(body, call, exchange)
        if exchange.number is None:
            betas = ",".join(value for name, value in request.headers if name == "anthropic-beta")
            return self._provider.count_tokens(body, request_id=request_id, betas=betas)
        if wire == "openai_chat":
            return self._provider.chat(body, number=exchange.number, request_id=request_id)
        betas = ",".join(value for name, value in request.headers if name == "anthropic-beta")
        return self._provider.messages(body, number=exchange.number, request_id=request_id, betas=betas)

    def _serve_responses(self, body: Mapping[str, object], exchange: Exchange) -> Served:
        if exchange.number is None:
            return self._responses.count_tokens(body, request_id=exchange.request_id)
        serve = self._responses.compact if exchange.request.path.endswith("/compact") else self._responses.responses
        return serve(body, number=exchange.number, request_id=exchange.request_id)

    def _serve_gemini(self, body: Mapping[str, object], call: Addressed, exchange: Exchange) -> Served:
        if exchange.number is None:
            return self._gemini.count_tokens(body, call, request_id=exchange.request_id)
        return self._gemini.generate(body, call, number=exchange.number, request_id=exchange.request_id)

    def _serve_get(self, request: ReceivedRequest, wire: WireFormat, request_id: str) -> Served:
        if request.path.endswith("/models"):
            listed = _GEMINI_MODELS if wire == "gemini" else _MODELS
            return Served(200, write_document(listed, delivery=Delivery(), fault=None))
        if request.path in ("", "/"):
            return Served(200, Written("application/json", (b"{}",), breaks=False))
        if request.header("upgrade") is not None:
            # A server that speaks HTTP only; clients that would rather have a socket then post instead.
            return refused(refusal_for(426, wire, message="This server does not support WebSockets."), wire, request_id)
        return refused(refusal_for(404, wire), wire, request_id)

    def _check_transport(self, request: ReceivedRequest, wire: WireFormat, *, fits: bool) -> Refusal | None:
        if not fits:
            return refusal_for(413, wire)
        if self._rules.require_key and not any(request.header(name) for name in _KEY_HEADERS):
            return refusal_for(401, wire)
        if wire == "anthropic" and request.header("anthropic-version") is None:
            return Refusal("anthropic-version: header is required")
        return None

    async def _answer(self, scope: Scope, send: Send, exchange: Exchange, served: Served) -> None:
        if served.close:
            cut_connection(scope)
            return
        if served.delivery.first_byte_delay_seconds:
            await self._sleep(served.delivery.first_byte_delay_seconds)
        named = ("request-id", exchange.request_id)
        headers = [("content-type", served.written.content_type), named, *served.headers]
        encoded = [(name.encode(), value.encode()) for name, value in headers]
        exchange.status = served.status
        await send({"type": "http.response.start", "status": served.status, "headers": encoded})
        if exchange.request.method != "HEAD":
            async for piece in send_pieces(served.written, delivery=served.delivery, sleep=self._sleep):
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        if served.written.breaks:
            cut_connection(scope)
            return
        await send({"type": "http.response.body", "body": b"", "more_body": False})
        exchange.finished = True


def _wire(target: str) -> WireFormat:
    path = target.partition("?")[0]
    if read_call(target) is not None or "/v1beta/models" in path:
        return "gemini"
    if path.endswith(_RESPONSES_PATHS):
        return "openai_responses"
    return "openai_chat" if path.endswith("/chat/completions") else "anthropic"


def _received(scope: Scope, raw: bytes) -> ReceivedRequest:
    query = scope["query_string"].decode("latin-1")
    target = scope["raw_path"].decode("latin-1") + (f"?{query}" if query else "")
    headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"])
    return ReceivedRequest(scope["method"], target, headers, raw, raw)


async def _read_body(receive: Receive, *, limit_bytes: int) -> tuple[bytes, bool]:
    """Read a body; of one over the limit nothing is kept, but all of it is taken off the connection."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        part = message.get("body", b"")
        size += len(part)
        if size <= limit_bytes:
            parts.append(part)
        else:
            parts.clear()
        if message["type"] == "http.disconnect" or not message.get("more_body", False):
            return b"".join(parts), size <= limit_bytes
