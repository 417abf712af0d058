"""The keys of `[providers.NAME.warmth]`: what may be spent so that prefixes of conversations are held."""

from __future__ import annotations

from dataclasses import dataclass, field

from coldpress.config.about import say


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmthKeys:
    """What may be done so that a provider goes on holding the prefix of a conversation. All of it is off by default."""

    marks: bool = field(
        default=False,
        metadata=say(
            "Have Anthropic place a cache mark on the last block (the top-level `cache_control`) of requests whose "
            "client sets none among the messages and two or fewer before them. It takes the lifetime of the client's "
            "last mark."
        ),
    )
    keep_warm_seconds: float | None = field(
        default=None,
        metadata=say(
            "Refresh the cache of an idle conversation until so long after its last request, and no more often than "
            "pays: fewer times than the price of a write over that of a read, less one. Each refresh is a request of "
            "ours in the client's name, which is billed as a read of the whole prompt.",
            unit="seconds",
            least=1,
            example="1800",
            unset="nothing is refreshed",
        ),
    )
