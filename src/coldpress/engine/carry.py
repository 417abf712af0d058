"""Find the turns among messages that go which have to be carried over word for word: what still fails, and the plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from coldpress.engine.aged import RuleOf
from coldpress.engine.catalogue import Kind
from coldpress.engine.memo import Memo, unremembered
from coldpress.engine.pairs import turns
from coldpress.engine.policy import is_ordered_exact
from coldpress.engine.summary.commands import standing_failures
from coldpress.engine.summary.events import Event, Ran, events
from coldpress.engine.zones import kept_texts
from coldpress.model.conversation import Conversation

LATEST_KINDS: Final[tuple[Kind, ...]] = ("plan", "memory")
"""Of these the last call alone counts: it shows the state that all earlier ones led to."""


def carried(
    conversation: Conversation,
    replies: Sequence[int],
    start: int,
    stop: int,
    *,
    rule_of: RuleOf,
    tokens_of: Callable[[int], int],
    most_tokens: int,
    happened: Sequence[Event] | None = None,
    memo: Memo = unremembered,
) -> tuple[int, ...]:
    """List the messages to carry over, in order: whole turns, without the prose of users that stands between them.

    Turns with a result that the user's own settings keep exact are, whatever they have; and those whose calls and
    results do not pair beyond doubt, prose and all, since nobody may part them. Then those with the latest run of a
    command where that failed and nothing later shows that it would pass, and with the last plan and the last use of
    memory: the newest come first, and one that does not fit any more is left to the summary.

    Args:
        conversation: the request.
        replies: indices of the messages that begin a reply.
        start, stop: the messages that go, half-open; they begin a reply and end in front of one.
        rule_of: gives the rule of a tool.
        tokens_of: tokens of a message.
        most_tokens: what all but those that must be carried may have together.
        happened: `coldpress.engine.summary.events.events` of the whole conversation, where they are there already.
        memo: remembers what is found in a message.
    """
    if happened is None:
        happened = tuple(events(conversation, 0, len(conversation.messages), memo=memo))
    ordered = _ordered(happened, rule_of)
    wanted = _wanted(happened, memo)
    said = Counter(index for index, _ in kept_texts(conversation, start, stop))
    prose = {index for index, blocks in said.items() if blocks == len(conversation.messages[index].blocks)}
    chosen: list[int] = []
    for turn in reversed(turns(conversation, replies, start, stop)):
        inside = range(turn.start, turn.stop)
        messages = [index for index in inside if turn.doubtful or index not in prose]
        if turn.doubtful or not ordered.isdisjoint(inside):
            chosen += messages
        elif not wanted.isdisjoint(inside):
            tokens = sum(map(tokens_of, messages))
            if tokens <= most_tokens:
                most_tokens -= tokens
                chosen += messages
    return tuple(sorted(chosen))


def _ordered(happened: Sequence[Event], rule_of: RuleOf) -> frozenset[int]:
    """Find the messages with results of which the settings say that nothing is ever done to them."""
    runs = (event for event in happened if isinstance(event, Ran))
    return frozenset(run.number - 1 for run in runs if is_ordered_exact(rule_of(run.tool, run.classified.kind)))


def _wanted(happened: Sequence[Event], memo: Memo) -> frozenset[int]:
    """Find the messages whose results must stay where there is room: those that no later run of the same replaces."""
    latest = {
        event.classified.kind: event.number - 1
        for event in happened
        if isinstance(event, Ran) and event.classified.kind in LATEST_KINDS
    }
    failing = (failure.run.number - 1 for failure in standing_failures(happened, memo=memo))
    return frozenset((*latest.values(), *failing))
