"""What a sum stands beside: the replies, requests or views it was taken over."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bucket:
    """Tokens summed over the `replies` that reported them; other replies are not in the sum."""

    tokens: int = 0
    replies: int = 0


@dataclass(frozen=True, slots=True)
class Amount:
    """US dollars summed over `replies` for which they are known.

    `unpriced` counts the 2xx replies that are not in the sum. Each reply enters in whole billionths of a dollar, so
    that sums do not depend on the order; `usd` says nothing where `replies` is 0.
    """

    usd: float = 0.0
    replies: int = 0
    unpriced: int = 0

    @property
    def usd_text(self) -> str:
        """The sum for a sentence: cents, and of less than a dollar three digits that say something.

        >>> Amount(1.2549).usd_text, Amount(0.00091).usd_text, Amount().usd_text
        ('1.25', '0.00091', '0.00')
        """
        places = 2 - math.floor(math.log10(self.usd)) if 0 < self.usd < 1 else 2
        whole, _, part = f"{self.usd:.{places}f}".partition(".")
        return f"{whole}.{part.rstrip('0').ljust(2, '0')}"


@dataclass(frozen=True, slots=True)
class Held:
    """What one part of a store holds now: rows, and bytes as the bounds count them."""

    rows: int = 0
    size_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Views:
    """Texts for which a view was made, with their UTF-8 bytes and estimated tokens before and after.

    `uncounted` of them have no token estimate and are in neither token sum.
    """

    count: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    uncounted: int = 0

    def __add__(self, other: Views) -> Views:
        return Views(
            self.count + other.count,
            self.bytes_before + other.bytes_before,
            self.bytes_after + other.bytes_after,
            self.tokens_before + other.tokens_before,
            self.tokens_after + other.tokens_after,
            self.uncounted + other.uncounted,
        )


@dataclass(frozen=True, slots=True)
class Taken:
    """Results or messages that `requests` compactions took out, and the tokens that freed, on the provider's scale."""

    requests: int = 0
    count: int = 0
    tokens: int = 0
