"""Shorten prompts as others do, to compare with: drop the oldest turns, or clear all results but the last few.

Both begin at a trigger, and what went stays gone; both look at nothing but the sizes of messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

KEEP_RESULTS: Final = 3
"""Results that stay: what Anthropic's own clearing keeps unless told otherwise."""

CLEARED: Final = "[cleared to save context]"

_REPLY: Final = b'{"role":"assistant"'


@dataclass(frozen=True, slots=True)
class Bounds:
    """When to shorten and how far.

    Attributes:
        head_tokens: of system prompt and tools.
        trigger_tokens: prompts of at least this many tokens are shortened.
        target_tokens: how many they should have then, where the way of shortening has an aim.
        tokens_of: tokens of a message, JSON text.
    """

    head_tokens: int
    trigger_tokens: int
    target_tokens: int
    tokens_of: Callable[[bytes], float]


Shorten = Callable[[Sequence[bytes], Bounds], tuple[bytes, ...]]
"""Gives the messages that are sent; what earlier requests of the conversation lost is found again from the sizes."""


def drop_oldest(messages: Sequence[bytes], bounds: Bounds) -> tuple[bytes, ...]:
    """Drop the oldest turns behind the task, as many as it takes to come down to the target; the last one stays."""
    tokens = [bounds.tokens_of(message) for message in messages]
    replies = reply_starts(messages)
    if not replies:
        return tuple(messages)
    first = kept = replies[0]
    for end in _requests(messages):
        size = bounds.head_tokens + sum(tokens[:first]) + sum(tokens[kept : end + 1])
        if size < bounds.trigger_tokens:
            continue
        for start in (start for start in replies if kept < start <= end):
            if size <= bounds.target_tokens:
                break
            size -= sum(tokens[kept:start])
            kept = start
    return (*messages[:first], *messages[kept:])


def clear_results(messages: Sequence[bytes], bounds: Bounds) -> tuple[bytes, ...]:
    """Put a fixed text in the place of all results in front of the last three, as a provider's own clearing does."""
    exact = [bounds.tokens_of(message) for message in messages]
    blank = [_cleared(message) for message in messages]
    small = [bounds.tokens_of(message) for message in blank]
    stop = 0
    for end in _requests(messages):
        size = bounds.head_tokens + sum(small[:stop]) + sum(exact[stop : end + 1])
        if size >= bounds.trigger_tokens:
            stop = max(stop, _before_last_results(messages, end))
    return (*blank[:stop], *messages[stop:])


def with_messages(body: bytes, messages: Sequence[bytes]) -> bytes:
    """Write a request with other messages and everything else as it was."""
    fields = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    return msgspec.json.encode({**fields, "messages": msgspec.Raw(b"[" + b",".join(messages) + b"]")})


def messages_of(body: bytes) -> tuple[bytes, ...]:
    """Give the messages of a request as they stand, cache marks and all."""
    return tuple(bytes(message) for message in msgspec.json.decode(body, type=_Request).messages)


def reply_starts(messages: Sequence[bytes]) -> list[int]:
    """Indices of the messages that begin a reply."""
    is_reply = [message.startswith(_REPLY) for message in messages]
    return [index for index, reply in enumerate(is_reply) if reply and (index == 0 or not is_reply[index - 1])]


class _Request(msgspec.Struct):
    messages: list[msgspec.Raw]


class _Content(msgspec.Struct):
    content: str | list[dict[str, object]]


def _requests(messages: Sequence[bytes]) -> Iterator[int]:
    """Index of the last message of every request that was made up to here."""
    for index in range(len(messages)):
        is_last = index + 1 == len(messages) or messages[index + 1].startswith(_REPLY)
        if is_last and not messages[index].startswith(_REPLY):
            yield index


def _before_last_results(messages: Sequence[bytes], end: int) -> int:
    """Index of the message that holds the first of the results that stay."""
    kept = 0
    for index in range(end, -1, -1):
        kept += len(_results(messages[index]))
        if kept >= KEEP_RESULTS:
            return index
    return 0


def _results(message: bytes) -> list[dict[str, object]]:
    if message.startswith(_REPLY) or b'"tool_result"' not in message:
        return []
    content = msgspec.json.decode(message, type=_Content).content
    return [] if isinstance(content, str) else [block for block in content if block.get("type") == "tool_result"]


def _cleared(message: bytes) -> bytes:
    if not _results(message):
        return message
    found = msgspec.json.decode(message, type=dict[str, object])
    content = found["content"]
    blocks = content if isinstance(content, list) else []
    cleared = [{**block, "content": CLEARED} if block.get("type") == "tool_result" else block for block in blocks]
    return msgspec.json.encode({**found, "content": cleared})
