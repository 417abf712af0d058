"""Serve one Gemini request the way the provider would: check it, bill it, write the scripted answer."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from coldpress.measure.cache import Piece
from coldpress.model.usage import Usage
from coldpress.testing.delivery import Written, write_array, write_document, write_stream
from coldpress.testing.gemini_meter import GeminiMeter
from coldpress.testing.gemini_rules import check_gemini_request
from coldpress.testing.gemini_signatures import Signatures
from coldpress.testing.gemini_view import calls_made, camel, contents_of
from coldpress.testing.gemini_wire import GeminiAnswer, build_parts, gemini_chunks, gemini_document, output_usage
from coldpress.testing.jsonview import as_object, as_text, objects
from coldpress.testing.offered import gemini_tools
from coldpress.testing.refusal import Refusal
from coldpress.testing.script import Asked, Delivery, Disconnect, HttpError, Script, Turn
from coldpress.testing.served import Rules, Served, choose, encoding_header, faulty, refused, stop_reason

_WIRE: Final = "gemini"
_PATH: Final = re.compile(
    r"(?:/(?:m|tunedM)odels/([^/:]+)|/v1internal):(generateContent|streamGenerateContent|countTokens)$"
)
_SERVER_TOOLS: Final = ("googleSearch", "urlContext", "codeExecution")
TOOL_PROMPT_TOKENS: Final = 96
"""What a tool on the server's side puts into the prompt here."""


@dataclass(frozen=True, slots=True)
class Addressed:
    """What the address of a request says.

    Attributes:
        method: `generateContent`, `streamGenerateContent` or `countTokens`.
        model: `None` on Code Assist's address, where the envelope names it.
        events: whether a stream comes as server-sent events; otherwise as one JSON array.
    """

    method: str
    model: str | None
    events: bool


@dataclass(frozen=True, slots=True)
class _Ready:
    """A request that has passed all checks: its model, its fields in camel case, its prompt and the name of that."""

    model: str
    request: Mapping[str, object]
    pieces: tuple[Piece, ...]
    prefix: bytes
    enclosed: bool


def read_call(target: str) -> Addressed | None:
    """Read the address of a request; `None` where it is none of Gemini's.

    >>> read_call("/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse")
    Addressed(method='streamGenerateContent', model='gemini-3-pro', events=True)
    """
    path, _, query = target.partition("?")
    found = _PATH.search(path.replace("%3A", ":"))
    return None if found is None else Addressed(found[2], found[1], "alt=sse" in query.split("&"))


class GeminiProvider:
    """The scripted model behind the Gemini wire, with its cache and its signing key."""

    def __init__(self, script: Script, rules: Rules, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._script = script
        self._rules = rules
        self._signatures = Signatures(b"strict upstream", bind=rules.bind_thinking, check=rules.check_signatures)
        self._meter = GeminiMeter(clock)

    def generate(self, body: Mapping[str, object], call: Addressed, *, number: int, request_id: str) -> Served:
        """Answer `POST .../models/MODEL:generateContent` and `:streamGenerateContent`."""
        ready = self._prepare(body, call)
        if isinstance(ready, Refusal):
            return refused(ready, _WIRE, request_id)
        turn = self._choose(ready, number)
        if isinstance(turn.fault, HttpError | Disconnect):
            return faulty(turn.fault, _WIRE, request_id)
        answer = self._answer(ready, turn, number)
        delivery = turn.delivery or self._script.delivery
        written = _write(answer, call, turn, delivery, request_id)
        return Served(200, written, encoding_header(delivery), delivery, answer.usage)

    def count_tokens(self, body: Mapping[str, object], call: Addressed, *, request_id: str) -> Served:
        """Answer `POST .../models/MODEL:countTokens`; the request may stand in it whole."""
        inner = as_object(camel(as_object(body.get("request")) or body).get("generateContentRequest"))
        ready = self._prepare(inner or body, call)
        if isinstance(ready, Refusal):
            return refused(ready, _WIRE, request_id)
        counted = {"totalTokens": sum(piece.tokens for piece in ready.pieces)}
        return Served(200, write_document(counted, delivery=Delivery(), fault=None))

    def _prepare(self, body: Mapping[str, object], call: Addressed) -> _Ready | Refusal:
        """Take a request out of its envelope and check it in the provider's order."""
        enclosed = call.model is None
        request = camel(as_object(body.get("request")) if enclosed else body)
        model = call.model or as_text(body.get("model"))
        if not model:
            return Refusal("Model is not specified.")
        if (refusal := check_gemini_request(request)) is not None:
            return refusal
        contents = contents_of(request)
        verdict = self._signatures.verify(model, request, contents)
        if verdict.refusal is not None:
            return verdict.refusal
        pieces = tuple(self._meter.pieces(request, contents))
        tokens = sum(piece.tokens for piece in pieces)
        if tokens > self._rules.window_tokens:
            return Refusal(
                f"The input token count ({tokens}) exceeds the maximum number of tokens allowed "
                f"({self._rules.window_tokens})."
            )
        return _Ready(model, request, pieces, verdict.prefix, enclosed)

    def _choose(self, ready: _Ready, number: int) -> Turn:
        tools = gemini_tools(ready.request)
        made = calls_made(contents_of(ready.request))
        asked = Asked(_WIRE, ready.request, number, made, tuple(tool.name for tool in tools))
        return choose(self._script, asked, tools)

    def _answer(self, ready: _Ready, turn: Turn, number: int) -> GeminiAnswer:
        thoughts = _wants_thoughts(ready.request)
        parts = build_parts(turn.parts, self._signatures, ready.prefix, thoughts=thoughts)
        added = TOOL_PROMPT_TOKENS * sum(
            name in tool for tool in objects(ready.request.get("tools")) for name in _SERVER_TOOLS
        )
        billed = self._meter.bill(ready.model, ready.pieces).plus(Usage(fresh=added))
        called = any("functionCall" in part for part in parts)
        return GeminiAnswer(
            id=f"gen_{number:08d}",
            model=ready.model,
            parts=parts,
            stop_reason=stop_reason(turn, called=called),
            usage=replace(billed.plus(output_usage(turn.parts)), write_short=None, write_long=None),
            tool_prompt_tokens=added,
            enclosed=ready.enclosed,
        )


def _wants_thoughts(request: Mapping[str, object]) -> bool:
    thinking = as_object(camel(as_object(request.get("generationConfig"))).get("thinkingConfig"))
    return camel(thinking).get("includeThoughts") is True


def _write(answer: GeminiAnswer, call: Addressed, turn: Turn, delivery: Delivery, request_id: str) -> Written:
    """Write an answer as its request wants it: whole, as events, or as an array that grows."""
    if call.method == "generateContent":
        plain = gemini_document(answer, omit_usage=delivery.omit_usage)
        return write_document(plain, delivery=delivery, fault=turn.fault)
    chunks = gemini_chunks(answer, omit_usage=delivery.omit_usage, characters=delivery.delta_characters)
    if not call.events:
        return write_array(chunks, delivery=delivery, fault=turn.fault, request_id=request_id)
    events = [("", chunk) for chunk in chunks]
    return write_stream(events, wire=_WIRE, delivery=delivery, fault=turn.fault, request_id=request_id)
