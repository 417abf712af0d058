"""Write a Responses answer as the events of a stream, in the order and with the numbers of the real API."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Final

from coldpress.testing.jsonview import as_array, as_object, as_text, objects
from coldpress.testing.responses_view import Item, kind_of
from coldpress.testing.responses_wire import ResponsesAnswer, response_document, unfinished_document
from coldpress.testing.script import Delivery

Event = tuple[str, dict[str, object]]

_PAD_TO: Final = 16
_STREAMED: Final[Mapping[str, tuple[str, str]]] = {
    "function_call": ("function_call_arguments", "arguments"),
    "custom_tool_call": ("custom_tool_call_input", "input"),
}
"""Calls whose text comes in pieces: what their events are called, and the field that holds the text."""


def responses_events(answer: ResponsesAnswer, delivery: Delivery) -> list[tuple[str, Mapping[str, object]]]:
    """List the named events of a stream; each carries its `sequence_number`. There is no closing `[DONE]`."""
    opening = unfinished_document(answer)
    events: list[Event] = [("response.created", {"response": opening}), ("response.in_progress", {"response": opening})]
    for index, item in enumerate(answer.output):
        events += _item_events(item, index, delivery.delta_characters)
    closing = response_document(answer, omit_usage=delivery.omit_usage)
    events.append((f"response.{answer.status}", {"response": closing}))
    padded = as_object(answer.body.get("stream_options")).get("include_obfuscation") is not False
    return [(name, _numbered(name, data, number, padded=padded)) for number, (name, data) in enumerate(events)]


def _numbered(name: str, data: dict[str, object], number: int, *, padded: bool) -> dict[str, object]:
    """Put type and number in; deltas also carry padding, so that their sizes tell nothing."""
    pad = {}
    if padded and name.endswith(".delta"):
        length = _PAD_TO - len(as_text(data.get("delta"))) % _PAD_TO
        pad = {"obfuscation": hashlib.sha256(f"{data.get('item_id')} {number}".encode()).hexdigest()[:length]}
    return {"type": name, "sequence_number": number, **data, **pad}


def _item_events(item: Item, index: int, size: int) -> Iterator[Event]:
    where = {"item_id": item.get("id"), "output_index": index}
    yield "response.output_item.added", {"output_index": index, "item": _announced(item)}
    kind = kind_of(item)
    if kind == "message":
        for place, part in enumerate(objects(item.get("content"))):
            yield from _text_events(part, {**where, "content_index": place}, size)
    elif kind == "reasoning":
        for place, part in enumerate(objects(item.get("summary"))):
            yield from _summary_events(part, {**where, "summary_index": place}, size)
    elif kind in _STREAMED:
        name, field = _STREAMED[kind]
        for piece in _cut(as_text(item.get(field)), size):
            yield f"response.{name}.delta", {**where, "delta": piece}
        yield f"response.{name}.done", {**where, field: item.get(field)}
    elif kind == "shell_call":
        for place, command in enumerate(as_array(as_object(item.get("action")).get("commands"))):
            yield from _command_events(as_text(command), {"output_index": index, "command_index": place}, size)
    elif kind == "compaction":
        yield "response.compaction.compacting", where
    yield "response.output_item.done", {"output_index": index, "item": item}


def _announced(item: Item) -> dict[str, object]:
    """Write an item as it is announced: what is still to come is empty, and what is sealed is not whole yet."""
    early = {**item, "status": "in_progress"}
    sealed = as_text(item.get("encrypted_content"))
    match kind_of(item):
        case "message":
            return {**early, "content": []}
        case "reasoning":
            return {**item, "summary": [], "encrypted_content": sealed[: len(sealed) // 2]}
        case "compaction":
            return {**item, "encrypted_content": ""}
        case "function_call":
            return {**early, "arguments": ""}
        case "custom_tool_call":
            return {**early, "input": ""}
        case "shell_call":
            return {**early, "action": {**as_object(item.get("action")), "commands": []}}
        case _:
            return early


def _text_events(part: Mapping[str, object], where: dict[str, object], size: int) -> Iterator[Event]:
    text = as_text(part.get("text"))
    yield "response.content_part.added", {**where, "part": {**part, "text": ""}}
    for piece in _cut(text, size):
        yield "response.output_text.delta", {**where, "delta": piece, "logprobs": []}
    yield "response.output_text.done", {**where, "text": text, "logprobs": []}
    yield "response.content_part.done", {**where, "part": dict(part)}


def _summary_events(part: Mapping[str, object], where: dict[str, object], size: int) -> Iterator[Event]:
    text = as_text(part.get("text"))
    yield "response.reasoning_summary_part.added", {**where, "part": {**part, "text": ""}}
    for piece in _cut(text, size):
        yield "response.reasoning_summary_text.delta", {**where, "delta": piece}
    yield "response.reasoning_summary_text.done", {**where, "text": text}
    yield "response.reasoning_summary_part.done", {**where, "part": dict(part)}


def _command_events(command: str, where: dict[str, object], size: int) -> Iterator[Event]:
    yield "response.shell_call_command.added", {**where, "command": ""}
    for piece in _cut(command, size):
        yield "response.shell_call_command.delta", {**where, "delta": piece}
    yield "response.shell_call_command.done", {**where, "command": command}


def _cut(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]
