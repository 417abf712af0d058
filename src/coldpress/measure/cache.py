"""Simulate a provider's prefix cache: which part of a prompt is read, which written, which paid in full.

A prompt is a row of pieces in the order the model sees them (tools, then system, then messages). A piece is
known by a digest of its content, so one changed byte changes every prefix from there on. Time is an argument.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from coldpress.model.usage import Usage

Ttl = Literal["5m", "1h"]
TTL_SECONDS: Final[dict[Ttl, int]] = {"5m": 300, "1h": 3600}

MAX_MARKS: Final = 4
LOOKBACK_BLOCKS: Final = 20

_MINIMUM_TOKENS: Final = (
    (re.compile(r"opus-4-[56]|haiku-4-5"), 4096),
    (re.compile(r"opus-4-7"), 2048),
    (re.compile(r"(opus|fable|mythos)-5(?!-\d\b)"), 512),
)
"""Shortest cacheable prompt by model, where it is not 1024; from the provider's pages as of 2026-11-30.

The 5.1 to 5.5 models are not listed there and count as 1024.
"""


@dataclass(frozen=True, slots=True)
class Piece:
    """One cacheable unit of a prompt: a content block at Anthropic, any short run of text elsewhere.

    `digest` names the content without its cache mark; `mark` asks for an entry that ends with this piece.
    """

    digest: bytes
    tokens: int
    mark: Ttl | None = None


@dataclass(slots=True)
class _Entry:
    expires_at: float
    ttl_seconds: float


def minimum_tokens(model: str) -> int:
    """Tokens a prefix must have before Anthropic caches it, by model name; 1024 for a model not listed.

    >>> [minimum_tokens(f"claude-{name}") for name in ("haiku-4-5-20251001", "sonnet-4-5", "opus-5", "opus-5-5")]
    [4096, 1024, 512, 1024]
    """
    for pattern, tokens in _MINIMUM_TOKENS:
        if pattern.search(model):
            return tokens
    return 1024


class MarkedCache:
    """A cache with explicit marks, as Anthropic documents its own.

    An entry ends exactly at a marked piece. Each mark looks for an older entry at its own place and the 19 places
    before it, so an entry further back than that is not found. A read keeps every entry along the read
    prefix alive for its own lifetime again, at no cost.
    """

    def __init__(self, *, lookback_blocks: int = LOOKBACK_BLOCKS) -> None:
        self._lookback_blocks = lookback_blocks
        self._entries: dict[bytes, _Entry] = {}

    def send(self, pieces: Sequence[Piece], *, scope: bytes, minimum_tokens: int, now: float) -> Usage:
        """Send one prompt: split its tokens and remember what it wrote.

        Args:
            pieces: the whole prompt; at most four carry a mark.
            scope: what must be equal for entries to be shared at all, such as the model's name.
            minimum_tokens: a mark on a shorter prefix is ignored.
            now: seconds on any clock that does not run backwards.

        Returns:
            The four prompt buckets; `output` stays `None`.

        Raises:
            ValueError: more than four marks.
        """
        if sum(piece.mark is not None for piece in pieces) > MAX_MARKS:
            raise ValueError(f"a prompt carries at most {MAX_MARKS} cache marks")
        self._forget(now)
        chain = _chain(scope, pieces)
        total = _running_tokens(pieces)
        marks = [i for i, piece in enumerate(pieces) if piece.mark is not None and total[i] >= minimum_tokens]
        hit = self._find(chain, marks)
        for index in range(hit + 1):
            if (entry := self._entries.get(chain[index])) is not None:
                entry.expires_at = now + entry.ttl_seconds
        written: dict[Ttl, int] = {"5m": 0, "1h": 0}
        done = total[hit] if hit >= 0 else 0
        read = done
        for index in marks:
            ttl = pieces[index].mark
            if index <= hit or ttl is None:
                continue
            written[ttl] += total[index] - done
            done = total[index]
            self._entries[chain[index]] = _Entry(now + TTL_SECONDS[ttl], TTL_SECONDS[ttl])
        whole = total[-1] if total else 0
        return Usage(fresh=whole - done, read=read, write_short=written["5m"], write_long=written["1h"])

    def _find(self, chain: Sequence[bytes], marks: Sequence[int]) -> int:
        """Index of the last piece of the longest prefix some mark can see, -1 for none."""
        for mark in reversed(marks):
            for index in range(mark, max(-1, mark - self._lookback_blocks), -1):
                if chain[index] in self._entries:
                    return index
        return -1

    def _forget(self, now: float) -> None:
        for key in [key for key, entry in self._entries.items() if entry.expires_at <= now]:
            del self._entries[key]


class AutomaticCache:
    """A cache without marks: the longest prefix seen lately is read, in whole steps, from a minimum on.

    The defaults are OpenAI's before GPT-5.6 (1024 tokens, steps of 128). Give a step and minimum of 64 and a lifetime
    of hours for something close to DeepSeek's disk cache. Nothing is billed as written.
    """

    def __init__(
        self, *, minimum_tokens: int = 1024, step_tokens: int = 128, ttl_seconds: float = TTL_SECONDS["5m"]
    ) -> None:
        self._minimum_tokens = minimum_tokens
        self._step_tokens = step_tokens
        self._ttl_seconds = ttl_seconds
        self._expires_at: dict[bytes, float] = {}

    def send(self, pieces: Sequence[Piece], *, scope: bytes, now: float) -> Usage:
        """Send one prompt: split its tokens into `fresh` and `read`, and remember it; marks are ignored.

        A piece counts as matched as a whole or not at all, so the caller's pieces should be short.
        """
        for key in [key for key, expires_at in self._expires_at.items() if expires_at <= now]:
            del self._expires_at[key]
        matched = 0
        chain = _chain(scope, pieces)
        for key, piece in zip(chain, pieces, strict=True):
            if key not in self._expires_at:
                break
            matched += piece.tokens
        read = matched - matched % self._step_tokens
        if read < self._minimum_tokens:
            read = 0
        for key in chain:
            self._expires_at[key] = now + self._ttl_seconds
        return Usage(fresh=sum(piece.tokens for piece in pieces) - read, read=read)


def _chain(scope: bytes, pieces: Sequence[Piece]) -> list[bytes]:
    """Name every prefix: the i-th name stands for the pieces up to and including i."""
    link = hashlib.sha256(scope).digest()
    chain = []
    for piece in pieces:
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
