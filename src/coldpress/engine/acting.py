"""Find the results that an agent without calls on the wire gets as texts of the user's: nobody said them."""

from __future__ import annotations

import re
from typing import Final

from coldpress.engine.envelopes import RESULT_HEADER, is_observation
from coldpress.model.conversation import Conversation, Text, ToolCall, ToolResult

_ACTION: Final = re.compile(
    r"^[ \t]*```"  # SWE-agent, mini-swe-agent: a fenced command
    r"|^[ \t]*\**Action(?: Input)?\**[ \t]*:"  # ReAct
    r"|<(?:function_calls?|function=[\w.-]+|tool_calls?|invoke)\b"  # OpenHands, Hermes, prompted tools
    r"|<([a-z]+(?:_[a-z]+)*)>[\s\S]*?</\1>",  # Cline, Roo
    re.M,
)
"""What an action looks like in a reply."""

_ANSWERS: Final = re.compile(r"<(feedback|answer|user_message|task)>")
"""Elements in which Cline and Roo put what a user answers, in the text of a result."""


def results_in_texts(conversation: Conversation, start: int, stop: int) -> frozenset[tuple[int, int]]:
    """List the texts of users in messages `start` to `stop` - 1 that are results, as (message, block).

    A text is one if it has the shape of one, the reply before it acts, and no call is on the wire anywhere: what looks
    like a result in a conversation with calls is a log that somebody pasted. A result in which a user answers is none.
    """
    if any(isinstance(block, ToolCall | ToolResult) for message in conversation.messages for block in message.blocks):
        return frozenset()
    found: set[tuple[int, int]] = set()
    for index in range(start, stop):
        if conversation.messages[index].role == "user":
            places = _shaped(conversation, index)
            if places and _acts(conversation, index):
                found.update((index, place) for place in places)
    return frozenset(found)


def _shaped(conversation: Conversation, index: int) -> list[int]:
    """List the blocks of a message that look like results; Cline writes header and result as two."""
    found: list[int] = []
    is_next = False
    for place, block in enumerate(conversation.messages[index].blocks):
        if not isinstance(block, Text) or not block.literal.readable:
            is_next = False
            continue
        text = conversation.text(block.literal)
        if (is_next or is_observation(text)) and _ANSWERS.search(text) is None:
            found.append(place)
        header = RESULT_HEADER.match(text)
        is_next = header is not None and not text[header.end() :].strip()
    return found


def _acts(conversation: Conversation, index: int) -> bool:
    """Whether the reply before a message holds an action."""
    for message in reversed(conversation.messages[:index]):
        if message.role == "assistant":
            texts = (block.literal for block in message.blocks if isinstance(block, Text) and block.literal.readable)
            return any(_ACTION.search(conversation.text(literal)) for literal in texts)
    return False
