"""Read a range of messages as what happened in it: who said what, and which calls gave back what."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final, Literal, NamedTuple

import msgspec

from coldpress.engine.acting import results_in_texts
from coldpress.engine.catalogue import Classified, classify
from coldpress.engine.envelopes import printed
from coldpress.engine.exactness import failed
from coldpress.engine.injected import without_injected
from coldpress.engine.memo import NOWHERE, Memo, Place, unremembered
from coldpress.engine.transcript import arguments_text, called, literal_text
from coldpress.model.conversation import CallId, Conversation, Text, ToolCall, ToolResult

ACTING_TOOL: Final = "bash"
"""What runs the actions of a harness without tools on the wire."""

_ACTION: Final = re.compile(r"^[ \t]*```[\w-]*[ \t]*\n(.*?)^[ \t]*```[ \t]*$", re.DOTALL | re.MULTILINE)


class Said(NamedTuple):
    """A text that somebody said; `number` counts messages from 1. `system` is what stands between the messages.

    `place` is the block that holds it.
    """

    number: int
    role: Literal["user", "assistant", "system"]
    text: str
    place: Place = NOWHERE


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
        place: the block that holds the result.
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
    place: Place = field(default=NOWHERE, compare=False)


Event = Said | Ran


def events(conversation: Conversation, start: int, stop: int, *, memo: Memo = unremembered) -> Iterator[Event]:
    """Go through messages `start` to `stop` - 1 (indices from 0); calls come where their result does.

    A text of a user that is the result of an action (`coldpress.engine.acting`) counts as one: the action is
    the command between the last fences of the reply before it. Results whose call is in doubt, and calls that were not
    answered in the range, are no events.

    What `memo` keeps is how a call is classified and whether it failed, never a text that came back.
    """
    asked: dict[CallId, int] = {}
    acted = results_in_texts(conversation, start, stop)
    for index in range(start, stop):
        message = conversation.messages[index]
        for at, block in enumerate(message.blocks):
            place = (message.chain, at)
            match block:
                case Text(literal) if message.role != "tool":
                    said = without_injected(literal_text(conversation, literal))
                    if (index, at) in acted:
                        yield _acted(conversation, said, index, place, memo)
                    elif said.strip():
                        role = message.role if message.role in ("user", "assistant") else "system"
                        yield Said(index + 1, role, said, place)
                case ToolCall():
                    asked[block.id] = index + 1
                case ToolResult(call=ToolCall() as call):
                    numbers = index + 1, asked.get(block.call_id, 0)
                    yield _ran(conversation, block, call, numbers, place=place, memo=memo)
                case _:
                    pass


def within(happened: Iterable[Event], start: int, stop: int) -> Iterator[Event]:
    """Take of the events of a whole conversation those of a range, as `events` gives them for it.

    Args:
        happened: events of all messages.
        start, stop: the messages, half-open; the first one is no user's.
    """
    for event in happened:
        if not start < event.number <= stop:
            continue
        if isinstance(event, Ran) and 0 < event.call_number <= start:
            yield replace(event, call_number=0, place=NOWHERE)  # what follows from it depends on the range
        else:
            yield event


def given(run: Ran) -> dict[str, object]:
    """Give the arguments of a call by name; empty where they are no JSON object."""
    try:
        return msgspec.json.decode(run.arguments, type=dict[str, object])
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return {}


def _ran(
    conversation: Conversation,
    result: ToolResult,
    call: ToolCall,
    numbers: tuple[int, int],
    *,
    place: Place,
    memo: Memo,
) -> Ran:
    # Arguments that no text can hold count as absent: only the name tells what the call was.
    arguments = conversation.arguments(call) if _readable(conversation, call) else "{}"
    text = without_injected("\n".join(literal_text(conversation, literal) for literal in result.texts))
    classified, has_failed = _judged(call.name, arguments, text, result.failed, place=place, memo=memo)
    return Ran(
        *numbers,
        call.name,
        classified,
        arguments,
        arguments_text(conversation, call),
        called(conversation, call),
        printed(text),
        has_failed,
        place,
    )


def _judged(
    tool: str, arguments: str, text: str, wire_failed: bool | None, *, place: Place, memo: Memo
) -> tuple[Classified, bool]:
    """Classify a call and say whether it failed."""

    def judge() -> tuple[Classified, bool]:
        classified = classify(tool, arguments)
        return classified, failed(classified, text, wire_failed=wire_failed)

    return memo(place, "judged", judge, size=lambda judged: len(judged[0].command or ""))


def _acted(conversation: Conversation, text: str, index: int, place: Place, memo: Memo) -> Ran:
    """Read a result that came as a text of the user's, for harnesses whose actions are no calls on the wire."""
    command = ""
    if index and conversation.messages[index - 1].role == "assistant":
        blocks = conversation.messages[index - 1].blocks
        said = "\n".join(literal_text(conversation, block.literal) for block in blocks if isinstance(block, Text))
        command = next((match[1].strip() for match in reversed(tuple(_ACTION.finditer(said)))), "")
    arguments = _arguments(command)
    classified, failure = _judged(ACTING_TOOL, arguments, text, None, place=place, memo=memo)
    shown = f"command: {command}" if command else ""
    return Ran(index + 1, index, ACTING_TOOL, classified, arguments, shown, "", printed(text), failure, place)


def _arguments(command: str) -> str:
    return msgspec.json.encode({"command": command} if command else {}).decode()


def _readable(conversation: Conversation, call: ToolCall) -> bool:
    try:
        conversation.arguments(call)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True
