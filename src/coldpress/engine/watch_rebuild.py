"""Check, at the moment messages are replaced by a summary, that no prohibition and nothing worth keeping is lost."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Iterator
from typing import Final

from coldpress.engine.acting import results_in_texts
from coldpress.engine.catalogue import classify
from coldpress.engine.signals import plain, signals
from coldpress.engine.transcript import message_text
from coldpress.model.conversation import Conversation, Text, TextLiteral, ToolCall, ToolResult
from coldpress.model.records import Finding
from coldpress.model.summary import Item, Section, Summary

STANDING_SECTIONS: Final[tuple[Section, ...]] = (
    *("goal", "decisions", "constraints", "artifacts", "ruled_out", "failures"),
)
"""Sections whose items stay true. Where the work stands, and what is open, is said anew each time."""


def lost_signals(conversation: Conversation, gone: range, literal: str) -> tuple[Finding, ...]:
    """Find prohibitions and limits that are not shown any more: one finding a message.

    Looked at are what users and the system said, and what plan and memory tools gave back.

    Args:
        conversation: the request.
        gone: indices of the messages that are not sent any more.
        literal: JSON text of the messages that are sent instead, joined by commas.
    """
    results = results_in_texts(conversation, gone.start, gone.stop)
    said = [(index, who, found) for index in gone for who, found in _said(conversation, index, results)]
    if not said:
        return ()
    shown = plain("\n".join(literal_texts(literal)))
    missing = [one for one in said if one[2] not in shown]
    if missing:
        around = (index for index in range(len(conversation.messages)) if index not in gone)
        others = plain("\n".join(message_text(conversation, index) for index in around))
        missing = [one for one in missing if one[2] not in others]
    lost = dict.fromkeys((index, who) for index, who, _ in missing)
    return tuple(Finding("stop_signal_lost", who, (index + 1,)) for index, who in lost)


def drift(before: Summary, after: Summary | None, shown: Iterable[str]) -> tuple[Finding, ...]:
    """Find items of the last summary that are not kept: a quote of theirs stands nowhere, or without quotes their text.

    Args:
        before: the summary that stood so far.
        after: the one that takes its place.
        shown: texts that are shown with it: notes, messages that are copied, the kept tail, the head.
    """
    items = [item for _, found in after.sections() for item in found] if after is not None else []
    kept = "\n".join((*(part for item in items for part in (item.text, *item.quotes)), *shown))
    return tuple(
        Finding("drift", section, (item.message,))
        for section, found in before.sections()
        if section in STANDING_SECTIONS
        for item in found
        if any(part not in kept for part in _marks_of(item))
    )


def kept_texts(conversation: Conversation, gone: range, literal: str) -> Iterator[str]:
    """Give every text that is shown when messages are gone, as `drift` wants it.

    Args:
        conversation: the request.
        gone: indices of the messages that are not sent any more.
        literal: JSON text of the messages that are sent instead, joined by commas; notes stand in it.
    """
    yield from literal_texts(literal)
    for index in range(len(conversation.messages)):
        if index not in gone:
            yield message_text(conversation, index)


def literal_texts(literal: str) -> Iterator[str]:
    """Give every string in JSON text of messages that are joined by commas, decoded.

    >>> list(literal_texts('{"role":"user","content":"a\\\\nb"},{"content":[{"text":"c"}]}'))
    ['user', 'a\\nb', 'c']
    """
    # Python's own decoder takes the lone surrogates that a client's words may hold; no whole number is too long for it.
    yield from _strings(json.loads(f"[{literal}]", parse_int=float))


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


def _said(conversation: Conversation, index: int, results: Container[tuple[int, int]]) -> Iterator[tuple[str, str]]:
    """Give who forbids or limits what in a message."""
    message = conversation.messages[index]
    for place, block in enumerate(message.blocks):
        if (index, place) in results:
            continue
        if isinstance(block, Text) and message.role in ("user", "system"):
            for found in _signals(conversation, (block.literal,)):
                yield message.role, found
        elif isinstance(block, ToolResult) and block.call is not None and _is_steering(conversation, block.call):
            for found in _signals(conversation, block.texts):
                yield block.call.name, found


def _is_steering(conversation: Conversation, call: ToolCall) -> bool:
    return classify(call.name, conversation.arguments(call)).kind in ("plan", "memory")


def _signals(conversation: Conversation, literals: Iterable[TextLiteral]) -> Iterator[str]:
    for literal in literals:
        if literal.readable:
            yield from signals(conversation.text(literal))


def _marks_of(item: Item) -> tuple[str, ...]:
    return item.quotes or (item.text,)
