"""What this process remembers of conversations and of the caches that hold them: what was sent when, what came back."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from coldpress.engine.belief import Held, Knowledge, Sent
from coldpress.measure.calibration import Calibration
from coldpress.measure.lifetime import Lifetime
from coldpress.model.conversation import Conversation, Head
from coldpress.model.usage import Usage

MOST_LINEAGES = 10_000
"""Conversations of which something is remembered."""

MOST_SENT = 50_000
"""Requests whose place in their conversation is remembered, about 300 bytes each."""

_VARIANTS = 4
_MOST_ANCESTORS = 32
_LITTLE = 0.1
_NEARLY_ALL = 0.9
"""Less may be the system prompt alone, which other conversations keep warm."""

SMALLEST_PREFIX_TOKENS = 4_608
"""A shorter prefix may be too short for a provider's cache (4,096 tokens at the most): its absence proves nothing."""

LifetimeKey = tuple[str, str | None, bool]
"""Provider, model, and whether the client's marks ask for the long lifetime."""

K = TypeVar("K")
V = TypeVar("V")


UNCALIBRATED = Calibration()


@dataclass(frozen=True, slots=True)
class Lineage:
    """One conversation, as far as replies have told.

    Attributes:
        head: names the system prompt as last seen, to the letter.
        misses: replies in a row that read next to nothing although much was expected.
        stopped: the provider has dropped reasoning after an edit; no new edits are made.
        reads_reported: whether the last reply said what it read; `None` before the first reply.
        long_writes: whether the client's marks ask for the long lifetime.
        prompt_tokens: the prompt of the last reply as the provider reported it, `None` where unknown.
        counted_tokens: its messages as sent, as we counted them, `None` where nobody did.
        calibration: reported tokens for one of ours.
        last_at: the newest request that the ledger knows, from before this process.
        traced: the ledger was asked.
    """

    head: bytes = b""
    misses: int = 0
    stopped: bool = False
    reads_reported: bool | None = None
    long_writes: bool = False
    prompt_tokens: int | None = None
    counted_tokens: int | None = None
    calibration: Calibration = UNCALIBRATED
    last_at: float | None = None
    traced: bool = False


@dataclass(frozen=True, slots=True)
class _Place:
    """A request that ended at some message: when it was sent, to which model, behind which head, and what it left."""

    at: float
    model: str | None
    head: bytes
    entries: tuple[int, ...]


class Recent(OrderedDict[K, V]):
    """A dictionary that forgets what was used longest ago."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def note(self, key: K, value: V) -> None:
        """Keep a value as the most recently used."""
        self[key] = value
        self.move_to_end(key)
        if len(self) > self._most:
            self.popitem(last=False)


@dataclass(slots=True)
class Memory:
    """The memory of one driver; safe to use from any thread."""

    _lineages: Recent[str, Lineage] = field(default_factory=lambda: Recent(MOST_LINEAGES))
    _sent: Recent[bytes, tuple[_Place, ...]] = field(default_factory=lambda: Recent(MOST_SENT))
    _lifetimes: Recent[LifetimeKey, Lifetime] = field(default_factory=lambda: Recent(1_000))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def lineage(self, name: str) -> Lineage:
        """What is known of a conversation."""
        with self._lock:
            return self._lineages.get(name) or Lineage()

    def change(self, name: str, how: Callable[[Lineage], Lineage]) -> None:
        """Learn something about a conversation."""
        with self._lock:
            self._lineages.note(name, how(self._lineages.get(name) or Lineage()))

    def note_sent(self, conversation: Conversation, *, at: float, entries: tuple[int, ...]) -> None:
        """Remember that a request goes out, and the prefixes that it leaves in the cache."""
        if not conversation.messages:
            return
        place = _Place(at, conversation.head.model, head_name(conversation.head), entries)
        with self._lock:
            chain = conversation.messages[-1].chain
            others = (p for p in self._sent.get(chain, ()) if (p.model, p.head) != (place.model, place.head))
            self._sent.note(chain, (place, *others)[:_VARIANTS])

    def forget_sent(self, chain: bytes, *, at: float) -> None:
        """Take back that a request went out: the provider did not take it, so it keeps nothing of it."""
        with self._lock:
            kept = tuple(place for place in self._sent.get(chain, ()) if place.at != at)
            if kept:
                self._sent[chain] = kept
            else:
                self._sent.pop(chain, None)

    def ancestors(self, conversation: Conversation) -> tuple[Sent, ...]:
        """Find the requests that this one contains, the longest first: back to one with its model and head, and more.

        At most 32 are given: enough to say where reads can end.
        """
        found: list[Sent] = []
        with self._lock:
            for index in range(len(conversation.messages) - 1, -1, -1):
                for place in self._sent.get(conversation.messages[index].chain, ()):
                    found.append(Sent(place.at, index + 1, place.model, place.head, place.entries))
                if len(found) >= _MOST_ANCESTORS:
                    break
        return tuple(found)

    def knowledge(
        self, conversation: Conversation, lineage: Lineage, key: LifetimeKey, *, documented: float | None
    ) -> Knowledge:
        """Put together what is known when a request comes."""
        with self._lock:
            lifetime = self._lifetimes.get(key) or Lifetime(documented)
        return Knowledge(self.ancestors(conversation), lifetime.seconds, lineage.misses, lineage.last_at)

    def learn_lifetime(self, key: LifetimeKey, held: Held, read_tokens: int, *, documented: float | None) -> None:
        """Compare what a reply read after a pause with what it would have read of a prefix that is still held."""
        belief = held.belief
        expected, idle = held.tokens, belief.idle_seconds
        if idle is None or expected is None or expected < SMALLEST_PREFIX_TOKENS or belief.why == "not_caching":
            return
        with self._lock:
            known = self._lifetimes.get(key) or Lifetime(documented)
            if read_tokens >= _NEARLY_ALL * expected:
                known = known.hit(idle)
            elif read_tokens < _LITTLE * expected:
                known = known.missed(idle)
            self._lifetimes.note(key, known)


def after_reply(
    lineage: Lineage, held: Held, *, usage: Usage, context_tokens: int | None, counted_tokens: int | None
) -> Lineage:
    """Take note of what a reply reported."""
    prompt = context_tokens if context_tokens is not None else usage.prompt
    calibration = lineage.calibration.after_turn(
        estimated_before=lineage.counted_tokens,
        reported_before=lineage.prompt_tokens,
        estimated_now=counted_tokens,
        reported_now=prompt,
    )
    return replace(
        lineage,
        calibration=calibration,
        prompt_tokens=prompt,
        counted_tokens=counted_tokens,
        reads_reported=usage.read is not None,
        long_writes=bool(usage.write_long) or (lineage.long_writes and not usage.write_short),
        misses=_misses(lineage.misses, held, usage.read),
    )


def _misses(before: int, held: Held, read_tokens: int | None) -> int:
    """Count replies in a row that read next to nothing of a prefix that was believed to be held."""
    if read_tokens is None:
        return before
    expected = held.tokens or 0
    if expected >= SMALLEST_PREFIX_TOKENS and read_tokens < _LITTLE * expected:
        idle_cold = held.belief.state == "cold" and held.belief.why != "not_caching"
        return before if idle_cold else before + 1
    return 0


def head_name(head: Head) -> bytes:
    """Name everything that stands before the messages, to the letter of the system prompt."""
    return hashlib.sha256(head.exact + "\0".join(head.tools).encode()).digest()
