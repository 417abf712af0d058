"""What a reducer gives back, and when its gain is large enough to be used."""

from __future__ import annotations

from dataclasses import dataclass

MIN_SAVED_BYTES = 256
MIN_SAVED_SHARE = 0.10


@dataclass(frozen=True, slots=True)
class Reduced:
    """A smaller view of a text.

    `recipe` is JSON text from which the reducer's `restore` makes the original again, empty where the
    view is not reversible.
    """

    text: str
    recipe: str = ""


def size_bytes(text: str) -> int:
    """Size in UTF-8; what cannot be encoded (a lone surrogate) counts as its three bytes."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def pays(before: str, after: str) -> bool:
    """Whether a view removes at least 256 bytes and a tenth of the text it stands for.

    >>> pays("x" * 1000, "x" * 700)
    True
    >>> pays("x" * 1000, "x" * 800)
    False
    >>> pays("x" * 10_000, "x" * 9_100)
    False
    """
    size = size_bytes(before)
    saved = size - size_bytes(after)
    return saved >= MIN_SAVED_BYTES and saved >= MIN_SAVED_SHARE * size
