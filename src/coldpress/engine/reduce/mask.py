"""Show one line in the place of an old result: what was called, what came back, how to get it again."""

from __future__ import annotations

from typing import Final

from coldpress.engine.catalogue import Kind
from coldpress.engine.exactness import PROTECTED_KINDS
from coldpress.engine.markers import MARK, is_client_truncated, is_marked
from coldpress.engine.reduce.reduced import Reduced, pays, size_bytes

MAX_CALLED_BYTES: Final = 80
MAX_RERUN_BYTES: Final = 120
MAX_BYTES: Final = 380
"""No marker is longer: its fixed words, the two bounds above, and counts of up to 12 digits."""

_SHA_DIGITS: Final = 12
_QUOTES: Final = ('"', "'", "`")


def reduce(text: str, *, kind: Kind, called: str, sha: str, rerun: str | None) -> Reduced | None:
    r"""Give the line for a result, or `None` where it would save too little or the result must stay.

    Args:
        text: the whole result as the tool gave it. Failures must not be given.
        kind: its kind in the tool catalogue; mutations, plans, memory and diffs are never masked.
        called: the call in a few words, such as `Bash npm test`; cut where it is long.
        sha: SHA-256 of the original in hexadecimal; its first 12 digits are shown.
        rerun: a sentence on how to get everything again; the caller has made sure that it promises nothing that
            the request does not offer. `None` promises nothing.

    >>> reduce("step\n" * 900, kind="shell", called="Bash make", sha="0123456789abcdef", rerun=None).text[:77]
    '[coldpress: Bash make: 900 lines, 4,500 bytes came back, no longer shown; the'
    """
    if kind in PROTECTED_KINDS or is_marked(text) or is_client_truncated(text):
        return None
    lines = text.count("\n") + (not text.endswith("\n"))
    sentence = one_line(rerun or "", MAX_RERUN_BYTES)
    pressed = (
        f"{MARK}: {one_line(called, MAX_CALLED_BYTES) or kind}: {lines:,} {'line' if lines == 1 else 'lines'},"
        f" {size_bytes(text):,} bytes came back, no longer shown; the source is intact, only this view is shortened;"
        f" SHA-256 begins {sha[:_SHA_DIGITS]}.{' ' * bool(sentence)}{sentence}]"
    )
    return Reduced(pressed) if pays(text, pressed) else None


def one_line(words: str, max_bytes: int) -> str:
    """Give printable words on one line within a number of UTF-8 bytes, with no quote left open."""
    line = " ".join("".join(c if c.isprintable() else " " for c in words).split())
    if len(line.encode()) > max_bytes:
        line = line.encode()[: max_bytes - len("…".encode())].decode(errors="ignore").rstrip() + "…"
    for quote in _QUOTES:
        if line.count(quote) % 2:
            # A cut may have fallen between two quotes, and what follows would read as quoted.
            line = line.replace(quote, "")
    return line
