"""Write replies with tool calls as providers and local servers do, read them as clients do, and filter them."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from coldpress.wire.registry import FormatName
from coldpress.wire.reply_calls import CallFilter, ReplyFilter

SSE = "text/event-stream; charset=utf-8"
JSON = "application/json"

Json = dict[str, Any]
Habit = Literal["by index", "shared index", "no index", "no ids", "ids repeated", "legacy"]
HABITS: tuple[Habit, ...] = ("by index", "shared index", "no index", "no ids", "ids repeated", "legacy")


@dataclass(frozen=True)
class Made:
    """A call of the model: its arguments as JSON text, in the fragments in which they come."""

    call_id: str
    name: str
    fragments: tuple[str, ...]

    @property
    def text(self) -> str:
        return "".join(self.fragments)


class Same:
    """Changes nothing."""

    def feed(self, fragment: str) -> str:
        return fragment

    def end(self) -> str:
        return ""


class Holding:
    """Takes `why` out at the end, and holds everything until then."""

    def __init__(self) -> None:
        self.text = ""

    def feed(self, fragment: str) -> str:
        self.text += fragment
        return ""

    def end(self) -> str:
        return without_why(self.text)


class Early:
    """Takes a leading `why` out and lets everything behind it go at once."""

    _FIELD = re.compile(r'\{\s*"why"\s*:\s*"(?:[^"\\]|\\.)*"\s*,?\s*', re.DOTALL)

    def __init__(self) -> None:
        self.held: str | None = ""

    def feed(self, fragment: str) -> str:
        if self.held is None:
            return fragment
        self.held += fragment
        match = self._FIELD.match(self.held)
        if match is not None and match.end() < len(self.held):
            out, self.held = "{" + self.held[match.end() :], None
            return out
        if not self.held.startswith('{"why"'[: len(self.held)]):
            out, self.held = self.held, None
            return out
        return ""

    def end(self) -> str:
        return without_why(self.held) if self.held else ""


def without_why(text: str) -> str:
    try:
        value = json.loads(text)
    except ValueError:
        return text
    if not isinstance(value, dict) or "why" not in value:
        return text
    return json.dumps({key: inner for key, inner in value.items() if key != "why"}, ensure_ascii=False)


FILTERS: dict[str, type[CallFilter]] = {"same": Same, "holding": Holding, "early": Early}


@dataclass
class Asking:
    """Gives every call a filter of one kind, but for tools called `plain`, and notes who asked."""

    kind: type[CallFilter]
    asked: list[tuple[str, str]] = field(default_factory=list)

    def __call__(self, name: str, call_id: str) -> CallFilter | None:
        self.asked.append((name, call_id))
        return None if name == "plain" else self.kind()


def through(
    format_name: FormatName, content_type: str, chunks: Iterable[bytes], asking: Any, *, faults: int = 0, **limits: int
) -> bytes:
    """What a client gets of a reply that comes to its end."""
    reply = ReplyFilter(format_name, content_type, asking, **limits)
    out = b"".join([reply.feed(chunk) for chunk in chunks]) + reply.end()
    assert reply.faults == faults
    return out


def cut(body: bytes, at: Iterable[int]) -> list[bytes]:
    places = sorted({0, len(body), *[place % (len(body) + 1) for place in at]})
    return [body[a:b] for a, b in itertools.pairwise(places)]


def event(payload: Json | str, *, name: str | None = None, newline: str = "\n") -> bytes:
    data = payload if isinstance(payload, str) else json.dumps(payload, ensure_ascii=False)
    return ((f"event: {name}{newline}" if name else "") + f"data: {data}{newline}{newline}").encode()


def anthropic_stream(calls: Sequence[Made], *, newline: str = "\n") -> bytes:
    """Text, then the calls, each in a block of its own, with what providers send in between."""
    start = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "content": [],
             "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 3, "output_tokens": 1}}  # fmt: skip
    said: list[Json] = [
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": 'a tool_use, "why": é'}},
        {"type": "content_block_stop", "index": 0},
    ]
    for index, call in enumerate(calls, start=1):
        block = {"type": "tool_use", "id": call.call_id, "name": call.name, "input": {}}
        said.append({"type": "content_block_start", "index": index, "content_block": block})
        for fragment in ("", *call.fragments):
            delta = {"type": "input_json_delta", "partial_json": fragment}
            said.append({"type": "content_block_delta", "index": index, "delta": delta})
        said.append({"type": "ping"})
        said.append({"type": "content_block_stop", "index": index})
    delta = {"stop_reason": "tool_use", "stop_sequence": None}
    said += [{"type": "message_delta", "delta": delta, "usage": {"output_tokens": 9}}, {"type": "message_stop"}]
    return f": waiting{newline}{newline}".encode() + b"".join(
        [event(payload, name=payload["type"], newline=newline) for payload in said]
    )


def read_anthropic(stream: bytes) -> list[tuple[str, str, str]]:
    """Id, name and arguments of each call, as they stand when its block stops."""
    open_calls: dict[int, list[str]] = {}
    done: list[tuple[str, str, str]] = []
    for payload in payloads(stream):
        index = payload.get("index", -1)
        if payload["type"] == "content_block_start" and payload["content_block"]["type"] == "tool_use":
            block = payload["content_block"]
            open_calls[index] = [block["id"], block["name"], ""]
        elif payload["type"] == "content_block_delta" and payload["delta"]["type"] == "input_json_delta":
            open_calls[index][2] += payload["delta"]["partial_json"]
        elif payload["type"] == "content_block_stop" and index in open_calls:
            call_id, name, text = open_calls.pop(index)
            done.append((call_id, name, text))
    assert not open_calls
    return done


def chat_stream(calls: Sequence[Made], *, habit: Habit = "by index", newline: str = "\n", finish: str = "own") -> bytes:
    """Text, then the calls. `finish`: the reason comes in its `own` chunk, with the `last` fragment, or `never`."""
    deltas: list[Json] = [{"role": "assistant", "content": ""}, {"content": 'tool_calls: "why" é'}]
    for number, call in enumerate(calls):
        deltas += list(_chat_deltas(number, call, habit))
    chunks = [_chunk(delta, None) for delta in deltas]
    reason = "function_call" if habit == "legacy" else "tool_calls"
    if finish == "last":
        chunks[-1] = _chunk(deltas[-1], reason)
    elif finish == "own":
        chunks.append(_chunk({}, reason))
    chunks.append({**_chunk({}, None), "choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 9}})
    waiting = f": PROCESSING{newline}{newline}".encode()
    return waiting + b"".join([event(chunk, newline=newline) for chunk in [*chunks, "[DONE]"]])


def _chunk(delta: Json, reason: str | None) -> Json:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-x",
            "choices": [choice], "usage": None, "obfuscation": "aB3"}  # fmt: skip


def _chat_deltas(number: int, call: Made, habit: Habit) -> Iterator[Json]:
    whole_at_once = habit in ("shared index", "no index", "no ids")
    fragments = (call.text,) if whole_at_once else ("", *call.fragments)
    for place, fragment in enumerate(fragments):
        function: Json = {"name": call.name, "arguments": fragment} if place == 0 else {"arguments": fragment}
        if habit == "legacy":
            yield {"function_call": function}
            continue
        head: Json = {} if habit == "no index" else {"index": 0 if habit in ("shared index", "no ids") else number}
        if (place == 0 or habit == "ids repeated") and habit != "no ids":
            head |= {"id": call.call_id, "type": "function"}
        yield {"tool_calls": [{**head, "function": function}]}


def read_chat(stream: bytes) -> list[tuple[str, str, str]]:
    """Id, name and arguments of each call, as they stand when the reason to stop, or `[DONE]`, comes."""
    calls: list[list[str]] = []
    current: dict[object, int] = {}
    for payload in payloads(stream):
        for choice in payload.get("choices", []):
            delta = choice.get("delta", {})
            legacy = delta.get("function_call")
            for piece in delta.get("tool_calls", []) + ([{"function": legacy}] if legacy else []):
                slot, function = piece.get("index"), piece["function"]
                known = calls[current[slot]] if slot in current else None
                another = piece.get("id", "") not in ("", known[0]) if known and known[0] else "name" in function
                if known is None or another:
                    current[slot] = len(calls)
                    calls.append([piece.get("id", ""), function.get("name", ""), ""])
                calls[current[slot]][2] += function.get("arguments") or ""
    return [(call[0], call[1], call[2]) for call in calls]


def payloads(stream: bytes) -> Iterator[Json]:
    text = stream.decode().replace("\r\n", "\n").replace("\r", "\n")
    for part in text.split("\n\n"):
        lines = [line[5:].removeprefix(" ") for line in part.split("\n") if line.startswith("data:")]
        if lines and lines != ["[DONE]"]:
            yield json.loads("\n".join(lines))


READERS = {"anthropic": read_anthropic, "openai_chat": read_chat}
