"""Notice what costs a provider's cache without anybody wanting it: a head that is written anew, reads that drop."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Final

import msgspec

from coldpress.engine.belief import Held
from coldpress.model.conversation import Conversation
from coldpress.model.records import Finding

TOLERANCE: Final = 0.1
"""What a read may fall short of what was sent before: a mark may stand before the last message, caches read in steps,
and what stands outside the conversation is not always counted alike. The same share as for learning lifetimes."""

_MARK: Final = re.compile(rb',\s*"cache_control"\s*:\s*\{[^{}]*\}|"cache_control"\s*:\s*\{[^{}]*\}\s*,')
_BILLING: Final = "x-anthropic-billing-header:"
"""Claude Code's own line, which changes with every body and is not part of the prompt; `wire.head` knows it too."""

_CANONICAL: Final = msgspec.json.Encoder(order="deterministic")
_EMPTY: Final = hashlib.sha256(b"").digest()


@dataclass(frozen=True, slots=True)
class Written:
    """One part of the head: `exact` names its bytes but for cache marks, `meaning` what they say (32 bytes each)."""

    exact: bytes = _EMPTY
    meaning: bytes = _EMPTY


@dataclass(frozen=True, slots=True)
class HeadWriting:
    """How a client wrote the head of a request."""

    system: Written
    tools: Written


def head_bytes(conversation: Conversation) -> tuple[memoryview, memoryview]:
    """Give the parts of a body in front of the conversation and behind it, as they stand.

    System messages at the very front belong to the head.
    """
    body, messages = memoryview(conversation.body), conversation.messages
    if not messages:
        return body, body[:0]
    first = next((m for m in messages if m.role != "system"), messages[-1])
    return body[: first.span.start], body[messages[-1].span.end :]


def head_writing(conversation: Conversation) -> HeadWriting | None:
    """Name how the head is written; `None` where it cannot be read."""
    messages = conversation.messages
    if not messages:
        return None
    body = conversation.body
    outside = body[: messages[0].span.start] + body[messages[-1].span.end :]
    leading = []
    for message in messages:
        if message.role != "system":
            break
        leading.append(body[message.span.start : message.span.end])
    try:
        fields = msgspec.json.decode(outside, type=dict[str, msgspec.Raw])
        system = [bytes(fields["system"])] if "system" in fields else leading
        tools = bytes(fields["tools"]) if "tools" in fields else b""
        return HeadWriting(_system(system), _tools(tools))
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None


def reserialised(before: HeadWriting, now: HeadWriting) -> tuple[Finding, ...]:
    """Say which part of the head was written otherwise and says the same."""
    pairs = (("system", before.system, now.system), ("tools", before.tools, now.tools))
    return tuple(
        Finding("head_reserialised", where)
        for where, old, new in pairs
        if old.exact != new.exact and old.meaning == new.meaning
    )


def dropped_reads(held: Held, read_tokens: int | None, *, smallest_tokens: int) -> tuple[Finding, ...]:
    """Say whether a provider read less than what was sent unchanged of a prefix that was believed to be held.

    Args:
        held: what was believed of it when the request went out.
        read_tokens: as the reply reports, `None` where it does not.
        smallest_tokens: a shorter prefix may be too short to be kept, so that its absence proves nothing.
    """
    sent = held.tokens
    if held.belief.state != "warm" or sent is None or read_tokens is None or sent < smallest_tokens:
        return ()
    if read_tokens >= (1 - TOLERANCE) * sent:
        return ()
    return (Finding("cached_tokens_dropped", "", (held.messages,), sent - read_tokens),)


def _system(raws: list[bytes]) -> Written:
    """Name a system prompt: a value of its own, or messages at the front."""
    exact, meaning = list[bytes](), list[object]()
    for raw in raws:
        value = msgspec.json.decode(raw)
        if isinstance(value, list):
            parts = msgspec.json.decode(raw, type=list[msgspec.Raw])
            pairs = [(bytes(part), one) for part, one in zip(parts, value, strict=True) if not _is_billing(one)]
            # Between the blocks stand commas and spaces, which are no part of any of them.
            gaps = b"" if len(pairs) < len(value) else _between(raw, [bytes(part) for part in parts])
            exact += [gaps, *(_MARK.sub(b"", part) for part, _ in pairs)]
            meaning.append([_plain(one) for _, one in pairs])
        else:
            exact.append(_MARK.sub(b"", raw))
            meaning.append(_plain(value))
    return Written(_name(b"\0".join(exact)), _name(_CANONICAL.encode(meaning)))


def _between(raw: bytes, parts: list[bytes]) -> bytes:
    for part in parts:
        raw = raw.replace(part, b"", 1)
    return raw


def _tools(raw: bytes) -> Written:
    if not raw:
        return Written()
    value = msgspec.json.decode(raw)
    tools = sorted(_CANONICAL.encode(_plain(tool)) for tool in value) if isinstance(value, list) else [raw]
    return Written(_name(_MARK.sub(b"", raw)), _name(b"\0".join(tools)))


def _is_billing(value: object) -> bool:
    text = value.get("text") if isinstance(value, dict) else None
    return isinstance(text, str) and text.startswith(_BILLING)


def _plain(value: object) -> object:
    """Leave out the cache mark, and write a bare string as the one text block that it is."""
    if isinstance(value, str):
        return [{"type": "text", "text": value}]
    if isinstance(value, dict):
        told = {key: inner for key, inner in value.items() if key != "cache_control"}
        if isinstance(content := told.get("content"), str | list):
            told["content"] = _plain(content) if isinstance(content, str) else [_plain(one) for one in content]
        return told
    return value


def _name(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()
