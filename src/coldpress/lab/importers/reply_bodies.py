"""Read whole replies of a provider, streamed or not, as the message that a client makes of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from coldpress.lab.importers.jsonvalues import JsonObject, count_in, object_in, objects_in, text_in
from coldpress.wire.answer import read_facts
from coldpress.wire.events import EventCutter, event_data
from coldpress.wire.registry import FormatName
from coldpress.wire.span import mask_lone_surrogates
from coldpress.wire.sse import TapResult, UsageTap

_EVENT_STREAM = "text/event-stream"
_ENDS = frozenset({"message_stop"})


@dataclass(frozen=True, slots=True)
class ReplyRead:
    """A reply.

    Attributes:
        message: what it says, as one message of its own format.
        facts: model, usage and name.
        whole: whether it came to its end.
    """

    message: JsonObject
    facts: TapResult
    whole: bool


Unread = Literal["error", "no reply"]
"""Why a body is no reply of a model: the provider refused or failed, or it is something else."""


def read_reply(body: bytes) -> ReplyRead | Unread:
    """Read a reply, its content encoding undone. Its format, and whether it is a stream, show in the bytes."""
    start = body.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith(b"{"):
        return _document(start)
    return _stream(body)


def _document(body: bytes) -> ReplyRead | Unread:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return "no reply"
    if not isinstance(found, dict):
        return "no reply"
    body = mask_lone_surrogates(body)  # for those who read the rest of it
    if found.get("type") == "message" and isinstance(found.get("content"), list):
        return ReplyRead({"role": "assistant", "content": found["content"]}, read_facts("anthropic", body), whole=True)
    choice = next(iter(objects_in(found, "choices")), None)
    if choice is not None and (said := object_in(choice, "message")):
        return ReplyRead({**said, "role": "assistant"}, read_facts("openai_chat", body), whole=True)
    return "error" if found.get("error") or found.get("type") == "error" else "no reply"


def _stream(body: bytes) -> ReplyRead | Unread:
    events = list(_events(body))
    if any(found.get("type") == "message_start" for found in events):
        message, whole, name = _messages_stream(events), _ended(events), "anthropic"
    elif any(isinstance(found.get("choices"), list) for found in events):
        message, whole, name = _chat_stream(events), _finished(events), "openai_chat"
    else:
        failed = any(found.get("type") == "error" or found.get("error") for found in events)
        return "error" if failed else "no reply"
    return ReplyRead(message, _facts(body, "anthropic" if name == "anthropic" else "openai_chat"), whole)


def _facts(body: bytes, format_name: FormatName) -> TapResult:
    tap = UsageTap(format_name, _EVENT_STREAM)
    tap.feed(body)
    return tap.end()


def _events(body: bytes) -> Iterator[JsonObject]:
    """Give the objects in a stream's events; what is none, such as `[DONE]`, is left out."""
    cutter = EventCutter(limit_bytes=len(body) + 1)
    pieces = [piece.data for piece in cutter.feed(body) if piece.kind == "event"]
    for event in (*pieces, cutter.end()):
        data = event_data(event) if event else None
        try:
            found = None if data is None else json.loads(data.payload)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            yield found


def _ended(events: list[JsonObject]) -> bool:
    stopped = any(object_in(found, "delta").get("stop_reason") for found in events)
    return stopped or any(text_in(found, "type") in _ENDS for found in events)


def _finished(events: list[JsonObject]) -> bool:
    return any(choice.get("finish_reason") for found in events for choice in objects_in(found, "choices"))


def _messages_stream(events: list[JsonObject]) -> JsonObject:
    """Put a Messages stream together: blocks by their index, in the order in which they began."""
    blocks: dict[int, JsonObject] = {}
    texts: dict[tuple[int, str], list[str]] = {}
    for found in events:
        index = count_in(found, "index") or 0
        if found.get("type") == "message_start":
            given = objects_in(object_in(found, "message"), "content")
            blocks |= dict(enumerate(dict(block) for block in given))
        elif found.get("type") == "content_block_start":
            blocks[index] = dict(object_in(found, "content_block"))
        elif found.get("type") == "content_block_delta" and index in blocks:
            for key, field in _DELTAS.items():
                if (text := text_in(object_in(found, "delta"), key)) is not None:
                    texts.setdefault((index, field), []).append(text)
    for (index, field), pieces in texts.items():
        joined = "".join(pieces)
        if field == "input":
            blocks[index]["input"] = joined  # read with the other calls' arguments
        else:
            blocks[index][field] = (text_in(blocks[index], field) or "") + joined
    return {"role": "assistant", "content": list(blocks.values())}


_DELTAS = {"text": "text", "thinking": "thinking", "signature": "signature", "partial_json": "input"}
"""Where the pieces of a block go, by the field of a delta that holds them."""


def _chat_stream(events: list[JsonObject]) -> JsonObject:
    """Put a Chat stream together: the first choice, its calls by their index."""
    texts: dict[str, list[str]] = {}
    calls: dict[int, JsonObject] = {}
    for found in events:
        for choice in objects_in(found, "choices"):
            if choice.get("index") not in (0, None):
                continue
            delta = object_in(choice, "delta") or object_in(choice, "message")
            for key in ("content", "refusal", "reasoning_content", "reasoning"):
                if text := text_in(delta, key):
                    texts.setdefault(key, []).append(text)
            if legacy := object_in(delta, "function_call"):
                _add_call(calls.setdefault(-1, {}), {"function": legacy})
            for place, call in enumerate(objects_in(delta, "tool_calls")):
                index = count_in(call, "index")
                _add_call(calls.setdefault(place if index is None else index, {}), call)
    message: JsonObject = {"role": "assistant", "content": None}
    message |= {key: "".join(pieces) for key, pieces in texts.items()}
    if legacy_call := calls.pop(-1, None):
        message["function_call"] = object_in(legacy_call, "function")
    if calls:
        message["tool_calls"] = [calls[index] for index in sorted(calls)]
    return message


def _add_call(call: JsonObject, piece: JsonObject) -> None:
    """Add a fragment to a call: its id and name come once, its arguments in pieces."""
    function, more = object_in(call, "function"), object_in(piece, "function")
    call["id"] = text_in(call, "id") or text_in(piece, "id")
    call["function"] = {
        "name": text_in(function, "name") or text_in(more, "name") or "",
        "arguments": (text_in(function, "arguments") or "") + (text_in(more, "arguments") or ""),
    }
