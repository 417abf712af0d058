"""Count the tokens of a Gemini request and bill them against the implicit cache of its model."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from coldpress.measure.cache import Piece, PrefixCache
from coldpress.measure.cache_rules import GEMINI, rules_for
from coldpress.measure.tokens import estimate
from coldpress.model.usage import Usage
from coldpress.testing.gemini_view import Content, head_shown

_PART_OVERHEAD_TOKENS: Final = 3
_IMAGE_TOKENS: Final = 258
"""Of one tile of a picture (ai.google.dev/gemini-api/docs/tokens)."""

_RUN_CHARS: Final = 400
"""Prompts are matched in runs of this length, about 100 tokens: finer than the cache's own steps."""

_SECONDS: Final = 300.0
"""How long an unused prefix is held here; the provider says no more than that it is minutes."""


class GeminiMeter:
    """The caches of one upstream behind the Gemini wire, with the clock that ages them."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._caches: dict[int, PrefixCache] = {}
        self._known_tokens: dict[bytes, int] = {}

    def pieces(self, request: Mapping[str, object], contents: Sequence[Content]) -> list[Piece]:
        """Split what the model is shown into what its cache knows it by."""
        found = [piece for text in head_shown(request) for piece in self._runs(text, 0)]
        parts = (part for content in contents for part in content.parts)
        return found + [piece for part in parts for piece in self._runs(part.shown, part.media)]

    def bill(self, model: str, pieces: Sequence[Piece]) -> Usage:
        """Send a prompt through the cache. `output` stays `None`."""
        rules = rules_for(model, "google") or GEMINI
        # Models with different minimum lengths share nothing anyway.
        cache = self._caches.setdefault(rules.minimum_tokens, PrefixCache(rules, short_seconds=_SECONDS))
        return cache.send(pieces, scope=model.encode("utf-8", "surrogatepass"), now=self._clock())

    def _runs(self, text: str, media: int) -> Iterator[Piece]:
        overhead = _PART_OVERHEAD_TOKENS + media * _IMAGE_TOKENS
        for start in range(0, max(1, len(text)), _RUN_CHARS):
            run = text[start : start + _RUN_CHARS]
            digest = hashlib.sha256(run.encode("utf-8", "surrogatepass")).digest()
            if digest not in self._known_tokens:
                self._known_tokens[digest] = estimate(run)
            yield Piece(digest, self._known_tokens[digest] + overhead)
            overhead = 0
