"""Name the numbers of `/stats` about misses of the providers' caches, and who is to answer for them."""

from __future__ import annotations

from typing import Final

from coldpress.gateway.figures import Figure, amount, counter

_M: Final = "decisions.misses"


def _cause(path: str, metric: str, meaning: str, labels: tuple[str, ...] = ()) -> tuple[Figure, ...]:
    return (
        counter(f"{path}.misses", metric, meaning, "replies", over=f"{_M}.replies", labels=labels),
        counter(
            f"{path}.tokens.tokens",
            f"{metric}_tokens",
            "Prompt tokens that would have been read and were not.",
            "tokens",
            over=f"{path}.tokens.replies",
            labels=labels,
        ),
        counter(
            f"{path}.tokens.replies",
            f"{metric}_counted",
            "Misses of which that is known.",
            "replies",
            over=f"{path}.misses",
            labels=labels,
        ),
        *amount(
            f"{path}.cost", f"{metric}_cost", "What they cost above their price as a read.", "Misses", labels=labels
        ),
    )


MISSES: Final = (
    counter(
        f"{_M}.replies",
        "replies_with_reads",
        "Replies that said what they read from the cache: what misses are counted over.",
        "replies",
    ),
    counter(
        f"{_M}.misses",
        "cache_misses_all",
        "Replies that read at least 1,024 tokens less than the request before had left.",
        "replies",
        over=f"{_M}.replies",
    ),
    *_cause(
        f"{_M}.caused_by_us",
        "cache_misses_caused_by_us",
        "Of those, the ones for which we are to answer: something we had sent was sent otherwise while it was cached.",
    ),
    *_cause(
        f"{_M}.by_cause.*",
        "cache_misses",
        "Misses by who is to answer: `client`, `us`, `time`, `provider`, `unknown`.",
        ("cause",),
    ),
    counter(
        f"{_M}.by_why.*",
        "cache_misses_by_why",
        "Misses by cause and what it was, as `client/tools`.",
        "replies",
        over=f"{_M}.replies",
        labels=("why",),
    ),
)
