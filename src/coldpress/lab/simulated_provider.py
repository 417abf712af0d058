"""Answer the requests of a recording with the usage that a provider's prefix cache would have reported."""

from __future__ import annotations

from coldpress.lab.prompts import Asked, PromptReader, Sizes
from coldpress.lab.tariffs import Tariff
from coldpress.measure.cache import PrefixCache
from coldpress.measure.cache_rules import CacheRules, Life
from coldpress.model.usage import Usage


class SimulatedProvider:
    """One provider's cache, filled by the requests of one recording.

    Not modelled: what a real provider evicts early or keeps longer, and the cache's other users, but for what is warm
    of a head when a conversation begins.
    """

    def __init__(self, rules: CacheRules, tariff: Tariff, *, asked_long: bool, reader: PromptReader) -> None:
        """Begin empty.

        Args:
            rules: how the provider caches.
            tariff: lifetimes; those of the rules play no part.
            asked_long: whether the client's marks ask for the long lifetime.
            reader: of bodies.
        """
        self._life: Life = "long" if tariff.is_long(asked=asked_long) else "short"
        self._cache = PrefixCache(rules, short_seconds=tariff.lifetime_seconds)
        self._reader = reader

    def send(
        self, body: bytes, sizes: Sizes, *, at: float, answered_at: float, reply: str, opens: bool = False
    ) -> Usage:
        """Give the buckets of a prompt as the provider would report them; `output` stays unknown.

        Args:
            body: as it arrives at the provider.
            sizes: of its conversation.
            at: when it was sent, in seconds since 1970; not before the last one.
            answered_at: when lifetimes begin and entries can be read.
            reply: the message that came back, JSON text.
            opens: whether it is the first of its conversation; what is warm of its head is put into the cache then.
        """
        return self.answer(self._reader.read(body, sizes, reply), at=at, answered_at=answered_at, opens=opens)

    def answer(self, asked: Asked, *, at: float, answered_at: float, opens: bool = False) -> Usage:
        """Give the buckets of a prompt that was read before; see `send`."""
        if opens and asked.warm_tokens:
            self._cache.sent(asked.warm(self._life), now=at)
        return self._cache.sent(asked.chained(self._life), now=at, answered_at=answered_at)

    def counted(self, message: str) -> int:
        """Tokens of a message as counted, JSON text, not scaled."""
        return self._reader.counted(message)
