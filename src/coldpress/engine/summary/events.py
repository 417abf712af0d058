"""Read a range of messages as what happened in it: who said what, and which calls gave back what."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

import msgspec

from coldpress.engine.catalogue import Classified, classify
from coldpress.engine.envelopes import is_observation, printed
from coldpress.engine.exactness import failed
from coldpress.engine.injected import without_injected
from coldpress.engine.transcript import arguments_text, called, literal_text
from coldpress.model.conversation import CallId, Conversation, Text, ToolCall, ToolResult

ACTING_TOOL: Final = "bash"
"""What runs the actions of a harness without tools on the wire."""

_ACTION: Final = re.compile(r"^[ \t]*```[\w-]*[ \t]*\n(.*?)^[ \t]*```[ \t]*$", re.DOTALL | re.MULTILINE)


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
        text: what came back, without what the harness put into and around it; each line is a piece of the message.
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

    A text of a user that is the result of an action counts as one: the action is the command between the last fences of
    the reply before it. Results whose call is in doubt, and calls that were not answered in the range, are no events.
    """
    asked: dict[CallId, int] = {}
    for index in range(start, stop):
        message = conversation.messages[index]
        for block in message.blocks:
            match block:
                case Text(literal) if message.role != "tool":
                    said = without_injected(literal_text(conversation, literal))
                    if message.role == "user" and is_observation(said):
                        yield _acted(conversation, said, index)
                    elif said.strip():
                        yield Said(index + 1, message.role if message.role in ("user", "assistant") else "system", said)
                case ToolCall():
                    asked[block.id] = index + 1
                case ToolResult(call=ToolCall() as call):
                    yield _ran(conversation, block, call, index + 1, asked.get(block.call_id, 0))
                case _:
                    pass


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
        printed(text),
        failed(classified, text, wire_failed=result.failed),
    )


def _acted(conversation: Conversation, text: str, index: int) -> Ran:
    """Read a result that came as a text of the user's, for harnesses whose actions are no calls on the wire."""
    command = ""
    if index and conversation.messages[index - 1].role == "assistant":
        blocks = conversation.messages[index - 1].blocks
        said = "\n".join(literal_text(conversation, block.literal) for block in blocks if isinstance(block, Text))
        command = next((match[1].strip() for match in reversed(tuple(_ACTION.finditer(said)))), "")
    arguments = _arguments(command)
    classified = classify(ACTING_TOOL, arguments)
    failure = failed(classified, text, wire_failed=None)
    shown = f"command: {command}" if command else ""
    return Ran(index + 1, index, ACTING_TOOL, classified, arguments, shown, "", printed(text), failure)


def _arguments(command: str) -> str:
    return msgspec.json.encode({"command": command} if command else {}).decode()


def _readable(conversation: Conversation, call: ToolCall) -> bool:
    try:
        conversation.arguments(call)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True
