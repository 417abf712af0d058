"""Say what a provider's cache is believed to hold of a conversation, from what was sent when and what came back.

A conversation is cold where its longest known prefix was sent too long ago, or only ever to another model or behind
another system prompt. Never is it called cold for want of knowledge: after a restart, the ledger's own time counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from coldpress.model.conversation import Conversation
from coldpress.model.records import Belief

MISSES_TO_BELIEVE = 2
"""Replies in a row that read nothing where much was expected, after which a provider counts as not caching."""


class Sent(NamedTuple):
    """A request that went out earlier and that this conversation contains whole.

    Attributes:
        at: when, in seconds since 1970: its reply's end, where one has come.
        messages: how many leading messages of this conversation it showed.
        model: the model it asked.
        head: names its system prompt, to the letter, and its tools.
        entries: prefixes that it left in the cache, in messages: where a read of an edited request can end.
        tokens: its prompt as the provider reported it; `None` before its reply, or where nothing was reported.
    """

    at: float
    messages: int
    model: str | None
    head: bytes
    entries: tuple[int, ...] = ()
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What is known of a conversation's past when a request comes.

    Attributes:
        ancestors: requests that this one contains, the longest first.
        lifetime_seconds: how long an unused prefix is believed to be held; `None` where nothing is known.
        misses: replies in a row that read next to nothing although the prefix was believed to be held.
        last_at: the conversation's last request as the ledger has it, for what this process did not see itself.
        answered_at: when a request of this conversation was last answered, on whatever branch of it, by the model and
            behind the head at hand; 0 where none was.
        elsewhere_at: the newest request of this conversation that others sent, as the ledger has it; `None` where it
            went on here alone.
    """

    ancestors: tuple[Sent, ...] = ()
    lifetime_seconds: float | None = None
    misses: int = 0
    last_at: float | None = None
    answered_at: float = 0.0
    elsewhere_at: float | None = None


@dataclass(frozen=True, slots=True)
class Held:
    """A belief, and the prefix it is about.

    Attributes:
        belief: what is believed.
        messages: how many leading messages are believed to be held, 0 where none are.
        entries: for every prefix that an earlier request left in the cache, how many messages that request had, and
            the prefix in messages.
        tokens: what a provider that still holds the longest prefix sent to the same model behind the same head would
            read of this request, believed or not; `None` where that is not known. It is the prompt of the request that
            ended with the first `reported_messages` messages, as the provider reported it.
    """

    belief: Belief
    messages: int = 0
    entries: tuple[tuple[int, int], ...] = ()
    tokens: int | None = None
    reported_messages: int = 0


def believe(conversation: Conversation, head: bytes, known: Knowledge, *, now: float) -> Held:
    """Judge a request before it goes out.

    Args:
        conversation: the request.
        head: names its system prompt and tools, as in `Sent`.
        known: what came before.
        now: seconds since 1970.
    """
    lifetime = known.lifetime_seconds
    if conversation.last_assistant < 0:
        return Held(Belief("cold", "first_request", None, lifetime))
    fitting = [sent for sent in known.ancestors if sent.model == conversation.head.model and sent.head == head]
    reported = next((sent for sent in fitting if sent.tokens is not None), None)
    tokens, told = (None, 0) if reported is None else (reported.tokens, reported.messages)
    if known.misses >= MISSES_TO_BELIEVE:
        return Held(Belief("cold", "not_caching", _idle(fitting, now), lifetime), tokens=tokens, reported_messages=told)
    others = known.elsewhere_at
    seen_alive = bool(fitting) and lifetime is not None and not _expired(fitting, now, lifetime)
    if others is not None and not seen_alive and (lifetime is None or now - others <= lifetime):
        return Held(Belief("unknown", "restarted", now - others, lifetime), tokens=tokens, reported_messages=told)
    if not fitting and known.ancestors:
        others = any(sent.model != conversation.head.model for sent in known.ancestors[:1])
        return Held(Belief("cold", "model_changed" if others else "head_changed", None, lifetime))
    if not fitting:
        return _from_ledger(known, now)
    idle = _idle(fitting, now)
    if idle is not None and lifetime is not None and idle > lifetime:
        if now - known.answered_at <= lifetime:
            # Other branches went on from here. Whether reading theirs kept this one alive is for the provider to know.
            return Held(Belief("unknown", "other_branch", idle, lifetime))
        return Held(Belief("cold", "idle", idle, lifetime), tokens=tokens, reported_messages=told)
    if _alternates(known.ancestors, fitting, since=now - (inf if lifetime is None else lifetime)):
        return Held(Belief("unknown", "alternating", idle, lifetime), tokens=tokens, reported_messages=told)
    entries = tuple((sent.messages, entry) for sent in fitting for entry in sent.entries)
    # What others sent meanwhile is held as well, and text in it is not free to change.
    messages = max(sent.messages for sent in fitting)
    if others is not None:
        messages = max(messages, sent_by_others(conversation, known.ancestors[0].messages) or 0)
    return Held(Belief("warm", "within_lifetime", idle, lifetime), messages, entries, tokens, told)


def sent_by_others(conversation: Conversation, messages: int) -> int | None:
    """Tell how far a conversation went on without being seen here: others served it, or its client rewrote it.

    Args:
        conversation: the request.
        messages: leading messages of the longest request that was seen.

    Returns:
        How many messages the request before this one had; `None` where the model has spoken at most once since.
    """
    listed = conversation.messages
    spoken = [
        index
        for index in range(messages, len(listed))
        if listed[index].role == "assistant" and (index == 0 or listed[index - 1].role != "assistant")
    ]
    return spoken[-1] if len(spoken) > 1 else None


def _alternates(ancestors: Sequence[Sent], fitting: Sequence[Sent], *, since: float) -> bool:
    """Whether the conversation came back to its model and head from others whose prefix is still alive.

    It is likely to go to those again, and a cut would have to be paid for in each of their caches.
    """
    left_at, own = fitting[-1].messages, (fitting[-1].model, fitting[-1].head)
    return any(sent.messages > left_at and sent.at >= since and (sent.model, sent.head) != own for sent in ancestors)


def _from_ledger(known: Knowledge, now: float) -> Held:
    if known.last_at is None or known.lifetime_seconds is None:
        return Held(Belief("unknown", "restarted", None, known.lifetime_seconds))
    idle = now - known.last_at
    if idle > known.lifetime_seconds:
        return Held(Belief("cold", "idle", idle, known.lifetime_seconds))
    return Held(Belief("unknown", "restarted", idle, known.lifetime_seconds))


def _expired(fitting: Sequence[Sent], now: float, lifetime: float) -> bool:
    idle = _idle(fitting, now)
    return idle is not None and idle > lifetime


def _idle(fitting: Sequence[Sent], now: float) -> float | None:
    """Seconds since any of these was sent: each of them kept the prefixes inside it alive."""
    return max(0.0, now - max(sent.at for sent in fitting)) if fitting else None
