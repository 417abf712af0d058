"""Find the turns among messages that go which have to be carried over word for word: what still fails, and the plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from coldpress.engine.catalogue import Classified, classify
from coldpress.engine.exactness import judge
from coldpress.engine.pairs import turns
from coldpress.model.conversation import Conversation, Text, ToolResult

LATEST_KINDS: Final = ("plan", "memory")
"""Of these the last call alone counts: it shows the state that all earlier ones led to."""


@dataclass(frozen=True, slots=True)
class _Called:
    """A call with its result: what was called, in which message the result stands, and whether it failed."""

    name: str
    message: int
    failed: bool


def carried(
    conversation: Conversation,
    replies: Sequence[int],
    start: int,
    stop: int,
    *,
    tokens_of: Callable[[int], int],
    most_tokens: int,
) -> tuple[int, ...]:
    """List the messages to carry over, in order: whole turns, without the prose of users that stands between them.

    They hold the latest run of a command where that failed, and the last plan and the last use of memory. The newest
    turns come first; one that does not fit any more is left to the summary.

    Args:
        conversation: the request.
        replies: indices of the messages that begin a reply.
        start, stop: the messages that go, half-open; they begin a reply and end in front of one.
        tokens_of: tokens of a message.
        most_tokens: what all of them may have together.
    """
    wanted = _wanted(conversation, start, stop)
    chosen: list[int] = []
    for turn in reversed(turns(conversation, replies, start, stop)):
        if wanted.isdisjoint(range(turn.start, turn.stop)) or turn.doubtful:
            continue
        messages = [index for index in range(turn.start, turn.stop) if not _is_prose(conversation, index)]
        tokens = sum(map(tokens_of, messages))
        if tokens > most_tokens:
            continue
        most_tokens -= tokens
        chosen += messages
    return tuple(sorted(chosen))


def _wanted(conversation: Conversation, start: int, stop: int) -> frozenset[int]:
    """Find the messages in the range whose results must stay: those that no later run of the same call replaces."""
    latest = {called.name: called for called in _calls(conversation)}
    return frozenset(
        called.message
        for name, called in latest.items()
        if start <= called.message < stop and (called.failed or name in LATEST_KINDS)
    )


def _calls(conversation: Conversation) -> Iterator[_Called]:
    for index, message in enumerate(conversation.messages):
        for _, result in message.results:
            if result.call is not None:
                arguments = conversation.arguments(result.call)
                classified = classify(result.call.name, arguments)
                failed = _failed(conversation, result, classified)
                yield _Called(_name(result.call.name, arguments, classified), index, failed)


def _name(tool: str, arguments: str, classified: Classified) -> str:
    """Name what was called, so that a later run of the same has the same name."""
    if classified.kind in LATEST_KINDS:
        return classified.kind
    return f"{tool} {' '.join((classified.command or classified.target or arguments).split())}"


def _failed(conversation: Conversation, result: ToolResult, classified: Classified) -> bool:
    texts = [conversation.text(literal) for literal in result.texts if literal.readable]
    return any(judge(classified, text, wire_failed=result.failed) == "failed_result" for text in texts)


def _is_prose(conversation: Conversation, index: int) -> bool:
    """Whether a message holds nothing but words of a user or of the system."""
    message = conversation.messages[index]
    return message.role in ("user", "system") and all(isinstance(block, Text) for block in message.blocks)
