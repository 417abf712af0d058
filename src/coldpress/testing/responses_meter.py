"""Count the tokens of a Responses request and bill them against the prefix cache of its model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from coldpress.measure.cache import Part, Piece, PrefixCache
from coldpress.measure.cache_rules import MAX_MARKS, OPENAI_STEPS, CacheRules, Life, rules_for
from coldpress.measure.tokens import estimate
from coldpress.model.usage import Usage
from coldpress.testing.jsonview import as_object, as_text
from coldpress.testing.responses_view import Item, Opened, Shown, head_shown, item_shown

_STRETCH_OVERHEAD_TOKENS: Final = 3
_IMAGE_TOKENS: Final = 1500
_RUN_CHARS: Final = 400
"""Prompts are matched in runs of this length, about 100 tokens, where the cache has steps of its own."""

_LIVES: Final[Mapping[object, Life]] = {"30m": "short", "12h": "long"}


@dataclass(frozen=True, slots=True)
class Settings:
    """What stands outside the prompt and is a prefix's own: a change of any breaks the cache."""

    model: str
    cache_key: str
    text_format: str
    effort: str
    verbosity: str
    service_tier: str

    @property
    def scope(self) -> bytes:
        """One name for all of them."""
        parts = (self.model, self.cache_key, self.text_format, self.effort, self.verbosity, self.service_tier)
        return "\0".join(parts).encode("utf-8", "surrogatepass")


def settings_of(body: Mapping[str, object]) -> Settings:
    """Read the settings of a request."""
    text = as_object(body.get("text"))
    return Settings(
        model=as_text(body.get("model")),
        cache_key=as_text(body.get("prompt_cache_key")),
        text_format=json.dumps(as_object(text.get("format")), sort_keys=True),
        effort=as_text(as_object(body.get("reasoning")).get("effort")),
        verbosity=as_text(text.get("verbosity")),
        service_tier=as_text(body.get("service_tier")),
    )


class ResponsesMeter:
    """The caches of one upstream behind the Responses wire, with the clock that ages them."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._caches: dict[str, PrefixCache] = {}
        self._known_tokens: dict[bytes, int] = {}

    def pieces(self, body: Mapping[str, object], items: Sequence[Item], opened: Opened) -> list[Piece]:
        """Split what the model is shown into what its cache knows it by, with the marks that are in force."""
        rules = cache_rules(as_text(body.get("model")))
        tools, instructions = head_shown(body)
        shown: list[tuple[Part, Shown]] = [("tools", one) for one in tools]
        shown += [("system", one) for one in instructions]
        shown += [("messages", one) for item in items for one in item_shown(item, opened)]
        if rules.kind == "marks":
            return _marked(body, [self._piece(one.text, one.media, part) for part, one in shown], shown)
        return [piece for part, one in shown for piece in self._runs(one, part)]

    def bill(self, body: Mapping[str, object], pieces: Sequence[Piece]) -> Usage:
        """Send a prompt through the cache. `output` stays `None`; what is written is 0 where writing is free."""
        rules = cache_rules(as_text(body.get("model")))
        # The mark that the provider sets by itself is among the pieces' own: a request can do without it.
        cache = self._caches.setdefault(rules.name, PrefixCache(replace(rules, marks_end=False)))
        usage = cache.send(pieces, scope=settings_of(body).scope, now=self._clock())
        return replace(usage, write_short=usage.write_short or 0)

    def _runs(self, shown: Shown, part: Part) -> list[Piece]:
        texts = [shown.text[start : start + _RUN_CHARS] for start in range(0, len(shown.text), _RUN_CHARS)]
        first = self._piece(texts[0], shown.media, part)
        rest = [self._piece(text, 0, part) for text in texts[1:]]
        return [first, *(replace(piece, tokens=piece.tokens - _STRETCH_OVERHEAD_TOKENS) for piece in rest)]

    def _piece(self, text: str, media: int, part: Part) -> Piece:
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        if digest not in self._known_tokens:
            self._known_tokens[digest] = estimate(text)
        tokens = self._known_tokens[digest] + _STRETCH_OVERHEAD_TOKENS + media * _IMAGE_TOKENS
        return Piece(digest, tokens, None, part)


def cache_rules(model: str) -> CacheRules:
    """Give the rules a model of this provider is cached by; unknown models are cached as the older ones are."""
    return rules_for(model, "openai") or OPENAI_STEPS


def tokens_of(pieces: Sequence[Piece]) -> int:
    """Tokens of a prompt."""
    return sum(piece.tokens for piece in pieces)


def _marked(body: Mapping[str, object], pieces: list[Piece], shown: Sequence[tuple[Part, Shown]]) -> list[Piece]:
    """Set the marks a request may write: its latest explicit ones, and one at the end unless it wants none."""
    options = as_object(body.get("prompt_cache_options"))
    usual = _LIVES.get(options.get("ttl"), "short")
    implicit = options.get("mode") != "explicit" and bool(pieces)
    lives = {
        index: _LIVES.get(one.breakpoint.get("ttl"), usual)
        for index, (_, one) in enumerate(shown)
        if one.breakpoint is not None
    }
    lives = dict(sorted(lives.items())[-(MAX_MARKS - implicit) :])
    if implicit:
        lives.setdefault(len(pieces) - 1, usual)
    return [replace(piece, mark=lives.get(index)) for index, piece in enumerate(pieces)]
