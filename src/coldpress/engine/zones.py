"""Say which messages stay whatever happens, which may go under pressure, and which words must outlive them.

The head up to the task stays, and so do the last turns. Cuts fall only between turns: a turn is a reply of the model
with everything up to the next one, so a call and its results are always on the same side.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from coldpress.engine.acting import results_in_texts
from coldpress.engine.client_summaries import client_summary
from coldpress.engine.injected import is_nobodys
from coldpress.engine.pairs import UNREADABLE, late_calls, turns
from coldpress.engine.session import Session
from coldpress.model.conversation import Conversation, Opaque, Text

_WRITTEN: Final = frozenset({"anthropic", "openai_chat"})
"""The wire formats in which `coldpress.engine.rebuild` can write messages."""


@dataclass(frozen=True, slots=True)
class Zones:
    """What is kept of a conversation's messages.

    Attributes:
        anchor: index of the last message that stays in front: the task, with a client's own summary where there is
            one. -1 where no user says anything and the first message is a reply: then none may go.
        tail: index of the first message that stays at the end; it begins a reply, or is a text of the user (or the
            system) in front of one. As many as there are messages where there is no reply yet.
    """

    anchor: int
    tail: int


def zones(conversation: Conversation, session: Session, *, keep_turns: int) -> Zones:
    """Find what stays.

    Every result from `tail` on has its call there too, and every call in front of it its results. So that this holds
    where a result comes out of turn, more than `keep_turns` may be kept.

    Args:
        conversation: the request.
        session: the state after it.
        keep_turns: replies at the end that stay, each with what follows it; 1 or more. A reply that the client began
            and left for the model to finish is not counted and stays.
    """
    messages, replies = conversation.messages, session.replies
    if not replies:
        return Zones(len(messages) - 1, len(messages))
    anchor = _anchor(conversation, replies)
    is_unfinished = messages[-1].role == "assistant"
    kept = min(keep_turns + is_unfinished, len(replies))
    tail = replies[-kept]
    while (call := min(late_calls(conversation, tail, len(messages)), default=tail)) < tail:
        tail = replies[bisect_right(replies, call) - 1]
    while tail - 1 > anchor and _is_plain_text(conversation, tail - 1):
        tail -= 1
    return Zones(anchor, max(tail, anchor + 1))


def evictable(conversation: Conversation, found: Zones, *, floor: int) -> tuple[int, int] | None:
    """Give the messages that may go, `(start, stop)` half-open; `None` where none may.

    None may in a wire format in which nobody could write what stands in their place. They begin a reply and end in
    front of one, or of a user's text before it. Turns whose calls and results do not pair
    beyond doubt stay where they are at either end; between others they have to be carried over whole, as
    `coldpress.engine.carry` does.

    Args:
        conversation: the request.
        found: its keep zones.
        floor: index of the first message that may be edited without losing reasoning that is bound to it, as
            `coldpress.engine.binding.editable_from` gives it; where it is behind the anchor's end, nothing may go.
    """
    start = found.anchor + 1
    if conversation.format not in _WRITTEN:
        return None
    if floor > start or start == 0 or start >= found.tail:
        return None
    within = turns(conversation, _replies(conversation, start, found.tail), start, found.tail)
    clean = [turn for turn in within if not turn.doubtful]
    return (clean[0].start, clean[-1].stop) if clean else None


def kept_texts(conversation: Conversation, start: int, stop: int) -> tuple[tuple[int, int], ...]:
    """List what users and the system said and attached in a range as (message, block), in order.

    It is the task and its criteria, so it must be shown word for word where the messages around it go. Left out are
    texts that nobody said (`coldpress.engine.injected.is_nobodys`), and results that came as texts, with what is
    attached to them (`coldpress.engine.acting`). A text that cannot be decoded is listed.
    """
    results = results_in_texts(conversation, start, stop)
    acted = {index for index, _ in results}
    found: list[tuple[int, int]] = []
    for index in range(start, stop):
        message = conversation.messages[index]
        if message.role in ("user", "system"):
            for place, block in enumerate(message.blocks):
                if isinstance(block, Text):
                    is_kept = (index, place) not in results and _is_prose(conversation, block)
                else:
                    is_kept = isinstance(block, Opaque) and index not in acted and _is_attached(block)
                if is_kept:
                    found.append((index, place))
    return tuple(found)


def _anchor(conversation: Conversation, replies: Sequence[int]) -> int:
    """Index of the message in front of the first reply behind the task and a client's own summary.

    A conversation may begin with a greeting of the model: the task is the first thing that a user says.
    """
    task = next((index for index, message in enumerate(conversation.messages) if message.role == "user"), -1)
    behind = bisect_right(replies, max(task, client_summary(conversation)))
    return replies[behind] - 1 if behind < len(replies) else len(conversation.messages) - 1


def _replies(conversation: Conversation, start: int, stop: int) -> tuple[int, ...]:
    messages = conversation.messages
    return tuple(
        index
        for index in range(start, stop)
        if messages[index].role == "assistant" and (index == 0 or messages[index - 1].role != "assistant")
    )


def _is_plain_text(conversation: Conversation, index: int) -> bool:
    blocks = conversation.messages[index].blocks
    is_said = all(isinstance(block, Text) or (isinstance(block, Opaque) and _is_attached(block)) for block in blocks)
    return is_said and bool(kept_texts(conversation, index, index + 1))


def _is_attached(block: Opaque) -> bool:
    """Whether a block of a user's message is a picture, a document or the like; no call or result hides in it."""
    return block.span is not None and block.kind not in UNREADABLE


def _is_prose(conversation: Conversation, block: Text) -> bool:
    if not block.literal.readable:
        return True
    return not is_nobodys(conversation.text(block.literal))
