"""Write replies as providers do, and read them with the tap."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping
from typing import Any, cast

from coldpress.wire.registry import FormatName
from coldpress.wire.sse import TapResult, UsageTap

SSE = "text/event-stream; charset=utf-8"
JSON = "application/json"

Json = dict[str, Any]


def tap(format_name: str, content_type: str, *chunks: bytes) -> TapResult:
    reader = UsageTap(cast("FormatName", format_name), content_type, names_calls=True)
    for chunk in chunks:
        reader.feed(chunk)
    return reader.end()


def events(*payloads: Any, named: bool = True, newline: str = "\n") -> bytes:
    out = ""
    for payload in payloads:
        name = f"event: {payload['type']}{newline}" if named and isinstance(payload, dict) and "type" in payload else ""
        data = payload if isinstance(payload, str) else json.dumps(payload)
        out += f"{name}data: {data}{newline}{newline}"
    return out.encode()


def message(usage: Mapping[str, Any], **more: Any) -> bytes:
    """A whole Messages reply."""
    body = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x"}
    return json.dumps({**body, "content": [{"type": "text", "text": "hi"}], **more, "usage": usage}).encode()


def message_stream(usage: Mapping[str, Any], **more: Any) -> bytes:
    """The same as a stream: prompt and split of writes at its start, running totals and steps at its end."""
    opening = {key: value for key, value in usage.items() if key != "iterations"}
    body = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "content": [], **more}
    closing = {key: value for key, value in usage.items() if key.endswith("_tokens") or key == "iterations"}
    details = {key: value for key, value in usage.items() if key == "output_tokens_details"}
    return events(
        {"type": "message_start", "message": {**body, "usage": {**opening, "output_tokens": 1}}},
        {"type": "ping"},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": 'no "usage" here\n\n'}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {**closing, **details}},
        {"type": "message_stop"},
    )


def completion(usage: Mapping[str, Any], **more: Any) -> bytes:
    """A whole Chat Completions reply."""
    choice = {"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}
    return json.dumps({"id": "chatcmpl-1", "model": "gpt-x", "choices": [choice], "usage": usage, **more}).encode()


def completion_stream(usage: Mapping[str, Any], *, null_before: bool = False, in_choice: bool = False) -> bytes:
    """The same as a stream, the usage in a chunk of its own or inside the last choice."""
    envelope: Json = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "gpt-x"}
    none: Json = {"usage": None} if null_before else {}
    chunks: list[Any] = [
        {**envelope, "choices": [{"index": 0, "delta": {"content": word}, "finish_reason": None}], **none}
        for word in ("hi", ' "usage": {"prompt_tokens": 1}\n\n')
    ]
    last: Json = {"index": 0, "delta": {}, "finish_reason": "stop"}
    if in_choice:
        return events(*chunks, {**envelope, "choices": [{**last, "usage": usage}], **none}, "[DONE]")
    return events(
        *chunks, {**envelope, "choices": [last], **none}, {**envelope, "choices": [], "usage": usage}, "[DONE]"
    )


def cut(data: bytes, places: Iterable[int]) -> list[bytes]:
    """Cut a reply at these places."""
    edges = [0, *sorted(places), len(data)]
    return [data[start:end] for start, end in itertools.pairwise(edges)]
