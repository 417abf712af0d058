"""Count the messages of conversations in tokens, each message once, and lay their prompts out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from coldpress.drive.memory import Lineage, Recent, Refused
from coldpress.engine.belief import Held
from coldpress.engine.layout import Ends, Layout
from coldpress.engine.session import Session
from coldpress.measure.token_families import family_of
from coldpress.measure.tokens import Counter, counter_for
from coldpress.measure.weights import Weight
from coldpress.measure.weights import weigh as weigh_message
from coldpress.model.conversation import Conversation

MOST_COUNTED: Final = 100_000
"""Messages whose tokens are remembered."""

MOST_LAID_OUT: Final = 256
"""Conversations of which it is remembered where each message ends."""

_BYTES_PER_HEAD_TOKEN: Final = 4


class Counting:
    """Counts requests one after the other; safe to use from any thread.

    Args:
        weigh: says how many tokens a message has.
    """

    def __init__(self, weigh: Callable[[Conversation, int, Counter], Weight] = weigh_message) -> None:
        self._weigh = weigh
        self._counted: Recent[tuple[bytes, str], int] = Recent(MOST_COUNTED)
        self._layouts: Recent[tuple[str, str], Layout] = Recent(MOST_LAID_OUT)
        self._vocabularies: set[str] = set()

    def uncounted_bytes(self, conversation: Conversation, *, enough: int, so_far: int = 0) -> int:
        """Bytes of the newest messages that nobody has counted; no more than `enough` is looked for.

        More than any body can have where a vocabulary has to be loaded first.

        Args:
            conversation: the request.
            enough: stop looking above this.
            so_far: bytes that are to be counted beside them.
        """
        family, size = family_of(conversation.head.model), so_far
        if family.o200k and family.name not in self._vocabularies:
            return max(enough, so_far) + 1
        for message in reversed(conversation.messages):
            if size > enough or (message.digest, family.name) in self._counted:
                break
            size += len(message.span)
        return size

    def layout(self, name: str, conversation: Conversation, session: Session) -> Layout:
        """Lay a request out as it is sent without a new decision; `name` is the conversation's."""
        key = (name, counter_for(conversation.head.model).name)
        layout = self.laid_out(self._layouts.get(key) or Layout(), conversation, session)
        # The last messages may be those of one of many requests that continue from here.
        self._layouts.note(key, layout.upto(conversation.messages, conversation.known))
        return layout

    def laid_out(self, before: Layout, conversation: Conversation, session: Session) -> Layout:
        """Lay a request out as it would be sent with this session, from a layout of the same conversation."""
        counter = counter_for(conversation.head.model)
        self._vocabularies.add(counter.family.name)
        return before.extended(
            conversation.messages,
            session.edits,
            lambda index: self.tokens(conversation, index, counter),
            scale=counter.family.scale,
            rebuild=session.rebuild,
        )

    def tokens(self, conversation: Conversation, index: int, counter: Counter) -> int:
        """Tokens of one message as the client wrote it, on the counter's scale."""
        key = (conversation.messages[index].digest, counter.family.name)
        found = self._counted.get(key)
        if found is None:
            found = self._weigh(conversation, index, counter).tokens
            self._counted.note(key, found)
        return found


def ends_of(layout: Layout, conversation: Conversation, lineage: Lineage, held: Held) -> Ends:
    """Give the tokens of the prompt up to the end of each message, on the provider's scale."""
    return layout.ends(head_tokens=_head_tokens(layout, conversation, lineage, held), scale=lineage.calibration.scale)


def place_of(refused: Refused, conversation: Conversation) -> int | None:
    """Give the index of the message that a refused request ended with; `None` where it is not in a conversation."""
    found = (i for i in reversed(range(len(conversation.messages))) if conversation.messages[i].chain == refused.chain)
    return next(found, None)


def after_refusal(
    lineage: Lineage, layout: Layout, conversation: Conversation, held: Held, refused: Refused
) -> Lineage:
    """Correct what is known of a conversation by the refusal of its last request.

    It had as many tokens as the provider says, or at least as many as the window that it did not fit into. That is
    taken as its reported prompt, so that what comes behind it is counted from there.

    Args:
        lineage: what replies have told.
        layout: of the request now.
        conversation: the request now.
        held: what the provider is believed to hold.
        refused: the refusal.
    """
    place = place_of(refused, conversation)
    if place is None:
        return lineage
    counted, ends = round(layout.sums[place + 1]), ends_of(layout, conversation, lineage, held)
    told, calibration = refused.told, lineage.calibration
    reported = told.prompt_tokens or max(told.window_tokens or 0, ends[place + 1])
    if told.prompt_tokens is not None and lineage.counted_tokens is not None:
        calibration = calibration.after_turn(
            estimated_before=lineage.counted_tokens,
            reported_before=lineage.counted_prompt_tokens,
            estimated_now=counted,
            reported_now=reported,
        )
    elif told.prompt_tokens is not None:
        calibration = calibration.after(estimated=counted + ends.head_tokens, reported=reported)
    return replace(lineage, calibration=calibration, counted_tokens=counted, counted_prompt_tokens=reported)


def _head_tokens(layout: Layout, conversation: Conversation, lineage: Lineage, held: Held) -> int:
    """Tokens before the first message: what a reported prompt had beyond its messages, else by the bytes."""
    if lineage.counted_prompt_tokens is not None and lineage.counted_tokens is not None:
        return max(0, lineage.counted_prompt_tokens - lineage.calibration.scaled(lineage.counted_tokens))
    if held.tokens is not None:
        inside_tokens = lineage.calibration.scale * layout.sums[held.reported_messages]
        return max(0, round(held.tokens - inside_tokens))
    inside = sum(len(message.span) for message in conversation.messages)
    return max(0, len(conversation.body) - inside) // _BYTES_PER_HEAD_TOKEN
