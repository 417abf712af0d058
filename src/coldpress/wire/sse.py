"""Read what a reply says of itself while it goes by, without parsing what it says to the client.

The tap never holds the reply back and never changes it. Of a stream, it decodes the first event, which names the
message and the model, and the events with usage, an error, or why the reply ended. A plain JSON reply is kept up to a
bound and decoded at its end. Wherever a reply is cut into chunks, the same is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec

from coldpress.model.native import Applied
from coldpress.model.records import Miss
from coldpress.model.usage import Usage
from coldpress.wire.called_tools import CALL_PATTERNS, CalledTools
from coldpress.wire.gemini_reply import USAGE_WORD, LatestCounts, read_chunks
from coldpress.wire.native_reply import applied_edits, compaction_items
from coldpress.wire.registry import FORMATS, FormatName
from coldpress.wire.reply_facts import anthropic_miss, openai_miss, transformations
from coldpress.wire.reply_stops import STOP_PATTERNS, StopWord
from coldpress.wire.usage import UsageFields
from coldpress.wire.usage_fields import read_usage

_EVENT_LIMIT = 1 << 20
_LONG_EVENT_LIMIT = 8 << 20
_LONG_EVENTS = ("openai_responses", "gemini")
"""The last event of Responses repeats the whole reply, and a chunk of Gemini's may hold a picture, both with the usage
behind that."""
_JSON_LIMIT = 32 << 20
_OPENING_EVENTS = 8
"""How many events may go by before one names the message: comments and pings come first at some servers."""


@dataclass(frozen=True, slots=True)
class TapResult:
    """What a reply said about itself.

    Attributes:
        usage: tokens billed at the price of the model that was asked.
        model: the model that answered, in the provider's word.
        error_event: an error came inside a 200 stream.
        others: tokens billed at the prices of other models, by model.
        context_tokens: prompt as last shown to the model; `None` where it was not reported.
        reported_usd: what the provider says the reply cost, in US dollars.
        miss: why the cache was missed, where the provider was asked and said so.
        transformations: what the provider did to reasoning in the history, one `kind:reason` each, at most 50.
        message_id: the provider's name for the reply.
        applied: what the provider says it did to the prompt by itself.
        failure: JSON of the error in the reply that a stream of Responses ends with; empty for every other.
        stop: why the reply ended, in the provider's word; `None` where it does not say.
        calls: names of the tools that a reply of Responses or Gemini calls, in order, where the tap was to read them.
    """

    usage: Usage = field(default_factory=Usage)
    model: str | None = None
    error_event: bool = False
    others: tuple[tuple[str, Usage], ...] = ()
    context_tokens: int | None = None
    reported_usd: float | None = None
    miss: Miss | None = None
    transformations: tuple[str, ...] = ()
    message_id: str | None = None
    applied: tuple[Applied, ...] = ()
    failure: bytes = field(default=b"", repr=False)
    stop: str | None = None
    calls: tuple[str, ...] = ()


class _Event(msgspec.Struct):
    """The fields of a stream event, of the message in a `message_start`, of a `response`, and of a plain reply."""

    type: str | None = None
    id: str | None = None
    model: str | None = None
    message: msgspec.Raw = msgspec.Raw()
    response: msgspec.Raw = msgspec.Raw()
    usage: msgspec.Raw = msgspec.Raw()
    error: msgspec.Raw = msgspec.Raw()
    choices: msgspec.Raw = msgspec.Raw()
    delta: msgspec.Raw = msgspec.Raw()
    stop_reason: msgspec.Raw = msgspec.Raw()
    status: msgspec.Raw = msgspec.Raw()
    incomplete_details: msgspec.Raw = msgspec.Raw()
    output: msgspec.Raw = msgspec.Raw()
    context_management: msgspec.Raw = msgspec.Raw()
    diagnostics: msgspec.Raw = msgspec.Raw()
    prompt_cache_diagnostics: msgspec.Raw = msgspec.Raw()
    input_transformations: msgspec.Raw = msgspec.Raw()


class _Choice(msgspec.Struct):
    usage: msgspec.Raw = msgspec.Raw()


_EVENT = msgspec.json.Decoder(_Event)
_CHOICES = msgspec.json.Decoder(list[_Choice])
_BREAKS = (b"\n\n", b"\n\r\n", b"\r\r")
_BREAK = re.compile(b"|".join(_BREAKS))
_OVERLAP = 2
"""So many bytes of a blank line may have come before the one that ends it."""
_USAGE, _ERROR = b'"usage"', b'"error"'
# In the text of a reply the quotes would be escaped, so these are always fields.
_NULL, _SPACED_NULL = b'"usage":null', b'"usage": null'
_SHAPES = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError)
"""What reading a thing of another shape raises."""

_MORE = {
    (wire, names): re.compile(b"|".join([STOP_PATTERNS[wire], *([CALL_PATTERNS[wire]] if names else [])])).search
    for wire in FORMATS
    for names in ((False, True) if wire in CALL_PATTERNS else (False,))
}
"""Finds what stands in the events that say why a reply ended and, where that is asked, in those that call a tool."""

_Fact = TypeVar("_Fact")


class UsageTap:
    """Feed it every chunk of a reply, then ask `end`.

    Args:
        format_name: wire format of the exchange.
        content_type: the reply's `content-type`; `text/event-stream` is read as events, all else as JSON.
        names_calls: whether to name the tools that it calls, on the wires of `CALL_PATTERNS`.
        most_event_bytes: longer events are not read; `None` for what providers of the format may send.
    """

    __slots__ = (
        "_applied", "_called", "_dead", "_error", "_event_limit", "_failure", "_fields", "_format", "_gemini", "_held",
        "_id", "_latest", "_miss", "_model", "_more", "_opening", "_parts", "_searched", "_size", "_sse", "_stop",
        "_torn", "_transformations", "_usage",
    )  # fmt: skip

    def __init__(
        self,
        format_name: FormatName,
        content_type: str,
        *,
        names_calls: bool = False,
        most_event_bytes: int | None = None,
    ) -> None:
        self._sse = "text/event-stream" in content_type.lower()
        self._fields = UsageFields(format_name)
        self._format = format_name
        self._gemini = format_name == "gemini"
        limit = _LONG_EVENT_LIMIT if format_name in _LONG_EVENTS else _EVENT_LIMIT
        self._event_limit = limit if most_event_bytes is None else most_event_bytes
        self._usage = USAGE_WORD if self._gemini else _USAGE
        self._called = CalledTools() if names_calls and format_name in CALL_PATTERNS else None
        self._more = _MORE[format_name, self._called is not None]
        self._stop = StopWord()
        self._latest = LatestCounts()
        self._held = bytearray()
        self._searched = 0
        self._torn = False
        self._parts: list[bytes] = []
        self._size = 0
        self._opening = _OPENING_EVENTS
        self._id: str | None = None
        self._model: str | None = None
        self._miss: Miss | None = None
        self._transformations: tuple[str, ...] = ()
        self._applied: tuple[Applied, ...] = ()
        self._error = False
        self._failure = b""
        self._dead = False

    def feed(self, chunk: bytes) -> None:
        """Look at the next piece of the reply, cut anywhere."""
        if self._dead:
            return
        if not self._sse:
            self._keep(chunk)
            return
        if not self._held and chunk.endswith(_BREAKS):  # whole events, as nearly always
            self._scan(chunk)
            return
        self._held += chunk
        start = max(0, self._searched - _OVERLAP)
        cut = max(at + len(b) if (at := self._held.rfind(b, start)) >= 0 else 0 for b in _BREAKS)
        if cut:
            block = bytes(self._held[:cut])
            del self._held[:cut]
            self._scan(block)
        if len(self._held) > self._event_limit + _OVERLAP:  # an event this long is content, not usage
            del self._held[:-_OVERLAP]
            self._torn = True
        self._searched = len(self._held)

    def end(self) -> TapResult:
        """Say what was read. What never came stays unknown."""
        if self._held:
            self._scan(bytes(self._held))
        self._lines(self._latest.take())
        if self._parts and not self._dead:
            self._event(b"".join(self._parts))
        self._held, self._parts = bytearray(), []
        bill = self._fields.bill(self._model)
        return TapResult(
            usage=bill.usage,
            model=self._model,
            error_event=self._error,
            others=bill.others,
            context_tokens=bill.context_tokens,
            reported_usd=bill.reported_usd,
            miss=self._miss,
            transformations=self._transformations,
            message_id=self._id,
            failure=self._failure,
            applied=(*self._applied, *(Applied("compact_threshold", usage=used) for used in self._fields.compactions)),
            stop=self._stop.word,
            calls=self._called.names if self._called is not None else (),
        )

    def _keep(self, chunk: bytes) -> None:
        self._parts.append(chunk)
        self._size += len(chunk)
        if self._size > _JSON_LIMIT:
            self._parts, self._dead = [], True

    def _scan(self, block: bytes) -> None:
        if not (self._opening or self._torn or self._usage in block or _ERROR in block or self._more(block)):
            return
        for event in self._events(block):
            if not event:
                continue
            tells = _ERROR in event or self._more(event) is not None
            counts = self._usage in event and (self._gemini or not _says_no_usage(event))
            if self._gemini and counts and not tells and self._id is not None:
                self._lines(self._latest.put_off(event))
            elif self._opening or counts or tells:
                self._lines(self._latest.take())
                self._lines(event)

    def _events(self, block: bytes) -> Sequence[bytes]:
        """Cut a block into its events, one that is too long left out: too long is too long, however it was cut."""
        if not self._torn and len(block) <= self._event_limit:
            return _plain(block).split(b"\n\n")
        pieces = _BREAK.split(block)[self._torn :]
        self._torn = False
        return [_plain(piece) for piece in pieces if len(piece) <= self._event_limit]

    def _lines(self, event: bytes) -> None:
        """Read one event of a stream, or none."""
        if not event:
            return
        lines = [line[5:].lstrip() for line in event.split(b"\n") if line.startswith(b"data:")]
        if self._gemini and not lines:
            lines = [event]  # its own errors come bare between events
        if lines:
            self._event(b"\n".join(lines))
            self._opening = 0 if self._id is not None else max(0, self._opening - 1)

    def _event(self, payload: bytes) -> None:
        if self._gemini:
            _tried(self._chunks, payload)
            return
        event = _tried(_EVENT.decode, payload)
        if event is None:
            return
        if self._called is not None:
            _tried(self._called.responses, payload)
        self._error = self._error or event.type == "error" or _there(event.error)
        for inner in (event.message, event.response):  # the whole reply so far, of Responses at both ends of a stream
            if inner and (reply := _tried(_EVENT.decode, inner)) is not None:
                if _there(reply.error):
                    self._error, self._failure = True, bytes(reply.error)
                self._take(reply)
        self._take(event)

    def _chunks(self, payload: bytes | msgspec.Raw) -> None:
        for chunk in read_chunks(payload):
            self._error = self._error or chunk.failed
            self._id = self._id or chunk.id
            self._model = chunk.model or self._model
            self._take_usage(chunk.usage)
            _tried(self._stop.candidates, chunk.candidates)
            _tried(self._stop.feedback, chunk.feedback)
            if self._called is not None:
                _tried(self._called.gemini, chunk.candidates)

    def _take(self, said: _Event) -> None:
        self._id = self._id or said.id
        self._model = said.model or self._model
        if _there(said.usage):
            self._take_usage(said.usage)
        elif said.choices:
            for choice in _tried(_CHOICES.decode, said.choices) or ():  # Kimi puts the usage of a stream here
                self._take_usage(choice.usage)
        self._take_stop(said)
        if _there(said.context_management):
            self._applied = _tried(applied_edits, said.context_management) or self._applied
        if said.output:
            self._applied = _tried(compaction_items, said.output) or self._applied
        if said.diagnostics:
            self._miss = _tried(anthropic_miss, said.diagnostics) or self._miss
        if said.prompt_cache_diagnostics:
            self._miss = _tried(openai_miss, said.prompt_cache_diagnostics) or self._miss
        if said.input_transformations:
            # The last event carries the list again where another model took over: it replaces the first.
            found = _tried(transformations, said.input_transformations)
            self._transformations = self._transformations if found is None else found

    def _take_stop(self, said: _Event) -> None:
        try:
            if self._format == "anthropic":
                self._stop.message(said.stop_reason, said.delta)
            elif self._format == "openai_chat":
                self._stop.choices(said.choices)
            elif self._stop.response(said.status, said.incomplete_details, said.error) == "failed":
                self._error = True
        except _SHAPES:
            pass

    def _take_usage(self, raw: msgspec.Raw) -> None:
        if _there(raw) and (usage := _tried(read_usage, raw)) is not None:
            self._fields.merge(usage)


def _plain(text: bytes) -> bytes:
    return text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _there(raw: msgspec.Raw) -> bool:
    return bool(raw) and bytes(raw) != b"null"


def _says_no_usage(event: bytes) -> bool:
    """Whether all usage in a chunk is `null`, as it is in every chunk but the last where a client asked for usage."""
    return event.count(_USAGE) == event.count(_NULL) + event.count(_SPACED_NULL)


def _tried(read: Callable[[bytes | msgspec.Raw], _Fact], raw: bytes | msgspec.Raw) -> _Fact | None:
    """Read one thing; `None` where it has another shape, which costs us that one thing only."""
    try:
        return read(raw)
    except _SHAPES:
        return None
