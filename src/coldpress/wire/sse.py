"""Read usage off a reply while it goes by, without parsing what is not usage.

The tap never holds the reply back and never changes it. A server-sent event is decoded only when it
carries the word `usage` or `error`; a plain JSON reply is kept up to a bound and decoded at its end.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from coldpress.model.usage import Usage
from coldpress.wire.usage import UsageFields, read_usage

_EVENT_LIMIT = 1 << 20
_JSON_LIMIT = 32 << 20


@dataclass(frozen=True, slots=True)
class TapResult:
    """What a reply said about itself. `error_event` is true where an error came inside a 200 stream."""

    usage: Usage
    model: str | None
    error_event: bool


class _Message(msgspec.Struct):
    model: str | None = None
    usage: msgspec.Raw = msgspec.Raw()


class _Choice(msgspec.Struct):
    usage: msgspec.Raw = msgspec.Raw()


class _Event(msgspec.Struct):
    type: str | None = None
    model: str | None = None
    message: msgspec.Raw = msgspec.Raw()
    usage: msgspec.Raw = msgspec.Raw()
    error: msgspec.Raw = msgspec.Raw()
    choices: msgspec.Raw = msgspec.Raw()


_EVENT = msgspec.json.Decoder(_Event)
_MESSAGE = msgspec.json.Decoder(_Message)
_CHOICES = msgspec.json.Decoder(list[_Choice])
_BREAKS = (b"\n\n", b"\r\n\r\n", b"\r\r")


class UsageTap:
    """Feed it every chunk of a reply, then ask `end`.

    Args:
        format_name: wire format of the exchange.
        content_type: the reply's `content-type`; `text/event-stream` is read as events, all else as JSON.
    """

    __slots__ = ("_carry", "_dead", "_error", "_fields", "_model", "_parts", "_size", "_sse")

    def __init__(self, format_name: str, content_type: str) -> None:
        self._sse = "text/event-stream" in content_type.lower()
        self._fields = UsageFields(format_name)
        self._carry = b""
        self._parts: list[bytes] = []
        self._size = 0
        self._model: str | None = None
        self._error = False
        self._dead = False

    def feed(self, chunk: bytes) -> None:
        """Look at the next piece of the reply, cut anywhere."""
        if self._dead:
            return
        if not self._sse:
            self._keep(chunk)
            return
        data = self._carry + chunk if self._carry else chunk
        cut = max(data.rfind(b) + len(b) if b in data else 0 for b in _BREAKS)
        self._carry = data[cut:]
        if len(self._carry) > _EVENT_LIMIT:  # an event this long is content, not usage
            self._carry = self._carry[-4:]
        if cut:
            self._scan(data[:cut])

    def end(self) -> TapResult:
        """Say what was read. Usage that never came stays unknown."""
        if self._sse and self._carry:
            self._scan(self._carry)
        elif not self._sse and self._parts and not self._dead:
            self._event(b"".join(self._parts))
        self._carry, self._parts = b"", []
        return TapResult(self._fields.usage(), self._model, self._error)

    def _keep(self, chunk: bytes) -> None:
        self._parts.append(chunk)
        self._size += len(chunk)
        if self._size > _JSON_LIMIT:
            self._parts, self._dead = [], True

    def _scan(self, block: bytes) -> None:
        if b'"usage"' not in block and b'"error"' not in block:
            return
        for event in block.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n\n"):
            if b'"usage"' in event or b'"error"' in event:
                lines = [line[5:].lstrip() for line in event.split(b"\n") if line.startswith(b"data:")]
                self._event(b"\n".join(lines))

    def _event(self, payload: bytes) -> None:
        try:
            event = _EVENT.decode(payload)
            if event.message:
                message = _MESSAGE.decode(event.message)
                self._model = message.model or self._model
                self._take(message.usage)
            self._model = event.model or self._model
            self._take(event.usage)
            if event.choices and not event.usage:
                for choice in _CHOICES.decode(event.choices):  # Kimi puts the usage of a stream here
                    self._take(choice.usage)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            return
        self._error = self._error or event.type == "error" or bool(event.error and bytes(event.error) != b"null")

    def _take(self, raw: msgspec.Raw) -> None:
        if raw and bytes(raw) != b"null":
            self._fields.merge(read_usage(raw))
