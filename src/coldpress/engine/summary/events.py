"""Read a range of messages as what happened in it: who said what, and which calls gave back what."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple

import msgspec

from coldpress.engine.catalogue import Classified, classify
from coldpress.engine.exactness import PROTECTED_KINDS, judge
from coldpress.engine.transcript import arguments_text, called, literal_text
from coldpress.model.conversation import CallId, Conversation, Text, ToolCall, ToolResult

_TAGS: Final = (
    r"system-reminder|local-command-(?:caveat|stdout|stderr)|command-(?:name|message|args)|task-notification|"
    r"ide_(?:selection|opened_file)|environment_(?:details|context)"
)
_INJECTED: Final = re.compile(rf"<({_TAGS})>.*?(?:</\1>|\Z)", re.DOTALL)
"""What harnesses put into user texts and results; nobody said it."""


class Said(NamedTuple):
    """A text that somebody said; `number` counts messages from 1. `system` is what stands between the messages."""

    number: int
    role: Literal["user", "assistant", "system"]
    text: str


@dataclass(frozen=True, slots=True)
class Ran:
    """A call with what it gave back.

    Attributes:
        number: of the message that holds the result, from 1.
        call_number: of the message that holds the call; 0 where the call stands in front of the range.
        tool: its name on the wire.
        classified: where it belongs.
        arguments: raw JSON text.
        arguments_text: as the call's message shows them.
        shown_call: how much of them stands in the result's message as well.
        text: what came back, without what the harness put into it.
        failed: whether the call failed, by the wire's flag or by structure.
    """

    number: int
    call_number: int
    tool: str
    classified: Classified
    arguments: str
    arguments_text: str
    shown_call: str
    text: str
    failed: bool


Event = Said | Ran


def events(conversation: Conversation, start: int, stop: int) -> Iterator[Event]:
    """Go through messages `start` to `stop` - 1 (indices from 0); calls come where their result does.

    Results whose call is in doubt, and calls that were not answered in the range, are no events.
    """
    asked: dict[CallId, int] = {}
    for index in range(start, stop):
        message = conversation.messages[index]
        for block in message.blocks:
            match block:
                case Text(literal) if message.role != "tool":
                    said = without_injected(literal_text(conversation, literal))
                    if said.strip():
                        yield Said(index + 1, message.role if message.role in ("user", "assistant") else "system", said)
                case ToolCall():
                    asked[block.id] = index + 1
                case ToolResult(call=ToolCall() as call):
                    yield _ran(conversation, block, call, index + 1, asked.get(block.call_id, 0))
                case _:
                    pass


def without_injected(text: str) -> str:
    """Take out what a harness put into a text, leaving a blank line, so that sentences do not run together."""
    return _INJECTED.sub("\n\n", text) if "<" in text else text


def given(run: Ran) -> dict[str, object]:
    """Give the arguments of a call by name; empty where they are no JSON object."""
    try:
        return msgspec.json.decode(run.arguments, type=dict[str, object])
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return {}


def _ran(conversation: Conversation, result: ToolResult, call: ToolCall, number: int, call_number: int) -> Ran:
    # Arguments that no text can hold count as absent: only the name tells what the call was.
    arguments = conversation.arguments(call) if _readable(conversation, call) else "{}"
    classified = classify(call.name, arguments)
    text = without_injected("\n".join(literal_text(conversation, literal) for literal in result.texts))
    return Ran(
        number,
        call_number,
        call.name,
        classified,
        arguments,
        arguments_text(conversation, call),
        called(conversation, call),
        text,
        _failed(classified, text, result.failed),
    )


def _readable(conversation: Conversation, call: ToolCall) -> bool:
    try:
        conversation.arguments(call)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True


def _failed(classified: Classified, text: str, flag: bool | None) -> bool:
    # `judge` stops at a protected kind before it looks at the envelope, and here the envelope is what counts.
    if classified.kind in PROTECTED_KINDS:
        classified = replace(classified, kind="unknown")
    return judge(classified, text, wire_failed=flag) == "failed_result"
