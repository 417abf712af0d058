"""Read what a Gemini reply says of itself: one chunk of a stream, a whole reply, or the array of chunks of one.

A stream without `alt=sse` comes as one JSON array. Code Assist puts every chunk into `{"response": ...}`. Counts of
usage are those so far, on any chunk, so the last stand (google-genai 3.6.1, `GenerateContentResponse`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import msgspec

USAGE_WORD: Final = b'"usageMetadata"'
"""Stands in every chunk with counts; in the text of a reply the quotes would be escaped."""

_MODEL_WORD: Final = b'"modelVersion"'
_DIGITS: Final = b"0123456789"
_VALUE: Final = json.JSONDecoder()
_WHITE: Final = b" \t\r\n"


@dataclass(frozen=True, slots=True)
class GeminiChunk:
    """What one chunk says.

    Attributes:
        id: the provider's name for the reply.
        model: the model that answered, in the provider's word.
        usage: JSON of its counts; empty where it has none.
        candidates: JSON of its answers, `feedback` of what is said of the prompt; empty where it has none.
        failed: it is an error.
    """

    id: str | None = None
    model: str | None = None
    usage: msgspec.Raw = field(default_factory=msgspec.Raw, repr=False)
    candidates: msgspec.Raw = field(default_factory=msgspec.Raw, repr=False)
    feedback: msgspec.Raw = field(default_factory=msgspec.Raw, repr=False)
    failed: bool = False


class LatestCounts:
    """Puts off reading the counts of a stream: nearly every chunk has them, and those of a later one stand.

    An event is kept until another comes. Where that has the same fields, counts and the model's name behind them, it
    says all that the first one did, and the first is never read.
    """

    __slots__ = ("_event", "_shape")

    def __init__(self) -> None:
        self._event = self._shape = b""

    def put_off(self, event: bytes) -> bytes:
        """Keep an event; gives the one that was kept where that has to be read first, else nothing."""
        behind = event[event.find(USAGE_WORD) :]
        shape = behind.translate(None, _DIGITS) if _MODEL_WORD in behind else b""
        due = b"" if shape and shape == self._shape else self._event
        self._event, self._shape = event, shape
        return due

    def take(self) -> bytes:
        """Give the event that is kept, and keep none."""
        due, self._event, self._shape = self._event, b"", b""
        return due


class _Chunk(msgspec.Struct):
    id: str | None = msgspec.field(default=None, name="responseId")
    model: str | None = msgspec.field(default=None, name="modelVersion")
    usage: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="usageMetadata")
    candidates: msgspec.Raw = msgspec.Raw()
    feedback: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="promptFeedback")
    error: msgspec.Raw = msgspec.Raw()
    response: msgspec.Raw = msgspec.Raw()


_CHUNK: Final = msgspec.json.Decoder(_Chunk)
_LIST: Final = msgspec.json.Decoder(list[msgspec.Raw])


def read_chunks(payload: bytes | msgspec.Raw) -> Iterator[GeminiChunk]:
    """Give the chunks that one event or one body holds, in order; of an array that breaks off, those that are whole.

    Raises:
        msgspec.MsgspecError: it is not JSON of this shape; chunks in front of the fault have been given.
    """
    raw = bytes(payload).strip(_WHITE)
    if raw.startswith(b"["):
        for one in _elements(raw):
            yield _read(one)
    else:
        yield _read(raw)


def _elements(array: bytes) -> Iterator[bytes | msgspec.Raw]:
    try:
        yield from _LIST.decode(array)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        text, at = array.decode(errors="replace"), 1
        while (begin := text.find("{", at)) >= 0:
            try:
                _, at = _VALUE.raw_decode(text, begin)
            except ValueError:
                return
            yield text[begin:at].encode()


def _read(raw: bytes | msgspec.Raw) -> GeminiChunk:
    said = _CHUNK.decode(raw)
    failed = _there(said.error)
    if _there(said.response):  # Code Assist's envelope
        said = _CHUNK.decode(said.response)
    return GeminiChunk(
        said.id, said.model, _given(said.usage), _given(said.candidates), _given(said.feedback), failed=failed
    )


def _given(raw: msgspec.Raw) -> msgspec.Raw:
    return raw if _there(raw) else msgspec.Raw()


def _there(raw: msgspec.Raw) -> bool:
    return bool(raw) and bytes(raw) != b"null"
