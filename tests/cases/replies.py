"""Read replies as clients do, and wait for what is written behind them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from cases.agents import PATIENCE_SECONDS
from cases.talk import Json

from coldpress.wire.registry import FormatName

T = TypeVar("T")


def calls_of(reply: bytes, name: FormatName, stream: bool) -> list[str]:
    """The arguments of a reply's calls, put together as a client does."""
    if not stream:
        found = json.loads(reply)
        if name == "anthropic":
            return [json.dumps(block["input"]) for block in found["content"] if block["type"] == "tool_use"]
        return [call["function"]["arguments"] for call in found["choices"][0]["message"]["tool_calls"]]
    parts: dict[int, str] = {}
    for event in events(reply):
        if name == "anthropic" and event.get("delta", {}).get("type") == "input_json_delta":
            parts[event["index"]] = parts.get(event["index"], "") + event["delta"]["partial_json"]
        for choice in event.get("choices", ()):
            for call in choice["delta"].get("tool_calls", ()):
                parts[call["index"]] = parts.get(call["index"], "") + call["function"].get("arguments", "")
    return [parts[index] for index in sorted(parts)]


def events(reply: bytes) -> Iterator[Json]:
    """The data of a stream's events."""
    for line in reply.splitlines():
        if line.startswith(b"data: {"):
            yield json.loads(line.removeprefix(b"data: "))


def ended(look: Callable[[], T | None]) -> T:
    """Wait until something is there: rows are written behind the reply."""
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until:
        found = look()
        if found is not None:
            return found
        time.sleep(0.002)
    raise AssertionError("it never came")
