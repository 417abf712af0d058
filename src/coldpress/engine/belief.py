"""Say what a provider's cache is believed to hold of a conversation, from what was sent when and what came back.

A conversation is cold where its longest known prefix was sent too long ago, or only ever to another model or behind
another system prompt. Never is it called cold for want of knowledge: after a restart, the ledger's own time counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coldpress.model.conversation import Conversation
from coldpress.model.records import Belief

MISSES_TO_BELIEVE = 2
"""Replies in a row that read nothing where much was expected, after which a provider counts as not caching."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A request that went out earlier and that this conversation contains whole.

    Attributes:
        at: when, in seconds since 1970.
        messages: how many leading messages of this conversation it showed.
        model: the model it asked.
        head: names its system prompt, to the letter, and its tools.
        entries: prefixes that it left in the cache, in messages: where a read of an edited request can end.
    """

    at: float
    messages: int
    model: str | None
    head: bytes
    entries: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What is known of a conversation's past when a request comes.

    Attributes:
        ancestors: requests that this one contains, the longest first.
        lifetime_seconds: how long an unused prefix is believed to be held; `None` where nothing is known.
        misses: replies in a row that read next to nothing although the prefix was believed to be held.
        last_at: the conversation's last request as the ledger has it, for what this process did not see itself.
    """

    ancestors: tuple[Sent, ...] = ()
    lifetime_seconds: float | None = None
    misses: int = 0
    last_at: float | None = None


@dataclass(frozen=True, slots=True)
class Held:
    """A belief, and the prefix it is about.

    Attributes:
        belief: what is believed.
        messages: how many leading messages are believed to be held, 0 where none are.
        entries: for every prefix that an earlier request left in the cache, how many messages that request had, and
            the prefix in messages.
        tokens: what a provider that still holds the prefix sent last would read of this request, believed or not;
            `None` where that is not known.
    """

    belief: Belief
    messages: int = 0
    entries: tuple[tuple[int, int], ...] = ()
    tokens: int | None = None


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
    if known.misses >= MISSES_TO_BELIEVE:
        return Held(Belief("cold", "not_caching", _idle(fitting, now), lifetime))
    if not fitting and known.ancestors:
        others = any(sent.model != conversation.head.model for sent in known.ancestors[:1])
        return Held(Belief("cold", "model_changed" if others else "head_changed", None, lifetime))
    if not fitting:
        return _from_ledger(known, now)
    idle = _idle(fitting, now)
    if idle is not None and lifetime is not None and idle > lifetime:
        return Held(Belief("cold", "idle", idle, lifetime))
    entries = tuple((sent.messages, entry) for sent in fitting for entry in sent.entries)
    return Held(Belief("warm", "within_lifetime", idle, lifetime), max(sent.messages for sent in fitting), entries)


def _from_ledger(known: Knowledge, now: float) -> Held:
    if known.last_at is None or known.lifetime_seconds is None:
        return Held(Belief("unknown", "restarted", None, known.lifetime_seconds))
    idle = now - known.last_at
    if idle > known.lifetime_seconds:
        return Held(Belief("cold", "idle", idle, known.lifetime_seconds))
    return Held(Belief("unknown", "restarted", idle, known.lifetime_seconds))


def _idle(fitting: Sequence[Sent], now: float) -> float | None:
    """Seconds since any of these was sent: each of them kept the prefixes inside it alive."""
    return max(0.0, now - max(sent.at for sent in fitting)) if fitting else None
