"""Simulate a provider's prefix cache: which part of a prompt is read, which written, which paid in full.

A prompt is a row of pieces in the order the model sees them: tools, system, messages. A piece is known by a digest
of its content, so one changed byte changes every prefix from there on. Time is an argument.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from coldpress.measure.cache_rules import CacheRules, Life
from coldpress.model.usage import Usage

Part = Literal["tools", "system", "messages"]


@dataclass(frozen=True, slots=True)
class Piece:
    """One cacheable unit of a prompt: a content block where the provider has marks, any short run of text elsewhere.

    Attributes:
        digest: names the content, without its cache mark.
        tokens: its length.
        mark: asks for an entry that ends with this piece, and for how long.
        part: where in the prompt it stands.
    """

    digest: bytes
    tokens: int
    mark: Life | None = None
    part: Part = "messages"


@dataclass(frozen=True, slots=True)
class Chained:
    """A prompt as a cache knows it: the name of every prefix that ends with a piece.

    Attributes:
        keys: of the prefixes, in order; those of the reply, as the next prompt will carry it, follow in `reply`.
        totals: tokens up to the end of each.
        marks: index of every piece that asks for an entry, and for how long.
    """

    keys: list[bytes]
    totals: list[int]
    marks: tuple[tuple[int, Life], ...] = ()
    reply: tuple[bytes, ...] = ()

    @property
    def tokens(self) -> int:
        """Of the whole prompt."""
        return self.totals[-1] if self.totals else 0


@dataclass(slots=True)
class _Entry:
    """A kept prefix: readable from one moment on, until its lifetime has passed since it was last used."""

    readable_from: float
    used_at: float
    seconds: float

    def readable(self, now: float) -> bool:
        return self.readable_from <= now < self.used_at + self.seconds


def messages_scope(*, tool_choice: str, thinking: str, pictures: bool) -> bytes:
    """Name the settings that stand outside the prompt and yet, when they change, cost the messages their cache.

    Args:
        tool_choice: the request's tool choice, in any fixed spelling.
        thinking: its thinking parameters, likewise.
        pictures: whether any picture stands in the prompt.
    """
    return hashlib.sha256(f"{tool_choice}\0{thinking}\0{pictures:d}".encode("utf-8", "surrogatepass")).digest()


class PrefixCache:
    """One provider's cache of one organisation, filled by the requests sent to it.

    Not modelled: entries that go before their time or stay longer, requests that reach another server than the
    last one did, and what other clients of the organisation keep alive.
    """

    def __init__(self, rules: CacheRules, *, short_seconds: float | None = None) -> None:
        """Begin empty.

        Args:
            rules: how the provider caches.
            short_seconds: lifetime to assume instead of the published one; needed where none is published.

        Raises:
            ValueError: the provider publishes no lifetime and none was given.
        """
        assumed = rules.short_seconds if short_seconds is None else short_seconds
        if assumed is None:
            raise ValueError(f"{rules.name} publishes no lifetime of its cache; say short_seconds")
        self._rules = rules
        self._short_seconds = assumed
        self._entries: dict[bytes, _Entry] = {}
        self._seen: dict[bytes, float] = {}
        self._forget_at = float("inf")

    def send(
        self,
        pieces: Sequence[Piece],
        *,
        scope: bytes,
        now: float,
        messages_scope: bytes = b"",
        answered_at: float | None = None,
        reply: Sequence[Piece] = (),
    ) -> Usage:
        """Send one prompt: split its tokens and remember what it leaves behind.

        Args:
            pieces: the whole prompt.
            scope: what must be equal for entries to be shared at all, such as the model's name.
            now: when it was sent, in seconds on any clock; not before the last prompt's.
            messages_scope: settings outside the prompt, see `messages_scope`.
            answered_at: when the reply came. Entries are readable and their lifetimes run from then on, so a
                prompt that is sent before finds nothing of this one. At once where not given.
            reply: what the model answered, as the next prompt will carry it; matters where replies are kept.

        Returns:
            The prompt's buckets; `output` stays `None`. Writes are reported only by caches with marks.

        Raises:
            ValueError: more marks than a request may carry.
        """
        chain = self._chain(scope, messages_scope, [*pieces, *reply])
        marks = tuple((index, piece.mark) for index, piece in enumerate(pieces) if piece.mark is not None)
        prompt = Chained(chain[: len(pieces)], _running_tokens(pieces), marks, tuple(chain[len(pieces) :]))
        return self.sent(prompt, now=now, answered_at=answered_at)

    def sent(self, prompt: Chained, *, now: float, answered_at: float | None = None) -> Usage:
        """Send a prompt whose prefixes have names already; arguments, result and errors as of `send`."""
        rules = self._rules
        if rules.kind == "marks" and len(prompt.marks) > rules.max_marks:
            raise ValueError(f"a prompt carries at most {rules.max_marks} cache marks, this one {len(prompt.marks)}")
        done = now if answered_at is None else max(now, answered_at)
        self._forget(now)
        match rules.kind:
            case "marks":
                return self._marks(prompt, now, done)
            case "steps":
                return self._steps(prompt, now, done)
            case "units":
                return self._units(prompt, now, done)
            case "none":
                return Usage(fresh=prompt.tokens, read=0)

    def _marks(self, prompt: Chained, now: float, done: float) -> Usage:
        chain, totals = prompt.keys, prompt.totals
        lives = {index: life for index, life in prompt.marks if totals[index] >= self._rules.minimum_tokens}
        if self._rules.marks_end and totals and totals[-1] >= self._rules.minimum_tokens:
            lives.setdefault(len(totals) - 1, "short")
        hit = self._find(chain, sorted(lives), now)
        if self._rules.refreshed:
            self._refresh(chain[: hit + 1], now, done)
        written: dict[Life, int] = {"short": 0, "long": 0}
        paid = read = totals[hit] if hit >= 0 else 0
        for index, life in sorted(lives.items()):
            if index <= hit:
                continue
            written[life] += totals[index] - paid
            paid = totals[index]
            self._keep(chain[index], self._seconds(life), now, done)
        return Usage(fresh=prompt.tokens - paid, read=read, write_short=written["short"], write_long=written["long"])

    def _find(self, chain: Sequence[bytes], marks: Sequence[int], now: float) -> int:
        """Index of the last piece of the longest prefix some mark can see, -1 for none."""
        back = self._rules.lookback_blocks
        for mark in reversed(marks):
            for index in range(mark, -1 if back is None else max(-1, mark - back), -1):
                if self._is_readable(chain[index], now):
                    return index
        return -1

    def _steps(self, prompt: Chained, now: float, done: float) -> Usage:
        matched = 0
        for key, total in zip(prompt.keys, prompt.totals, strict=True):
            if not self._is_readable(key, now):
                break
            matched = total
        for key in (*prompt.keys, *prompt.reply) if self._rules.keeps_replies else prompt.keys:
            self._keep(key, self._short_seconds, now, done)
        return self._read(matched - matched % self._rules.step_tokens, prompt)

    def _units(self, prompt: Chained, now: float, done: float) -> Usage:
        chain, totals, seen = prompt.keys, prompt.totals, self._seen
        last = next((place for place in range(len(chain) - 1, -1, -1) if self._is_readable(chain[place], now)), -1)
        self._refresh(chain[: last + 1], now, done)
        # What two prompts begin with becomes a unit of its own, for the third.
        shared = (key for key in reversed(chain) if key in seen and seen[key] <= now < seen[key] + self._short_seconds)
        for key in (*islice(shared, 1), *chain[-1:], *prompt.reply[-1:]):
            self._keep(key, self._short_seconds, now, done)
        seen.update(dict.fromkeys(chain, done))
        return self._read(totals[last] if last >= 0 else 0, prompt)

    def _read(self, read: int, prompt: Chained) -> Usage:
        if read < self._rules.minimum_tokens:
            read = 0
        return Usage(fresh=prompt.tokens - read, read=read)

    def _is_readable(self, key: bytes, now: float) -> bool:
        entry = self._entries.get(key)
        return entry is not None and entry.readable(now)

    def _keep(self, key: bytes, seconds: float, now: float, done: float) -> None:
        """Remember an entry; one that is there already stays readable and keeps the longer life."""
        held = self._entries.get(key)
        self._forget_at = min(self._forget_at, done + seconds)
        if held is None or now >= held.used_at + held.seconds:
            self._entries[key] = _Entry(done, done, seconds)
        else:
            held.readable_from = min(held.readable_from, done)
            held.used_at, held.seconds = max(held.used_at, done), max(held.seconds, seconds)

    def _refresh(self, keys: Sequence[bytes], now: float, done: float) -> None:
        """Start the lifetime of every entry along a read prefix again, at no cost."""
        for key in filter(self._entries.__contains__, keys):
            entry = self._entries[key]
            if entry.readable(now):
                entry.used_at = max(entry.used_at, done)

    def _seconds(self, life: Life) -> float:
        return self._rules.long_seconds or self._short_seconds if life == "long" else self._short_seconds

    def _forget(self, now: float) -> None:
        """Drop what nobody can read any more; nothing is looked at before anything can have come to its end."""
        if now < self._forget_at:
            return
        self._entries = {key: one for key, one in self._entries.items() if one.used_at + one.seconds > now}
        self._seen = {key: at for key, at in self._seen.items() if at + self._short_seconds > now}
        ends = [one.used_at + one.seconds for one in self._entries.values()]
        self._forget_at = min((*ends, *(at + self._short_seconds for at in self._seen.values())), default=float("inf"))

    def _chain(self, scope: bytes, settings: bytes, pieces: Sequence[Piece]) -> list[bytes]:
        """Name every prefix: the i-th name stands for the pieces up to and including i."""
        link = hashlib.sha256(scope).digest()
        settled = False
        chain = []
        for piece in pieces:
            if not settled and (piece.part == "messages" or not self._rules.tiered):
                link = hashlib.sha256(link + settings).digest()
                settled = True
            link = hashlib.sha256(link + hashlib.sha256(piece.digest).digest()).digest()
            chain.append(link)
        return chain


def _running_tokens(pieces: Sequence[Piece]) -> list[int]:
    totals = []
    total = 0
    for piece in pieces:
        total += piece.tokens
        totals.append(total)
    return totals
