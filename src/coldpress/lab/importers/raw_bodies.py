"""Read logged bodies of requests without reading again what earlier ones said, and tell their messages apart."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from coldpress.lab.importers.jsonvalues import JsonObject, object_in, text_in
from coldpress.model.errors import BodyTooLarge
from coldpress.wire.encoding import UnknownEncoding, decode_body

MOST_BYTES = 256 << 20
"""What a logged body may expand to."""

_HEAD_KEYS = ("system", "tools", "functions", "max_tokens", "max_completion_tokens")
_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_LIST = msgspec.json.Decoder(list[msgspec.Raw])
_STARTS = (b"{", b"[", b"d", b"e", b"i", b":")
"""What JSON, and the events of a stream, begin with."""


class _Said(msgspec.Struct):
    role: str = ""


_ROLE = msgspec.json.Decoder(_Said)


@dataclass(frozen=True, slots=True)
class LoggedRequest:
    """The body of a request. `beside` holds the JSON text of what makes its head, to tell heads apart."""

    messages: tuple[msgspec.Raw, ...] = field(repr=False)
    beside: tuple[bytes, ...] = field(repr=False)
    model: str
    user: str
    thinking: JsonObject

    def role(self, place: int) -> str:
        """The role of one message; empty where it has none."""
        try:
            return _ROLE.decode(self.messages[place]).role
        except msgspec.DecodeError:
            return ""

    def message(self, place: int) -> object:
        """One message."""
        return _value(self.messages[place])

    def head(self) -> JsonObject:
        """What stands beside the messages."""
        return {key: _value(raw) for key, raw in zip(_HEAD_KEYS, self.beside, strict=True) if raw}


def read_request(body: bytes) -> LoggedRequest | None:
    """Read the body of a request; `None` where it has no list of messages."""
    try:
        found = _FIELDS.decode(body.removeprefix(b"\xef\xbb\xbf"))
        messages = tuple(_LIST.decode(found["messages"]))
    except (msgspec.DecodeError, KeyError, RecursionError, UnicodeDecodeError):
        return None
    if not messages:
        return None
    told: JsonObject = {key: _value(found[key]) for key in ("model", "metadata", "thinking") if key in found}
    return LoggedRequest(
        messages,
        tuple(bytes(found.get(key, b"")) for key in _HEAD_KEYS),
        text_in(told, "model") or "",
        text_in(object_in(told, "metadata"), "user_id") or "",
        object_in(told, "thinking"),
    )


def plain_body(body: bytes, encoding: str | None) -> bytes | None:
    """Undo a body's encoding, where it still has one: it may have been undone when it was logged.

    Returns:
        The body; `None` where its encoding is not known, or it is damaged.
    """
    if body.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in _STARTS:
        return body
    try:
        return decode_body(body, encoding, limit_bytes=MOST_BYTES)
    except (UnknownEncoding, BodyTooLarge):
        return None


class MessageKeys:
    """Names lists of messages by what they say, whatever marks they bear; a text counts as a block of text."""

    def __init__(self) -> None:
        self._of_bytes: dict[bytes, bytes] = {}

    def along(self, messages: Sequence[msgspec.Raw]) -> list[bytes]:
        """Name the list up to each place: first the empty one, last the whole."""
        keys = [b""]
        for raw in messages:
            name = hashlib.blake2b(raw, digest_size=16).digest()
            if name not in self._of_bytes:
                self._of_bytes[name] = hashlib.blake2b(_plainly(_value(raw)), digest_size=16).digest()
            keys.append(hashlib.blake2b(keys[-1] + self._of_bytes[name], digest_size=16).digest())
        return keys


def _value(raw: bytes | msgspec.Raw) -> object:
    """Read a JSON value; `None` where it is nested too deep."""
    try:
        return json.loads(bytes(raw))
    except (ValueError, RecursionError):
        return None


def _plainly(found: object) -> bytes:
    """Write what a message says in one way only."""
    if isinstance(found, dict):
        found = {key: value for key, value in found.items() if value is not None}
        if "content" in found:
            found["content"] = _content(found["content"])
    return json.dumps(found, sort_keys=True).encode()


def _content(content: object) -> object:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content.strip() else []
    if not isinstance(content, list):
        return content
    return [_part(part) if isinstance(part, dict) else part for part in content if not _is_blank(part)]


def _part(part: JsonObject) -> JsonObject:
    kept = {key: value for key, value in part.items() if key != "cache_control" and value is not None}
    if part.get("type") == "tool_result" and "content" in kept:
        kept["content"] = _content(kept["content"])
    return kept


def _is_blank(part: object) -> bool:
    return isinstance(part, dict) and part.get("type") == "text" and not str(part.get("text") or "").strip()
