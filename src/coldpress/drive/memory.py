"""What this process remembers of conversations and of the caches that hold them: what was sent when, what came back."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TypeVar

from coldpress.engine.belief import Held, Knowledge, Sent
from coldpress.measure.calibration import Calibration
from coldpress.measure.lifetime import Lifetime
from coldpress.model.conversation import Conversation, Head, ToolName
from coldpress.model.overflow import Overflow
from coldpress.model.usage import Usage

MOST_LINEAGES = 10_000
"""Conversations of which something is remembered."""

MOST_WINDOWS = 1_000
"""Models whose window a refusal has told."""

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

Asked = tuple[str, str | None]
"""Provider and model: who has a window."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A request that was too long for the window of `asked`: the chain of its last message, and what was told."""

    chain: bytes
    asked: Asked
    told: Overflow


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
        counted_tokens: messages of the last request that was counted, as sent and as we counted them; `None` before
            one was. `counted_prompt_tokens` is its whole prompt, as reported.
        calibration: reported tokens for one of ours.
        last_at: the newest request that the ledger knows, from before this process.
        traced: the ledger was asked.
        sent_at: the newest request that this process sent, 0 before one.
        refused: the last request, where it was too long; `None` once one was taken.
        earlier_tokens: prompt of the newest request that the ledger knows, as reported; `None` where there is none.
        reply_id: the provider's name for the reply to that request, `reply_from` the provider.
    """

    head: bytes = b""
    misses: int = 0
    stopped: bool = False
    reads_reported: bool | None = None
    long_writes: bool = False
    prompt_tokens: int | None = None
    counted_tokens: int | None = None
    counted_prompt_tokens: int | None = None
    calibration: Calibration = UNCALIBRATED
    last_at: float | None = None
    traced: bool = False
    sent_at: float = 0.0
    refused: Refused | None = None
    earlier_tokens: int | None = None
    reply_id: str | None = None
    reply_from: str = ""


@dataclass(frozen=True, slots=True)
class _Place:
    """A request that ended at some message: when it was sent, to which model, behind which head, and what it left.

    `lineage` names its conversation. `tokens` is its prompt as reported, `None` before that. `earlier` is when the same
    request was sent before, which is what holds if this one fails. `replied_at` is when its reply had come, 0 where
    none has: the lifetime of what it left begins then (docs/explanation/cache.md).
    """

    at: float
    model: str | None
    head: bytes
    entries: tuple[int, ...]
    lineage: str
    tokens: int | None = None
    earlier: float | None = None
    replied_at: float = 0.0

    @property
    def asked(self) -> tuple[str | None, bytes]:
        """Which cache it is about."""
        return self.model, self.head


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
    _answered: Recent[tuple[str, str | None, bytes], float] = field(default_factory=lambda: Recent(MOST_LINEAGES))
    _lifetimes: Recent[LifetimeKey, Lifetime] = field(default_factory=lambda: Recent(1_000))
    _stopped: Recent[bytes, None] = field(default_factory=lambda: Recent(MOST_LINEAGES))
    _windows: Recent[Asked, int] = field(default_factory=lambda: Recent(MOST_WINDOWS))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def lineage(self, name: str) -> Lineage:
        """What is known of a conversation."""
        with self._lock:
            return self._lineages.get(name) or Lineage()

    def change(self, name: str, how: Callable[[Lineage], Lineage]) -> None:
        """Learn something about a conversation."""
        with self._lock:
            self._lineages.note(name, how(self._lineages.get(name) or Lineage()))

    def note_sent(self, conversation: Conversation, *, name: str, at: float, entries: tuple[int, ...]) -> None:
        """Remember that a request of the conversation of this name goes out, and the prefixes that it leaves behind."""
        if not conversation.messages:
            return
        place = _Place(at, conversation.head.model, head_name(conversation.head), entries, name)
        with self._lock:
            chain = conversation.messages[-1].chain
            held = self._sent.get(chain, ())
            same = next((p for p in held if p.asked == place.asked), None)
            if same is not None:
                place = replace(place, tokens=same.tokens, earlier=same.at)
            others = (p for p in held if p.asked != place.asked)
            self._sent.note(chain, (place, *others)[:_VARIANTS])

    def earlier_name(self, conversation: Conversation) -> str | None:
        """Find under which name a conversation went on before its system prompt changed, if this process saw that."""
        with self._lock:
            for message in reversed(conversation.messages):
                for place in self._sent.get(message.chain, ()):
                    return place.lineage
        return None

    def stop(self, root: bytes) -> None:
        """Make no new edits in the conversations that begin with this message, whatever system prompt they get."""
        with self._lock:
            self._stopped.note(root, None)

    def is_stopped(self, root: bytes) -> bool:
        """Whether `stop` was said of it."""
        with self._lock:
            return root in self._stopped

    def window(self, asked: Asked) -> int | None:
        """The window in tokens that a refusal told, `None` where none did."""
        with self._lock:
            return self._windows.get(asked)

    def learn_window(self, asked: Asked, tokens: int) -> None:
        """Remember a window that a refusal told; the newest word holds."""
        with self._lock:
            self._windows.note(asked, tokens)

    def note_refused(self, name: str, refused: Refused) -> None:
        """Remember that the last request of the conversation of this name was too long, and what that told."""
        self.change(name, lambda known: replace(known, refused=refused))
        if refused.told.window_tokens is not None:
            self.learn_window(refused.asked, refused.told.window_tokens)

    def note_taken(self, name: str, asked: Asked, *, tokens: int | None) -> None:
        """Take note that a prompt was taken; a window that is smaller than it was told wrong, or is another by now."""
        if self.lineage(name).refused is not None:
            self.change(name, lambda known: replace(known, refused=None))
        with self._lock:
            if tokens is not None and tokens > self._windows.get(asked, tokens):
                del self._windows[asked]

    def was_sent(self, chain: bytes) -> bool:
        """Whether a request that ended with this message went out before, and was not refused."""
        with self._lock:
            return chain in self._sent

    def note_answered(self, name: str, model: str | None, head: bytes, *, at: float) -> None:
        """Note that a request was taken: it has read, and so kept alive, what shorter ones of its conversation left."""
        with self._lock:
            asked = (name, model, head)
            self._answered.note(asked, max(at, self._answered.get(asked, 0.0)))

    def note_reply(self, chain: bytes, *, at: float, replied_at: float, tokens: int | None) -> None:
        """Note when the reply to a request that went out at `at` had come, and how many tokens its prompt had."""
        with self._lock:
            places = self._sent.get(chain, ())
            if any(place.at == at for place in places):
                self._sent[chain] = tuple(_replied(p, replied_at, tokens) if p.at == at else p for p in places)

    def forget_sent(self, chain: bytes, *, at: float) -> None:
        """Take back that a request went out: the provider did not take it, so it keeps nothing of it."""
        with self._lock:
            places = (_without(place, at) for place in self._sent.get(chain, ()))
            kept = tuple(place for place in places if place is not None)
            if kept:
                self._sent[chain] = kept
            else:
                self._sent.pop(chain, None)

    def ancestors(self, conversation: Conversation) -> tuple[Sent, ...]:
        """Find the requests that this one contains, the longest first: back to one with its model and head, and more.

        No more than 32 are given, which is enough to say where reads can end, unless that one lies further back.
        """
        found: list[Sent] = []
        asked, fits = (conversation.head.model, head_name(conversation.head)), False
        with self._lock:
            for index in range(len(conversation.messages) - 1, -1, -1):
                for place in self._sent.get(conversation.messages[index].chain, ()):
                    fits = fits or place.asked == asked
                    if len(found) < _MOST_ANCESTORS or place.asked == asked:
                        at = max(place.at, place.replied_at)
                        found.append(Sent(at, index + 1, *place.asked, place.entries, place.tokens))
                if fits and len(found) >= _MOST_ANCESTORS:
                    break
        return tuple(found)

    def knowledge(
        self, conversation: Conversation, name: str, key: LifetimeKey, *, documented: float | None
    ) -> Knowledge:
        """Put together what is known when a request comes of the conversation of this name."""
        lineage, asked = self.lineage(name), (name, conversation.head.model, head_name(conversation.head))
        with self._lock:
            lifetime = self._lifetimes.get(key) or Lifetime(documented)
            answered_at = self._answered.get(asked, 0.0)
        known = self.ancestors(conversation)
        return Knowledge(known, lifetime.seconds, lineage.misses, lineage.last_at, answered_at)

    def lifetime(self, key: LifetimeKey, *, documented: float | None) -> float | None:
        """How long an unused prefix is believed to be held, in seconds; `None` where nothing is known."""
        with self._lock:
            return (self._lifetimes.get(key) or Lifetime(documented)).seconds

    def learn_lifetime(
        self,
        key: LifetimeKey,
        held: Held,
        read_tokens: int,
        *,
        documented: float | None,
        promised: float | None = None,
        explained: bool = False,
    ) -> None:
        """Compare what a reply read after a pause with what it would have read of a prefix that is still held.

        Where a small read is explained by what was sent otherwise it tells nothing of the prefix.
        """
        belief = held.belief
        expected, idle = held.tokens, belief.idle_seconds
        if idle is None or expected is None or expected < SMALLEST_PREFIX_TOKENS or belief.why == "not_caching":
            return
        with self._lock:
            known = self._lifetimes.get(key) or Lifetime(documented)
            if read_tokens >= _NEARLY_ALL * expected:
                known = known.hit(idle)
            elif read_tokens < _LITTLE * expected and not explained:
                known = known.missed(idle, promised_seconds=promised)
            self._lifetimes.note(key, known)


def _replied(place: _Place, at: float, tokens: int | None) -> _Place:
    return replace(place, replied_at=at, tokens=place.tokens if tokens is None else tokens)


def _without(place: _Place, at: float) -> _Place | None:
    """What is left of a place if what was sent at a moment did not count."""
    if place.at != at:
        return place
    return None if place.earlier is None else replace(place, at=place.earlier, earlier=None)


def after_reply(
    lineage: Lineage,
    held: Held,
    *,
    usage: Usage,
    context_tokens: int | None,
    counted_tokens: int | None,
    explained: bool = False,
) -> Lineage:
    """Take note of what a reply reported; `explained` where a small read comes from what was sent."""
    prompt = context_tokens if context_tokens is not None else usage.prompt
    misses = _misses(lineage.misses, held, usage.read)
    calibration = lineage.calibration.after_turn(
        estimated_before=lineage.counted_tokens,
        reported_before=lineage.counted_prompt_tokens,
        estimated_now=counted_tokens,
        reported_now=prompt,
    )
    return replace(
        lineage,
        calibration=calibration,
        prompt_tokens=prompt,
        # Requests in between that nobody counted change nothing: what was added since then is compared.
        counted_tokens=lineage.counted_tokens if counted_tokens is None else counted_tokens,
        counted_prompt_tokens=lineage.counted_prompt_tokens if counted_tokens is None else prompt,
        reads_reported=usage.read is not None,
        long_writes=bool(usage.write_long) or (lineage.long_writes and not usage.write_short),
        misses=min(misses, lineage.misses) if explained else misses,
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
    """Name everything outside the messages that their cache depends on, to the letter of the system prompt."""
    return _head_name(head.exact + head.settings, head.tools)


@lru_cache(MOST_LINEAGES)
def _head_name(exact: bytes, tools: tuple[ToolName, ...]) -> bytes:
    return hashlib.sha256(exact + "\0".join(tools).encode()).digest()
