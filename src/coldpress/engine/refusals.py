"""Find refusals to read again that stay while the read they point at goes: they are answered with its text."""

from __future__ import annotations

from collections.abc import Iterator

from coldpress.engine.catalogue import classify
from coldpress.engine.first_sight import asked_for
from coldpress.engine.markers import is_reread_refusal
from coldpress.engine.session import Seen, Session
from coldpress.measure.tokens import estimate
from coldpress.model.conversation import Conversation, TextLiteral, ToolCall
from coldpress.model.edits import Standing
from coldpress.model.identity import EditKey, original_sha

_MOST_BYTES = 2_400
"""No refusal is longer on the wire: four hundred characters, all of them escaped."""


def answers(conversation: Conversation, session: Session, start: int, stop: int) -> Iterator[tuple[Standing, str]]:
    """Give the decisions that answer refusals behind some messages, each with the refusal's own text.

    At first sight the read was shown, so the refusal was left as it is. Of several about one read the first is
    answered; the later ones point at it.

    Args:
        conversation: the request.
        session: the state after it.
        start, stop: the messages that go, half-open.
    """
    edited = {edit.standing.key for edit in session.edits if edit.message >= stop}
    answered: set[EditKey] = set()
    for index in range(stop, len(conversation.messages)):
        message = conversation.messages[index]
        for block, result in message.results:
            for literal in result.texts:
                key = EditKey(message.chain, block, literal.part)
                if result.call is None or key in edited or not _is_refusal(conversation, literal):
                    continue
                meant = _meant(conversation, session, result.call, index)
                if meant is not None and start <= meant.message < stop and meant.key not in answered:
                    answered.add(meant.key)
                    text, refusal = conversation.text(meant.literal), conversation.text(literal)
                    added_tokens = estimate(text) - estimate(refusal)
                    yield Standing(key, text, "restore", original_sha(refusal), saved_tokens=-added_tokens), refusal


def _is_refusal(conversation: Conversation, literal: TextLiteral) -> bool:
    return literal.readable and len(literal.span) <= _MOST_BYTES and is_reread_refusal(conversation.text(literal))


def _meant(conversation: Conversation, session: Session, call: ToolCall, before: int) -> Seen | None:
    """Find the latest read of the same range of the same file in front of a message."""
    arguments = conversation.arguments(call)
    classified = classify(call.name, arguments)
    if classified.kind != "source" or classified.target is None:
        return None
    asked = asked_for(arguments)
    for seen in reversed(session.seen):
        if seen.message < before and seen.classified.target == classified.target and asked_for(seen.arguments) == asked:
            return seen
    return None
