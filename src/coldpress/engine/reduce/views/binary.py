"""View of what was never text: its type, its size and its hash, since a model can do nothing with the bytes."""

from __future__ import annotations

import re
from typing import Final

from coldpress.engine.reduce.reduced import size_bytes

LOOKED_AT_CHARS: Final = 4096
MIN_ODD_SHARE: Final = 0.1
"""Share of characters no text holds. Lists of names with a NUL behind each have less."""

_ODD: Final = re.compile("[\0-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f\ufffd]")
_TYPES: Final = (
    ("\x7fELF", "an ELF program"),
    ("MZ", "a Windows program"),
    ("\ufffdPNG", "a PNG image"),
    ("\x89PNG", "a PNG image"),
    ("GIF8", "a GIF image"),
    ("PK\x03\x04", "a ZIP archive"),
    ("%PDF-", "a PDF document"),
    ("\x1f\ufffd", "a gzip archive"),
    ("\x1f\x8b", "a gzip archive"),
    ("SQLite format 3\0", "an SQLite database"),
    ("\0asm", "a WebAssembly module"),
)


def is_binary(text: str) -> bool:
    """Whether a text with a NUL in it is binary data that somebody decoded as if it were text."""
    if "\0" not in text:
        return False
    part = text[:LOOKED_AT_CHARS]
    return len(_ODD.findall(part)) >= MIN_ODD_SHARE * len(part)


def note(text: str, *, sha: str, rerun: str | None) -> str:
    """Write the one line that stands for binary data; arguments as for `deterministic.reduce`."""
    kind = next((f", by its first bytes {name}" for start, name in _TYPES if text.startswith(start)), "")
    sentence = f" {' '.join(rerun.split())}" if rerun and rerun.strip() else ""
    return (
        f"[coldpress: binary data{kind}, {size_bytes(text):,} bytes, not shown; the source is intact, only this view"
        f" leaves it out; SHA-256 of the whole: {sha}.{sentence}]"
    )
